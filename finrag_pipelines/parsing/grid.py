"""From raw cells to a table that can be trusted: split cells joined, columns told apart, headers, labels and row paths.

Works on cells of any origin (HTML, Markdown, Word). A grid that only arranges text is turned back into passages.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache

from finrag_pipelines.parsing.html_walk import Block, Item, RawCell, RawTable
from finrag_pipelines.parsing.inline_xbrl import Header
from finrag_pipelines.parsing.model import Cell, Row, Table
from finrag_pipelines.parsing.values import Units, cell_unit, currency_of, parse_number, parse_units

_BULLET = r"[•●▪◦■□·‣➢➤✓◆▶►∙*o–—-]|[-]"
BULLET = re.compile(r"^[•●▪◦■□·‣➢➤✓◆▶►∙]$")
_MARKER = re.compile(
    rf"^(?:{_BULLET}|\(?(?:\d{{1,2}}|[A-Za-z]|[ivxlcIVXLC]{{1,5}})[.)]|\((?:\d{{1,2}}|[A-Za-z]{{1,2}}|[ivx]{{1,5}})\)|\d{{1,2}}\.\d{{1,2}}\.?"
    r"|[*†‡§]{1,4}|\[[x ]?\]|[☐☒☑]|(?:item|part|note|exhibit)\s+(?:no\.?\s*)?[\divxIVX]{1,4}[a-c]?\.?:?)$",
    re.I,
)
_PREFIX = re.compile(
    r"^(?:\(?\s*(?:US|U\.S\.|C|CA|A|HK|NT|S|NZ|R|Cdn)?\s?[$£€¥₹₩]\s*\(?|\(|(?:RMB|USD|CNY|EUR|GBP|CHF|CAD|Rs\.?)\s*\(?)$"
)
_SUFFIX = re.compile(r"^(?:\)|%|\)\s?%|%\s?\)|\(?pts?\.?\)?|pp|bps|x|%\s?pts|¢)(?:\s?[*†‡]+|\s?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)?$", re.I)
_NOTE = re.compile(r"^(?:\(\w{1,2}\)|[*†‡§]{1,3}|[⁰¹²³⁴⁵⁶⁷⁸⁹]+|\[\w{1,2}\])$")
_STARTS_NUMBER = re.compile(r"^[(\s$£€¥+−–—-]*[\d.]|^[—–-]+$")
_YEAR = re.compile(
    r"^(?:fy\s?|fiscal\s)?['’]?(?:19|20)\d\d(?:\s?[*†]+|\s?\(\w{1,3}\)|\s?[⁰¹²³⁴-⁹]+|[AEF]|年(?:度)?)?$", re.I
)
_PERIOD = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\b\.?(?:\s+\d{1,2})?|\b(?:months?|weeks?|years?|quarters?|periods?)\s+(?:to|end(?:ed|ing)|then)\b"
    r"|\b(?:first|second|third|fourth|1st|2nd|3rd|4th)\s+(?:fiscal\s+)?quarter\b|\bq[1-4]\b|\bfiscal\b|\bfy\b|\bas (?:of|at)\b"
    r"|\byear[- ]to[- ]date\b|\bytd\b|\d{1,2}/\d{1,2}/\d{2,4}|(?:19|20)\d\d\s?年|报告期|本期|上期|期末|期初|本年|上年",
    re.I,
)
_DASH = re.compile(r"^[-–—\s]+$")
# `Cash dividends declared ($0.07 per share)` is an amount: its parenthesis only explains it.
_PRICED = re.compile(r"\([^()]{0,80}[$£€][^()]{0,80}\)")
_SIGNED = re.compile(r"[$£€¥₹]\)?$|\((?:in )?(?:US|C|A|HK)?[$£€¥₹]|\b(?:RMB|USD|CNY|EUR|GBP|CAD)\)?$")
_SPREAD = re.compile(
    r"^\$?\d[\d.,]*\s?%?\s?(?:[-–—]|to)\s?\$?\d[\d.,]*\s?%?(?:\s?(?:years?|months?|days))?$|^\d[\d.,]*\+? (?:years?|months?|weeks?|days)$",
    re.I,
)
_NUMBERING = re.compile(r"^[*†+#\s]*\d{1,3}(?:\.\d{1,4})?\s?[a-z]?(?:\(\w{1,5}\))*\.?[*†+#\s]*$")
_PARENTHESES = re.compile(r"\([^()]{2,240}\)|（[^（）]{2,120}）")
_TOTAL = re.compile(
    r"^(?:sub-?)?total\b|^net cash\b|^(?:cash|net cash) (?:provided|used|from|flows?)\b|合计|总计|^小计", re.I
)
# Lines of a balance sheet that carry no amount and head no group.
_LONE = re.compile(
    r"^commitments?$|^commitments? and contingen|^contingen(?:t liabilit|cies and commit)|^see (?:accompanying )?notes?\b",
    re.I,
)
_SUBGROUP = re.compile(r"^(?:adjustments?|(?:net )?changes? in|(?:increase|decrease|\(increase\)|\(decrease\)) )", re.I)
_ACTIVITY = re.compile(r"\b(operating|investing|financing)\b.{0,30}\bactivities\b", re.I)
_SAME_DEPTH = 1.5
_CENT = re.compile(r"\bper\b.{0,60}\bshare|每股", re.I)


@lru_cache(maxsize=50_000)
def number_of(text: str) -> Decimal | None:
    """Return the number that a cell's text prints, or None; remembered, because tables repeat themselves."""
    return parse_number(text)


def _is_year(text: str) -> bool:
    return bool(_YEAR.match(text))


def _is_value(text: str) -> bool:
    return not _is_year(text) and number_of(text) is not None


class Passage:
    """A line of text made of one or more blocks; `pieces` says where in it each block begins."""

    __slots__ = ("is_item", "pieces", "text")

    def __init__(self, blocks: Iterable[Block], is_item: bool = False, joint: str = " ") -> None:
        self.pieces: list[tuple[Block, int]] = []
        texts: list[str] = []
        position = 0
        for block in blocks:
            if texts:
                texts.append(joint)
                position += len(joint)
            self.pieces.append((block, position))
            texts.append(block.text)
            position += len(block.text)
        self.text = "".join(texts)
        self.is_item = is_item or any(block.item for block, _ in self.pieces)

    def put(self, offset: int) -> None:
        """Fix the place of this passage and of its blocks in the canonical text."""
        for block, shift in self.pieces:
            block.offset = offset + shift

    def share(self, count: Callable[[Block], int]) -> float:
        """Return which part of the visible characters `count` counts."""
        visible = sum(block.visible for block, _ in self.pieces)
        return sum(count(block) for block, _ in self.pieces) / visible if visible else 0.0


@dataclass(slots=True)
class _Joined:
    """A cell after split cells were joined: grid columns of all its parts, and of the figure alone (`core`)."""

    passage: Passage
    start: int
    end: int
    core: tuple[int, int]
    head: bool = False
    position: int = 0  # in the table's text

    @property
    def text(self) -> str:
        return self.passage.text

    @property
    def blocks(self) -> list[Block]:
        return [block for block, _ in self.passage.pieces]


@dataclass(slots=True)
class _Line:
    """A row with at least one cell that is not empty."""

    cells: list[_Joined]
    covering: list[str] = field(default_factory=list)
    is_header: bool = False
    label: str = ""
    values: list[_Joined] = field(default_factory=list)
    indent: float = 0.0
    strong: bool = False
    start: int = 0
    end: int = 0


def _blocks(cell: RawCell) -> list[Block]:
    return [item for item in cell.items if isinstance(item, Block)]


def _join_row(cells: list[tuple[RawCell, list[Block]]]) -> list[_Joined]:
    """Join `$`, figure, `)` and `%` that stand in cells of their own."""
    joined: list[_Joined] = []
    prefix: tuple[RawCell, list[Block]] | None = None
    for cell, blocks in cells:
        passage = Passage(blocks)
        text = passage.text
        start, end = cell.column, cell.column + cell.span
        if prefix is not None:
            opened, marks = prefix
            prefix = None
            if _STARTS_NUMBER.match(text) and start - (opened.column + opened.span) <= 2:
                whole = Passage([*marks, *blocks], joint="")
                joined.append(_Joined(whole, opened.column, end, (start, end), cell.head))
                continue
            joined.append(_alone(opened, Passage(marks)))
        if _PREFIX.match(text):
            prefix = (cell, blocks)
            continue
        if joined and _SUFFIX.match(text) and start - joined[-1].end <= 2 and _STARTS_NUMBER.match(joined[-1].text):
            last = joined[-1]
            last.passage = Passage([*last.blocks, *blocks], joint="")
            last.end = end
            continue
        if joined and _NOTE.match(text) and start - joined[-1].end <= 1 and number_of(joined[-1].text) is not None:
            superscript = passage.share(lambda block: block.superscript) > 0.5 or not text.startswith("(")
            if superscript:
                last = joined[-1]
                last.passage = _with_note(last.passage, blocks)
                last.end = end
                continue
        joined.append(_Joined(passage, start, end, (start, end), cell.head))
    if prefix is not None:
        joined.append(_alone(prefix[0], Passage(prefix[1])))
    return joined


def _alone(cell: RawCell, passage: Passage) -> _Joined:
    end = cell.column + cell.span
    return _Joined(passage, cell.column, end, (cell.column, end), cell.head)


def _with_note(passage: Passage, note: list[Block]) -> Passage:
    """Append a footnote mark after a space."""
    whole = Passage([])
    whole.pieces = [*passage.pieces]
    position = len(passage.text) + 1
    texts = [passage.text]
    for block in note:
        whole.pieces.append((block, position))
        texts.append(block.text)
        position += len(block.text) + 1
    whole.text = " ".join(texts)
    return whole


def _lines(table: RawTable) -> list[_Line]:
    lines = []
    for row in table.rows:
        filled = [(cell, blocks) for cell in row.cells if (blocks := _blocks(cell))]
        if filled:
            covering = [Passage(_blocks(cell)).text for cell in row.covered]
            lines.append(_Line(_join_row(filled), [text for text in covering if text]))
    _merge_notes(lines)
    return lines


def _merge_notes(lines: list[_Line]) -> None:
    """Append footnote marks that stand in columns of their own, such as `(1)`, to the figures before them."""
    notes: dict[int, bool] = {}
    for line in lines:
        for position, cell in enumerate(line.cells):
            before = line.cells[position - 1] if position else None
            is_note = (
                before is not None
                and bool(_NOTE.match(cell.text))
                and cell.start - before.end <= 1
                and number_of(before.text) is not None
            )
            notes[cell.core[0]] = notes.get(cell.core[0], True) and is_note
    for line in lines:
        kept: list[_Joined] = []
        for cell in line.cells:
            if kept and notes[cell.core[0]]:
                kept[-1].passage = _with_note(kept[-1].passage, cell.blocks)
                kept[-1].end = cell.end
            else:
                kept.append(cell)
        line.cells = kept


def _is_marker_row(line: _Line) -> bool:
    return len(line.cells) == 2 and bool(_MARKER.match(line.cells[0].text)) and not _is_value(line.cells[1].text)


def _holds_figures(lines: list[_Line]) -> bool:
    figures = rows = 0
    for line in lines:
        found = sum(number_of(cell.text) is not None for cell in line.cells[1:])
        figures += found
        rows += found > 0
    return figures >= 2 or (rows >= 1 and len(lines) >= 2)


def _is_table(table: RawTable, lines: list[_Line]) -> bool:
    """Say whether the cells are data: figures beside labels, or short texts in real columns."""
    if any(
        not isinstance(item, Block) and isinstance(item, RawTable)
        for row in table.rows
        for cell in row.cells
        for item in cell.items
    ):
        return False
    several = [line for line in lines if len(line.cells) > 1 and not _is_marker_row(line)]
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
        texts = [_blocks(cell) for cell in filled]
        simple = all(len(blocks) == len(cell.items) for blocks, cell in zip(texts, filled, strict=True))
        if simple and all(len(blocks) == 1 for blocks in texts) and texts:
            first = texts[0][0].text
            total = sum(len(blocks[0].text) for blocks in texts)
            if len(texts) == 1 or _MARKER.match(first) or total <= 240:
                bullet = len(texts) > 1 and bool(_MARKER.match(first)) and not re.match(r"(?i)item|part|note", first)
                result.append(Passage([blocks[0] for blocks in texts], is_item=bullet))
                continue
        start = 0
        if simple and len(texts) == 2 and len(texts[0]) == 1 and texts[1] and _MARKER.match(texts[0][0].text):
            result.append(Passage([texts[0][0], texts[1][0]], is_item=True))
            result.extend(Passage([block]) for block in texts[1][1:])
            start = 2
        for cell in filled[start:]:
            result.extend(Passage([item]) if isinstance(item, Block) else item for item in cell.items)
    return result


class Grid:
    """A table of data, understood: its lines, columns and headers. Positions are relative to the table's text."""

    def __init__(self, lines: list[_Line]) -> None:
        self.lines = lines
        self.columns = _columns(lines)
        self.headers: tuple[str, ...] = ()
        label_column = _label_column(lines)
        self.body_from = _first_body_line(lines, label_column, self.columns)
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
            _assign(line, self.columns, label_column)
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
            if index < self.body_from or (line.values and _is_period_row(line)):
                line.is_header = True

    def title(self) -> str:
        """Return the title that stands inside the table, above its columns, or an empty text."""
        for line in self.lines[: self.body_from]:
            text = line.label
            if len(line.cells) > 1 or len(text) > 160 or not text:
                break
            period = _PERIOD.search(text)
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
        headings = _Headings(self.columns, inherited)
        marks = _column_marks(self.lines, self.columns)
        money = next((mark for mark in marks if mark not in (None, "percent")), None)
        rows = []
        paths = _Paths()
        for line in self.lines:
            path: tuple[str, ...] = ()
            if line.is_header:
                headings.take(line)
            else:
                headings.body()
                path = paths.take(line)
            cells = []
            for cell in line.values:
                column = _column_of(cell, self.columns)
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


def _column_marks(lines: list[_Line], columns: list[tuple[int, int]]) -> list[str | None]:
    """Return for each column the currency that its figures show, or `percent` where they show only percent signs.

    Statements print the sign on the first and the last figure of a column, and mean it for those between.
    """
    marks: list[str | None] = [None] * len(columns)
    for line in lines:
        for cell in line.values:
            column = _column_of(cell, columns)
            if line.is_header:
                if cell.end - cell.start <= columns[column][1] - columns[column][0] + 2 and _SIGNED.search(cell.text):
                    marks[column] = currency_of(cell.text)
                continue
            if number_of(cell.text) is None:
                continue
            if (currency := currency_of(cell.text)) and marks[column] in (None, "percent"):
                marks[column] = currency
            elif "%" in cell.text and marks[column] is None:
                marks[column] = "percent"
    return marks


def read_grid(table: RawTable) -> Grid | None:
    """Return `table` understood as data, or None where it only arranges text (see `passages_of`)."""
    lines = _lines(table)
    if not lines or not _is_table(table, lines):
        return None
    return Grid(lines)


def _overlap(a: tuple[int, int], b: tuple[int, int]) -> int:
    return min(a[1], b[1]) - max(a[0], b[0])


def _label_column(lines: list[_Line]) -> int:
    several = [line for line in lines if len(line.cells) > 1] or lines
    return min(cell.start for line in several for cell in line.cells)


def _columns(lines: list[_Line]) -> list[tuple[int, int]]:
    """Return the grid ranges of the columns right of the labels: figures draw them, narrow ones first."""
    label = _label_column(lines)
    figures: set[tuple[int, int]] = set()
    texts: set[tuple[int, int]] = set()
    for line in lines:
        for position, cell in enumerate(line.cells):
            if cell.start <= label:
                continue
            if number_of(cell.text) is not None:
                figures.add(cell.core)
            elif position:
                texts.add(cell.core)
    columns: list[tuple[int, int]] = []
    for found, widen in ((figures, True), (texts, False)):
        for span in sorted(found, key=lambda span: (span[1] - span[0], span[0])):
            hit = [index for index, column in enumerate(columns) if _overlap(span, column) > 0]
            if not hit:
                columns.append(span)
            elif len(hit) == 1 and widen:
                column = columns[hit[0]]
                columns[hit[0]] = (min(span[0], column[0]), max(span[1], column[1]))
    return sorted(columns)


def _assign(line: _Line, columns: list[tuple[int, int]], label_column: int) -> None:
    """Part a line into its label and its values."""
    labels = []
    for cell in line.cells:
        beside = all(_overlap((cell.start, cell.end), column) <= 0 for column in columns)
        if cell.start <= label_column or (beside and columns and cell.start < columns[0][0]):
            labels.append(cell)
        else:
            line.values.append(cell)
    if not labels and len(line.values) > 1 and _is_numbering(line.values):
        labels.append(line.values.pop(0))
    line.label = " ".join(cell.text.replace("\n", " ") for cell in labels)
    if labels:
        line.strong = labels[0].passage.share(lambda block: block.bold) > 0.9
        line.indent = labels[0].blocks[0].indent + 8.0 * max(0, labels[0].start - label_column)


def _is_numbering(values: list[_Joined]) -> bool:
    """Say whether the first of these cells numbers the text beside it, as in a list of exhibits."""
    others = [cell for cell in values[1:] if not _DASH.match(cell.text)]
    return (
        bool(_NUMBERING.match(values[0].text))
        and len(others) == 1
        and len(others[0].text) > 20
        and number_of(others[0].text) is None
    )


def _column_of(cell: _Joined, columns: list[tuple[int, int]]) -> int:
    """Return the index of the column that a value stands in."""
    best, most = 0, -(10**9)
    for index, column in enumerate(columns):
        shared = _overlap(cell.core, column)
        if shared <= 0:
            shared = min(_overlap((cell.start, cell.end), column), 0)
        if shared > most:
            best, most = index, shared
    return best


def _first_body_line(lines: list[_Line], label_column: int, columns: list[tuple[int, int]]) -> int:
    """Return the index of the first line that is no header."""

    def has_figures(line: _Line) -> bool:
        labelled = line.cells[0].start <= label_column
        return any(
            (_is_value(cell.text) and not _NOTE.match(cell.text)) or (labelled and bool(_SPREAD.match(cell.text)))
            for cell in line.cells
            if cell.start > label_column
        )

    def spans(cell: _Joined) -> bool:
        return cell.end - cell.start > 1 and cell.end > (columns[0][0] if columns else label_column + 1)

    first = next((index for index, line in enumerate(lines) if has_figures(line)), None)
    if first is None:
        strong = all(
            (cell.head or cell.passage.share(lambda block: block.bold) > 0.9)
            and 2 * sum(character.isdigit() for character in cell.text) < len(cell.text)
            for cell in lines[0].cells
        )
        return 1 if strong and len(lines) > 1 and len(lines[0].cells) > 1 else 0
    named = [any(cell.start > label_column for cell in line.cells) for line in lines[:first]]
    while first and not named[first - 1]:
        # A line with nothing but a label, right above the figures, heads a group of rows.
        cell = lines[first - 1].cells[0]
        if units_in(cell.text, alone=True) is not None or (spans(cell) and _PERIOD.search(cell.text)):
            break
        if not any(named[: first - 1]) and not cell.text.endswith(":") and (spans(cell) or _PERIOD.search(cell.text)):
            break
        first -= 1
    return first


def _is_period_row(line: _Line) -> bool:
    """Say whether a line below the head names periods anew, as a second block of columns does."""
    if line.label and not _PERIOD.search(line.label) and units_in(line.label, alone=True) is None:
        return False
    return all(
        _is_year(cell.text) or (bool(_PERIOD.search(cell.text)) and len(cell.text) <= 60) for cell in line.values
    )


def units_in(text: str, alone: bool = False) -> str | None:
    """Return the part of `text` that states units: a parenthesis, or with `alone` the whole of a short line."""
    for match in _PARENTHESES.finditer(text[:2000]):
        if _states_units(match[0]):
            return match[0]
    if alone and len(text) <= 160 and not text.endswith(".") and _states_units(text):
        return text
    return None


@lru_cache(maxsize=5000)
def _states_units(text: str) -> bool:
    units = parse_units(text)
    # `per-share amounts in dollars` says nothing about the amounts that are not per share.
    return units is not None and (units.scale != 0 or units.percent or not _CENT.search(text))


class _Headings:
    """The header lines in force while the body of a table is read from the top."""

    def __init__(self, columns: list[tuple[int, int]], inherited: tuple[str, ...] = ()) -> None:
        self.columns = columns
        self.inherited = inherited if len(inherited) == len(columns) else ()
        self.lines: list[_Line] = []
        self.fresh = True

    def take(self, line: _Line) -> None:
        """Add a header line; one that follows body lines begins a new group and replaces what it repeats."""
        if self.fresh:
            self.lines.append(line)
            return
        years = bool(line.values) and all(_is_year(cell.text) for cell in line.values)
        self.lines = [*self.lines[:-1], line] if years else [line, *self.lines[1:]]
        self.fresh = True

    def body(self) -> None:
        """Note that a body line follows."""
        self.fresh = False

    def of(self, index: int) -> str:
        """Return the header of a column: the texts above it, top-down."""
        words = self.words(index)
        if not words and self.inherited and not any(self.words(other) for other in range(len(self.columns))):
            words = self.inherited[index]
        if not _PERIOD.search(words):
            labels = [_PARENTHESES.sub("", line.label).strip() for line in self.lines if _names_period(line.label)]
            words = " ".join([*labels, words])
        return " ".join(words.split())

    def words(self, index: int) -> str:
        """Return what the header cells above a column say, without what the label column adds."""
        words: list[str] = []
        for line in self.lines:
            found = [cell.text for cell in line.values if _overlap((cell.start, cell.end), self.columns[index]) > 0]
            if not found and len(line.values) == len(self.columns):
                found = [line.values[index].text]
            words.extend(text for text in found if text not in words[-1:])
        return " ".join(" ".join(words).split())


def _names_period(label: str) -> bool:
    return bool(_PERIOD.search(label)) or _is_year(label)


@dataclass(slots=True)
class _Group:
    """An open group of rows: its label, indentation, and whether deeper rows stood under it."""

    label: str
    indent: float
    strong: bool = False
    has_deeper: bool = False


class _Paths:
    """The groups that are open while the body of a table is read from the top.

    A line without values opens a group. Deeper lines stand under it until a line at its own depth follows; in a table
    without indentation, lines stand under it until its total, or until the next group opens.
    """

    def __init__(self) -> None:
        self.groups: list[_Group] = []
        self.after_values = False

    def take(self, line: _Line) -> tuple[str, ...]:
        """Return the labels that `line` stands under."""
        opens = not line.values
        if not line.label:
            path = self.path()
            if self.groups and self.groups[-1].has_deeper:
                self.groups.pop()
            return path
        total = bool(_TOTAL.match(line.label))
        while self.groups and self._ended(self.groups[-1], line, opens, total):
            self.groups.pop()
        if self.groups and line.indent > self.groups[-1].indent + _SAME_DEPTH:
            self.groups[-1].has_deeper = True
        if total and (named := self._named(line.label)) is not None:
            del self.groups[named + 1 :]
        path = self.path()
        if (
            total
            and self.groups
            and (self.groups[-1].has_deeper or abs(self.groups[-1].indent - line.indent) <= _SAME_DEPTH)
        ):
            self.groups.pop()
        if opens and not _LONE.match(line.label):
            self.groups.append(_Group(line.label, line.indent, line.strong))
        self.after_values = not opens
        return path

    def path(self) -> tuple[str, ...]:
        return tuple(group.label for group in self.groups)

    def _ended(self, group: _Group, line: _Line, opens: bool, total: bool) -> bool:
        if group.indent > line.indent + _SAME_DEPTH:
            return True
        if group.indent < line.indent - _SAME_DEPTH or total:
            return False
        nested = (group.strong and not line.strong) or (
            _SUBGROUP.match(line.label) and "activities" in group.label.lower()
        )
        return (opens and self.after_values and not nested) or group.has_deeper

    def _named(self, label: str) -> int | None:
        """Return the innermost open group that a total names, as `Total current assets` names `Current assets`."""
        words = _words(label)
        activity = _ACTIVITY.search(label)
        for index in range(len(self.groups) - 1, -1, -1):
            named = _words(self.groups[index].label)
            same = _ACTIVITY.search(self.groups[index].label) if activity else None
            if (named and named <= words) or (activity and same and same[1].lower() == activity[1].lower()):
                return index
        return None


def _words(label: str) -> set[str]:
    return {
        word
        for word in re.findall(r"[a-z]{3,}", label.lower())
        if word not in ("total", "and", "the", "from", "cash", "flows")
    }


def _only_text(line: _Line) -> bool:
    """Say whether a line holds no figure, so that a dash in it is punctuation and no zero."""
    return any(len(cell.text) > 40 for cell in line.values) and all(
        number_of(cell.text) is None or _DASH.match(cell.text) for cell in line.values
    )


def _cell(
    cell: _Joined,
    line: _Line,
    offset: int,
    column: int,
    heading: str,
    path: tuple[str, ...],
    units: Units | None,
    mark: str | None,
    money: str | None,
    header: Header,
) -> Cell:
    """Return the record of one value, by its inline-XBRL tag where it has one, else by what the table says around it."""
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
    elif number is not None and not _is_year(cell.text):
        label = _PRICED.sub("", line.label)
        unit, scale = cell_unit(cell.text, label, heading, units, path, mark if mark != "percent" else None)
        if mark == "percent" and unit is None:
            unit, scale = "percent", 0
        elif mark is None and unit is None and money and units is not None:
            unit, scale = cell_unit(cell.text, label, heading, units, path, money)
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
