"""EDGAR full-submission text files: the SGML header, the documents inside, and the ones that are the filing's text.

The readers of the documents themselves are in html.py and plaintext.py.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from finrag_pipelines.parsing.model import Kind, Layout, UnreadableError
from finrag_pipelines.parsing.readers.limits import Deadline

_DOCUMENT = re.compile(rb"<DOCUMENT>", re.IGNORECASE)
_DOCUMENT_END = re.compile(rb"</DOCUMENT>", re.IGNORECASE)
_TAG = re.compile(rb"<(TYPE|SEQUENCE|FILENAME|DESCRIPTION)>([^\r\n<]*)", re.IGNORECASE)
_TEXT = re.compile(rb"<TEXT>", re.IGNORECASE)
_TEXT_END = re.compile(rb"</TEXT>", re.IGNORECASE)
_WRAPPER = re.compile(rb"\A\s*<(XBRL|PDF|XML|JSON|R)>\s*|\s*</(?:XBRL|PDF|XML|JSON|R)>\s*\Z", re.IGNORECASE)
_HTML = re.compile(rb"<(?:html|!doctype\s+html|body|div|p|font|table\s[^>]*width)\b", re.IGNORECASE)
_FIELD = re.compile(r"^\s*(?:<([A-Z][A-Z0-9-]+)>|([A-Z][A-Z0-9 ./()-]{1,60}):)[ \t]*(.*)$")
_PARTY = frozenset(
    {
        "FILER",
        "ISSUER",
        "REPORTING-OWNER",
        "SUBJECT COMPANY",
        "SUBJECT-COMPANY",
        "FILED BY",
        "FILED-BY",
        "DEPOSITOR",
        "SERIAL COMPANY",
    }
)

# Names of header fields, in both spellings of EDGAR, and the key under which they are handed on.
_FIELDS = {
    "ACCESSION NUMBER": "accession",
    "ACCESSION-NUMBER": "accession",
    "CONFORMED SUBMISSION TYPE": "form",
    "CONFORMED PERIOD OF REPORT": "period_of_report",
    "PERIOD": "period_of_report",
    "FILED AS OF DATE": "filed",
    "FILING-DATE": "filed",
    "COMPANY CONFORMED NAME": "company_name",
    "CONFORMED-NAME": "company_name",
    "CENTRAL INDEX KEY": "cik",
    "CIK": "cik",
    "STANDARD INDUSTRIAL CLASSIFICATION": "sic",
    "ASSIGNED-SIC": "sic",
    "IRS NUMBER": "irs_number",
    "EIN": "irs_number",
    "STATE OF INCORPORATION": "state_of_incorporation",
    "STATE-OF-INCORPORATION": "state_of_incorporation",
    "FISCAL YEAR END": "fiscal_year_end",
    "FISCAL-YEAR-END": "fiscal_year_end",
    "SEC FILE NUMBER": "file_number",
    "FILE-NUMBER": "file_number",
}
_BINARY = frozenset({"GRAPHIC", "ZIP", "EXCEL", "XML", "JSON", "COVER"})


@dataclass(frozen=True)
class SubmissionDocument:
    """One document of a submission as filed: its type (`10-K`, `EX-99.1`), place, names and bytes."""

    type: str
    sequence: str
    filename: str
    description: str
    content: bytes


@dataclass(frozen=True)
class Submission:
    """A full submission: header fields as strings (dates in ISO form, `cik` with ten digits) and documents in order."""

    metadata: dict[str, str]
    documents: tuple[SubmissionDocument, ...]


def split_submission(content: bytes) -> Submission:
    """Split a full-submission text file. Raises UnreadableError `submission_empty` where it holds no document.

    `metadata` holds, as far as stated: company_name, cik, form, period_of_report, filed, accession, fiscal_year_end
    (`1231`), sic, irs_number, state_of_incorporation, file_number, former_names and items (joined by `; `), filers.
    """
    first = _DOCUMENT.search(content)
    if first is None:
        raise UnreadableError(
            "submission_empty",
            "The submission holds a header and no <DOCUMENT>; fetch the complete .txt file of the filing.",
        )
    documents: list[SubmissionDocument] = []
    position = first.start()
    while (match := _DOCUMENT.search(content, position)) is not None:
        closing = _DOCUMENT_END.search(content, match.end())
        following = _DOCUMENT.search(content, match.end())
        end = min(closing.start() if closing else len(content), following.start() if following else len(content))
        documents.append(_document(content[match.end() : end]))
        position = end
    return Submission(_header(content[: first.start()]), tuple(documents))


def _document(block: bytes) -> SubmissionDocument:
    opening = _TEXT.search(block)
    head = block[: opening.start()] if opening else block[:2000]
    tags = {match[1].upper(): match[2].decode("latin-1").strip() for match in _TAG.finditer(head)}
    body = block[opening.end() :] if opening else block[len(head) :]
    ends = [match.start() for match in _TEXT_END.finditer(body)]
    if ends:
        body = body[: ends[-1]]
    return SubmissionDocument(
        type=tags.get(b"TYPE", ""),
        sequence=tags.get(b"SEQUENCE", ""),
        filename=tags.get(b"FILENAME", ""),
        description=tags.get(b"DESCRIPTION", ""),
        content=body,
    )


def _header(block: bytes) -> dict[str, str]:
    """Read the SGML header: the first company that the filing is about, not who else signed it."""
    found: dict[str, str] = {}
    filers: list[str] = []
    items: list[str] = []
    former: list[str] = []
    party, primary = "", ""
    company = ""
    for line in block.decode("latin-1").splitlines():
        match = _FIELD.match(line)
        if match is None:
            continue
        name, value = (match[1] or match[2]).strip(), match[3].strip()
        if name in _PARTY and not value:
            party = name
            if not primary or (
                name.startswith(("SUBJECT", "ISSUER")) and not primary.startswith(("SUBJECT", "ISSUER"))
            ):
                primary, found = name, {k: v for k, v in found.items() if k not in _OF_COMPANY}
                company = ""
            elif name == primary:
                primary, party = primary, "second"
            continue
        if name == "ITEM INFORMATION" or (match[1] and name == "ITEMS"):
            items.append(value)
        elif name in ("FORMER CONFORMED NAME", "FORMER-CONFORMED-NAME"):
            former.append(value)
        if name in ("COMPANY CONFORMED NAME", "CONFORMED-NAME"):
            filers.append(value)
        key = "form" if match[1] and name == "TYPE" else _FIELDS.get(name)
        if key is None or not value:
            continue
        if key in _OF_COMPANY and party and party != primary:
            continue
        found.setdefault(key, _tidy(key, value))
    del company
    for key, values in (("items", items), ("former_names", former), ("filers", filers if len(filers) > 1 else [])):
        if values:
            found[key] = "; ".join(dict.fromkeys(values))
    return found


_OF_COMPANY = frozenset(
    {"company_name", "cik", "sic", "irs_number", "state_of_incorporation", "fiscal_year_end", "file_number"}
)


def _tidy(key: str, value: str) -> str:
    if key in ("filed", "period_of_report") and re.fullmatch(r"(?:19|20)\d{6}", value):
        return f"{value[:4]}-{value[4:6]}-{value[6:]}"
    if key == "cik" and value.isdigit():
        return value.zfill(10)
    return value


def belongs_to_text(document: SubmissionDocument, form: str) -> bool:
    """Say whether an exhibit is part of the filing's own text: an 8-K's press release, a 10-K's annual report."""
    exhibit = document.type.upper()
    base = form.upper().split("/")[0]
    if base in ("8-K", "6-K", "8-K12B"):
        return exhibit.startswith("EX-99")
    if base.startswith(("10-K", "10K")):
        return exhibit == "EX-13" or exhibit.startswith("EX-13.")
    return False


def read_submission(content: bytes, deadline: Deadline | None = None) -> Layout:
    """Return the layout of a submission: its primary document, and the exhibits that belong to its text, in order.

    `metadata` is the SGML header; `flags` name what was joined (`joined:EX-99.1`) and what was left out
    (`left_out:EX-10.1`). Raises UnreadableError.
    """
    submission = split_submission(content)
    form = submission.metadata.get("form") or submission.documents[0].type
    primary = next(
        (i for i, d in enumerate(submission.documents) if d.type.upper() == form.upper() and not _is_binary(d)), None
    )
    if primary is None:
        primary = next((i for i, d in enumerate(submission.documents) if not _is_binary(d)), None)
    if primary is None:
        raise UnreadableError(
            "submission_binary",
            f"None of the {len(submission.documents)} documents of the submission is text; ingest the document itself.",
        )
    layouts: list[Layout] = []
    names: list[str] = []
    flags: list[str] = []
    for index, document in enumerate(submission.documents):
        name = document.type or document.filename or str(index + 1)
        if index != primary and (_is_binary(document) or not belongs_to_text(document, form)):
            flags.append(f"left_out:{name}")
            continue
        try:
            layouts.append(_read(document, deadline))
            names.append(name)
        except UnreadableError as error:
            if index == primary:
                raise
            flags.append(f"left_out:{name}:{error.code}")
            continue
        if index != primary:
            flags.append(f"joined:{name}")
    metadata = dict(submission.metadata)
    metadata.setdefault("form", form)
    joined = join_layouts(layouts, names)
    return replace(joined, kind=Kind.SUBMISSION, metadata=joined.metadata | metadata, flags=(*joined.flags, *flags))


def _is_binary(document: SubmissionDocument) -> bool:
    if document.type.upper().split(".")[0] in _BINARY or document.type.upper().startswith(("EX-101", "EX-27")):
        return True
    head = document.content.lstrip()[:40].lower()
    return head.startswith((b"begin 6", b"<pdf>", b"%pdf", b"begin 7")) or b"\x00\x00" in document.content[:2000]


def _read(document: SubmissionDocument, deadline: Deadline | None) -> Layout:
    body = document.content
    for _ in range(2):
        body = _WRAPPER.sub(b"", body)
    if _HTML.search(body[:6000]):
        from finrag_pipelines.parsing.readers.html import read_html

        return read_html(body, deadline)
    from finrag_pipelines.parsing.readers.plaintext import read_text

    return read_text(body, deadline)


def join_layouts(layouts: Sequence[Layout], names: Sequence[str]) -> Layout:
    """Join layouts into one, in order, each moved behind the one before it; pages are counted on. `names` says what
    each of them is."""
    if len(layouts) == 1:
        return layouts[0]
    texts: list[str] = []
    offset = page_offset = table_offset = 0
    joined = Layout("", layouts[0].kind, (), metadata=dict(layouts[0].metadata))
    for layout, name in zip(layouts, names, strict=True):
        moved = _moved(layout, offset, page_offset, table_offset)
        joined = replace(
            joined,
            elements=joined.elements + moved.elements,
            pages=joined.pages + moved.pages,
            tables=joined.tables + moved.tables,
            facts=joined.facts + moved.facts,
            anchors=joined.anchors + moved.anchors,
            flags=joined.flags + moved.flags,
            joined=(*joined.joined, (name, offset)) if offset else (),
        )
        texts.append(layout.text.rstrip("\n") + "\n\n")
        offset += len(texts[-1])
        page_offset += len(layout.pages)
        table_offset += len(layout.tables)
    return replace(joined, text="".join(texts))


def _moved(layout: Layout, by: int, pages: int, tables: int) -> Layout:
    return replace(
        layout,
        elements=tuple(
            replace(
                e,
                start=e.start + by,
                end=e.end + by,
                page_index=None if e.page_index is None else e.page_index + pages,
                table=None if e.table is None else e.table + tables,
            )
            for e in layout.elements
        ),
        pages=tuple(
            replace(p, index=p.index + pages, start=p.start + by, end=min(p.end, len(layout.text.rstrip("\n"))) + by)
            for p in layout.pages
        ),
        tables=tuple(
            replace(
                t,
                start=t.start + by,
                end=t.end + by,
                rows=tuple(
                    replace(
                        r,
                        start=r.start + by,
                        end=r.end + by,
                        cells=tuple(replace(c, start=c.start + by, end=c.end + by) for c in r.cells),
                    )
                    for r in t.rows
                ),
            )
            for t in layout.tables
        ),
        facts=tuple(
            f if f.start is None or f.end is None else replace(f, start=f.start + by, end=f.end + by)
            for f in layout.facts
        ),
        anchors=tuple((text, at + by) for text, at in layout.anchors),
    )
