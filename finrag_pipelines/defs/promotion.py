"""From a published index version to the one that answers: evaluated, compared, promoted unless a check stops it.

Events carry figures, hashes and ids of questions, never the text of documents or answers.
"""

from collections.abc import Iterator

from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetMaterialization,
    AssetSelection,
    Config,
    DataVersion,
    Failure,
    MaterializeResult,
    MetadataValue,
    OpExecutionContext,
    asset,
    define_asset_job,
    job,
    op,
)

from finrag_pipelines import pipeline
from finrag_pipelines.defs import automation
from finrag_pipelines.defs.resources import EmbedderResource, StoreResource
from finrag_pipelines.storage import Store, StoreError, digest

OWNERS = ["team:finrag"]


class Promotion(Config):
    """Which index version is to answer (empty: the newest published one), and on which eval sets it is compared with
    the one that answers now (empty: all that apply). `force` promotes it whatever the figures say."""

    index_version: str = ""
    eval_sets: list[str] = []  # noqa: RUF012  a default of a pydantic model is copied
    force: bool = False


def _candidate(store: Store, config: Promotion) -> str:
    from finrag_pipelines.indexing.publication import published_version, resolve_version

    try:
        return resolve_version(store, config.index_version or published_version(store))
    except StoreError as error:
        raise Failure(str(error), allow_retries=False) from None


@asset(
    deps=["search_index"],
    group_name="index",
    kinds={"parquet"},
    owners=OWNERS,
    code_version="1",
    automation_condition=automation.follows_its_inputs(),
    check_specs=[AssetCheckSpec("guarded_figures_hold", asset="index_evaluation", blocking=True)],
    description="The published index version on the default configuration, compared with the version that answers on "
    "every eval set that is about this corpus. A guarded figure that falls too far stops the promotion.",
)
def index_evaluation(
    config: Promotion, store: StoreResource, embedder: EmbedderResource
) -> Iterator[MaterializeResult | AssetCheckResult]:
    """Evaluate the candidate and say whether it may answer."""
    from finrag_pipelines.catalog.catalog import read_catalog
    from finrag_pipelines.evaluation.applicable import applicable
    from finrag_pipelines.evaluation.folders import all_sets, guards_path, set_path
    from finrag_pipelines.evaluation.guards import read_guards
    from finrag_pipelines.evaluation.promotion import judge
    from finrag_pipelines.evaluation.sets import SetError, read_set
    from finrag_pipelines.indexing.publication import current_version

    opened = store.open()
    candidate = _candidate(opened, config)
    try:
        eval_sets = [read_set(set_path(name)) for name in config.eval_sets] or all_sets()
    except SetError as error:
        message = f"{len(error.problems)} faults in the eval sets; `finrag eval validate` lists them"
        raise Failure(message, allow_retries=False) from None
    chosen = applicable(eval_sets, read_catalog(opened))
    verdict = judge(
        opened,
        candidate,
        chosen.sets,
        embedder.open(),
        guards=read_guards(guards_path()),
        notes=chosen.skipped,
    )
    yield MaterializeResult(
        data_version=DataVersion(digest([verdict.index_version, verdict.previous, verdict.passed, config.force])),
        metadata={
            "index_version": verdict.index_version,
            "compared_with": verdict.previous or "none",
            "compared_on": list(verdict.compared),
            "verdict": verdict.reason,
            "notes": list(verdict.notes),
        },
    )
    yield AssetCheckResult(
        check_name="guarded_figures_hold",
        passed=verdict.passed or current_version(opened) == candidate,
        severity=AssetCheckSeverity.WARN if config.force else AssetCheckSeverity.ERROR,
        description="\n".join([verdict.reason, *map(str, verdict.falls)]),
        metadata={
            "stages": MetadataValue.json([one.stage for one in verdict.falls]),
            "figures": MetadataValue.json({f"{one.set_name}: {one.figure}": one.after for one in verdict.falls}),
        },
    )


@asset(
    deps=[index_evaluation],
    group_name="index",
    kinds={"python"},
    owners=OWNERS,
    code_version="1",
    automation_condition=automation.follows_where_checks_passed(),
    description="The index version that answers use: one pointer, moved to the evaluated version.",
)
def current_index(config: Promotion, store: StoreResource) -> MaterializeResult:
    """Make the candidate answer, if it was compared with the version that answers now and nothing fell."""
    from finrag_pipelines.evaluation.promotion import read_verdict
    from finrag_pipelines.indexing.publication import current_version

    opened = store.open()
    candidate, before = _candidate(opened, config), current_version(opened)
    verdict = read_verdict(opened, candidate)
    if candidate != before and not config.force:
        if verdict is None or verdict.previous != before:
            raise Failure(
                f"index {candidate[:12]} was not compared with what answers; materialize index_evaluation first",
                allow_retries=False,
            )
        if not verdict.passed:
            raise Failure(
                f"index {candidate[:12]} was stopped: {verdict.reason}; `force` promotes it all the same",
                allow_retries=False,
            )
    pipeline.promote_index(opened, candidate)
    return MaterializeResult(
        data_version=DataVersion(candidate),
        metadata={
            "index_version": candidate,
            "previous": before or "none",
            "forced": bool(config.force and verdict and verdict.falls),
        },
    )


promote_index = define_asset_job(
    "promote_index",
    selection=AssetSelection.assets("index_evaluation", "current_index"),
    description="Compare an index version with the one that answers, and make it answer unless a guarded figure fell.",
)


@op(description="Makes the index version answer that did before the last promotion.")
def go_back(context: OpExecutionContext, store: StoreResource) -> None:
    """Move the pointer back; what was published stays."""
    from finrag_pipelines.evaluation.promotion import before_the_last_move
    from finrag_pipelines.indexing.publication import current_version

    opened = store.open()
    try:
        previous = before_the_last_move(opened)
    except StoreError as error:
        raise Failure(str(error), allow_retries=False) from None
    left = current_version(opened)
    pipeline.promote_index(opened, previous)
    context.log_event(
        AssetMaterialization(
            "current_index",
            metadata={"index_version": previous, "previous": left or "none", "rolled_back": True},
            tags={"dagster/data_version": previous},
        )
    )


@job(description="Make the index version answer that did before the last promotion.")
def roll_back_index() -> None:
    """One op: the step back."""
    go_back()


PROMOTION_ASSETS = [index_evaluation, current_index]
PROMOTION_JOBS = [promote_index, roll_back_index]
