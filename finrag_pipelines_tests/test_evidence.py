"""Evidence records: written whole, chained, mirrored in DuckDB, and any change to them found."""

import dataclasses
import json
import multiprocessing
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from finrag_pipelines.catalog.catalog import define_principal, receive, register_version
from finrag_pipelines.catalog.identity import Identity
from finrag_pipelines.catalog.mirror import mirror_catalog
from finrag_pipelines.evidence import (
    AnswerRecord,
    CitationRow,
    ClaimRow,
    DeliveryRow,
    DisclosureRow,
    EvidenceError,
    GateRow,
    PlanPair,
    canonical_projection,
    read_answer,
    read_records,
    sync_database,
    verify,
    write_answers,
    write_disclosure,
)
from finrag_pipelines.evidence.model import Difference
from finrag_pipelines.evidence.records import ERASED, seal, unseal
from finrag_pipelines.evidence.tables import table_columns
from finrag_pipelines.evidence.write import read_disclosures, read_head
from finrag_pipelines.parsing.model import Element, ElementKind, Kind, ParsedDocument
from finrag_pipelines.parsing.representation_store import write_representation
from finrag_pipelines.storage import Store, sha256_text
from finrag_pipelines.storage.database import database

TEXT = "Net revenue rose to $2,130 million. Cocoa costs weighed on the margin."
QUOTE = "Cocoa costs weighed on the margin."


def record_citing(store: Store, question: str = "What weighed on the margin?") -> AnswerRecord:
    """A record with one citation of a stored representation of stored bytes."""
    content = store.put_object(TEXT.encode())
    document = ParsedDocument(
        TEXT, Kind.TEXT, "test/1", Identity(company="MDLZ"), (Element(ElementKind.PARAGRAPH, 0, len(TEXT)),)
    )
    representation = write_representation(store, content, document)
    start = TEXT.index(QUOTE)
    return AnswerRecord(
        decision="answered",
        principal="public",
        index_version="v1",
        question=question,
        answer=f'Mondelez: "{QUOTE}" [1]',
        timings_ms=(("total", 12.5),),
        plan_pairs=(PlanPair("MDLZ", "2026Q1", True),),
        gates=(GateRow(1, "scope", "deterministic", True),),
        deliveries=(
            DeliveryRow(1, "f1", "S", 1, representation, content, 0, len(TEXT), sha256_text(TEXT), 20, "MDLZ"),
        ),
        claims=(ClaimRow(1, "supported", "", f'Mondelez: "{QUOTE}" [1]'),),
        citations=(
            CitationRow(
                claim=1,
                marker=1,
                fragment_id="f1",
                source_id="S",
                version=1,
                company="MDLZ",
                form="10-Q",
                period="2026Q1",
                section="Part I Item 2",
                speaker=None,
                role=None,
                page_index=3,
                page_label="2",
                start=start,
                end=start + len(QUOTE),
                representation_id=representation,
                representation_type="native_text",
                content_sha256=content,
                quote_sha256=sha256_text(QUOTE),
                quote=QUOTE,
            ),
        ),
    )


def refusal(question: str = "q") -> AnswerRecord:
    return AnswerRecord(
        decision="refused",
        principal="public",
        index_version="v1",
        question=question,
        refusal_code="SCOPE.uncovered",
        refusal_reason="The retrieved evidence does not cover: KO/2026Q1.",
        missing=("KO/2026Q1",),
    )


def rewrite_parquet(path: Path, column: str, row: int, old: str, new: str) -> None:
    """Change one value in a run's file, as somebody who tampers with it would."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = pq.read_table(path).to_pylist()
    assert old in rows[row][column]
    rows[row][column] = rows[row][column].replace(old, new, 1)
    pq.write_table(pa.Table.from_pylist(rows), path)


def test_a_written_record_reads_back_whole(store: Store) -> None:
    (written,) = write_answers(store, "run-a", [record_citing(store)])
    assert written.answer_id == "run-a-0001"
    assert read_answer(store, "run-a-0001") == written
    assert verify(store) == []
    assert verify(store, "run-a-0001") == []


def test_the_same_answer_has_the_same_canonical_bytes_in_every_run(store: Store) -> None:
    first = write_answers(store, "run-a", [record_citing(store)])[0]
    slower = dataclasses.replace(record_citing(store), timings_ms=(("total", 99.0),))
    second = write_answers(store, "run-b", [slower])[0]
    assert first.asked_at and canonical_projection(first) == canonical_projection(second)


def test_texts_enter_the_record_hash_as_salted_commitments(store: Store) -> None:
    record = record_citing(store)
    one, two = seal(record, 1, "0" * 64), seal(record, 1, "0" * 64)
    assert QUOTE not in one.committed_json and record.question not in one.committed_json
    assert one.record_hash != two.record_hash  # another salt, another commitment


def test_an_erased_text_leaves_a_chain_that_still_verifies(store: Store) -> None:
    write_answers(store, "run-a", [record_citing(store)])
    sealed = read_records(store)[0]
    erased = dataclasses.replace(sealed, texts=dict.fromkeys(sealed.texts, ("", "")))
    assert unseal(erased).citations[0].quote == ERASED
    assert erased.record_hash == sealed.record_hash


def test_a_run_is_written_once(store: Store) -> None:
    write_answers(store, "run-a", [refusal()])
    with pytest.raises(EvidenceError, match="written once"):
        write_answers(store, "run-a", [refusal()])
    with pytest.raises(EvidenceError, match="no plain name"):
        write_answers(store, "../escape", [refusal()])


def test_the_database_mirrors_the_records_and_can_be_rebuilt_from_them(store: Store) -> None:
    write_answers(store, "run-a", [record_citing(store), refusal()])
    write_answers(store, "run-b", [refusal("other")])
    store.path("finrag.duckdb").unlink()
    assert [one.where for one in verify(store)] == ["database"]
    assert sync_database(store) == ["run-a", "run-b"]
    assert sync_database(store) == []
    assert verify(store) == []
    with database(store) as connection:
        rows = connection.execute("SELECT decision, refusal_code, sequence FROM evidence.answers ORDER BY 3").fetchall()
        quotes = connection.execute("SELECT quote FROM evidence.citations").fetchall()
    assert rows == [("answered", None, 1), ("refused", "SCOPE.uncovered", 2), ("refused", "SCOPE.uncovered", 3)]
    assert quotes == [(QUOTE,)]


def test_tables_of_an_older_version_are_made_anew_with_all_that_was_recorded(store: Store) -> None:
    write_answers(store, "run-a", [record_citing(store)])
    write_disclosure(store, DisclosureRow("run-a-0001", "public", 1, "2026-01-01T00:00:00+00:00", "shown", 1))
    with database(store) as connection:
        connection.execute("ALTER TABLE evidence.answers DROP COLUMN settings")
    write_answers(store, "run-b", [refusal()])
    assert verify(store) == []
    with database(store) as connection:
        counts = connection.execute(
            "SELECT (SELECT count(*) FROM evidence.answers), (SELECT count(*) FROM evidence.disclosures)"
        ).fetchone()
    assert counts == (2, 1)


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("what", ["objects", "text.txt", "elements.parquet", "structure.json", "representation.json"])
def test_one_changed_byte_behind_a_citation_is_found(store: Store, what: str) -> None:
    (record,) = write_answers(store, "run-a", [record_citing(store)])
    citation = record.citations[0]
    folder = store.path("representations", citation.representation_id)
    flipped(store.path("objects", citation.content_sha256) if what == "objects" else folder / what)
    assert [one.where for one in verify(store, record.answer_id)] == ["citations.0"]
    assert verify(store) == verify(store, record.answer_id)


def test_one_changed_byte_in_a_record_file_is_found(store: Store) -> None:
    write_answers(store, "run-a", [record_citing(store)])
    path = store.path("evidence", "run-a.parquet")
    original = path.read_bytes()
    unnoticed = []
    for position in range(4, len(original), max(1, len(original) // 8)):
        content = bytearray(original)
        content[position] ^= 1
        path.write_bytes(bytes(content))
        if not verify(store):
            unnoticed.append(position)
    path.write_bytes(original)
    assert unnoticed == []
    assert verify(store) == []


@pytest.mark.parametrize(
    ("column", "old", "new", "where"),
    [
        ("committed_json", '"decision":"answered"', '"decision":"refused"', "record"),
        ("texts", "Cocoa costs", "Cacao costs", "answer"),
        ("record_hash", "", "0", "record"),
        ("previous_hash", "0", "1", "chain"),
    ],
)
def test_a_tampered_record_is_found_by_name(store: Store, column: str, old: str, new: str, where: str) -> None:
    write_answers(store, "run-a", [record_citing(store)])
    rewrite_parquet(store.path("evidence", "run-a.parquet"), column, 0, old, new)
    found = verify(store)
    assert any(one.where.startswith(where) or one.where == "record" for one in found), found


def test_a_changed_database_row_is_found(store: Store) -> None:
    write_answers(store, "run-a", [record_citing(store), refusal()])
    with database(store) as connection:
        connection.execute('UPDATE evidence.citations SET "end" = "end" - 1')
        connection.execute("DELETE FROM evidence.answers WHERE answer_id = 'run-a-0002'")
    assert verify(store) == [
        Difference("run-a-0001", "database citations", "rows differ from the record"),
        Difference("run-a-0002", "database answers", "rows differ from the record"),
    ]


def test_one_changed_byte_in_the_database_file_is_found_or_changes_no_row(store: Store) -> None:
    write_answers(store, "run-a", [record_citing(store)])
    path = store.path("finrag.duckdb")
    content = path.read_bytes()
    position = content.index(b"Cocoa costs")
    path.write_bytes(content[:position] + b"Kakao costs" + content[position + 11 :])
    assert any(one.where.startswith("database") for one in verify(store))


def test_a_missing_last_record_is_found(store: Store) -> None:
    write_answers(store, "run-a", [refusal()])
    write_answers(store, "run-b", [refusal()])
    store.path("evidence", "run-b.parquet").unlink()
    found = verify(store)
    assert any(one.where == "evidence/HEAD" and "names record 2" in one.what for one in found)


def test_a_missing_record_in_the_middle_is_found(store: Store) -> None:
    for run in ("run-a", "run-b", "run-c"):
        write_answers(store, run, [refusal()])
    store.path("evidence", "run-b.parquet").unlink()
    assert any(one.where == "chain" and "record 2 is missing" in one.what for one in verify(store))


def test_disclosures_are_chained_and_a_changed_one_is_found(store: Store) -> None:
    write_answers(store, "run-a", [refusal()])
    for epoch in (1, 2):
        write_disclosure(store, DisclosureRow("run-a-0001", "public", epoch, "2026-01-01T00:00:00+00:00", "shown", 1))
    assert verify(store) == []
    path = store.path("evidence", "disclosures", "000000000001.json")
    entry = json.loads(path.read_bytes())
    entry["disclosure"]["principal"] = "somebody else"
    path.write_text(json.dumps(entry))
    assert [one.where for one in verify(store)] == ["evidence/disclosures/000000000001.json", "database disclosures"]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with two runs, two disclosures and three catalog entries, all mirrored, that verifies."""
    store = Store(tmp_path_factory.mktemp("template") / "store")
    for name in ("analyst", "auditor", "intern"):
        define_principal(store, name, ["research"])
    mirror_catalog(store)
    write_answers(store, "run-a", [record_citing(store)])
    write_answers(store, "run-b", [refusal()])
    for epoch in (1, 2):
        write_disclosure(store, DisclosureRow("run-a-0001", "public", epoch, "2026-01-01T00:00:00+00:00", "shown", 1))
    assert verify(store) == []
    return store


@pytest.fixture
def shown(store: Store, template: Store) -> Store:
    """A copy of the template that a test may damage."""
    shutil.copytree(template.root, store.root)
    return store


@pytest.mark.parametrize(
    "path",
    [
        "evidence/HEAD",
        "evidence/run-a.parquet",
        "evidence/run-b.parquet",
        "evidence/disclosures/000000000001.json",
        "evidence/disclosures/000000000002.json",
        "catalog/log/00000001.json",
        "catalog/log/00000003.json",
        "catalog/HEAD",
    ],
)
def test_one_changed_byte_is_found_wherever_it_is(shown: Store, path: str) -> None:
    flipped(shown.path(path))
    where = path.removesuffix("/00000001.json").removesuffix("/00000003.json").replace("catalog/HEAD", "catalog/log")
    assert where in {one.where for one in verify(shown)}


def test_every_bit_of_head_counts(shown: Store) -> None:
    path = shown.path("evidence", "HEAD")
    original = path.read_bytes()
    for position in range(0, len(original), 53):
        content = bytearray(original)
        content[position] ^= 1
        path.write_bytes(bytes(content))
        assert any(one.where == "evidence/HEAD" for one in verify(shown)), position


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("evidence/run-b.parquet", "evidence/HEAD"),
        ("evidence/disclosures/000000000002.json", "evidence/HEAD"),
        ("evidence/disclosures/000000000001.json", "evidence/disclosures/000000000002.json"),
        ("catalog/log/00000003.json", "catalog/log"),
        ("catalog/HEAD", "catalog/log"),
    ],
)
def test_what_was_cut_off_is_missed(shown: Store, path: str, where: str) -> None:
    shown.path(path).unlink()
    assert where in {one.where for one in verify(shown)}


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ("UPDATE evidence.disclosures SET principal = 'somebody' WHERE sequence = 1", "database disclosures"),
        ("DELETE FROM evidence.disclosures WHERE sequence = 2", "database disclosures"),
        ("UPDATE evidence.runs SET last_sequence = 9 WHERE run_id = 'run-b'", "database runs"),
        ("INSERT INTO evidence.runs VALUES ('run-c', 3, 3, '')", "database runs"),
        ("INSERT INTO evidence.gates SELECT * FROM evidence.gates", "database gates"),
        (
            "UPDATE catalog.lifecycle_events SET type = 'labels_changed' WHERE sequence = 2",
            "database catalog.lifecycle_events",
        ),
        ("INSERT INTO catalog.access_labels VALUES ('S', 'public')", "database catalog.access_labels"),
    ],
)
def test_a_changed_row_of_any_table_is_found(shown: Store, statement: str, where: str) -> None:
    with database(shown) as connection:
        connection.execute(statement)
    assert [one.where for one in verify(shown)] == [where]


def test_the_chain_can_be_computed_as_the_documentation_says(shown: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).resolve().parents[1] / "docs" / "evidence.md").read_text("utf-8")
    program = page.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(shown.root)
    exec(program, {})
    rewrite_parquet(shown.path("evidence", "run-a.parquet"), "committed_json", 0, "answered", "refused")
    with pytest.raises(AssertionError):
        exec(program, {})


def test_every_column_of_the_tables_is_documented() -> None:
    page = (Path(__file__).resolve().parents[1] / "docs" / "evidence.md").read_text("utf-8")
    generic = {"lexical_rank", "lexical_score", "vector_rank", "vector_score", "rerank_score", "run_id", "number"}
    columns = {column for table in table_columns().values() for column in table} - generic
    assert [column for column in sorted(columns) if f"`{column}`" not in page] == []


def test_a_catalog_that_outgrew_its_mirror_is_no_difference(shown: Store) -> None:
    define_principal(shown, "newcomer", ["research"])
    assert verify(shown) == []


def test_a_changed_byte_of_a_source_that_no_answer_cites_is_found(store: Store) -> None:
    identity = Identity(company="MDLZ", form="10-Q", period="2026Q1")
    content = store.put_object(TEXT.encode())
    source_id, _ = receive(store, identity, content, "a.txt", "a.txt")
    register_version(store, source_id, content, 0)
    assert verify(store) == []
    flipped(store.path("objects", content))
    assert [one.where for one in verify(store)] == [f"{source_id} version 1"]


# Children are forked from a server that has imported everything and used nothing, so that each costs milliseconds.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])


def keep_writing(root: Path, name: str, runs: int, crash_at: str = "") -> None:
    os.environ["FINRAG_CRASH_AT"] = crash_at
    for number in range(runs):
        write_answers(Store(root), f"{name}-{number:03d}", [refusal(f"{name} {number}")] * 2)


def show_once(root: Path, crash_at: str) -> None:
    os.environ["FINRAG_CRASH_AT"] = crash_at
    row = DisclosureRow("before-0001", "killed", 1, "2026-01-01T00:00:00+00:00", "shown", 1)
    write_disclosure(Store(root), row)


def exit_codes(target: Callable[..., None], *arguments: tuple) -> list[int | None]:
    """Run `target` in a process for each of the argument lists, all at once."""
    children = [PROCESSES.Process(target=target, args=one) for one in arguments]
    for child in children:
        child.start()
    for child in children:
        child.join(120)
    return [child.exitcode for child in children]


def test_four_processes_writing_at_once_lose_and_double_nothing(store: Store) -> None:
    assert exit_codes(keep_writing, *((store.root, f"writer-{number}", 2) for number in range(4))) == [0, 0, 0, 0]
    records = read_records(store)
    assert [one.sequence for one in records] == list(range(1, 17))
    assert len({one.answer_id for one in records}) == 16
    assert read_head(store).runs == 8
    assert verify(store) == []


POINTS = [
    "evidence.before_records",
    "storage.before_rename",
    "evidence.before_head",
    "evidence.before_database",
    "evidence.before_pending_removed",
]


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_any_write_point_a_run_is_whole_or_absent(store: Store, point: str) -> None:
    write_answers(store, "before", [refusal()])
    assert exit_codes(keep_writing, (store.root, "killed", 1, point)) == [-9]
    assert verify(store) == []  # finishes what can be finished
    killed = [one for one in read_records(store) if one.run_id.startswith("killed")]
    assert len(killed) == (0 if point in ("evidence.before_records", "storage.before_rename") else 2)
    write_answers(store, "after", [refusal()])
    assert verify(store) == []


DISCLOSURE_POINTS = [
    "evidence.before_disclosure",
    "storage.before_link",
    "evidence.before_disclosure_head",
    "evidence.before_disclosure_row",
    "evidence.after_disclosure_row",
]


@pytest.mark.parametrize("point", DISCLOSURE_POINTS)
def test_killed_at_any_write_point_a_disclosure_is_whole_or_absent(store: Store, point: str) -> None:
    write_answers(store, "before", [refusal()])
    assert exit_codes(show_once, (store.root, point)) == [-9]
    there = point not in ("evidence.before_disclosure", "storage.before_link")
    row = DisclosureRow("before-0001", "public", 1, "2026-01-02T00:00:00+00:00", "shown", 1)
    assert write_disclosure(store, row) == (2 if there else 1)
    assert verify(store) == []
    assert [one.disclosure.principal for one in read_disclosures(store)] == [*(["killed"] if there else []), "public"]
