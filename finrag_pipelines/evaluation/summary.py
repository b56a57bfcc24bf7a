"""Every figure of evaluations as rows, for Parquet and for people."""

from collections.abc import Sequence
from dataclasses import dataclass

from finrag_pipelines.evaluation.figures import means
from finrag_pipelines.evaluation.matrix import Costs, Interval, Matrix, decision_matrix
from finrag_pipelines.evaluation.results import Evaluation


@dataclass(frozen=True)
class SummaryRow:
    """One figure of one configuration on one set, for Parquet. `low` and `high` are None for a plain mean."""

    set_name: str
    configuration: str
    index_version: str
    key: str
    figure: str
    value: float | None
    low: float | None
    high: float | None
    scored: int
    left_out: int


def summary(evaluations: Sequence[Evaluation], costs: Costs | None = None) -> tuple[SummaryRow, ...]:
    """Return every figure of every evaluation as rows."""
    rows = []
    for one in evaluations:
        header = one.header
        start = header.set_name, header.configuration, header.index_version, header.key
        matrix = matrix_of(one, costs)
        for name, interval in intervals_of(matrix):
            rows.append(SummaryRow(*start, name, interval.share, interval.low, interval.high, interval.total, 0))
        rows.append(SummaryRow(*start, "cost_weighted_score", matrix.score, None, None, len(one.questions), 0))
        for mean in means(one.figures):
            left_out = mean.nan + mean.timed_out + mean.unparsed + mean.failed + mean.not_installed + mean.refused
            rows.append(SummaryRow(*start, mean.name, mean.value, None, None, mean.scored, left_out))
    return tuple(rows)


def matrix_of(one: Evaluation, costs: Costs | None = None) -> Matrix:
    """Return the decision matrix of an evaluation."""
    return decision_matrix((row.as_decision for row in one.questions), costs)


def intervals_of(matrix: Matrix) -> tuple[tuple[str, Interval], ...]:
    """Return the shares of a matrix by name, each with its interval."""
    return (
        ("answerable_accepted", matrix.accepted),
        ("unanswerable_refused", matrix.refused),
        ("right_code", matrix.right_codes),
        ("wrong_answers", matrix.wrong_answers),
    )
