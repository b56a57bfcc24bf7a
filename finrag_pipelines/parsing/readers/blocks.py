"""From the lines of pages to a layout: paragraphs, titles, list items and tables are put together, offsets given."""

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from finrag_pipelines.parsing.model import FURNITURE, Element, ElementKind, Kind, Layout, Page, Table
from finrag_pipelines.parsing.readers.furniture import find_furniture
from finrag_pipelines.parsing.readers.limits import Deadline
from finrag_pipelines.parsing.readers.lines import ITEM_HEADING, Line, ends_sentence, is_sentence_like
from finrag_pipelines.parsing.tables.line_tables import Grid, build_table, continues, find_grids
from finrag_pipelines.parsing.tables.values import Units, parse_units

_BULLET = re.compile(
    r"\s*(?:[•●▪■◦‣∙►➢✓]\s*(?=[^\s•●▪■◦‣∙►➢✓])|[·o]\s+|[-–—*]\s+(?=[A-Za-z\"“])|\((?:[a-z]|\d{1,2}|[ivx]{1,4})\)\s+|(?:\d{1,2}|[a-z])[.)]\s+(?=\S))"
)
_MARK = re.compile(r"\s*[•●▪■◦‣∙·►➢✓]")
_CJK = re.compile(r"[　-〿㐀-鿿＀-￯]")
_HEADING = re.compile(r"\s*(?:note\s+\d{1,2}\b|signatures?\s*$|exhibit\s+\d|schedule\s+[ivx\d])", re.I)


class Block(NamedTuple):
    """Lines `first` to `last` of a page that are one element; `grid` where they are a table."""

    kind: ElementKind
    first: int
    last: int
    grid: Grid | None = None


def make_layout(
    pages: Sequence[Sequence[Line]],
    kind: Kind,
    metadata: Mapping[str, str] | None = None,
    flags: Sequence[str] = (),
    deadline: Deadline | None = None,
) -> Layout:
    """Make the layout of a document from the lines of its pages. Raises UnreadableError when the time is up."""
    furniture = find_furniture(pages)
    parts: list[str] = []
    elements: list[Element] = []
    tables: list[Table] = []
    page_records: list[Page] = []
    position = 0
    previous: Grid | None = None
    general: Units | None = None  # what the document says of all its tables, from where it says so
    for index, lines in enumerate(pages):
        if deadline and index % 16 == 0:
            deadline.check(f"page {index + 1} of {len(pages)}")
        lines, kinds = _ordered(lines, furniture.kinds[index])
        blocks = _blocks(lines, kinds)
        start = position
        starts = [0] * len(lines)
        for block in blocks:
            flowing = block.kind in (ElementKind.PARAGRAPH, ElementKind.LIST_ITEM, ElementKind.TITLE)
            for i in range(block.first, block.last + 1):
                starts[i] = position
                text = lines[i].text
                separator = "\n"
                if flowing and i < block.last:
                    following = lines[i + 1].text[:1]
                    broken = text[-1:] == "-" and text[-2:-1].isalpha() and following.isalpha()
                    separator = "" if broken or (_CJK.match(text[-1:]) and _CJK.match(following)) else " "
                parts.append(text)
                parts.append(separator)
                position += len(text) + len(separator)
        end = position - 1 if position > start else position
        page_records.append(Page(index, start, end, furniture.labels[index]))
        parts.append("\n")
        position += 1
        on_page = next((u for i, k in enumerate(kinds) if k in FURNITURE and (u := _page_units(lines[i].text))), None)
        first_table = True
        for block in blocks:
            if block.kind is ElementKind.PARAGRAPH or block.kind is ElementKind.TITLE:
                general = _general_units(lines, block) or general
                if block.last > block.first or ends_sentence(lines[block.last].text):
                    previous = None  # what follows prose is a table of its own
            grid = block.grid
            table_index = None
            if grid is not None:
                near = block is _first_text(blocks) if first_table else True
                if previous and near and continues(grid, previous, same_page=not first_table):
                    grid.units = grid.units or previous.units
                    grid.caption = grid.caption or previous.caption
                tables.append(build_table(grid, lines, starts, on_page or general))
                table_index = len(tables) - 1
                previous, first_table = grid, False
            elements.append(
                Element(
                    block.kind,
                    starts[block.first],
                    starts[block.last] + len(lines[block.last].text),
                    index,
                    table=table_index,
                )
            )
        if (ending := _last_text(blocks)) is not None and ending.grid is not previous:
            previous = None
    return Layout(
        text="".join(parts),
        kind=kind,
        elements=tuple(elements),
        pages=tuple(page_records),
        tables=tuple(tables),
        metadata=dict(metadata or {}),
        flags=tuple(flags),
    )


def _ordered(lines: Sequence[Line], kinds: Sequence[ElementKind | None]) -> tuple[list[Line], list[ElementKind | None]]:
    """Put what stands at the top of a page first and what stands at its bottom last, whenever it was drawn."""
    middle = [i for i, kind in enumerate(kinds) if kind is None or kind is ElementKind.CONTENTS]
    top = max((lines[i].y for i in middle), default=0.0)
    edge = [i for i, kind in enumerate(kinds) if kind is not None and kind is not ElementKind.CONTENTS]
    if not edge:
        return list(lines), list(kinds)
    edge.sort(key=lambda i: (-lines[i].y, lines[i].x0))
    above = [i for i in edge if lines[i].y > top or kinds[i] is ElementKind.HEADER]
    below = [i for i in edge if not (lines[i].y > top or kinds[i] is ElementKind.HEADER)]
    order = above + middle + below
    return [lines[i] for i in order], [kinds[i] for i in order]


def _first_text(blocks: Sequence[Block]) -> Block | None:
    return next((b for b in blocks if b.kind not in FURNITURE), None)


def _last_text(blocks: Sequence[Block]) -> Block | None:
    return next((b for b in reversed(blocks) if b.kind not in FURNITURE), None)


_GENERAL = re.compile(
    r"\b(?:tabular|all) (?:dollars?|dollar amounts|amounts|data|figures)\b|\bunless (?:otherwise )?(?:noted|stated|indicated)\b"  # noqa: E501
    r"|\bexcept (?:as|where) (?:otherwise )?(?:noted|stated|indicated)\b|\bamounts are (?:presented|stated|expressed) in\b"  # noqa: E501
    r"|\b(?:tables|statements) (?:and discussion )?(?:are|is) (?:presented|stated|expressed) in\b",
    re.I,
)


def _general_units(lines: Sequence[Line], block: Block) -> Units | None:
    """The units that a sentence like `tabular dollars are in millions` states for the tables after it."""
    for i in range(block.first, block.last + 1):
        if "illion" in lines[i].text or "ousand" in lines[i].text:
            around = " ".join(line.text for line in lines[max(block.first, i - 1) : min(block.last, i + 1) + 1])
            if (match := _GENERAL.search(around)) and (
                units := parse_units(around[max(0, match.start() - 120) : match.end() + 120])
            ):
                return units
    return None


def _page_units(text: str) -> Units | None:
    return parse_units(text) if len(text) < 200 else None


def _blocks(lines: Sequence[Line], kinds: Sequence[ElementKind | None]) -> list[Block]:
    """Cut the lines of a page into blocks, in order, every line in exactly one."""
    blocks: list[Block] = []
    text_lines = [line for line, kind in zip(lines, kinds, strict=True) if kind is None]
    shape = _Shape.of(text_lines)
    i = 0
    while i < len(lines):
        first, kind = i, kinds[i]
        if kind is None:
            while i < len(lines) and kinds[i] is None:
                i += 1
            position = first
            for grid in find_grids(lines, first, i):
                blocks.extend(_flow(lines, position, grid.first, shape))
                blocks.append(Block(ElementKind.TABLE, grid.first, grid.last, grid))
                position = grid.last + 1
            blocks.extend(_flow(lines, position, i, shape))
            continue
        i += 1
        while kind is ElementKind.CONTENTS and i < len(lines) and kinds[i] is kind:
            i += 1
        blocks.append(Block(kind, first, i - 1))
    return blocks


class _Shape(NamedTuple):
    """What is usual on a page: the size of its text, its right margin, the distance between lines."""

    size: float
    bold: bool
    left: float
    right: float
    leading: float

    @classmethod
    def of(cls, lines: Sequence[Line]) -> "_Shape":
        if not lines:
            return cls(1, False, 0, 0, 1)
        sizes: Counter[tuple[float, bool]] = Counter()
        for line in lines:
            sizes[round(line.size, 1), line.bold] += len(line.text)
        (size, bold), _ = min(sizes.items(), key=lambda item: (-item[1], item[0]))
        rights = sorted(line.x1 for line in lines)
        lefts = sorted(line.x0 for line in lines)
        steps = Counter(
            round(a.y - b.y, 1) for a, b in itertools.pairwise(lines) if 0.5 * size < a.y - b.y < 1.8 * size
        )
        leading = min(steps.items(), key=lambda item: (-item[1], item[0]))[0] if steps else 1.2 * size
        return cls(size, bold, lefts[len(lefts) // 10], rights[int(len(rights) * 0.95)], leading)


def _flow(lines: Sequence[Line], first: int, stop: int, shape: _Shape) -> list[Block]:
    """Cut lines that are no table into titles, paragraphs and list items."""
    blocks: list[Block] = []
    titles = [first <= i and _is_title(lines, i, shape) for i in range(stop)]
    i = first
    while i < stop:
        begin = i
        if titles[i]:
            while i + 1 < stop and _title_goes_on(lines[i], lines[i + 1], shape):
                i += 1
            blocks.append(Block(ElementKind.TITLE, begin, i))
        else:
            while i + 1 < stop and not titles[i + 1] and _goes_on(lines[i], lines[i + 1], shape):
                i += 1
            kind = ElementKind.LIST_ITEM if _BULLET.match(lines[begin].text) else ElementKind.PARAGRAPH
            blocks.append(Block(kind, begin, i))
        i += 1
    return blocks


def _is_title(lines: Sequence[Line], i: int, shape: _Shape) -> bool:
    line = lines[i]
    text = line.text.strip()
    if len(text) > 180 or _MARK.match(text) or text.upper() == text.lower():
        return False
    before = lines[i - 1] if i else None
    stands = before is None or _ends_block(before, line, shape)
    set_off = line.bold and not shape.bold
    if len(text) > 60 and ends_sentence(text) and is_sentence_like(line) and not (set_off and stands):
        return False
    if ITEM_HEADING.match(text) or _HEADING.match(text):
        return stands and not text.endswith(",") and not is_sentence_like(line)
    if set_off:
        # A risk factor's heading is a sentence, of several lines at times.
        follows = lines[i + 1] if i + 1 < len(lines) and text.endswith((",", ";")) else None
        ended = not text.endswith((",", ";")) or (
            follows is not None and follows.bold and _title_goes_on(line, follows, shape)
        )
        return ended and (stands or (before is not None and before.bold is False))
    if line.size > 1.12 * shape.size:
        return True
    return text.isupper() and 4 <= len(text) < 120 and stands and not text.endswith((",", ";"))


def _ends_block(before: Line, line: Line, shape: _Shape) -> bool:
    """Say whether `before` may be the last line of its block."""
    step = before.y - line.y
    if step > 1.35 * shape.leading or step < -shape.size:
        return True
    return before.x1 < shape.right - 6 * shape.size or ends_sentence(before.text) or before.bold


def _title_goes_on(line: Line, following: Line, shape: _Shape) -> bool:
    """Say whether a title goes on in the next line."""
    text = following.text.strip()
    if following.bold != line.bold or abs(following.size - line.size) > 0.6 or ITEM_HEADING.match(text):
        return False
    if _in_columns(line) or _in_columns(following):
        return False
    step = line.y - following.y
    if not 0 < step < 1.6 * max(line.size, shape.leading):
        return False
    return text[:1].islower() or line.x1 > shape.right - 8 * shape.size


def _goes_on(line: Line, following: Line, shape: _Shape) -> bool:
    """Say whether a paragraph goes on in the next line."""
    text = following.text
    if _BULLET.match(text) and not (text[0] == "(" and not ends_sentence(line.text)):
        return False
    if _MARK.fullmatch(line.text.strip()):
        return True  # a bullet that was drawn apart from its text
    step = line.y - following.y
    if not -0.6 * shape.size <= step <= max(1.3 * shape.leading, 1.5 * shape.size):
        return False
    if _in_columns(line) or _in_columns(following):
        return False
    if abs(following.size - line.size) > 0.2 * shape.size and step > 0.5 * shape.size:
        return False
    first_word = text.split(None, 1)[0] if text.strip() else ""
    room = shape.right - line.x1
    # A line that could have taken the next word and did not is the last of its paragraph.
    fits = room > (len(first_word) + 1) * 0.55 * line.size + 0.04 * (shape.right - shape.left) + line.space
    if fits and (ends_sentence(line.text) or line.text.rstrip().endswith(":") or not text[:1].islower()):
        return False
    indent = following.x0 - line.x0
    return not (indent > 1.2 * shape.size and ends_sentence(line.text) and not _BULLET.match(line.text))


def _in_columns(line: Line) -> bool:
    """Say whether a line is made of pieces that stand far apart: a form, a list of names, a table of words."""
    return any(b.x0 - a.x1 > 4 * line.space for a, b in zip(line.words, line.words[1:], strict=False))
