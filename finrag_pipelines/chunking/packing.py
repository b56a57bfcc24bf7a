"""How neighbouring atoms (sentences, rows) become fragments: the cheapest cut by dynamic programming.

Integer costs only, so that the choice is the same on every machine.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from finrag_pipelines.parsing.readers.limits import Deadline

TARGET_LOW, TARGET_HIGH = 180, 230
_PER_FRAGMENT = 300
_INFINITE = 1 << 60


@dataclass(frozen=True, slots=True)
class Atom:
    """A range that is never cut: a sentence, a table row, a title.

    `element` is its element's index, `opens` tells that it begins that element, `table` and `row` where it stands in
    a table, `header` that it is a header row or stands above the first one.
    """

    start: int
    end: int
    tokens: int
    element: int | None = None
    opens: bool = True
    title: bool = False
    table: int | None = None
    row: int | None = None
    header: bool = False


def _size_cost(tokens: int) -> int:
    if tokens < TARGET_LOW:
        return 1000 * (TARGET_LOW - tokens) ** 2 // TARGET_LOW**2
    return 4 * max(0, tokens - TARGET_HIGH)


def _cut_cost(before: Atom, after: Atom) -> int:
    """Return what it costs to part two neighbours; negative where a cut is welcome."""
    if before.title:
        return 2000
    if before.table is not None and before.table == after.table:
        return 1500 if before.header else 100
    if before.table is not None:
        return -300
    if after.table is not None:
        return 150 if before.tokens < 40 else -100
    if after.title:
        return -300
    return 0 if after.opens else 200


def _join_cost(before: Atom, after: Atom) -> int:
    """Return what it costs to keep two neighbours in one fragment."""
    return 250 if before.table is not None and before.table != after.table else 0


def pack(
    atoms: Sequence[Atom], overhead: Sequence[int], window: int, deadline: Deadline | None = None
) -> list[tuple[int, int]]:
    """Return the index ranges `[i, j)` of the fragments that `atoms` are packed into.

    `overhead[i]` counts the tokens of context and special tokens of a fragment that starts at atom i. A fragment
    keeps to `window` tokens unless one atom alone does not. Raises UnreadableError `time_budget` past the deadline.
    """
    count = len(atoms)
    size_costs = [_size_cost(tokens) for tokens in range(window + 1)]
    total = [0]
    joins = [0, 0]
    for atom in atoms:
        total.append(total[-1] + atom.tokens)
    for before, after in itertools.pairwise(atoms):
        joins.append(joins[-1] + _join_cost(before, after))
    cuts = [0, *(_cut_cost(before, after) for before, after in itertools.pairwise(atoms)), 0]
    best = [0] + [_INFINITE] * count
    origin = [0] * (count + 1)
    for i in range(count):
        if deadline and not i % 4096:
            deadline.check("the cutting into fragments")
        base = best[i] + _PER_FRAGMENT
        for j in range(i + 1, count + 1):
            tokens = overhead[i] + total[j] - total[i]
            if tokens > window and j > i + 1:
                break
            size_cost = size_costs[tokens] if tokens <= window else _size_cost(tokens)
            cost = base + size_cost + joins[j] - joins[i + 1] + cuts[j]
            if cost < best[j]:
                best[j], origin[j] = cost, i
    ranges: list[tuple[int, int]] = []
    end = count
    while end:
        ranges.append((origin[end], end))
        end = origin[end]
    return ranges[::-1]
