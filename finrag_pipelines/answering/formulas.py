"""Formulas over line items: parsed, evaluated in decimals, with every operand recorded.

`avg(x)` is the mean of a balance and the one a period before, `change(x)` their difference, `abs(x)` the magnitude;
`max` and `min` choose among several.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, DivisionByZero, InvalidOperation, localcontext

from finrag_pipelines.answering.model import Operand

Lookup = Callable[[str, str], Operand | None]
"""Return the operand for (line item, period label), or None where no evidence states it."""


class MissingOperandError(Exception):
    """A line item that the formula needs is stated nowhere in the evidence; `missing` lists (line item, period)."""

    def __init__(self, missing: tuple[tuple[str, str], ...]) -> None:
        super().__init__(", ".join(f"{name} of {period}" for name, period in missing))
        self.missing = missing


@dataclass(frozen=True)
class Result:
    """A computed value with the operands it came from, in the order of the formula, each once."""

    value: Decimal
    operands: tuple[Operand, ...]


def period_before(period: str, back: int = 1) -> str:
    """Return the period that many years before: the year, or the same quarter of an earlier year."""
    match = re.fullmatch(r"(FY)?(\d{4})(Q[1-4](?:YTD)?)?", period)
    if not match:
        raise ValueError(f"{period!r} is no period label")
    year = int(match[2]) - back
    return f"FY{year}" if match[1] else f"{year}{match[3] or ''}"


def names_in(formula: str) -> tuple[str, ...]:
    """Return the line items that a formula names, sorted."""
    functions = {"avg", "abs", "change", "max", "min"}
    tree = ast.parse(formula, mode="eval")
    return tuple(sorted({one.id for one in ast.walk(tree) if isinstance(one, ast.Name)} - functions))


def evaluate(formula: str, lookup: Lookup, period: str) -> Result:
    """Evaluate `formula` for `period`; balances are averaged with those of a year before.

    Raises MissingOperandError where evidence is missing, ZeroDivisionError where a denominator is zero, and ValueError
    for a formula that uses anything but + - * /, numbers, line items and avg, abs, change.
    """
    used: dict[str, Operand] = {}
    missing: list[tuple[str, str]] = []

    def operand(name: str, at: str) -> Decimal:
        found = lookup(name, at)
        if found is None:
            missing.append((name, at))
            return Decimal(1)
        used.setdefault(found.name, found)
        return Decimal(found.value)

    def walk(node: ast.AST) -> Decimal:
        if isinstance(node, ast.Expression):
            return walk(node.body)
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return Decimal(str(node.value))
        if isinstance(node, ast.Name):
            return operand(node.id, period)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -walk(node.operand)
        if isinstance(node, ast.BinOp):
            left, right = walk(node.left), walk(node.right)
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Sub):
                return left - right
            if isinstance(node.op, ast.Mult):
                return left * right
            if isinstance(node.op, ast.Div):
                return left / right
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("max", "min"):
            values = [walk(one) for one in node.args]
            return max(values) if node.func.id == "max" else min(values)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
            inner = node.args[0]
            if node.func.id == "abs":
                return abs(walk(inner))
            if isinstance(inner, ast.Name) and node.func.id == "avg":
                return (operand(inner.id, period) + operand(inner.id, period_before(period))) / 2
            if isinstance(inner, ast.Name) and node.func.id == "change":
                return operand(inner.id, period) - operand(inner.id, period_before(period))
        raise ValueError(
            f"the formula {formula!r} uses something else than + - * /, line items, avg, abs, change, max and min"
        )

    with localcontext() as context:
        context.prec = 28
        try:
            value = walk(ast.parse(formula, mode="eval"))
        except (DivisionByZero, InvalidOperation):
            if missing:
                raise MissingOperandError(tuple(sorted(set(missing)))) from None
            raise ZeroDivisionError(f"a denominator of {formula} is zero") from None
    if missing:
        raise MissingOperandError(tuple(sorted(set(missing))))
    return Result(value, tuple(used.values()))
