"""Sensors: a folder and EDGAR are watched for new bytes of sources; automation sends what changed through its chain.

Discovery receives, adds partitions, reports hashes, and launches nothing. Observation reports what was received by
other ways, and picks up what was left behind.
"""

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dagster import (
    AssetSelection,
    AutomationConditionSensorDefinition,
    DagsterRunStatus,
    DefaultSensorStatus,
    RunsFilter,
    SensorEvaluationContext,
    SensorResult,
    SkipReason,
    sensor,
)

from finrag_pipelines.catalog.catalog import Source, read_catalog
from finrag_pipelines.defs.assets import FILING_CHAIN
from finrag_pipelines.defs.jobs import ingest_filings
from finrag_pipelines.defs.observation import chain_request, newest_hash, observation_of
from finrag_pipelines.defs.partitions import SOURCES
from finrag_pipelines.defs.resources import StoreResource
from finrag_pipelines.ingestion.folder import find_documents
from finrag_pipelines.ingestion.watch_list import WatchedCompany, read_watch_list, watch_list_path
from finrag_pipelines.storage import Store, project_root

# Dagster ends a sensor's tick after 60 s. The cursor keeps what was done, and the next tick goes on from there.
DEADLINE_SECONDS = 40.0
# Automation, which ticks twice a minute, goes first: both would send the same source on.
PATIENCE_TICKS = 3


def watched_folder() -> Path:
    """Return the folder that is watched for documents: FINRAG_INBOX, or `data/inbox` in the project."""
    return Path(os.environ.get("FINRAG_INBOX") or project_root() / "data" / "inbox")


@sensor(
    minimum_interval_seconds=30,
    default_status=DefaultSensorStatus.STOPPED,
    description="Receives new and changed files of the watched folder and reports their hashes, by which the chains of "
    "their sources materialize. A folder that cannot be read is an error, never an empty folder.",
)
def folder_discovery(context: SensorEvaluationContext, store: StoreResource) -> SensorResult | SkipReason:
    """Receive what changed in the watched folder since the last tick."""
    from finrag_pipelines.ingestion.receive import receive_file

    folder = watched_folder()
    if not folder.is_dir():
        return SkipReason(f"{folder} does not exist; create it, or set FINRAG_INBOX to the folder to watch")
    opened, started = store.open(), time.monotonic()
    seen = _cursor(context.cursor)
    arrived: set[str] = set()
    for path in find_documents([folder]):
        if time.monotonic() - started > DEADLINE_SECONDS:
            break
        status = path.stat()
        mark = f"{status.st_mtime_ns}:{status.st_size}"
        if seen.get(str(path)) == mark:
            continue
        receipt = receive_file(opened, path)
        seen[str(path)] = mark
        if receipt.source_id and receipt.is_new:
            arrived.add(receipt.source_id)
        elif receipt.message:
            context.log.warning(f"left out: {receipt.code}: {receipt.path}")
    return _sent_on(opened, arrived, json.dumps(seen, sort_keys=True))


def _sent_on(store: Store, source_ids: set[str], cursor: str, nothing: str | None = None) -> SensorResult:
    """Add the partitions of sources that arrived and report their bytes: by that their chains materialize."""
    catalog = read_catalog(store)
    sources = [catalog.source(source_id) for source_id in sorted(source_ids)]
    return SensorResult(
        dynamic_partitions_requests=[SOURCES.build_add_request(sorted(source_ids))] if sources else [],
        asset_events=[observation_of(source) for source in sources],
        cursor=cursor,
        skip_reason=None if sources else nothing,
    )


def _cursor(cursor: str | None) -> dict[str, str]:
    try:
        return dict(json.loads(cursor or "{}"))
    except ValueError:
        return {}  # a cursor of another layout: every file is looked at again, which changes nothing


@sensor(
    minimum_interval_seconds=600,
    default_status=DefaultSensorStatus.STOPPED,
    description="Receives new filings of the companies on the watch list and reports their hashes. The cursor "
    "names the company to begin with, so that a long list is gone through over several ticks. A question that EDGAR "
    "does not answer is named, never taken for nothing new.",
)
def edgar_discovery(context: SensorEvaluationContext, store: StoreResource) -> SensorResult | SkipReason:
    """Receive what the watched companies have filed since, as far as the time of one tick goes."""
    from finrag_pipelines.ingestion.edgar.client import EdgarClient
    from finrag_pipelines.ingestion.edgar.poll import beginning_with, poll
    from finrag_pipelines.ingestion.edgar.poll_record import PollRecord, record_poll
    from finrag_pipelines.ingestion.edgar.settings import edgar_settings

    if not watch_list_path().exists():
        return SkipReason(f"{watch_list_path()} does not exist; write it, or set FINRAG_WATCH_LIST to your watch list")
    watch_list, opened = read_watch_list(), store.open()
    companies = beginning_with(watch_list.companies, _cursor(context.cursor).get("next"))
    arrived: set[str] = set()
    unanswered: list[str] = []
    done = answered = 0
    record = PollRecord("edgar_discovery")
    with EdgarClient(opened, edgar_settings(watch_list.user_agent), time.monotonic() + DEADLINE_SECONDS) as client:
        for polled in poll(opened, client, companies):
            record = record.with_round(polled)
            arrived |= set(polled.source_ids)
            done += polled.is_done
            answered += polled.is_done and not polled.unanswered
            for read in polled.unanswered:
                unanswered.append(f"{read.name} ({read.code})")
                context.log.error(f"unanswered: {read.message}")
            for receipt in polled.receipts:
                if receipt.code:
                    context.log.warning(f"left out: {receipt.code}: {receipt.path}")
    record_poll(opened, record)
    missed = (
        f"; EDGAR did not answer about {', '.join(unanswered)}: the log of this tick says why" if unanswered else ""
    )
    if missed and not (answered or arrived):
        raise EdgarUnansweredError(missed.removeprefix("; "))
    return _sent_on(opened, arrived, _next(companies, done), f"nothing new from {answered} companies{missed}")


class EdgarUnansweredError(Exception):
    """A tick brought nothing because EDGAR did not answer, which is not the same as nothing new."""


def _next(companies: Sequence[WatchedCompany], done: int) -> str:
    return json.dumps({"next": companies[done % len(companies)].name} if companies else {})


@sensor(
    job=ingest_filings,
    minimum_interval_seconds=60,
    default_status=DefaultSensorStatus.RUNNING,
    description="Reports the content hash of every source that is new or changed. A source whose bytes are still not "
    "registered three ticks later, with no run on its way, is sent through its chain: where the sensor `automation` is "
    "switched off, or did not see it.",
)
def source_observation(context: SensorEvaluationContext, store: StoreResource) -> SensorResult | SkipReason:
    """Report changed hashes; ask for the chains of sources that nobody else has asked for."""
    sources = read_catalog(store.open()).sources
    seen = _Seen.of(context.cursor)
    hashes = {source_id: newest_hash(source) for source_id, source in sorted(sources.items()) if not source.withheld}
    changed = [source_id for source_id, content in hashes.items() if seen.reported.get(source_id) != content]
    left = [s for s in sorted(set(hashes) - set(changed)) if not _is_registered(sources[s])]
    waited = {s: seen.waited.get(s, 0) + 1 for s in left if not _is_on_its_way(context, s)}
    waiting = [source_id for source_id, ticks in waited.items() if ticks >= PATIENCE_TICKS]
    known = set(context.instance.get_dynamic_partitions(str(SOURCES.name)))
    missing = sorted({*changed, *waiting} - known)
    return SensorResult(
        run_requests=[chain_request(sources[source_id]) for source_id in waiting],
        dynamic_partitions_requests=[SOURCES.build_add_request(missing)] if missing else [],
        asset_events=[observation_of(sources[source_id]) for source_id in changed],
        cursor=json.dumps({"reported": hashes, "waited": waited}),
        skip_reason=None if waiting else f"{len(changed)} of {len(hashes)} sources have new bytes",
    )


@dataclass(frozen=True)
class _Seen:
    """What the cursor keeps: the hashes that were reported, and for how many ticks a source has waited since."""

    reported: dict[str, str]
    waited: dict[str, int]

    @staticmethod
    def of(cursor: str | None) -> "_Seen":
        try:
            kept = json.loads(cursor or "{}")
            return _Seen(dict(kept["reported"]), {name: int(ticks) for name, ticks in kept["waited"].items()})
        except (ValueError, KeyError, TypeError, AttributeError):
            return _Seen({}, {})  # a cursor of another layout: everything is reported again, which changes nothing


def _is_registered(source: Source) -> bool:
    return source.current is not None and source.current.content_sha256 == newest_hash(source)


def _is_on_its_way(context: SensorEvaluationContext, source_id: str) -> bool:
    return bool(
        context.instance.get_run_records(
            RunsFilter(tags={"dagster/partition": source_id}, statuses=_UNFINISHED),
            limit=1,
        )
    )


_UNFINISHED = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]

_FOLLOWING = ("corpus_manifest", "search_index", "index_evaluation", "current_index", "evaluation_report")

automation = AutomationConditionSensorDefinition(
    "automation",
    target=AssetSelection.assets(*FILING_CHAIN, *_FOLLOWING),
    default_status=DefaultSensorStatus.RUNNING,
    description="Sends sources with new bytes through their chains, builds the manifest and the index when a chain has "
    "brought something new, compares it with the index that answers, and promotes it where no guarded figure fell. "
    "Writes the evaluation report when results have changed.",
)

SENSORS = [folder_discovery, edgar_discovery, source_observation, automation]
