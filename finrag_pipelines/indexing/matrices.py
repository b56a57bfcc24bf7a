"""The vectors of whole shards in memory, in the order of their rows: what makes an exact search take a millisecond.

They are read from the vector index when a search first needs them, and the least used go when room is short.
"""

from collections import OrderedDict
from collections.abc import Collection, Sequence
from threading import Lock

import numpy as np

from finrag_pipelines.indexing.shard import Shard
from finrag_pipelines.indexing.vectors import VectorTable
from finrag_pipelines.storage import StoreError

MEMORY_BYTES = 1_000_000_000
"""How much a search may hold: 650,000 vectors of 384 dimensions."""
_ROUNDING = 1e-4  # beyond what single precision can err by in the product of two unit vectors of 384 dimensions


class ShardVectors:
    """Per position of a shard, a float32 matrix with one row for each of its fragments. Safe to share by threads."""

    def __init__(self, table: VectorTable, shards: Sequence[Shard], memory: int = MEMORY_BYTES) -> None:
        self._table = table
        self._shards = shards
        self._memory = memory
        self._held: OrderedDict[int, np.ndarray] = OrderedDict()
        self._lock = Lock()

    def fits(self, positions: Collection[int], dimensions: int) -> bool:
        """Tell whether the shards at `positions` may be held at once. It depends on the index version alone, so that
        the same search always takes the same way."""
        return sum(self._shards[p].count for p in positions) * dimensions * 4 <= self._memory

    def of(self, positions: Collection[int]) -> dict[int, np.ndarray]:
        """Return the matrices of the shards at `positions`, all of which must fit.

        Raises StoreError where the vector index does not hold exactly the fragments of a shard.
        """
        with self._lock:
            missing = [p for p in sorted(positions) if p not in self._held]
            if missing:
                read = self._table.read([entry.set_code for p in missing for entry in self._shards[p].entries])
                self._held.update((p, _in_row_order(self._shards[p], read)) for p in missing)
            for position in positions:
                self._held.move_to_end(position)
            found = {position: self._held[position] for position in positions}
            while sum(matrix.nbytes for matrix in self._held.values()) > self._memory:
                self._held.popitem(last=False)
            return found


def _in_row_order(shard: Shard, read: dict[int, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    widths = {matrix.shape[1] for _, matrix in read.values()}
    found = np.zeros((shard.count, widths.pop() if widths else 0), dtype=np.float32)
    for place, entry in enumerate(shard.entries):
        rows = np.flatnonzero(shard.source == place)
        names, matrix = read.get(entry.set_code, (np.empty(0, dtype="S32"), np.empty((0, found.shape[1]))))
        if not np.array_equal(names, shard.ids[rows]):
            raise StoreError(
                f"{entry.source_id}: the vector index does not hold the fragments of shard {shard.name[:12]}…; "
                "remove vectors.lance and build the index again"
            )
        found[rows] = matrix
    return found


def nearest(
    matrices: dict[int, np.ndarray], masks: dict[int, np.ndarray], vector: np.ndarray, limit: int
) -> list[tuple[int, int, float]]:
    """Return (position, row, cosine similarity) of the `limit` rows nearest to `vector` among those that the masks
    keep, and of rows as near as the last of them, up to 64.

    The first pass in single precision, whose last bits depend on threads, only chooses rows: all that may be among the
    nearest, whatever its rounding. Their similarities are then computed in double precision, each row by itself and
    without BLAS, and only those count.
    """
    positions = sorted(matrices)
    if not positions:
        return []
    rough = np.concatenate([np.where(masks[p], matrices[p] @ vector, -np.inf) for p in positions])
    ends = np.cumsum([len(matrices[p]) for p in positions])
    least = np.partition(rough, -limit)[-limit] - _ROUNDING if limit < len(rough) else -np.inf
    chosen = np.flatnonzero((rough >= least) & (rough > -np.inf))
    which = np.searchsorted(ends, chosen, side="right")
    exact, similarities = vector.astype(np.float64), np.empty(len(chosen))
    for index in np.unique(which):
        matrix, mine = matrices[positions[index]], which == index
        rows = chosen[mine] - (ends[index] - len(matrix))
        similarities[mine] = (matrix[rows].astype(np.float64) * exact).sum(axis=1)
    best = np.lexsort((chosen, -similarities))
    if len(best) > limit:
        best = best[similarities[best] >= similarities[best[limit - 1]]][: limit + 64]
    places = [positions[index] for index in which[best]]
    rows = chosen[best] - np.array([ends[index] - len(matrices[positions[index]]) for index in which[best]], dtype=int)
    return list(zip(places, rows.tolist(), similarities[best].tolist(), strict=True))
