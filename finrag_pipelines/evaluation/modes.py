"""Where which retrieval mode is worth it: recall and latency by kind of question, and the cheapest that is no worse.

A mode is chosen only where the set is large enough to show that nothing is lost; elsewhere the table says `not shown`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from finrag_pipelines.evaluation.paired import paired_difference
from finrag_pipelines.evaluation.results import Evaluation
from finrag_pipelines.retrieval.modes import AUTO, DEFAULT_MODE

FIGURE = "fragment_recall@10"
LEAST_QUESTIONS = 10
TOLERANCE = 0.05
"""How much mean recall may be lost at most, at the lower end of the interval."""
NOT_SHOWN = "not shown"
ALL, TYPE = "all", "type: "
"""Kinds of question: all, those of a tag, and those of a type as mode `auto` tells them apart."""


@dataclass(frozen=True)
class ModeCell:
    """One mode on one kind of question: mean recall, median retrieval time in milliseconds, and over how many."""

    mode: str
    recall: float | None
    median_ms: float | None
    questions: int


@dataclass(frozen=True)
class ModeRow:
    """A kind of question, its cells, and the cheapest mode that is no worse than the best; or that it is not shown."""

    kind: str
    cells: tuple[ModeCell, ...]
    choice: str


@dataclass(frozen=True)
class _Measured:
    recall: dict[tuple[str, str], float]
    milliseconds: dict[tuple[str, str], float]
    kinds: dict[str, set[tuple[str, str]]]


def mode_table(evaluations: Sequence[Evaluation], figure: str = FIGURE) -> tuple[ModeRow, ...]:
    """Return the table over all sets that were run with this project's pipeline in more than one mode."""
    by_mode: dict[str, list[Evaluation]] = {}
    for one in evaluations:
        reranked = one.header.mode == "hybrid+rerank" and bool(one.header.notes)
        if (
            one.header.mode != AUTO
            and one.header.pipeline == "full"
            and not reranked
            and all(g.startswith("extractive") for g in one.header.generators)
        ):
            by_mode.setdefault(one.header.mode, []).append(one)
    measured = {mode: _measured(rows, figure) for mode, rows in sorted(by_mode.items())}
    if len(measured) < 2:
        return ()
    kinds = sorted({kind for one in measured.values() for kind in one.kinds if kind != ALL})
    return tuple(_row(kind, measured) for kind in (ALL, *kinds))


def choices_of(table: Sequence[ModeRow]) -> dict[str, str]:
    """Return the mode of each question type for which the table shows one, for the data file of mode `auto`."""
    return {
        row.kind.removeprefix(TYPE): row.choice
        for row in table
        if row.kind.startswith(TYPE) and row.choice not in (NOT_SHOWN, DEFAULT_MODE)
    }


def modes_file(table: Sequence[ModeRow], evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """Return the content of the data file of mode `auto`: the choices, and what they were measured on."""
    return {
        "choices": dict(sorted(choices_of(table).items())),
        "measured": {
            row.kind.removeprefix(TYPE): {
                one.mode: {"recall@10": one.recall, "median_ms": one.median_ms, "questions": one.questions}
                for one in row.cells
            }
            for row in table
            if row.kind.startswith(TYPE)
        },
        "sets": sorted({one.header.set_name for one in evaluations}),
    }


def _measured(evaluations: Sequence[Evaluation], figure: str) -> _Measured:
    found = _Measured({}, {}, {ALL: set()})
    for one in evaluations:
        name = one.header.set_name
        for value in one.figures:
            if value.name == figure and value.value is not None:
                found.recall[name, value.question_id] = value.value
        for row in one.questions:
            key = name, row.question_id
            if key in found.recall and row.retrieve_ms is not None:
                found.milliseconds[key] = row.retrieve_ms
                for kind in (ALL, *row.tags, *([f"{TYPE}{row.question_type}"] if row.question_type else [])):
                    found.kinds.setdefault(kind, set()).add(key)
    return found


def _row(kind: str, measured: dict[str, _Measured]) -> ModeRow:
    shared = sorted(set.intersection(*(one.kinds.get(kind, set()) for one in measured.values())))
    cells = tuple(_cell(mode, one, shared) for mode, one in measured.items())
    if len(shared) < LEAST_QUESTIONS:
        return ModeRow(kind, cells, NOT_SHOWN)
    best = max(cells, key=lambda one: (one.recall or 0.0, -(one.median_ms or 0.0)))
    top = [measured[best.mode].recall[key] for key in shared]
    no_worse = [one for one in cells if one is best or _no_worse(top, [measured[one.mode].recall[k] for k in shared])]
    return ModeRow(kind, cells, min(no_worse, key=lambda one: (one.median_ms or 0.0, one.mode)).mode)


def _no_worse(best: Sequence[float], other: Sequence[float]) -> bool:
    low = paired_difference(best, other).low
    return low is not None and low >= -TOLERANCE


def _cell(mode: str, measured: _Measured, keys: Sequence[tuple[str, str]]) -> ModeCell:
    recall = [measured.recall[key] for key in keys]
    times = sorted(measured.milliseconds[key] for key in keys)
    if not keys:
        return ModeCell(mode, None, None, 0)
    return ModeCell(mode, round(sum(recall) / len(recall), 4), round(times[len(times) // 2], 1), len(keys))
