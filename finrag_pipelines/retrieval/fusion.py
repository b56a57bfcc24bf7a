"""Reciprocal rank fusion, near-duplicates, and places held for every pair of a comparison."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

RRF_K = 60

Key = TypeVar("Key", bound=Hashable)


def reciprocal_rank_fusion(
    channels: Mapping[str, Sequence[Key]], weights: Mapping[str, float] | None = None, k: int = RRF_K
) -> dict[Key, float]:
    """Return Σ weight / (k + rank) over the channels for each item, ranks from 1, weights 1 where none is given
    (Cormack, Clarke and Büttcher, 2009)."""
    scores: dict[Key, float] = {}
    for name in sorted(channels):
        weight = (weights or {}).get(name, 1.0)
        for rank, key in enumerate(channels[name], 1):
            scores[key] = scores.get(key, 0.0) + weight / (k + rank)
    return scores


def near_duplicates(rows: Sequence[np.ndarray], threshold: float = 0.9) -> list[int]:
    """Return for each row the position of the earlier row that it nearly repeats, or its own position.

    Rows are sorted arrays of distinct term numbers of one shard; the measure is Jaccard's.
    """
    sizes = np.array([len(row) for row in rows])
    shared = _shared_terms(rows)
    alike = shared >= threshold * (sizes[:, None] + sizes[None, :] - shared)
    alike &= shared > 0
    found: list[int] = []
    for position in range(len(rows)):
        earlier = (other for other in np.flatnonzero(alike[position, :position]) if found[other] == other)
        found.append(int(next(earlier, position)))
    return found


def _shared_terms(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return how many terms each two of the rows share."""
    if not rows:
        return np.zeros((0, 0))
    vocabulary, places = np.unique(np.concatenate(rows), return_inverse=True)
    holds = np.zeros((len(rows), len(vocabulary)), dtype=np.float32)
    holds[np.repeat(np.arange(len(rows)), [len(row) for row in rows]), places] = 1.0
    return holds @ holds.T


def interleave(rankings: Sequence[Sequence[Key]], limit: int) -> list[tuple[Key, int]]:
    """Return up to `limit` distinct items, each ranking in turn giving its best that is not taken yet, together with
    the position of the ranking that gave it."""
    found: dict[Key, int] = {}
    waiting = {position: iter(ranking) for position, ranking in enumerate(rankings)}
    while waiting and len(found) < limit:
        for position in list(waiting):
            item = next((item for item in waiting[position] if item not in found), None)
            if item is None:
                del waiting[position]
            elif len(found) < limit:
                found[item] = position
    return list(found.items())
