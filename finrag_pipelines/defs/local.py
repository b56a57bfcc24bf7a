"""Running the jobs in this process, for the command line and for tests, with the runs and events that the UI shows."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from dagster import AssetKey, DagsterInstance, DagsterRunStatus, Definitions, MultiPartitionKey, RunsFilter
from dagster._core.instance.ref import InstanceRef

from finrag_pipelines.build import build_defs
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.defs.observation import observation_of
from finrag_pipelines.defs.partitions import SOURCES
from finrag_pipelines.defs.resources import EmbedderResource, StoreResource
from finrag_pipelines.storage import Store, project_root

_INGESTION = {"finrag/ingestion": "command line"}
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended: its id, the message of the step that failed, if one did, and what the assets that it
    materialized say of themselves, by asset and label."""

    run_id: str
    error: str | None
    metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        """True where every step succeeded."""
        return self.error is None


class RunError(Exception):
    """A run failed; the message says which step, why, and where to read more."""


def instance_of(store: Store) -> DagsterInstance:
    """Return the Dagster instance that lies in the store, configured by the project's dagster.yaml.

    `dagster dev` in the project uses the same one, where the store is the project's `.finrag`.
    """
    home = store.path("dagster")
    home.mkdir(parents=True, exist_ok=True)
    path = project_root() / "dagster.yaml"
    settings: dict[str, Any] = yaml.safe_load(path.read_text()) if path.exists() else {"telemetry": {"enabled": False}}
    settings["storage"] = {"sqlite": {"base_dir": str(home)}}
    for name, leaf in (("local_artifact_storage", ""), ("compute_logs", "compute_logs")):
        if name in settings:
            settings[name] = {**settings[name], "config": {"base_dir": str(home / leaf)}}
    return DagsterInstance.from_ref(InstanceRef.from_dir(str(home), overrides=settings))  # type: ignore[arg-type]


@dataclass(frozen=True)
class LocalRunner:
    """Runs jobs on one store with one embedder, recording them in the store's Dagster instance."""

    store: Store
    definitions: Definitions
    instance: DagsterInstance

    @staticmethod
    def of(store: Store, embedder: str = "") -> "LocalRunner":
        """Make a runner for `store`; `embedder` as in EmbedderResource."""
        definitions = build_defs(store=StoreResource(uri=str(store.root)), embedder=EmbedderResource(spec=embedder))
        return LocalRunner(store, definitions, instance_of(store))

    def ingest(self, source_ids: Sequence[str], done: Callable[[str, RunOutcome], None]) -> list[RunOutcome]:
        """Send each source through its chain, one run each; a failed one does not stop the others."""
        self._close_abandoned()
        outcomes, catalog = [], read_catalog(self.store)
        for source_id in source_ids:
            # Not all at once: a daemon on the same store would send those that wait here through their chains as well.
            self.instance.add_dynamic_partitions(SOURCES.name or "", [source_id])
            # Reported before the run, so that its inputs are the newest bytes and nothing is shown as stale after it.
            self.instance.report_runless_asset_event(observation_of(catalog.source(source_id)))
            outcome = self._run("ingest_filings", partition_key=source_id, tags=_INGESTION)
            outcomes.append(outcome)
            done(source_id, outcome)
        return outcomes

    def publish(self) -> RunOutcome:
        """Build and publish the index of everything that is ready, and promote it unless a guarded figure fell."""
        self._close_abandoned()
        return self._run("publish_index", tags=_INGESTION)

    def build_index(self) -> RunOutcome:
        """Build and publish the index of everything that is ready; the first one answers at once, others wait."""
        self._close_abandoned()
        return self._run("publish_index", tags=_INGESTION, assets=("corpus_manifest", "search_index"))

    def publish_at_once(self) -> RunOutcome:
        """Publish the index that follows from a change of rules, without comparing it with the one that answers."""
        self._close_abandoned()
        return self._run("publish_at_once", tags=_INGESTION)

    def promote(self, version: str = "", eval_sets: Sequence[str] = (), force: bool = False) -> RunOutcome:
        """Compare an index version (the newest published one if empty) with the one that answers, and promote it
        unless a guarded figure fell; the verdict is kept in the store."""
        config = {"config": {"index_version": version, "eval_sets": list(eval_sets), "force": force}}
        return self._run("promote_index", {"ops": {"index_evaluation": config, "current_index": config}})

    def roll_back(self) -> RunOutcome:
        """Make the index version answer that did before the last promotion."""
        return self._run("roll_back_index")

    def evaluate(self, configuration: str, eval_set: str, config: dict[str, Any]) -> RunOutcome:
        """Run one configuration on one eval set with this configuration of the asset `evaluation_results`."""
        key = MultiPartitionKey({"configuration": configuration, "eval_set": eval_set})
        return self._run("evaluate", {"ops": {"evaluation_results": {"config": config}}}, key)

    def report(self) -> RunOutcome:
        """Write the report over the current results of all configurations and sets."""
        return self._run("report_evaluation")

    def _close_abandoned(self) -> None:
        """Mark as failed the runs of ingestions that were killed. The caller holds the lock of ingestion, so that no
        such run can be alive; left open they would count as in progress, and hold their pools, for ever."""
        unfinished = RunsFilter(
            statuses=[DagsterRunStatus.NOT_STARTED, DagsterRunStatus.STARTING, DagsterRunStatus.STARTED],
            tags=_INGESTION,
        )
        for run in self.instance.get_runs(unfinished):
            self.instance.report_run_failed(run, "The process of this run was killed; a later ingest does its work.")
            self.instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)

    def answer(self, config: dict[str, Any]) -> RunOutcome:
        """Run `answer_questions` with this configuration of the asset `answers`."""
        return self._run("answer_questions", {"ops": {"answers": {"config": config}}})

    def _run(
        self,
        job: str,
        run_config: dict[str, Any] | None = None,
        partition_key: str | None = None,
        tags: dict[str, str] | None = None,
        assets: Sequence[str] = (),
    ) -> RunOutcome:
        result = self.definitions.resolve_job_def(job).execute_in_process(
            run_config={**_QUIET, **(run_config or {})},
            instance=self.instance,
            partition_key=partition_key,
            tags=tags,
            raise_on_error=False,
            asset_selection=[AssetKey(name) for name in assets] or None,
        )
        if not result.success and _was_interrupted(result):
            raise KeyboardInterrupt  # Dagster turns Ctrl-C into a failed step; nothing more is to be started
        made = [one.step_materialization_data.materialization for one in result.get_asset_materialization_events()]
        said = {
            one.asset_key.to_user_string(): {label: value.value for label, value in one.metadata.items()}
            for one in made
        }
        return RunOutcome(result.run_id, None if result.success else _first_failure(result), said)


def _was_interrupted(result: Any) -> bool:
    errors = [event.step_failure_data.error for event in result.all_events if event.is_step_failure]
    return any(error is not None and "ExecutionInterrupted" in (error.cls_name or "") for error in errors)


def _first_failure(result: Any) -> str:
    for event in result.all_events:
        if event.is_step_failure:
            failure = event.step_failure_data
            if failure.user_failure_data and failure.user_failure_data.description:
                return failure.user_failure_data.description
            error = failure.error
            while error is not None and error.cause is not None:
                error = error.cause
            if error is not None:
                # Our own errors say what, where and what next; the name of their class says nothing to a user.
                message = re.sub(r"^finrag_pipelines\.[\w.]+: ", "", error.message.strip())
                return message if message != error.message.strip() else f"step {event.step_key}: {message}"
    return "the run failed before its first step; see the Dagster UI"
