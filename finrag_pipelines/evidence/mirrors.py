"""The tables in DuckDB compared, row by row, with the truths they mirror: records, disclosures, catalog log."""

from collections.abc import Iterator, Sequence

import duckdb

from finrag_pipelines.catalog.mirror import expected_tables, stored_rows
from finrag_pipelines.evidence.model import Difference
from finrag_pipelines.evidence.records import Sealed
from finrag_pipelines.evidence.tables import SCHEMA, table_columns, table_rows
from finrag_pipelines.evidence.write import Disclosed, disclosure_row, run_path
from finrag_pipelines.storage import Store, sha256_bytes
from finrag_pipelines.storage.database import DATABASE, database

_OF_THE_STORE = ("disclosures", "runs")  # the tables that hold no rows of a record


def database_differences(
    store: Store, records: Sequence[Sealed], disclosures: Sequence[Disclosed] | None
) -> list[Difference]:
    """Compare the evidence tables with `records`: all of them, with all disclosures, or those of one answer (None).

    The caller holds the evidence lock. Raises duckdb.Error where the file cannot be read.
    """
    if not records and not disclosures and not store.path(DATABASE).exists():
        return []
    expected = _expected_rows(records)
    found: list[Difference] = []
    with database(store) as connection:
        if not _tables(connection, SCHEMA):
            return [Difference("", "database", "has no evidence tables; `finrag sql` rebuilds them")] if records else []
        for name, rows in expected.items():
            where = "" if disclosures is not None else " WHERE answer_id = ?"
            parameters = [] if disclosures is not None else [one.answer_id for one in records]
            stored = _stored(connection, name, where, parameters)
            found += _differing(name, stored, rows, list(table_columns()[name]).index("answer_id"))
        if disclosures is not None:
            wanted = [disclosure_row(one) for one in disclosures]
            column = list(table_columns()["disclosures"]).index("answer_id")
            found += _differing("disclosures", _stored(connection, "disclosures"), wanted, column)
        runs = {run[0]: run for run in _stored(connection, "runs")}
    return found + list(_run_differences(store, records, runs, whole=disclosures is not None))


def _expected_rows(records: Sequence[Sealed]) -> dict[str, list[tuple]]:
    expected: dict[str, list[tuple]] = {name: [] for name in table_columns() if name not in _OF_THE_STORE}
    for one in records:
        try:
            for name, rows in table_rows(one).items():
                expected[name] += rows
        except (ValueError, KeyError, IndexError, TypeError):
            continue  # a record that cannot be read back is reported as such
    return expected


def _tables(connection: duckdb.DuckDBPyConnection, schema: str) -> list[str]:
    query = "SELECT table_name FROM information_schema.tables WHERE table_schema = ?"
    return [row[0] for row in connection.execute(query, [schema]).fetchall()]


def _stored(
    connection: duckdb.DuckDBPyConnection, table: str, where: str = "", parameters: Sequence[str] = ()
) -> list[tuple]:
    columns = ", ".join(f'"{one}"' for one in table_columns()[table])
    return connection.execute(f"SELECT {columns} FROM {SCHEMA}.{table}{where}", list(parameters)).fetchall()


def _differing(table: str, stored: list[tuple], expected: list[tuple], answer_column: int) -> list[Difference]:
    there = sorted((_comparable(row) for row in stored), key=repr)
    wanted = sorted((_comparable(row) for row in expected), key=repr)
    if there == wanted:
        return []
    surplus, lacking = set(there) - set(wanted), set(wanted) - set(there)
    answers = {str(row[answer_column]) for row in surplus | lacking} or {""}  # "": a row that stands there twice
    return [Difference(one, f"database {table}", "rows differ from the record") for one in sorted(answers)]


def _comparable(row: tuple) -> tuple:
    return tuple(tuple(value) if isinstance(value, list) else value for value in row)


def _run_differences(
    store: Store, records: Sequence[Sealed], runs: dict[str, tuple], whole: bool
) -> Iterator[Difference]:
    """Compare the record files, byte for byte, with the hashes that the database keeps of them."""
    sequences: dict[str, list[int]] = {}
    for one in records:
        sequences.setdefault(one.run_id, []).append(one.sequence)
    for run_id, numbers in sorted(sequences.items()):
        where = f"evidence/{run_id}.parquet"
        row = runs.get(run_id)
        path = run_path(store, run_id)
        if row is None or not path.exists() or row[3] != sha256_bytes(path.read_bytes()):
            yield Difference("", where, "is not the file, byte for byte, that was loaded into the database")
        elif whole and row[1:3] != (min(numbers), max(numbers)):
            yield Difference("", "database runs", f"the row of run {run_id} differs from its records")
    if whole:
        for run_id in sorted(runs.keys() - sequences.keys()):
            yield Difference("", "database runs", f"names run {run_id}, of which no record is there")


def catalog_differences(store: Store, published: frozenset[tuple[str, int]] | None) -> Iterator[Difference]:
    """Compare the catalog tables with the log. Tables that the log has outgrown are compared as far as they go.

    Raises duckdb.Error where the file cannot be read.
    """
    if not store.path(DATABASE).exists():
        return
    with database(store) as connection:
        names = _tables(connection, "catalog")
        stored = {name: stored_rows(connection, name) for name in names}
    if not stored:
        return  # nothing was mirrored yet
    expected = expected_tables(store, published or frozenset())
    events = stored.pop("lifecycle_events", [])
    log = expected.pop("lifecycle_events")
    known = set(log)
    if any(row not in known for row in events) or len(events) != len(set(events)):
        yield Difference("", "database catalog.lifecycle_events", "rows differ from the catalog log")
    if len(events) != len(log):
        return  # the other tables show an earlier state; the next publication, or `finrag sql`, brings them up
    for name, rows in sorted(expected.items()):
        there = stored.get(name, [])
        if name == "sources" and published is None:
            there, rows = _without_availability(there), _without_availability(rows)
        if there != rows:
            yield Difference("", f"database catalog.{name}", "rows differ from the catalog log")


def _without_availability(rows: list[tuple]) -> list[tuple]:
    return [(*row[:-2], row[-1]) for row in rows]
