"""From raw cells to a table that can be trusted: lines, columns, headers, labels, values with unit and concept.

Works on cells of any origin (HTML, Markdown, Word). A grid that only arranges text is turned back into passages.
"""

import re

from finrag_pipelines.parsing.model import Cell, Row, Table
from finrag_pipelines.parsing.readers.html_walk import Block, Item, RawTable
from finrag_pipelines.parsing.readers.inline_xbrl import Header
from finrag_pipelines.parsing.tables.grid_cells import (
    MARKER,
    GridCell,
    GridLine,
    Passage,
    blocks_in,
    is_marker_row,
    is_year,
    lines_of,
    number_of,
)
from finrag_pipelines.parsing.tables.grid_columns import (
    PERIOD,
    Columns,
    Headings,
    first_body_line,
    is_period_row,
    units_in,
)
from finrag_pipelines.parsing.tables.grid_units import column_marks, unit_of_figure
from finrag_pipelines.parsing.tables.loose_grid import realign
from finrag_pipelines.parsing.tables.row_paths import RowPaths
from finrag_pipelines.parsing.tables.values import Units, parse_units

_DASH = re.compile(r"^[-–—\s]+$")
_NUMBERING = re.compile(r"^[*†+#\s]*\d{1,3}(?:\.\d{1,4})?\s?[a-z]?(?:\(\w{1,5}\))*\.?[*†+#\s]*$")
_MAX_CELLS = 400  # in one row


def read_grid(table: RawTable) -> "Grid | None":
    """Return `table` understood as data, or None where it only arranges text (see `passages_of`)."""
    lines = lines_of(table)
    if not lines or not _is_table(table, lines):
        return None
    if table.loose:
        realign(lines)
    return Grid(lines)


def _holds_figures(lines: list[GridLine]) -> bool:
    figures = rows = 0
    for line in lines:
        found = sum(number_of(cell.text) is not None for cell in line.cells[1:])
        figures += found
        rows += found > 0
    return figures >= 2 or (rows >= 1 and len(lines) >= 2)


def _is_table(table: RawTable, lines: list[GridLine]) -> bool:
    """Say whether the cells are data: figures beside labels, or short texts in real columns."""
    if any(
        not isinstance(item, Block) and isinstance(item, RawTable)
        for row in table.rows
        for cell in row.cells
        for item in cell.items
    ):
        return False
    several = [line for line in lines if len(line.cells) > 1 and not is_marker_row(line)]
    if any(len(line.cells) > _MAX_CELLS for line in several):
        return False
    if not several:
        return False
    if _holds_figures(several):
        return True
    if len(several) < 2 or len(several) < 0.4 * len(lines):
        return False
    longest = max(len(cell.text) for line in several for cell in line.cells)
    many = max(len(cell.blocks) for line in several for cell in line.cells)
    return longest <= 1500 and many <= 8


def passages_of(table: RawTable) -> list[Item | Passage]:
    """Return what a table that only arranges text says, in reading order: a row of short cells becomes one passage."""
    result: list[Item | Passage] = []
    for row in table.rows:
        filled = [cell for cell in row.cells if cell.items]
        texts = [blocks_in(cell) for cell in filled]
        simple = all(len(blocks) == len(cell.items) for blocks, cell in zip(texts, filled, strict=True))
        if simple and all(len(blocks) == 1 for blocks in texts) and texts:
            first = texts[0][0].text
            total = sum(len(blocks[0].text) for blocks in texts)
            if len(texts) == 1 or MARKER.match(first) or total <= 240:
                bullet = len(texts) > 1 and bool(MARKER.match(first)) and not re.match(r"(?i)item|part|note", first)
                result.append(Passage([blocks[0] for blocks in texts], is_item=bullet))
                continue
        start = 0
        if simple and len(texts) == 2 and len(texts[0]) == 1 and texts[1] and MARKER.match(texts[0][0].text):
            result.append(Passage([texts[0][0], texts[1][0]], is_item=True))
            result.extend(Passage([block]) for block in texts[1][1:])
            start = 2
        for cell in filled[start:]:
            result.extend(Passage([item]) if isinstance(item, Block) else item for item in cell.items)
    return result


class Grid:
    """A table of data, understood: its lines, columns and headers. Positions are relative to the table's text."""

    def __init__(self, lines: list[GridLine]) -> None:
        self.lines = lines
        self.columns = Columns(lines)
        self.headers: tuple[str, ...] = ()
        self.body_from = first_body_line(lines, self.columns.label, self.columns.ranges)
        position = 0
        texts = []
        for line in lines:
            line.start = position
            for cell in line.cells:
                cell.position = position
                position += len(cell.text) + 1
            line.end = position - 1
            texts.append("\t".join(cell.text.replace("\n", " ").replace("\t", " ") for cell in line.cells))
        self.text = "\n".join(texts)
        for line in lines:
            _assign(line, self.columns)
        self._mark_headers()

    def put(self, offset: int) -> None:
        """Fix the place of every block of this table in the canonical text."""
        for line in self.lines:
            for cell in line.cells:
                cell.passage.put(offset + cell.position)

    def linked_rows(self) -> int:
        """Count the rows that link to a place in this document."""
        return sum(
            any(href.startswith("#") for cell in line.cells for block in cell.blocks for href, _, _ in block.links)
            for line in self.lines
        )

    def has_figures(self) -> bool:
        """Say whether any line below the header prints a number."""
        return any(
            number_of(cell.text) is not None for line in self.lines if not line.is_header for cell in line.values
        )

    def links(self) -> list[tuple[str, list[str]]]:
        """Return for each row with links its words, a page number at its end left out, and where it leads."""
        found = []
        for line in self.lines:
            hrefs = [href for cell in line.cells for block in cell.blocks for href, _, _ in block.links]
            if hrefs:
                cells = (
                    line.cells[:-1]
                    if len(line.cells) > 1 and number_of(line.cells[-1].text) is not None
                    else line.cells
                )
                found.append((" ".join(cell.text.replace("\n", " ") for cell in cells), hrefs))
        return found

    def _mark_headers(self) -> None:
        for index, line in enumerate(self.lines):
            if index < self.body_from or (line.values and is_period_row(line)):
                line.is_header = True

    def title(self) -> str:
        """Return the title that stands inside the table, above its columns, or an empty text."""
        for line in self.lines[: self.body_from]:
            text = line.label
            if len(line.cells) > 1 or len(text) > 160 or not text:
                break
            period = PERIOD.search(text)
            words = text[: period.start()] if period else text
            if sum(character.isalpha() for character in words) > 12 and units_in(text, alone=True) in (
                None,
                text[len(words) :],
            ):
                return " ".join(text.split())
        return ""

    def unit_texts(self) -> list[str]:
        """Return the texts in the header rows that may state the units, the label column first."""
        header = self.lines[: self.body_from]
        labels = [line.label for line in header if line.label]
        return labels + [
            cell.text for line in header for cell in line.values if "(" in cell.text or len(line.values) == 1
        ]

    def to_table(
        self, offset: int, caption: str, units_text: str, header: Header, inherited: tuple[str, ...] = ()
    ) -> Table:
        """Return the finished record, its place in the canonical text being `offset`.

        `inherited` are the column headers of the table before, for one that goes on without repeating them.
        """
        units = parse_units(units_text) if units_text else None
        headings = Headings(self.columns.ranges, inherited)
        marks = column_marks(self.lines, self.columns)
        money = next((mark for mark in marks if mark not in (None, "percent")), None)
        rows = []
        paths = RowPaths()
        for line in self.lines:
            path: tuple[str, ...] = ()
            if line.is_header:
                headings.take(line)
            else:
                headings.body()
                path = paths.take(line)
            cells = []
            for cell in line.values:
                column = self.columns.of(cell)
                cells.append(
                    _cell(
                        cell,
                        line,
                        offset,
                        column + 1,
                        "" if line.is_header else headings.of(column),
                        path,
                        units,
                        marks[column] if marks else None,
                        money,
                        header,
                    )
                )
            rows.append(Row(line.label, offset + line.start, offset + line.end, tuple(cells), path, line.is_header))
        self.headers = tuple(
            headings.words(index) or (inherited[index] if headings.inherited else "")
            for index in range(len(self.columns))
        )
        return Table(offset, offset + len(self.text), caption, units_text, tuple(rows))


def _assign(line: GridLine, columns: Columns) -> None:
    """Part a line into its label and its values."""
    labels = []
    for cell in line.cells:
        (labels if columns.labels(cell) else line.values).append(cell)
    if not labels and len(line.values) > 1 and _is_numbering(line.values):
        labels.append(line.values.pop(0))
    line.label = " ".join(cell.text.replace("\n", " ") for cell in labels)
    if labels:
        line.strong = labels[0].passage.share(lambda block: block.bold) > 0.9
        line.indent = labels[0].blocks[0].indent + 8.0 * max(0, labels[0].start - columns.label)


def _is_numbering(values: list[GridCell]) -> bool:
    """Say whether the first of these cells numbers the text beside it, as in a list of exhibits."""
    others = [cell for cell in values[1:] if not _DASH.match(cell.text)]
    return (
        bool(_NUMBERING.match(values[0].text))
        and len(others) == 1
        and len(others[0].text) > 20
        and number_of(others[0].text) is None
    )


def _only_text(line: GridLine) -> bool:
    """Say whether a line holds no figure, so that a dash in it is punctuation and no zero."""
    return any(len(cell.text) > 40 for cell in line.values) and all(
        number_of(cell.text) is None or _DASH.match(cell.text) for cell in line.values
    )


def _cell(
    cell: GridCell,
    line: GridLine,
    offset: int,
    column: int,
    heading: str,
    path: tuple[str, ...],
    units: Units | None,
    mark: str | None,
    money: str | None,
    header: Header,
) -> Cell:
    """Return the record of one value, by its inline-XBRL tag where it has one, else by what stands around it."""
    start = offset + cell.position
    number = None if line.is_header or (_DASH.match(cell.text) and _only_text(line)) else number_of(cell.text)
    tag = next((tag for block in cell.blocks for tag in block.tags if tag.numeric), None)
    unit, scale = None, 0
    duration = period_end = None
    if tag is not None:
        context = header.contexts.get(tag.context)
        duration = context.duration if context else None
        period_end = context.end if context else None
        unit, scale = header.units.get(tag.unit), tag.scale
        if unit == "pure":
            # A percentage is stated as a fraction with scale -2, and printed as a percentage.
            unit, scale = ("percent", 0) if scale == -2 or "%" in cell.text else (None, scale)
    elif number is not None and not is_year(cell.text):
        unit, scale = unit_of_figure(cell.text, line.label, heading, path, units, mark, money)
    return Cell(
        start=start,
        end=start + len(cell.text),
        column=column,
        header=heading,
        value=None if number is None else format(number, "f"),
        unit=unit,
        scale=scale,
        period_end=period_end,
        duration=duration,
        concept=tag.concept if tag is not None else None,
    )
