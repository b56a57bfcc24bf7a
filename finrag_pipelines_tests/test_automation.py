"""Automation conditions on the real graph, tick by tick: what is asked for, and when nothing is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from finrag_pipelines import pipeline
from finrag_pipelines.build import build_defs
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.defs import automation
from finrag_pipelines.defs.assets import FILING_CHAIN
from finrag_pipelines.defs.resources import EmbedderResource, StoreResource
from finrag_pipelines.storage import Store, project_root
from finrag_pipelines_tests.automation_floor import CHAIN, INDEX, Floor


@pytest.fixture
def floor(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Floor]:
    (tmp_path / "no_sets").mkdir()
    monkeypatch.setenv("FINRAG_EVAL_SETS", str(tmp_path / "no_sets"))
    defs = build_defs(store=StoreResource(uri=str(store.root)), embedder=EmbedderResource(spec="hashing"))
    with dg.DagsterInstance.ephemeral() as instance:
        yield Floor(store, instance, defs)


def test_the_first_sight_of_a_source_asks_for_its_whole_chain_in_one_tick(floor: Floor) -> None:
    source_id = floor.arrive("ALPHA", "one")
    assert floor.tick() == {name: {source_id} for name in CHAIN}
    assert floor.tick() == {}, "while nothing has come of it, it is not asked for again"


def test_new_bytes_ask_for_the_chain_of_their_source_alone_and_equal_ones_for_nothing(floor: Floor) -> None:
    first, other = floor.arrive("ALPHA", "one"), floor.arrive("BETA", "two")
    asked = floor.tick()
    assert asked == {name: {first, other} for name in CHAIN}
    assert floor.run(asked) == [True, True]
    assert [floor.tick(), floor.tick()] == [{name: {None} for name in INDEX}, {}], "one run for what never was built"
    floor.report(first)
    assert floor.tick() == {}, "an equal hash does nothing"
    assert floor.arrive("ALPHA", "three") == first
    asked = floor.tick()
    assert asked == {name: {first} for name in CHAIN}
    assert floor.run(asked) == [True]
    assert [floor.tick(), floor.tick()] == [{}, {"corpus_manifest": {None}}], "a quiet tick first, for others to come"


def test_a_bulk_arrival_becomes_one_index_build(floor: Floor) -> None:
    for number in range(4):
        floor.arrive(f"FUND{number}", f"benchmark {number}")
    asked = floor.tick()
    assert set(asked) == CHAIN, "the manifest waits for chains that are about to run"
    job = floor.defs.resolve_job_def("ingest_filings")
    waiting = [
        floor.instance.create_run_for_job(job_def=job, tags={"dagster/partition": f"FUND{n}_announcement_2023-05-03"})
        for n in (2, 3)
    ]
    floor.run({name: {f"FUND{n}_announcement_2023-05-03" for n in (0, 1)} for name in CHAIN})
    assert [floor.tick() for _ in range(3)] == [{}] * 3, "and for those that are queued"
    for run in waiting:
        floor.instance.delete_run(run.run_id)
    floor.run({name: {f"FUND{n}_announcement_2023-05-03" for n in (2, 3)} for name in CHAIN})
    assert [floor.tick() for _ in range(4)] == [{name: {None} for name in INDEX}, {}, {}, {}]


@pytest.mark.slow
def test_a_chain_that_fails_is_tried_once_more_and_holds_nobody_up(
    floor: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = floor.arrive("ALPHA", "one"), floor.arrive("BETA", "two")
    tries: list[str] = []
    represent = pipeline.represent

    def failing(store: Store, source_id: str) -> Any:
        if source_id == bad:
            tries.append(source_id)
            raise TimeoutError("the disk did not answer")
        return represent(store, source_id)

    monkeypatch.setattr(pipeline, "represent", failing)
    assert floor.run(floor.tick()) == [True, False]
    assert floor.settle() == INDEX
    assert tries == [bad, bad], "once, and once more"
    assert len(read_catalog(floor.store).publications) == 1
    assert floor.tick() == {}
    monkeypatch.setattr(pipeline, "represent", represent)
    floor.arrive("BETA", "four")
    assert floor.settle() == INDEX, "other bytes are tried again"
    assert {source_id for source_id, _ in pipeline.published_versions(floor.store)} == {good, bad}


def test_a_chain_that_failed_by_chance_is_mended_by_the_second_try(
    floor: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    floor.arrive("ALPHA", "one")
    embed, tries = pipeline.embed, []

    def once(*arguments: Any) -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise TimeoutError("the lock is held")
        return embed(*arguments)

    monkeypatch.setattr(pipeline, "embed", once)
    assert floor.settle() == INDEX
    assert len(tries) == 2 and len(pipeline.published_versions(floor.store)) == 1


def test_each_condition_says_why() -> None:
    named = [value for name, value in vars(automation).items() if callable(value) and not name.startswith("_")]
    ours = [one for one in named if getattr(one, "__module__", "") == automation.__name__]
    assert len(ours) >= 6 and all(one.__doc__ for one in ours)
    graph = build_defs().resolve_asset_graph()
    for key in (*FILING_CHAIN, *map(dg.AssetKey, INDEX)):
        condition = graph.get(key).automation_condition
        assert condition is not None and condition.get_label(), key


def test_pools_of_one_limit_edgar_the_embedder_and_the_writer_of_the_database() -> None:
    settings = yaml.safe_load((project_root() / "dagster.yaml").read_text())
    assert settings["concurrency"]["pools"] == {"granularity": "op", "default_limit": 1}
    assert settings["run_monitoring"]["free_slots_after_run_end_seconds"], "slots of killed runs are freed"
    defs = build_defs()
    pools = {
        node.name: node.definition.pool  # type: ignore[attr-defined]
        for job in ("ingest_filings", "publish_index", "poll_edgar", "compact_index")
        for node in defs.resolve_job_def(job).nodes
        if node.definition.pools
    }
    assert pools == {
        "receive_new_filings": "edgar",
        "fragment_embeddings": "embedder",
        "search_index": "duckdb_writer",
        "clear_old_versions": "duckdb_writer",
    }
