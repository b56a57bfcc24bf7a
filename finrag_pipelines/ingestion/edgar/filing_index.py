"""The index page of a filing: which documents it has, of which type."""

import re
from typing import Any

from finrag_pipelines.ingestion.edgar.errors import MalformedError
from finrag_pipelines.ingestion.edgar.json_answers import ACCESSION, is_day
from finrag_pipelines.ingestion.edgar.model import FiledDocument, FilingIndex

_FORM = re.compile(r"^\s*Form\s+(\S[^\n]{0,40})")


def read_filing_index(url: str, content: bytes) -> FilingIndex:
    """Read the index page of a filing. Raises MalformedError where it lists no document."""
    from lxml import html

    try:
        root = html.document_fromstring(content)
    except (ValueError, html.etree.ParserError):
        raise MalformedError(url, "the index page of the filing is empty") from None
    documents = [document for row in root.iter("tr") if (document := _document(row))]
    found = ACCESSION.search(_text(root.xpath("//*[@id='secNum']")))
    if not documents or not found:
        raise MalformedError(url, "the page names no accession number or lists no document")
    form = _FORM.search(_text(root.xpath("//*[@id='formName']/strong")))
    facts = _facts(root)
    return FilingIndex(
        found[0],
        form[1].strip() if form else documents[0].type,
        _day(facts.get("Filing Date")),
        _day(facts.get("Period of Report")),
        tuple(documents),
    )


def _document(row: Any) -> FiledDocument | None:
    cells = row.findall("td")
    links = [a.get("href") or "" for a in row.iter("a")]
    if len(cells) != 5 or not links:
        return None
    sequence, description, _, kind, size = (" ".join(cell.text_content().split()) for cell in cells)
    path = links[0].partition("?doc=")[2] or links[0]  # an inline-XBRL document is linked through a viewer
    if not path.startswith("/Archives/") or ".." in path:
        return None
    return FiledDocument(
        sequence, description, path.rsplit("/", 1)[-1], kind, path, int(size) if size.isdecimal() else None
    )


def _facts(root: Any) -> dict[str, str]:
    heads = root.xpath("//*[@class='infoHead']")
    return {
        " ".join(head.text_content().split()): " ".join(head.getnext().text_content().split())
        for head in heads
        if head.getnext() is not None
    }


def _text(nodes: list[Any]) -> str:
    return " ".join(nodes[0].text_content().split()) if nodes else ""


def _day(text: str | None) -> str | None:
    return text if is_day(text) else None
