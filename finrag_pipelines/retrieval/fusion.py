"""Reciprocal rank fusion, near-duplicates, and places held for every pair of a comparison."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

RRF_K = 60

Key = TypeVar("Key", bound=Hashable)


def reciprocal_rank_fusion(channels: Mapping[str, Sequence[Key]], k: int = RRF_K) -> dict[Key, float]:
    """Return Σ 1 / (k + rank) over the channels for each item, ranks from 1 (Cormack, Clarke and Büttcher, 2009)."""
    scores: dict[Key, float] = {}
    for name in sorted(channels):
        for rank, key in enumerate(channels[name], 1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (k + rank)
    return scores


def near_duplicates(rows: Sequence[np.ndarray], threshold: float = 0.9) -> list[int]:
    """Return for each row the position of the earlier row that it nearly repeats, or its own position.

    Rows are sorted arrays of distinct term numbers of one shard; the measure is Jaccard's.
    """
    found: list[int] = []
    for position, row in enumerate(rows):
        same = position
        for earlier in range(position):
            if found[earlier] != earlier:
                continue
            other = rows[earlier]
            if min(len(row), len(other)) < threshold * max(len(row), len(other)):
                continue
            shared = len(np.intersect1d(row, other, assume_unique=True))
            if shared and shared >= threshold * (len(row) + len(other) - shared):
                same = earlier
                break
        found.append(same)
    return found


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
