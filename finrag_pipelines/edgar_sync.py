"""From watched companies to a published index: what `finrag edgar sync` does, apart from printing."""

import time
from dataclasses import dataclass

from finrag_pipelines.commands import IngestReport, Progress, Skipped, bring_in
from finrag_pipelines.ingestion.edgar.client import EdgarClient
from finrag_pipelines.ingestion.edgar.errors import EdgarError
from finrag_pipelines.ingestion.edgar.filings import FINAL_ERRORS, WatchedFiling, find_new, receive_filing
from finrag_pipelines.ingestion.edgar.poll_record import PollRecord, record_poll
from finrag_pipelines.ingestion.edgar.settings import edgar_settings
from finrag_pipelines.ingestion.receive import Receipt
from finrag_pipelines.ingestion.watch_list import WatchList
from finrag_pipelines.storage import Store


@dataclass(frozen=True)
class FoundFiling:
    """A new filing of a watched company, and the sources it became; none in a dry run or where it was left out."""

    company: str
    form: str
    filed: str
    period_of_report: str | None
    accession: str
    url: str
    source_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class SyncReport:
    """What a sync did. `unanswered` are the questions that EDGAR did not answer: about them nothing is known.

    `ingest` is None in a dry run.
    """

    companies: int
    filings: tuple[FoundFiling, ...]
    unanswered: tuple[Skipped, ...]
    dry_run: bool
    ingest: IngestReport | None = None


def sync_filings(
    store: Store,
    watch_list: WatchList,
    progress: Progress,
    limit: int | None = None,
    dry_run: bool = False,
    retry_rejected: bool = False,
) -> SyncReport:
    """Receive the new filings of the watched companies and publish an index of all that is ready.

    What EDGAR does not answer is reported and does not stop the rest. Raises MissingUserAgentError.
    """
    started = time.monotonic()
    found: list[FoundFiling] = []
    receipts: list[Receipt] = []
    with EdgarClient(store, edgar_settings(watch_list.user_agent)) as client:
        with progress.track("asking EDGAR", len(watch_list.companies)) as advance:
            new, failed = find_new(store, client, watch_list, limit, retry_rejected, advance)
        unanswered = [Skipped(read.name, read.code, read.message) for read in failed]
        with progress.track("receiving filings", 0 if dry_run else len(new)) as advance:
            for watched in new:
                mine: list[Receipt] = []
                try:
                    for receipt in () if dry_run else receive_filing(store, client, watched):
                        mine.append(receipt)
                except EdgarError as error:
                    unanswered.append(Skipped(watched.filing.accession, error.code, str(error)))
                    if isinstance(error, FINAL_ERRORS):
                        receipts += mine
                        break
                receipts += mine
                found.append(_found(client, watched, mine))
                advance(f"{watched.company.name} {watched.filing.form} {watched.filing.filed}")
    if not dry_run:
        record_poll(store, _record(len(watch_list.companies) - len(failed), receipts, unanswered))
    ingest = None if dry_run else bring_in(store, receipts, [], progress, started)
    return SyncReport(len(watch_list.companies), tuple(found), tuple(unanswered), dry_run, ingest)


def _record(answered: int, receipts: list[Receipt], unanswered: list[Skipped]) -> PollRecord:
    return PollRecord(
        "finrag edgar sync",
        companies=answered,
        sources=tuple(sorted({r.source_id for r in receipts if r.source_id and r.is_new})),
        rejected=sum(receipt.source_id is None for receipt in receipts),
        unanswered={missed.path: missed.code for missed in unanswered},
    )


def _found(client: EdgarClient, watched: WatchedFiling, receipts: list[Receipt]) -> FoundFiling:
    filing = watched.filing
    return FoundFiling(
        watched.company.name,
        filing.form,
        filing.filed,
        filing.period_of_report,
        filing.accession,
        client.primary_url(filing),
        tuple(receipt.source_id for receipt in receipts if receipt.source_id),
    )
