"""Figures and computed measures for one company and period, each with the table rows that it rests on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.formulas import Lookup, MissingOperandError, evaluate, period_before
from finrag_pipelines.answering.model import Computed, Operand, Support
from finrag_pipelines.answering.question import Ask, measures, ratios
from finrag_pipelines.answering.wording import figure_text, unit_text
from finrag_pipelines.answering.words import Phrases, normal
from finrag_pipelines.retrieval.model import Pair

FindRow = Callable[[str, str], Support | None]
"""Return the best row for (line item, period label), or None."""


@dataclass(frozen=True)
class Measured:
    """A figure that answers (one support; `what` names its measure where the row does not) or a computed number (its
    sentence, derivation and all its supports)."""

    supports: tuple[Support, ...]
    sentence: str = ""
    computed: Computed | None = None
    what: str = ""


def compute(
    ask: Ask, pair: Pair, periods: Sequence[str], find_row: FindRow, documents: Documents
) -> tuple[list[Measured], tuple[str, ...]]:
    """Compute what the question asks for; return it, or nothing and what is missing, in words.

    `periods` are those of the question for this company, oldest first.
    """
    if not periods:
        return [], ("the period",)
    missing: tuple[str, ...] = ()
    for formula, name, unit in _formulas(ask):
        try:
            return [_computed(ask, formula, name, unit, pair, periods, find_row, documents)], ()
        except MissingOperandError as error:
            missing = missing or tuple(f"{measures()[key].name} of {period}" for key, period in error.missing)
        except ZeroDivisionError:
            missing = missing or ("a denominator that is not zero",)
    return [], missing


def _formulas(ask: Ask) -> list[tuple[str, str, str]]:
    """Return (formula, name, unit) in the order in which they are tried."""
    if ask.ratio:
        ratio = ratios()[ask.ratio]
        return [(one, ratio.name, ratio.unit) for one in (ratio.formula, ratio.otherwise) if one]
    if ask.share_of:
        part, whole = ask.share_of
        name = f"{measures()[part].name} as a share of {measures()[whole].name}"
        return [(f"abs({part}) / {whole}", name, "percent")]
    if ask.superlative and len(ask.measures) > 1:
        names = ", ".join(measures()[key].name for key in ask.measures)
        least = bool(_LEAST.first(normal(ask.question))) and not _MOST.first(normal(ask.question))
        chosen = "min" if least else "max"
        return [(f"{chosen}({', '.join(ask.measures)})", f"{'lowest' if least else 'highest'} of {names}", "money")]
    return [(key, measures()[key].name, "money") for key in ask.measures[:1]]


_LEAST = Phrases(["lowest", "smallest", "least", "worst", "weakest", "lower", "smaller", "less", "fewer"])
_MOST = Phrases(
    [
        "highest",
        "largest",
        "most",
        "best",
        "biggest",
        "greatest",
        "strongest",
        "top",
        "higher",
        "larger",
        "more",
        "greater",
    ]
)


def calculate(formula: str, over_time: str | None, periods: Sequence[str], lookup: Lookup) -> Decimal:
    """Return the value of a formula for the last of `periods` (oldest first), or its growth, mean, compound growth or
    difference over them."""
    values = [evaluate(formula, lookup, one).value for one in periods]
    if over_time == "mean":
        return sum(values, Decimal(0)) / len(values)
    if over_time is None or len(values) < 2:
        return values[-1]
    old, new = values[0], values[-1]
    if over_time == "difference":
        return new - old
    if old <= 0:
        raise ZeroDivisionError("no growth rate from a base that is not positive")
    if over_time == "compound":
        if new <= 0:
            raise ZeroDivisionError("no compound growth to a value that is not positive")
        return Decimal(repr(round(float(new / old) ** (1 / _years(periods)), 12))) - 1
    return new / old - 1


def _years(periods: Sequence[str]) -> int:
    return max(1, int(periods[-1][2:6] if periods[-1].startswith("FY") else periods[-1][:4]) - int(
        periods[0][2:6] if periods[0].startswith("FY") else periods[0][:4]
    ))  # fmt: skip


def _spanned(over_time: str | None, periods: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """Return how a question looks over time and over which periods: change without a start is that of one year."""
    last = periods[-1]
    if over_time == "mean":
        if len(periods) < 2:
            return None, (last,)
        return "mean", tuple(period_before(last, back) for back in reversed(range(_years(periods) + 1)))
    if over_time is None:
        return None, (last,)
    first = periods[0] if len(periods) > 1 else period_before(last)
    if over_time == "compound" and _years((first, last)) == 1:
        return "growth", (first, last)
    return over_time, (first, last)


def _computed(
    ask: Ask,
    formula: str,
    name: str,
    unit: str,
    pair: Pair,
    periods: Sequence[str],
    find_row: FindRow,
    documents: Documents,
) -> Measured:
    used: dict[str, Operand] = {}

    def lookup(key: str, period: str) -> Operand | None:
        label = operand_name(key, period)
        if label not in used:
            row = find_row(key, period)
            if row is None or row.figure is None:
                return None
            used[label] = Operand(label, str(row.figure.value), row)
        return used[label]

    over_time, over = _spanned(ask.over_time, periods)
    value = calculate(formula, over_time, over, lookup)
    what = described(f"{name} of {ask.part}" if ask.part else name, over_time, over)
    operands = tuple(used.values())
    rate = over_time in ("growth", "compound")
    if over_time == "difference" and unit == "percent":
        result = unit_text(value * 100, "percentage points", 1)
    else:
        result = result_text(value, "percent" if rate else unit, operands)
    listed = "; ".join(f"{one.name} {operand_text(one)}" for one in operands)
    sentence = f"{documents.company_name(pair.company)}: {what} was {result}, computed as {formula} from {listed}."
    supports = tuple(dict.fromkeys(one.support for one in operands))
    return Measured(supports, sentence, Computed(what, formula, operands, str(value), result, over_time, over))


HIGHEST = "the highest of these rows"
LOWEST = "the lowest of these rows"


def ranked(ask: Ask, pair: Pair, rows: Sequence[tuple[str, Support]], documents: Documents) -> Measured:
    """Return the sentence that names the highest or lowest of several parts, with every row that it was chosen from."""
    folded = normal(ask.question)
    least = bool(_LEAST.first(folded)) and not _MOST.first(folded)
    operands = tuple(Operand(name, str(_value(row)), row) for name, row in rows)
    chosen = (min if least else max)(operands, key=lambda one: Decimal(one.value))
    measure = ratios()[ask.ratio].name if ask.ratio else measures()[ask.measures[0]].name
    name = f"{'lowest' if least else 'highest'} {measure} for {pair.period}"
    shown = f"{chosen.name}, {operand_text(chosen)}"
    formula = LOWEST if least else HIGHEST
    listed = "; ".join(f"{one.name} {operand_text(one)}" for one in operands)
    whose = documents.company_name(pair.company) if pair.company else "Of the companies compared"
    sentence = f"{whose}: {name} was {shown}, {formula}: {listed}."
    supports = tuple(dict.fromkeys(one.support for one in operands))
    computed = Computed(name, formula, operands, chosen.value, shown, None, (pair.period or "",))
    return Measured(supports, sentence, computed)


def _value(row: Support) -> Decimal:
    assert row.figure is not None
    return row.figure.value


def _rightly_ranked(computed: Computed) -> bool:
    choose = min if computed.formula == LOWEST else max
    best = choose(computed.operands, key=lambda one: Decimal(one.value))
    return best.value == computed.result and computed.shown == f"{best.name}, {operand_text(best)}"


def operand_name(key: str, period: str) -> str:
    """Return how an operand is called: the line item and its period."""
    return f"{measures()[key].name} {period}"


def operand_text(operand: Operand) -> str:
    """Return an operand as its table states it."""
    assert operand.support.figure is not None
    return figure_text(operand.support.figure)


def described(name: str, over_time: str | None, periods: Sequence[str]) -> str:
    """Return what was computed, in words."""
    first, last = periods[0], periods[-1]
    match over_time:
        case "growth":
            return f"growth of {name} from {first} to {last}"
        case "compound":
            return f"compound annual growth of {name} from {first} to {last}"
        case "difference":
            return f"change in {name} from {first} to {last}"
        case "mean":
            return f"{len(periods)}-year average of {name}, {first} to {last}"
        case _:
            return f"{name} for {last}"


def recomputed(computed: Computed) -> bool:
    """Tell whether the recorded result follows from the recorded operands by the recorded formula."""
    if computed.formula in (HIGHEST, LOWEST):
        return _rightly_ranked(computed)
    values = {one.name: one for one in computed.operands}

    def lookup(key: str, period: str) -> Operand | None:
        return values.get(operand_name(key, period))

    try:
        value = calculate(computed.formula, computed.over_time, computed.periods, lookup)
    except (MissingOperandError, ZeroDivisionError, ValueError, KeyError):
        return False
    return str(value) == computed.result


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
        return unit_text(value, "percentage points", 1)
    currency = figure.unit if figure else "USD"
    if abs(value) >= 1_000_000:
        millions = value / 1_000_000
        whole = millions == millions.quantize(Decimal(1), rounding=ROUND_HALF_UP)
        return unit_text(millions, currency, 0 if whole else 1, 6)
    return unit_text(value, currency, 0 if value == value.to_integral_value() else 2)
