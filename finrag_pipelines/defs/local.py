"""Running the jobs in this process, for the command line and for tests, with the runs and events that the UI shows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from dagster import DagsterInstance, DagsterRunStatus, Definitions, RunsFilter
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
    """How a run ended: its id, and the message of the step that failed, if one did."""

    run_id: str
    error: str | None

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
        self.instance.add_dynamic_partitions(SOURCES.name or "", list(source_ids))
        outcomes, catalog = [], read_catalog(self.store)
        for source_id in source_ids:
            # Reported before the run, so that its inputs are the newest bytes and nothing is shown as stale after it.
            self.instance.report_runless_asset_event(observation_of(catalog.source(source_id)))
            outcome = self._run("ingest_filings", partition_key=source_id)
            outcomes.append(outcome)
            done(source_id, outcome)
        return outcomes

    def publish(self) -> RunOutcome:
        """Build and publish the index of everything that is ready."""
        self._close_abandoned()
        return self._run("publish_index")

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

    def _run(self, job: str, run_config: dict[str, Any] | None = None, partition_key: str | None = None) -> RunOutcome:
        result = self.definitions.resolve_job_def(job).execute_in_process(
            run_config={**_QUIET, **(run_config or {})},
            instance=self.instance,
            partition_key=partition_key,
            tags=None if job == "answer_questions" else _INGESTION,
            raise_on_error=False,
        )
        if result.success:
            return RunOutcome(result.run_id, None)
        return RunOutcome(result.run_id, _first_failure(result))


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
                return f"step {event.step_key}: {error.message.strip()}"
    return "the run failed before its first step; see the Dagster UI"
