"""What must not fall when an index version is to answer: figures, tolerances and stages, read from a file."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from finrag_pipelines.evaluation.evidence_loss import STAGES
from finrag_pipelines.evaluation.figures import means
from finrag_pipelines.evaluation.results import Evaluation
from finrag_pipelines.evaluation.summary import matrix_of

LOST_BEFORE = {
    "gold_in_index": frozenset(STAGES[: STAGES.index("not_in_the_index") + 1]),
    "gold_in_scope": frozenset({"hidden_by_scope"}),
}
"""Figures that are shares of gold quotes, each with the stages whose losses count against it."""


class GuardError(ValueError):
    """A file of guards is not as documented; the message says what, where, and what is known."""


@dataclass(frozen=True)
class Guard:
    """A figure that must not fall by more than `tolerance`, and the stage that a fall points to."""

    figure: str
    stage: str
    tolerance: float


def read_guards(path: Path) -> tuple[Guard, ...]:
    """Read guards in the order of the file. Raises GuardError for what is not known, FileNotFoundError for no file."""
    try:
        tables = tomllib.loads(path.read_text("utf-8")).get("guard", [])
        found = tuple(Guard(str(one["figure"]), str(one["stage"]), float(one["tolerance"])) for one in tables)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise GuardError(
            f"{path.name}: each [[guard]] needs a figure, a stage and a tolerance, which is a number ({error})"
        ) from None
    for one in found:
        if one.tolerance < 0:
            raise GuardError(f"{path.name}: the tolerance of {one.figure} is below 0")
    return found


def guarded_figures(evaluation: Evaluation, guards: tuple[Guard, ...]) -> dict[str, float]:
    """Return the guarded figures of an evaluation by name; one that it does not have is left out.

    Beside the means of its figures: the shares of right decisions by class, and the shares of gold quotes that are in
    the index and in the scope of their question.
    """
    matrix, losses = matrix_of(evaluation), evaluation.losses
    found = {one.name: one.value for one in means(evaluation.figures)}
    found["answerable_accepted"] = matrix.accepted.share
    found["unanswerable_refused"] = matrix.refused.share
    found["right_code"] = matrix.right_codes.share
    for name, stages in LOST_BEFORE.items():
        if losses:
            found[name] = sum(one.stage not in stages for one in losses) / len(losses)
    return {one.figure: value for one in guards if (value := found.get(one.figure)) is not None}
