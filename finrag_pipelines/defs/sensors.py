"""Sensors: a watched folder is discovered, and sources with new bytes are sent through their chain."""

import os
import time
from pathlib import Path

from dagster import (
    AssetSelection,
    AutomationConditionSensorDefinition,
    DefaultSensorStatus,
    RunRequest,
    SensorEvaluationContext,
    SensorResult,
    SkipReason,
    sensor,
)

from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.defs.jobs import ingest_filings
from finrag_pipelines.defs.partitions import SOURCES
from finrag_pipelines.defs.resources import StoreResource
from finrag_pipelines.ingestion.folder import find_documents
from finrag_pipelines.storage import project_root

# Dagster ends a sensor's tick after 60 s. The cursor keeps what was done, and the next tick goes on from there.
DEADLINE_SECONDS = 40.0


def watched_folder() -> Path:
    """Return the folder that is watched for documents: FINRAG_INBOX, or `data/inbox` in the project."""
    return Path(os.environ.get("FINRAG_INBOX") or project_root() / "data" / "inbox")


@sensor(
    job=ingest_filings,
    minimum_interval_seconds=30,
    default_status=DefaultSensorStatus.STOPPED,
    description="Receives new and changed files of the watched folder and sends each source through its chain. "
    "A folder that cannot be read is an error, never an empty folder.",
)
def folder_discovery(context: SensorEvaluationContext, store: StoreResource) -> SensorResult | SkipReason:
    """Receive what changed in the watched folder since the last tick."""
    from finrag_pipelines.ingestion.receive import receive_file

    folder = watched_folder()
    if not folder.is_dir():
        return SkipReason(f"{folder} does not exist; create it, or set FINRAG_INBOX to the folder to watch")
    opened, started = store.open(), time.monotonic()
    seen = _cursor(context.cursor)
    requests: dict[str, RunRequest] = {}
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
            content = read_catalog(opened).source(receipt.source_id).received[-1].content_sha256
            requests[receipt.source_id] = RunRequest(
                run_key=f"{receipt.source_id}:{content}", partition_key=receipt.source_id
            )
        elif receipt.message:
            context.log.warning(f"left out: {receipt.code}: {receipt.path}")
    cursor = "\n".join(f"{mark} {path}" for path, mark in sorted(seen.items()))
    return SensorResult(
        run_requests=[requests[source_id] for source_id in sorted(requests)],
        dynamic_partitions_requests=[SOURCES.build_add_request(sorted(requests))] if requests else [],
        cursor=cursor,
    )


def _cursor(cursor: str | None) -> dict[str, str]:
    lines = (line.partition(" ") for line in (cursor or "").splitlines())
    return {path: mark for mark, _, path in lines}


automation = AutomationConditionSensorDefinition(
    "automation",
    target=AssetSelection.assets("corpus_manifest", "search_index"),
    default_status=DefaultSensorStatus.RUNNING,
    description="Builds the manifest and the index when a source's chain has brought something new.",
)

SENSORS = [folder_discovery, automation]
