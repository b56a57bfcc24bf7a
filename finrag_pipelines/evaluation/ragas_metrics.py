"""RAGAS measures, one sample at a time under a time limit; what fails costs its own rows only.

ragas is imported here and in judge.py, when a measure is taken. Its telemetry is switched off before that.
"""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from finrag_pipelines.evaluation.figures import ABSENT, REFUSED, TIMED_OUT, Figure, scored
from finrag_pipelines.evaluation.judge import JUDGED, Judge, judged_metrics, status_of

if TYPE_CHECKING:
    from finrag_pipelines.embedding.model import Embedder

NON_LLM = (
    "ragas_id_context_precision",
    "ragas_id_context_recall",
    "ragas_non_llm_context_precision",
    "ragas_non_llm_context_recall",
    "ragas_string_similarity",
    "ragas_rouge_l",
)
TIMEOUT = 30.0
GIVE_UP = 5
"""After so many rows in a row without a reply the rest are not asked for: a judge that hangs must not cost hours."""


@dataclass(frozen=True)
class Sample:
    """One answered question as RAGAS sees it; contexts are what was delivered, ids are fragment ids."""

    question_id: str
    question: str
    answer: str
    reference: str
    contexts: tuple[str, ...]
    context_ids: tuple[str, ...]
    gold_contexts: tuple[str, ...]
    gold_ids: tuple[str, ...]
    answered: bool = True


def quiet() -> None:
    """Switch the telemetry of ragas off; only the word `true` does."""
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    os.environ.setdefault("DO_NOT_TRACK", "1")


def open_metrics(names: Sequence[str] = NON_LLM) -> dict[str, Any]:
    """Return the measures by name: an object of ragas, or the ImportError of what it lacks here."""
    quiet()
    from ragas.metrics import _rouge_score, _string
    from ragas.metrics._context_precision import IDBasedContextPrecision, NonLLMContextPrecisionWithReference
    from ragas.metrics._context_recall import IDBasedContextRecall, NonLLMContextRecall

    makers = {
        "ragas_id_context_precision": IDBasedContextPrecision,
        "ragas_id_context_recall": IDBasedContextRecall,
        "ragas_non_llm_context_precision": NonLLMContextPrecisionWithReference,
        "ragas_non_llm_context_recall": NonLLMContextRecall,
        "ragas_string_similarity": _string.NonLLMStringSimilarity,
        "ragas_rouge_l": _rouge_score.RougeScore,
    }
    found: dict[str, Any] = {}
    for name in names:
        try:
            found[name] = makers[name]()
        except ImportError as error:
            found[name] = error
    return found


def judged(samples: Sequence[Sample], judge: Judge, embedder: "Embedder") -> list[Figure]:
    """Return the measures that `judge` takes of every sample; a refusal is counted as left out and costs no call."""
    if not any(one.answered for one in samples):
        return [Figure(one.question_id, name, None, REFUSED) for one in samples for name in JUDGED]
    quiet()
    return score(samples, judged_metrics(judge, embedder), judge.settings.timeout)


def score(samples: Sequence[Sample], metrics: dict[str, Any] | None = None, timeout: float = TIMEOUT) -> list[Figure]:
    """Return every measure of every sample. A refusal has no answer to be measured, and is counted as left out."""
    if not any(one.answered for one in samples):
        return [Figure(one.question_id, name, None, REFUSED) for one in samples for name in metrics or NON_LLM]
    metrics = open_metrics() if metrics is None else metrics
    return asyncio.run(_all(samples, metrics, timeout))


async def _all(samples: Sequence[Sample], metrics: dict[str, Any], timeout: float) -> list[Figure]:
    found: list[Figure] = []
    silent = 0
    for one in samples:
        for name, metric in metrics.items():
            if silent >= GIVE_UP and one.answered:
                found.append(Figure(one.question_id, name, None, TIMED_OUT, f"not asked after {GIVE_UP} without reply"))
                continue
            made = await _one(one, name, metric, timeout)
            found.append(made)
            if made.status != REFUSED:
                silent = silent + 1 if made.status == TIMED_OUT else 0
    return found


async def _one(sample: Sample, name: str, metric: Any, timeout: float) -> Figure:
    if not sample.answered:
        return Figure(sample.question_id, name, None, REFUSED)
    if isinstance(metric, ImportError):
        return Figure(sample.question_id, name, None, ABSENT, str(metric))
    from ragas.dataset_schema import SingleTurnSample

    row = SingleTurnSample(
        user_input=sample.question,
        response=sample.answer,
        reference=sample.reference,
        retrieved_contexts=list(sample.contexts),
        reference_contexts=list(sample.gold_contexts),
        retrieved_context_ids=list(sample.context_ids),
        reference_context_ids=list(sample.gold_ids),
    )
    try:
        value = await asyncio.wait_for(metric.single_turn_ascore(row), timeout)
        return scored(sample.question_id, name, float(value))
    except TimeoutError:
        return Figure(sample.question_id, name, None, TIMED_OUT, f"took more than {timeout:g} s")
    except Exception as error:  # measures of somebody else's may raise anything; the other rows must be scored
        # The type alone: messages of validators repeat their input, and a result must not keep text of documents.
        return Figure(sample.question_id, name, None, status_of(error), getattr(error, "code", type(error).__name__))
