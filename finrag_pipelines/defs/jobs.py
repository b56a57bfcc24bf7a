"""The jobs: ingest filings, publish an index, answer questions."""

from dagster import AssetSelection, define_asset_job

from finrag_pipelines.defs.assets import FILING_CHAIN
from finrag_pipelines.defs.partitions import SOURCES

ingest_filings = define_asset_job(
    "ingest_filings",
    selection=AssetSelection.assets(*FILING_CHAIN),
    partitions_def=SOURCES,
    description="Register, parse, cut and embed one source. One partition is one source.",
)

publish_index = define_asset_job(
    "publish_index",
    selection=AssetSelection.assets("corpus_manifest", "search_index", "index_evaluation", "current_index"),
    description="Collect what is ready into a manifest, build its index version, check and publish it, compare it with "
    "the one that answers, and make it answer unless a guarded figure fell.",
)

answer_questions = define_asset_job(
    "answer_questions",
    selection=AssetSelection.assets("answers"),
    description="Answer the questions in the run's configuration; every answer leaves evidence records in DuckDB.",
)

JOBS = [ingest_filings, publish_index, answer_questions]
