"""Promotion in the graph: planted damage is stopped by a figure that names its stage; a sound version answers."""

import dataclasses
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pytest
from typer.testing import CliRunner

from finrag_pipelines import pipeline
from finrag_pipelines.build import build_defs
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.cli import app as finrag
from finrag_pipelines.defs.local import LocalRunner, instance_of
from finrag_pipelines.defs.resources import EmbedderResource, StoreResource
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.evaluation.applicable import applicable
from finrag_pipelines.evaluation.configurations import read_configuration
from finrag_pipelines.evaluation.folders import guards_path
from finrag_pipelines.evaluation.guards import GuardError, read_guards
from finrag_pipelines.evaluation.promotion import awaits_promotion, read_verdict
from finrag_pipelines.evaluation.results import current_evaluations
from finrag_pipelines.evaluation.run import evaluate
from finrag_pipelines.evaluation.sets import EvalSet, Question, read_set, set_names, write_set
from finrag_pipelines.indexing.publication import current_version, published_version
from finrag_pipelines.ingestion.receive import receive_file
from finrag_pipelines.storage import Store, sha256_text
from finrag_pipelines_tests.answering_store import SAMPLE, sample_store

ROOT = Path(__file__).resolve().parents[1]
ASKED = {
    "figures": ("insurers-01", "insurers-05", "insurers-08"),
    "prose": ("staples-01", "staples-02", "staples-09"),
}


class Shuffled:
    """An embedder whose vectors have nothing to do with the texts."""

    name = "shuffled"
    model_digest = sha256_text("shuffled")
    dimensions = 64

    def embed(self, texts: Sequence[str], progress: object = None) -> np.ndarray:
        seeds = [int(sha256_text(text)[:8], 16) for text in texts]
        drawn = np.array([np.random.default_rng(seed).normal(size=self.dimensions) for seed in seeds])
        return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


class ShuffledResource(EmbedderResource):
    """The embedder of a code location that somebody broke."""

    def open(self) -> Any:
        return Shuffled()


def _bring_in(store: Store, source_ids: Sequence[str], embedder: Any = None) -> None:
    for source_id in source_ids:
        pipeline.register(store, source_id)
        pipeline.represent(store, source_id)
        pipeline.fragment(store, source_id)
        pipeline.embed(store, source_id, embedder or open_embedder("hashing"))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with an index that answers, evaluated on two eval sets of the questions of ASKED, which lie beside it."""
    folder = tmp_path_factory.mktemp("promotion")
    shutil.copytree(sample_store().root, folder / "store")
    store, hashing = Store(folder / "store"), open_embedder("hashing")
    files = ("MDLZ_10-K_FY2025.pdf", "ALL_10-Q_2024Q3.htm")
    _bring_in(store, [str(receive_file(store, SAMPLE / name).source_id) for name in files])
    pipeline.build_manifest(store)
    pipeline.publish_index(store, hashing)
    paths = [ROOT / "eval_sets" / f"{name}.jsonl" for name in set_names(ROOT / "eval_sets")]
    shipped = {one.id: one for path in paths for one in read_set(path).questions}
    full = read_configuration(ROOT / "eval_configs" / "full.toml")
    for name, ids in ASKED.items():
        path = folder / "sets" / f"{name}.jsonl"
        write_set(path, [shipped[one] for one in ids])
        evaluate(store, read_set(path), full, hashing, with_ragas=False, current=False)
    return folder


@pytest.fixture
def own(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A copy of that store."""
    shutil.copytree(sound / "store", tmp_path / "store")
    monkeypatch.setenv("FINRAG_EVAL_SETS", str(sound / "sets"))
    return Store(tmp_path / "store")


def _runner(store: Store, embedder: EmbedderResource | None = None) -> LocalRunner:
    resource = embedder or EmbedderResource(spec="hashing")
    return LocalRunner(
        store, build_defs(store=StoreResource(uri=str(store.root)), embedder=resource), instance_of(store)
    )


def _checks(runner: LocalRunner) -> list[dg.AssetCheckEvaluation]:
    key = dg.AssetCheckKey(dg.AssetKey("index_evaluation"), "guarded_figures_hold")
    records = runner.instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    return [r.event.dagster_event.event_specific_data for r in records if r.event and r.event.dagster_event]  # type: ignore[misc]


def test_shuffled_embeddings_are_stopped_at_the_embedding_and_only_force_lets_them_answer(own: Store) -> None:
    before = current_version(own)
    shutil.rmtree(
        own.path("evaluations")
    )  # the version that answers is evaluated when that is needed, by its own model
    runner = _runner(own, ShuffledResource())
    for source_id in sorted(read_catalog(own).sources):
        pipeline.embed(own, source_id, Shuffled())  # type: ignore[arg-type]
    outcome = runner.publish()
    planted = published_version(own)
    assert outcome.error and "guarded_figures_hold" in outcome.error
    assert planted != before == current_version(own), "published, and not promoted"
    verdict = read_verdict(own, planted or "")
    assert verdict and not verdict.passed and verdict.previous == before
    first = verdict.falls[0]
    assert first.figure == "vector_recall@10" and first.stage.startswith("embedding")
    assert "vector_recall@10 fell from" in str(first) and set(first.questions) <= {
        q for ids in ASKED.values() for q in ids
    }
    (check,) = _checks(runner)
    assert not check.passed and check.severity == dg.AssetCheckSeverity.ERROR
    assert not awaits_promotion(own), "it was decided on: another ingest does not try again"
    assert current_evaluations(own) == (), "a version that does not answer is not what reports show"
    assert runner.promote().error
    forced = runner.promote(force=True)
    assert forced.error is None and forced.metadata["current_index"]["forced"] is True
    assert current_version(own) == planted
    assert runner.roll_back().error is None
    assert current_version(own) == before
    event = runner.instance.get_latest_materialization_event(dg.AssetKey("current_index"))
    assert event and event.asset_materialization
    assert event.asset_materialization.metadata["index_version"].value == before


def test_an_index_without_phrases_is_stopped_at_the_lexical_index(own: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("shard", "build"):
        monkeypatch.setattr(f"finrag_pipelines.indexing.{module}.SCHEMA", "planted: no phrases")
    monkeypatch.setattr("finrag_pipelines.indexing.shard.phrases", lambda words: [])
    monkeypatch.setenv("FINRAG_STORE", str(own.root))
    monkeypatch.setenv("FINRAG_EMBEDDER", "hashing")
    before = current_version(own)
    told = CliRunner().invoke(finrag, ["ingest"])
    planted = published_version(own) or ""
    assert (told.exit_code, current_version(own), planted != before) == (1, before, True)
    assert f"index {planted[:12]} is published, and was not promoted" in told.output
    assert "lexical_mrr fell from" in told.output and "finrag eval promote --force" in told.output
    again = CliRunner().invoke(finrag, ["ingest"])
    assert again.exit_code == 1 and "was not promoted" in again.output, "it stays said while it is so"
    verdict = read_verdict(own, planted)
    assert verdict and verdict.falls[0].stage.startswith("indexing: the lexical channel")
    assert verdict.falls[0].figure == "lexical_mrr"


def test_a_broken_section_rule_is_stopped_at_parsing(own: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from finrag_pipelines.parsing.sections import find

    found = find.find_sections

    def shifted(layout: Any, form: str | None) -> Any:
        """Every section under the key of the one before it."""
        sections, headings = found(layout, form)
        keys = [one.key for one in sections]
        moved = [dataclasses.replace(one, key=key) for one, key in zip(sections, [*keys[-1:], *keys], strict=False)]
        return tuple(moved), headings

    monkeypatch.setattr(find, "find_sections", shifted)
    monkeypatch.setattr("finrag_pipelines.parsing.parse.PARSER", "planted: sections off by one")
    before = current_version(own)
    _bring_in(own, ["MDLZ_10-K_FY2025"])
    assert _runner(own).publish().error
    assert current_version(own) == before
    verdict = read_verdict(own, published_version(own) or "")
    assert verdict
    first = verdict.falls[0]
    assert (first.set_name, first.figure, first.questions) == ("prose", "gold_in_scope", ("staples-09",))
    assert first.stage.startswith("parsing: sections")


def test_a_sound_version_answers_by_itself_and_can_be_gone_back_from(own: Store, tmp_path: Path) -> None:
    before, runner = current_version(own), _runner(own)
    notice = tmp_path / "notice.md"
    notice.write_text("# Harbour Street Fund\n\nAnnouncement of 3 May 2023\n\nThe fund changes its benchmark index.\n")
    notice.with_name("notice.md.meta.json").write_text(
        '{"company": "HSF", "form": "fund_announcement", "filed": "2023-05-03"}'
    )
    _bring_in(own, [str(receive_file(own, notice).source_id)])
    pipeline.build_manifest(own)
    pipeline.publish_index(own, open_embedder("hashing"), promote=False)
    assert (published_version(own) != before, current_version(own), awaits_promotion(own)) == (True, before, True)
    outcome = runner.promote()
    assert outcome.error is None
    assert outcome.metadata["index_evaluation"]["compared_on"] == ["figures", "prose"]
    assert current_version(own) == published_version(own)
    assert ("HSF_announcement_2023-05-03", 1) in pipeline.published_versions(own)
    assert runner.roll_back().error is None and current_version(own) == before
    assert not awaits_promotion(own), "who goes back means it"


@pytest.mark.slow
def test_questions_about_documents_that_changed_are_left_out_of_the_comparison_and_said(
    own: Store, tmp_path: Path
) -> None:
    name = "UNH_10-Q_2024Q3.htm"
    shutil.copy(SAMPLE / name, tmp_path / name)
    content = (tmp_path / name).read_text("utf-8")
    (tmp_path / name).write_text(content.replace("medical care ratio", "medical cost share"), "utf-8")
    _bring_in(own, [str(receive_file(own, tmp_path / name).source_id)])
    runner = _runner(own)
    assert runner.publish().error is None
    verdict = read_verdict(own, current_version(own) or "")
    assert verdict and verdict.passed
    assert any("1 question(s) left out" in one and "insurers-08" in one for one in verdict.notes)


def test_the_first_version_answers_without_waiting_and_without_a_set_nothing_is_guarded(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINRAG_EVAL_SETS", str(ROOT / "eval_sets"))
    runner = _runner(store)
    for number in (3, 4):
        notice = tmp_path / f"{number}.md"
        notice.write_text(f"# Harbour Street Fund\n\nAnnouncement of {number} May 2023\n\nIt changes its benchmark.\n")
        notice.with_name(f"{number}.md.meta.json").write_text(
            f'{{"company": "HSF", "form": "fund_announcement", "filed": "2023-05-0{number}"}}'
        )
        _bring_in(store, [str(receive_file(store, notice).source_id)])
        assert runner.publish().error is None
        assert current_version(store) == published_version(store)
        verdict = read_verdict(store, current_version(store) or "")
        assert verdict
        if number == 3:
            assert "no other version" in verdict.reason
    assert verdict.reason == "nothing is guarded: no eval set was compared"
    assert verdict.notes and verdict.notes[0].startswith("skipped access, consumer_staples")


def test_there_is_nothing_to_roll_back_to_in_a_new_store(store: Store) -> None:
    assert "nothing to go back to" in (_runner(store).roll_back().error or "")


def test_a_set_is_skipped_whose_sources_or_principals_the_catalog_lacks(own: Store) -> None:
    catalog = read_catalog(own)
    sets = [read_set(ROOT / "eval_sets" / f"{name}.jsonl") for name in ("access", "insurers", "unanswerable")]
    found = applicable(sets, catalog)
    assert [one.name for one in found.sets] == ["access", "unanswerable"]
    assert len(found.skipped) == 1 and "AIG_10-Q_2024Q3" in found.skipped[0]
    stranger = EvalSet(
        "of_another", "x", (Question("q", "?", False, principal="nobody", refusal_code="SCOPE.uncovered"),)
    )
    assert "asks as nobody" in applicable([stranger], catalog).skipped[0]
    assert applicable(sets[1:], catalog).sets == (), "a set without gold evidence goes with the sets beside it"


def test_guards_are_a_file_that_can_be_replaced_and_is_read_strictly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINRAG_EVAL_SETS", str(tmp_path))
    shipped = read_guards(guards_path())
    assert [one.figure for one in shipped][:3] == ["gold_in_index", "gold_in_scope", "vector_recall@10"]
    assert all(": " in one.stage and one.tolerance >= 0 for one in shipped)
    own = tmp_path / "guards.toml"
    own.write_text('[[guard]]\nfigure = "right_code"\nstage = "answering: codes"\ntolerance = 0.2\n')
    assert [(one.figure, one.tolerance) for one in read_guards(guards_path())] == [("right_code", 0.2)]
    for text in ("[[guard]]\nfigure = 1\n", '[[guard]]\nfigure="a"\nstage="b"\ntolerance=-1\n', "guard = ["):
        own.write_text(text)
        with pytest.raises(GuardError, match=r"guards\.toml"):
            read_guards(own)
