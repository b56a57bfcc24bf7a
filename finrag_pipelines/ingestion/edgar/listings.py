"""EDGAR's lists over all companies: daily and full indexes (fixed width or between bars), and the feed of current
filings."""

import re

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from finrag_pipelines.catalog.companies import normal_cik
from finrag_pipelines.ingestion.edgar.errors import MalformedError, TruncatedError, UnexpectedContentError
from finrag_pipelines.ingestion.edgar.json_answers import ACCESSION, is_day
from finrag_pipelines.ingestion.edgar.model import ListedFiling, Listing

_ATOM = "{http://www.w3.org/2005/Atom}"
_COMPACT_DAY = re.compile(r"(\d{4})(\d{2})(\d{2})")
_FEED_FILED = re.compile(r"Filed:\s*(?:</b>)?\s*(\d{4}-\d{2}-\d{2})")
_FEED_CIK = re.compile(r"\((\d{10})\)")


def read_index(url: str, content: bytes) -> Listing:
    """Read a daily or full index, `form.idx` or `master.idx`. A day without filings is an empty listing.

    Lines that cannot be read are passed on beside the others. Raises MalformedError where none can be, or where the
    head is missing.
    """
    if content.lstrip()[:1] == b"<":
        raise UnexpectedContentError(url, "a page came where an index was due")
    head, rule, body = _decoded(content).partition("\n-----")
    if not rule:
        raise TruncatedError(url, "the index has no head, so that it is not known what it lists")
    titles = head.rstrip("\n").rsplit("\n", 1)[-1]
    lines = [line for line in body.splitlines()[1:] if line.strip()]
    found = [_barred(line) if "|" in titles else _fixed_width(line, titles) for line in lines]
    filings = tuple(filing for filing in found if filing)
    if lines and not filings:
        raise MalformedError(url, f"none of its {len(lines)} lines can be read")
    return Listing(filings, tuple(line for line, filing in zip(lines, found, strict=True) if not filing))


def _fixed_width(line: str, titles: str) -> ListedFiling | None:
    # A long name pushes what follows it out of its column: the three last fields hold no blank and are told from there.
    fields = line.rsplit(None, 3)
    if len(fields) != 4:
        return None
    start = titles.find("Company Name")
    form, name = fields[0][:start], fields[0][start:]
    if start < 0 or not form.endswith(" "):
        form, _, name = fields[0].partition("  ")
    return _listed(form, name, fields[1], fields[2], fields[3])


def _barred(line: str) -> ListedFiling | None:
    cik, _, rest = line.partition("|")
    fields = rest.rsplit("|", 3)
    return _listed(fields[1], fields[0], cik, fields[2], fields[3]) if len(fields) == 4 else None


def _listed(form: str, name: str, cik: str, filed: str, path: str) -> ListedFiling | None:
    ten = normal_cik(cik) if cik.strip().isdecimal() else None
    day = _COMPACT_DAY.sub(r"\1-\2-\3", filed.strip(), count=1)
    accession = path.strip().rsplit("/", 1)[-1].removesuffix(".txt")
    if not (ten and is_day(day) and ACCESSION.fullmatch(accession) and form.strip()):
        return None
    return ListedFiling(" ".join(form.split()), name.strip(), ten, day, accession)


def read_feed(url: str, content: bytes) -> Listing:
    """Read a page of the feed of current filings (Atom). A filing with several parties has an entry for each."""
    if content.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        raise UnexpectedContentError(url, "a page came where a feed was due")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise TruncatedError(url, f"the feed is not whole ({error})") from None
    if root.tag != f"{_ATOM}feed":
        raise UnexpectedContentError(url, f"the answer is no feed but {root.tag!r}")
    filings, unreadable = [], []
    for entry in root.iter(f"{_ATOM}entry"):
        listed = _entry(entry)
        if listed:
            filings.append(listed)
        else:
            unreadable.append((entry.findtext(f"{_ATOM}title") or "")[:200])
    if unreadable and not filings:
        raise MalformedError(url, f"none of its {len(unreadable)} entries can be read")
    return Listing(tuple(filings), tuple(unreadable))


def _entry(entry: etree._Element) -> ListedFiling | None:
    text = {name: (entry.findtext(_ATOM + name) or "").strip() for name in ("title", "summary", "id", "updated")}
    category = entry.find(f"{_ATOM}category")
    form = (category.get("term") or "") if category is not None else ""
    filed = _FEED_FILED.search(text["summary"])
    party = text["title"].removeprefix(f"{form} - ")
    ciks = list(_FEED_CIK.finditer(party))
    if not ciks:
        return None
    name = party[: ciks[-1].start()]
    accession = text["id"].rpartition("=")[2]
    return _listed(form, name, ciks[-1][1], filed[1] if filed else text["updated"][:10], accession)


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")
