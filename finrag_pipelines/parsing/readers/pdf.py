"""The PDF reader: pages, lines and their geometry by pypdfium2, blocks and tables from them.

Geometry is asked for sparsely, two calls a word and only where a word may be a cell: boxes of all characters would cost
more than the text itself.
"""

import ctypes
import re
import threading
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from finrag_pipelines.parsing.model import Kind, Layout, UnreadableError
from finrag_pipelines.parsing.readers.blocks import make_layout
from finrag_pipelines.parsing.readers.limits import Deadline
from finrag_pipelines.parsing.readers.lines import WORD, Line, Word

if TYPE_CHECKING:
    import pypdfium2

MAX_PAGES = 4000
MAX_CHARACTERS = 20_000_000
_PDFIUM = threading.Lock()  # PDFium is not thread-safe
# One for one, so that positions stay: soft and odd hyphens, separators that belong to no line, NULs.
_ODD = {0xFFFE: "-", 0x02: "-", 0xAD: "-"} | dict.fromkeys(
    (0x00, 0x0A, 0x0B, 0x0C, 0x0D, 0x85, 0xA0, 0x2028, 0x2029), " "
)
_MAY_BE_ODD = re.compile("[" + "".join(map(re.escape, map(chr, _ODD))) + "]")
_UNITS = re.compile(r"\b(?:thousands|millions|billions)\b", re.IGNORECASE)
_FIGURE = re.compile(r"\d,\d{3}|\d\.\d")
_DIGIT = re.compile(r"\d")
_NOTE_MARK = re.compile(
    r"[(\[]?(?:\w{1,2}|[*†‡§¶#]+)[)\]]?(?:,[(\[]?\w{1,2}[)\]]?)*,?|®|™|SM|TM|st|nd|rd|th", re.IGNORECASE
)
# PDFium takes the second of two overlapping f for a shadow of the first, drops it, and puts a space into the gap.
_DROPPED_F = re.compile(
    r"\b(?:af (?=ect|iliat|ord|irm|ix|luent)|ef (?=ect|ort|icien|luent)|dif (?=er|icult|us)|suf (?=er|icien)"
    r"|of (?=ic(?:e|ial)|er(?:s|ed|ing|ings|or|ors)?\b|set(?:s|ting)?\b|shore)|buf (?=er)|cof (?=ee)|traf (?=ic)|staf (?=ing|ed)"  # noqa: E501
    r"|tarif (?=s\b)|plaintif (?=s\b)|layof (?=s\b)|write-?of (?=s\b)|payof (?=s\b)|of (?=-(?:balance|set)))",
    re.IGNORECASE,
)


def read_pdf(content: bytes, deadline: Deadline | None = None, max_pages: int = MAX_PAGES) -> Layout:
    """Return the layout of a PDF.

    Raises UnreadableError: `pdf_truncated`, `pdf_password`, `pdf_no_text` (scanned), `pdf_too_many_pages`,
    `pdf_too_much_text`, `time_budget`.
    """
    with _PDFIUM:
        document = _open(content)
        try:
            count = len(document)
            if count > max_pages:
                raise UnreadableError(
                    "pdf_too_many_pages",
                    f"The PDF has {count} pages; at most {max_pages} are read. Split it into parts of one filing each.",
                )
            pages: list[list[Line]] = []
            characters = 0
            broken: list[int] = []
            for index in range(count):
                if deadline:
                    deadline.check(f"page {index + 1} of {count}")
                lines = _read_page(document, index)
                if lines is None:
                    broken.append(index)
                    lines = []
                characters += sum(len(line.text) for line in lines)
                if characters > MAX_CHARACTERS:
                    raise UnreadableError(
                        "pdf_too_much_text",
                        f"The PDF holds more than {MAX_CHARACTERS:,} characters by page {index + 1}; split it.",
                    )
                pages.append(lines)
            metadata = {key.lower(): value for key, value in sorted(document.get_metadata_dict().items()) if value}
        finally:
            document.close()
    if not characters:
        raise UnreadableError(
            "pdf_no_text",
            f"None of the {count} pages holds any text: this is a scanned document. OCR is not included; run an OCR "
            "program over it and ingest its output.",
        )
    flags = [f"pdf_page_unreadable:{index}" for index in broken]
    silent = sum(not lines for lines in pages)
    if silent > max(2, count // 4):
        flags.append(f"pdf_pages_without_text:{silent}")
    return make_layout(pages, Kind.PDF, metadata, flags, deadline)


def page_lines(content: bytes, index: int) -> list[Line]:
    """Return the lines of one page with their geometry, in the order of the text; none where it cannot be loaded."""
    with _PDFIUM:
        document = _open(content)
        try:
            return _read_page(document, index) or []
        finally:
            document.close()


def _open(content: bytes) -> "pypdfium2.PdfDocument":
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(content)
        if not len(document):
            raise UnreadableError("pdf_truncated", "The PDF has no pages; fetch it again from where it came.")
    except pypdfium2.PdfiumError as error:
        reason = str(error)
        if "password" in reason.lower() or "security" in reason.lower():
            raise UnreadableError(
                "pdf_password", "The PDF is protected by a password; ingest a copy that was saved without one."
            ) from error
        complete = b"%%EOF" in content[-2048:]
        what = "is damaged" if complete else "ends before its end mark"
        raise UnreadableError(
            "pdf_truncated", f"The PDF of {len(content):,} bytes {what} ({reason}); fetch it again from where it came."
        ) from error
    return document


def _read_page(document: "pypdfium2.PdfDocument", index: int) -> list[Line] | None:
    """Return the lines of a page, or None where the page cannot be loaded."""
    import pypdfium2

    try:
        page = document[index]
    except pypdfium2.PdfiumError:
        return None
    try:
        textpage = page.get_textpage()
        try:
            return list(_Reader(textpage, index).lines())
        finally:
            textpage.close()
    finally:
        page.close()


class _Calls(NamedTuple):
    """The functions of PDFium that are asked for every word."""

    origin: Callable[..., int]
    box: Callable[..., int]
    loose_box: Callable[..., int]
    weight: Callable[..., int]
    font: Callable[..., int]
    text_index: Callable[..., int]


@cache
def _calls() -> _Calls:
    """Return them with addresses for arguments: a third of the time of the typed pointers that pypdfium2 declares."""
    import pypdfium2.raw as raw

    address, number = ctypes.c_void_p, ctypes.c_int

    def plain(function: Any, *arguments: Any) -> Callable[..., int]:
        place = ctypes.cast(function, address).value
        return ctypes.PYFUNCTYPE(number, address, number, *arguments)(place)  # type: ignore[call-overload, arg-type]

    return _Calls(
        origin=plain(raw.FPDFText_GetCharOrigin, address, address),
        box=plain(raw.FPDFText_GetCharBox, address, address, address, address),
        loose_box=plain(raw.FPDFText_GetLooseCharBox, address),
        weight=plain(raw.FPDFText_GetFontWeight),
        font=plain(raw.FPDFText_GetFontInfo, address, ctypes.c_ulong, address),
        text_index=plain(raw.FPDFText_GetCharIndexFromTextIndex),
    )


class _Reader:
    """Reads the lines of one text page; holds the C variables that PDFium writes to."""

    def __init__(self, textpage: Any, page: int) -> None:
        import pypdfium2.raw as raw

        self.calls, self.page = _calls(), page
        self.handle = ctypes.cast(textpage.raw, ctypes.c_void_p).value
        text: str = textpage.get_text_range()
        self.text = _DROPPED_F.sub(lambda match: match[0][:-1] + "f", text) if "f " in text else text
        # Characters without a Unicode value or beyond the BMP make text positions differ from character positions.
        self.exact = textpage.count_chars() == len(self.text)
        self.wide = any(ord(ch) > 0xFFFF for ch in self.text) if not self.exact else False
        self.right, self.x, self.y = ctypes.c_double(), ctypes.c_double(), ctypes.c_double()
        self.unused = ctypes.c_double()
        self.origin = ctypes.addressof(self.x), ctypes.addressof(self.y)
        unused = ctypes.addressof(self.unused)
        self.box = unused, ctypes.addressof(self.right), unused, unused  # left, right, bottom, top
        self.rect = raw.FS_RECTF()
        self.rect_at = ctypes.addressof(self.rect)
        self.font = ctypes.create_string_buffer(96)
        self.font_flags = ctypes.c_int()
        self.font_at = ctypes.addressof(self.font), 96, ctypes.addressof(self.font_flags)

    def index(self, position: int) -> int:
        """The character index of a position in the text."""
        if self.exact:
            return position
        if self.wide:
            position += sum(ord(ch) > 0xFFFF for ch in self.text[:position])
        return self.calls.text_index(self.handle, position)

    def start_of(self, position: int) -> tuple[float, float]:
        """Left end and baseline of a character."""
        index = position if self.exact else self.index(position)
        self.calls.origin(self.handle, index, *self.origin)
        return self.x.value, self.y.value

    def end_of(self, position: int) -> float:
        """Right edge of a character."""
        index = position if self.exact else self.index(position)
        self.calls.box(self.handle, index, *self.box)
        return self.right.value

    def places(self, spans: list[tuple[int, int]]) -> list[tuple[float, float, float]]:
        """Left end, right edge and baseline of runs of characters, first and last given."""
        if not self.exact:
            spans = [(self.index(first), self.index(last)) for first, last in spans]
        handle, (origin, box, *_) = self.handle, self.calls
        start, edges, x, y, right = self.origin, self.box, self.x, self.y, self.right
        found = []
        for first, last in spans:
            origin(handle, first, *start)
            box(handle, last, *edges)
            found.append((x.value, right.value, y.value))
        return found

    def height_of(self, position: int) -> float:
        """The height of a character's box, which is its font size on the page whatever the font's own units."""
        self.calls.loose_box(self.handle, self.index(position), self.rect_at)
        return self.rect.top - self.rect.bottom

    def is_bold(self, position: int) -> bool:
        index = self.index(position)
        if self.calls.weight(self.handle, index) >= 500:
            return True
        self.calls.font(self.handle, index, *self.font_at)
        name = self.font.value.lower()
        return b"bold" in name or b"black" in name or b"heavy" in name or self.font_flags.value & 0x40000 != 0

    def lines(self) -> Iterator[Line]:
        """Yield the lines of the page in the order of the page's content; pieces of one printed line are joined."""
        pending: _Piece | None = None
        offset = 0
        for text in self.text.split("\r\n"):
            begin, offset = offset, offset + len(text) + 2
            stripped = text.strip()
            if not stripped:
                continue
            for piece in self.pieces(text, begin):
                if pending and pending.joins(piece):
                    pending.parts.extend(piece.parts)
                    pending.x1, pending.y_end = max(pending.x1, piece.x1), piece.y_end
                    pending.bold = pending.bold and piece.bold
                    continue
                if pending:
                    yield self.line(pending)
                pending = piece
        if pending:
            yield self.line(pending)

    def pieces(self, text: str, begin: int) -> "list[_Piece]":
        """Return a run of text as one piece, or cut where PDFium ran several printed lines together."""
        whole = self.piece(text, begin)
        if abs(whole.y - whole.y_end) <= 0.6 * whole.size and whole.x1 >= whole.x0:
            return [whole]
        if "\ufffe" in text[:-1]:  # a hyphen at the end of a printed line, after which PDFium went on
            at = text.index("\ufffe") + 1
            return [self.piece(text[:at], begin), *self.pieces(text[at:], begin + at)]
        cuts = [0]
        baseline, right = whole.y, whole.x0
        for match in WORD.finditer(text):
            x0, y = self.start_of(begin + match.start())
            if abs(y - baseline) > 0.6 * whole.size or x0 < right - 2 * whole.size:
                cuts.append(match.start())
            baseline, right = y, self.end_of(begin + match.end() - 1)
        cuts.append(len(text))
        return [self.piece(text[a:b], begin + a) for a, b in pairwise(cuts) if text[a:b].strip()]

    def piece(self, text: str, begin: int) -> "_Piece":
        first = begin + len(text) - len(text.lstrip())
        last = begin + len(text.rstrip()) - 1
        x0, y = self.start_of(first)
        _, y_end = self.start_of(last)
        size = self.height_of(last)
        bold = self.is_bold(first) and self.is_bold(last)
        return _Piece([(text, begin)], x0, self.end_of(last), y, y_end, size, bold)

    def line(self, piece: "_Piece") -> Line:
        """Make a line of the pieces, with its words where one of them may be a cell or a column's head."""
        text = " ".join(part.strip() for part, _ in piece.parts)
        size = piece.size if piece.size > 0 else 10.0
        # A line that is wider than its characters has gaps: heads of columns, a table of words.
        wanted = len(text) < 75 or _may_hold_values(text) or piece.x1 - piece.x0 > 0.55 * size * len(text)
        words: list[Word] = []
        baseline = piece.y_end
        if wanted:
            placed: list[tuple[int, int, float, float, float]] = []
            length = 0
            for part, begin in piece.parts:
                stripped = part.strip()
                shift = begin + len(part) - len(part.lstrip())
                spans = _spans(stripped)
                places = self.places([(shift + first, shift + last - 1) for first, last in spans])
                placed += [(length + a, length + b, *at) for (a, b), at in zip(spans, places, strict=True)]
                length += len(stripped) + 1
            baseline = min([word[4] for word in placed])
            raised = baseline + 0.15 * size
            # Figures that stand a little above their label are no footnote marks.
            marks = all(_NOTE_MARK.fullmatch(text, word[0], word[1]) for word in placed if word[4] > raised)
            words = [Word(a, b, x0, x1, marks and y > raised) for a, b, x0, x1, y in placed]
        if _MAY_BE_ODD.search(text):
            text = text.translate(_ODD)
        return Line(text, self.page, piece.x0, piece.x1, baseline, size, piece.bold, 0.26 * size, tuple(words))


def _spans(text: str) -> list[tuple[int, int]]:
    """The words of a line; of a label before figures only its last word apart, since only gaps before figures matter."""  # noqa: E501
    spans = [match.span() for match in WORD.finditer(text)]
    tail = len(spans)
    while tail and not any(ch.isalpha() for ch in text[spans[tail - 1][0] : spans[tail - 1][1]]):
        tail -= 1
    if (
        4 < tail < len(spans)
        and _FIGURE.search(text, spans[tail][0])
        and not _DIGIT.search(text, 0, spans[tail - 1][1])
    ):
        return [(spans[0][0], spans[tail - 2][1]), *spans[tail - 1 :]]
    return spans


def _may_hold_values(text: str) -> bool:
    """Say whether a long line may end in table values."""
    tail = text.rstrip(" )%")[-1:]
    if text[0] == "(" and _UNITS.search(text):
        return True
    return tail.isdigit() or tail in "—–-" or text.endswith((")", "%", "N/A", "NM", "*"))


class _Piece:
    """A run of text as PDFium gives it: the parts of one line, each with its place in the page's text."""

    __slots__ = ("bold", "parts", "size", "x0", "x1", "y", "y_end")

    def __init__(
        self, parts: list[tuple[str, int]], x0: float, x1: float, y: float, y_end: float, size: float, bold: bool
    ) -> None:
        self.parts, self.x0, self.x1, self.y, self.y_end, self.size, self.bold = parts, x0, x1, y, y_end, size, bold

    def joins(self, following: "_Piece") -> bool:
        """Say whether `following` goes on in the same printed line."""
        size = max(self.size, following.size)
        return abs(self.y_end - following.y_end) < 0.25 * size and following.x0 > self.x1 - 0.3 * size
