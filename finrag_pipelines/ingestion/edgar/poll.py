"""One round over watched companies: what is new is received; what EDGAR does not answer is told, not passed over."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from finrag_pipelines.ingestion.edgar.client import EdgarClient
from finrag_pipelines.ingestion.edgar.errors import DeadlineError, EdgarError
from finrag_pipelines.ingestion.edgar.filings import FINAL_ERRORS, FailedRead, new_filings, receive_filing
from finrag_pipelines.ingestion.receive import Receipt
from finrag_pipelines.ingestion.watch_list import WatchedCompany
from finrag_pipelines.storage import Store


@dataclass(frozen=True)
class Polled:
    """What a round brought of one company.

    `is_done` is False where the round ended before the company did; the next one has to begin with it.
    """

    name: str
    receipts: tuple[Receipt, ...]
    unanswered: tuple[FailedRead, ...]
    is_done: bool

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The sources that are new or have new bytes, sorted."""
        return tuple(sorted({r.source_id for r in self.receipts if r.source_id and r.is_new}))


def poll(store: Store, client: EdgarClient, companies: Sequence[WatchedCompany]) -> Iterator[Polled]:
    """Receive what is new of each company in turn, oldest filings first, until the client's time is over or EDGAR
    wants no more questions."""
    for company in companies:
        receipts: list[Receipt] = []
        unanswered: list[FailedRead] = []
        is_done = True
        try:
            for watched in reversed(new_filings(store, client, company)):
                try:
                    for receipt in receive_filing(store, client, watched):
                        receipts.append(receipt)
                except FINAL_ERRORS:
                    raise
                except EdgarError as error:  # one filing must not hold up those after it
                    unanswered.append(FailedRead(watched.filing.accession, error.code, str(error)))
        except EdgarError as error:
            is_done = not isinstance(error, FINAL_ERRORS)
            if not isinstance(error, DeadlineError):
                unanswered.append(FailedRead(company.name, error.code, str(error)))
        yield Polled(company.name, tuple(receipts), tuple(unanswered), is_done)
        if not is_done:
            return


def beginning_with(companies: Sequence[WatchedCompany], name: str | None) -> tuple[WatchedCompany, ...]:
    """Return the companies in a circle, from the one called `name` on, or from the first that would come after it."""
    at = next((i for i, company in enumerate(companies) if name is not None and company.name >= name), 0)
    return (*companies[at:], *companies[:at])
