"""Which eval sets are about the corpus at hand: those whose sources and principals the catalog has."""

from collections.abc import Sequence
from dataclasses import dataclass

from finrag_pipelines.catalog.catalog import Catalog
from finrag_pipelines.evaluation.sets import EvalSet

_NAMED = 3


@dataclass(frozen=True)
class Applicable:
    """The sets that can be run on a corpus, and sentences that say which cannot, and why."""

    sets: tuple[EvalSet, ...]
    skipped: tuple[str, ...]


def applicable(eval_sets: Sequence[EvalSet], catalog: Catalog) -> Applicable:
    """Sort out the sets whose gold evidence lies in sources that the catalog lacks, or whose principals it lacks.

    A set without gold evidence cannot say which corpus it is about; it goes with the sets beside it, and is left out
    where all of those that have some are.
    """
    lacking = {one.name: _lacking(one, catalog) for one in eval_sets}
    about = [one.name for one in eval_sets if _sources(one)]
    if about and all(lacking[name] for name in about):
        return Applicable((), (f"skipped {', '.join(lacking)}: they are about documents that the catalog lacks",))
    return Applicable(
        tuple(one for one in eval_sets if not lacking[one.name]),
        tuple(f"skipped {name}: it {reason}" for name, reason in lacking.items() if reason),
    )


def _sources(eval_set: EvalSet) -> set[str]:
    return {gold.source_id for question in eval_set.questions for gold in question.gold}


def _lacking(eval_set: EvalSet, catalog: Catalog) -> str:
    principals = sorted({one.principal for one in eval_set.questions} - set(catalog.principals))
    absent = sorted(_sources(eval_set) - set(catalog.sources))
    reasons = []
    if absent:
        more = f" and {len(absent) - _NAMED} more" if len(absent) > _NAMED else ""
        reasons.append(f"needs {', '.join(absent[:_NAMED])}{more}, which the catalog does not have")
    if principals:
        reasons.append(f"asks as {', '.join(principals)}, whom the catalog does not have")
    return "; ".join(reasons)
