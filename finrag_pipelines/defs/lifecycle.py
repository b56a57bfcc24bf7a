"""Jobs about single sources: suspend, resume, erase, and what retention rules ask for. Configuration names ids only.

Each holds with the entry that it writes to the catalog log; the index that follows is published in the same run.
"""

from typing import Any

from dagster import (
    AssetMaterialization,
    Config,
    DataVersion,
    DefaultScheduleStatus,
    Failure,
    OpExecutionContext,
    ScheduleDefinition,
    job,
    op,
)

from finrag_pipelines import pipeline
from finrag_pipelines.catalog.catalog import CatalogError
from finrag_pipelines.defs.resources import EmbedderResource, StoreResource
from finrag_pipelines.storage import Store


class Sources(Config):
    """Which sources, by id, and why, in your own words: the reason stays in the catalog, so no words of documents."""

    source_ids: list[str]
    reason: str = ""


def _publish(context: OpExecutionContext, store: Store, embedder: EmbedderResource) -> None:
    from finrag_pipelines.withdrawal import publish_at_once

    published = publish_at_once(store, embedder.open())
    if published is None:
        pipeline.mirror(store)
        return
    for key, version in (("corpus_manifest", published.manifest_sha256), ("search_index", published.index_version)):
        tags = {"dagster/data_version": DataVersion(version).value}
        metadata = {"sources": published.sources, "fragments": published.fragments}
        context.log_event(AssetMaterialization(key, metadata=metadata, tags=tags))


def _suspend(store: Store, config: Sources) -> None:
    from finrag_pipelines.catalog.lifecycle import suspend

    for source_id in config.source_ids:
        suspend(store, source_id, config.reason)


def _resume(store: Store, config: Sources) -> None:
    from finrag_pipelines.catalog.lifecycle import resume

    for source_id in config.source_ids:
        resume(store, source_id)


@op(description="Makes sources unreadable for everybody, at once, and publishes an index without them.")
def withhold(context: OpExecutionContext, config: Sources, store: StoreResource, embedder: EmbedderResource) -> None:
    """Suspend the sources of the configuration."""
    _changed(context, store.open(), embedder, config, _suspend)


@op(description="Makes suspended sources readable again, and publishes an index with them.")
def release(context: OpExecutionContext, config: Sources, store: StoreResource, embedder: EmbedderResource) -> None:
    """Resume the sources of the configuration."""
    _changed(context, store.open(), embedder, config, _resume)


def _changed(
    context: OpExecutionContext, store: Store, embedder: EmbedderResource, config: Sources, change: Any
) -> None:
    try:
        change(store, config)
    except CatalogError as error:
        raise Failure(str(error), allow_retries=False) from None
    with store.lock("ingest", timeout=3600):
        _publish(context, store, embedder)


@op(description="Publishes the index of what is ready, without comparing it with the one that answers.")
def publish_what_is_ready(context: OpExecutionContext, store: StoreResource, embedder: EmbedderResource) -> None:
    """Publish what follows from a change of rules."""
    _publish(context, store.open(), embedder)


@op(description="Removes sources for good, from everywhere, searches every byte for what is left, and fails on a hit.")
def remove(context: OpExecutionContext, config: Sources, store: StoreResource, embedder: EmbedderResource) -> None:
    """Erase the sources of the configuration."""
    from finrag_pipelines.withdrawal import erase

    opened = store.open()
    try:
        with opened.lock("ingest", timeout=3600):
            report = erase(opened, config.source_ids, config.reason, _forgetting(context))
            _report(context, report)
            _publish(context, opened, embedder)
    except CatalogError as error:
        raise Failure(str(error), allow_retries=False) from None


@op(description="Erases what the rules of retention.toml say is due.")
def remove_what_is_due(context: OpExecutionContext, store: StoreResource, embedder: EmbedderResource) -> None:
    """Apply the retention rules."""
    from finrag_pipelines.lifecycle.retention import RetentionError, read_rules
    from finrag_pipelines.withdrawal import apply_rules

    opened = store.open()
    try:
        with opened.lock("ingest", timeout=3600):
            report = apply_rules(opened, read_rules(), _forgetting(context))
            if report is None:
                context.log.info("nothing is due")
                return
            _report(context, report)
            _publish(context, opened, embedder)
    except RetentionError as error:
        raise Failure(str(error), allow_retries=False) from None


def _forgetting(context: OpExecutionContext) -> Any:
    from finrag_pipelines.defs.forgetting import forget_runs

    return lambda store, run_ids: forget_runs(store, run_ids, context.instance)


def _report(context: OpExecutionContext, report: Any) -> None:
    counts = {
        "sources": list(report.source_ids),
        "index_versions_replaced": len(report.versions_replaced),
        "texts_blanked": report.texts_blanked,
        "files_removed": report.removed.files,
        "files_searched": report.searched.files,
        "hits": len(report.searched.hits),
    }
    context.add_output_metadata(counts)
    context.log.info(str(counts))
    if not report.is_done:
        places = ", ".join(sorted({hit.path for hit in report.searched.hits}))
        raise Failure(
            f"something is left in {places}; remove what holds it, and run the job again", allow_retries=False
        )


@job(description="Make sources unreadable for everybody, kept and reversible.")
def suspend_sources() -> None:
    """One op: the suspension."""
    withhold()


@job(description="Make suspended sources readable again.")
def resume_sources() -> None:
    """One op: the release."""
    release()


@job(description="Publish the index of what is ready at once, as a change of rules asks for.")
def publish_at_once() -> None:
    """One op: the publication."""
    publish_what_is_ready()


@job(description="Remove sources for good, from everywhere. It cannot be undone.")
def erase_sources() -> None:
    """One op: the erasure."""
    remove()


@job(description="Erase what the rules of retention.toml say is due.")
def apply_retention() -> None:
    """One op: the rules."""
    remove_what_is_due()


retention_daily = ScheduleDefinition(
    name="retention_daily",
    job=apply_retention,
    cron_schedule="15 3 * * *",
    execution_timezone="UTC",
    default_status=DefaultScheduleStatus.STOPPED,
    description="Applies retention.toml once a day. Without the file nothing is ever due.",
)

LIFECYCLE_JOBS = [suspend_sources, resume_sources, erase_sources, apply_retention, publish_at_once]
LIFECYCLE_SCHEDULES = [retention_daily]
