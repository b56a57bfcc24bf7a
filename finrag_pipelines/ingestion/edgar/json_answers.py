"""EDGAR's answers in JSON: the list of tickers, and what a company has filed."""

import json
import re
from datetime import date
from typing import Any

from finrag_pipelines.catalog.calendars import parse_year_end
from finrag_pipelines.catalog.companies import normal_cik, normal_ticker
from finrag_pipelines.ingestion.edgar.errors import MalformedError, TruncatedError, UnexpectedContentError
from finrag_pipelines.ingestion.edgar.model import Filing, ListedCompany, OlderPage, Submissions

ACCESSION = re.compile(r"\d{10}-\d{2}-\d{6}")
_PAGE_NAME = re.compile(r"CIK\d{10}-submissions-\d{3,6}\.json")


def read_json(url: str, content: bytes) -> Any:
    """Read a body that has to be JSON. Raises UnexpectedContentError for a page, TruncatedError for half a body."""
    if content.lstrip()[:1] == b"<":
        raise UnexpectedContentError(url, "a page came where JSON was due")
    try:
        return json.loads(content)
    except RecursionError:
        raise MalformedError(url, "its JSON is nested too deeply") from None
    except ValueError as error:
        if content.lstrip()[:1] in (b"{", b"["):
            raise TruncatedError(url, f"its JSON ends or breaks off after {len(content)} bytes ({error})") from None
        raise UnexpectedContentError(url, "the answer is no JSON") from None


def read_tickers(url: str, content: bytes) -> dict[str, ListedCompany]:
    """Return the listed companies by ticker, spelled as this project spells tickers (`BRK-B`)."""
    record, found = read_json(url, content), {}
    try:
        for row in record.values():
            ticker, cik = normal_ticker(row["ticker"]), normal_cik(row["cik_str"])
            if ticker and cik:
                found.setdefault(ticker, ListedCompany(ticker, cik, str(row["title"])))
    except (AttributeError, KeyError, TypeError) as error:
        raise MalformedError(url, f"the list of tickers has another shape ({error!r})") from None
    if not found:
        raise MalformedError(url, "the list of tickers is empty")
    return found


def read_submissions(url: str, content: bytes) -> Submissions:
    """Read the first page of what a company has filed."""
    record = read_json(url, content)
    try:
        cik = normal_cik(record["cik"])
        filings = record["filings"]
        if cik is None:
            raise MalformedError(url, "the answer names no CIK")
        older = tuple(OlderPage(page["name"], page["filingFrom"], page["filingTo"]) for page in filings["files"])
        if wrong := [page.name for page in older if not _PAGE_NAME.fullmatch(page.name)]:
            raise MalformedError(url, f"it names an older page {wrong[0]!r}")
        tickers = tuple(ticker for ticker in map(normal_ticker, record["tickers"]) if ticker)
        ends = record.get("fiscalYearEnd")
        year_end = ends if isinstance(ends, str) and parse_year_end(ends) else None
        return Submissions(cik, str(record["name"]), tickers, _filings(url, cik, filings["recent"]), older, year_end)
    except (AttributeError, KeyError, TypeError) as error:
        raise MalformedError(url, f"the submissions have another shape ({error!r})") from None


def read_older_page(url: str, content: bytes, cik: str) -> tuple[Filing, ...]:
    """Read an older page, which holds nothing but the columns."""
    try:
        return _filings(url, cik, read_json(url, content))
    except (AttributeError, KeyError, TypeError) as error:
        raise MalformedError(url, f"the older page has another shape ({error!r})") from None


def _filings(url: str, cik: str, columns: dict[str, list[Any]]) -> tuple[Filing, ...]:
    names = ("accessionNumber", "form", "filingDate", "reportDate", "primaryDocument", "items")
    wanted = [columns[name] for name in names]
    if len({len(column) for column in wanted}) != 1:
        raise MalformedError(url, "its columns differ in length")
    filings = []
    for accession, form, filed, reported, primary, items in zip(*wanted, strict=True):
        if not (ACCESSION.fullmatch(accession) and is_day(filed)):
            raise MalformedError(url, f"a filing has the number {accession!r} and the date {filed!r}")
        filings.append(
            Filing(
                cik,
                accession,
                " ".join(form.split()),
                filed,
                reported if is_day(reported) else None,
                primary or None,
                tuple(item for item in (items or "").split(",") if item),
            )
        )
    return tuple(filings)


def is_day(text: object) -> bool:
    """Tell whether `text` is an ISO date."""
    try:
        return isinstance(text, str) and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
