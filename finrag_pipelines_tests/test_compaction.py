"""Compaction: what no retained index version needs goes, what answers stays, and a kill at any moment harms nothing."""

import os
import shutil
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from finrag_pipelines.indexing.compaction import compact
from finrag_pipelines.indexing.publication import current_version
from finrag_pipelines.indexing.vectors import VectorTable
from finrag_pipelines.retrieval.search import open_index
from finrag_pipelines.storage import Store, StoreError
from finrag_pipelines_tests.small_corpus import CORPUS, EMBEDDER, build, entry_of, revised

POINTS = (
    "compaction.between_versions",
    "compaction.after_versions",
    "compaction.between_shards",
    "compaction.after_shards",
    "compaction.after_manifests",
    "compaction.between_deletions",
    "compaction.before_files",
)
AT_ONCE = timedelta(0)


@pytest.fixture(scope="module")
def four_versions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, list[str]]:
    store = Store(tmp_path_factory.mktemp("grown") / "store")
    document, versions = CORPUS[0], [build(store, CORPUS)]
    for number in range(3):
        document = revised(document, f"The combined ratio was restated to {80 + number} for the third quarter.")
        versions.append(build(store, (document, *CORPUS[1:])))
    return store, versions


@pytest.fixture
def grown(four_versions: tuple[Store, list[str]], tmp_path: Path) -> tuple[Store, list[str]]:
    """A store with four index versions, the last of which answers."""
    shutil.copytree(four_versions[0].root, tmp_path / "grown")
    return Store(tmp_path / "grown"), four_versions[1]


def _answers(store: Store, version: str | None = None) -> list[tuple[str, float]]:
    found = open_index(store, version, embedder=EMBEDDER).search("combined ratio of Progressive in Q3 2024")
    return [(one.fragment.fragment_id, one.score) for one in found.results]


def _held(store: Store) -> tuple[set[str], set[str], int]:
    versions = {path.parent.name for path in store.path("index").glob("*/index.json")}
    shards = {path.parent.name for path in store.path("lexical").glob("*/shard.json")}
    return versions, shards, sum(VectorTable(store, EMBEDDER.model_digest).sets().values())


def test_what_no_retained_version_needs_is_removed_and_the_rest_answers_as_before(
    grown: tuple[Store, list[str]],
) -> None:
    store, versions = grown
    before, second = _answers(store), _answers(store, versions[1])
    size = _held(store)[2]
    cleared = compact(store, {versions[1]}, AT_ONCE)
    assert set(cleared.versions) == {versions[0], versions[2]} and cleared.shards == 2 and cleared.bytes > 0
    assert _held(store)[0] == {versions[1], versions[3]} and _held(store)[2] == size - cleared.rows
    assert _answers(store) == before and _answers(store, versions[1]) == second
    with pytest.raises(StoreError, match="names 0 versions"):
        open_index(store, versions[0])
    assert compact(store, {versions[1]}, AT_ONCE).bytes == 0, "a second one finds nothing"


def test_a_version_that_was_removed_can_be_built_again(grown: tuple[Store, list[str]]) -> None:
    store, versions = grown
    first = _answers(store, versions[0])
    compact(store, (), AT_ONCE)
    assert build(store, CORPUS) == versions[0]
    assert _answers(store, versions[0]) == first


def test_a_reader_that_was_open_goes_on(grown: tuple[Store, list[str]]) -> None:
    store, _ = grown
    index = open_index(store, embedder=EMBEDDER)
    before = [one.fragment.fragment_id for one in index.search("combined ratio").results]
    index._vector_memory = 0
    index.vectors.sets()
    compact(store, (), AT_ONCE)
    assert [one.fragment.fragment_id for one in index.search("combined ratio").results] == before


def test_small_files_of_many_appends_are_merged(store: Store) -> None:
    for number in range(1, 8):
        build(store, CORPUS[:number])
    table = VectorTable(store, EMBEDDER.model_digest)
    assert table._open().stats()["fragment_stats"]["num_fragments"] > 2
    before = _answers(store)
    compact(store, (), AT_ONCE)
    table = VectorTable(store, EMBEDDER.model_digest)
    assert table._open().stats()["fragment_stats"]["num_fragments"] == 1
    assert _answers(store) == before


def test_the_newest_manifest_keeps_what_it_is_about_to_publish(store: Store) -> None:
    from finrag_pipelines.indexing.build import build_index
    from finrag_pipelines.indexing.manifest import Manifest
    from finrag_pipelines.storage import canonical_json, write_file

    build(store, CORPUS[:2])
    manifest = Manifest(tuple(entry_of(store, document) for document in CORPUS[:3]))
    write_file(
        store.path("manifests", f"{manifest.sha256}.json"), canonical_json([one.record for one in manifest.entries])
    )
    write_file(store.path("manifests", "CURRENT"), canonical_json({"manifest": manifest.sha256}))
    build_index(store, manifest, EMBEDDER)
    held = _held(store)[2]
    cleared = compact(store, (), AT_ONCE)
    assert (cleared.rows, cleared.manifests) == (0, 0) and _held(store)[2] == held


@pytest.mark.parametrize("point", [POINTS[0], *(pytest.param(point, marks=pytest.mark.slow) for point in POINTS[1:])])
def test_a_killed_compaction_leaves_a_store_that_answers_and_is_finished_by_the_next(
    grown: tuple[Store, list[str]], point: str
) -> None:
    store, versions = grown
    before = _answers(store)
    code = (
        "import sys, pathlib\nfrom datetime import timedelta\n"
        "from finrag_pipelines.indexing.compaction import compact\nfrom finrag_pipelines.storage import Store\n"
        "compact(Store(pathlib.Path(sys.argv[1])), (), timedelta(0))\n"
    )
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code, str(store.root)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "FINRAG_CRASH_AT": point},
    )
    assert done.returncode == -signal.SIGKILL
    assert current_version(store) == versions[-1] and _answers(store) == before
    assert build(store, CORPUS) == versions[0], "what was half removed is not taken for whole"
    compact(store, (), AT_ONCE)
    assert _held(store)[0] == {versions[0]}
    assert len(_held(store)[1]) == len(open_index(store).description.shards)
    assert _held(store)[2] == open_index(store).description.fragments
