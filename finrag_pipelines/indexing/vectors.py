"""Vectors in LanceDB: append-only rows keyed by fragment and model digest, searched exactly behind integer filters.

A row belongs to a fragment set (`set_code`), and an index version is a list of sets: old versions stay readable.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.indexing.period_codes import period_codes
from finrag_pipelines.storage import Store, StoreError, digest

FOLDER = "vectors.lance"
_FEW_ROWS = 2_000  # an append below this leaves small files behind, which are merged from time to time
_MANY_FILES = 24


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


def _integers(values: Iterable[int]) -> str:
    return ", ".join(str(int(value)) for value in sorted(values))


class VectorTable:
    """The rows of one embedding model, as they stood when the table was opened."""

    def __init__(self, store: Store, model_digest: str) -> None:
        self._store = store
        self._name = f"model_{model_digest[:32]}"
        self._table: Any = None
        self._sets: dict[int, int] | None = None

    def _database(self) -> Any:
        import lancedb

        return lancedb.connect(str(self._store.path(FOLDER)))

    def _open(self) -> Any:
        if self._table is None:
            if not self._store.path(FOLDER, f"{self._name}.lance").is_dir():
                raise StoreError(f"no vectors of model {self._name} in {self._store.root}; build the index first")
            self._table = self._database().open_table(self._name)
        return self._table

    def exists(self) -> bool:
        """Tell whether any vector of this model was ever stored."""
        return self._store.path(FOLDER, f"{self._name}.lance").is_dir()

    def sets(self) -> dict[int, int]:
        """Return the fragment sets of the table with their numbers of rows."""
        if self._sets is None:
            if not self.exists():
                return {}
            table = self._open()
            column = table.search().select(["set_code"]).limit(max(1, table.count_rows())).to_arrow()["set_code"]
            codes, counts = np.unique(column.to_numpy(), return_counts=True)
            self._sets = {int(code): int(count) for code, count in zip(codes, counts, strict=True)}
        return self._sets

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
            .limit(max(1, table.count_rows()))
            .to_arrow()
        )
        for code, name in zip(rows["set_code"].to_pylist(), rows["fragment_id"].to_pylist(), strict=True):
            found[code].add(name)
        return found

    def read(self, sets: Collection[int]) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Return, for each of `sets` that is there, its fragment ids (sorted) and the matrix of their vectors."""
        if not self.exists() or not sets:
            return {}
        table = self._open()
        rows = (
            table.search()
            .where(f"set_code IN ({_integers(sets)})")
            .select(["set_code", "fragment_id", "vector"])
            .limit(max(1, sum(self.sets().get(code, 0) for code in sets)))
            .to_arrow()
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
        self._refresh_indexes(table)
        self._table, self._sets = None, None
        return rows.num_rows

    @staticmethod
    def _refresh_indexes(table: Any) -> None:
        from lancedb.index import Bitmap, LabelList

        if table.stats()["fragment_stats"]["num_fragments"] > _MANY_FILES:
            table.optimize()
        for column, kind in (
            ("set_code", Bitmap()),
            ("periods", LabelList()),
            ("section", Bitmap()),
            ("role", Bitmap()),
        ):
            table.create_index(column, config=kind, replace=True)

    def hits(self, vector: np.ndarray, rows: VectorFilter, limit: int) -> Any:
        """Return an Arrow table of up to `limit` rows nearest to `vector` that satisfy `rows`, with `fragment_id`,
        `set_code` and `_distance`. Exact: no approximate index is ever built."""
        query = (
            self._open()
            .search(np.asarray(vector, dtype=np.float32), vector_column_name="vector")
            .distance_type("dot")
            .bypass_vector_index()
            .select(["fragment_id", "set_code", "_distance"])
            .limit(limit)
        )
        if predicate := self._predicate(rows):
            query = query.where(predicate, prefilter=True)
        return query.to_arrow()

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
