"""One pass over an HTML tree: blocks of text, tables as raw cells, page breaks, link targets and facts, in order.

Nothing is judged here: what is a heading, a real table or a page number is decided by those who read this stream.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from finrag_pipelines.parsing.model import UnreadableError
from finrag_pipelines.parsing.readers.inline_xbrl import FACT_TAGS, Header, Tag, hidden_tags, open_tag
from finrag_pipelines.parsing.readers.limits import Deadline
from finrag_pipelines.parsing.readers.markup import HEADING_TAGS, Declared, clean, declared

MAX_SPAN = 1000
MAX_RUN = 8_000_000  # characters in one stretch of text
MAX_CHARACTERS = 20_000_000  # in a whole document
_MAX_REACHING = 100  # cells of rows above that reach into a row; more is no table that anybody reads
_CLOSED: list[str] = []  # shared by all finished blocks: a list of their own each would cost as much as their text
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SPACES = re.compile(r"\s+")
_NOT_SHOWN = frozenset(
    [
        "script",
        "style",
        "head",
        "title",
        "noscript",
        "template",
        "ix:header",
        "ix:hidden",
        "ix:references",
        "ix:resources",
    ]
)
_PAGE_COMMENT = re.compile(r"^\s*(?:page\s?break|new\s?page|field: page|begin page|end page)", re.I)
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n\s*?(?=\S| )|\f")


class Look(NamedTuple):
    """How the text at one place looks, inherited from the elements around it. Lengths in points."""

    bold: bool = False
    italic: bool = False
    underline: bool = False
    centered: bool = False
    preformatted: bool = False
    superscript: bool = False
    left: float = 0.0
    text_indent: float = 0.0
    points: float = 0.0

    def under(self, said: Declared) -> "Look":
        """Return the look inside an element that declares `said`."""
        return Look(
            self.bold if said.bold is None else said.bold,
            self.italic if said.italic is None else said.italic,
            self.underline if said.underline is None else said.underline,
            self.centered if said.centered is None else said.centered,
            self.preformatted or said.preformatted,
            self.superscript or said.superscript,
            self.left + said.left if said.block else self.left,
            said.text_indent if said.text_indent else self.text_indent,
            said.points or self.points,
        )


class Block:
    """A stretch of text without a block boundary inside. `offset` is its place in the canonical text, once it has one.

    `bold`, `italic`, `underline`, `linked` and `superscript` count characters, out of the `visible` ones. `points` is
    the size of the first letters (0 where none is declared), `role` is `header` or `footer` where the container says
    that this is a running line.
    """

    __slots__ = (
        "bold", "centered", "heading", "indent", "italic", "item", "linked", "links", "offset", "parts", "points",
        "role", "size", "superscript", "tags", "text", "underline", "visible",
    )  # fmt: skip

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.parts: list[str] = []
        self.size = 0
        self.bold = self.italic = self.underline = self.linked = self.superscript = 0
        self.visible = len(text)
        self.centered = self.heading = self.item = False
        self.indent = self.points = 0.0
        self.links: Sequence[tuple[str, int, int]] = ()
        self.tags: Sequence[Tag] = ()
        self.offset: int | None = None
        self.role = ""

    def place(self, local: int) -> int:
        """Return the position in the canonical text of the character `local` of this block."""
        return (self.offset or 0) + min(local, len(self.text))


class PageBreak(NamedTuple):
    """A boundary between pages that the markup states, or, where `certain` is false, a rule that may be one."""

    certain: bool


@dataclass(slots=True)
class RawCell:
    """A table cell before it is understood: its grid columns `[column, column + span)` and what stands in it."""

    column: int
    span: int = 1
    rowspan: int = 1
    head: bool = False
    items: list["Item"] = field(default_factory=list)


@dataclass(slots=True)
class RawRow:
    """A table row before it is understood. `covered` holds the cells of rows above that reach into it."""

    cells: list[RawCell] = field(default_factory=list)
    covered: list[RawCell] = field(default_factory=list)


@dataclass(slots=True)
class RawTable:
    """A table before it is understood. `loose` says that its cells lost their spans, so that places mean little."""

    rows: list[RawRow] = field(default_factory=list)
    loose: bool = False


Item = Block | PageBreak | RawTable


@dataclass
class Stream:
    """What the walk found: items in reading order, facts, declarations, and where each link target stands."""

    items: list[Item] = field(default_factory=list)
    tags: list[Tag] = field(default_factory=list)
    header: Header = field(default_factory=Header)
    targets: dict[str, tuple[Block, int]] = field(default_factory=dict)
    title: str = ""


class _Frame:
    """An open table on the walk: the container it will be put into, and the row and cell being filled."""

    __slots__ = ("before", "outer", "reaching", "table")

    def __init__(self, outer: list[Item]) -> None:
        self.outer = outer
        self.table = RawTable()
        self.before: list[Item] = []
        self.reaching: list[tuple[RawCell, int]] = []

    def open_row(self) -> None:
        reaching = [(cell, rows - 1) for cell, rows in self.reaching if rows > 1]
        self.reaching = sorted(reaching, key=lambda pair: pair[0].column)[:_MAX_REACHING]
        self.table.rows.append(RawRow(covered=[cell for cell, _ in self.reaching]))

    def open_cell(self, span: int, rowspan: int, head: bool) -> RawCell:
        if not self.table.rows:
            self.open_row()
        row = self.table.rows[-1]
        column = row.cells[-1].column + row.cells[-1].span if row.cells else 0
        for cell in row.covered:
            if cell.column < column + span and column < cell.column + cell.span:
                column = cell.column + cell.span
        opened = RawCell(column, span, rowspan, head)
        row.cells.append(opened)
        if rowspan > 1:
            self.reaching.append((opened, rowspan))
        return opened


class _Walk:
    """The state of one pass."""

    def __init__(self, deadline: Deadline) -> None:
        self.stream = Stream()
        self.deadline = deadline
        self.container: list[Item] = self.stream.items
        self.frames: list[_Frame] = []
        self.block = Block()
        self.last: Block | None = None
        self.look = Look()
        self.looks: list[Look] = []
        self.open_tags: list[Tag] = []
        self.new_tags: list[Tag] = []
        self.link: str | None = None
        self.waiting: list[str] = []
        self.breaks = 0
        self.characters = 0

    def run(self, root: etree._Element) -> Stream:
        walker = etree.iterwalk(root, events=("start", "end", "comment"))
        skipped: etree._Element | None = None
        count = 0
        for event, element in walker:
            if event == "start":
                count += 1
                if count % 5000 == 0:
                    self.deadline.check(f"element {count}")
                if not self.start(element):
                    skipped = element
                    walker.skip_subtree()
            elif event == "end":
                if element is skipped:
                    skipped = None
                else:
                    self.end(element)
                if element.tail:
                    self.add(element.tail)
            else:
                if element.text and _PAGE_COMMENT.match(element.text):
                    self.page_break(certain=True)
                if element.tail:
                    self.add(element.tail)
        self.flush()
        return self.stream

    def start(self, element: etree._Element) -> bool:
        """Enter an element; say False where its content is not to be shown."""
        tag = element.tag
        said = _said(element)
        if tag in _NOT_SHOWN or said.hidden:
            self.hidden(element)
            return False
        for name in (element.get("id"), element.get("name") if tag == "a" else None):
            if name:
                self.waiting.append(name)
        if said.break_before:
            self.page_break(certain=True)
        self.looks.append(self.look)
        self.look = self.look.under(said)
        if said.block:
            self.flush()
            self.enter_block(tag, element, said)
        elif tag == "br":
            self.line_break()
        elif tag == "a":
            self.link = element.get("href")
        elif tag in FACT_TAGS:
            found = open_tag(element)
            self.open_tags.append(found)
            self.new_tags.append(found)
            self.stream.tags.append(found)
        elif said.gap and self.block.size:
            self.add(" ")
        if element.text:
            self.add(element.text)
        return True

    def enter_block(self, tag: str, element: etree._Element, said: Declared) -> None:
        if tag == "table":
            frame = _Frame(self.container)
            self.frames.append(frame)
            self.container = frame.before
            self.look = self.look._replace(left=0.0, text_indent=0.0, centered=False)
        elif tag == "tr" and self.frames:
            self.frames[-1].open_row()
            self.container = self.frames[-1].before
        elif tag in ("td", "th") and self.frames:
            cell = self.frames[-1].open_cell(_span(element.get("colspan")), _span(element.get("rowspan")), tag == "th")
            self.look = self.look._replace(left=said.left, text_indent=said.text_indent)
            self.container = cell.items
        elif tag == "page":
            self.page_break(certain=True)
        elif tag == "hr" and not said.break_before and not said.break_after:
            if _is_wide(element.get("width") or ""):
                self.page_break(certain=False)
        elif tag == "li":
            self.block.item = True

    def end(self, element: etree._Element) -> None:
        tag = element.tag
        said = _said(element)
        if said.block:
            if tag in HEADING_TAGS and self.block.size:
                self.block.heading = True
            self.flush()
            if tag == "li":
                self.block.item = False
            elif tag == "table" and self.frames:
                frame = self.frames.pop()
                self.container = frame.outer
                self.container.extend(frame.before)
                self.container.append(frame.table)
            elif tag in ("td", "th") and self.frames:
                self.container = self.frames[-1].before
        elif tag == "a":
            self.link = None
        elif tag in FACT_TAGS and self.open_tags:
            self.close_fact(self.open_tags.pop())
        if said.break_after:
            self.page_break(certain=True)
        self.look = self.looks.pop()

    def close_fact(self, found: Tag) -> None:
        if found.begin is None:
            self.new_tags.remove(found)
            return
        if self.block.size or self.last is None:
            found.finish = (self.block, self.block.size)
        else:
            found.finish = (self.last, len(self.last.text))
        if found.begin[0] is found.finish[0]:
            found.begin[0].tags = (*found.begin[0].tags, found)

    def hidden(self, element: etree._Element) -> None:
        """Keep the title, the declarations and the facts of an element whose text is not shown."""
        if element.tag == "head":
            self.stream.title = clean(" ".join((element.findtext(".//title") or "").split()))
        self.stream.header.read(element)
        self.stream.tags.extend(hidden_tags(element))

    def page_break(self, certain: bool) -> None:
        self.flush()
        self.container.append(PageBreak(certain))

    def line_break(self) -> None:
        """One line break stays in the text as a newline; two in a row end the block, as an empty line does."""
        self.breaks += 1
        if self.breaks >= 2 or self.line_is_full():
            self.flush()
        elif self.block.size:
            self.trim()
            if self.block.size:
                self.block.parts.append("\n")
                self.block.size += 1

    def line_is_full(self) -> bool:
        """Say whether the line that a break ends is a paragraph: too long for one line of an address or a title."""
        length = 0
        for part in reversed(self.block.parts):
            if part == "\n":
                break
            length += len(part)
        return length > 140 or (length > 30 and self.block.parts[-1].rstrip()[-1:] in "。；：！？")

    def trim(self) -> None:
        """Drop the space at the end of the open block."""
        parts = self.block.parts
        if parts and parts[-1].endswith(" "):
            parts[-1] = parts[-1][:-1]
            self.block.size -= 1
            if not parts[-1]:
                parts.pop()

    def add(self, raw: str) -> None:
        """Add text to the open block, white space collapsed as a browser does."""
        if len(raw) > MAX_RUN:
            raise UnreadableError(
                "too_large",
                f"One stretch of text has {len(raw):,} characters and the limit is {MAX_RUN:,}; this is no document "
                "for reading. Give its text in paragraphs.",
            )
        self.characters += len(raw)
        if self.characters > MAX_CHARACTERS:
            raise UnreadableError(
                "text_too_large", f"The HTML holds more than {MAX_CHARACTERS:,} characters of text; split it."
            )
        if self.look.preformatted:
            self.add_lines(clean(raw))
            return
        block = self.block
        text = _SPACES.sub(" ", clean(raw))
        if self.look.superscript and text.strip().isdigit():
            # A footnote mark set above a figure must not become its last digit, nor a figure of its own.
            text = (" " if block.size else "") + text.strip().translate(_RAISED)
        if not block.size:
            # Non-breaking spaces at the start of a block are how old filings indent.
            block.indent += 3.0 * raw[: len(raw) - len(raw.lstrip())].count("\xa0")
            text = text.lstrip(" ")
        elif block.parts[-1][-1] in " \n":
            text = text.lstrip(" ")
        if not text:
            return
        visible = len(text) - text.count(" ")
        if visible:
            self.breaks = 0
            if not block.size:
                block.indent += self.look.left + self.look.text_indent
                block.centered = self.look.centered
                block.points = self.look.points
            self.anchor(block, len(text))
        self.measure(block, visible)
        block.parts.append(text)
        block.size += len(text)

    def anchor(self, block: Block, length: int) -> None:
        """Tie waiting link targets, open facts and the open link to the text about to be added."""
        for name in self.waiting:
            self.stream.targets.setdefault(name, (block, block.size))
        self.waiting.clear()
        for tag in self.new_tags:
            tag.begin = (block, block.size)
        self.new_tags.clear()
        if self.link:
            start = block.size
            if block.links and block.links[-1][0] == self.link:
                start = block.links[-1][1]
                block.links = block.links[:-1]
            block.links = (*block.links, (self.link, start, block.size + length))

    def measure(self, block: Block, visible: int) -> None:
        look = self.look
        block.visible += visible
        block.bold += visible if look.bold else 0
        block.italic += visible if look.italic else 0
        block.underline += visible if look.underline else 0
        block.superscript += visible if look.superscript else 0
        block.linked += visible if self.link else 0

    def add_lines(self, text: str) -> None:
        """Keep preformatted text as it stands; a blank line ends the block."""
        for number, chunk in enumerate(_BLANK_LINE.split(text.replace("\r\n", "\n"))):
            if number:
                self.flush()
            if not self.block.size:
                chunk = chunk.lstrip("\n")
            if not chunk.strip():
                if self.block.size and chunk:
                    self.block.parts.append(chunk)
                    self.block.size += len(chunk)
                continue
            self.anchor(self.block, len(chunk))
            self.measure(self.block, sum(not character.isspace() for character in chunk))
            self.block.parts.append(chunk)
            self.block.size += len(chunk)

    def flush(self) -> None:
        """End the open block. A block without text stays open, so that what it carries is not lost."""
        self.breaks = 0
        if not self.block.size:
            self.block.indent = 0.0
            return
        self.block.text = "".join(self.block.parts).rstrip()
        self.block.parts = _CLOSED
        if self.block.text:
            self.container.append(self.block)
            self.last = self.block
        self.block = Block()


def _said(element: etree._Element) -> Declared:
    return declared(
        element.tag,
        element.get("style") or "",
        (element.get("align") or "").lower(),
        (element.get("size") or "") if element.tag == "font" else "",
    )


def _span(value: str | None) -> int:
    digits = (value or "").strip()
    return min(max(int(digits), 1), MAX_SPAN) if digits.isascii() and digits.isdigit() and len(digits) < 9 else 1


def _is_wide(width: str) -> bool:
    """Say whether a rule is as wide as the page; short ones set off titles and footnotes."""
    width = width.strip()
    if width.endswith("%"):
        return width[:-1].strip().isdigit() and int(width[:-1]) >= 75
    return not width or (width.isdigit() and int(width) >= 400)


def walk(root: etree._Element, deadline: Deadline) -> Stream:
    """Read the tree under `root` into a stream. Raises UnreadableError when the deadline passes."""
    return _Walk(deadline).run(root)
