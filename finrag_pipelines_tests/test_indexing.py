import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from finrag_pipelines.catalog.access import Principal
from finrag_pipelines.indexing.analyzer import STOP_WORDS, phrases, terms
from finrag_pipelines.indexing.build import IndexCheckError, build_index, describe_index
from finrag_pipelines.indexing.manifest import Manifest
from finrag_pipelines.indexing.period_codes import code_label, period_code
from finrag_pipelines.indexing.publication import (
    current_version,
    history,
    promote,
    publish,
    published_version,
    resolve_version,
)
from finrag_pipelines.indexing.shard import RowFilter, Shard, engine_query
from finrag_pipelines.indexing.vectors import VectorFilter, VectorTable
from finrag_pipelines.retrieval.search import open_index
from finrag_pipelines.storage import Store, StoreError
from finrag_pipelines_tests.small_corpus import CORPUS, EMBEDDER, build, entry_of, fragments_of, revised


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with the small corpus built and published, for tests that only read."""
    store = Store(tmp_path_factory.mktemp("built"))
    build(store, CORPUS)
    return store


EVERYTHING = Principal("auditor", frozenset({"public", "research"}))


def manifest_of(store: Store, documents=CORPUS) -> Manifest:
    return Manifest(tuple(entry_of(store, document) for document in documents))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("all combined ratio Q3 2024", ["combined", "ratio", "q3", "2024"]),
        ("Shareholders’ equity was $1,234.5 million (5.2%)", ["shareholder", "equity", "1234.5", "million", "5.2"]),
        ("AT&T's R&D and P&L", ["at&t", "r&d", "p&l"]),
        ("Inventories, dividends, losses, status", ["inventory", "dividend", "losse", "status"]),
        ("基金净值", ["基金", "金净", "净值"]),
        ("", []),
        ("🙂 ' OR 1=1 --", ["1", "1"]),
    ],
)
def test_text_becomes_lower_case_terms_with_numbers_and_without_stop_words(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_the_stop_words_hold_the_word_that_looks_like_a_ticker() -> None:
    assert "all" in STOP_WORDS
    assert len(STOP_WORDS) >= 35


def test_phrases_are_the_bigrams_and_trigrams_of_neighbouring_terms() -> None:
    assert phrases(terms("net written premiums grew")) == [
        "net_written",
        "written_premium",
        "premium_grew",
        "net_written_premium",
        "written_premium_grew",
    ]


@pytest.mark.parametrize("label", ["FY2025", "2025Q1", "2025Q4", "2025Q3YTD"])
def test_a_period_code_stands_for_exactly_one_label(label: str) -> None:
    code = period_code(label)
    assert code is not None
    assert code_label(code) == label


def test_manifest_lexical_and_vector_ids_are_the_same_set(built: Store) -> None:
    version = current_version(built) or ""
    description = describe_index(built, version)
    shards = [Shard(built.path("lexical", name), name) for _, name in description.shards]
    lexical = set().union(*(shard.indexed_ids() for shard in shards))
    codes = [entry.set_code for shard in shards for entry in shard.entries]
    vectors = set().union(*VectorTable(built, EMBEDDER.model_digest).ids(codes).values())
    expected = {fragment.fragment_id for document in CORPUS for fragment in fragments_of(document)}
    assert lexical == vectors == expected
    assert description.fragments == len(expected)
    assert description.sources == len(CORPUS)


def test_each_company_and_label_set_has_one_shard_of_one_segment(built: Store) -> None:
    description = describe_index(built, current_version(built) or "")
    keys = [key for key, _ in description.shards]
    assert keys == sorted(set(keys))
    assert {("KO", ("public",)), ("", ("research",))} <= {(key.company, key.labels) for key in keys}
    for _, name in description.shards:
        shard = Shard(built.path("lexical", name), name)
        assert shard._searcher.num_segments == 1
        assert [shard.fragment(row).fragment_id.encode() for row in range(shard.count)] == list(shard.ids)


def test_building_the_same_manifest_again_changes_nothing(store: Store) -> None:
    version = build(store, CORPUS)
    before = {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file()}
    assert build(store, tuple(reversed(CORPUS))) == version
    after = {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file()}
    assert {p: t for p, t in after.items() if "fragments" not in p.parts and "locks" not in p.parts} == {
        p: t for p, t in before.items() if "fragments" not in p.parts and "locks" not in p.parts
    }


def test_a_clean_build_elsewhere_has_the_same_name(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "elsewhere")
    build(other, CORPUS[:4])
    build(other, (revised(CORPUS[0], "The combined ratio was restated to 89.4."), *CORPUS[1:]))
    assert build(other, CORPUS) == build(store, CORPUS)


def test_a_revised_filing_rebuilds_its_company_s_shard_alone(store: Store) -> None:
    first = describe_index(store, build(store, CORPUS))
    rows = sum(VectorTable(store, EMBEDDER.model_digest).sets().values())
    changed = revised(CORPUS[0], "The combined ratio was restated to 89.4.")
    second = describe_index(store, build(store, (changed, *CORPUS[1:])))
    differing = {key for key, _ in set(first.shards) ^ set(second.shards)}
    assert {key.company for key in differing} == {"PGR"}
    added = sum(VectorTable(store, EMBEDDER.model_digest).sets().values()) - rows
    assert added == len(changed.passages)


def test_an_old_version_answers_as_before(store: Store) -> None:
    first = build(store, CORPUS)
    before = open_index(store, first, EMBEDDER).search("Progressive combined ratio Q3 2024", EVERYTHING)
    second = build(store, (revised(CORPUS[0], "The combined ratio was restated to 89.4."), *CORPUS[1:]))
    again = open_index(store, first, EMBEDDER).search("Progressive combined ratio Q3 2024", EVERYTHING)
    new = open_index(store, second, EMBEDDER).search("Progressive combined ratio Q3 2024", EVERYTHING)
    assert again.results == before.results
    assert "89.4" in new.results[0].fragment.text
    assert "89.0" in again.results[0].fragment.text


def test_vectors_are_not_stored_twice(store: Store) -> None:
    build(store, CORPUS[:3])
    build(store, CORPUS)
    build(store, CORPUS[1:])
    sets = VectorTable(store, EMBEDDER.model_digest).sets()
    assert sum(sets.values()) == sum(len(document.passages) for document in CORPUS)


def test_publishing_moves_both_pointers_and_keeps_the_history(store: Store) -> None:
    first = build(store, CORPUS[:2])
    second = build_index(store, manifest_of(store), EMBEDDER)
    publish(store, second, promote=False)
    assert (published_version(store), current_version(store)) == (second, first)
    promote(store, second)
    assert current_version(store) == second
    promote(store, first)
    publish(store, second)
    publish(store, second)
    moves = [(line.sequence, line.pointer, line.index_version, line.previous) for line in history(store)]
    assert moves == [
        (1, "PUBLISHED", first, None),
        (2, "CURRENT", first, None),
        (3, "PUBLISHED", second, first),
        (4, "CURRENT", second, first),
        (5, "CURRENT", first, second),
        (6, "CURRENT", second, first),
    ]


def test_what_was_never_built_cannot_be_published_or_opened(store: Store) -> None:
    with pytest.raises(StoreError, match="no index is published"):
        open_index(store)
    with pytest.raises(StoreError, match="no index version"):
        publish(store, "0" * 64)
    version = build(store, CORPUS[:1])
    assert resolve_version(store, version[:10]) == version
    for name in ("*", "../..", "", "ffff" * 16):
        with pytest.raises(StoreError, match="version"):
            resolve_version(store, name)


def test_altered_fragments_are_refused(store: Store) -> None:
    entry = entry_of(store, CORPUS[0])
    with pytest.raises(StoreError, match="chunk the source again"):
        build_index(store, Manifest((replace(entry, fragment_set_id="0" * 64),)), EMBEDDER)


def test_one_source_cannot_be_live_in_two_versions(store: Store) -> None:
    with pytest.raises(ValueError, match="PGR_10-Q_2024Q3"):
        manifest_of(store, (CORPUS[0], revised(CORPUS[0], "Another text.")))


def test_a_lost_vector_stops_the_build(store: Store) -> None:
    build(store, CORPUS[:2])
    table = VectorTable(store, EMBEDDER.model_digest)
    lost = fragments_of(CORPUS[0])[0].fragment_id
    table._open().delete(f"fragment_id = '{lost}'")
    with pytest.raises(IndexCheckError, match="PGR_10-Q_2024Q3"):
        build_index(store, manifest_of(store, CORPUS[:3]), EMBEDDER)
    assert describe_index(store, current_version(store) or "").sources == 2


@pytest.mark.parametrize(
    "point",
    [
        "indexing.before_description",
        pytest.param("indexing.after_vectors", marks=pytest.mark.slow),
        pytest.param("storage.before_rename", marks=pytest.mark.slow),
    ],
)
def test_a_killed_build_leaves_the_published_version_and_can_be_repeated(store: Store, point: str) -> None:
    first = build(store, CORPUS[:2])
    manifest_of(store)
    code = (
        "from finrag_pipelines_tests.small_corpus import *\n"
        "import sys, pathlib\n"
        "store = Store(pathlib.Path(sys.argv[1]))\n"
        "manifest = Manifest(tuple(entry_of(store, d) for d in CORPUS))\n"
        "import os; os.environ['FINRAG_CRASH_AT'] = sys.argv[2]\n"
        "publish(store, build_index(store, manifest, EMBEDDER))\n"
    )
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code, str(store.root), point], cwd=root, env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert done.returncode == -signal.SIGKILL
    assert current_version(store) == first
    assert open_index(store, embedder=EMBEDDER).search("combined ratio").results
    version = build(store, CORPUS)
    assert current_version(store) == version
    assert sum(VectorTable(store, EMBEDDER.model_digest).sets().values()) == describe_index(store, version).fragments


def test_filters_of_both_engines_agree_with_the_columns(built: Store) -> None:
    description = describe_index(built, current_version(built) or "")
    shard = next(Shard(built.path("lexical", name), name) for key, name in description.shards if key.company == "KO")
    periods = frozenset({period_code("FY2025")})
    rows = RowFilter(periods=periods)
    kept = {int(row) for row in np.flatnonzero(shard.mask(rows))}
    words = [("words", term, 1.0) for row in range(shard.count) for term in terms(shard.fragment(row).embedded_text)]
    assert set(shard.matching(engine_query(set(words)), rows, 100).tolist()) == kept
    table = VectorTable(built, EMBEDDER.model_digest)
    sets = frozenset(entry.set_code for entry in shard.entries)
    hits = table.search(EMBEDDER.embed(["capital"])[0], VectorFilter(sets, periods), 100)
    assert {shard.row_of(hit.fragment_id) for hit in hits} == kept
    assert {shard.fragment(row).source_id for row in kept} == {"KO_10-K_FY2025"}


def test_vector_search_is_exact_and_settles_ties_by_fragment_id(built: Store) -> None:
    description = describe_index(built, current_version(built) or "")
    table = VectorTable(built, EMBEDDER.model_digest)
    shards = [Shard(built.path("lexical", name), name) for _, name in description.shards]
    sets = frozenset(entry.set_code for shard in shards for entry in shard.entries)
    query = EMBEDDER.embed(["commodity costs"])[0]
    expected = sorted(
        (-float(EMBEDDER.embed([f.embedded_text])[0] @ query), f.fragment_id)
        for document in CORPUS
        for f in fragments_of(document)
    )
    found = [hit.fragment_id for hit in table.search(query, VectorFilter(sets), 10)]
    scores = [-score for score, _ in expected[:10]]
    by_id = {fragment_id: -score for score, fragment_id in expected}
    assert [by_id[name] for name in found] == pytest.approx(scores, abs=1e-6)
    assert found == [hit.fragment_id for hit in table.search(query, VectorFilter(sets), 10)]


def test_a_description_names_model_analyzer_and_schema(built: Store) -> None:
    version = current_version(built) or ""
    value = json.loads(built.path("index", version, "index.json").read_bytes())
    assert value["model_digest"] == EMBEDDER.model_digest
    assert value["analyzer"]
    assert value["schema"]
    assert value["index_version"] == version
