"""Evaluation as assets: sets by content hash, one result for each configuration and set, and the report over them.

Events carry counts, hashes and ids of evidence records, never the text of documents or answers.
"""

from collections.abc import Iterator, Sequence

from dagster import (
    AssetCheckResult,
    AssetCheckSpec,
    AssetExecutionContext,
    AssetSelection,
    Config,
    DataVersion,
    DataVersionsByPartition,
    DefaultScheduleStatus,
    Failure,
    MaterializeResult,
    MetadataValue,
    MultiPartitionKey,
    MultiPartitionsDefinition,
    RunRequest,
    ScheduleEvaluationContext,
    SkipReason,
    StaticPartitionsDefinition,
    asset,
    define_asset_job,
    observable_source_asset,
    schedule,
)

from finrag_pipelines.defs import automation
from finrag_pipelines.defs.resources import EmbedderResource, StoreResource
from finrag_pipelines.evaluation.configurations import configuration_names
from finrag_pipelines.evaluation.folders import DEFAULT_CONFIGURATION, configurations_folder, sets_folder
from finrag_pipelines.evaluation.sets import set_names

OWNERS = ["team:finrag"]
# Read when the code location loads: a new file appears as a partition after a reload.
EVAL_SETS = StaticPartitionsDefinition(set_names(sets_folder()))
CONFIGURATIONS = StaticPartitionsDefinition(configuration_names(configurations_folder()))
RESULTS = MultiPartitionsDefinition({"configuration": CONFIGURATIONS, "eval_set": EVAL_SETS})


@observable_source_asset(
    partitions_def=EVAL_SETS,
    group_name="evaluation",
    description="The questions of each eval set. The data version is the SHA-256 of the file.",
)
def evaluation_sets() -> DataVersionsByPartition:
    """Report the content hash of every eval set."""
    from finrag_pipelines.storage import sha256_bytes

    paths = sorted(sets_folder().glob("*.jsonl"))
    return DataVersionsByPartition({path.stem: sha256_bytes(path.read_bytes()) for path in paths})


class EvaluationSettings(Config):
    """How sets are run. `index_version` is the one that answers use if empty; `repeats` measures determinism.

    Unchanged inputs are not run again unless `force`; `allow_unresolved` counts gold evidence that cannot be located as
    lost instead of failing. `judge` is a model that takes the measures which need one, as `ollama/NAME` or
    `openai-compatible/NAME`, with its server's address and the seconds it has for one measure of one row.
    """

    index_version: str = ""
    repeats: int = 1
    force: bool = False
    allow_unresolved: bool = False
    ragas: bool = True
    judge: str = ""
    judge_url: str = ""
    judge_timeout: float = 120.0


@asset(
    deps=["current_index", evaluation_sets],
    partitions_def=RESULTS,
    group_name="evaluation",
    kinds={"parquet", "duckdb"},
    owners=OWNERS,
    code_version="1",
    check_specs=[AssetCheckSpec("evidence_stands", asset="evaluation_results", blocking=True)],
    description="One configuration on one eval set: decisions, figures and evidence losses as Parquet, each row with "
    "the evidence record that it was read from.",
)
def evaluation_results(
    context: AssetExecutionContext, config: EvaluationSettings, store: StoreResource, embedder: EmbedderResource
) -> Iterator[MaterializeResult | AssetCheckResult]:
    """Run the partition's configuration on the partition's set, unless a result for these inputs stands."""
    from finrag_pipelines.answering.generators import GeneratorError
    from finrag_pipelines.evaluation.configurations import read_configuration
    from finrag_pipelines.evaluation.folders import configuration_path, set_path
    from finrag_pipelines.evaluation.judge import JudgeSettings, open_judge
    from finrag_pipelines.evaluation.report_sections import number
    from finrag_pipelines.evaluation.run import evaluate
    from finrag_pipelines.evaluation.sets import SetError, read_set
    from finrag_pipelines.evaluation.summary import summary
    from finrag_pipelines.evidence.write import read_run

    key = context.partition_key
    assert isinstance(key, MultiPartitionKey)
    opened, chosen = store.open(), key.keys_by_dimension
    asked = JudgeSettings(config.judge, config.judge_url, config.judge_timeout)
    try:
        outcome = evaluate(
            opened,
            read_set(set_path(chosen["eval_set"])),
            read_configuration(configuration_path(chosen["configuration"])),
            embedder.open(),
            config.index_version or None,
            config.repeats,
            config.force,
            config.allow_unresolved,
            config.ragas,
            judge=open_judge(asked) if config.judge else None,
        )
    except SetError as error:  # its message quotes the set: counted here, read in full with `finrag eval validate`
        message = f"{len(error.problems)} faults in the set or its gold evidence; `finrag eval validate` lists them"
        raise Failure(message, allow_retries=False) from None
    except GeneratorError as error:
        raise Failure(str(error), allow_retries=False) from None
    found = outcome.evaluation
    header = found.header
    recorded = {sealed.answer_id for sealed in read_run(opened, header.run_id)}
    absent = [row.question_id for row in found.questions if row.answer_id not in recorded]
    yield AssetCheckResult(
        check_name="evidence_stands",
        passed=not absent,
        metadata={"questions": len(found.questions), "records": len(recorded)},
    )
    if outcome.skipped:
        context.log.info(str(outcome))
    figures = {row.figure: number(row.value) for row in summary([found])}
    losses: dict[str, int] = {}
    for row in found.losses:
        losses[row.stage] = losses.get(row.stage, 0) + 1
    yield MaterializeResult(
        data_version=DataVersion(header.key),
        metadata={
            "skipped": outcome.skipped,
            "questions": len(found.questions),
            "evidence_run": header.run_id,
            "index_version": header.index_version,
            "configuration_sha256": header.configuration_sha256,
            "set_sha256": header.set_sha256,
            "code_version": header.code_version,
            "seed": header.seed,
            "generators": list(header.generators),
            "judge": f"{header.judge} {header.judge_digest or ''}".strip() or "none",
            "figures": MetadataValue.json(figures),
            "losses": MetadataValue.json(losses),
        },
    )


@asset(
    deps=[evaluation_results],
    group_name="evaluation",
    kinds={"parquet"},
    owners=OWNERS,
    code_version="1",
    automation_condition=automation.report_follows_its_results(),
    description="Configurations side by side: decision matrix with intervals, paired comparisons, retrieval, answers, "
    "first evidence loss, modes, latency. Markdown, self-contained HTML with plots, and Parquet.",
)
def evaluation_report(store: StoreResource) -> MaterializeResult:
    """Write the report over the current result of every configuration and set."""
    from finrag_pipelines.evaluation.document import to_markdown
    from finrag_pipelines.evaluation.report import report_of_store
    from finrag_pipelines.storage import sha256_text

    made = report_of_store(store.open())
    markdown = to_markdown(made.report)
    return MaterializeResult(
        data_version=DataVersion(sha256_text(markdown)),
        metadata={
            "evaluations": made.evaluations,
            "report": MetadataValue.md(markdown),
            "html": MetadataValue.path(str(made.paths.html)),
            "parquet": MetadataValue.path(str(made.paths.parquet)),
        },
    )


evaluate = define_asset_job(
    "evaluate",
    selection=AssetSelection.assets("evaluation_results"),
    partitions_def=RESULTS,
    description="Run one configuration on one eval set; a backfill runs all of them. Unchanged inputs are skipped.",
)

report_evaluation = define_asset_job(
    "report_evaluation",
    selection=AssetSelection.assets("evaluation_report"),
    description="Put the current results of all configurations and sets side by side.",
)


def partition_keys(configurations: Sequence[str], eval_sets: Sequence[str]) -> list[MultiPartitionKey]:
    """Return the partitions of these configurations and sets, sorted by set, then configuration."""
    return [
        MultiPartitionKey({"configuration": configuration, "eval_set": eval_set})
        for eval_set in sorted(eval_sets)
        for configuration in sorted(configurations)
    ]


@schedule(
    job=evaluate,
    cron_schedule="0 2 * * *",
    default_status=DefaultScheduleStatus.STOPPED,
    description="Runs the default configuration every night on every eval set that is about this corpus; what has not "
    "changed is skipped. The report follows by itself.",
)
def nightly_evaluation(context: ScheduleEvaluationContext, store: StoreResource) -> SkipReason | list[RunRequest]:
    """Ask for one run for each set that applies, once a night."""
    from finrag_pipelines.catalog.catalog import read_catalog
    from finrag_pipelines.evaluation.applicable import applicable
    from finrag_pipelines.evaluation.folders import all_sets
    from finrag_pipelines.indexing.publication import current_version

    opened = store.open()
    if current_version(opened) is None:
        return SkipReason("no index answers yet; ingest filings first")
    found = applicable(all_sets(), read_catalog(opened))
    if not found.sets:
        return SkipReason("; ".join(found.skipped) or "there are no eval sets")
    night = context.scheduled_execution_time.date().isoformat()
    keys = partition_keys([DEFAULT_CONFIGURATION], [one.name for one in found.sets])
    return [RunRequest(run_key=f"{night}:{key}", partition_key=key) for key in keys]


EVALUATION_ASSETS = [evaluation_sets, evaluation_results, evaluation_report]
EVALUATION_JOBS = [evaluate, report_evaluation]
EVALUATION_SCHEDULES = [nightly_evaluation]
