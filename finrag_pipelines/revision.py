"""What changed from one version of a source to another: identity, sections, fragments with their words, table values.

Both texts are read from their representations and cut by the present chunker, so that only the documents differ.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from itertools import groupby

from finrag_pipelines.catalog.catalog import DocumentVersion
from finrag_pipelines.chunking.chunk import chunk
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.parsing.model import ParsedDocument
from finrag_pipelines.parsing.representation_store import read_representation
from finrag_pipelines.storage import Store, StoreError

_CONTEXT_WORDS = 6
_IDENTITY = ("company", "form", "period", "period_end", "filed", "accession", "title")


@dataclass(frozen=True)
class Side:
    """One of the two versions that are set side by side."""

    version: int
    content_sha256: str
    representation_id: str
    parser: str
    file_name: str
    registered_at: str
    characters: int
    fragments: int


@dataclass(frozen=True)
class IdentityChange:
    """A field of the identity that differs; None where a version does not state it."""

    field: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class SectionChange:
    """A section, or a speaker's words, in both versions. Sizes in characters, None where the version lacks it.

    `added`, `removed` and `changed` count the fragments that `FragmentChange`s of this section name, `same` the others.
    """

    section: str
    before: int | None
    after: int | None
    same: int = 0
    added: int = 0
    removed: int = 0
    changed: int = 0


@dataclass(frozen=True)
class Place:
    """Where a fragment stands in its version: id and range `[start, end)`."""

    fragment_id: str
    start: int
    end: int
    page_index: int | None


@dataclass(frozen=True)
class Words:
    """A stretch of words that differs, with the words around it. One of `removed` and `added` may be empty."""

    lead: str
    removed: str
    added: str
    trail: str


@dataclass(frozen=True)
class FragmentChange:
    """Neighbouring fragments that differ. `kind` is added, removed or changed; `words` are the stretches that do."""

    section: str
    kind: str
    before: tuple[Place, ...]
    after: tuple[Place, ...]
    words: tuple[Words, ...]


@dataclass(frozen=True)
class ValueChange:
    """A table value that differs: caption, row and column it stands under; None where a version lacks it."""

    section: str
    table: str
    row: str
    column: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Revision:
    """Everything that differs between two versions of a source."""

    source_id: str
    before: Side
    after: Side
    identity: tuple[IdentityChange, ...]
    sections: tuple[SectionChange, ...]
    fragments: tuple[FragmentChange, ...]
    values: tuple[ValueChange, ...]

    @property
    def is_empty(self) -> bool:
        """Tell whether both versions say the same."""
        return not (self.identity or self.fragments or self.values)


def compare_versions(store: Store, before: DocumentVersion, after: DocumentVersion) -> Revision:
    """Return what differs between two versions of one source. Raises StoreError where one was never parsed."""
    old, new = _document(store, before), _document(store, after)
    then, now = _cut(old, before), _cut(new, after)
    changes = tuple(_fragment_changes(then, now))
    return Revision(
        before.source_id,
        _side(before, old, then),
        _side(after, new, now),
        _identity_changes(old, new),
        _sections(old, new, then, now, changes),
        changes,
        _value_changes(old, new),
    )


def _document(store: Store, version: DocumentVersion) -> ParsedDocument:
    if version.representation_id is None:
        raise StoreError(
            f"{version.source_id} version {version.version} was never parsed; `finrag ingest` parses the newest one"
        )
    return read_representation(store, version.representation_id)


def _cut(document: ParsedDocument, version: DocumentVersion) -> tuple[Fragment, ...]:
    return chunk(document, version.source_id, version.version, version.content_sha256, version.representation_id or "")


def _side(version: DocumentVersion, document: ParsedDocument, fragments: Sequence[Fragment]) -> Side:
    return Side(
        version.version,
        version.content_sha256,
        version.representation_id or "",
        document.parser,
        version.file_name,
        version.registered_at,
        len(document.text),
        len(fragments),
    )


def _identity_changes(old: ParsedDocument, new: ParsedDocument) -> tuple[IdentityChange, ...]:
    then, now = asdict(old.identity), asdict(new.identity)
    return tuple(IdentityChange(name, then[name], now[name]) for name in _IDENTITY if then[name] != now[name])


# --- fragments --------------------------------------------------------------------------------------------------------


def _group(fragment: Fragment) -> str:
    return fragment.section or fragment.speaker or ""


def _grouped(fragments: Sequence[Fragment]) -> dict[str, list[Fragment]]:
    found: dict[str, list[Fragment]] = {}
    for fragment in fragments:
        found.setdefault(_group(fragment), []).append(fragment)
    return found


def _fragment_changes(before: Sequence[Fragment], after: Sequence[Fragment]) -> Iterator[FragmentChange]:
    old, new = _grouped(before), _grouped(after)
    for section in [*new, *(name for name in old if name not in new)]:
        then, now = old.get(section, []), new.get(section, [])
        matcher = SequenceMatcher(None, [f.text for f in then], [f.text for f in now], autojunk=False)
        for kind, i, j, k, m in matcher.get_opcodes():
            if kind != "equal":
                yield from _change(section, then[i:j], now[k:m])


def _change(section: str, then: Sequence[Fragment], now: Sequence[Fragment]) -> Iterator[FragmentChange]:
    """A longer sentence moves the bounds of the fragments after it: neighbours are compared as one text."""
    words = tuple(_differing_words(_text(then), _text(now)))
    if words:
        kind = "added" if not then else "removed" if not now else "changed"
        yield FragmentChange(section, kind, _places(then), _places(now), words)


def _text(fragments: Sequence[Fragment]) -> str:
    """Return the text of neighbouring fragments, what two of them share taken once."""
    parts, end = [], -1
    for fragment in fragments:
        parts.append(fragment.text[max(0, end - fragment.start) if end >= 0 else 0 :])
        end = max(end, fragment.end)
    return "\n".join(parts)


def _places(fragments: Sequence[Fragment]) -> tuple[Place, ...]:
    return tuple(Place(f.fragment_id, f.start, f.end, f.page_index) for f in fragments)


def _differing_words(before: str, after: str) -> Iterator[Words]:
    """Compare by lines first and word by word only where those differ, which keeps long sections quick."""
    old, new = _lines(before), _lines(after)
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield from _word_changes(" ".join(old[i:j]).split(), " ".join(new[k:m]).split())


def _lines(text: str) -> list[str]:
    return [" ".join(part.split()) for part in re.split(r"\n|(?<=[.;:!?])\s", text) if part.strip()]


def _word_changes(old: list[str], new: list[str]) -> Iterator[Words]:
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield Words(
                " ".join(new[max(0, k - _CONTEXT_WORDS) : k]),
                " ".join(old[i:j]),
                " ".join(new[k:m]),
                " ".join(new[m : m + _CONTEXT_WORDS]),
            )


# --- sections and values ----------------------------------------------------------------------------------------------


def _sizes(document: ParsedDocument, fragments: Sequence[Fragment]) -> dict[str, int]:
    """Return the characters of each section, of each speaker's turns, or of what has neither, in order."""
    spans = [(s.key, s.start, s.end) for s in document.sections] or [
        (t.speaker, t.start, t.end) for t in document.turns
    ]
    sizes: dict[str, int] = {}
    for name, start, end in spans:
        sizes[name] = sizes.get(name, 0) + end - start
    for name, found in groupby(fragments, _group):
        if name not in sizes:
            sizes[name] = sum(f.end - f.start for f in found)
    return sizes


def _sections(
    old: ParsedDocument,
    new: ParsedDocument,
    before: Sequence[Fragment],
    after: Sequence[Fragment],
    changes: Sequence[FragmentChange],
) -> tuple[SectionChange, ...]:
    then, now = _sizes(old, before), _sizes(new, after)
    held = Counter(map(_group, after))
    counted: dict[str, Counter[str]] = {}
    touched: Counter[str] = Counter()
    for change in changes:
        counted.setdefault(change.section, Counter())[change.kind] += max(len(change.before), len(change.after))
        touched[change.section] += len(change.after)
    return tuple(
        SectionChange(
            name,
            then.get(name),
            now.get(name),
            held[name] - touched[name],
            **{kind: counted.get(name, Counter())[kind] for kind in ("added", "removed", "changed")},
        )
        for name in [*now, *(name for name in then if name not in now)]
    )


def _value_changes(old: ParsedDocument, new: ParsedDocument) -> tuple[ValueChange, ...]:
    then, now = _values(old), _values(new)
    return tuple(
        ValueChange(*key[:4], then.get(key), now.get(key))
        for key in [*now, *(key for key in then if key not in now)]
        if then.get(key) != now.get(key)
    )


def _values(document: ParsedDocument) -> dict[tuple[str, str, str, str, int], str]:
    """Return every value of every table under where it stands: section, caption, row, column, and its place among
    those of the same names."""
    found: dict[tuple[str, str, str, str, int], str] = {}
    seen: Counter[tuple[str, str, str, str]] = Counter()
    for table in document.tables:
        section = next((s.key for s in document.sections if s.start <= table.start < s.end), "")
        for row in table.rows:
            for cell in row.cells:
                if cell.value is None:
                    continue
                label = " / ".join([*row.path, row.label])
                key = (section, " ".join(table.caption.split()), label, cell.header or cell.period or str(cell.column))
                scale = {0: "", 3: " thousand", 6: " million", 9: " billion"}.get(cell.scale, f"e{cell.scale}")
                found[*key, seen[key]] = f"{cell.value}{scale}" + (f" {cell.unit}" if cell.unit else "")
                seen[key] += 1
    return found
