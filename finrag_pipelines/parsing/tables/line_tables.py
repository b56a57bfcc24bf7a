"""Tables in lines: rows whose numbers stand under each other, the headers above them, caption and units.

Works on the geometry of one page, so that a number at the end of a sentence is no cell and a header that is printed
in three lines over one column, or over three columns, lands where it belongs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from finrag_pipelines.parsing.model import Cell, Row, Table
from finrag_pipelines.parsing.readers.lines import ITEM_HEADING, Line, Word, ends_sentence, is_sentence_like
from finrag_pipelines.parsing.tables.values import Units, cell_unit, currency_of, parse_amount, parse_units

_NUMBER = re.compile(
    r"[(\[]?[-–—−+]?(?:US|U\.S\.|C|A|HK|NT|R)?[$£€¥₹]?[(]?[-–—−]?[$£€¥₹]?"
    r"(?:\d{1,3}(?:,\d{2,3})+|\d+)?(?:\.\d+)?[-–—−]?(?:%|x|bps|pts|bp|pp)?[)\]]?(?:%|pts)?(?:\(\w{1,3}\))?[*†‡]*",
)
_DASH = re.compile(r"[$£€¥]?[(]?[-–—−]{1,3}[)]?%?[)]?(?:\(\w{1,2}\))?")
_SIGN = re.compile(r"\(?(?:US|U\.S\.|C|CA|A|HK|NT|R)?[$£€¥₹]\(?|RMB|USD|EUR|Rs\.?|\(")
_CLOSE = re.compile(r"\)?%?\)?|pts?\.?|bps|pp|ppts?|points?|\)?pts|x|years?|months?|days")
_NOTHING = re.compile(r"N/?[MA]|n/?[ma]|n\.m\.|n\.a\.|N\.M\.|N\.A\.|\*+|nm|NMF|nil|None|Flat|flat|Even|不适用")
_MARK = re.compile(r"\((?:\w|\d{1,2}|i{1,3})\)")
_YEAR = re.compile(r"(?:FY|F|CY)?(?:19|20)\d\d[EA]?(?:\(\w\))?[*,]?|[12]Q'?\d\d|Q[1-4]'?(?:\d\d)?")
_DATE = re.compile(r"\d{1,2}[/.-]\d{1,2}[/.-](?:\d{2}|\d{4})|\d{4}[/.-]\d{1,2}[/.-]\d{1,2}")
_PERIOD_WORDS = re.compile(
    r"\b(?:months?|weeks?|quarters?|years?|fiscal|ended|ending|as of|at|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"  # noqa: E501
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|unaudited|change|increase|decrease|total|q[1-4])\b"
    r"|年|月|季|期|同比|增减",
    re.I,
)  # fmt: skip
_YEAR_FILL = re.compile(r"[-–—&,]|to|and|through|thereafter|total|beyond|change|later|\\$|%", re.I)
_DAY = re.compile(
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?\s*$",
    re.I,
)
_DIGIT = re.compile(r"\d")
_FIGURE = re.compile(r"\d|[-–—−]\s*[)%]?\s*$|N/?[MA]|[Ff]lat|n[./]?[ma]|nil|None|不适用|\*$")
_UNAUDITED = re.compile(r"\(?unaudited\)?", re.I)
_LEADERS = re.compile(r"(?:\s*\.){3,}\s*$|[\s.·…_]+$")
_SPREADS = re.compile(
    r"\b(?:months?|weeks?|quarters?|years?|fiscal|ended|ending|as of|periods?|(?:19|20)\d\d|january|february|march|april|june"  # noqa: E501
    r"|july|august|september|october|november|december)\b|年|期",
    re.I,
)
_FOUR = re.compile(r"\b(?:19|20)\d\d\b")
_TITLE = re.compile(
    r"\b(?:statements? of|balance sheets?|financial highlights|selected financial data|notes to)\b", re.I
)
_SEVERAL = re.compile(r"\b(?:19|20)\d\d(?:,? and|,) (?:19|20)\d\d\b")
_LEAD_IN = re.compile(
    r"\b(?:following|follows|below|table|summar\w+|presented|shown|set forth|consisted of)\b|如下", re.I
)
_TOTAL = re.compile(r"\s*(?:sub)?total\b|\s*net cash\b|合计", re.I)


class Value(NamedTuple):
    """A printed value at the end of a line: its characters `[start, end)` in the line, and its place."""

    start: int
    end: int
    x0: float
    x1: float


class GridRow(NamedTuple):
    """A row: its first and last line, the line that holds its values, and the values."""

    first: int
    last: int
    at: int
    values: list[Value]


@dataclass
class Grid:
    """A table before its text has offsets: which lines of the page are header, which are rows, and its columns."""

    first: int
    last: int
    rows: list[GridRow] = field(default_factory=list)
    header: list[int] = field(default_factory=list)
    columns: list[tuple[float, float]] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    caption: str = ""
    units: str = ""


def trailing_values(line: Line) -> list[Value]:
    """Return the values at the end of a line, left to right; empty where it ends in words.

    A number is a value only where it stands apart from the words before it by more than an ordinary space.
    """
    if not line.words or not _FIGURE.search(line.text):
        return []
    words: tuple[Word, ...] = tuple(word for word in line.words if not word.raised)
    if len(words) == 0:
        return []
    stop = _before_remark(line, words) if not _is_value_word(line.text, words[-1]) else len(words)
    words = words[:stop]
    first = len(words)
    while first and _is_value_word(line.text, words[first - 1]):
        first -= 1
    while first < len(words) and _CLOSE.fullmatch(_of(line, words[first])):
        first += 1
    # What stands an ordinary space after a word is part of the label: "Notes 15 and 16", "December 27, 2014", "net (2)".  # noqa: E501
    while 0 < first < len(words) and words[first].x0 - words[first - 1].x1 < 1.75 * line.space:
        first += 1
    if first == 0 and len(words) > 3:
        # "35 – 39" at the head of a line is its label.
        glued = next((i for i in range(1, len(words)) if words[i].x0 - words[i - 1].x1 >= 1.75 * line.space), 0)
        if glued == 3 and _DASH.fullmatch(_of(line, words[1])):
            first = 3
    values: list[Value] = []
    pending: Word | None = None
    for word in words[first:]:
        text = _of(line, word)
        if _SIGN.fullmatch(text) and word is not words[len(words) - 1]:
            pending = pending or word
        elif values and not pending and _CLOSE.fullmatch(text):
            last = values[-1]
            values[-1] = Value(last.start, word.end, last.x0, word.x1)
        elif (
            values
            and not pending
            and _MARK.fullmatch(text)
            and word.x0 - values[-1].x1 < 0.9 * line.space
            and text[1:-1].isalpha()
        ):
            last = values[-1]
            values[-1] = Value(last.start, word.end, last.x0, last.x1)
        else:
            start = pending or word
            values.append(Value(start.start, word.end, start.x0, word.x1))
            pending = None
    return values


def _before_remark(line: Line, words: Sequence[Word]) -> int:
    """Return how many words stand before a remark in the last column of a row; all of them where there is none."""
    cut = len(words) - 1
    while cut > 0 and words[cut].x0 - words[cut - 1].x1 < 1.75 * line.space:
        cut -= 1
    if cut < 2 or not (
        _is_value_word(line.text, words[cut - 1]) and any(ch.isdigit() for ch in _of(line, words[cut - 1]))
    ):
        return len(words)
    before = words[cut - 2]
    apart = words[cut - 1].x0 - before.x1 >= 1.75 * line.space or _SIGN.fullmatch(_of(line, before)) is not None
    return cut if apart and not _is_year(_of(line, words[cut - 1])) else len(words)


def _of(line: Line, word: Word) -> str:
    return line.text[word.start : word.end]


def _is_value_word(text: str, word: Word) -> bool:
    raw = text[word.start : word.end]
    if raw[-1].isdigit() or any(ch.isdigit() for ch in raw):
        return _NUMBER.fullmatch(raw) is not None
    return any(pattern.fullmatch(raw) for pattern in (_DASH, _SIGN, _CLOSE, _NOTHING))


def segments(line: Line) -> list[Value]:
    """Return the pieces of a line that stand apart from each other by more than an ordinary space."""
    pieces: list[Value] = []
    for word in line.words:
        if pieces and word.x0 - pieces[-1].x1 < 1.75 * line.space:
            pieces[-1] = pieces[-1]._replace(end=word.end, x1=word.x1)
        else:
            pieces.append(Value(*word[:4]))
    return pieces


def _is_period_row(line: Line, values: list[Value]) -> bool:
    """A line of years or dates only: it heads columns, it holds no figures."""
    if not line.words or not _DIGIT.search(line.text):
        return False
    years = [word for word in line.words if _is_year(_of(line, word))]
    if not years:
        return False
    if len(years) == len(line.words):
        return True
    if len(years) > 1 and all(_is_year(t := _of(line, word)) or _YEAR_FILL.fullmatch(t) for word in line.words):
        return True
    if not values:
        return False
    label = line.text[: values[0].start]
    texts = [line.text[v.start : v.end] for v in values]
    if all(_is_year(t) or "%" in t or t in "$" for t in texts):
        return not label.strip() or bool(
            parse_units(label) or _PERIOD_WORDS.search(label) or label.strip().startswith("(")
        )
    # "December 28, 2015 and 27, 2014": days and years after month names
    return bool(_DAY.search(label)) and all(_is_year(t) or len(t) <= 3 for t in texts)


def _is_year(text: str) -> bool:
    return _YEAR.fullmatch(text) is not None or _DATE.fullmatch(text) is not None


def _names_years(line: Line, values: list[Value]) -> bool:
    """A line whose figures are nothing but years, whatever its label: `Level 2022 2021`."""
    return len(values) > 0 and all(_is_year(line.text[v.start : v.end].strip("()")) for v in values)


def find_grids(lines: Sequence[Line], begin: int = 0, stop: int | None = None) -> list[Grid]:
    """Return the tables among the lines `[begin, stop)` of one page, in order and without overlap."""
    stop = len(lines) if stop is None else stop
    values = [trailing_values(line) if begin <= i < stop else [] for i, line in enumerate(lines)]
    periods = [_is_period_row(line, found) for line, found in zip(lines, values, strict=True)]
    bodies = [bool(found) and not period for found, period in zip(values, periods, strict=True)]
    for i in range(begin, stop):
        if periods[i] and _heads_rows(lines, values, bodies, i, stop):
            periods[i], values[i] = False, []
    grids: list[Grid] = []
    position = floor = begin
    while position < stop:
        if not bodies[position]:
            position += 1
            continue
        if _names_years(lines[position], values[position]):
            below = next((i for i in range(position + 1, min(position + 5, stop)) if bodies[i]), None)
            if below is not None and not _names_years(lines[below], values[below]):
                bodies[position], periods[position] = False, True
                position += 1
                continue
        last = _run(lines[:stop], bodies, periods, position)
        grid = _grid(lines, values, bodies, periods, position, last, floor)
        if grid is not None:
            grids.append(grid)
            floor = grid.last + 1
        position = last + 1
    return grids


def _heads_rows(lines: Sequence[Line], values: list[list[Value]], bodies: list[bool], i: int, stop: int) -> bool:
    """Say whether a line that is a year stands among the labels: it heads the rows below it, not columns."""
    below = next((k for k in range(i + 1, min(i + 5, stop)) if bodies[k]), None)
    if below is None:
        return False
    return lines[i].x1 < values[below][0].x0 - lines[i].size and lines[i].x0 <= lines[below].x0 + 2 * lines[i].size


def _run(lines: Sequence[Line], bodies: list[bool], periods: list[bool], first: int) -> int:
    """Return the last row of the run of rows that starts at `first`."""
    last, position = first, first + 1
    while position < len(lines):
        if bodies[position]:
            last = position
            position += 1
            continue
        between = []
        while position < len(lines) and not bodies[position]:
            between.append(position)
            position += 1
        if position == len(lines) or len(between) > 6:
            return last
        if any(periods[i] or _breaks(lines[i]) for i in between):
            return last
        if len(between) > 1 and sum(is_sentence_like(lines[i]) for i in between) > 3:
            return last
        step = abs(lines[between[0]].y - lines[last].y)
        if step > 4.5 * lines[last].size:
            return last
        if any(lines[i].size > 1.15 * lines[last].size for i in between):
            return last
    return last


def _breaks(line: Line) -> bool:
    """Say whether a line without values cannot stand inside a table."""
    text = line.text.strip()
    if ITEM_HEADING.match(text):
        return True
    if ends_sentence(text) and (len(text) > 60 or is_sentence_like(line)) and not text.endswith(";"):
        return True
    if text.endswith(":") and is_sentence_like(line) and _LEAD_IN.search(text):
        return True
    if (text.startswith("(") and parse_units(text) is not None) or (
        len(text) < 90 and parse_units(text) and not line.text[:1].isupper()
    ):
        return True
    return len(segments(line)) >= 2 and _PERIOD_WORDS.search(text) is not None and any(ch.isdigit() for ch in text)


def _cluster(intervals: list[tuple[float, float]], slack: float) -> list[tuple[float, float]]:
    """Join overlapping intervals: the columns of right-aligned, centred or dash values alike."""
    columns: list[tuple[float, float]] = []
    for low, high in sorted(intervals):
        if columns and low <= columns[-1][1] - slack:
            columns[-1] = (columns[-1][0], max(columns[-1][1], high))
        else:
            columns.append((low, high))
    return columns


def _column_of(value: Value, columns: list[tuple[float, float]]) -> int:
    """The column that a value overlaps most, else the nearest."""
    best, score = 0, float("-inf")
    for index, (low, high) in enumerate(columns):
        overlap = min(high, value.x1) - max(low, value.x0)
        if overlap > score:
            best, score = index, overlap
    return best


def _grid(
    lines: Sequence[Line],
    values: list[list[Value]],
    bodies: list[bool],
    periods: list[bool],
    first: int,
    last: int,
    floor: int,
) -> Grid | None:
    """Make a table of the rows `first` to `last`, or None where they are no table."""
    body = [i for i in range(first, last + 1) if bodies[i]]
    labels = [
        lines[i].x0 for i in range(first, last + 1) if not bodies[i] or lines[i].words[0].start < values[i][0].start
    ]
    rows: dict[int, list[Value]] = {}
    for i in body:
        found = values[i]
        if (
            len(found) > 1
            and not lines[i].text[: found[0].start].strip()
            and labels
            and found[0].x0 <= max(labels) + lines[i].size
        ):
            found = found[1:]  # a year or a number that is the row's label: maturities, ages
        rows[i] = found
    slack = 0.15 * lines[first].size
    columns = _cluster([(v.x0, v.x1) for found in rows.values() for v in found], slack)
    clash = any(len({_column_of(v, columns) for v in found}) < len(found) for found in rows.values())
    if clash:
        columns = _by_right_edge([v for found in rows.values() for v in found], lines[first].size)
    widest = max(len(found) for found in rows.values())
    grid = Grid(first, last, columns=columns)
    _find_header(grid, lines, values, periods, floor)
    evidence = sum(len(found) > 1 for found in rows.values())
    aligned = len(body) >= 2 and any(
        sum(_column_of(v, columns) == c for found in rows.values() for v in found) >= 2 for c in range(len(columns))
    )
    has_periods = any(periods[i] for i in grid.header)
    if not ((aligned and (evidence >= 1 or len(body) >= 3 or has_periods)) or (has_periods and widest >= 2)):
        return None
    if len(body) < 3 and evidence == 0 and not has_periods:
        return None
    bare = sum(not lines[i].text[: found[0].start].strip() for i, found in rows.items())
    if not has_periods and (bare > 0.4 * len(body) if evidence == 0 else bare == len(body)):
        return None  # the scale of a chart, ages in a list of persons
    grid.rows = _rows(lines, rows, first, last)
    return grid


def _by_right_edge(values: list[Value], size: float) -> list[tuple[float, float]]:
    """Columns from right edges only, for tables whose wide values reach under their neighbours."""
    columns: list[list[float]] = []
    for value in sorted(values, key=lambda v: v.x1):
        if columns and value.x1 - columns[-1][1] < 0.8 * size:
            columns[-1][1] = value.x1
            columns[-1][0] = min(columns[-1][0], value.x0)
        else:
            columns.append([value.x0, value.x1])
    return [(max(low, columns[i - 1][1] if i else low), high) for i, (low, high) in enumerate(columns)]


def _rows(lines: Sequence[Line], rows: dict[int, list[Value]], first: int, last: int) -> list[GridRow]:
    """Put the lines of wrapped labels together."""
    result: list[GridRow] = []
    room = min((v.x0 for found in rows.values() for v in found), default=0)
    i = first
    while i <= last:
        start = i
        while i <= last and i not in rows and _wraps(lines, i, last, room):
            i += 1
        # A label that goes on below its values.
        end = i
        found = rows.get(i, [])
        if found:
            while end + 1 <= last and end + 1 not in rows and _continues(lines[end], lines[end + 1]):
                end += 1
        result.append(GridRow(start, end, min(i, last), found))
        i = end + 1
    return result


def _wraps(lines: Sequence[Line], i: int, last: int, room: float) -> bool:
    """Say whether the label on line `i`, which has no values, goes on in the next line."""
    line = lines[i]
    text = line.text.rstrip()
    following = lines[i + 1].text.lstrip() if i < last else ""
    if not following:
        return False
    if text.endswith(";") or (len(text) > 70 and line.x1 > room - 3 * line.size and not following[0].isupper()):
        return True  # the text of a capital stock line fills the page
    if text.endswith(":") or not (following[0].isalpha() or following[0] in "($"):
        return False
    if (
        text.endswith((",", "-", "—", "/"))
        or text.rsplit(None, 1)[-1] in _JOINTS
        or following.split(None, 1)[0] in _JOINTS
    ):
        return True
    if following[0].islower() and abs(line.y - lines[i + 1].y) < 1.8 * max(line.size, 1):
        return True
    return following[0].islower() or (line.x1 > room - 2 * line.size and lines[i + 1].x0 > line.x0 + line.space)


def _continues(line: Line, following: Line) -> bool:
    """Say whether a line without values is the rest of the label of the line above it."""
    text = following.text.lstrip()
    return bool(text) and (text[0].islower() or text[0] == "(") and not text.endswith(":") and following.x0 >= line.x0


_JOINTS = frozenset(
    {"and", "or", "of", "the", "to", "for", "in", "on", "from", "by", "with", "net", "a", "at", "as", "than"}
)


def _find_header(grid: Grid, lines: Sequence[Line], values: list[list[Value]], periods: list[bool], floor: int) -> None:
    """Look upwards from the first row for stub lines, header lines, units and caption; fill the grid's header."""
    columns = grid.columns
    left, right = columns[0][0], columns[-1][1]
    size = lines[grid.first].size
    table_left = min(lines[i].x0 for i in range(grid.first, grid.last + 1))
    centre = (left + right) / 2
    top, stubs = grid.first, 0
    header: list[int] = []
    i = grid.first - 1
    while i >= floor and grid.first - i < 60:
        line = lines[i]
        text = line.text.strip()
        if abs(line.y - lines[i + 1].y) > 7 * max(size, 1) and not (header and periods[i]):
            break
        if periods[i] or _heads(lines, i, grid, table_left):
            header.append(i)
            top, stubs = i, 0
        elif text.startswith("(") and parse_units(text) is not None and len(text) < 160:
            header.append(i)
            grid.units = grid.units or _stating(text)
            top, stubs = i, 0
        elif stubs < 4 and len(text) < 120 and not ends_sentence(text) and not values[i]:
            # A heading between the columns' heads and the first row, or units beside the heads: if heads follow above.
            stubs += 1
            if ITEM_HEADING.match(text) or (header and (line.x1 > left or not _beside(lines, i, header))):
                break
        else:
            break
        i -= 1
    if not header and stubs:
        # Headings that stand directly above the first row belong to it even where no header was found.
        i = grid.first - 1
        while i >= floor and grid.first - i <= 2:
            if not lines[i].text.rstrip().endswith(":") or is_sentence_like(lines[i]):
                break
            top = i
            i -= 1
    if header:
        header.extend(k for k in range(min(header), max(header)) if k not in header)
    grid.header = sorted(header)
    i = top - 1
    captions: list[str] = []
    while i >= floor and len(captions) < 3:
        line = lines[i]
        text = line.text.strip()
        if not text or ITEM_HEADING.match(text):
            break
        if abs(line.y - lines[i + 1].y) > 6.5 * max(line.size, 1):
            break
        if (
            text.startswith("(")
            and len(text) < 160
            and (parse_units(text) or text.endswith(")"))
            and not is_sentence_like(line)
        ):
            grid.units = grid.units or (_stating(text) if parse_units(text) else "")
            grid.header.insert(0, i)
            top = i
            i -= 1
            continue
        if text.endswith(":") or (is_sentence_like(line) and parse_units(text)):
            captions.append(_lead_in(lines, i, floor))
            break
        if len(text) > 110 or ends_sentence(text) or is_sentence_like(line) or values[i]:
            break
        if not header and not line.bold:
            break
        captions.append(text)
        grid.header.insert(0, i)
        top = i
        i -= 1
    grid.caption = " ".join(reversed(captions))
    grid.first = top
    if not grid.units:
        beside_heads = " ".join(lines[k].text.strip() for k in sorted(header) if lines[k].x1 < left)
        grid.units = _stating(beside_heads) if parse_units(beside_heads) and len(beside_heads) < 120 else ""
    if not grid.units:
        grid.units = _units_in([lines[i].text for i in grid.header] + [grid.caption])
    grid.headers = _header_texts(lines, [i for i in grid.header if i in header], columns, centre)


def _beside(lines: Sequence[Line], i: int, header: list[int]) -> bool:
    """Say whether a line stands at the height of the heads found so far, or just above them."""
    return abs(lines[i].y - max(lines[k].y for k in header)) < 1.6 * lines[i].size


def _units_in(texts: Sequence[str]) -> str:
    for text in texts:
        if parse_units(text):
            return _stating(text)
    return ""


_PAREN = re.compile(r"\([^()]{3,120}\)")
_RULED = re.compile(r"[-_=]{3,}")
_HEADS_AFTER = re.compile(r"\s+(?:fiscal\s+)?(?:19|20)\d\d\b", re.I)


def _stating(text: str) -> str:
    """The part of a line that states the units: its parentheses, or what stands before the heads of the columns."""
    text = " ".join(_RULED.sub(" ", text).split())
    inside = next((m[0] for m in _PAREN.finditer(text) if parse_units(m[0])), None)
    if inside is not None:
        return inside
    before = text[: heads.start()] if (heads := _HEADS_AFTER.search(text)) else text
    return (before if parse_units(before) else text).strip()[-120:]


def _lead_in(lines: Sequence[Line], i: int, floor: int) -> str:
    """The last sentence of the paragraph that introduces a table."""
    parts = [lines[i].text.strip()]
    while i - 1 >= floor and len(parts) < 5 and not ends_sentence(lines[i - 1].text) and is_sentence_like(lines[i - 1]):
        i -= 1
        parts.insert(0, lines[i].text.strip())
    joined = " ".join(parts)
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", joined)[-1]


def _heads(lines: Sequence[Line], i: int, grid: Grid, table_left: float) -> bool:
    """Say whether line `i`, which has no values, stands over the columns and not over the labels."""
    line = lines[i]
    left, right = grid.columns[0][0], grid.columns[-1][1]
    size = line.size
    if not line.words or (is_sentence_like(line) and line.x0 < left - 6 * size):
        return False
    pieces = segments(line)
    if _TITLE.search(line.text) or (_FOUR.search(line.text) and _SEVERAL.search(line.text)):
        return False
    if len(pieces) > 1:
        return any((piece.x0 + piece.x1) / 2 > left and piece.x0 < right for piece in pieces)
    if pieces[-1].x1 > right + 8 * size:
        return False
    x0, x1 = pieces[0].x0, pieces[0].x1
    middle, page_centre = (x0 + x1) / 2, (table_left + right) / 2
    level = any(
        abs(lines[k].y - line.y) < 0.35 * size and k != i and lines[k].words
        for k in range(max(i - 6, 0), min(i + 14, grid.first))
    )
    if level and x0 > table_left + 4 * size:
        return True  # beside other heads
    if abs(middle - page_centre) < 0.7 * size and x0 < left - 2 * size and not level:
        return False  # a title over the whole table
    inside = min(x1, right + 3 * size) - max(x0, left - 2 * size)
    if inside > 0.6 * (x1 - x0) and middle > left - size:
        return True
    nearest = min(abs(middle - (low + high) / 2) for low, high in grid.columns)
    if x0 < table_left + 4 * size:
        return False
    return x1 > left - 2 * size and x1 - x0 < 14 * size and nearest < abs(middle - page_centre)


def _header_texts(
    lines: Sequence[Line], header: list[int], columns: list[tuple[float, float]], centre: float
) -> list[str]:
    """Return the full header of each column, top line first; lines over several columns count for each of them."""
    spans = [list(column) for column in columns]
    texts: list[list[tuple[float, str]]] = [[] for _ in columns]
    left = columns[0][0]
    by_row: dict[int, list[tuple[Line, Value]]] = {}
    order: list[tuple[float, int]] = []
    for i in header:
        line = lines[i]
        level = next((key for y, key in order if abs(y - line.y) < 0.35 * max(line.size, 0.5)), None)
        if level is None:
            level = len(order)
            order.append((line.y, level))
        pieces = segments(line)
        by_row.setdefault(level, []).extend((line, piece) for piece in pieces)
    size = max(lines[header[0]].size, 0.5) if header else 1.0
    for y, level in sorted(order):  # bottom first: y runs upwards
        pieces = sorted(by_row[level], key=lambda pair: pair[1].x0)
        over = []
        for line, piece in pieces:
            text = line.text[piece.start : piece.end].strip()
            if (
                piece.x1 < left - 0.5 * size
                or piece.x0 > columns[-1][1] + 2 * size
                or _UNAUDITED.fullmatch(text)
                or (parse_units(text) and len(text) > 8 and text.startswith("("))
            ):
                continue
            middle = (piece.x0 + piece.x1) / 2
            if middle < left - 4 * size and piece.x0 < left - 8 * size:
                continue
            over.append((text, piece))
        if len(over) < len(columns):
            over = [part for text, piece in over for part in _split_years(text, piece, spans)]
        dated = [any(_FOUR.search(text) for _, text in found) for found in texts]
        for (text, piece), (low, high) in zip(over, _spread(over, spans, dated, size), strict=True):
            for column in range(low, high + 1):
                texts[column].append((y, text))
            if low == high:
                spans[low][0] = min(spans[low][0], piece.x0)
                spans[low][1] = max(spans[low][1], piece.x1)
    return [" ".join(text for _, text in sorted(found, key=lambda pair: -pair[0])) for found in texts]


def _split_years(text: str, piece: Value, spans: list[list[float]]) -> list[tuple[str, Value]]:
    """Split a piece like `2015 2014` that holds the heads of several narrow columns."""
    words = text.split()
    if len(words) < 2 or not all(_YEAR.fullmatch(word) or _DATE.fullmatch(word) for word in words):
        return [(text, piece)]
    width = (piece.x1 - piece.x0) / len(words)
    return [
        (word, Value(piece.start, piece.end, piece.x0 + k * width, piece.x0 + (k + 1) * width))
        for k, word in enumerate(words)
    ]


def _spread(
    over: list[tuple[str, Value]], spans: list[list[float]], dated: list[bool], size: float
) -> list[tuple[int, int]]:
    """Say over which columns each piece of one header line stands: (first, last), in order, without overlap.

    The placing with the least distance between the middles of pieces and columns; a period like `Year Ended` may
    spread over columns that would otherwise have none above them.
    """
    n, k = len(spans), len(over)
    if k >= n and k > 1:
        return [(min(i, n - 1), min(i, n - 1)) for i in range(k)]
    costs: dict[tuple[int, int], tuple[float, list[tuple[int, int]]]] = {}

    def best(piece: int, column: int) -> tuple[float, list[tuple[int, int]]]:
        if piece == k:
            return 0.0, []
        if (known := costs.get((piece, column))) is not None:
            return known
        found: tuple[float, list[tuple[int, int]]] = (float("inf"), [])
        for low in range(column, n - (k - piece) + 1):
            for high in range(low, n - (k - piece) + 1):
                here = _distance(over[piece], spans, dated, low, high, size)
                if here >= found[0]:
                    continue
                rest, placed = best(piece + 1, high + 1)
                if here + rest < found[0] - 1e-6:
                    found = here + rest, [(low, high), *placed]
        costs[piece, column] = found
        return found

    return best(0, 0)[1] if n <= 24 else [(min(i, n - 1), min(i, n - 1)) for i in range(k)]


def _distance(
    piece: tuple[str, Value], spans: list[list[float]], dated: list[bool], low: int, high: int, size: float
) -> float:
    text, place = piece
    x0, x1 = spans[low][0], spans[high][1]
    middle = (place.x0 + place.x1) / 2
    cost = abs(middle - (x0 + x1) / 2)
    if low == high:
        cost = min(cost, abs(place.x1 - x1), abs(place.x0 - x0))
        if min(place.x1, x1) <= max(place.x0, x0):
            cost += 2 * size + max(place.x0 - x1, x0 - place.x1)
        return cost
    if place.x1 < x0 or place.x0 > x1:
        return cost + 20 * size
    wide = place.x1 - place.x0 > 1.2 * max(spans[i][1] - spans[i][0] for i in range(low, high + 1))
    # Spreading is for what says so: words of time (but no year over years), or a piece wider than any of the columns.
    again = _FOUR.search(text) is not None and any(dated[low : high + 1])
    if (_SPREADS.search(text) or wide) and not again:
        return cost - 0.4 * size * (high - low)
    return cost + 0.8 * size * (high - low)


def continues(grid: Grid, previous: Grid, same_page: bool) -> bool:
    """Say whether a table goes on from the one before it, and give it the heads that it lacks."""
    if same_page:
        if all(grid.headers):
            return False
        filled = []
        for (low, high), header in zip(grid.columns, grid.headers, strict=True):
            over = [k for k, (x0, x1) in enumerate(previous.columns) if x0 <= high and low <= x1]
            filled.append(header or (previous.headers[over[0]] if len(over) == 1 else ""))
        taken = filled != grid.headers
        grid.headers = filled
        return taken
    if any(grid.headers) or len(grid.columns) != len(previous.columns):
        return False
    grid.headers = previous.headers
    return True


def build_table(grid: Grid, lines: Sequence[Line], starts: Sequence[int], inherited: Units | None = None) -> Table:
    """Turn a grid into a table with offsets. `starts[i]` is the offset of line `i`; `inherited` are the units that hold
    where the table states none."""
    units = parse_units(grid.units) if grid.units else inherited
    rows: list[Row] = []
    header_lines = set(grid.header)
    body_first = grid.rows[0][0] if grid.rows else grid.last + 1
    for i in range(grid.first, body_first):
        line = lines[i]
        is_header = i in header_lines
        label = line.text.strip()
        rows.append(Row(label, starts[i], starts[i] + len(line.text), is_header=is_header))
    currency = next(
        (code for row in grid.rows for v in row.values if (code := currency_of(lines[row.at].text[v.start : v.end]))),
        None,
    )
    rates = _rate_columns(grid, lines)
    outline = _Outline()
    for i in range(grid.first, body_first):
        if i not in header_lines and i > max(header_lines, default=-1) and lines[i].text.strip():
            outline.heading(_label(lines[i].text), lines[i].x0, lines[i].size)
    for first, last, at, found in grid.rows:
        parts = []
        for i in range(first, last + 1):
            text = lines[i].text
            parts.append(text[: found[0].start] if found and i == at else text)
        label = _label(" ".join(part.strip() for part in parts))
        if not found:
            path = outline.heading(label, lines[first].x0, lines[first].size)
            rows.append(Row(label, starts[first], starts[last] + len(lines[last].text), path=path))
            continue
        path = outline.row(label, lines[first].x0, lines[first].size)
        cells = []
        for value in found:
            column = _column_of(value, grid.columns)
            header = grid.headers[column] if column < len(grid.headers) else ""
            raw = lines[at].text[value.start : value.end]
            amount = parse_amount(raw)
            unit, scale = cell_unit(raw, label, header, units, path, currency)
            if column in rates and unit == currency and currency_of(raw) is None:
                unit, scale = "percent", 0
            cells.append(
                Cell(
                    start=starts[at] + value.start,
                    end=starts[at] + value.end,
                    column=column,
                    header=header,
                    value=None if amount is None else format(amount[0], "f"),
                    unit=unit if amount is not None else None,
                    scale=(amount[1] or scale) if amount is not None else 0,
                )
            )
        rows.append(Row(label, starts[first], starts[last] + len(lines[last].text), tuple(cells), path))
    return Table(
        start=starts[grid.first],
        end=starts[grid.last] + len(lines[grid.last].text),
        caption=grid.caption,
        units=grid.units,
        rows=tuple(rows),
    )


def _rate_columns(grid: Grid, lines: Sequence[Line]) -> set[int]:
    """The columns whose first signed figure is a percentage: the unsigned figures under it are percentages too."""
    first: dict[int, bool] = {}
    for row in grid.rows:
        for value in row.values:
            raw = lines[row.at].text[value.start : value.end]
            if "%" in raw or currency_of(raw) is not None:
                first.setdefault(_column_of(value, grid.columns), "%" in raw)
    return {column for column, percent in first.items() if percent}


class _Outline:
    """The headings that a row stands under, told by indentation where there is any, else by totals."""

    def __init__(self) -> None:
        self.open: list[
            tuple[float, str, bool | None]
        ] = []  # x, label, whether its rows are indented (None: not yet known)

    def _settle(self, x: float, tolerance: float) -> None:
        """The first row after a heading tells whether the heading indents."""
        if self.open and self.open[-1][2] is None:
            at, label, _ = self.open[-1]
            self.open[-1] = (at, label, x > at + tolerance)

    def heading(self, label: str, x: float, size: float) -> tuple[str, ...]:
        """Open a heading and return the headings above it."""
        tolerance = 0.25 * max(size, 1)
        while self.open:
            at, above, indents = self.open[-1]
            nests = indents is None and above.isupper() and not label.isupper()
            if at > x + tolerance or (at >= x - tolerance and not nests):
                self.open.pop()
            else:
                break
        path = tuple(text for _, text, _ in self.open)
        self.open.append((x, label, None))
        return path

    def row(self, label: str, x: float, size: float) -> tuple[str, ...]:
        """Return the headings above a row with values, closing those that it ends."""
        tolerance = 0.25 * max(size, 1)
        self._settle(x, tolerance)
        total = _TOTAL.match(label) is not None
        while self.open:
            at, _, indents = self.open[-1]
            if at > x + tolerance or (at >= x - tolerance and (indents or total)):
                self.open.pop()
            else:
                break
        return tuple(text for _, text, _ in self.open)


def _label(text: str) -> str:
    return " ".join(_LEADERS.sub("", text).split())
