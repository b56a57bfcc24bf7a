"""Word documents, mail and Markdown to a layout, with what their containers say: author, date, subjects, title."""

import email
import email.policy
import re
import zipfile
from collections.abc import Iterator
from email.message import EmailMessage, MIMEPart
from email.utils import getaddresses, parsedate_to_datetime
from io import BytesIO
from itertools import pairwise

from finrag_pipelines.parsing.model import Kind, Layout, UnreadableError
from finrag_pipelines.parsing.readers.assemble import lay_out
from finrag_pipelines.parsing.readers.html_walk import Block, PageBreak, RawCell, RawRow, RawTable, Stream, walk
from finrag_pipelines.parsing.readers.limits import Deadline
from finrag_pipelines.parsing.readers.markup import clean, decode, parse_markup

MAX_TEXT_BYTES = 32 * 1024 * 1024
MAX_UNZIPPED_BYTES = 256 * 1024 * 1024
_MAX_RATIO = 200

_FRONT_MATTER = re.compile(r"\A\s{0,20}---[ \t]*\n(.{0,20000}?)\n---[ \t]*(?:\n|\Z)", re.S)
_FRONT_FIELD = re.compile(r"^([A-Za-z][\w -]{0,40}):[ \t]*(.{0,2000})$")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.{1,2000})$")
_LIST_ITEM = re.compile(r"^[ \t]{0,12}(?:[-*+•][ \t]+)?((?<=[ \t])\S.*|\d{1,3}[.)][ \t]+\S.*)$")
_RULE = re.compile(r"^ {0,3}(?:-[ \t]*){3,}$|^ {0,3}(?:\*[ \t]*){3,}$|^ {0,3}(?:_[ \t]*){3,}$")
_SETEXT = re.compile(r"^ {0,3}(?:=+|-+)[ \t]*$")
_DELIMITER = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_IMAGE = re.compile(r"!\[([^\[\]\n]{0,300})\]\([^()\n]{0,1000}\)")
_LINK = re.compile(r"\[([^\[\]\n]{1,500})\]\(([^()\n]{0,1000})\)")
_BOLD = re.compile(r"\*\*([^*\n]{1,1000})\*\*|__([^_\n]{1,1000})__")
_EMPHASIS = re.compile(r"(?<![*\w])\*([^*\s][^*\n]{0,500})\*(?![*\w])")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!|$%&~<>-])")
_HTML_TABLE = re.compile(r"<table\b", re.I)


def read_markdown(content: bytes, deadline: Deadline | None = None) -> Layout:
    """Read a Markdown document, its front matter into metadata, pipe tables and embedded HTML tables into tables.

    Raises UnreadableError `too_large` beyond 32 MiB, `no_text`, `time_budget`.
    """
    deadline = deadline or Deadline()
    _check_size(content, "Markdown")
    text, flags = decode(content)
    text = clean(text.replace("\r\n", "\n").replace("\r", "\n"))
    metadata = {}
    if match := _FRONT_MATTER.match(text):
        metadata = _front_matter(match[1])
        text = text[match.end() :]
    return lay_out(_markdown_stream(text, deadline), Kind.MARKDOWN, metadata, flags, deadline)


def _check_size(content: bytes, what: str) -> None:
    if len(content) > MAX_TEXT_BYTES:
        raise UnreadableError(
            "too_large",
            f"The {what} has {len(content) / 2**20:.0f} MiB and the limit is {MAX_TEXT_BYTES // 2**20} MiB; split it.",
        )


def _front_matter(block: str) -> dict[str, str]:
    """Return the fields of a front matter; lists (`[a, b]` or indented dashes) are joined by `; `."""
    fields: dict[str, str] = {}
    name = None
    for line in block.split("\n"):
        if match := _FRONT_FIELD.match(line):
            name = match[1].strip().lower()
            value = match[2].strip()
            if value.startswith("[") and value.endswith("]"):
                value = "; ".join(part.strip().strip("'\"") for part in value[1:-1].split(","))
            fields[name] = value.strip("'\"")
        elif name and line.strip().startswith("- "):
            entry = line.strip()[2:].strip().strip("'\"")
            fields[name] = f"{fields[name]}; {entry}" if fields[name] else entry
    return fields


def _block(text: str, bold: bool = False, heading: bool = False, item: bool = False) -> Block:
    block = Block(text)
    block.bold = block.visible if bold else 0
    block.heading = heading
    block.item = item
    return block


def _plain(text: str) -> str:
    """Return Markdown text without its marks."""
    text = _IMAGE.sub(r"\1", text)
    text = _LINK.sub(r"\1", text)
    text = _BOLD.sub(lambda match: match[1] or match[2], text)
    text = _EMPHASIS.sub(r"\1", text)
    return " ".join(_ESCAPED.sub(r"\1", text).replace("`", "").split())


def _markdown_stream(text: str, deadline: Deadline) -> Stream:
    stream = Stream()
    lines = text.split("\n")
    paragraph: list[str] = []

    def close() -> None:
        joined = " ".join(paragraph)
        words = _plain(joined)
        if words:
            inner = joined.strip()
            bold = inner.startswith("**") and inner.endswith("**") and inner.count("**") == 2
            stream.items.append(_block(words, bold=bold))
        paragraph.clear()

    index = 0
    while index < len(lines):
        if index % 5000 == 0:
            deadline.check(f"line {index + 1}")
        line = lines[index]
        if not line.strip():
            close()
        elif "|" in line and index + 1 < len(lines) and "|" in lines[index + 1] and _DELIMITER.match(lines[index + 1]):
            close()
            end = index + 2
            while end < len(lines) and "|" in lines[end] and lines[end].strip():
                end += 1
            stream.items.append(_pipe_table([line, *lines[index + 2 : end]]))
            index = end
            continue
        elif _HTML_TABLE.search(line):
            close()
            end = index
            while end < len(lines) and "</table>" not in lines[end].lower():
                end += 1
            _embedded(stream, "\n".join(lines[index : end + 1]), deadline)
            index = end
        elif match := _HEADING.match(line):
            close()
            if words := _plain(match[2].rstrip("# ")):
                stream.items.append(_block(words, bold=True, heading=True))
        elif paragraph and _SETEXT.match(line):
            words = _plain(" ".join(paragraph))
            paragraph.clear()
            if words:
                stream.items.append(_block(words, bold=True, heading=True))
        elif _RULE.match(line):
            close()
            stream.items.append(PageBreak(certain=False))
        elif match := _LIST_ITEM.match(line):
            close()
            if words := _plain(match[1]):
                stream.items.append(_block(words, item=True))
        elif line.startswith("\f"):
            close()
            stream.items.append(PageBreak(certain=True))
            paragraph.append(line[1:])
        else:
            paragraph.append(line.strip().removeprefix("> "))
        index += 1
    close()
    return stream


def _embedded(stream: Stream, markup: str, deadline: Deadline) -> None:
    """Add the blocks and tables of HTML that stands inside a Markdown document."""
    root, _ = parse_markup(markup.encode("utf-8", "replace"))
    inner = walk(root, deadline)
    stream.items.extend(inner.items)
    stream.tags.extend(inner.tags)


def _cells_of(line: str) -> list[str]:
    line = line.strip().replace("\\|", "\0")
    line = line.removeprefix("|").removesuffix("|")
    return [_plain(cell.replace("\0", "|")) for cell in line.split("|")]


def _pipe_table(lines: list[str]) -> RawTable:
    """Return the raw table of pipe-separated lines. A first column that only counts its rows is pandas' index."""
    rows = [_cells_of(line) for line in lines]
    if _is_counted(rows):
        rows = [row[1:] for row in rows]
    table = RawTable(loose=True)
    for row in rows:
        cells = [RawCell(column, items=[_block(text)] if text else []) for column, text in enumerate(row)]
        table.rows.append(RawRow(cells))
    return table


def _is_counted(rows: list[list[str]]) -> bool:
    """Say whether the first column is an index: no name, and whole numbers that only grow."""
    if len(rows) < 2 or not rows[0] or rows[0][0] or len(rows[0]) < 2:
        return False
    marks = [row[0] for row in rows[1:] if row]
    if not all(mark.isascii() and mark.isdigit() and len(mark) < 6 for mark in marks):
        return False
    return all(int(a) < int(b) for a, b in pairwise(marks))


def read_docx(content: bytes, deadline: Deadline | None = None) -> Layout:
    """Read a Word document; its core properties become metadata.

    unstructured parts it into elements. Raises UnreadableError `not_a_docx`, `zip_bomb`, `damaged`, `no_text`.
    """
    deadline = deadline or Deadline()
    _check_archive(content)
    stream = Stream()
    for item in _docx_items(content, deadline):
        stream.items.append(item)
    return lay_out(stream, Kind.DOCX, _docx_metadata(content), (), deadline)


def _check_archive(content: bytes) -> None:
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise UnreadableError(
            "not_a_docx", f"The file is no complete zip archive ({error}); download or save it again."
        ) from None
    names = {entry.filename for entry in entries}
    if "word/document.xml" not in names or "[Content_Types].xml" not in names:
        raise UnreadableError(
            "not_a_docx", "The zip archive holds no word/document.xml, so it is no Word document; unpack it first."
        )
    size = sum(entry.file_size for entry in entries)
    if size > MAX_UNZIPPED_BYTES or size > _MAX_RATIO * len(content) + 2**20:
        raise UnreadableError(
            "zip_bomb",
            f"The document of {len(content)} bytes unpacks to {size / 2**20:.0f} MiB and was not opened; "
            "save it again without embedded media.",
        )


def _docx_items(content: bytes, deadline: Deadline) -> Iterator[Block | RawTable | PageBreak]:
    from finrag_pipelines.parsing.readers.unstructured_offline import prepare_unstructured

    prepare_unstructured()
    from unstructured.partition.docx import partition_docx

    try:
        elements = partition_docx(file=BytesIO(content), infer_table_structure=True)
    except Exception as error:
        raise UnreadableError(
            "damaged", f"The Word document cannot be opened ({type(error).__name__}: {error}); save it again."
        ) from None
    page = None
    for element in elements:
        number = element.metadata.page_number
        if page is not None and number is not None and number != page:
            yield PageBreak(certain=True)
        page = number if number is not None else page
        if element.category == "Table" and element.metadata.text_as_html:
            root, _ = parse_markup(element.metadata.text_as_html.encode())
            yield from walk(root, deadline).items
            continue
        words = clean(" ".join(element.text.split()))
        if words and element.category != "PageBreak":
            title = element.category == "Title"
            block = _block(words, bold=title, heading=title, item=element.category == "ListItem")
            block.role = {"Header": "header", "Footer": "footer"}.get(element.category, "")
            yield block


def _docx_metadata(content: bytes) -> dict[str, str]:
    from docx import Document

    core = Document(BytesIO(content)).core_properties
    written = core.created or core.modified
    stated = {
        "author": core.author,
        "date": written.date().isoformat() if written else "",
        "modified": core.modified.date().isoformat() if core.modified else "",
        "title": core.title,
        "subject": core.subject,
        "keywords": core.keywords,
        "category": core.category,
    }
    return {name: clean(value).strip() for name, value in stated.items() if value and value.strip()}


def read_email(content: bytes, deadline: Deadline | None = None) -> Layout:
    """Read a mail message: headers into metadata, the body from its plain or its HTML part, whichever says more.

    Raises UnreadableError `too_large`, `no_text`, `time_budget`.
    """
    deadline = deadline or Deadline()
    _check_size(content, "mail message")
    message = email.message_from_bytes(content, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    metadata = _mail_metadata(message)
    body = message.get_body(preferencelist=("html", "plain"))
    stream = Stream()
    if metadata.get("subject"):
        stream.items.append(_block(metadata["subject"], bold=True, heading=True))
    for name in ("from", "to", "cc", "date_header"):
        if metadata.get(name):
            stream.items.append(_block(f"{name.removesuffix('_header').title()}: {metadata[name]}"))
    if body is not None:
        written = _body_text(body)
        if body.get_content_subtype() == "html":
            root, _ = parse_markup(written.encode("utf-8", "replace"))
            inner = walk(root, deadline)
            stream.items.extend(inner.items)
        else:
            stream.items.extend(_markdown_stream(clean(written.replace("\r\n", "\n")), deadline).items)
    return lay_out(stream, Kind.EMAIL, metadata, (), deadline)


def _body_text(part: MIMEPart) -> str:
    try:
        return str(part.get_content())
    except (LookupError, UnicodeDecodeError, KeyError):
        payload = part.get_payload(decode=True)
        return decode(payload)[0] if isinstance(payload, bytes) else ""


def _mail_metadata(message: EmailMessage) -> dict[str, str]:
    """Return author, date (ISO), subject and addresses of a message, and the names of what is attached."""

    def header(name: str) -> str:
        try:
            return clean(" ".join(str(message.get(name, "")).split()))
        except Exception:  # a malformed header must not cost the message
            return ""

    metadata = {"from": header("From"), "to": header("To"), "cc": header("Cc"), "subject": header("Subject")}
    metadata["title"] = metadata["subject"]
    names = getaddresses([metadata["from"]])
    metadata["author"] = (names[0][0] or names[0][1]) if names else ""
    metadata["date_header"] = header("Date")
    try:
        metadata["date"] = parsedate_to_datetime(metadata["date_header"]).date().isoformat()
    except (TypeError, ValueError, IndexError):
        metadata["date"] = ""
    metadata["keywords"] = header("Keywords")
    attached = [part.get_filename() or part.get_content_type() for part in message.iter_attachments()]
    metadata["attachments"] = "; ".join(attached)
    return {name: value for name, value in metadata.items() if value}
