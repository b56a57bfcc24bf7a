"""The catalog as tables in DuckDB, schema `catalog`: a mirror of the log for SQL, rewritten whole when the log grew."""

from typing import Any

import duckdb

from finrag_pipelines.catalog.catalog import Catalog, DocumentVersion, read_catalog
from finrag_pipelines.catalog.log import read_entries
from finrag_pipelines.storage import Store, canonical_json
from finrag_pipelines.storage.database import database

_TABLES = {
    "sources": """source_id VARCHAR PRIMARY KEY, company VARCHAR, company_name VARCHAR, cik VARCHAR, form VARCHAR,
        period VARCHAR, period_end DATE, filed DATE, title VARCHAR, current_version INTEGER, availability VARCHAR,
        reason VARCHAR""",
    "document_versions": """source_id VARCHAR, version INTEGER, content_sha256 VARCHAR, file_name VARCHAR,
        origin VARCHAR, registered_at TIMESTAMPTZ, representation_id VARCHAR, parser VARCHAR,
        PRIMARY KEY (source_id, version)""",
    "representations": "representation_id VARCHAR, source_id VARCHAR, version INTEGER, parser VARCHAR",
    "lifecycle_events": """sequence INTEGER, position INTEGER, happened_at TIMESTAMPTZ, type VARCHAR, source_id VARCHAR,
        detail JSON""",
    "access_labels": "source_id VARCHAR, label VARCHAR",
    "index_versions": """index_version VARCHAR, manifest_sha256 VARCHAR, sources INTEGER, fragments INTEGER,
        published_at TIMESTAMPTZ""",
    "rejections": """origin VARCHAR PRIMARY KEY, file_name VARCHAR, content_sha256 VARCHAR, code VARCHAR,
        message VARCHAR, rejected_at TIMESTAMPTZ""",
}


def availability(version: DocumentVersion | None, published: bool) -> str:
    """Say how far a source has come: received, registered, failed, parsed or published."""
    if version is None:
        return "received"
    if version.failure:
        return "failed"
    if published:
        return "published"
    return "parsed" if version.representation_id else "registered"


def mirror_catalog(store: Store, published: frozenset[tuple[str, int]] = frozenset()) -> None:
    """Bring the tables up to the log. `published` are the (source, version) pairs of the index that answers."""
    with database(store) as connection:
        # Read while holding the database: what is written is then never older than what stands there.
        catalog = read_catalog(store)
        connection.execute("BEGIN")
        _make_tables(connection, store, catalog, published)
        connection.execute("COMMIT")


def expected_tables(store: Store, published: frozenset[tuple[str, int]] = frozenset()) -> dict[str, list[tuple]]:
    """Return the rows of each table as the log has them now, in column order, sorted: what a mirror is proved by."""
    with duckdb.connect() as connection:
        _make_tables(connection, store, read_catalog(store), published)
        return {name: stored_rows(connection, name) for name in _TABLES}


def stored_rows(connection: duckdb.DuckDBPyConnection, table: str) -> list[tuple]:
    """Return all rows of a catalog table as text, sorted."""
    columns = connection.execute(f"SELECT * FROM catalog.{table} LIMIT 0").description or []
    listed = ", ".join(f'CAST("{column[0]}" AS VARCHAR)' for column in columns)
    return sorted(connection.execute(f"SELECT {listed} FROM catalog.{table}").fetchall(), key=repr)


def _make_tables(
    connection: duckdb.DuckDBPyConnection,
    store: Store,
    catalog: Catalog,
    published: frozenset[tuple[str, int]],
) -> None:
    connection.execute("CREATE SCHEMA IF NOT EXISTS catalog")
    for name, columns in _TABLES.items():
        connection.execute(f"CREATE OR REPLACE TABLE catalog.{name} ({columns})")
    _fill(connection, catalog, published)
    events = [
        (entry.sequence, position, entry.at, event["type"], event.get("source_id"), canonical_json(event).decode())
        for entry in read_entries(store)
        for position, event in enumerate(entry.events)
    ]
    _insert(connection, "lifecycle_events", events)


def mirrored_sequence(store: Store) -> int:
    """Return the number of the newest log entry that the tables hold; 0 where there are none."""
    with database(store) as connection:
        try:
            row = connection.execute("SELECT max(sequence) FROM catalog.lifecycle_events").fetchone()
        except duckdb.CatalogException:
            return 0
    return int(row[0] or 0) if row else 0


def _fill(connection: duckdb.DuckDBPyConnection, catalog: Catalog, published: frozenset[tuple[str, int]]) -> None:
    sources, versions, representations, labels = [], [], [], []
    for source_id, source in sorted(catalog.sources.items()):
        identity, current = source.identity, source.current
        is_published = current is not None and (source_id, current.version) in published
        sources.append(
            (
                source_id,
                identity.company,
                identity.company_name,
                identity.cik,
                identity.form,
                identity.period,
                identity.period_end,
                identity.filed,
                identity.title,
                current.version if current else None,
                availability(current, is_published),
                ": ".join(current.failure) if current and current.failure else None,
            )
        )
        for version in source.versions:
            versions.append(
                (
                    source_id,
                    version.version,
                    version.content_sha256,
                    version.file_name,
                    version.origin,
                    version.registered_at,
                    version.representation_id,
                    version.parser,
                )
            )
            if version.representation_id:
                representations.append((version.representation_id, source_id, version.version, version.parser))
        labels += [(source_id, label) for label in source.labels]
    _insert(connection, "sources", sources)
    _insert(connection, "document_versions", versions)
    _insert(connection, "representations", representations)
    _insert(connection, "access_labels", labels)
    _insert(
        connection,
        "index_versions",
        [(p.index_version, p.manifest_hash, p.sources, p.fragments, p.at) for p in catalog.publications],
    )
    _insert(
        connection,
        "rejections",
        [(r.origin, r.file_name, r.content_sha256, r.code, r.message, r.at) for r in catalog.rejections.values()],
    )


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        marks = ", ".join("?" for _ in rows[0])
        connection.executemany(f"INSERT INTO catalog.{table} VALUES ({marks})", rows)
