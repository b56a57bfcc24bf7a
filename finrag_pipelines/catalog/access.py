"""Who may read what: principals with groups, sources with access labels. Rules are data; their changes are events."""

from collections.abc import Collection
from dataclasses import dataclass

PUBLIC = "public"


@dataclass(frozen=True)
class Principal:
    """Somebody who asks. Everybody belongs to the group `public`."""

    name: str
    groups: frozenset[str] = frozenset({PUBLIC})

    def narrowed(self, held: "Principal") -> "Principal":
        """Return this principal with those groups only that `held`, the same one as the rules have it now, has too."""
        return self if self.groups <= held.groups else Principal(self.name, self.groups & held.groups)

    def may_read(self, labels: Collection[str]) -> bool:
        """Tell whether a source with these access labels is open to this principal: one shared group suffices."""
        return not self.groups.isdisjoint(labels)


PUBLIC_PRINCIPAL = Principal(PUBLIC)
