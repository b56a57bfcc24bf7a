"""The plain-text reader: encodings, pages between form feeds or <PAGE> marks, columns by character position."""

import codecs
import re
from collections.abc import Iterator

from finrag_pipelines.parsing.model import Kind, Layout, UnreadableError
from finrag_pipelines.parsing.readers.blocks import make_layout
from finrag_pipelines.parsing.readers.limits import Deadline
from finrag_pipelines.parsing.readers.lines import WORD, Line, Word
from finrag_pipelines.parsing.readers.mojibake import repair_mojibake

MAX_CHARACTERS = 20_000_000  # about 45 bytes of memory each while a text is read
MAX_BYTES = 4 * MAX_CHARACTERS
_MAX_LINE = 2_000  # longer lines are whole paragraphs: their columns mean nothing

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_PAGE = re.compile(r"\f|^[ \t]*</?PAGE>[ \t]*(?:\d{1,4})?[ \t]*$", re.IGNORECASE | re.MULTILINE)
_MARKUP = re.compile(r"</?(?:TABLE|CAPTION|S|C|FN|F\d{1,2}|TEXT|DOCUMENT|MULTIPLIER|LEGEND|ARTICLE)>", re.IGNORECASE)
_RULE = re.compile(r"[\s\-_=–—─━~.*+|]*[-_=─━]{3}[\s\-_=–—─━~.*+|]*")
_LEADERS = re.compile(r"[.…·]{2,}|[_=]{3,}|(?<![\w$])\.(?=\s)")
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0e-\x1f\x7f]")
_CJK = re.compile(r"[一-鿿]")
# The commonest Chinese characters: text decoded by the wrong table hardly holds any of them.
_COMMON = frozenset(
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经"
)


def decode(content: bytes) -> str:
    """Return the text of `content`: by its byte-order mark, else UTF-8, UTF-16, GB18030 or Windows-1252, in this order.

    NUL bytes go, line ends become newlines, and UTF-8 that was once read as Windows-1252 or Latin-1 is put right.
    """
    text = _decoded(content).replace("\x00", "")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub(" ", repair_mojibake(text)).removeprefix("﻿")


def _decoded(content: bytes) -> str:
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, errors="replace")
    sample = content[:4096]
    if len(sample) >= 4 and sample.count(0) > 0.2 * len(sample):
        little = sum(b == 0 for b in sample[1::2]) >= sum(b == 0 for b in sample[::2])
        return content.decode("utf-16-le" if little else "utf-16-be", errors="replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        # A single broken sequence in a long UTF-8 text is damage, not another encoding.
        text = content.decode("utf-8", errors="replace") if error.start > 0 else ""
        broken = text.count("�")
        if text and broken <= len(content) // 5000 and len(re.findall(r"[^\x00-\x7f�]", text)) > 4 * broken:
            return text
    try:
        text = content.decode("gb18030")
        chinese = _CJK.findall(text)
        if len(chinese) > 20 and sum(ch in _COMMON for ch in chinese) > 0.08 * len(chinese):
            return text
    except UnicodeDecodeError:
        pass
    return content.decode("cp1252", errors="replace") if b"\x81" not in content else content.decode("latin-1")


def read_text(content: bytes, deadline: Deadline | None = None) -> Layout:
    """Return the layout of a plain-text document. Raises UnreadableError `text_too_large`, `text_empty`, `time_budget`.

    Pages are known only where the text marks them; otherwise `pages` is empty and elements have no page.
    """
    if len(content) > MAX_BYTES:
        raise UnreadableError(
            "text_too_large", f"The text has {len(content):,} bytes; at most {MAX_BYTES:,} are read. Split it."
        )
    return layout_of_text(decode(content), deadline)


def layout_of_text(text: str, deadline: Deadline | None = None) -> Layout:
    """Return the layout of decoded text; see read_text."""
    if len(text) > MAX_CHARACTERS:
        raise UnreadableError(
            "text_too_large", f"The text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read. Split it."
        )
    pages = _pages(text)
    lines = [list(_lines(page, index)) for index, page in enumerate(pages)]
    if not any(lines):
        raise UnreadableError("text_empty", "The text holds nothing but white space; fetch it again from its source.")
    layout = make_layout(lines, Kind.TEXT, deadline=deadline)
    return layout if len(pages) > 1 else _without_pages(layout)


def _without_pages(layout: Layout) -> Layout:
    from dataclasses import replace

    return replace(layout, pages=(), elements=tuple(replace(e, page_index=None) for e in layout.elements))


def _pages(text: str) -> list[str]:
    """Cut text at its page marks; a form feed beside a <PAGE> mark is one mark."""
    pages = [page for page in _PAGE.split(text) if page.strip()]
    return pages or [""]


def _lines(page: str, index: int) -> Iterator[Line]:
    """Yield the lines of a page; half a unit wide and 1.2 units high, like characters of a font of size 1."""
    raw = page.split("\n")
    unwrapped = sum(len(line) > 160 for line in raw) > 0.1 * sum(bool(line.strip()) for line in raw)
    for number, line in enumerate(raw):
        if "<" in line:
            line = _MARKUP.sub("", line)
        if not line or line.isspace() or _RULE.fullmatch(line):
            continue
        line = line.expandtabs(8).rstrip()
        text = line.lstrip()
        indent = len(line) - len(text)
        words: tuple[Word, ...] = ()
        if len(text) <= _MAX_LINE:
            # Dot leaders lead to a value: they are room, not words.
            blanked = (
                _LEADERS.sub(lambda m: " " * len(m[0]), text) if ".." in text or ". ." in text or "__" in text else text
            )
            words = tuple(
                Word(m.start(), m.end(), (indent + m.start()) / 2, (indent + m.end()) / 2)
                for m in WORD.finditer(blanked)
            )
        height = 6.0 if unwrapped else 1.2
        yield Line(text, index, indent / 2, (indent + len(text)) / 2, -height * number, 1.0, False, 0.5, words)
