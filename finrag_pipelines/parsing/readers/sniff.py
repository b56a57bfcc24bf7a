"""What a file is, told by its bytes alone: the kind that a reader exists for, or a clear statement of what it is."""

import io
import json
import re
import zipfile

from finrag_pipelines.parsing.model import Kind, UnreadableError

_HEAD = 65_536
_MAX_JSON = 64 * 1024 * 1024

# (prefix, code, what it is): the first that fits names a file that holds no text of a document.
_SIGNATURES = (
    (b"\x89PNG", "image", "a PNG image"),
    (b"\xff\xd8\xff", "image", "a JPEG image"),
    (b"GIF8", "image", "a GIF image"),
    (b"II*\x00", "image", "a TIFF image"),
    (b"MM\x00*", "image", "a TIFF image"),
    (b"BM", "image", "a bitmap image"),
    (b"PAR1", "parquet", "a Parquet table"),
    (b"ARROW1", "arrow", "an Arrow table"),
    (b"SQLite format 3", "database", "an SQLite database"),
    (b"\xd0\xcf\x11\xe0", "legacy_office", "an Office file from before 2007"),
    (b"{\\rtf", "rtf", "a rich text (RTF) file"),
    (b"\x1f\x8b", "archive", "a gzip archive"),
    (b"BZh", "archive", "a bzip2 archive"),
    (b"\xfd7zXZ", "archive", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "archive", "a zstd archive"),
    (b"7z\xbc\xaf", "archive", "a 7z archive"),
    (b"Rar!", "archive", "a RAR archive"),
    (b"\x7fELF", "executable", "a program"),
    (b"MZ", "executable", "a program"),
    (b"ID3", "audio", "a sound recording"),
    (b"OggS", "audio", "a sound recording"),
    (b"%!PS", "postscript", "a PostScript file"),
)
_ADVICE = {
    "image": "scan it to a PDF with text, or file the text",
    "spreadsheet": "export it to PDF or HTML",
    "parquet": "tables without a document are no evidence here",
    "archive": "unpack it and hand in the documents",
    "zip_archive": "unpack it and hand in the documents",
    "legacy_office": "save it as .docx or PDF",
    "presentation": "export it to PDF",
    "rtf": "save it as .docx or PDF",
}

_SUBMISSION = re.compile(
    r"\A\s{0,200}(?:-----BEGIN PRIVACY-ENHANCED MESSAGE-----|<SEC-DOCUMENT>|<SEC-HEADER>|<IMS-DOCUMENT>|<IMS-HEADER>"
    r"|<SUBMISSION>|<DOCUMENT>\s{0,20}<TYPE>)",
    re.IGNORECASE,
)
_HTML = re.compile(
    r"<(?:!doctype\s+html|html|head|body|table|div|p|font|span|title|meta|h[1-6]|center|pre|br|a)\b[^<]{0,2000}>",
    re.IGNORECASE,
)
_MAIL_HEADER = re.compile(r"^([A-Za-z][A-Za-z-]{1,40}):[ \t]?(.*)$")
_MAIL_MARKS = frozenset({"message-id", "mime-version", "received", "return-path", "content-type", "delivered-to"})
_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)
_TABLE_RULE = re.compile(r"^\|?[ ]{0,3}:?-{3,}:?[ ]{0,3}\|", re.MULTILINE)
_MARKDOWN_INLINE = re.compile(r"\*\*[^*\n]{1,200}\*\*|!?\[[^\]\n]{0,200}\]\([^)\s]{1,500}\)")


def sniff(content: bytes) -> Kind:
    """Return what `content` is. Raises UnreadableError where no reader exists for it; its code names what it is
    (empty_file, image, spreadsheet, zip_archive, parquet, unknown_binary, json_no_transcript, xml_no_document, …)."""
    if not content.strip():
        raise UnreadableError("empty_file", "the file is empty: nothing to read; fetch it again")
    if b"%PDF-" in content[:1024]:
        return Kind.PDF
    if content[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return _zip_kind(content)
    for prefix, code, what in _SIGNATURES:
        if content.startswith(prefix):
            raise _unreadable(code, what)
    if content[:4] == b"RIFF" or content[4:8] == b"ftyp":
        raise _unreadable("media", "an image, sound or film")
    if content[257:262] == b"ustar":
        raise _unreadable("archive", "a tar archive")
    head = _head_text(content)
    stripped = head.lstrip("\ufeff \t\r\n\x0c")
    if _SUBMISSION.match(stripped):
        return Kind.SUBMISSION
    if stripped[:1] in ("{", "["):
        json_kind = _json_kind(content)
        if json_kind:
            return json_kind
    if stripped.startswith("<"):
        return _markup_kind(stripped)
    if _is_mail(stripped):
        return Kind.EMAIL
    if len(_HTML.findall(head[:20_000])) >= 5:
        return Kind.HTML
    return Kind.MARKDOWN if _is_markdown(head) else Kind.TEXT


def _unreadable(code: str, what: str) -> UnreadableError:
    return UnreadableError(code, f"this is {what}, not a document: {_ADVICE.get(code, 'hand in the document itself')}")


def _zip_kind(content: bytes) -> Kind:
    try:
        names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise UnreadableError(
            "damaged_zip", f"this is a zip container that cannot be opened ({error}): truncated? fetch it again"
        ) from error
    if "word/document.xml" in names:
        return Kind.DOCX
    if any(name.startswith("xl/") for name in names):
        raise _unreadable("spreadsheet", "a spreadsheet (xlsx)")
    if any(name.startswith("ppt/") for name in names):
        raise _unreadable("presentation", "a presentation (pptx)")
    raise _unreadable("zip_archive", f"a zip archive of {len(names)} files")


def _head_text(content: bytes) -> str:
    """Return the first characters as text. Raises UnreadableError where the bytes are no text in any encoding."""
    head = content[:_HEAD]
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return head.decode("utf-16", errors="replace")
    controls = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in head)
    if controls > len(head) // 20:
        raise UnreadableError(
            "unknown_binary", "this is a binary file of an unknown kind, not a document: hand in PDF, HTML or text"
        )
    return head.decode("utf-8", errors="replace")


def _json_kind(content: bytes) -> Kind | None:
    """Return JSON_TRANSCRIPT, or None for text that only looks like JSON."""
    if len(content) > _MAX_JSON:
        raise UnreadableError("json_too_large", f"this is JSON of {len(content)} bytes, too large for a transcript")
    try:
        value = json.loads(content)
    except RecursionError as error:
        raise UnreadableError("json_no_transcript", "this is JSON nested too deeply for a transcript") from error
    except (ValueError, UnicodeDecodeError):
        if _is_json(content.split(b"\n", 1)[0]):
            raise UnreadableError(
                "json_no_transcript", "these are JSON lines, not a document: hand in the document"
            ) from None
        if re.match(rb'\s*[\[{]\s*["\[{]', content[:2000]):
            raise UnreadableError(
                "damaged_json", "this is JSON that cannot be read: truncated? fetch it again"
            ) from None
        return None
    if _holds_turns(value):
        return Kind.JSON_TRANSCRIPT
    raise UnreadableError(
        "json_no_transcript", "this is JSON without speakers and their words, so no transcript: hand in the document"
    )


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False


_SPEAKER_KEYS = frozenset({"speaker", "name", "speaker_name"})
_SPEECH_KEYS = frozenset({"text", "speech", "content", "transcript", "paragraphs", "remarks"})


def _holds_turns(value: object, depth: int = 0) -> bool:
    """Tell whether a JSON value holds, near its top, a list of turns: records with a speaker and words."""
    if depth > 4:
        return False
    if isinstance(value, dict):
        keys = {str(key).lower() for key in value}
        if keys & _SPEAKER_KEYS and keys & _SPEECH_KEYS:
            return True
        if isinstance(value.get("transcript"), str) and keys & {
            "symbol",
            "ticker",
            "quarter",
            "year",
            "date",
            "company",
        }:
            return True
        return any(_holds_turns(child, depth + 1) for child in list(value.values())[:50])
    return isinstance(value, list) and any(_holds_turns(child, depth + 1) for child in value[:20])


_HTML_ROOTS = frozenset(["html", "body", "div", "p", "table", "font", "center", "span", "head"])


def _markup_kind(head: str) -> Kind:
    root = re.search(r"<([A-Za-z][\w:.-]{0,60})", head)
    if _HTML.search(head) and not (head.startswith("<?xml") and root and root[1].lower() not in _HTML_ROOTS):
        return Kind.HTML
    if head.startswith("<?xml") or re.match(r"<[A-Za-z][\w:.-]{0,60}[\s>/]", head):
        if re.search(r"<(?:error|code)>", head[:500], re.IGNORECASE):
            raise UnreadableError(
                "http_error_page", "this is a server's error answer (XML), not a document: fetch the document again"
            )
        raise UnreadableError("xml_no_document", "this is XML data, not a document: hand in its HTML or text form")
    return Kind.TEXT


def _is_mail(head: str) -> bool:
    """Tell whether the text opens with mail headers: only such lines before a blank one, and a sender."""
    names: set[str] = set()
    sender = ""
    for line in head.splitlines()[:200]:
        if not line.strip():
            break
        if line[0] in " \t":
            continue
        header = _MAIL_HEADER.match(line)
        if header is None:
            return False
        names.add(header[1].lower())
        if header[1].lower() == "from":
            sender = header[2]
    return bool(names & _MAIL_MARKS and names & {"from", "subject"}) or (
        "@" in sender and bool(names & {"to", "subject"})
    )


def _is_markdown(head: str) -> bool:
    headings = len(_HEADING.findall(head))
    return bool(_TABLE_RULE.search(head)) or headings >= 2 or (headings == 1 and bool(_MARKDOWN_INLINE.search(head)))
