"""What Dagster is told about the bytes of sources, and how a source is asked through its chain."""

from dagster import AssetObservation, RunRequest

from finrag_pipelines.catalog.catalog import Source

DATA_VERSION = "dagster/data_version"


def newest_hash(source: Source) -> str:
    """Return the hash of the newest bytes that arrived for a source."""
    return source.received[-1].content_sha256


def observation_of(source: Source) -> AssetObservation:
    """Report the newest bytes of a source as the data version of its partition of `source_filings`."""
    return AssetObservation(
        asset_key="source_filings", partition=source.source_id, tags={DATA_VERSION: newest_hash(source)}
    )


def chain_request(source: Source) -> RunRequest:
    """Ask for the chain of a source. The key makes each sensor ask once for the same bytes."""
    return RunRequest(run_key=f"{source.source_id}:{newest_hash(source)}", partition_key=source.source_id)
