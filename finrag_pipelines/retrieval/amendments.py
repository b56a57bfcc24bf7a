"""What amendments restate, as far as the documents in view say: their text is preferred for it, and that is told.

The rule is made from entries that the principal may read and that were known on the day asked about, so that an
amendment which is hidden, or was not filed yet, changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from finrag_pipelines.catalog.amendments import amends, is_amendment
from finrag_pipelines.catalog.identity import RESTATES, UNKNOWN, Identity
from finrag_pipelines.indexing.manifest import ManifestEntry

EVERYTHING = frozenset({"*"})
"""In place of section keys: an amendment without sections restates all of what it amends."""


@dataclass(frozen=True)
class Restatement:
    """One document that another restates: section keys of it that stand in the amendment too."""

    original: ManifestEntry
    amendment: ManifestEntry
    sections: frozenset[str]

    def covers(self, section: str) -> bool:
        """Tell whether a row of the original in `section` is restated."""
        return self.sections == EVERYTHING or section in self.sections


@dataclass(frozen=True)
class Amendments:
    """The restatements in view by the source they restate, and the amendments that do not say what they do."""

    restated: Mapping[str, tuple[Restatement, ...]]
    unclear: Mapping[str, tuple[ManifestEntry, ...]]

    @property
    def restating(self) -> frozenset[str]:
        """The sources whose text stands in place of another's."""
        return frozenset(one.amendment.source_id for found in self.restated.values() for one in found)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All (amendment, what it restates), sorted."""
        found = {(one.amendment.source_id, name) for name, ones in self.restated.items() for one in ones}
        return tuple(sorted(found))

    def is_restated(self, source_id: str, section: str) -> bool:
        """Tell whether a later amendment restates this section of a source."""
        return any(one.covers(section) for one in self.restated.get(source_id, ()))

    def notes(self, found: frozenset[str]) -> tuple[str, ...]:
        """Return what a reader should know of the sources that were found, sorted."""
        notes = [
            f"{one.amendment.source_id}{_dated(one.amendment)} restates {one.original.source_id}: "
            "its text is preferred where both have the section"
            for restatements in self.restated.values()
            for one in restatements
            if found & {one.amendment.source_id, one.original.source_id}
        ]
        notes += [
            f"{one.source_id}{_dated(one)} amends {original} and does not say whether it restates it"
            for original, entries in self.unclear.items()
            for one in entries
            if found & {one.source_id, original}
        ]
        return tuple(sorted(notes))


NONE = Amendments({}, {})


def amendments_in(
    documents: Sequence[ManifestEntry], sections_of: Callable[[ManifestEntry], frozenset[str]]
) -> Amendments:
    """Return what the amendments among `documents` restate; `sections_of` gives the section keys of a document."""
    restated: dict[str, list[Restatement]] = {}
    unclear: dict[str, list[ManifestEntry]] = {}
    for amendment in sorted((one for one in documents if is_amendment(one.form)), key=_order):
        for other in documents:
            if other is amendment or not amends(_identity(amendment), _identity(other)):
                continue
            if is_amendment(other.form) and _order(other) > _order(amendment):
                continue
            if amendment.amendment == RESTATES:
                keys = frozenset(key for key in sections_of(amendment) if key) or EVERYTHING
                restated.setdefault(other.source_id, []).append(Restatement(other, amendment, keys))
            elif amendment.amendment in (UNKNOWN, None):
                unclear.setdefault(other.source_id, []).append(amendment)
    return Amendments(
        {name: tuple(found) for name, found in sorted(restated.items())},
        {name: tuple(found) for name, found in sorted(unclear.items())},
    )


def _order(entry: ManifestEntry) -> tuple[str, str]:
    return entry.filed or "", entry.source_id


def _identity(entry: ManifestEntry) -> Identity:
    return Identity(
        company=entry.company, form=entry.form, period=entry.period, period_end=entry.period_end, filed=entry.filed
    )


def _dated(entry: ManifestEntry) -> str:
    return f", filed {entry.filed}," if entry.filed else ""
