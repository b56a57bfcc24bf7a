"""The commands and jobs about access, suspension, erasure and retention, as docs/lifecycle.md has them."""

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.cli import Exit
from finrag_pipelines.defs.local import LocalRunner
from finrag_pipelines.indexing.publication import current_version
from finrag_pipelines.pipeline import published_versions
from finrag_pipelines.storage import Store
from finrag_pipelines_tests.erasure_corpus import Notice, files_with, ingest
from finrag_pipelines_tests.test_cli import Finrag, _run

NOTICES = [Notice(0), Notice(1), Notice(5)]
GONE = NOTICES[1]
QUOTING = f"What does {GONE.name} say on {GONE.canaries[0]}?"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("commands")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINRAG_EMBEDDER", "hashing")
        ingest(Store(folder / "store"), [one.write(folder / "in") for one in NOTICES])
        yield folder


@pytest.fixture
def finrag(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Finrag:
    shutil.copytree(made / "store", tmp_path / "store", ignore=shutil.ignore_patterns("*.lock"))
    return Finrag(tmp_path / "store", capsys, monkeypatch)


def test_access_is_granted_labelled_shown_and_revoked(finrag: Finrag) -> None:
    granted = finrag.json("access", "grant", "ann", "research", "desk")
    assert granted["principals"] == {"ann": ["desk", "public", "research"]}
    finrag.json("access", "label", GONE.source_id, "research")
    assert published_versions(Store(finrag.store)) == {(one.source_id, 1) for one in NOTICES}
    assert GONE.source_id not in finrag("search", GONE.question, "--json")
    assert GONE.source_id in finrag("search", GONE.question, "--json", "--principal", "ann")
    finrag("access", "revoke", "ann", "research")
    assert GONE.source_id not in finrag("search", GONE.question, "--json", "--principal", "ann")
    shown = finrag.json("access", "show")
    assert shown["principals"] == {"ann": ["desk", "public"], "public": ["public"]}
    assert {one["source_id"]: one["labels"] for one in shown["sources"]}[GONE.source_id] == ["research"]
    finrag("access", "revoke", "bob", "research", exits=Exit.ERROR)
    assert "no principal is called 'bob'" in finrag.err
    assert "ann" in finrag("access", "show")


@pytest.mark.slow
def test_a_source_is_suspended_and_resumed(finrag: Finrag) -> None:
    before = current_version(Store(finrag.store))
    turned = finrag.json("suspend", GONE.source_id, "--reason", "hold")
    assert turned["changed"] and turned["index_version"] != before
    rows = {one["source_id"]: one for one in finrag.json("sources")["sources"]}
    assert (rows[GONE.source_id]["availability"], rows[GONE.source_id]["reason"]) == ("suspended", "hold")
    finrag("read", GONE.source_id, exits=Exit.ERROR)
    assert "hold" in finrag("sources")
    assert finrag.json("resume", GONE.source_id)["index_version"] == before
    finrag("suspend", "NO_SUCH", exits=Exit.ERROR)
    assert "no source is called" in finrag.err


@pytest.mark.slow
def test_a_source_is_erased_with_the_run_that_quoted_it_and_the_proof_is_asked_for_later(
    finrag: Finrag, made: Path
) -> None:
    store, old = Store(finrag.store), current_version(Store(finrag.store))
    asked = finrag.json("ask", QUOTING)
    assert any(name.startswith("dagster/") for name in files_with(store, GONE.canaries))
    finrag("erase", GONE.source_id, exits=Exit.USAGE)
    assert "--yes" in finrag.err
    report = finrag.json("erase", GONE.source_id, "--yes", "--reason", "asked for")
    assert report["is_done"] and report["runs_forgotten"] == 1
    assert files_with(store, GONE.canaries) == {}
    evidence = finrag.json("evidence", asked["answer_id"], exits=0)
    assert evidence["answer"]["refusal_code"] == "ACCESS.withdrawn"
    assert finrag.json("verify")["erased"] == [asked["answer_id"]]
    finrag("search", NOTICES[0].question, "--index-version", old or "")
    assert f"{(old or '')[:12]} was replaced by" in finrag.err and "erasure" in finrag.err
    copy = made / "in" / f"{GONE.canaries[5]}.md"
    assert "nothing is left" in finrag("erase", "--verify", GONE.source_id, "--file", str(copy))
    (finrag.store / "note").write_text(GONE.canaries[1])
    found = finrag.json("erase", "--verify", "--text", GONE.canaries[1], exits=Exit.UNVERIFIED)
    assert [one["path"] for one in found["searched"]["hits"]] == ["note"]
    finrag("erase", exits=Exit.USAGE)
    finrag("erase", NOTICES[0].source_id, "--text", "x", exits=Exit.USAGE)
    finrag("erase", "--verify", NOTICES[0].source_id, exits=Exit.ERROR)


def test_what_is_due_is_shown_and_applied(finrag: Finrag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = tmp_path / "retention.toml"
    monkeypatch.setenv("FINRAG_RETENTION", str(rules))
    assert finrag.json("retention") == {"due": [], "report": None}
    rules.write_text("[labels]\npublic = 9\n")
    assert finrag.json("retention", "apply") == {"due": [], "report": None}
    rules.write_text("[labels]\npublic = 0\n")
    finrag("retention", exits=Exit.ERROR)
    assert "whole number" in finrag.err
    finrag("retention", "nonsense", exits=Exit.USAGE)


def test_an_erasure_that_stays_open_is_said(finrag: Finrag, made: Path) -> None:
    note = finrag.store / "note.txt"
    copy = (made / "in" / f"{GONE.canaries[5]}.md").read_text()
    note.write_text(next(line for line in copy.split("\n") if "fee" in line))
    finrag("erase", GONE.source_id, "--yes", exits=Exit.UNVERIFIED)
    said = f"the erasure of {GONE.source_id} is not finished"
    assert said in finrag("ingest", exits=Exit.UNVERIFIED)
    found = finrag.json("status")
    assert found["unfinished_erasures"] == [GONE.source_id]
    assert found["next"][0][0] == f"finrag erase {GONE.source_id} --yes"
    doctor = {one["name"]: one for one in finrag.json("doctor", exits=Exit.ERROR)}
    assert not doctor["erasures"]["ok"] and said in doctor["erasures"]["detail"]
    note.unlink()
    finrag("ingest")
    assert finrag.json("status")["unfinished_erasures"] == []
    finrag("erase", "--verify", "--text", "… – !", exits=Exit.USAGE)
    assert "no words" in finrag.err


@pytest.mark.slow
def test_the_next_ingest_finishes_an_erasure_that_was_killed(finrag: Finrag) -> None:
    killed = _run(finrag.store, "erase", GONE.source_id, "--yes", FINRAG_CRASH_AT="lifecycle.after_records")
    assert killed.returncode == -signal.SIGKILL
    assert GONE.source_id not in finrag("search", GONE.question, "--json")
    finrag("erase", "--verify", exits=Exit.UNVERIFIED)
    finrag("ingest")
    assert files_with(Store(finrag.store), GONE.canaries) == {}
    assert "nothing is left" in finrag("erase", "--verify")
    assert finrag.json("verify")["verified"]


@pytest.mark.slow
def test_the_jobs_of_the_ui_do_the_same(finrag: Finrag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(finrag.store)
    runner = LocalRunner.of(store)
    config = {"config": {"source_ids": [GONE.source_id], "reason": "asked for"}}
    assert runner._run("suspend_sources", {"ops": {"withhold": config}}).succeeded
    assert read_catalog(store).source(GONE.source_id).withheld == "is suspended: asked for"
    assert (GONE.source_id, 1) not in published_versions(store)
    assert runner._run("resume_sources", {"ops": {"release": config}}).succeeded
    assert (GONE.source_id, 1) in published_versions(store)
    assert runner._run("erase_sources", {"ops": {"remove": config}}).succeeded
    assert files_with(store, GONE.canaries) == {}
    wrong = {"config": {"source_ids": ["NO_SUCH"]}}
    assert "no source is called" in (runner._run("erase_sources", {"ops": {"remove": wrong}}).error or "")
    monkeypatch.setenv("FINRAG_RETENTION", str(tmp_path / "retention.toml"))
    assert runner._run("apply_retention").succeeded
    assert json.dumps(sorted(published_versions(store))) == json.dumps(
        sorted([one.source_id, 1] for one in NOTICES if one != GONE)
    )


def test_a_run_carries_ids_and_no_words() -> None:
    from finrag_pipelines.build import build_defs

    definitions = build_defs()
    names = {one.name for one in definitions.resolve_all_job_defs()}
    assert {"suspend_sources", "resume_sources", "erase_sources", "apply_retention", "publish_at_once"} <= names
    assert "retention_daily" in {one.name for one in definitions.schedules or ()}
