"""The store: atomic, content-addressed, and told apart from a damaged one."""

import os
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

import duckdb
import pytest

from finrag_pipelines.storage import Store, StoreError, canonical_json, digest, open_store, write_file
from finrag_pipelines.storage.database import database, snapshot
from finrag_pipelines.storage.store import create_file


def test_an_object_is_named_by_its_hash_and_kept_once(store: Store) -> None:
    name = store.put_object(b"filing")
    assert store.put_object(b"filing") == name
    assert store.get_object(name) == b"filing"
    assert [path.name for path in store.path("objects").iterdir()] == [name]


def test_an_altered_object_is_not_returned(store: Store) -> None:
    name = store.put_object(b"filing")
    store.path("objects", name).write_bytes(b"filinG")
    with pytest.raises(StoreError, match="no longer has the bytes"):
        store.get_object(name)


def test_a_missing_object_says_what_to_do(store: Store) -> None:
    with pytest.raises(StoreError, match="ingest the file again"):
        store.get_object("0" * 64)


def test_only_one_of_two_writers_creates_a_file(tmp_path: Path) -> None:
    create_file(tmp_path / "entry", b"first")
    with pytest.raises(FileExistsError):
        create_file(tmp_path / "entry", b"second")
    assert (tmp_path / "entry").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["entry"]


def test_equal_records_give_equal_bytes_whatever_their_order() -> None:
    assert canonical_json({"b": 1, "a": "é"}) == canonical_json({"a": "é", "b": 1}) == '{"a":"é","b":1}'.encode()
    assert digest({"a": 1}) != digest({"a": 2})
    with pytest.raises(ValueError):
        canonical_json({"a": float("nan")})


def test_kill_9_between_write_and_rename_leaves_the_old_bytes(tmp_path: Path) -> None:
    path = tmp_path / "pointer"
    write_file(path, b"old")
    code = (
        "from pathlib import Path; from finrag_pipelines.storage import write_file;"
        f"write_file(Path({str(path)!r}), b'new')"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "FINRAG_CRASH_AT": "storage.before_rename"}
    )
    assert killed.returncode == -9
    assert path.read_bytes() == b"old"


def test_a_store_on_an_unsupported_scheme_is_refused() -> None:
    with pytest.raises(StoreError, match="only a local folder"):
        open_store("s3://bucket/store")


def test_a_store_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="is a file"):
        open_store(str(tmp_path / "file"))


def _insert(root: str, writer: int) -> None:
    for number in range(25):
        with database(Store(Path(root))) as connection:
            connection.execute("INSERT INTO t VALUES (?, ?)", [writer, number])


def test_four_processes_that_write_at_once_lose_no_row(store: Store) -> None:
    with database(store) as connection:
        connection.execute("CREATE TABLE t (writer INTEGER, number INTEGER)")
    context = get_context("spawn")
    writers = [context.Process(target=_insert, args=(str(store.root), writer)) for writer in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    with snapshot(store) as connection:
        rows = connection.execute("SELECT writer, number FROM t").fetchall()
    assert sorted(rows) == [(writer, number) for writer in range(4) for number in range(25)]


def test_a_snapshot_neither_blocks_a_writer_nor_sees_what_came_after(store: Store) -> None:
    with database(store) as connection:
        connection.execute("CREATE TABLE t (n INTEGER)")
    with snapshot(store) as reader:
        with database(store) as writer:
            writer.execute("INSERT INTO t VALUES (1)")
        assert reader.execute("SELECT count(*) FROM t").fetchall() == [(0,)]


@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO t VALUES (1)", "COPY t TO '{folder}/leak.csv'", "SELECT * FROM read_text('{folder}/secret')"],
)
def test_a_snapshot_is_sealed_against_writes_and_other_files(store: Store, tmp_path: Path, statement: str) -> None:
    (tmp_path / "secret").write_text("secret")
    with database(store) as connection:
        connection.execute("CREATE TABLE t (n INTEGER)")
    with snapshot(store) as reader, pytest.raises(duckdb.Error):
        reader.execute(statement.format(folder=tmp_path))
    assert not (tmp_path / "leak.csv").exists()
