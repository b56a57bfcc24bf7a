"""Erasure: nothing of a document is left in any file, everything else stands, and whoever is killed can be followed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from finrag_pipelines import pipeline
from finrag_pipelines.answering.disclosure import disclose
from finrag_pipelines.answering.run import AnswerSettings, answer_and_record
from finrag_pipelines.catalog.access import PUBLIC_PRINCIPAL
from finrag_pipelines.catalog.catalog import CatalogError, ErasedError, read_catalog
from finrag_pipelines.catalog.lifecycle import suspend
from finrag_pipelines.catalog.log import check_log
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.embedding.hashing import HashingEmbedder
from finrag_pipelines.evidence import read_answer, read_records, verify, write_answers
from finrag_pipelines.evidence.blank import blank_paths
from finrag_pipelines.evidence.records import ERASED, Sealed
from finrag_pipelines.evidence.verify import erased_answers
from finrag_pipelines.evidence.write import read_run, write_run
from finrag_pipelines.indexing.publication import current_version, published_version, replaced_by, resolve_version
from finrag_pipelines.indexing.vectors import VectorTable
from finrag_pipelines.ingestion.receive import receive_file
from finrag_pipelines.lifecycle.erase import ErasureReport, search_for
from finrag_pipelines.lifecycle.passages import Passages
from finrag_pipelines.lifecycle.retention import Due, RetentionError, Rules, due, read_rules
from finrag_pipelines.lifecycle.search import Hit, search
from finrag_pipelines.lifecycle.verification import stated_passages, verify_erasures
from finrag_pipelines.retrieval.search import open_index
from finrag_pipelines.storage import Store, abandoned_files, write_file
from finrag_pipelines.storage.database import database
from finrag_pipelines.withdrawal import apply_rules, erase, erasures_of, finish_erasures, publish_at_once
from finrag_pipelines_tests.erasure_corpus import Notice, files_with, ingest

NOTICES = [Notice(number) for number in range(6)]
GONE, OTHERS = NOTICES[2], [one for one in NOTICES if one.number != 2]
QUOTING = f"What does {GONE.name} say on {GONE.canaries[0]}?"
PACKAGE = Path(__file__).resolve().parents[1] / "finrag_pipelines"
WRITE_POINTS = sorted(
    {
        point
        for path in PACKAGE.rglob("*.py")
        for point in re.findall(r'crash_point\("((?:lifecycle|storage)\.[^"]+)"\)', path.read_text())
    }
)


@pytest.fixture(scope="module", autouse=True)
def hashing() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINRAG_EMBEDDER", "hashing")
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, hashing: None) -> Path:
    """A folder with notices in `in`, and in `store` their index in two versions with answers about all of them."""
    folder = tmp_path_factory.mktemp("erasure")
    store = Store(folder / "store")
    ingest(store, [one.write(folder / "in") for one in NOTICES[:4]])
    ingest(store, [one.write(folder / "in") for one in NOTICES[4:]])
    questions = [*(one.question for one in (NOTICES[0], NOTICES[5])), QUOTING]
    answers = answer_and_record(store, open_embedder(), "asked", questions)
    assert all(GONE.source_id in {c.source_id for c in answers[at].citations} for at in (0, 2))
    assert set(files_with(store, GONE.canaries[:1])) >= {"evidence/asked.parquet", "finrag.duckdb"}
    return folder


@dataclass(frozen=True)
class Erased:
    """A store before and after an erasure; tests read it and leave it as it is."""

    store: Store
    report: ErasureReport
    records: dict[str, Sealed]
    versions: tuple[str | None, str | None]


@pytest.fixture(scope="module")
def erased(made: Path) -> Erased:
    shutil.copytree(made / "store", made / "erased", ignore=shutil.ignore_patterns("*.lock"))
    store = Store(made / "erased")
    before = {one.answer_id: one for one in read_records(store)}
    versions = current_version(store), published_version(store)
    return Erased(store, erase(store, [GONE.source_id], "asked for"), before, versions)


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Store:
    """A copy of that store, which a test may change."""
    shutil.copytree(made / "store", tmp_path / "store", ignore=shutil.ignore_patterns("*.lock"))
    return Store(tmp_path / "store")


def is_gone(store: Store, *notices: Notice) -> bool:
    words = [word for one in notices or (GONE,) for word in one.canaries]
    assert files_with(store, words) == {}
    return True


def test_an_erased_source_is_in_no_file_and_everything_else_stands(erased: Erased) -> None:
    store, report = erased.store, erased.report
    assert report.is_done and report.searched.passages > 10 and report.searched.unopened == ()
    assert is_gone(store)
    assert len(report.versions_replaced) == 2 and current_version(store) not in erased.versions
    assert verify(store) == [] and check_log(store)
    before, after = erased.records, {one.answer_id: one for one in read_records(store)}
    assert after["asked-0002"] == before["asked-0002"]
    assert set(erased_answers(store)) == set(report.answers) == {"asked-0001", "asked-0003"}
    assert [after[name].record_hash for name in sorted(after)] == [before[name].record_hash for name in sorted(before)]
    for one in OTHERS:
        assert set(files_with(store, one.canaries[:1])), one
    assert len(VectorTable(store, open_embedder().model_digest).sets()) == len(OTHERS)


def test_a_record_keeps_the_sentences_of_other_sources_and_says_erased(erased: Erased) -> None:
    record = read_answer(erased.store, "asked-0001")
    quotes = {one.source_id: one.quote for one in record.citations}
    assert quotes.pop(GONE.source_id) == ERASED
    assert len(quotes) == 4 and ERASED not in quotes.values()
    assert (record.answer, record.question) == (ERASED, NOTICES[0].question)
    assert read_answer(erased.store, "asked-0003").question == ERASED
    shown = disclose(erased.store, record, PUBLIC_PRINCIPAL)
    assert shown.decision == "answered" and ERASED not in shown.answer
    assert {one.source_id for one in shown.citations} == set(quotes)


def test_the_database_is_rewritten_and_holds_what_the_records_hold(erased: Erased) -> None:
    query = "SELECT quote FROM evidence.citations WHERE source_id = ?"
    with database(erased.store) as connection:
        rows = connection.execute(query, [GONE.source_id]).fetchall()
        state = connection.execute(
            "SELECT availability, title FROM catalog.sources WHERE source_id = ?", [GONE.source_id]
        )
        assert state.fetchall() == [("erased", None)]
    assert {row[0] for row in rows} == {ERASED}


def test_erased_bytes_and_their_text_in_other_bytes_are_not_taken_again(
    erased: Erased, made: Path, tmp_path: Path
) -> None:
    store, name = erased.store, f"{GONE.canaries[5]}.md"
    before = read_catalog(store).sequence
    receipt = receive_file(store, made / "in" / name)
    assert receipt.code == "erased" and f"as part of {GONE.source_id}" in (receipt.message or "")
    shutil.copytree(made / "in", tmp_path / "in")
    with (tmp_path / "in" / name).open("a") as stream:
        stream.write("\n\n")
    receipt = receive_file(store, tmp_path / "in" / name)
    assert receipt.code == "erased" and "in other bytes" in (receipt.message or "")
    assert read_catalog(store).sequence == before
    assert is_gone(store)


def test_a_name_of_an_old_index_version_leads_to_the_one_without_the_source(erased: Erased) -> None:
    store, old = erased.store, erased.versions[0]
    assert old
    assert replaced_by(store, old[:12]) == resolve_version(store, old) == current_version(store)
    index = open_index(store, old[:12], open_embedder())
    found = {one.fragment.source_id for one in index.search(GONE.name, k=50).results}
    assert found == {one.source_id for one in NOTICES[:5]} - {GONE.source_id}


def test_later_proof_works_by_hashes_and_by_a_copy_that_somebody_has(erased: Erased, made: Path) -> None:
    store, copy = erased.store, made / "in" / f"{GONE.canaries[5]}.md"
    erasures = erasures_of(store, [GONE.source_id])
    nothing = stated_passages([], [])
    assert verify_erasures(store, erasures, stated_passages([copy], GONE.canaries)).is_clean
    planted = store.path("objects", "x")
    shutil.copy(copy, planted)
    assert [hit.place for hit in verify_erasures(store, erasures, nothing).searched.hits] == ["the document itself"]
    planted.write_text(f"and {GONE.canaries[1]} again")
    found = verify_erasures(store, erasures, stated_passages([], [GONE.canaries[1]])).searched.hits
    assert found == (Hit("objects/x", "bytes", 1),)
    planted.unlink()
    assert verify_erasures(store, erasures, nothing).is_clean
    with pytest.raises(CatalogError, match="was not erased"):
        erasures_of(store, [NOTICES[0].source_id])


# Every eight words of it hold two or three terms, and those stand in a row in the other one.
THIN = [
    "What we have is the revenue of it. This was more than it is. All of them had their cash. ".strip(),
    "Their own view on these: margin. Who did it, and how, was with the board. They were for it as you may be. ",
]
THICK = (
    "The revenue cash margin board note of {name} is about copper smelters near lake {name}, bought by trustee {name}."
)
CYRILLIC = "Жар-птица: совет директоров завода Жарптица решил продать литейный цех и выплатить особый дивиденд в марте."
CHINESE = "董事会决议出售位于苏州的铸造车间,并于三月派发特别股息,受托人为金凤凰信托公司。"


def _write(folder: Path, company: str, body: str, form: str = "memo") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{company}.md"
    path.write_text(f"# Note of {company}\n\n{body}\n", "utf-8")
    sidecar = {"company": company, "company_name": company, "form": form, "filed": "2024-05-01"}
    path.with_name(f"{path.name}.meta.json").write_text(json.dumps(sidecar))
    return path


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory, hashing: None) -> Path:
    """A folder with notes in `in` and their index in `store`: two that share phrases, two in other alphabets."""
    folder = tmp_path_factory.mktemp("said")
    notes = {
        "ALDER": f"{''.join(THIN)}\n\n{THICK.format(name='alderzz')}",
        "BIRCH": f"{THICK.format(name='birchzz')}\n\nRevenue cash. Cash view. View margin. Margin board.",
        "CEDAR": CYRILLIC,
        "DOGWOOD": CHINESE,
    }
    ingest(Store(folder / "store"), [_write(folder / "in", name, body) for name, body in notes.items()])
    return folder


@pytest.mark.parametrize("company", ["ALDER", "BIRCH", "CEDAR", "DOGWOOD"])
def test_an_erasure_ends_though_others_use_the_same_terms_and_would_find_what_is_left(
    said: Path, tmp_path: Path, company: str
) -> None:
    shutil.copytree(said / "store", tmp_path / "store", ignore=shutil.ignore_patterns("*.lock"))
    store, copy = Store(tmp_path / "store"), said / "in" / f"{company}.md"
    source_id = next(name for name in read_catalog(store).sources if name.startswith(company))
    contents = frozenset(one.content_sha256 for one in read_catalog(store).source(source_id).received)
    before = search_for(store, contents)
    assert "term sequences" in {hit.place for hit in before.hits}, "terms are searched for too"
    lost = next(store.path("fragments", source_id).glob("*.parquet")).read_bytes()
    report = erase(store, [source_id])
    assert report.is_done and report.searched.hits == () and report.searched.untold == ()
    write_file(store.path("left", "words.parquet"), lost)
    found = verify_erasures(store, erasures_of(store, [source_id]), stated_passages([copy], []))
    assert not found.is_clean and {hit.path for hit in found.searched.hits} == {"left/words.parquet"}


def test_words_of_other_alphabets_are_searched_for_also_where_json_escapes_them(erased: Erased) -> None:
    planted = erased.store.path("objects", "y")
    try:
        for text, word in ((CYRILLIC, "завода ЖАРПТИЦА"), (CHINESE, "金凤凰信托公司"), ("Straße 12", "STRASSE 12")):
            for content in (text, json.dumps([text])):
                planted.write_text(content, "utf-8")
                found = verify_erasures(erased.store, erasures_of(erased.store, []), stated_passages([], [word]))
                assert found.searched.hits == (Hit("objects/y", "bytes", 1),), (word, content)
    finally:
        planted.unlink()


def test_what_cannot_be_searched_for_does_not_count_as_clean(erased: Erased, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no words to search for"):
        stated_passages([], ["… – !"])
    shared = stated_passages([], ["Past performance does not predict future results"])
    found = verify_erasures(erased.store, erasures_of(erased.store, []), shared)
    assert found.searched.untold == tuple(shared) and not found.searched.hits and not found.is_clean
    (tmp_path / "unsigned.md").write_text(f"and then {GONE.canaries[0]} went to sea in a boat of green")
    nameless = stated_passages([tmp_path / "unsigned.md"], [])
    assert verify_erasures(erased.store, erasures_of(erased.store, []), nameless).is_clean


@pytest.mark.slow
def test_everything_can_be_erased_and_something_else_come(store: Store, tmp_path: Path) -> None:
    report = erase(store, [one.source_id for one in NOTICES])
    assert report.is_done and is_gone(store, *NOTICES)
    assert open_index(store, None, open_embedder()).search("benchmark index").results == ()
    record = answer_and_record(store, open_embedder(), "later", [NOTICES[0].question])[0]
    assert record.decision == "refused"
    other = Notice(40)
    ingest(store, [other.write(tmp_path / "in")])
    assert answer_and_record(store, open_embedder(), "again", [other.question])[0].decision == "answered"
    assert verify(store) == []


@pytest.mark.slow
def test_publishing_after_an_erasure_is_recorded_though_nothing_has_to_be_built(store: Store) -> None:
    erase(store, [GONE.source_id])
    assert publish_at_once(store, open_embedder()) is not None
    assert publish_at_once(store, open_embedder()) is None
    assert verify(store, published=pipeline.published_versions(store)) == []


def test_an_unknown_source_erases_nothing(store: Store) -> None:
    before = read_catalog(store).sequence
    with pytest.raises(CatalogError, match="no source is called 'NO_SUCH'"):
        erase(store, [GONE.source_id, "NO_SUCH"])
    assert read_catalog(store).sequence == before


@pytest.mark.slow
def test_what_another_source_says_too_stays_for_it(store: Store, tmp_path: Path) -> None:
    twin = Notice(2).write(tmp_path / "in")
    sidecar = json.loads(twin.with_name(f"{twin.name}.meta.json").read_text())
    twin.write_text(twin.read_text().replace("Past performance", "Past success"))
    twin.with_name(f"{twin.name}.meta.json").write_text(json.dumps({**sidecar, "company": "TWIN"}))
    twin.rename(twin.with_name("twin.md"))
    twin.with_name(f"{twin.name}.meta.json").rename(twin.with_name("twin.md.meta.json"))
    ingest(store, [twin.with_name("twin.md")])
    report = erase(store, [GONE.source_id])
    assert report.is_done
    assert receive_file(store, twin.with_name("twin.md")).source_id == "TWIN_announcement_2023-05-01"
    assert "objects" in {name.split("/")[0] for name in files_with(store, GONE.canaries[:1])}
    assert verify(store) == []


@pytest.mark.slow
@pytest.mark.parametrize("place", ["evidence/note.txt", "edgar_cache/bodies/x", "fragments/left.parquet", "a/b.npy"])
def test_what_is_left_is_found_by_the_search_of_the_erasure(store: Store, place: str) -> None:
    import numpy as np
    import polars as pl

    path = store.path(place)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = next(one for one in GONE.write(store.root.parent / "copy").read_text().split("\n") if "fee" in one)
    if path.suffix == ".parquet":
        pl.DataFrame({"kept": [text]}).write_parquet(path)
    elif path.suffix == ".npy":
        np.save(path, np.array([text]))
    else:
        path.write_text(json.dumps({"said": f"so: \u2019 {text}"}))
    report = erase(store, [GONE.source_id])
    assert not report.is_done and {hit.path for hit in report.searched.hits} == {place}
    assert not read_catalog(store).may_read(PUBLIC_PRINCIPAL, GONE.source_id)
    path.unlink()
    assert erase(store, [GONE.source_id]).is_done and is_gone(store)


def test_the_search_reads_through_every_engine(store: Store) -> None:
    found = search(store, Passages.stated([GONE.canaries[1]]))
    places = {(hit.path.split("/")[0], hit.place) for hit in found.hits}
    assert places >= {
        ("objects", "bytes"),
        ("representations", "bytes"),
        ("fragments", "column text"),
        ("lexical", "document store"),
        ("lexical", "term sequences"),
        ("evidence", "column texts"),
        ("finrag.duckdb", "table evidence.citations"),
    }
    assert found.unopened == ()


def test_a_text_that_is_blank_without_an_erasure_is_a_difference(store: Store) -> None:
    records = read_run(store, "asked")
    texts = {path: ("", "") if path == "answer" else one for path, one in records[1].texts.items()}
    write_run(store, "asked", (records[0], type(records[1])(**{**vars(records[1]), "texts": texts}), records[2]))
    assert any(one.where == "texts" and "no erasure" in one.what for one in verify(store))


@pytest.mark.slow
def test_an_answer_that_was_under_way_is_written_without_what_was_erased(store: Store) -> None:
    record = read_answer(store, "asked-0001")
    erase(store, [GONE.source_id])
    late = type(record)(**{**vars(record), "answer_id": "", "run_id": ""})
    write_answers(store, "late", [late])
    assert is_gone(store) and blank_paths(read_run(store, "late")[0])
    assert verify(store) == []


@pytest.mark.slow
def test_a_chain_that_was_under_way_leaves_nothing(store: Store, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = pipeline.write_fragments
    version = read_catalog(store).source(GONE.source_id).current
    assert version
    pipeline.fragments_path(store, version).with_suffix(".json").unlink()

    def erased_before(path: Path, fragments: Any) -> None:
        erase(store, [GONE.source_id])
        write(path, fragments)

    monkeypatch.setattr(pipeline, "write_fragments", erased_before)
    with pytest.raises(ErasedError):
        pipeline.fragment(store, GONE.source_id)
    assert is_gone(store)
    with pytest.raises(ErasedError):
        pipeline.represent(store, GONE.source_id)


@pytest.mark.slow
def test_bytes_that_are_erased_while_they_are_received_leave_nothing(
    store: Store, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import finrag_pipelines.ingestion.receive as module

    put = Store.put_object

    def erased_before(self: Store, content: bytes) -> str:
        erase(store, [GONE.source_id])
        return put(self, content)

    monkeypatch.setattr(module.Store, "put_object", erased_before)
    assert receive_file(store, made / "in" / f"{GONE.canaries[5]}.md").code == "erased"
    assert is_gone(store)


@pytest.mark.slow
def test_what_a_dead_writer_left_half_written_goes_and_what_a_live_one_writes_stays(store: Store) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    dead = store.path("objects", f".tmp-{process.pid}-x")
    live = store.path("objects", f".tmp-{os.getpid()}-x")
    dead.write_text(GONE.canaries[0])
    live.write_text("of somebody at work")
    erase(store, [GONE.source_id])
    assert is_gone(store) and live.exists()


def test_a_temporary_file_is_older_than_whoever_has_its_number_now(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        new, reused = (tmp_path / f".tmp-{process.pid}-{one}" for one in ("new", "reused"))
        own, old = (tmp_path / f".tmp-{os.getpid()}-{one}" for one in ("own", "old"))
        for path in (new, reused, own, old):
            path.write_text("x")
        now = time.time()
        os.utime(reused, (now - 3600, now - 3600))
        os.utime(old, (now - 2 * 86_400, now - 2 * 86_400))
        gone = {reused, old} if Path("/proc/stat").exists() else {old}
        assert set(abandoned_files(tmp_path)) == gone


@pytest.mark.slow
def test_a_shard_and_vectors_that_no_version_names_any_more_go_too(store: Store) -> None:
    old, current = sorted(path.parent.name for path in store.path("index").glob("*/index.json")), current_version(store)
    description = store.path("index", next(one for one in old if one != current), "index.json")
    shards = {name for _, _, name in json.loads(description.read_bytes())["shards"]}
    description.unlink()
    for name in shards:
        store.path("lexical", name, "shard.json").unlink()
    assert erase(store, [GONE.source_id]).is_done
    assert is_gone(store)
    assert verify(store) == []


@pytest.mark.slow
def test_old_versions_go_by_their_own_rule_and_the_newest_stays(store: Store, tmp_path: Path) -> None:
    path = NOTICES[0].write(tmp_path / "in")
    path.write_text(path.read_text().replace(NOTICES[0].canaries[0], "basalt777zz"))
    receive_file(store, path)
    source_id = NOTICES[0].source_id
    pipeline.register(store, source_id)
    pipeline.represent(store, source_id)
    pipeline.fragment(store, source_id)
    pipeline.embed(store, source_id, open_embedder())
    pipeline.build_manifest(store)
    pipeline.publish_index(store, open_embedder())
    now = datetime.now(UTC)
    old = read_catalog(store).source(source_id).versions[0].content_sha256
    rules = Rules(superseded_days=30, keep_cited=False)
    assert due(store, rules, now + timedelta(days=29)) == ()
    in_time = now + timedelta(days=31)
    assert due(store, Rules(superseded_days=30), in_time) == ()  # the answer of the fixture cites it
    assert [one.contents for one in due(store, rules, in_time)] == [(old,)]
    report = apply_rules(store, rules, now=in_time)
    assert report and report.is_done
    assert files_with(store, NOTICES[0].canaries[:1]) == {}
    assert files_with(store, ["basalt777zz"])
    assert due(store, rules, in_time) == ()
    assert verify(store) == []
    answer = answer_and_record(store, open_embedder(), "later", [NOTICES[0].question], AnswerSettings())[0]
    assert source_id in {one.source_id for one in answer.citations}


def test_a_label_rule_erases_by_date_and_a_clock_that_jumps_back_nothing(store: Store) -> None:
    now = datetime.now(UTC)
    suspend(store, NOTICES[1].source_id, "hold")
    rules = Rules({"public": 100}, at_most=20)
    assert due(store, rules, now + timedelta(days=99)) == ()
    found = due(store, rules, now + timedelta(days=101))
    assert {one.source_id for one in found} == {one.source_id for one in NOTICES if one.number != 1}
    assert all(isinstance(one, Due) and one.contents is None and "public stays 100 days" in one.why for one in found)
    before = read_catalog(store).sequence
    with pytest.raises(RetentionError, match="before the newest entry"):
        apply_rules(store, rules, now=now - timedelta(days=400))
    with pytest.raises(RetentionError, match="at_most is 3"):
        apply_rules(store, Rules({"public": 100}, at_most=3), now=now + timedelta(days=101))
    assert read_catalog(store).sequence == before
    assert apply_rules(store, Rules({"research": 1}), now=now + timedelta(days=999)) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Rules()),
        ("superseded_days = 30\n[labels]\nresearch = 730", Rules({"research": 730}, 30)),
        ("labels = 3", "table of days"),
        ("[labels]\nresearch = -1", "whole number"),
        ("superseded_days = true", "whole number"),
        ("oops = 1", "unknown oops"),
        ("=", "is not TOML"),
    ],
)
def test_rules_are_read_from_a_file(tmp_path: Path, text: str, expected: Rules | str) -> None:
    path = tmp_path / "retention.toml"
    assert read_rules(path) == Rules()
    path.write_text(text)
    if isinstance(expected, Rules):
        assert read_rules(path) == expected
    else:
        with pytest.raises(RetentionError, match=expected):
            read_rules(path)


_ERASING = (
    "import sys; from finrag_pipelines.storage import Store; from finrag_pipelines.withdrawal import erase;"
    "erase(Store(__import__('pathlib').Path(sys.argv[1])), sys.argv[2:])"
)


def _killed(store: Store, point: str, *source_ids: str) -> int:
    command = [sys.executable, "-c", _ERASING, str(store.root), *source_ids]
    environment = {**os.environ, "FINRAG_CRASH_AT": point, "FINRAG_EMBEDDER": "hashing"}
    return subprocess.run(command, env=environment, capture_output=True).returncode


QUICK_POINTS = ("lifecycle.after_vectors",)


@pytest.mark.parametrize(
    "point", [one if one in QUICK_POINTS else pytest.param(one, marks=pytest.mark.slow) for one in WRITE_POINTS]
)
def test_an_erasure_that_was_killed_hides_the_source_and_is_finished_by_the_next(store: Store, point: str) -> None:
    assert len(WRITE_POINTS) > 15
    assert _killed(store, point, GONE.source_id) == -signal.SIGKILL
    declared = bool(read_catalog(store).erasures)
    assert declared or point == "storage.before_link"
    index = open_index(store, None, open_embedder())
    found = {one.fragment.source_id for one in index.search(NOTICES[0].question, k=50).results}
    assert NOTICES[0].source_id in found and (GONE.source_id not in found or not declared)
    before = {one.answer_id for one in read_records(store)}
    report = finish_erasures(store) if declared else erase(store, [GONE.source_id])
    assert report is None or report.is_done
    assert is_gone(store)
    assert {one.answer_id for one in read_records(store)} == before
    assert verify(store, published=pipeline.published_versions(store)) == []
    assert all(one.is_done for one in read_catalog(store).erasures)


@pytest.mark.slow
def test_erasing_and_ingesting_at_once_loses_nothing(store: Store, tmp_path: Path) -> None:
    path = Notice(41).write(tmp_path / "in")
    environment = {**os.environ, "FINRAG_STORE": str(store.root), "FINRAG_EMBEDDER": "hashing"}
    commands = (["erase", GONE.source_id, "--yes"], ["ingest", str(path)])
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "finrag_pipelines.cli", *one],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for one in commands
    ]
    for process in running:
        output, _ = process.communicate()
        assert process.returncode == 0, output.decode()
    assert is_gone(store)
    published = {source_id for source_id, _ in pipeline.published_versions(store)}
    assert published == {one.source_id for one in [*OTHERS, Notice(41)]}
    assert verify(store, published=pipeline.published_versions(store)) == []


@pytest.mark.slow
def test_fifty_of_five_hundred_sources_leave_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # nobody is killed here; the disk need not be waited for
    store = Store(tmp_path / "store")
    notices = [Notice(number) for number in range(500)]
    ingest(store, [one.write(tmp_path / "in") for one in notices[:250]])
    ingest(store, [one.write(tmp_path / "in") for one in notices[250:]])
    embedder = HashingEmbedder()
    asked = [notices[number] for number in range(0, 500, 9)]
    answer_and_record(store, embedder, "asked", [one.question for one in asked])
    gone = notices[::10]
    report = erase(store, [one.source_id for one in gone])
    assert report.is_done and report.searched.hits == ()
    assert files_with(store, [word for one in gone for word in one.canaries]) == {}
    assert verify(store) == []
    lost = set(erased_answers(store))
    records = {one.answer_id: one for one in read_records(store)}
    assert lost and len(lost) < len(records)
    left = [one for one in notices if one not in gone]
    assert all(files_with_any(store, left))
    assert {source_id for source_id, _ in pipeline.published_versions(store)} == {one.source_id for one in left}


def files_with_any(store: Store, notices: list[Notice]) -> list[bool]:
    """Tell of each notice whether its bytes are still there."""
    objects = b"".join(path.read_bytes() for path in store.path("objects").iterdir())
    return [one.canaries[0].encode() in objects for one in notices]
