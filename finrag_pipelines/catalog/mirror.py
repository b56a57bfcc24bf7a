"""The catalog as tables in DuckDB, schema `catalog`: a mirror of the log for SQL.

What stands now is rewritten whole, in bulk; of the events, which only grow in number, the new ones are added.
"""

from typing import Any

import duckdb

from finrag_pipelines.catalog.amendments import amendment_links
from finrag_pipelines.catalog.catalog import LIVE, Catalog, DocumentVersion, Source, read_catalog
from finrag_pipelines.catalog.identity import UNKNOWN, Amendment
from finrag_pipelines.catalog.log import entry_hash, read_entries
from finrag_pipelines.storage import Store, canonical_json, digest
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
    "amendments": """source_id VARCHAR PRIMARY KEY, amends VARCHAR, effect VARCHAR, scope VARCHAR, number INTEGER,
        basis VARCHAR, unknown VARCHAR""",
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


def standing(source: Source, published: bool) -> tuple[str, str | None]:
    """Return how far a source has come, or that it is suspended or erased, and why it is not answered from."""
    if source.lifecycle != LIVE:
        return source.lifecycle, source.reason or None
    current = source.current
    return availability(current, published), ": ".join(current.failure) if current and current.failure else None


def mirror_catalog(store: Store, published: frozenset[tuple[str, int]] = frozenset()) -> None:
    """Bring the tables up to the log. `published` are the (source, version) pairs of the index that answers."""
    with database(store) as connection:
        # Read while holding the database: what is written is then never older than what stands there.
        catalog = read_catalog(store)
        connection.execute("BEGIN")
        _make_tables(connection, store, catalog, published)
        connection.execute("COMMIT")


_MARK = "sequence INTEGER, sha256 VARCHAR, events BIGINT, layout VARCHAR, erasures VARCHAR"
"""Columns of the table `mirrored`: how far the events were copied, and from what."""


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
    after, previous, count = _copied(connection, store, catalog)
    for name, columns in _TABLES.items():
        if not (after and name == "lifecycle_events"):
            connection.execute(f"CREATE OR REPLACE TABLE catalog.{name} ({columns})")
    _fill(connection, catalog, published)
    entries = list(read_entries(store, after, previous))
    events = [
        (entry.sequence, position, entry.at, event["type"], event.get("source_id"), canonical_json(event).decode())
        for entry in entries
        for position, event in enumerate(entry.events)
    ]
    _insert(connection, "lifecycle_events", events)
    newest = (entries[-1].sequence, entries[-1].sha256) if entries else (after, previous)
    connection.execute(f"CREATE OR REPLACE TABLE catalog.mirrored ({_MARK})")
    _insert(connection, "mirrored", [(*newest, count + len(events), digest(_TABLES), _erasures(catalog))])


def _copied(connection: duckdb.DuckDBPyConnection, store: Store, catalog: Catalog) -> tuple[int, str | None, int]:
    """Return number and hash of the newest log entry whose events stand in the table, and the number of events; zeros
    where they are to be copied anew: another layout, another log, events that are missing, or an erasure, which changes
    entries that were copied."""
    query = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'catalog'"
    if not {"mirrored", "lifecycle_events"} <= {name for (name,) in connection.execute(query).fetchall()}:
        return 0, None, 0
    row = connection.execute("SELECT sequence, sha256, events, layout, erasures FROM catalog.mirrored").fetchone()
    held = connection.execute("SELECT count(*) FROM catalog.lifecycle_events").fetchone()
    unfinished = any(not one.is_done for one in catalog.erasures)
    if row is None or held is None or unfinished or row[2:] != (held[0], digest(_TABLES), _erasures(catalog)):
        return 0, None, 0
    return (row[0], row[1], row[2]) if entry_hash(store, row[0]) == row[1] else (0, None, 0)


def _erasures(catalog: Catalog) -> str:
    return f"{sum(one.is_done for one in catalog.erasures)} of {len(catalog.erasures)}"


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
                *standing(source, is_published),
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
    _insert(connection, "amendments", _amendments(catalog))
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


def _amendments(catalog: Catalog) -> list[tuple[Any, ...]]:
    identities = {source_id: source.identity for source_id, source in catalog.sources.items()}
    rows = []
    for source_id, link in amendment_links(identities).items():
        said = identities[source_id].amendment or Amendment(UNKNOWN)
        rows.append((source_id, link.amends, said.effect, said.scope, said.number, said.basis, link.reason))
    return rows


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: list[tuple[Any, ...]]) -> None:
    """Add rows in bulk: one statement a row takes a millisecond each."""
    if not rows:
        return
    import pyarrow as pa

    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    connection.register("incoming_rows", pa.table(columns, names=[f"c{place}" for place in range(len(columns))]))
    connection.execute(f"INSERT INTO catalog.{table} SELECT * FROM incoming_rows")
    connection.unregister("incoming_rows")
