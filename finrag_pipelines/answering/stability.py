"""How far the same question, asked again and again, comes out the same; flips apart by who made the gate."""

from collections.abc import Sequence
from dataclasses import dataclass

from finrag_pipelines.answering.replay import deterministic_gates
from finrag_pipelines.evidence.records import AnswerRecord, GateRow, canonical_projection
from finrag_pipelines.storage import sha256_bytes


@dataclass(frozen=True)
class GateFlips:
    """A gate whose outcome was not always that of the first time, and in how many of the later ones it was not."""

    gate: str
    made_by: str
    flips: int


@dataclass(frozen=True)
class Stability:
    """How a question came out over all its records. A flip is a later record whose gate had another outcome than in
    the first one. `model_made` counts gates that a model made and those that judged its words; `versions` the
    different canonical projections; `decisions` each decision with how often it was made, sorted."""

    asked: int
    deterministic: int
    model_made: int
    versions: int
    decisions: tuple[tuple[str, int], ...]
    gates: tuple[GateFlips, ...]


def stability(records: Sequence[AnswerRecord]) -> Stability:
    """Compare the records of one question with the first of them."""
    flips: dict[tuple[str, str], int] = {}
    for one in records[1:]:
        for made_by, first, later in _compared(records[0], one):
            outcomes = {gate.name: (gate.passed, gate.code) for gate in first}
            others = {gate.name: (gate.passed, gate.code) for gate in later}
            for name in dict.fromkeys((*outcomes, *others)):
                if outcomes.get(name) != others.get(name):
                    flips[(name, made_by)] = flips.get((name, made_by), 0) + 1
    decisions: dict[str, int] = {}
    for one in records:
        said = one.refusal_code or one.decision
        decisions[said] = decisions.get(said, 0) + 1
    return Stability(
        asked=len(records),
        deterministic=sum(count for (_, made_by), count in flips.items() if made_by == "deterministic"),
        model_made=sum(count for (_, made_by), count in flips.items() if made_by == "model"),
        versions=len({sha256_bytes(canonical_projection(one)) for one in records}),
        decisions=tuple(sorted(decisions.items())),
        gates=tuple(GateFlips(name, made_by, count) for (name, made_by), count in sorted(flips.items())),
    )


def _compared(
    first: AnswerRecord, later: AnswerRecord
) -> tuple[tuple[str, Sequence[GateRow], Sequence[GateRow]], tuple[str, Sequence[GateRow], Sequence[GateRow]]]:
    """Return the gates of both records in two groups: decided without a model's words, and with them."""
    before, after = deterministic_gates(first), deterministic_gates(later)
    return (
        ("deterministic", before, after),
        ("model", first.gates[len(before) :], later.gates[len(after) :]),
    )
