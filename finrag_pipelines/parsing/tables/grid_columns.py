"""The columns of a table: where they stand, what heads them, and where the header ends and the body begins."""

import re
from functools import lru_cache

from finrag_pipelines.parsing.tables.grid_cells import NOTE, GridCell, GridLine, is_value, is_year, number_of
from finrag_pipelines.parsing.tables.values import parse_units

PERIOD = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\b\.?(?:\s+\d{1,2})?"
    r"|\b(?:months?|weeks?|years?|quarters?|periods?)\s+(?:to|end(?:ed|ing)|then)\b"
    r"|\b(?:first|second|third|fourth|1st|2nd|3rd|4th)\s+(?:fiscal\s+)?quarter\b|\bq[1-4]\b|\bfiscal\b|\bfy\b"
    r"|\bas (?:of|at)\b|\byear[- ]to[- ]date\b|\bytd\b|\d{1,2}/\d{1,2}/\d{2,4}"
    r"|(?:19|20)\d\d\s?年|报告期|本期|上期|期末|期初|本年|上年",
    re.I,
)
_SPREAD = re.compile(
    r"^\$?\d[\d.,]*\s?%?\s?(?:[-–—]|to)\s?\$?\d[\d.,]*\s?%?(?:\s?(?:years?|months?|days))?$"
    r"|^\d[\d.,]*\+? (?:years?|months?|weeks?|days)$",
    re.I,
)
_PARENTHESES = re.compile(r"\([^()]{2,240}\)|（[^（）]{2,120}）")
_CENT = re.compile(r"\bper\b.{0,60}\bshare|每股", re.I)
_MAX_COLUMNS = 200


def _overlap(a: tuple[int, int], b: tuple[int, int]) -> int:
    return min(a[1], b[1]) - max(a[0], b[0])


def _label_column(lines: list[GridLine]) -> int:
    several = [line for line in lines if len(line.cells) > 1] or lines
    return min(cell.start for line in several for cell in line.cells)


def _column_ranges(lines: list[GridLine], label: int) -> list[tuple[int, int]]:
    """Return the grid ranges of the columns right of the labels: figures draw them, narrow ones first."""
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
                if len(columns) < _MAX_COLUMNS:
                    columns.append(span)
            elif len(hit) == 1 and widen:
                column = columns[hit[0]]
                columns[hit[0]] = (min(span[0], column[0]), max(span[1], column[1]))
    return sorted(columns)


class Columns:
    """The columns right of the labels: their grid ranges, and which of them a cell stands in."""

    def __init__(self, lines: list[GridLine]) -> None:
        self.label = _label_column(lines)
        self.ranges = _column_ranges(lines, self.label)
        self._found: dict[tuple[int, int, int, int], int] = {}

    def __len__(self) -> int:
        return len(self.ranges)

    def width(self, index: int) -> int:
        """Return how many grid columns a column takes."""
        return self.ranges[index][1] - self.ranges[index][0]

    def of(self, cell: GridCell) -> int:
        """Return the index of the column that a value stands in: the one that it shares most with, else the nearest."""
        key = (cell.start, cell.end, *cell.core)
        if key not in self._found:
            best, most = 0, -(10**9)
            for index, column in enumerate(self.ranges):
                shared = _overlap(cell.core, column)
                if shared <= 0:
                    shared = min(_overlap((cell.start, cell.end), column), 0)
                if shared > most:
                    best, most = index, shared
            self._found[key] = best
        return self._found[key]

    def labels(self, cell: GridCell) -> bool:
        """Say whether a cell stands where the labels are."""
        if cell.start <= self.label:
            return True
        if not self.ranges or cell.start >= self.ranges[0][0]:
            return False
        return all(_overlap((cell.start, cell.end), column) <= 0 for column in self.ranges)


def first_body_line(lines: list[GridLine], label_column: int, columns: list[tuple[int, int]]) -> int:
    """Return the index of the first line that is no header."""

    def has_figures(line: GridLine) -> bool:
        labelled = line.cells[0].start <= label_column
        return any(
            (is_value(cell.text) and not NOTE.match(cell.text)) or (labelled and bool(_SPREAD.match(cell.text)))
            for cell in line.cells
            if cell.start > label_column
        )

    def spans(cell: GridCell) -> bool:
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
        if units_in(cell.text, alone=True) is not None or (spans(cell) and PERIOD.search(cell.text)):
            break
        if not any(named[: first - 1]) and not cell.text.endswith(":") and (spans(cell) or PERIOD.search(cell.text)):
            break
        first -= 1
    return first


def is_period_row(line: GridLine) -> bool:
    """Say whether a line below the head names periods anew, as a second block of columns does."""
    if line.label and not PERIOD.search(line.label) and units_in(line.label, alone=True) is None:
        return False
    return all(is_year(cell.text) or (bool(PERIOD.search(cell.text)) and len(cell.text) <= 60) for cell in line.values)


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


class Headings:
    """The header lines in force while the body of a table is read from the top."""

    def __init__(self, columns: list[tuple[int, int]], inherited: tuple[str, ...] = ()) -> None:
        self.columns = columns
        self.inherited = inherited if len(inherited) == len(columns) else ()
        self.lines: list[GridLine] = []
        self.fresh = True
        self._made: list[str] | None = None

    def take(self, line: GridLine) -> None:
        """Add a header line; one that follows body lines begins a new group and replaces what it repeats."""
        self._made = None
        if self.fresh:
            self.lines.append(line)
            return
        years = bool(line.values) and all(is_year(cell.text) for cell in line.values)
        self.lines = [*self.lines[:-1], line] if years else [line, *self.lines[1:]]
        self.fresh = True

    def body(self) -> None:
        """Note that a body line follows."""
        self.fresh = False

    def of(self, index: int) -> str:
        """Return the header of a column: the texts above it, top-down."""
        if self._made is None:
            self._made = self._make()
        return self._made[index]

    def _make(self) -> list[str]:
        found = [self.words(index) for index in range(len(self.columns))]
        if self.inherited and not any(found):
            found = list(self.inherited)
        labels = [_PARENTHESES.sub("", line.label).strip() for line in self.lines if _names_period(line.label)]
        return [" ".join(words.split() if PERIOD.search(words) else [*labels, *words.split()]) for words in found]

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
    return bool(PERIOD.search(label)) or is_year(label)
