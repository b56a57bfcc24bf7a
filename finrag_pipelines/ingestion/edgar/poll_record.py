"""What the newest polls of EDGAR found, kept so that `finrag status` can say it. No text of a document is in it."""

import json
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime

from finrag_pipelines.ingestion.edgar.poll import Polled
from finrag_pipelines.storage import Store, canonical_json, write_file

_PATH = ("polls", "edgar.json")


@dataclass(frozen=True)
class PollRecord:
    """One poll: who ran it, when (UTC), how many companies answered, which sources came of it, how many documents were
    rejected, and the questions without an answer with their codes."""

    by: str
    at: str = ""
    companies: int = 0
    sources: tuple[str, ...] = ()
    rejected: int = 0
    unanswered: dict[str, str] = field(default_factory=dict)

    def with_round(self, polled: Polled) -> "PollRecord":
        """Return the record with what a round brought of one company added."""
        return replace(
            self,
            companies=self.companies + (polled.is_done and not polled.unanswered),
            sources=tuple(sorted({*self.sources, *polled.source_ids})),
            rejected=self.rejected + sum(receipt.source_id is None for receipt in polled.receipts),
            unanswered={**self.unanswered, **{read.name: read.code for read in polled.unanswered}},
        )


@dataclass(frozen=True)
class Polls:
    """The newest poll, and the newest one that brought something; None where there was none yet."""

    newest: PollRecord | None = None
    with_news: PollRecord | None = None


def record_poll(store: Store, poll: PollRecord) -> None:
    """Keep `poll` as the newest one, dated now."""
    dated = replace(poll, at=datetime.now(UTC).isoformat(timespec="seconds"))
    with store.lock("edgar_polls"):
        kept = Polls(dated, dated if dated.sources else read_polls(store).with_news)
        write_file(store.path(*_PATH), canonical_json(asdict(kept)))


def read_polls(store: Store) -> Polls:
    """Read what the newest polls found. A damaged file counts as none: the next poll writes it anew."""
    try:
        record = json.loads(store.path(*_PATH).read_bytes())
        return Polls(_poll(record["newest"]), _poll(record["with_news"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return Polls()


def _poll(record: dict | None) -> PollRecord | None:
    return None if record is None else PollRecord(**{**record, "sources": tuple(record["sources"])})
