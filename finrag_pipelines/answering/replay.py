"""Asking a recorded question again, on the recorded index version, principal, as-of and configuration, and comparing.

What differs is named, never quoted: a replay shows no text that a disclosure might have to withhold.
"""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from finrag_pipelines.answering.answer import MODEL, answer_question
from finrag_pipelines.answering.model import AnswerConfig
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.evidence.records import ERASED, AnswerRecord, GateRow, canonical_projection
from finrag_pipelines.evidence.write import EvidenceError, read_answer
from finrag_pipelines.storage import Store

if TYPE_CHECKING:
    from finrag_pipelines.answering.generators import Generator
    from finrag_pipelines.embedding.model import Embedder

# What a model's words decide, and what deterministic code decides before and without them.
_BY_WORDS = ("decision", "refusal_code", "refusal_reason", "missing", "answer", "claims", "citations", "derivations")
_WITHOUT_WORDS = ("plan_pairs", "candidates", "deliveries", "prompt_sha256")
_CIRCUMSTANCES = ("index_version", "policy_epoch", "configuration", "settings", "generator", "model_digest")
_SHOWN_ROWS = 5


@dataclass(frozen=True)
class Change:
    """One thing that is not as it was recorded: `what` (a rule set, a gate, a table with the row) and how."""

    what: str
    recorded: str
    again: str

    def __str__(self) -> str:
        return f"{self.what}: {self.recorded} -> {self.again}"


@dataclass(frozen=True)
class Replay:
    """The outcome of a replay. `changed_circumstances` names what the answer is a function of and has changed since
    (rule sets first, then policy epoch, generator and model); `differing` what came out otherwise."""

    answer_id: str
    differing: tuple[Change, ...]
    changed_circumstances: tuple[Change, ...]
    text_compared: bool
    again: AnswerRecord

    @property
    def same(self) -> bool:
        """Tell whether plan, candidates, gates, decision and (for deterministic generators) text are the same."""
        return not self.differing


def replay(
    store: Store, answer_id: str, embedder: "Embedder | None" = None, model: "Generator | None" = None
) -> Replay:
    """Answer the question of a record again and compare. Nothing is written or shown.

    `model` stands in for the generator that the configuration names. Raises EvidenceError where there is no such
    record, its question was erased or its settings are of another release, StoreError where its index version is gone.
    """
    from finrag_pipelines.retrieval.search import open_index

    record = read_answer(store, answer_id)
    if record.question == ERASED:
        raise EvidenceError(f"the question of answer {answer_id} was erased; it cannot be asked again")
    config = _config(record)
    index = open_index(store, record.index_version, embedder=embedder)
    principal = read_catalog(store).principal(record.principal)
    again = answer_question(index, store, record.question, principal, config, record.as_of, model=model)
    by_model = _by_model(record) or _by_model(again)
    return Replay(
        answer_id,
        tuple(_differences(record, again, by_model)),
        tuple(_circumstances(record, again)),
        not by_model,
        again,
    )


def _config(record: AnswerRecord) -> AnswerConfig:
    try:
        settings: dict[str, Any] = json.loads(record.settings)
        options = tuple((name, value) for name, value in settings.pop("options", ()))
        return AnswerConfig(**settings, options=options)
    except (ValueError, TypeError) as error:
        raise EvidenceError(f"answer {record.answer_id} was recorded with settings unknown here: {error}") from None


def _by_model(record: AnswerRecord) -> bool:
    return any(gate.made_by == MODEL for gate in record.gates)


def deterministic_gates(record: AnswerRecord) -> tuple[GateRow, ...]:
    """Return the gates that no model's words reached: those before the first gate that a model made."""
    first = next((at for at, gate in enumerate(record.gates) if gate.made_by == MODEL), len(record.gates))
    return record.gates[:first]


def _without_circumstances(record: AnswerRecord) -> AnswerRecord:
    return dataclasses.replace(
        record,
        index_version="",  # another one where an erasure replaced it
        policy_epoch=0,
        configuration="",
        settings="",
        generator="",
        model_digest=None,
        rule_digests=(),
    )


def _differences(record: AnswerRecord, again: AnswerRecord, by_model: bool) -> Iterator[Change]:
    if not by_model and canonical_projection(_without_circumstances(record)) == canonical_projection(
        _without_circumstances(again)
    ):
        return
    gates = (deterministic_gates(record), deterministic_gates(again)) if by_model else (record.gates, again.gates)
    yield from _gate_changes(*gates)
    names = _WITHOUT_WORDS if by_model else _BY_WORDS + _WITHOUT_WORDS
    for name in names:
        before, after = getattr(record, name), getattr(again, name)
        if before == after:
            continue
        if isinstance(before, tuple) and name != "missing":
            yield from _row_changes(name, before, after)
        elif name in ("answer", "refusal_reason"):
            yield Change(name, f"{len(before or '')} characters", f"{len(after or '')} characters, not the same")
        elif name == "missing":
            yield Change(name, f"{len(before)} named", f"{len(after)} named, not the same")
        else:
            yield Change(name, str(before), str(after))


def _gate_changes(before: Sequence[GateRow], after: Sequence[GateRow]) -> Iterator[Change]:
    recorded = {gate.name: gate for gate in before}
    found = {gate.name: gate for gate in after}
    for name in dict.fromkeys((*recorded, *found)):
        one, two = recorded.get(name), found.get(name)
        if one != two:
            yield Change(f"gate {name}", _outcome(one), _outcome(two, one))


def _outcome(gate: GateRow | None, other: GateRow | None = None) -> str:
    if gate is None:
        return "did not run"
    said = {True: "passed", False: f"refused with {gate.code}", None: "recorded"}[gate.passed]
    value = "" if gate.value is None else f" {gate.value}"
    same = other is not None and (other.passed, other.code, other.value) == (gate.passed, gate.code, gate.value)
    return f"{said}{value} ({gate.detail})" if gate.detail or same else f"{said}{value}"


def _row_changes(name: str, before: tuple, after: tuple) -> Iterator[Change]:
    """Name the rows that differ and their fields, without their texts."""
    if len(before) != len(after):
        yield Change(name, f"{len(before)} rows", f"{len(after)} rows")
    told = 0
    for number, (one, two) in enumerate(zip(before, after, strict=False), start=1):
        if one == two:
            continue
        told += 1
        if told > _SHOWN_ROWS:
            yield Change(name, "further rows", "differ too")
            return
        fields = [field for field in dataclasses.fields(one) if getattr(one, field.name) != getattr(two, field.name)]
        names = ", ".join(field.name for field in fields)
        if len(fields) > 1 or fields[0].metadata.get("committed"):
            yield Change(f"{name} row {number}", names, "differ")
        else:
            yield Change(f"{name} row {number}, {names}", str(getattr(one, names)), str(getattr(two, names)))


def _circumstances(record: AnswerRecord, again: AnswerRecord) -> Iterator[Change]:
    recorded, now = _rules(record), _rules(again)
    for name in sorted(recorded.keys() | now.keys()):
        if recorded.get(name) != now.get(name):
            yield Change(f"rules {name}", recorded.get(name, "none")[:12], now.get(name, "none")[:12])
    for name in _CIRCUMSTANCES:
        if getattr(record, name) != getattr(again, name):
            yield Change(name, str(getattr(record, name)), str(getattr(again, name)))


def _rules(record: AnswerRecord) -> dict[str, str]:
    parted = (one.partition("=") for one in record.rule_digests)
    return {name: digest for name, _, digest in parted}
