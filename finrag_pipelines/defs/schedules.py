"""Schedules, and the jobs that they run: unlike a tick of a sensor these have as long as it takes."""

from dagster import DefaultScheduleStatus, Failure, OpExecutionContext, ScheduleDefinition, job, op

from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.defs.observation import observation_of
from finrag_pipelines.defs.partitions import SOURCES
from finrag_pipelines.defs.resources import StoreResource


@op(pool="edgar", description="Receives what the watched companies have filed; one at a time, over all runs.")
def receive_new_filings(context: OpExecutionContext, store: StoreResource) -> None:
    """Ask EDGAR about every watched company. Fails, after all is received, where EDGAR did not answer something."""
    from finrag_pipelines.ingestion.edgar.client import EdgarClient
    from finrag_pipelines.ingestion.edgar.poll import poll
    from finrag_pipelines.ingestion.edgar.poll_record import PollRecord, record_poll
    from finrag_pipelines.ingestion.edgar.settings import edgar_settings
    from finrag_pipelines.ingestion.watch_list import read_watch_list

    opened, watch_list = store.open(), read_watch_list()
    record = PollRecord("poll_edgar")
    with EdgarClient(opened, edgar_settings(watch_list.user_agent)) as client:
        for polled in poll(opened, client, watch_list.companies):
            record = record.with_round(polled)
            if polled.source_ids:
                catalog = read_catalog(opened)
                context.instance.add_dynamic_partitions(str(SOURCES.name), list(polled.source_ids))
                for source_id in polled.source_ids:
                    context.log_event(observation_of(catalog.source(source_id)))
    record_poll(opened, record)
    counts = {
        "companies_answered": record.companies,
        "sources_received": len(record.sources),
        "documents_rejected": record.rejected,
    }
    unanswered = record.unanswered
    context.add_output_metadata({**counts, "unanswered": unanswered})
    context.log.info(f"{counts}, unanswered: {unanswered}")
    if unanswered:
        named = ", ".join(f"{name} ({code})" for name, code in sorted(unanswered.items()))
        raise Failure(f"EDGAR did not answer about {named}; what it did answer was received. Run poll_edgar again.")


@job(description="Receive what watched companies have filed. Automation sends it through its chain.")
def poll_edgar() -> None:
    """One op: the poll."""
    receive_new_filings()


# EDGAR takes filings until 22:00 in New York, and puts the last ones of a day up shortly after.
edgar_daily_poll = ScheduleDefinition(
    name="edgar_daily_poll",
    job=poll_edgar,
    cron_schedule="30 22 * * 1-5",
    execution_timezone="America/New_York",
    default_status=DefaultScheduleStatus.STOPPED,
    description="Asks about every watched company once a day, also about those that the sensor did not get to.",
)


@op(pool="duckdb_writer", description="Removes what no retained index version needs, and merges small files.")
def clear_old_versions(context: OpExecutionContext, store: StoreResource) -> None:
    """Compact the store; the newest versions, and those that answers on record were given from, stay."""
    from finrag_pipelines.upkeep import compact_store

    cleared = compact_store(store.open())
    context.add_output_metadata(
        {
            "index_versions": list(cleared.versions),
            "shards": cleared.shards,
            "manifests": cleared.manifests,
            "vectors": cleared.rows,
            "megabytes": round(cleared.bytes / 2**20, 1),
        }
    )


@job(description="Remove index versions, shards and vectors that neither the newest versions nor any answer need.")
def compact_index() -> None:
    """One op: the compaction."""
    clear_old_versions()


nightly_compaction = ScheduleDefinition(
    name="nightly_compaction",
    job=compact_index,
    cron_schedule="30 3 * * *",
    execution_timezone="UTC",
    default_status=DefaultScheduleStatus.STOPPED,
    description="Clears away, once a night, what no retained index version needs.",
)

SCHEDULES = [edgar_daily_poll, nightly_compaction]
