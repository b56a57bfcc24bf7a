"""The DuckDB file of the store. Every open goes through here, because the engine does not survive racing opens.

duckdb 2.0.1 loses acknowledged rows when processes race to open one file, so an exclusive file lock is held around
open, use and close. The file mirrors the catalog log and the evidence records, and can be rebuilt from them.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from finrag_pipelines.storage.store import Store, crash_point, temporary_prefix

DATABASE = "finrag.duckdb"
_SEALED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "lock_configuration": True,
}


@contextmanager
def database(store: Store, timeout: float = 120.0) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the store's database for reading and writing while holding its lock. Keep the block short."""
    with store.lock("duckdb", timeout):
        connection = duckdb.connect(str(store.path(DATABASE)))
        try:
            yield connection
        finally:
            connection.close()


def rewrite_database(store: Store) -> None:
    """Copy what the database holds into a new file and put that in its place: rows that were deleted leave their text
    in the old one, whatever is run on it. A crash leaves the old file or the new one."""
    with store.lock("duckdb"):
        path = store.path(DATABASE)
        if not path.exists():
            return
        aside = path.with_name(f"{temporary_prefix()}{DATABASE}")
        aside.unlink(missing_ok=True)
        connection = duckdb.connect()
        try:
            connection.execute(f"ATTACH '{_quoted(path)}' AS before")
            connection.execute(f"ATTACH '{_quoted(aside)}' AS after")
            connection.execute("COPY FROM DATABASE before TO after")
            connection.execute("DETACH before")
            connection.execute("DETACH after")
        finally:
            connection.close()
        crash_point("storage.before_database_replaced")
        aside.replace(path)
        for left in (f"{DATABASE}.wal", f"{aside.name}.wal"):
            path.with_name(left).unlink(missing_ok=True)
        shutil.rmtree(path.with_name(f"{DATABASE}.tmp"), ignore_errors=True)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


@contextmanager
def snapshot(store: Store) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a private copy of the database, read-only: a long query on it never blocks a writer.

    Queries on it reach no other file, no network and no setting, whatever they say.
    """
    with tempfile.TemporaryDirectory(prefix="finrag-snapshot-") as folder:
        copy = Path(folder) / DATABASE
        with store.lock("duckdb"):
            connection = duckdb.connect(str(store.path(DATABASE)))
            try:
                connection.execute("CHECKPOINT")
            finally:
                connection.close()
            shutil.copyfile(store.path(DATABASE), copy)
        connection = duckdb.connect(str(copy), read_only=True, config=_SEALED)
        try:
            yield connection
        finally:
            connection.close()
