"""Elements become fragments: inside one section, turn and page, on sentence and row boundaries, none overlapping.

How sentences end is in sentences.py, where to cut in packing.py, what the context line says in context.py.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from finrag_pipelines.chunking import context as lines
from finrag_pipelines.chunking.model import Fragment, fragment_id
from finrag_pipelines.chunking.packing import Atom, pack
from finrag_pipelines.chunking.sentences import sentences
from finrag_pipelines.chunking.tokens import SPECIAL_TOKENS, WINDOW, TokenCounter, minilm_counter
from finrag_pipelines.parsing.model import FURNITURE, ElementKind, ParsedDocument, Table
from finrag_pipelines.parsing.readers.limits import Deadline

CHUNKER = "finrag-chunker/1"

_FURNITURE, _GAP = -2, -1
_CONTEXT_LIMIT = 128
# A run of characters without a space is cut after 2,000, so that hostile ones cost no more than others.
_WORD = re.compile(r"[^\s，、；：]{1,2000}[，、；：]{0,2000}|[，、；：]{1,2000}")


@dataclass(frozen=True)
class _Place:
    """Where a block of text stands: indexes of section, turn and page, None outside any."""

    section: int | None
    turn: int | None
    page: int | None


def chunk(
    document: ParsedDocument,
    source_id: str,
    version: int,
    content_sha256: str,
    representation_id: str,
    deadline: Deadline | None = None,
) -> tuple[Fragment, ...]:
    """Return the fragments of `document` in reading order.

    Every character that is neither blank nor furniture lies in exactly one of them, and `text` is the canonical text
    at `[start, end)`. Context line and text together have at most 256 MiniLM tokens, special tokens included. Raises
    UnreadableError `time_budget` past the deadline.
    """
    counter = minilm_counter()
    counter.learn(document.text.split())
    shared = lines.document_line(document.identity, counter)
    tables = [lines.TableLines(table, document.text, counter) for table in document.tables]
    fragments: list[Fragment] = []
    heading = ""
    for place, atoms in _blocks(document, counter):
        if deadline:
            deadline.check("the cutting into fragments")
        block = _Block(document, place, shared, heading, atoms, tables, counter)
        heading = block.heading
        for first, last in block.cut(deadline):
            fragments.append(block.fragment(first, last, source_id, version, content_sha256, representation_id))
    return tuple(fragments)


def _paint(size: int, ranges: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return for each character the index of the range that holds it, the innermost where ranges nest; else -1."""
    owner = np.full(size, _GAP, dtype=np.int32)
    for index in sorted(range(len(ranges)), key=lambda i: (ranges[i][0], -ranges[i][1], i)):
        owner[ranges[index][0] : ranges[index][1]] = index
    return owner


def _blocks(document: ParsedDocument, counter: TokenCounter) -> Iterator[tuple[_Place, list[Atom]]]:
    """Yield runs of atoms between which no furniture and no border of a section, turn or page lies."""
    text, elements = document.text, document.elements
    if not text:
        return
    owners = _paint(len(text), [(element.start, element.end) for element in elements])
    for element in elements:
        if element.kind in FURNITURE:
            owners[element.start : element.end] = _FURNITURE
    places = np.stack(
        [
            _paint(len(text), [(part.start, part.end) for part in parts])
            for parts in (document.sections, document.turns, document.pages)
        ]
    )
    borders = (owners[1:] != owners[:-1]) | (places[:, 1:] != places[:, :-1]).any(axis=0)
    starts = [0, *(np.flatnonzero(borders) + 1).tolist()]
    atoms: list[Atom] = []
    current: _Place | None = None
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        run = text[start:end]
        if not run.strip():
            continue
        owner = int(owners[start])
        here = _Place(*(None if index < 0 else index for index in places[:, start].tolist()))
        if atoms and current is not None and (owner == _FURNITURE or here != current):
            yield current, atoms
            atoms = []
        if owner != _FURNITURE:
            current = here
            atoms.extend(_atoms(document, owner, start, end, counter))
    if atoms and current is not None:
        yield current, atoms


def _atoms(document: ParsedDocument, owner: int, start: int, end: int, counter: TokenCounter) -> list[Atom]:
    """Return the atoms of one run of text that belongs to one element, or to none."""
    text = document.text
    element = document.elements[owner] if owner >= 0 else None
    if element is not None and element.table is not None:
        rows = _row_atoms(document.tables[element.table], element.table, text, start, end, counter)
        return [replace(atom, element=owner) for atom in rows]
    ranges = [(start + first, start + last) for first, last in sentences(text[start:end])]
    counts = counter.counts([text[first:last] for first, last in ranges])
    is_title = element is not None and element.kind is ElementKind.TITLE
    return [
        Atom(first, last, tokens, None if element is None else owner, opens=position == 0, title=is_title)
        for position, ((first, last), tokens) in enumerate(zip(ranges, counts, strict=True))
    ]


def _row_atoms(table: Table, index: int, text: str, start: int, end: int, counter: TokenCounter) -> list[Atom]:
    """Return one atom a row; what stands above the first row is an atom too, what stands between joins a row."""
    rows = [(row.start, position) for position, row in enumerate(table.rows) if start <= row.start < end]
    cuts = [(start, None), *((max(start, where), position) for where, position in rows)]
    ends = [where for where, _ in cuts[1:]] + [end]
    last_header = max((position for position, row in enumerate(table.rows) if row.is_header), default=-1)
    top_header = last_header if all(row.is_header or not row.cells for row in table.rows[: last_header + 1]) else -1
    atoms: list[Atom] = []
    for (first, row), last in zip(cuts, ends, strict=True):
        piece = text[first:last]
        stripped = piece.strip()
        if not stripped:
            continue
        first += len(piece) - len(piece.lstrip())
        header = row is None or row <= top_header or table.rows[row].is_header
        tokens = counter.count(stripped)
        atoms.append(Atom(first, first + len(stripped), tokens, opens=not atoms, table=index, row=row, header=header))
    return atoms


class _Block:
    """Atoms that stand together, and what their fragments have in common."""

    def __init__(
        self,
        document: ParsedDocument,
        place: _Place,
        shared: str,
        heading: str,
        atoms: list[Atom],
        tables: Sequence[lines.TableLines],
        counter: TokenCounter,
    ) -> None:
        self._document, self._tables, self._counter = document, tables, counter
        self._section = None if place.section is None else document.sections[place.section]
        self._turn = None if place.turn is None else document.turns[place.turn]
        self._page = None if place.page is None else document.pages[place.page]
        described = lines.turn_line(self._turn, counter) or lines.section_line(self._section, counter)
        self._base = lines.SEPARATOR.join(part for part in (shared, described) if part)
        if self._section is not None and atoms[0].start <= self._section.start + 200:
            heading = ""
        self._atoms, self._contexts, self.heading = self._with_contexts(atoms, heading)

    def _with_contexts(self, atoms: list[Atom], heading: str) -> tuple[list[Atom], list[str], str]:
        """Return the atoms, cut where one alone is too long, the context of a fragment that starts at each, and the
        heading that is in force after the last."""
        fitting: list[Atom] = []
        contexts: list[str] = []
        context, room, known_for = "", 0, None
        for atom in atoms:
            if known_for != (key := (atom.title, atom.table, atom.row, heading)):
                context, known_for = self._context(atom, heading), key
                room = WINDOW - SPECIAL_TOKENS - self._counter.count(context)
            pieces = [atom] if atom.tokens <= room else list(self._cut_long(atom, room))
            fitting.extend(pieces)
            contexts.extend([context] * len(pieces))
            if atom.title:
                heading = lines.clip(self._document.text[atom.start : atom.end], 16, self._counter)
        return fitting, contexts, heading

    def _context(self, atom: Atom, heading: str) -> str:
        parts = [self._base]
        if heading and not atom.title and heading not in self._base:
            parts.append(heading)
        if atom.table is not None:
            parts.append(self._tables[atom.table].at(atom.row))
        return lines.clip(lines.SEPARATOR.join(part for part in parts if part), _CONTEXT_LIMIT, self._counter)

    def _cut_long(self, atom: Atom, room: int) -> Iterator[Atom]:
        """Cut an atom that is too long for a fragment: between words, and inside a word only where it alone is."""
        text = self._document.text
        words = [(match.start(), match.end()) for match in _WORD.finditer(text, atom.start, atom.end)]
        start, end, used = atom.start, atom.start, 0
        counts = self._counter.counts([text[first:last] for first, last in words])
        for (first, last), tokens in zip(words, counts, strict=True):
            if used and used + tokens > room:
                yield replace(atom, start=start, end=end, tokens=used, opens=start == atom.start and atom.opens)
                start, used = first, 0
            while tokens > room:
                middle = first + self._counter.prefix(text[first:last], room)
                piece = self._counter.count(text[first:middle])
                yield replace(atom, start=first, end=middle, tokens=piece, opens=first == atom.start and atom.opens)
                first = start = middle
                tokens = self._counter.count(text[first:last])
            end, used = last, used + tokens
        if used:
            yield replace(atom, start=start, end=end, tokens=used, opens=start == atom.start and atom.opens)

    def cut(self, deadline: Deadline | None) -> list[tuple[int, int]]:
        """Return the index ranges of atoms that make one fragment each."""
        overhead = [SPECIAL_TOKENS + count for count in self._counter.counts(self._contexts)]
        return pack(self._atoms, overhead, WINDOW, deadline)

    def fragment(
        self, first: int, last: int, source_id: str, version: int, content_sha256: str, representation_id: str
    ) -> Fragment:
        """Return the fragment over the atoms `[first, last)`."""
        atoms = self._atoms[first:last]
        start, end = atoms[0].start, atoms[-1].end
        identity, context = self._document.identity, self._contexts[first]
        text = self._document.text[start:end]
        in_tables = sum(atom.tokens for atom in atoms if atom.table is not None)
        is_table = 2 * in_tables > sum(atom.tokens for atom in atoms)
        kind = "table_text" if is_table else "native_text" if self._turn is None else "transcript_turn"
        section, turn, page = self._section, self._turn, self._page
        return Fragment(
            fragment_id=fragment_id(source_id, content_sha256, representation_id, start, end),
            source_id=source_id,
            version=version,
            content_sha256=content_sha256,
            representation_id=representation_id,
            representation_type=kind,
            start=start,
            end=end,
            text=text,
            context=context,
            company=identity.company or "unknown",
            form=identity.form or "unknown",
            period=identity.period,
            filed=identity.filed,
            periods=self._periods(atoms, is_table),
            section=section.key if section else None,
            section_title=section.title if section else None,
            speaker=turn.speaker if turn else None,
            role=turn.role if turn else None,
            firm=turn.firm if turn else None,
            part=turn.part if turn else None,
            page_index=page.index if page else None,
            page_label=page.label if page else None,
            tokens=SPECIAL_TOKENS + self._counter.count(context) + self._counter.count(text),
            is_pointer=bool(section and section.pointer),
        )

    def _periods(self, atoms: list[Atom], is_table: bool) -> tuple[str, ...]:
        """Return the periods that the text reports. Prose also speaks of the filing's own period without naming it;
        rows do so where their table has a column or row for it, or names no period at all."""
        own = self._document.identity.period
        found: set[str] = set()
        whole: set[str] = set()  # the periods of the tables that the rows are from
        for atom in atoms:
            if atom.table is not None:
                whole.update(self._tables[atom.table].periods)
                if atom.row is not None:
                    cells = self._document.tables[atom.table].rows[atom.row].cells
                    found.update(cell.period for cell in cells if cell.period)
        if not (is_table and found):
            for element in {atom.element for atom in atoms if atom.element is not None}:
                found.update(self._document.elements[element].periods)
        if own and (not is_table or not found or own in whole):
            found.add(own)
        return tuple(sorted(found))
