"""Recall, reciprocal rank and nDCG of ranked keys as trec_eval defines them; a key is a document, page or fragment."""

import math
from collections.abc import Collection, Hashable, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
CUTS = (1, 3, 5, 10, 20)
LEVELS = ("document", "page", "fragment")


def distinct(ranked: Sequence[Key]) -> list[Key]:
    """Return keys at their best rank only: several fragments of one document are one document."""
    return list(dict.fromkeys(ranked))


def recall_at(ranked: Sequence[Key], relevant: Collection[Key], k: int) -> float:
    """Return the share of the relevant keys among the first `k`; 0 where nothing is relevant."""
    return len(set(ranked[:k]) & set(relevant)) / len(set(relevant)) if relevant else 0.0


def reciprocal_rank(ranked: Sequence[Key], relevant: Collection[Key]) -> float:
    """Return 1 over the rank of the first relevant key, 0 without one."""
    return next((1 / rank for rank, key in enumerate(ranked, start=1) if key in relevant), 0.0)


def ndcg_at(ranked: Sequence[Key], relevant: Collection[Key], k: int) -> float:
    """Return the discounted gain of the first `k` over the best possible (binary gain, discount log2(rank + 1))."""
    if not relevant:
        return 0.0
    gain = sum(1 / math.log2(rank + 1) for rank, key in enumerate(ranked[:k], start=1) if key in relevant)
    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(set(relevant))) + 1))
    return gain / best
