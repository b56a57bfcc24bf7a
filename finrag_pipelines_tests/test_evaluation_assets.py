"""Evaluation in Dagster: partitions, unchanged inputs skipped, events without text of documents; and the command."""

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from typer.testing import CliRunner

from finrag_pipelines.build import build_defs
from finrag_pipelines.defs.evaluation import RESULTS, nightly_evaluation, partition_keys
from finrag_pipelines.defs.local import instance_of
from finrag_pipelines.defs.resources import EmbedderResource, StoreResource
from finrag_pipelines.eval_command import app
from finrag_pipelines.evaluation.configurations import configuration_names
from finrag_pipelines.evaluation.results import find_evaluation
from finrag_pipelines.evaluation.sets import Gold, Question, read_set, set_names, write_set
from finrag_pipelines.retrieval.modes import load_modes
from finrag_pipelines.storage import Store
from finrag_pipelines_tests.answering_store import sample_store

ROOT = Path(__file__).resolve().parents[1]
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store of a dozen sample documents, and an eval set `access` of the three questions that they suffice for."""
    shutil.copytree(sample_store().root, tmp_path / "store")
    questions = read_set(ROOT / "eval_sets" / "access.jsonl").questions
    write_set(tmp_path / "sets" / "access.jsonl", questions[:3])
    monkeypatch.setenv("FINRAG_EVAL_SETS", str(tmp_path / "sets"))
    monkeypatch.setenv("FINRAG_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("FINRAG_EMBEDDER", "hashing")
    return Store(tmp_path / "store")


def test_results_are_partitioned_by_configuration_and_set() -> None:
    sets, configurations = set_names(ROOT / "eval_sets"), configuration_names(ROOT / "eval_configs")
    assert set(RESULTS.get_partition_keys()) == {f"{one}|{name}" for one in configurations for name in sets}
    assert partition_keys(["full"], ["access"]) == [
        dg.MultiPartitionKey({"configuration": "full", "eval_set": "access"})
    ]


def test_a_partition_runs_once_and_is_skipped_while_nothing_changes(own: Store) -> None:
    defs = build_defs(store=StoreResource(uri=str(own.root)), embedder=EmbedderResource(spec="hashing"))
    (key,) = partition_keys(["full"], ["access"])
    config = {**QUIET, "ops": {"evaluation_results": {"config": {"ragas": False}}}}
    with dg.DagsterInstance.ephemeral() as instance:

        def run(job: str, **kwargs: object) -> dict[str, object]:
            name = "evaluation_results" if job == "evaluate" else "evaluation_report"
            result = defs.resolve_job_def(job).execute_in_process(instance=instance, **kwargs)  # type: ignore[arg-type]
            assert result.success
            event = instance.get_latest_materialization_event(dg.AssetKey(name))
            assert event and event.asset_materialization
            return {label: value.value for label, value in event.asset_materialization.metadata.items()}

        first = run("evaluate", partition_key=key, run_config=config)
        assert (first["skipped"], first["questions"]) == (False, 3)
        assert run("evaluate", partition_key=key, run_config=config)["skipped"] is True
        report = run("report_evaluation", run_config=QUIET)
        assert report["evaluations"] == 1
    found = find_evaluation(own, "access", "full")
    assert found and first["evidence_run"] == found.header.run_id
    told = json.dumps([first, report], default=str)
    assert "tailwind" not in told, "events hold no text of documents"


def test_the_command_validates_runs_compares_and_reports(own: Store, tmp_path: Path) -> None:
    command = CliRunner()

    def say(*arguments: str, code: int = 0) -> str:
        result = command.invoke(app, list(arguments))
        assert result.exit_code == code, result.output
        return result.output

    assert "0 problem(s) in 1 set(s): access (3)" in say("validate")
    run = ("run", "--set", "access", "--config", "full", "--config", "lexical", "--no-ragas")
    assert "full on access: 3 questions" in say(*run)
    assert "unchanged inputs, not run again" in say(*run)
    assert "no difference shown between full and lexical" in say("compare", "full", "lexical")
    assert "# Evaluation" in say("report")
    modes = tmp_path / "modes.json"
    assert "not shown, for fewer than 10 questions each: all" in say("modes", str(modes))
    assert json.loads(modes.read_text())["choices"] == {} and load_modes(modes).choices == {}
    say("compare", "full", "vector", code=1)
    for form, name in (("trec", "trec/run.txt"), ("ragas", "ragas.jsonl"), ("parquet", "rows.parquet")):
        out = tmp_path / (name.split("/")[0] if form == "trec" else name)
        say("export", form, "access", str(out))
        assert (tmp_path / name).stat().st_size
    line = (tmp_path / "trec" / "run.txt").read_text().splitlines()[0].split()
    assert (line[1], line[3], line[5]) == ("Q0", "1", "full")
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "a"}\n')
    assert "bad.jsonl:1: field 'question' is missing" in say("validate", str(bad), code=1)


def test_every_night_the_default_configuration_is_run_on_the_sets_that_are_about_the_corpus(own: Store) -> None:
    resources = {"store": StoreResource(uri=str(own.root))}

    def tick() -> object:
        return nightly_evaluation(
            dg.build_schedule_context(resources=resources, scheduled_execution_time=datetime(2026, 5, 6, 2, tzinfo=UTC))
        )

    (request,) = tick()  # type: ignore[misc]
    assert (request.run_key, request.partition_key) == ("2026-05-06:full|access", "full|access")
    write_set(
        Path(os.environ["FINRAG_EVAL_SETS"]) / "access.jsonl",
        [Question("q", "Why?", True, gold=(Gold("XYZ_10-K_FY2025", "x"),))],
    )
    skipped = tick()
    assert isinstance(skipped, dg.SkipReason) and "documents that the catalog lacks" in str(skipped.skip_message)


def test_what_the_command_runs_stands_in_the_instance_of_the_store(own: Store) -> None:
    assert CliRunner().invoke(app, ["run", "--no-ragas"]).exit_code == 0
    with instance_of(own) as instance:
        for name in ("evaluation_results", "evaluation_report"):
            event = instance.get_latest_materialization_event(dg.AssetKey(name))
            assert event and event.asset_materialization
        assert instance.get_materialized_partitions(dg.AssetKey("evaluation_results")) == {"full|access"}
