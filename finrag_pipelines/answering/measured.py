"""Figures and computed measures for one company and period, each with the table rows that it rests on."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.formulas import Lookup, MissingOperandError, evaluate
from finrag_pipelines.answering.model import Computed, Operand, Support
from finrag_pipelines.answering.question import Ask, measures, ratios
from finrag_pipelines.answering.wording import unit_text
from finrag_pipelines.retrieval.model import Pair

FindRow = Callable[[str, str], Support | None]
"""Return the best row for (measure key, period label), or None."""


@dataclass(frozen=True)
class Measured:
    """A figure that answers (one support) or a computed number (its sentence, derivation and all its supports)."""

    supports: tuple[Support, ...]
    sentence: str = ""
    computed: Computed | None = None


def period_before(period: str, back: int = 1) -> str:
    """Return the period that many years before: a year for a year, the same quarter of an earlier year for a quarter."""
    match = re.fullmatch(r"(FY)?(\d{4})(Q[1-4](?:YTD)?)?", period)
    if not match:
        raise ValueError(f"{period!r} is no period label")
    year = int(match[2]) - back
    return f"FY{year}" if match[1] else f"{year}{match[3]}"


def compute(
    ask: Ask, pair: Pair, periods: Sequence[str], find_row: FindRow, documents: Documents
) -> tuple[list[Measured], tuple[str, ...]]:
    """Compute what the question asks for; return it, or nothing and the line items that are missing.

    `periods` are those of the question for this company, oldest first.
    """
    if not periods:
        return [], ("the period",)
    formula, name, unit = _formula(ask)
    if formula is None:
        return [], ()
    other = ratios()[ask.ratio].otherwise if ask.ratio else None
    last = periods[-1]
    missing: tuple[str, ...] = ()
    for candidate in [one for one in (formula, other) if one]:
        try:
            return [_one(ask, candidate, name, unit, pair, periods, last, find_row, documents)], ()
        except MissingOperandError as error:
            missing = missing or error.names
        except ZeroDivisionError:
            missing = missing or ("a denominator that is not zero",)
    return [], missing


def _formula(ask: Ask) -> tuple[str | None, str, str]:
    if ask.ratio:
        ratio = ratios()[ask.ratio]
        return ratio.formula, ratio.name, ratio.unit
    if ask.measures:
        measure = measures()[ask.measures[0]]
        return measure.key, measure.name, "money"
    return None, "", ""


def calculate(formula: str, over_time: str | None, last: str, back: int, lookup: Lookup) -> Decimal:
    """Return the value of a formula for `last`, or its growth, mean, compound growth or difference over `back` years."""
    new = evaluate(formula, lookup).value
    if over_time is None or back < 1:
        return new
    if over_time == "mean":
        return (new + sum((evaluate(formula, lookup, one).value for one in range(1, back + 1)), Decimal(0))) / (
            back + 1
        )
    old = evaluate(formula, lookup, back).value
    if over_time == "difference":
        return new - old
    if old <= 0:
        raise ZeroDivisionError("no growth rate from a base that is not positive")
    if over_time == "compound":
        if new <= 0:
            raise ZeroDivisionError("no compound growth to a value that is not positive")
        return Decimal(repr(round(float(new / old) ** (1 / back), 12))) - 1
    return new / old - 1


def _span(over_time: str | None, periods: Sequence[str]) -> tuple[str | None, int]:
    """Return how a question looks over time, and over how many years: growth and change without a start are one."""
    if over_time is None:
        return None, 0
    back = _years(periods[0], periods[-1]) if len(periods) > 1 else 1
    if over_time == "mean" and len(periods) < 2:
        return None, 0
    if over_time == "compound" and back == 1:
        return "growth", 1
    return over_time, back


def _one(
    ask: Ask,
    formula: str,
    name: str,
    unit: str,
    pair: Pair,
    periods: Sequence[str],
    last: str,
    find_row: FindRow,
    documents: Documents,
) -> Measured:
    used: dict[str, Operand] = {}

    def lookup(key: str, back: int) -> Operand | None:
        period = period_before(last, back)
        label = operand_name(key, period)
        if label not in used:
            row = find_row(key, period)
            if row is None or row.figure is None:
                return None
            used[label] = Operand(label, str(row.figure.value), row)
        return used[label]

    over_time, back = _span(ask.over_time, periods)
    value = calculate(formula, over_time, last, back, lookup)
    what = described(name, over_time, last, back)
    operands = tuple(used.values())
    result = result_text(value, "percent" if over_time in ("growth", "compound") else unit, operands)
    listed = "; ".join(f"{one.name} {_operand_text(one)}" for one in operands)
    company = documents.company_name(pair.company)
    sentence = f"{company}: {what} was {result}, computed as {formula} from {listed}."
    supports = tuple(dict.fromkeys(one.support for one in operands))
    computed = Computed(what, formula, operands, str(value), result, over_time, last, back)
    return Measured(supports, sentence, computed)


def operand_name(key: str, period: str) -> str:
    """Return how an operand is called: the line item and its period."""
    return f"{measures()[key].name} {period}"


def described(name: str, over_time: str | None, last: str, back: int) -> str:
    """Return what was computed, in words."""
    first = period_before(last, back) if back else last
    return {
        None: f"{name} for {last}",
        "growth": f"growth of {name} from {first} to {last}",
        "compound": f"compound annual growth of {name} from {first} to {last}",
        "difference": f"change in {name} from {first} to {last}",
        "mean": f"{back + 1}-year average of {name}, {first} to {last}",
    }[over_time]


def recomputed(computed: Computed) -> bool:
    """Tell whether the recorded result follows from the recorded operands by the recorded formula."""
    values = {one.name: one for one in computed.operands}

    def lookup(key: str, back: int) -> Operand | None:
        return values.get(operand_name(key, period_before(computed.last, back)))

    try:
        value = calculate(computed.formula, computed.over_time, computed.last, computed.back, lookup)
    except (MissingOperandError, ZeroDivisionError, ValueError, KeyError):
        return False
    return str(value) == computed.result


def _years(first: str, last: str) -> int:
    years = [int(re.search(r"\d{4}", one)[0]) for one in (first, last)]  # type: ignore[index]
    return max(1, years[1] - years[0])


def _operand_text(operand: Operand) -> str:
    from finrag_pipelines.answering.wording import figure_text

    assert operand.support.figure is not None
    return figure_text(operand.support.figure)


def result_text(value: Decimal, unit: str, operands: Sequence[Operand] = ()) -> str:
    """Return a computed number as shown: percent with one decimal, ratios and days with two, money in millions."""
    if unit == "percent":
        return unit_text(value * 100, "percent", 1)
    if unit == "ratio":
        return unit_text(value, None, 2)
    if unit == "days":
        return unit_text(value, "days", 2)
    figure = operands[0].support.figure if operands else None
    if figure and figure.unit in ("USD/share", "per_share"):
        return unit_text(value, "per_share", 2)
    if figure and figure.unit == "percent":
        return unit_text(value, "percent", 1)
    currency = figure.unit if figure else "USD"
    if abs(value) >= 1_000_000:
        millions = value / 1_000_000
        whole = millions == millions.quantize(Decimal(1), rounding=ROUND_HALF_UP)
        return unit_text(millions, currency, 0 if whole else 1, 6)
    return unit_text(value, currency, 0 if value == value.to_integral_value() else 2)
