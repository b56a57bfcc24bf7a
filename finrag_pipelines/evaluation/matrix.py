"""The decision matrix: what was answered and what was refused, per class, with intervals and costs."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Decision:
    """What was decided on one question and what had been right. `wrong` marks an answer that does not hold."""

    question_id: str
    answerable: bool
    answered: bool
    expected_code: str | None = None
    code: str | None = None
    wrong: bool = False

    @property
    def right(self) -> bool:
        """Tell whether the decision was right: answered and holding, or refused where refusing was right."""
        return self.answered is self.answerable and not (self.answered and self.wrong)

    @property
    def code_right(self) -> bool:
        """Tell whether a right refusal carries the expected code."""
        return not self.answerable and not self.answered and self.code == self.expected_code


@dataclass(frozen=True)
class Costs:
    """What a mistake costs, in units of a needless refusal.

    An answer that does not hold can reach a memo; a needless refusal costs a look at the document. The default
    weighs ten of these against one of those; a right refusal with another reason than expected costs a tenth.
    """

    wrong_answer: float = 10.0
    needless_refusal: float = 1.0
    wrong_code: float = 0.1


@dataclass(frozen=True)
class Interval:
    """A proportion `successes / total` with its Wilson score interval at 95 %; all None where total is 0."""

    successes: int
    total: int
    share: float | None
    low: float | None
    high: float | None


def wilson(successes: int, total: int, z: float = 1.959963984540054) -> Interval:
    """Return the Wilson score interval (Wilson 1927), which holds for small samples and shares near 0 and 1."""
    if total == 0:
        return Interval(0, 0, None, None, None)
    share = successes / total
    centre = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return Interval(successes, total, share, max(0.0, centre - half), min(1.0, centre + half))


@dataclass(frozen=True)
class Matrix:
    """Counts of decisions by class; `right_code` of the refused unanswerable, `wrong` of all that was answered."""

    answerable_answered: int
    answerable_refused: int
    unanswerable_answered: int
    unanswerable_refused: int
    right_code: int
    wrong: int
    cost: float
    score: float | None

    @property
    def answerable(self) -> int:
        """How many questions could be answered."""
        return self.answerable_answered + self.answerable_refused

    @property
    def unanswerable(self) -> int:
        """How many questions could not."""
        return self.unanswerable_answered + self.unanswerable_refused

    @property
    def accepted(self) -> Interval:
        """Answered among the answerable."""
        return wilson(self.answerable_answered, self.answerable)

    @property
    def refused(self) -> Interval:
        """Refused among the unanswerable."""
        return wilson(self.unanswerable_refused, self.unanswerable)

    @property
    def right_codes(self) -> Interval:
        """Refused with the expected code among the unanswerable."""
        return wilson(self.right_code, self.unanswerable)

    @property
    def wrong_answers(self) -> Interval:
        """Answers that do not hold among all answers."""
        return wilson(self.wrong, self.answerable_answered + self.unanswerable_answered)


def cost_of(one: Decision, costs: Costs) -> float:
    """Return what one decision costs."""
    if one.answered:
        return 0.0 if one.answerable and not one.wrong else costs.wrong_answer
    if one.answerable:
        return costs.needless_refusal
    return 0.0 if one.code_right else costs.wrong_code


def decision_matrix(decisions: Iterable[Decision], costs: Costs | None = None) -> Matrix:
    """Count decisions. The score is 1 where nothing was wrong and 0 where everything was as costly as it can be."""
    costs, listed = costs or Costs(), list(decisions)
    answerable = [one for one in listed if one.answerable]
    others = [one for one in listed if not one.answerable]
    cost = sum(cost_of(one, costs) for one in listed)
    worst = costs.wrong_answer * len(listed)
    return Matrix(
        answerable_answered=sum(one.answered for one in answerable),
        answerable_refused=sum(not one.answered for one in answerable),
        unanswerable_answered=sum(one.answered for one in others),
        unanswerable_refused=sum(not one.answered for one in others),
        right_code=sum(one.code_right for one in others),
        wrong=sum(one.answered and (one.wrong or not one.answerable) for one in listed),
        cost=round(cost, 6),
        score=round(1 - cost / worst, 6) if worst else None,
    )
