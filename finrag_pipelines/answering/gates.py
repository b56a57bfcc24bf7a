"""Scope coverage, delivery under a budget, and sufficiency: what must hold before anything is generated."""

from collections.abc import Sequence

from finrag_pipelines.answering.model import Delivered
from finrag_pipelines.answering.support import bears
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.evidence.records import Refusal
from finrag_pipelines.retrieval.model import Candidate, Pair, Plan


def pair_text(pair: Pair) -> str:
    """Return a pair as refusals name it: `KO/2026Q1`, `KO`, or `2026Q1`."""
    return "/".join(one for one in (pair.company, pair.period) if one) or "anything"


def unknown_companies(plan: Plan) -> Refusal | None:
    """Refuse a question about companies that the corpus does not hold, as far as this principal may know."""
    names = sorted({one.removesuffix("'s").removesuffix("’s") for one in plan.unknown_companies})
    if not names:
        return None
    listed = ", ".join(names)
    return Refusal("SCOPE.unknown_company", f"The corpus holds no documents of: {listed}.", tuple(names))


def covers(pair: Pair, fragment: Fragment) -> bool:
    """Tell whether a fragment belongs to a pair."""
    return bears(pair, Delivered(0, fragment))


def uncovered(pairs: Sequence[Pair], fragments: Sequence[Fragment]) -> tuple[Pair, ...]:
    """Return the pairs to which no fragment belongs, sorted. Company and period must meet in one fragment."""
    missing = {pair for pair in pairs if not any(covers(pair, one) for one in fragments)}
    return tuple(sorted(missing, key=pair_text))


def scope_refusal(missing: Sequence[Pair]) -> Refusal:
    """Return the refusal for pairs without evidence: sorted, so that it is the same wherever it is made."""
    names = tuple(sorted({pair_text(one) for one in missing}))
    return Refusal("SCOPE.uncovered", f"The retrieved evidence does not cover: {', '.join(names)}.", names)


def choose_deliveries(candidates: Sequence[Candidate], pairs: Sequence[Pair], budget: int) -> tuple[Delivered, ...]:
    """Choose fragments under a token budget: each pair has an equal share, taken by rank; what is left goes by rank.

    The order is that of the pairs, then of the ranks, so that equal candidates give equal prompts.
    """
    chosen: dict[str, tuple[int, int, Candidate, Pair | None]] = {}
    left = budget
    share = budget // max(1, len(pairs))
    for number, pair in enumerate(pairs):
        spent = 0
        for one in candidates:
            size = max(1, one.fragment.tokens)
            if one.fragment.fragment_id in chosen or not covers(pair, one.fragment) or spent + size > share:
                continue
            chosen[one.fragment.fragment_id] = (number, one.rank, one, pair)
            spent += size
        left -= spent
    for one in candidates:
        size = max(1, one.fragment.tokens)
        if one.fragment.fragment_id not in chosen and size <= left:
            number = next((at for at, pair in enumerate(pairs) if covers(pair, one.fragment)), len(pairs))
            chosen[one.fragment.fragment_id] = (number, one.rank, one, one.pair)
            left -= size
    ordered = sorted(chosen.values(), key=lambda one: (one[0], one[1], one[2].fragment.fragment_id))
    return tuple(Delivered(at, one[2].fragment, one[3]) for at, one in enumerate(ordered, start=1))
