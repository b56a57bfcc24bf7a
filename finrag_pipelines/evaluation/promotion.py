"""May an index version answer? Its guarded figures are held against those of the version that answers now.

A fall beyond a figure's tolerance stops the promotion and names the stage to look at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from finrag_pipelines.evaluation.configurations import Configuration, read_configuration
from finrag_pipelines.evaluation.figures import means
from finrag_pipelines.evaluation.folders import DEFAULT_CONFIGURATION, configuration_path
from finrag_pipelines.evaluation.results import Evaluation
from finrag_pipelines.evaluation.results import history as evaluations_of
from finrag_pipelines.evaluation.run import evaluate
from finrag_pipelines.evaluation.sets import EvalSet
from finrag_pipelines.evaluation.summary import matrix_of
from finrag_pipelines.indexing.publication import (
    CURRENT,
    current_version,
    history,
    promote,
    published_version,
    resolve_version,
)
from finrag_pipelines.storage import Store, StoreError

if TYPE_CHECKING:
    from finrag_pipelines.embedding.model import Embedder


@dataclass(frozen=True)
class Guard:
    """A figure that must not fall by more than `tolerance`, and the stage that a fall points to."""

    figure: str
    stage: str
    tolerance: float


GUARDS = (
    Guard("gold_in_index", "ingestion, parsing or chunking: gold evidence is not in the index", 0.0),
    Guard("gold_in_scope", "parsing: sections, speakers or periods hide gold evidence from the scope", 0.02),
    Guard("vector_recall@10", "embedding: the vector channel ranks gold evidence lower", 0.05),
    Guard("lexical_recall@10", "indexing: the lexical channel ranks gold evidence lower", 0.05),
    Guard("fragment_recall@10", "retrieval: gold evidence is found later", 0.05),
    Guard("answerable_accepted", "answering: questions are refused that were answered", 0.05),
    Guard("unanswerable_refused", "answering: questions are answered that were refused", 0.0),
)
"""In the order of the stages: the first fall is nearest to the cause."""
_NOT_INDEXED = ("not_ingested", "not_parsed", "not_in_a_fragment", "not_in_the_index")


@dataclass(frozen=True)
class Fall:
    """A guarded figure that fell too far on a set."""

    set_name: str
    figure: str
    stage: str
    before: float
    after: float
    tolerance: float

    def __str__(self) -> str:
        """One line for people."""
        return (
            f"{self.set_name}: {self.figure} fell from {self.before:.3f} to {self.after:.3f}, more than "
            f"{self.tolerance:g} ({self.stage})"
        )


@dataclass(frozen=True)
class Verdict:
    """What came of an attempt to promote a version. `previous` is the version that answered before, if any."""

    index_version: str
    previous: str | None
    promoted: bool
    falls: tuple[Fall, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        """Lines for people."""
        what = "answers now" if self.promoted else "was not promoted"
        first = f"index {self.index_version[:12]} {what}" + (f": {self.reason}" if self.reason else "")
        return "\n".join([first, *map(str, self.falls)])


def guarded_figures(evaluation: Evaluation) -> dict[str, float]:
    """Return the guarded figures of an evaluation by name; one that it does not have is left out."""
    matrix, losses = matrix_of(evaluation), evaluation.losses
    found = {one.name: one.value for one in means(evaluation.figures)}
    found["answerable_accepted"] = matrix.accepted.share
    found["unanswerable_refused"] = matrix.refused.share
    if losses:
        found["gold_in_index"] = sum(one.stage not in _NOT_INDEXED for one in losses) / len(losses)
        found["gold_in_scope"] = sum(one.stage != "hidden_by_scope" for one in losses) / len(losses)
    return {one.figure: value for one in GUARDS if (value := found.get(one.figure)) is not None}


def falls(before: Evaluation, after: Evaluation) -> tuple[Fall, ...]:
    """Return the guarded figures that fell by more than their tolerance, in the order of the guards."""
    first, second = guarded_figures(before), guarded_figures(after)
    name = after.header.set_name
    return tuple(
        Fall(name, one.figure, one.stage, first[one.figure], second[one.figure], one.tolerance)
        for one in GUARDS
        if one.figure in first
        and one.figure in second
        and first[one.figure] - second[one.figure] > one.tolerance + 1e-9
    )


def try_promotion(
    store: Store,
    version: str | None,
    eval_sets: Sequence[EvalSet],
    embedder: "Embedder | None",
    force: bool = False,
    configuration: Configuration | None = None,
) -> Verdict:
    """Evaluate a version (the newest published one if None) on the sets, and make it answer unless a figure falls.

    It is held against the newest evaluations of the version that answers now on the same sets; where there are none,
    they are made if that version can be searched with `embedder`. Raises StoreError where nothing is published.
    """
    candidate = resolve_version(store, version or published_version(store))
    previous = current_version(store)
    if previous == candidate:
        return Verdict(candidate, previous, True, reason="it did already")
    configuration = configuration or read_configuration(configuration_path(DEFAULT_CONFIGURATION))
    found: list[Fall] = []
    uncompared = []
    for eval_set in eval_sets:
        before = _standing(store, eval_set, configuration, previous, embedder)
        after = evaluate(store, eval_set, configuration, embedder, candidate, allow_unresolved=True, with_ragas=False)
        if before is None:
            uncompared.append(eval_set.name)
        else:
            found += falls(before, after.evaluation)
    reason = f"no earlier figures on {', '.join(uncompared)}" if uncompared else ""
    if found and not force:
        return Verdict(candidate, previous, False, tuple(found), reason or "guarded figures fell")
    promote(store, candidate)
    return Verdict(candidate, previous, True, tuple(found), "forced" if found else reason)


def _standing(
    store: Store, eval_set: EvalSet, configuration: Configuration, version: str | None, embedder: "Embedder | None"
) -> Evaluation | None:
    if version is None:
        return None
    for one in reversed(evaluations_of(store, eval_set.name, configuration.name)):
        header = one.header
        same = header.set_sha256 == eval_set.sha256 and header.configuration_sha256 == configuration.sha256
        if header.index_version == version and same:
            return one
    try:
        made = evaluate(store, eval_set, configuration, embedder, version, allow_unresolved=True, with_ragas=False)
    except StoreError:  # built with a model that is not at hand
        return None
    return made.evaluation


def roll_back(store: Store) -> str:
    """Make the version answer that did before the last movement; return it. Raises StoreError where there was none."""
    moves = [one for one in history(store) if one.pointer == CURRENT and one.previous]
    if not moves:
        raise StoreError(f"no index answered before the present one in {store.root}; there is nothing to go back to")
    previous = str(moves[-1].previous)
    promote(store, previous)
    return previous
