"""Receiving filings of watched companies: which are new, which documents of them are wanted, and who they say they are.

A filing is known by its primary document, which is received last: what was interrupted is taken up again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from finrag_pipelines.catalog.catalog import ERASED, Catalog, read_catalog
from finrag_pipelines.catalog.companies import company_id_for
from finrag_pipelines.ingestion.edgar.client import Answer, EdgarClient
from finrag_pipelines.ingestion.edgar.errors import (
    DeadlineError,
    EdgarError,
    RateLimitedError,
    UndeclaredAgentError,
)
from finrag_pipelines.ingestion.edgar.model import Filing
from finrag_pipelines.ingestion.receive import Receipt, receive_content
from finrag_pipelines.ingestion.watch_list import WatchedCompany, WatchList
from finrag_pipelines.parsing.parse import Overrides
from finrag_pipelines.storage import Store

# The press release of an 8-K; older filers number it without a dot.
RELEASES = frozenset({"EX-99", "EX-99.1", "EX-99.01"})
_READABLE = (".htm", ".html", ".txt", ".pdf")
# There is no use in asking on after these.
FINAL_ERRORS = (RateLimitedError, UndeclaredAgentError, DeadlineError)


@dataclass(frozen=True)
class WatchedFiling:
    """A filing that is watched, with the company under which it is watched."""

    company: WatchedCompany
    filing: Filing


@dataclass(frozen=True)
class FailedRead:
    """A question that EDGAR did not answer: about a company, or about one of its filings."""

    name: str
    code: str
    message: str


def watched_filings(client: EdgarClient, company: WatchedCompany) -> tuple[WatchedFiling, ...]:
    """Return the filings of a company that are watched, newest first. Raises EdgarError, never fewer of them."""
    cik = company.cik or client.company(company.ticker or "").cik
    return tuple(
        WatchedFiling(company, filing)
        for filing in client.filings(cik, company.since)
        if company.wants(filing.form, filing.filed)
    )


def new_filings(
    store: Store, client: EdgarClient, company: WatchedCompany, retry_rejected: bool = False
) -> tuple[WatchedFiling, ...]:
    """Return those watched filings of a company that the store has not received yet, newest first."""
    is_known = _known(store, client, retry_rejected)
    return tuple(watched for watched in watched_filings(client, company) if not is_known(watched.filing))


def find_new(
    store: Store,
    client: EdgarClient,
    watch_list: WatchList,
    limit: int | None = None,
    retry_rejected: bool = False,
    asked: Callable[[str], None] = lambda name: None,
) -> tuple[tuple[WatchedFiling, ...], tuple[FailedRead, ...]]:
    """Return what is new over all watched companies, oldest first, and which companies could not be asked about.

    With `limit`, the newest so many. After a refusal that holds for all, the companies that are left are not asked.
    """
    found: list[WatchedFiling] = []
    failed: list[FailedRead] = []
    for company in watch_list.companies:
        try:
            found += new_filings(store, client, company, retry_rejected)
        except EdgarError as error:
            failed.append(FailedRead(company.name, error.code, str(error)))
            if isinstance(error, FINAL_ERRORS):
                break
        asked(company.name)
    newest = sorted(found, key=lambda w: (w.filing.filed, w.filing.accession), reverse=True)[:limit]
    return tuple(reversed(newest)), tuple(failed)


def _known(store: Store, client: EdgarClient, retry_rejected: bool) -> Callable[[Filing], bool]:
    catalog = read_catalog(store)
    names = {received.file_name for source in catalog.sources.values() for received in source.received}
    if not retry_rejected:
        names |= {rejection.file_name for rejection in catalog.rejections.values()}

    def is_known(filing: Filing) -> bool:
        return document_name(filing, _primary(filing)) in names or _came_otherwise(catalog, client, filing)

    return is_known


def _came_otherwise(catalog: Catalog, client: EdgarClient, filing: Filing) -> bool:
    """Tell whether the bytes of a filing were fetched before and are a source that came under another name."""
    answer = client.cache.find(client.primary_url(filing))
    return answer is not None and answer.content_sha256 in catalog.source_of_content


def receive_filing(store: Store, client: EdgarClient, watched: WatchedFiling) -> Iterator[Receipt]:
    """Receive the documents of a filing: the press release of an 8-K, then the primary document.

    What cannot be used is a rejection among the receipts. Raises EdgarError where a document cannot be had.
    """
    filing = watched.filing
    if filing.form.removesuffix("/A") == "8-K" and filing.primary_document:
        for document in client.filing_index(filing).documents:
            if document.type in RELEASES and document.name.lower().endswith(_READABLE):
                answer = client.document(document.path)
                yield _receive(store, client, watched, document.name, answer, f"{filing.form} EX-99.1")
    yield _receive(store, client, watched, _primary(filing), client.primary_document(filing), filing.form)


def _receive(
    store: Store, client: EdgarClient, watched: WatchedFiling, name: str, answer: Answer, form: str
) -> Receipt:
    receipt = receive_content(
        store,
        answer.content,
        document_name(watched.filing, name),
        answer.url,
        stated_identity(watched, form),
        watched.company.labels,
    )
    if receipt.source_id or receipt.code == ERASED:
        client.cache.drop_body(answer.content_sha256)
    return receipt


def stated_identity(watched: WatchedFiling, form: str) -> Overrides:
    """Return what EDGAR says of a document: company, form, filing date; of a periodic report also the period's end, and
    the fiscal year's, from which a label follows where the document gives none."""
    filing = watched.filing
    is_periodic = form.startswith(("10-K", "10-Q"))
    return Overrides(
        company=company_id_for(cik=filing.cik, ticker=watched.company.ticker),
        form=form,
        filed=filing.filed,
        period_end=filing.period_of_report if is_periodic else None,
        fiscal_year_end=filing.fiscal_year_end if is_periodic else None,
        cik=filing.cik,
        accession=filing.accession,
    )


def document_name(filing: Filing, name: str) -> str:
    """Return the name under which a document of a filing is received: no two filings share one."""
    return f"{filing.accession}_{name.replace('/', '_')}"


def _primary(filing: Filing) -> str:
    return filing.primary_document or f"{filing.accession}.txt"
