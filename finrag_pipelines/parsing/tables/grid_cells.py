"""Table cells as a reader of accounts sees them: `$`, figure and `)` joined, footnote marks told from figures."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache

from finrag_pipelines.parsing.readers.html_walk import Block, RawCell, RawTable
from finrag_pipelines.parsing.tables.values import parse_number

_BULLET = r"[•●▪◦■□·‣➢➤✓◆▶►∙*o–—-]|[-]"
BULLET = re.compile(r"^[•●▪◦■□·‣➢➤✓◆▶►∙]$")
MARKER = re.compile(
    rf"^(?:{_BULLET}|\(?(?:\d{{1,2}}|[A-Za-z]|[ivxlcIVXLC]{{1,5}})[.)]|\((?:\d{{1,2}}|[A-Za-z]{{1,2}}|[ivx]{{1,5}})\)|\d{{1,2}}\.\d{{1,2}}\.?"
    r"|[*†‡§]{1,4}|\[[x ]?\]|[☐☒☑]|(?:item|part|note|exhibit)\s+(?:no\.?\s*)?[\divxIVX]{1,4}[a-c]?\.?:?)$",
    re.I,
)
_PREFIX = re.compile(
    r"^(?:\(?\s*(?:US|U\.S\.|C|CA|A|HK|NT|S|NZ|R|Cdn)?\s?[$£€¥₹₩]\s*\(?|\(|(?:RMB|USD|CNY|EUR|GBP|CHF|CAD|Rs\.?)\s*\(?)$"
)
_SUFFIX = re.compile(r"^(?:\)|%|\)\s?%|%\s?\)|\(?pts?\.?\)?|pp|bps|x|%\s?pts|¢)(?:\s?[*†‡]+|\s?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)?$", re.I)
NOTE = re.compile(r"^(?:\(\w{1,2}\)|[*†‡§]{1,3}|[⁰¹²³⁴⁵⁶⁷⁸⁹]+|\[\w{1,2}\])$")
_STARTS_NUMBER = re.compile(r"^[(\s$£€¥+−–—-]*[\d.]|^[—–-]+$")
_YEAR = re.compile(
    r"^(?:fy\s?|fiscal\s)?['’]?(?:19|20)\d\d(?:\s?[*†]+|\s?\(\w{1,3}\)|\s?[⁰¹²³⁴-⁹]+|[AEF]|年(?:度)?)?$", re.I
)


@lru_cache(maxsize=50_000)
def number_of(text: str) -> Decimal | None:
    """Return the number that a cell's text prints, or None; remembered, because tables repeat themselves."""
    return parse_number(text)


def is_year(text: str) -> bool:
    """Say whether a cell names a year, as headers do, and prints no amount."""
    return bool(_YEAR.match(text))


def is_value(text: str) -> bool:
    """Say whether a cell prints a number that is not a year."""
    return not is_year(text) and number_of(text) is not None


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
class GridCell:
    """A cell after split cells were joined: grid columns of all its parts, and of the figure alone (`core`)."""

    passage: Passage
    start: int
    end: int
    core: tuple[int, int]
    head: bool = False
    position: int = 0  # in the table's text

    @property
    def text(self) -> str:
        """The cell's text."""
        return self.passage.text

    @property
    def blocks(self) -> list[Block]:
        """The blocks that the text is made of."""
        return [block for block, _ in self.passage.pieces]


@dataclass(slots=True)
class GridLine:
    """A row with at least one cell that is not empty."""

    cells: list[GridCell]
    covering: list[str] = field(default_factory=list)
    is_header: bool = False
    label: str = ""
    values: list[GridCell] = field(default_factory=list)
    indent: float = 0.0
    strong: bool = False
    start: int = 0
    end: int = 0


def blocks_in(cell: RawCell) -> list[Block]:
    """Return the text blocks of a raw cell."""
    return [item for item in cell.items if isinstance(item, Block)]


def _join_row(cells: list[tuple[RawCell, list[Block]]]) -> list[GridCell]:
    """Join `$`, figure, `)` and `%` that stand in cells of their own."""
    joined: list[GridCell] = []
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
                joined.append(GridCell(whole, opened.column, end, (start, end), cell.head))
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
        if joined and NOTE.match(text) and start - joined[-1].end <= 1 and number_of(joined[-1].text) is not None:
            superscript = passage.share(lambda block: block.superscript) > 0.5 or not text.startswith("(")
            if superscript:
                last = joined[-1]
                last.passage = _with_note(last.passage, blocks)
                last.end = end
                continue
        joined.append(GridCell(passage, start, end, (start, end), cell.head))
    if prefix is not None:
        joined.append(_alone(prefix[0], Passage(prefix[1])))
    return joined


def _alone(cell: RawCell, passage: Passage) -> GridCell:
    end = cell.column + cell.span
    return GridCell(passage, cell.column, end, (cell.column, end), cell.head)


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


def lines_of(table: RawTable) -> list[GridLine]:
    """Return the rows of a raw table that hold any text, split cells joined."""
    lines = []
    for row in table.rows:
        filled = [(cell, blocks) for cell in row.cells if (blocks := blocks_in(cell))]
        if filled:
            covering = [Passage(blocks_in(cell)).text for cell in row.covered]
            lines.append(GridLine(_join_row(filled), [text for text in covering if text]))
    _merge_notes(lines)
    return lines


def _merge_notes(lines: list[GridLine]) -> None:
    """Append footnote marks that stand in columns of their own, such as `(1)`, to the figures before them."""
    notes: dict[int, bool] = {}
    for line in lines:
        for position, cell in enumerate(line.cells):
            before = line.cells[position - 1] if position else None
            is_note = (
                before is not None
                and bool(NOTE.match(cell.text))
                and cell.start - before.end <= 1
                and number_of(before.text) is not None
            )
            notes[cell.core[0]] = notes.get(cell.core[0], True) and is_note
    for line in lines:
        kept: list[GridCell] = []
        for cell in line.cells:
            if kept and notes[cell.core[0]]:
                kept[-1].passage = _with_note(kept[-1].passage, cell.blocks)
                kept[-1].end = cell.end
            else:
                kept.append(cell)
        line.cells = kept


def is_marker_row(line: GridLine) -> bool:
    """Say whether a row is a bullet or a number with the text that it marks."""
    return len(line.cells) == 2 and bool(MARKER.match(line.cells[0].text)) and not is_value(line.cells[1].text)
