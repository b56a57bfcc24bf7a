"""Who may read what: principals with groups, sources with access labels. Rules are data; their changes are events."""

from collections.abc import Collection
from dataclasses import dataclass

PUBLIC = "public"


@dataclass(frozen=True)
class Principal:
    """Somebody who asks. Everybody belongs to the group `public`."""

    name: str
    groups: frozenset[str] = frozenset({PUBLIC})

    def may_read(self, labels: Collection[str]) -> bool:
        """Tell whether a source with these access labels is open to this principal: one shared group suffices."""
        return not self.groups.isdisjoint(labels)


PUBLIC_PRINCIPAL = Principal(PUBLIC)
