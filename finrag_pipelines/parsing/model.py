"""The vocabulary of parsing: what a document's bytes become. Records only; how they are found is in the other modules.

Every position is an offset in Unicode code points of the canonical text, as `[start, end)`.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from finrag_pipelines.catalog.identity import Identity


class Kind(StrEnum):
    """What a file is, decided by its bytes and never by its name."""

    PDF = "pdf"
    HTML = "html"
    SUBMISSION = "submission"  # an EDGAR full-submission text file: several documents in one
    TEXT = "text"
    MARKDOWN = "markdown"
    DOCX = "docx"
    EMAIL = "email"
    JSON_TRANSCRIPT = "json_transcript"


class ElementKind(StrEnum):
    """A block of a document. The kinds in FURNITURE stay in the text and are not indexed."""

    TITLE = "title"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    TURN = "turn"
    HEADER = "header"
    FOOTER = "footer"
    PAGE_NUMBER = "page_number"
    CONTENTS = "contents"


FURNITURE = frozenset({ElementKind.HEADER, ElementKind.FOOTER, ElementKind.PAGE_NUMBER, ElementKind.CONTENTS})


class UnreadableError(Exception):
    """These bytes cannot become text. `code` is stable and short; the message says what, where and what next."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Element:
    """One block: its range, the page it starts on, and the section or turn it belongs to (indexes, or None)."""

    kind: ElementKind
    start: int
    end: int
    page_index: int | None = None
    section: int | None = None
    turn: int | None = None
    table: int | None = None
    periods: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """A page: its zero-based index, its range, and the number printed on it (None where none is printed)."""

    index: int
    start: int
    end: int
    label: str | None = None


@dataclass(frozen=True)
class Section:
    """An item of a filing, from its heading to the next one.

    `key` is stable across issuers: `Item 7` in a 10-K, `Part I Item 2` in a 10-Q, `Cover` before the first heading.
    `pointer` names the target where the item only says that it is incorporated by reference. `flags` lists doubts,
    e.g. `heading_number_differs`, `absurd_size`.
    """

    key: str
    title: str
    start: int
    end: int
    pointer: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Heading:
    """A candidate for a section heading, kept with the reason for which it was accepted or rejected."""

    key: str
    start: int
    end: int
    accepted: bool
    reason: str


@dataclass(frozen=True)
class Turn:
    """One speaker's turn in a call. `role` is one of chief_executive, chief_financial_officer, executive,
    investor_relations, analyst, operator, unknown; `part` is prepared_remarks, questions, or unknown without marks."""

    speaker: str
    start: int
    end: int
    role: str = "unknown"
    title: str | None = None
    firm: str | None = None
    part: str = "prepared_remarks"


@dataclass(frozen=True)
class Cell:
    """A value in a table row. `value` is a decimal literal as printed, sign applied, before `scale`
    (a power of ten: 6 for "in millions"). `unit` is USD, USD/share, shares, percent, … or None.
    `period` is a period label, `duration` one of quarter, ytd, year, instant, or None where unknown.
    `concept` is the inline-XBRL concept, where the document states one."""

    start: int
    end: int
    column: int
    header: str
    value: str | None = None
    unit: str | None = None
    scale: int = 0
    period: str | None = None
    period_end: str | None = None
    duration: str | None = None
    concept: str | None = None


@dataclass(frozen=True)
class Row:
    """A table row with its label; `path` holds the labels of the rows that it is indented under."""

    label: str
    start: int
    end: int
    cells: tuple[Cell, ...] = ()
    path: tuple[str, ...] = ()
    is_header: bool = False


@dataclass(frozen=True)
class Table:
    """A table: caption and units as printed (empty where not stated), and its rows in order."""

    start: int
    end: int
    caption: str = ""
    units: str = ""
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Fact:
    """An inline-XBRL fact: its concept (`us-gaap:Revenues`, `dei:EntityRegistrantName`), value as displayed or, for
    hidden facts, as stated; range in the text (None where hidden); and its context: start and end (ISO dates, equal
    for an instant), dimensions, unit, scale and sign."""

    concept: str
    value: str
    start: int | None = None
    end: int | None = None
    period_start: str | None = None
    period_end: str | None = None
    dimensions: tuple[str, ...] = ()
    unit: str | None = None
    scale: int = 0
    negative: bool = False


@dataclass(frozen=True)
class Layout:
    """What a reader makes of bytes before anybody asks what they mean: text, blocks, pages, tables and hints.

    `metadata` holds what the container says (mail headers, docx properties, SGML header, PDF title); `facts` the
    inline-XBRL facts; `anchors` the offsets to which a linked contents list points, with the text of each link.
    `joined` says of each document behind the first, where several were put into one text, what it is (`EX-99.1`) and
    where it begins.
    """

    text: str
    kind: Kind
    elements: tuple[Element, ...]
    pages: tuple[Page, ...] = ()
    tables: tuple[Table, ...] = ()
    facts: tuple[Fact, ...] = ()
    anchors: tuple[tuple[str, int], ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    joined: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class ParsedDocument:
    """All that a parser derives from one byte sequence. `representation_type` is native_text or transcript_turn;
    `parser` names the parser and its version."""

    text: str
    kind: Kind
    parser: str
    identity: Identity
    elements: tuple[Element, ...]
    pages: tuple[Page, ...] = ()
    sections: tuple[Section, ...] = ()
    headings: tuple[Heading, ...] = ()
    turns: tuple[Turn, ...] = ()
    tables: tuple[Table, ...] = ()
    flags: tuple[str, ...] = ()
