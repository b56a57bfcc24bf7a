"""From a stream of blocks and raw tables to a layout: text, ranges, pages, furniture, titles, contents lists, captions.

HTML, Markdown and Office documents come through here; how their bytes become a stream is their readers' matter.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from finrag_pipelines.parsing.model import FURNITURE, Element, ElementKind, Kind, Layout, Page, Table, UnreadableError
from finrag_pipelines.parsing.readers.html_walk import Block, Item, PageBreak, RawTable, Stream
from finrag_pipelines.parsing.readers.inline_xbrl import to_fact
from finrag_pipelines.parsing.readers.limits import Deadline
from finrag_pipelines.parsing.readers.page_marks import Line, find_breaks, is_back_link, mark
from finrag_pipelines.parsing.tables.grid import Grid, passages_of, read_grid
from finrag_pipelines.parsing.tables.grid_cells import BULLET, Passage, number_of
from finrag_pipelines.parsing.tables.grid_columns import units_in
from finrag_pipelines.parsing.tables.values import parse_units

_CONTENTS_TITLE = re.compile(
    r"^(?:form 10-[kq] )?(?:table of contents|contents|index)(?: to .{0,60})?(?:\s*\(continued\))?$|^目\s*录$", re.I
)
_PAGE = r"(?:\d{1,3}|[A-Z]{1,2}-\d{1,3})"
_PAGE_REFERENCE = re.compile(
    rf"^{_PAGE}(?:(?:\s?[-–—]\s?|,\s+){_PAGE})*$|^\(?[a-z]?\)?$|^not applicable$|^none$|^n/a$|^\*$", re.I
)
_ITEM = re.compile(r"^(?:item|part|note)\s+(?:no\.?\s*)?[\divx]{1,4}[a-c]?\b", re.I)
_LIST = re.compile(r"^(?:[•●▪◦■□‣➢➤✓◆▶►∙·]\s?|[–—*]\s)\S")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])")
_SCALED = r"\bin (?:millions|thousands|billions)\b"
_UNLESS = re.compile(r"\bunless otherwise (?:noted|stated|indicated|specified)\b", re.I)
_AMOUNTS = r"\b(?:amounts|dollars|figures|tables|tabular|numbers)\b"
_SCALED_TABLES = re.compile(
    rf"{_AMOUNTS}.{{0,120}}{_SCALED}.{{0,120}}\bunless otherwise\b"
    rf"|\bunless otherwise\b.{{0,120}}{_AMOUNTS}.{{0,80}}{_SCALED}"
    rf"|\b(?:tabular|tables)\b.{{0,80}}{_SCALED}",
    re.I,
)
_TITLE_CHARACTERS = 200


@dataclass(slots=True)
class _Entry:
    """A passage or a table on its way into the text, with the page it stands on and its place."""

    body: Passage | Grid
    page: int = 0
    start: int = 0
    end: int = 0
    kind: ElementKind = ElementKind.PARAGRAPH
    table: int | None = None
    role: str = ""

    @property
    def text(self) -> str:
        return self.body.text


@dataclass
class _Sheet:
    """The entries of a document and, as positions among them, where pages certainly or possibly break."""

    entries: list[_Entry] = field(default_factory=list)
    certain: set[int] = field(default_factory=set)
    possible: set[int] = field(default_factory=set)


def lay_out(
    stream: Stream, kind: Kind, metadata: Mapping[str, str], flags: tuple[str, ...], deadline: Deadline
) -> Layout:
    """Return the layout of a document read into `stream`. Raises UnreadableError `no_text` and `time_budget`."""
    sheet = _arrange(stream.items, deadline)
    if not sheet.entries:
        raise UnreadableError("no_text", "The document shows no text; if its pages are images, give it as text.")
    labels = _paginate(sheet)
    text = _place(sheet.entries)
    _classify(sheet.entries)
    _mark_contents(sheet.entries)
    tables = _tables(sheet.entries, stream, deadline)
    return Layout(
        text=text,
        kind=kind,
        elements=tuple(
            Element(entry.kind, entry.start, entry.end, page_index=entry.page if labels else None, table=entry.table)
            for entry in sheet.entries
        ),
        pages=_pages(labels, sheet.entries, len(text)),
        tables=tables,
        facts=tuple(to_fact(tag, stream.header, text) for tag in stream.tags),
        anchors=_anchors(stream, sheet.entries),
        metadata=dict(metadata),
        flags=flags,
    )


def _arrange(items: list[Item], deadline: Deadline) -> _Sheet:
    """Decide for each table whether it is data or only arranges text, and line everything up."""
    sheet = _Sheet()
    stack: list[list[Item | Passage]] = [list(reversed(items))]
    while stack:
        if not stack[-1]:
            stack.pop()
            continue
        item = stack[-1].pop()
        if isinstance(item, PageBreak):
            (sheet.certain if item.certain else sheet.possible).add(len(sheet.entries))
        elif isinstance(item, RawTable):
            deadline.check(f"table after block {len(sheet.entries)}")
            grid = read_grid(item)
            if grid is not None:
                sheet.entries.append(_Entry(grid))
            else:
                stack.append(list(reversed(passages_of(item))))
        else:
            passage = Passage([item]) if isinstance(item, Block) else item
            last = sheet.entries[-1] if sheet.entries else None
            if last and isinstance(last.body, Passage) and BULLET.match(last.text) and last.text != passage.text:
                # A bullet that floats beside its text was read as a block of its own.
                last.body = Passage(
                    [*(block for block, _ in last.body.pieces), *(block for block, _ in passage.pieces)], True
                )
            else:
                sheet.entries.append(_Entry(passage))
    return sheet


def _paginate(sheet: _Sheet) -> list[str | None]:
    """Set the page of each entry, mark running lines, and return the pages' labels; none where there is one page."""
    lines = [
        Line(
            entry.text,
            0,
            running=len(entry.text) <= 160 and isinstance(entry.body, Passage),
            linked=isinstance(entry.body, Passage) and entry.body.share(lambda block: block.linked) > 0.5,
            strong=isinstance(entry.body, Passage) and entry.body.share(lambda block: block.bold) > 0.9,
        )
        for entry in sheet.entries
    ]
    breaks = sorted(place for place in find_breaks(lines, sheet.certain, sheet.possible) if 0 < place < len(lines))
    page = 0
    for index, (entry, line) in enumerate(zip(sheet.entries, lines, strict=True)):
        while page < len(breaks) and breaks[page] <= index:
            page += 1
        entry.page = line.page = page
    labels = mark(lines, len(breaks) + 1)
    for entry, line in zip(sheet.entries, lines, strict=True):
        entry.role = line.role or (entry.body.pieces[0][0].role if isinstance(entry.body, Passage) else "")
    return labels if breaks else []


def _place(entries: list[_Entry]) -> str:
    """Give every entry its range and return the canonical text."""
    position = 0
    texts = []
    for entry in entries:
        entry.start = position
        entry.end = position + len(entry.text)
        entry.body.put(position)
        texts.append(entry.text)
        position = entry.end + 2
    return "\n\n".join(texts)


def _classify(entries: list[_Entry]) -> None:
    body_points = _body_points(entries)
    roles = {
        "header": ElementKind.HEADER,
        "footer": ElementKind.FOOTER,
        "page_number": ElementKind.PAGE_NUMBER,
    }
    for entry in entries:
        if isinstance(entry.body, Grid):
            entry.kind = ElementKind.TABLE
        elif entry.role:
            entry.kind = roles[entry.role]
        elif _is_title(entry.body, body_points):
            entry.kind = ElementKind.TITLE
        elif entry.body.is_item or _LIST.match(entry.text):
            entry.kind = ElementKind.LIST_ITEM


def _body_points(entries: list[_Entry]) -> float:
    """Return the font size in which most of the running text is set."""
    seen: Counter[float] = Counter()
    for entry in entries:
        if isinstance(entry.body, Passage):
            for block, _ in entry.body.pieces:
                seen[block.points] += block.visible
    return seen.most_common(1)[0][0] if seen else 0.0


def _is_title(passage: Passage, body_points: float) -> bool:
    """Say whether a passage is set as a heading: short, and bold, underlined, large or in centred capitals."""
    text = passage.text
    if len(text) > _TITLE_CHARACTERS or not any(c.isalpha() for c in text) or passage.is_item:
        return False
    blocks = [block for block, _ in passage.pieces]
    if any(block.heading for block in blocks):
        return True
    if text.startswith("(") and text.endswith(")"):
        return False
    if text.endswith((";", ",")) or (text.endswith(".") and len(text) > 120):
        return False
    if passage.share(lambda block: block.bold) > 0.9 or passage.share(lambda block: block.underline) > 0.9:
        return passage.share(lambda block: block.linked) < 0.5
    if body_points and len(text) <= 120 and all(block.points >= 1.2 * body_points for block in blocks):
        return not text.endswith(".")
    if _ITEM.match(text) and passage.share(lambda block: block.bold) > 0.3:
        return True
    centered = all(block.centered for block in blocks)
    letters = [c for c in text if c.isalpha()]
    if centered and len(letters) > 3 and not any(c.islower() for c in letters):
        return True
    slanted = passage.share(lambda block: block.italic) > 0.9
    return slanted and len(text) <= 90 and not text.endswith((".", ":", ")")) and text[:1].isupper()


def _mark_contents(entries: list[_Entry]) -> None:
    """Mark contents lists: tables of page references, and runs of linked lines, with their title."""
    for index, entry in enumerate(entries):
        if isinstance(entry.body, Grid):
            titled = any(_CONTENTS_TITLE.match(before.text) for before in entries[max(0, index - 3) : index])
            if _is_contents_table(entry.body, titled):
                entry.kind = ElementKind.CONTENTS
    _mark_linked_runs(entries)
    for before, entry in pairwise(entries):
        if (
            entry.kind == ElementKind.CONTENTS
            and before.kind != ElementKind.CONTENTS
            and isinstance(before.body, Passage)
        ):
            text = before.text.strip().lower()
            if _CONTENTS_TITLE.match(text) or text in ("page", "page no.", "page number"):
                before.kind = ElementKind.CONTENTS


def _is_contents_table(grid: Grid, titled: bool) -> bool:
    """Say whether most rows end in a page number or link into the document, and nothing in them is an amount."""
    rows = grid.lines
    if len(rows) < 3 or any("$" in cell.text or "%" in cell.text for line in rows for cell in line.cells):
        return False
    numbers: list[int] = []
    referring = 0
    for line in rows:
        if sum(number_of(cell.text) is not None for cell in line.cells) > 2:
            return False
        if len(line.cells) > 1 and _PAGE_REFERENCE.match(last := line.cells[-1].text):
            referring += 1
            if digits := re.match(r"\d+", last):
                numbers.append(int(digits[0]))
    enough = 0.5 * len(rows)
    linked = grid.linked_rows()
    items = sum(bool(_ITEM.match(line.cells[0].text)) for line in rows)
    rising = sum(later >= number for number, later in pairwise(numbers))
    # Only an index by items, as some annual reports have, may refer to pages out of order.
    if numbers and rising < 0.75 * (len(numbers) - 1) and items < 0.4 * len(rows):
        return False
    return linked >= enough or (referring >= enough and len(numbers) >= 3 and (items >= 3 or titled or linked >= 3))


def _mark_linked_runs(entries: list[_Entry]) -> None:
    """Mark runs of at least four lines that are links, at the head of the document or under a contents title."""
    length = entries[-1].end
    run: list[_Entry] = []
    titled = False
    passed = (ElementKind.HEADER, ElementKind.FOOTER, ElementKind.PAGE_NUMBER)
    recent: list[str] = []
    for entry in [*entries, None]:
        if entry is not None and _is_contents_line(entry):
            if not run:
                titled = any(_CONTENTS_TITLE.match(text) or text.startswith("QuickLinks") for text in recent[-3:])
            run.append(entry)
        elif entry is None or entry.kind not in passed:
            if len(run) >= 4 and (titled or run[0].start < 0.1 * length):
                for linked in run:
                    linked.kind = ElementKind.CONTENTS
            run = []
        if entry is not None:
            recent.append(entry.text[:120])


def _is_contents_line(entry: _Entry) -> bool:
    if not isinstance(entry.body, Passage) or len(entry.text) > 200:
        return False
    inner = sum(
        end - start for block, _ in entry.body.pieces for href, start, end in block.links if href.startswith("#")
    )
    return inner >= 0.6 * len(entry.text)


def _tables(entries: list[_Entry], stream: Stream, deadline: Deadline) -> tuple[Table, ...]:
    """Make the records of all tables, each with what the lines before it say of it."""
    tables: list[Table] = []
    default = _units_of_document(entries)
    plain = not any(entry.kind == ElementKind.TITLE for entry in entries)
    for index, entry in enumerate(entries):
        if not isinstance(entry.body, Grid):
            continue
        if len(tables) % 50 == 0:
            deadline.check(f"table {len(tables) + 1}")
        caption, units = _introduction(entries, index, entry.body, plain)
        before = _table_before(entries, index)
        if not units and entry.kind == ElementKind.TABLE and entry.body.has_figures():
            goes_on = before is not None and before.table is not None and _same_shape(before.body, entry.body)
            units = (tables[before.table].units if before and before.table is not None and goes_on else "") or default
        entry.table = len(tables)
        near = before is not None and index - entries.index(before) <= 4
        inherited = before.body.headers if before is not None and near and isinstance(before.body, Grid) else ()
        tables.append(entry.body.to_table(entry.start, caption, units, stream.header, inherited))
    return tuple(tables)


def _table_before(entries: list[_Entry], index: int) -> _Entry | None:
    """Return the table that stands before the one at `index` under the same title, not far above."""
    for before in reversed(entries[max(0, index - 12) : index]):
        if isinstance(before.body, Grid):
            return before
        if before.kind == ElementKind.TITLE:
            return None
    return None


def _same_shape(before: Passage | Grid, grid: Grid) -> bool:
    return isinstance(before, Grid) and len(before.columns) == len(grid.columns)


def _units_of_document(entries: list[_Entry]) -> str:
    """Return the statement that amounts are in millions (or thousands …) unless otherwise noted, where there is one."""
    for entry in entries:
        text = entry.text if isinstance(entry.body, Passage) else ""
        if "unless otherwise" not in text.lower() and "tabular" not in text.lower():
            continue
        for sentence in _SENTENCE_END.split(text[:20_000]):
            if len(sentence) <= 300 and _SCALED_TABLES.search(sentence):
                stated = max(_UNLESS.split(sentence), key=lambda part: parse_units(part) is not None).strip(" ,")
                if parse_units(stated) is not None:
                    return stated
    return ""


def _introduction(entries: list[_Entry], index: int, grid: Grid, plain: bool) -> tuple[str, str]:
    """Return caption and units of the table at `index`: the nearest title or introducing sentence, and units.

    `plain` says that the document sets no titles apart, so that a short line has to do.
    """
    caption = grid.title()
    units = next((found for text in grid.unit_texts() if (found := units_in(text, alone=True))), None)
    if units is None and caption:
        units = units_in(caption)
    steps = 0
    near = True
    for before in reversed(entries[max(0, index - 30) : index]):
        if before.role or before.kind == ElementKind.CONTENTS:
            continue
        if isinstance(before.body, Grid):
            # What stands before another table introduces that one; only a title still holds for both.
            near = near and steps == 0
        else:
            text = before.text
            if units is None and near and steps < 4:
                sentence = _last_sentence(text)
                units = units_in(sentence) or (units_in(text, alone=True) if len(text) <= 120 else None)
            titled = before.kind == ElementKind.TITLE and not _only_units(text)
            if not caption and (titled or (plain and near and steps < 4 and _could_be_title(text))):
                caption = " ".join(text.split())
            elif not caption and steps == 0 and _introduces(text):
                caption = " ".join(_last_sentence(text).split())[:240]
        steps += 1
        if (caption and (units is not None or steps >= 4)) or steps >= 25:
            break
    return caption, units or ""


def _could_be_title(text: str) -> bool:
    return len(text) <= 120 and text[:1].isupper() and text[-1:].isalnum() and not _only_units(text)


def _only_units(text: str) -> bool:
    found = units_in(text, alone=True)
    return (found is not None and len(found) >= 0.7 * len(text)) or text.strip().lower() in ("(unaudited)", "unaudited")


def _introduces(text: str) -> bool:
    return text.endswith((":", "：", "as follows.")) or "following" in text[-300:].lower()


def _last_sentence(text: str) -> str:
    return _SENTENCE_END.split(text[-600:])[-1]


def _pages(labels: list[str | None], entries: list[_Entry], length: int) -> tuple[Page, ...]:
    if not labels:
        return ()
    starts: dict[int, int] = {}
    for entry in entries:
        starts.setdefault(entry.page, entry.start)
    starts[0] = 0
    pages = sorted(starts)
    ends = [starts[page] for page in pages[1:]] + [length]
    return tuple(Page(page, starts[page], end, labels[page]) for page, end in zip(pages, ends, strict=True))


def _anchors(stream: Stream, entries: list[_Entry]) -> tuple[tuple[str, int], ...]:
    """Return where links lead to in the document: those of contents lists, and others that lead forward."""
    starts = [entry.start for entry in entries]
    found: list[tuple[str, int]] = []

    def target_of(href: str) -> int | None:
        target = stream.targets.get(href[1:]) if href.startswith("#") else None
        if target is None or target[0].offset is None:
            return None
        there = target[0].place(target[1])
        # A target at the head of a page means the first line below the running header.
        index = bisect_right(starts, there) - 1
        while index + 1 < len(entries) and entries[index].kind in FURNITURE - {ElementKind.CONTENTS}:
            index += 1
            there = entries[index].start
        return there

    def add(words: str, there: int | None, start: int, listed: bool) -> None:
        if there is None or not words or is_back_link(words) or (there <= start and not listed):
            return
        if found and found[-1][1] == there and not listed:
            found[-1] = (f"{found[-1][0]} {words}", there)
        else:
            found.append((words, there))

    for entry in entries:
        listed = entry.kind == ElementKind.CONTENTS
        if isinstance(entry.body, Grid):
            for words, hrefs in entry.body.links():
                targets = [there for href in hrefs if (there := target_of(href)) is not None]
                add(words, targets[0] if targets else None, entry.start, listed)
            continue
        for block, _ in entry.body.pieces:
            for href, start, end in block.links:
                add(block.text[start:end].strip(), target_of(href), block.place(start), listed)
    return tuple(found)
