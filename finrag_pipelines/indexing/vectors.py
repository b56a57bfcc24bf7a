"""Vectors in LanceDB: append-only rows keyed by fragment and model digest, searched exactly behind integer filters.

A row belongs to a fragment set (`set_code`), and an index version is a list of sets: old versions stay readable.
"""

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.indexing.period_codes import period_codes
from finrag_pipelines.storage import Store, StoreError, crash_point, digest

FOLDER = "vectors.lance"
_MANY_FILES = 256  # an append leaves a file; `compact_vectors` merges them, and an append only where nobody does
_STALE_ROWS = 0.1  # the part of the rows that filters scan, before their indexes are made anew


def name_code(name: str) -> int:
    """A 60-bit integer that stands for a section key or a speaker's role in a filter; 0 for none."""
    return int(digest(name)[:15], 16) if name else 0


@dataclass(frozen=True)
class VectorFilter:
    """What a row must satisfy; None leaves a column open. All values are integer codes, so no text reaches the SQL
    that the engine parses."""

    sets: frozenset[int]
    periods: frozenset[int] | None = None
    sections: frozenset[int] | None = None
    roles: frozenset[int] | None = None


@dataclass(frozen=True)
class VectorHit:
    """A row that was found: fragment, set, and cosine similarity to the query."""

    fragment_id: str
    set_code: int
    similarity: float


# Per table, the number of rows of each set, and the state of the engine's files in which they were counted.
_counted: dict[Path, tuple[tuple[int, int, int] | None, dict[int, int]]] = {}


def _table_name(model_digest: str) -> str:
    return f"model_{model_digest[:32]}"


def _integers(values: Iterable[int]) -> str:
    return ", ".join(str(int(value)) for value in sorted(values))


def compact_vectors(store: Store, keep: Mapping[str, frozenset[int]], grace: timedelta) -> int:
    """Drop the tables of models that are no key of `keep` (model digest to the sets that are needed), and from the
    others the rows of all other sets; merge small files, and remove files that no reader younger than `grace` can hold.
    Return how many rows went. The caller holds the `vectors` lock."""
    if not store.path(FOLDER).is_dir():
        return 0
    import lancedb

    database = lancedb.connect(str(store.path(FOLDER)))
    needed = {_table_name(model): sets for model, sets in keep.items()}
    gone = 0
    for name in sorted(path.stem for path in store.path(FOLDER).glob("*.lance")):
        table = database.open_table(name)
        if not needed.get(name):
            gone += table.count_rows()
            database.drop_table(name)
            continue
        column = table.search().select(["set_code"]).limit(max(1, table.count_rows())).to_arrow()["set_code"]
        surplus = sorted(set(np.unique(column.to_numpy()).tolist()) - needed[name])
        for start in range(0, len(surplus), 1000):
            predicate = f"set_code IN ({_integers(surplus[start : start + 1000])})"
            gone += table.count_rows(predicate)
            table.delete(predicate)
            crash_point("compaction.between_deletions")
        crash_point("compaction.before_files")
        if len(table.list_versions()) > 1:
            # The engine warns of a grace of nothing at all; that nobody reads is the caller's to know.
            table.optimize(cleanup_older_than=max(grace, timedelta(milliseconds=1)), delete_unverified=True)
    return gone


def _refresh_indexes(table: Any) -> None:
    """Make the indexes of the filter columns anew where a tenth of the rows came after them, and merge files where
    there are very many. Rows without an index are scanned, so that an append costs what it appends."""
    from lancedb.index import Bitmap, LabelList

    rows, files = table.count_rows(), table.stats()["fragment_stats"]["num_fragments"]
    if files > _MANY_FILES:
        table.optimize()
    known = {index.columns[0]: index.name for index in table.list_indices()}
    for column, kind in (
        ("set_code", Bitmap()),
        ("periods", LabelList()),
        ("section", Bitmap()),
        ("role", Bitmap()),
    ):
        stats = table.index_stats(known[column]) if column in known else None
        if files > _MANY_FILES or stats is None or stats.num_unindexed_rows > _STALE_ROWS * rows:
            table.create_index(column, config=kind, replace=True)


class VectorTable:
    """The rows of one embedding model, as they stood when the table was opened."""

    def __init__(self, store: Store, model_digest: str) -> None:
        self._store = store
        self._name = _table_name(model_digest)
        self._table: Any = None
        self._sets: dict[int, int] | None = None

    def _database(self) -> Any:
        import lancedb

        return lancedb.connect(str(self._store.path(FOLDER)))

    def _open(self) -> Any:
        if self._table is None:
            if not self.exists():
                raise StoreError(f"no vectors of model {self._name} in {self._store.root}; build the index first")
            self._table = self._database().open_table(self._name)
        return self._table

    @property
    def _place(self) -> Path:
        return self._store.path(FOLDER, f"{self._name}.lance")

    def _mark(self, table: Any) -> tuple[int, int, int]:
        """Return what changes with the rows: the engine's version, their number, and the folder, which may be new."""
        return table.version, table.count_rows(), self._place.stat().st_ino

    def exists(self) -> bool:
        """Tell whether any vector of this model was ever stored."""
        return self._place.is_dir()

    def sets(self) -> dict[int, int]:
        """Return the fragment sets of the table with their numbers of rows."""
        if self._sets is None:
            if not self.exists():
                return {}
            table = self._open()
            mark, known = _counted.get(self._place, (None, {}))
            if mark == self._mark(table):
                self._sets = known
                return known
            column = table.search().select(["set_code"]).limit(max(1, table.count_rows())).to_arrow()["set_code"]
            codes, counts = np.unique(column.to_numpy(), return_counts=True)
            self._sets = {int(code): int(count) for code, count in zip(codes, counts, strict=True)}
            _counted[self._place] = (self._mark(table), self._sets)
        return self._sets

    def _read(self, work: Callable[[Any], Any]) -> Any:
        """Return what `work` makes of the table. Compaction may have taken the files of the version that was opened:
        then the table is opened again, whose rows of the same sets are the same."""
        try:
            return work(self._open())
        except (RuntimeError, OSError):
            self._table = None
            return work(self._open())

    def ids(self, sets: Collection[int]) -> dict[int, set[str]]:
        """Return the fragment ids that the engine holds of each of `sets`."""
        found: dict[int, set[str]] = {code: set() for code in sets}
        if not self.exists() or not sets:
            return found
        table = self._open()
        rows = (
            table.search()
            .where(f"set_code IN ({_integers(sets)})")
            .select(["set_code", "fragment_id"])
            .limit(max(1, sum(self.sets().get(code, 0) for code in sets)))
            .to_arrow()
        )
        for code, name in zip(rows["set_code"].to_pylist(), rows["fragment_id"].to_pylist(), strict=True):
            found[code].add(name)
        return found

    def read(self, sets: Collection[int]) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Return, for each of `sets` that is there, its fragment ids (sorted) and the matrix of their vectors."""
        if not self.exists() or not sets:
            return {}
        most = max(1, sum(self.sets().get(code, 0) for code in sets))
        rows = self._read(
            lambda table: (
                table.search()
                .where(f"set_code IN ({_integers(sets)})")
                .select(["set_code", "fragment_id", "vector"])
                .limit(most)
                .to_arrow()
            )
        )
        codes = rows["set_code"].to_numpy()
        names = np.array(rows["fragment_id"].to_pylist(), dtype="S32")
        matrix = rows["vector"].combine_chunks().flatten().to_numpy().reshape(len(rows), -1)
        order = np.lexsort((names, codes))
        found = {}
        for part in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else ():
            found[int(codes[part[0]])] = (names[part], matrix[part])
        return found

    def append(self, batches: Sequence[tuple[int, Sequence[Fragment], np.ndarray]]) -> int:
        """Add the rows of whole fragment sets in one commit, leaving out sets that are there; return rows added.

        Each batch is (set code, fragments, unit vectors of shape (fragments, dimensions)). The caller holds the
        store's `vectors` lock, because concurrent writers of this engine duplicate rows.
        """
        import pyarrow as pa

        self._table, self._sets = None, None
        present = self.sets()
        new = [batch for batch in batches if batch[0] not in present and len(batch[1])]
        if not new:
            return 0
        dimensions = new[0][2].shape[1]
        tables = []
        for code, fragments, vectors in new:
            if vectors.shape != (len(fragments), dimensions):
                raise ValueError(f"{len(fragments)} fragments came with vectors of shape {vectors.shape}")
            flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).ravel())
            tables.append(
                pa.table(
                    {
                        "set_code": pa.array([code] * len(fragments), pa.int64()),
                        "fragment_id": pa.array([f.fragment_id for f in fragments], pa.string()),
                        "periods": pa.array([sorted(period_codes(f)) for f in fragments], pa.list_(pa.int32())),
                        "section": pa.array([name_code(f.section or "") for f in fragments], pa.int64()),
                        "role": pa.array([name_code(f.role or "") for f in fragments], pa.int64()),
                        "vector": pa.FixedSizeListArray.from_arrays(flat, dimensions),
                    }
                )
            )
        rows = pa.concat_tables(tables)
        database = self._database()
        if self.exists():
            table = database.open_table(self._name)
            table.add(rows)
        else:
            table = database.create_table(self._name, rows)
        _refresh_indexes(table)
        held = table.count_rows()
        if held != sum(present.values()) + rows.num_rows:
            raise StoreError(
                f"{self._name} holds {held} rows after an append, not {sum(present.values()) + rows.num_rows}: another "
                "process writes to it; stop that, remove vectors.lance and build again"
            )
        # What was appended need not be read back to be counted: the rows of all sets are read once for each build.
        self._table, self._sets = None, {**present, **{code: len(fragments) for code, fragments, _ in new}}
        _counted[self._place] = (self._mark(database.open_table(self._name)), self._sets)
        return rows.num_rows

    def hits(self, vector: np.ndarray, rows: VectorFilter, limit: int) -> Any:
        """Return an Arrow table of up to `limit` rows nearest to `vector` that satisfy `rows`, with `fragment_id`,
        `set_code` and `_distance`. Exact: no approximate index is ever built."""
        wanted = self._predicate(rows)

        def found(table: Any) -> Any:
            query = (
                table.search(np.asarray(vector, dtype=np.float32), vector_column_name="vector")
                .distance_type("dot")
                .bypass_vector_index()
                .select(["fragment_id", "set_code", "_distance"])
                .limit(limit)
            )
            return (query.where(wanted, prefilter=True) if wanted else query).to_arrow()

        return self._read(found)

    def search(self, vector: np.ndarray, rows: VectorFilter, limit: int) -> list[VectorHit]:
        """Return the `limit` rows nearest to `vector` among those that satisfy `rows`, nearest first.

        Equal similarities are ordered by fragment id.
        """
        if not rows.sets or limit < 1 or not self.exists():
            return []
        found = self.hits(vector, rows, limit + 64)
        hits = [
            VectorHit(name, code, 1.0 - distance)
            for name, code, distance in zip(
                found["fragment_id"].to_pylist(),
                found["set_code"].to_pylist(),
                found["_distance"].to_pylist(),
                strict=True,
            )
            if code in rows.sets
        ]
        return sorted(hits, key=lambda hit: (-hit.similarity, hit.fragment_id))[:limit]

    def _predicate(self, rows: VectorFilter) -> str:
        parts = []
        excluded = self.sets().keys() - rows.sets
        if excluded:
            shorter_to_exclude = len(excluded) < len(rows.sets)
            parts.append(
                f"set_code NOT IN ({_integers(excluded)})"
                if shorter_to_exclude
                else f"set_code IN ({_integers(rows.sets)})"
            )
        if rows.periods is not None:
            parts.append(f"array_has_any(periods, [{_integers(rows.periods)}])" if rows.periods else "false")
        for column, values in (("section", rows.sections), ("role", rows.roles)):
            if values is not None:
                parts.append(f"{column} IN ({_integers(values)})" if values else "false")
        return " AND ".join(parts)


def keep_sets(store: Store, needed: Collection[int]) -> int:
    """Take the rows of all other fragment sets out of the tables of all models, older versions of the files included;
    return how many rows went. The caller holds the `vectors` lock.

    A search that was opened before may find its files gone, and has to be opened again.
    """
    if not store.path(FOLDER).is_dir():
        return 0
    import lancedb

    database = lancedb.connect(str(store.path(FOLDER)))
    removed = 0
    for name in sorted(path.stem for path in store.path(FOLDER).glob("*.lance")):
        table = database.open_table(name)
        rows = table.count_rows()
        column = table.search().select(["set_code"]).limit(max(1, rows)).to_arrow()["set_code"]
        gone = set(np.unique(column.to_numpy()).tolist()) - set(needed)
        found = table.count_rows(f"set_code IN ({_integers(gone)})") if gone else 0
        if found == rows:
            database.drop_table(name)
        else:
            if found:
                table.delete(f"set_code IN ({_integers(gone)})")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that older versions are gone is what is wanted
                # Also without rows to delete: whoever was killed after deleting left them in the older files.
                table.optimize(cleanup_older_than=timedelta(0), delete_unverified=True)
        removed += found
    return removed
