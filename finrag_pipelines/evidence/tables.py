"""The evidence tables in DuckDB, made from the record classes: a mirror for SQL that can be rebuilt from Parquet."""

import dataclasses
import types
import typing
from typing import Any

import duckdb

from finrag_pipelines.evidence.records import CHILDREN, AnswerRecord, DisclosureRow, Sealed, unseal

SCHEMA = "evidence"
_SQL_TYPES = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}


def _sql_type(annotation: Any) -> str:
    if isinstance(annotation, types.UnionType):
        annotation = next(one for one in typing.get_args(annotation) if one is not types.NoneType)
    if typing.get_origin(annotation) is tuple:
        return "VARCHAR[]"
    return _SQL_TYPES[annotation]


def _columns(row_type: type) -> dict[str, str]:
    hints = typing.get_type_hints(row_type)
    skip = set(CHILDREN) | {"timings_ms"} if row_type is AnswerRecord else set()
    return {one.name: _sql_type(hints[one.name]) for one in dataclasses.fields(row_type) if one.name not in skip}


def _answer_columns() -> dict[str, str]:
    return {
        **_columns(AnswerRecord),
        "total_ms": "DOUBLE",
        "sequence": "BIGINT",
        "record_hash": "VARCHAR",
        "previous_record_hash": "VARCHAR",
    }


def table_columns() -> dict[str, dict[str, str]]:
    """Return the columns (name to SQL type) of every evidence table: the public schema."""
    tables = {"answers": _answer_columns()}
    for name, row_type in CHILDREN.items():
        tables[name] = {"answer_id": "VARCHAR", **_columns(row_type)}
    tables["runs"] = {
        "run_id": "VARCHAR",
        "first_sequence": "BIGINT",
        "last_sequence": "BIGINT",
        "file_sha256": "VARCHAR",
    }
    tables["disclosures"] = {"sequence": "BIGINT", "record_hash": "VARCHAR", **_columns(DisclosureRow)}
    return tables


def create_tables(connection: duckdb.DuckDBPyConnection) -> bool:
    """Create the evidence schema where it is absent, and anew, empty, where its columns are those of another version.

    Returns whether the tables are new, so that everything has to be loaded.
    """
    found = connection.execute(
        "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = ? ORDER BY table_name, ordinal_position",
        [SCHEMA],
    ).fetchall()
    wanted = table_columns()
    present = {name: [column for table, column in found if table == name] for name, _ in found}
    if present == {name: list(columns) for name, columns in wanted.items()}:
        return False
    connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    connection.execute(f"CREATE SCHEMA {SCHEMA}")
    for name, columns in wanted.items():
        listed = ", ".join(f'"{column}" {sql_type}' for column, sql_type in columns.items())
        connection.execute(f"CREATE TABLE {SCHEMA}.{name} ({listed})")
    return True


def table_rows(sealed: Sealed) -> dict[str, list[tuple]]:
    """Return the rows of one record by table, values in column order."""
    record = unseal(sealed)
    columns = list(_columns(AnswerRecord))
    values = [getattr(record, name) for name in columns]
    total = dict(record.timings_ms).get("total")
    answer = tuple(list(one) if isinstance(one, tuple) else one for one in values)
    rows = {"answers": [(*answer, total, sealed.sequence, sealed.record_hash, sealed.previous_hash)]}
    for name, row_type in CHILDREN.items():
        names = list(_columns(row_type))
        rows[name] = [(record.answer_id, *(getattr(row, column) for column in names)) for row in getattr(record, name)]
    return rows


def insert_rows(connection: duckdb.DuckDBPyConnection, rows: dict[str, list[tuple]]) -> None:
    """Insert rows by table. The caller holds the transaction."""
    columns = table_columns()
    for name, listed in rows.items():
        if not listed:
            continue
        one = "(" + ", ".join("?" * len(columns[name])) + ")"
        # One statement for all rows: executemany costs a round through the planner for each.
        for first in range(0, len(listed), 200):
            batch = listed[first : first + 200]
            connection.execute(
                f"INSERT INTO {SCHEMA}.{name} VALUES {', '.join([one] * len(batch))}",
                [value for row in batch for value in row],
            )
