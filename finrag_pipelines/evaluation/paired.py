"""Two configurations on the same questions: McNemar's exact test and a paired bootstrap, and a plain sentence."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEVEL = 0.05
RESAMPLES = 4000


@dataclass(frozen=True)
class McNemar:
    """Questions that only one of the two decided rightly, and the two-sided exact p-value."""

    only_first: int
    only_second: int
    p_value: float


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """Return McNemar's exact (binomial) test on paired right or wrong decisions."""
    only_first = sum(a and not b for a, b in zip(first, second, strict=True))
    only_second = sum(b and not a for a, b in zip(first, second, strict=True))
    discordant = only_first + only_second
    if discordant == 0:
        return McNemar(0, 0, 1.0)
    tail = sum(math.comb(discordant, i) for i in range(min(only_first, only_second) + 1)) / 2**discordant
    return McNemar(only_first, only_second, min(1.0, 2 * tail))


@dataclass(frozen=True)
class Difference:
    """Mean of second minus first over `n` shared questions, with a 95 % percentile bootstrap interval."""

    n: int
    mean: float | None
    low: float | None
    high: float | None

    @property
    def shown(self) -> bool:
        """Tell whether the interval leaves zero out."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def paired_difference(first: Sequence[float], second: Sequence[float], seed: int = 0) -> Difference:
    """Resample questions with replacement, the same for both; seeded, so that equal input gives an equal interval."""
    import numpy as np

    differences = np.asarray(second, dtype=float) - np.asarray(first, dtype=float)
    n = len(differences)
    if n == 0:
        return Difference(0, None, None, None)
    drawn = np.random.default_rng(seed).integers(0, n, size=(RESAMPLES, n))
    means = differences[drawn].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Difference(n, round(float(differences.mean()), 6), round(float(low), 6), round(float(high), 6))


@dataclass(frozen=True)
class Comparison:
    """How two configurations differ in one figure, in numbers and in a sentence."""

    figure: str
    first: float | None
    second: float | None
    difference: Difference
    test: McNemar | None
    sentence: str


def compare_decisions(
    first_name: str, second_name: str, first: Mapping[str, bool], second: Mapping[str, bool], figure: str
) -> Comparison:
    """Compare right decisions on the questions that both were asked."""
    shared = sorted(first.keys() & second.keys())
    left, right = [first[one] for one in shared], [second[one] for one in shared]
    test = mcnemar(left, right)
    difference = paired_difference([float(x) for x in left], [float(x) for x in right])
    if not shared:
        sentence = f"{figure}: no question in common"
    elif test.p_value >= LEVEL:
        sentence = (
            f"{figure}: no difference shown between {first_name} and {second_name} on {len(shared)} questions "
            f"(right only in the first {test.only_first}, in the second {test.only_second}; p = {test.p_value:.3f})"
        )
    else:
        better = second_name if test.only_second > test.only_first else first_name
        sentence = (
            f"{figure}: {better} is better on {len(shared)} questions ({test.only_first} right only in {first_name}, "
            f"{test.only_second} only in {second_name}; p = {test.p_value:.3f})"
        )
    return Comparison(figure, _share(left), _share(right), difference, test, sentence)


def compare_figures(
    first_name: str, second_name: str, first: Mapping[str, float], second: Mapping[str, float], figure: str
) -> Comparison:
    """Compare a figure on the questions for which both have a value."""
    shared = sorted(first.keys() & second.keys())
    left, right = [first[one] for one in shared], [second[one] for one in shared]
    difference = paired_difference(left, right)
    if difference.mean is None:
        sentence = f"{figure}: no question for which both have a value"
    elif not difference.shown:
        sentence = (
            f"{figure}: no difference shown between {first_name} and {second_name} on {len(shared)} questions "
            f"({difference.mean:+.3f}, 95 % interval {difference.low:+.3f} to {difference.high:+.3f})"
        )
    else:
        word = "higher" if difference.mean > 0 else "lower"
        sentence = (
            f"{figure}: {second_name} is {word} than {first_name} by {abs(difference.mean):.3f} "
            f"on {len(shared)} questions (95 % interval {difference.low:+.3f} to {difference.high:+.3f})"
        )
    return Comparison(figure, _share(left), _share(right), difference, None, sentence)


def _share(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 6) if values else None
