"""HTML as bytes to a tree, within bounds: encodings, broken or hostile markup, and what a style attribute declares."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from finrag_pipelines.parsing.model import UnreadableError
from finrag_pipelines.parsing.readers.mojibake import repair_mojibake

MAX_BYTES = 64 * 1024 * 1024
# About 1.2 KB of memory each while a document is read; the largest annual reports have some 300,000.
MAX_ELEMENTS = 700_000
_MAX_STYLE = 2000
# The declarations before the root, an internal DTD with its entities among them.
_PROLOG = re.compile(r"\A\s*(?:<\?xml[^>]{0,500}\?>\s*)?(?:<!DOCTYPE[^>\[]{0,1000}(?:\[[^\]]{0,100000}\]\s*)?>)?", re.I)
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.I)
# A browser reads these labels as the larger encoding that contains them; so do the pages that declare them.
_WIDER = {
    "gb2312": "gb18030", "gbk": "gb18030", "gb_2312-80": "gb18030", "iso-8859-1": "cp1252", "latin-1": "cp1252",
    "latin1": "cp1252", "us-ascii": "cp1252", "ascii": "cp1252", "windows-1252": "cp1252", "shift_jis": "cp932",
    "big5": "big5hkscs",
}  # fmt: skip
_CONTROL = dict.fromkeys([*range(9), 11, *range(14, 32), 127, 0xFEFF, 0x200B, 0x00AD, 0x2060])
# Numbers 128 to 159 in old filings are meant as Windows characters (&#151; is a dash), not as control characters.
_WINDOWS = {
    code: bytes([code]).decode("cp1252") for code in range(0x80, 0xA0) if code not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}
_CLEAN = {**_CONTROL, **_WINDOWS, 0xA0: " ", 0x2007: " ", 0x202F: " ", 0x2002: " ", 0x2003: " ", 0x2009: " "}


def decode(content: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the text of `content` and flags that say what was doubtful about its encoding.

    UTF-8 wins where the bytes are valid UTF-8, whatever they declare, and what in it was decoded wrongly before is put
    right; else what is declared; else Windows-1252 or,
    where most bytes are not ASCII, GB 18030.
    """
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace"), ()
    declared = _declared_encoding(content)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return repair_mojibake(text), ()
    high = sum(byte > 127 for byte in content[:200_000])
    guesses = [declared] if declared else []
    guesses += ["gb18030"] if high > 0.2 * min(len(content), 200_000) else []
    for encoding in guesses:
        try:
            return content.decode(encoding), ()
        except (UnicodeDecodeError, LookupError):
            continue
    # cp1252 leaves five codes undefined; they become the replacement character and the reader is told.
    text = content.decode("cp1252", "replace")
    flags = ("encoding_not_as_declared",) if declared and declared != "cp1252" else ()
    return text, (*flags, "characters_replaced") if "�" in text else flags


def _declared_encoding(content: bytes) -> str | None:
    match = _CHARSET.search(content[:4096])
    if not match:
        return None
    name = match[1].decode("ascii").lower()
    return _WIDER.get(name, name)


def clean(text: str) -> str:
    """Return `text` without control and zero-width characters, Windows codes and odd spaces made plain."""
    return text.translate(_CLEAN)


def parse_markup(content: bytes) -> tuple[etree._Element, tuple[str, ...]]:
    """Return the root of the tree that `content` describes, and flags.

    Entities are never expanded from a DTD and nothing is fetched. Raises UnreadableError `too_large` beyond 64 MiB or
    700,000 elements, `too_deep` where elements are nested more than 2,000 deep, and `no_text` where there is
    no markup at all.
    """
    if len(content) > MAX_BYTES:
        raise UnreadableError(
            "too_large",
            f"The HTML has {len(content) / 2**20:.0f} MiB and the limit is {MAX_BYTES // 2**20} MiB; "
            "split it, or give the main document without its exhibits.",
        )
    elements = content.count(b"<") - content.count(b"</")
    if elements > MAX_ELEMENTS:
        raise UnreadableError(
            "too_large",
            f"The HTML has about {elements:,} elements and the limit is {MAX_ELEMENTS:,}; "
            "split it, or give the main document without its exhibits.",
        )
    text, flags = decode(content)
    # A NUL would end the document for libxml2; a declared encoding would be believed over the one we decoded by.
    text = text.replace("\0", "")
    encoded = _PROLOG.sub("", text, count=1).encode("utf-8", "replace")
    del text
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, no_network=True, remove_pis=True)
    try:
        root = etree.fromstring(encoded, parser)
    except (etree.XMLSyntaxError, etree.ParserError) as error:
        raise UnreadableError("no_text", f"The HTML holds no element that could be read ({error}).") from None
    if root is None:
        raise UnreadableError("no_text", "The HTML holds no element; check that the download is complete.")
    for entry in parser.error_log:
        if "Excessive depth" in entry.message:
            raise UnreadableError(
                "too_deep",
                f"Elements are nested more than 2,000 deep near line {entry.line}; this is no filing that a browser "
                "could show either. Give the document in another format.",
            )
    return root, flags


@dataclass(frozen=True, slots=True)
class Declared:
    """What tag and attributes of one element declare about its look; None where they say nothing. Lengths in points."""

    hidden: bool = False
    block: bool = False
    bold: bool | None = None
    italic: bool | None = None
    underline: bool | None = None
    centered: bool | None = None
    left: float = 0.0
    text_indent: float = 0.0
    gap: bool = False  # an inline element that is set apart from what stands before it
    preformatted: bool = False
    break_before: bool = False
    break_after: bool = False
    superscript: bool = False
    points: float = 0.0


BLOCK_TAGS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "dir",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "html",
        "legend",
        "li",
        "main",
        "menu",
        "nav",
        "ol",
        "option",
        "p",
        "page",
        "pre",
        "section",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "ul",
        "document",
        "text",
        "type",
        "sequence",
        "filename",
        "description",
    ]
)
HEADING_TAGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_BOLD_TAGS = frozenset(("b", "strong", "th", *HEADING_TAGS))
_LENGTH = re.compile(r"(-?\d{0,6}\.?\d{1,6})\s*(pt|px|in|em|rem|cm|mm|%)?")
_POINTS = {"pt": 1.0, "px": 0.75, "in": 72.0, "em": 10.0, "rem": 10.0, "cm": 28.35, "mm": 2.835, "%": 4.0}


_FONT_SIZES = {
    "1": 7.5,
    "2": 10.0,
    "3": 12.0,
    "4": 13.5,
    "5": 18.0,
    "6": 24.0,
    "7": 36.0,
    "+1": 13.5,
    "+2": 18.0,
    "+3": 24.0,
}


def _points(value: str) -> float:
    match = _LENGTH.match(value.strip())
    return float(match[1]) * _POINTS.get(match[2] or "px", 0.75) if match else 0.0


@lru_cache(maxsize=20_000)
def declared(tag: str, style: str, align: str, size: str = "") -> Declared:
    """Return what an element with this tag and these attributes (`size` is that of a FONT element) declares."""
    result = Declared(
        block=tag in BLOCK_TAGS,
        bold=True if tag in _BOLD_TAGS else None,
        italic=True if tag in ("i", "em") else None,
        underline=True if tag == "u" else None,
        centered=True if tag == "center" or align == "center" else False if align in ("left", "right") else None,
        preformatted=tag == "pre",
        superscript=tag == "sup",
        points=_FONT_SIZES.get(size.strip(), 0.0),
    )
    if not style:
        return result
    found = {}
    for part in style[:_MAX_STYLE].lower().split(";"):
        name, _, value = part.partition(":")
        found[name.strip()] = value.strip()
    display = found.get("display", "")
    left = 0.0
    for edge in ("margin", "padding"):
        if shorthand := found.get(edge):
            sides = shorthand.split()
            left += _points(sides[3] if len(sides) == 4 else sides[1] if len(sides) > 1 else sides[0])
        if f"{edge}-left" in found:
            left += _points(found[f"{edge}-left"])
    weight = found.get("font-weight", "")
    slant = found.get("font-style", "")
    line = found.get("text-decoration", "") or found.get("text-decoration-line", "")
    place = found.get("text-align", "")
    before = found.get("page-break-before", found.get("break-before", ""))
    after = found.get("page-break-after", found.get("break-after", ""))
    block = result.block
    if display:
        block = False if display.startswith("inline") and tag not in ("table", "td", "tr") else block
        block = True if display in ("block", "list-item", "flex", "grid") else block
    return replace(
        result,
        hidden=display == "none",
        block=block,
        bold=_is_heavy(weight) if weight else result.bold,
        italic=slant in ("italic", "oblique") if slant else result.italic,
        underline=True if "underline" in line else result.underline,
        centered=place == "center" if place else result.centered,
        left=left,
        text_indent=_points(found["text-indent"]) if "text-indent" in found else 0.0,
        gap=not block and left >= 2.5,
        preformatted=result.preformatted or found.get("white-space") == "pre",
        break_before=before in ("always", "page", "left", "right"),
        break_after=after in ("always", "page", "left", "right"),
        points=_font_points(found.get("font-size", "")) or result.points,
        superscript=result.superscript or found.get("vertical-align") == "super" or _is_raised(found),
    )


def _font_points(value: str) -> float:
    """Return an absolute font size; relative ones say nothing without their surroundings."""
    return _points(value) if value.endswith(("pt", "px", "in", "mm", "cm")) else 0.0


def _is_raised(found: dict[str, str]) -> bool:
    return found.get("position") == "relative" and found.get("top", "").startswith("-")


def _is_heavy(weight: str) -> bool:
    return weight.startswith("bold") or (weight[:3].isdigit() and int(weight[:3]) >= 600)
