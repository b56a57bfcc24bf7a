"""A figure of one question: a value, or why there is none. Means are over scored rows, and say how many those were."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SCORED = "scored"
NAN = "nan"
TIMED_OUT = "timed_out"
UNPARSED = "unparsed"
FAILED = "failed"
ABSENT = "not_installed"
REFUSED = "refused"
MILLISECONDS, PROMPT_TOKENS = "ms_", "tokens_prompt"
"""Names of figures of cost: milliseconds as `ms_<stage>`, and tokens of a prompt as the model's server counts them."""
STATUSES = (SCORED, NAN, TIMED_OUT, UNPARSED, FAILED, ABSENT, REFUSED)


@dataclass(frozen=True)
class Figure:
    """One measure on one question. `value` is None unless `status` is scored; `reason` says what went wrong."""

    question_id: str
    name: str
    value: float | None
    status: str = SCORED
    reason: str = ""


@dataclass(frozen=True)
class Mean:
    """A figure over a set: its mean over the scored rows, and how many rows there were of each status."""

    name: str
    value: float | None
    scored: int
    nan: int = 0
    timed_out: int = 0
    failed: int = 0
    not_installed: int = 0
    refused: int = 0
    unparsed: int = 0


def scored(question_id: str, name: str, value: float) -> Figure:
    """Return a figure with a value; one that is no number is told apart from one that was not computed."""
    if math.isnan(value):
        return Figure(question_id, name, None, NAN)
    return Figure(question_id, name, round(float(value), 9))


def means(figures: Iterable[Figure]) -> tuple[Mean, ...]:
    """Return the mean of every figure, in the order in which they first occur."""
    grouped: dict[str, list[Figure]] = {}
    for one in figures:
        grouped.setdefault(one.name, []).append(one)
    return tuple(_mean(name, rows) for name, rows in grouped.items())


def _mean(name: str, rows: Sequence[Figure]) -> Mean:
    values = [one.value for one in rows if one.value is not None]
    counts = {status: sum(one.status == status for one in rows) for status in STATUSES}
    return Mean(
        name,
        round(sum(values) / len(values), 6) if values else None,
        counts[SCORED],
        counts[NAN],
        counts[TIMED_OUT],
        counts[FAILED],
        counts[ABSENT],
        counts[REFUSED],
        counts[UNPARSED],
    )
