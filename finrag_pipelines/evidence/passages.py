"""A quoted passage in its surroundings: the text before and after it, or the rows of the table that it stands in."""

from dataclasses import dataclass

from finrag_pipelines.parsing.model import FURNITURE, ParsedDocument, Row, Table

_AROUND = 420  # characters of context on each side
_ROWS_AROUND = 4


@dataclass(frozen=True)
class TableRow:
    """A row as it is shown: its label, a cell for each column (empty where there is none), and whether it is quoted."""

    label: str
    cells: tuple[str, ...]
    quoted: bool


@dataclass(frozen=True)
class TableView:
    """The part of a table around a quote. `above` and `below` count the rows that are left out."""

    caption: str
    units: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    above: int
    below: int


@dataclass(frozen=True)
class Passage:
    """A quote with what stands before and after it; `cut_before` and `cut_after` say that more stands there."""

    before: str
    quote: str
    after: str
    cut_before: bool
    cut_after: bool
    table: TableView | None = None


def passage_at(
    document: ParsedDocument, start: int, end: int, around: int = _AROUND, furniture: bool = False
) -> Passage:
    """Return `[start, end)` of a document with `around` characters on each side, inside the speaker's turn or section
    it stands in; page headers, footers and numbers are left out of them unless `furniture` is asked for."""
    first, last = _bounds(document, start, end)
    begin = _word_start(document.text, max(first, start - around), start) if start - around > first else first
    finish = _word_end(document.text, min(last, end + around), end) if end + around < last else last
    table = next((one for one in document.tables if one.start <= start and end <= one.end), None)
    return Passage(
        before=_between(document, begin, start, furniture).lstrip(),
        quote=document.text[start:end],
        after=_between(document, end, finish, furniture).rstrip(),
        cut_before=begin > first,
        cut_after=finish < last,
        table=_table_view(document, table, start, end) if table else None,
    )


def _between(document: ParsedDocument, begin: int, finish: int, furniture: bool) -> str:
    if furniture:
        return document.text[begin:finish]
    parts, position = [], begin
    for element in document.elements:
        if element.kind in FURNITURE and element.start < finish and begin < element.end:
            parts.append(document.text[position : max(position, element.start)])
            position = max(position, element.end)
    parts.append(document.text[position:finish])
    return "".join(parts)


def _bounds(document: ParsedDocument, start: int, end: int) -> tuple[int, int]:
    for holders in (document.turns, document.sections):
        for one in holders:
            if one.start <= start and end <= one.end:
                return one.start, one.end
    return 0, len(document.text)


def _word_start(text: str, position: int, limit: int) -> int:
    while position < limit and not text[position - 1].isspace():
        position += 1
    return position


def _word_end(text: str, position: int, limit: int) -> int:
    while position > limit and not text[position].isspace():
        position -= 1
    return position


def _table_view(document: ParsedDocument, table: Table, start: int, end: int) -> TableView | None:
    rows = [row for row in table.rows if not row.is_header]
    hit = [at for at, row in enumerate(rows) if row.start < end and start < row.end]
    if not hit:
        return None
    headers: dict[int, str] = {}
    for row in rows:
        for cell in row.cells:
            headers.setdefault(cell.column, " ".join(cell.header.split()))
    first, last = max(0, hit[0] - _ROWS_AROUND), min(len(rows), hit[-1] + 1 + _ROWS_AROUND)
    columns = sorted(headers)
    return TableView(
        caption=" ".join(table.caption.split()),
        units=" ".join(table.units.split()),
        columns=tuple(headers[one] for one in columns),
        rows=tuple(
            _row_view(document, row, columns, at in hit) for at, row in enumerate(rows[first:last], start=first)
        ),
        above=first,
        below=len(rows) - last,
    )


def _row_view(document: ParsedDocument, row: Row, columns: list[int], quoted: bool) -> TableRow:
    printed = {cell.column: " ".join(document.text[cell.start : cell.end].split()) for cell in row.cells}
    label = " ".join(row.label.split()) or " ".join(document.text[row.start : row.end].split())
    return TableRow(label, tuple(printed.get(one, "") for one in columns), quoted)
