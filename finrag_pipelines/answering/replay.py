"""Asking a recorded question again, on the recorded index version, principal and configuration, and comparing."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from finrag_pipelines.answering.answer import answer_question
from finrag_pipelines.answering.model import AnswerConfig
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.evidence.records import AnswerRecord
from finrag_pipelines.evidence.write import EvidenceError, read_answer
from finrag_pipelines.storage import Store

if TYPE_CHECKING:
    from finrag_pipelines.embedding.model import Embedder

COMPARED = ("decision", "refusal_code", "refusal_reason", "missing", "plan_pairs", "candidates", "gates", "deliveries")
TEXTS = ("answer", "claims", "citations", "derivations")
CIRCUMSTANCES = ("policy_epoch", "rule_digests", "configuration", "generator", "model_digest")


@dataclass(frozen=True)
class Replay:
    """The outcome of a replay: fields that differ, and circumstances (policy, rules, model) that have changed since."""

    answer_id: str
    differing: tuple[str, ...]
    changed_circumstances: tuple[str, ...]
    again: AnswerRecord

    @property
    def same(self) -> bool:
        """Tell whether plan, candidates, gates, decision and (for deterministic generators) text are the same."""
        return not self.differing


def replay(store: Store, answer_id: str, embedder: "Embedder | None" = None) -> Replay:
    """Answer the question of a record again and compare. Nothing is written.

    Raises EvidenceError where there is no such record or its question was erased, StoreError where its index version
    is gone.
    """
    from finrag_pipelines.retrieval.search import open_index

    record = read_answer(store, answer_id)
    if not record.settings:
        raise EvidenceError(f"answer {answer_id} was recorded without its settings and cannot be replayed")
    config = _config(json.loads(record.settings))
    index = open_index(store, record.index_version, embedder=embedder)
    principal = read_catalog(store).principal(record.principal)
    again = answer_question(index, store, record.question, principal, config, record.as_of)
    compared = COMPARED + (TEXTS if record.generator.startswith("extractive") else ())
    return Replay(
        answer_id,
        tuple(name for name in compared if getattr(record, name) != getattr(again, name)),
        tuple(name for name in CIRCUMSTANCES if getattr(record, name) != getattr(again, name)),
        again,
    )


def _config(settings: dict[str, Any]) -> AnswerConfig:
    options = tuple((name, value) for name, value in settings.pop("options", ()))
    return AnswerConfig(**settings, options=options)
