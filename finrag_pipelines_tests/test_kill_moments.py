"""kill -9 at a hundred random moments of receiving, parsing, embedding, publishing and compacting.

Whatever the moment: the store opens, the published index answers, nothing acknowledged is lost, and the same work done
again ends where it would have ended.
"""

import json
import os
import random
import shutil
import signal
import time
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from finrag_pipelines import pipeline
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.catalog.log import check_log
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.evidence.mirrors import catalog_differences
from finrag_pipelines.indexing.publication import current_version
from finrag_pipelines.ingestion.receive import receive_file
from finrag_pipelines.retrieval.search import open_index
from finrag_pipelines.storage import Store
from finrag_pipelines.upkeep import compact_store

pytestmark = pytest.mark.slow
GROUPS, IN_A_GROUP = 10, 10
STATED = {"company": "HSF", "company_name": "Harbour Street Fund", "form": "fund_announcement"}


def _write(folder: Path, number: int, fee: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"notice{number}.md"
    filler = "\n\n".join(f"Paragraph {place} says what the fund may hold in class {place}." for place in range(60))
    path.write_text(f"# Harbour Street Fund\n\nThe management fee of class {number} is {fee} percent.\n\n{filler}\n")
    path.with_name(f"{path.name}.meta.json").write_text(json.dumps({**STATED, "filed": f"2023-05-{number + 1:02}"}))
    return path


def _work(root: str, folder: str, said: "Connection | None" = None) -> None:
    """Bring in a folder, publish and compact, acknowledging each step to `said`."""

    def acknowledge(*what: Any) -> None:
        if said is not None:
            said.send(what)

    store, embedder = Store(Path(root)), open_embedder("hashing")
    acknowledge("begun")
    for path in sorted(Path(folder).glob("*.md")):
        source_id = str(receive_file(store, path).source_id)
        acknowledge("received", source_id, read_catalog(store).source(source_id).received[-1].content_sha256)
    for source_id in pipeline.stale_sources(store, read_catalog(store), embedder.model_digest):
        version = pipeline.register(store, source_id)
        acknowledge("registered", source_id, version.version)
        pipeline.represent(store, source_id)
        pipeline.fragment(store, source_id)
        pipeline.embed(store, source_id, embedder)
    pipeline.build_manifest(store)
    acknowledge("published", pipeline.publish_index(store, embedder).index_version)
    acknowledge("compacted", len(compact_store(store, newest=1, grace=timedelta(0)).versions))


@dataclass(frozen=True)
class Before:
    """A published store of two notices, a folder with one of them changed and two new ones, and how it ought to end:
    index version, published versions, and the seconds that it takes."""

    store: Path
    folder: Path
    index_version: str
    versions: frozenset[tuple[str, int]]
    seconds: float


def _context() -> Any:
    context = get_context("forkserver")
    context.set_forkserver_preload(["finrag_pipelines.pipeline", "finrag_pipelines.ingestion.receive", "lancedb"])
    return context


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Before:
    above = tmp_path_factory.mktemp("kills")
    for number in range(2):
        _write(above / "in", number, "0.45")
    _work(str(above / "store"), str(above / "in"))
    for number, fee in ((1, "0.40"), (2, "0.30"), (3, "0.20")):
        _write(above / "in", number, fee)
    shutil.copytree(above / "store", above / "whole")
    acknowledged, seconds = _killed(above / "whole", above / "in", 120)
    assert acknowledged[-1][0] == "compacted"
    whole = Store(above / "whole")
    return Before(
        above / "store", above / "in", str(current_version(whole)), pipeline.published_versions(whole), seconds
    )


@pytest.mark.parametrize("group", range(GROUPS))
def test_a_kill_at_a_random_moment_leaves_a_store_that_answers_and_goes_on(
    before: Before, tmp_path: Path, group: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rng, reached = random.Random(group), []
    for moment in range(IN_A_GROUP):
        root = tmp_path / f"{group}-{moment}"
        shutil.copytree(before.store, root)
        acknowledged, _ = _killed(root, before.folder, rng.random() * before.seconds)
        reached.append(len(acknowledged))
        store = Store(root)
        _is_whole(store, acknowledged)
        _work(str(root), str(before.folder))
        assert current_version(store) == before.index_version
        assert pipeline.published_versions(store) == before.versions
        assert list(catalog_differences(store, before.versions)) == []
        assert "0.40 percent" in _fee(store, 1)
        assert len(list(store.path("index").glob("*/index.json"))) <= 2, "the newest and the one to go back to"
        shutil.rmtree(root)
    with capsys.disabled():
        print(f"\nkilled after {sorted(reached)} of 10 acknowledged steps", end=" ")


def _killed(root: Path, folder: Path, seconds: float) -> tuple[list[tuple], float]:
    """Run the work in a process of its own and kill it after so many seconds; return what it acknowledged, and for how
    long it worked."""
    context = _context()
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(str(root), str(folder), there))
    process.start()
    there.close()
    acknowledged = [here.recv()]
    begun = time.monotonic()
    process.join(seconds)
    worked = time.monotonic() - begun
    if process.is_alive():
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    try:
        while here.poll():
            acknowledged.append(here.recv())
    except EOFError:
        pass
    return acknowledged, worked


def _is_whole(store: Store, acknowledged: list[tuple]) -> None:
    catalog = read_catalog(store)
    assert check_log(store) == catalog.sequence
    assert "percent" in _fee(store, 0), "what was published answers"
    for what, *said in acknowledged:
        if what == "received":
            assert said[1] in {one.content_sha256 for one in catalog.source(said[0]).received}
        if what == "registered":
            assert len(catalog.source(said[0]).versions) >= said[1]
        if what == "published":
            assert current_version(store) == said[0]


def _fee(store: Store, number: int) -> str:
    index = open_index(store, embedder=open_embedder("hashing"))
    found = index.search(f"management fee of class {number} of the Harbour Street Fund").results
    return next(one.fragment.text for one in found if f"fee of class {number} is" in one.fragment.text)
