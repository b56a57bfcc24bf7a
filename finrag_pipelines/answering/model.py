"""The vocabulary of answering: configuration, delivered fragments, supports, drafted sentences, and the public JSON."""

from dataclasses import dataclass, field
from typing import Any

from finrag_pipelines.answering.documents import Figure
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.evidence.records import AnswerRecord, Refusal
from finrag_pipelines.retrieval.model import Pair

ANSWERED = "answered"
REFUSED = "refused"

Answer = AnswerRecord
"""An answer is its evidence record: what is shown is what was recorded."""

__all__ = ["ANSWERED", "REFUSED", "Answer", "AnswerConfig", "Delivered", "Draft", "Refusal", "Support", "to_json"]


@dataclass(frozen=True)
class AnswerConfig:
    """How answers are made. All of it enters the configuration hash of the record.

    `k` candidates are asked for; at most `budget` tokens of fragments are delivered. `partial` is `refuse` or `allow`
    (answer a comparison for what is covered, the gap stated first). A `threshold` refuses below that top retrieval
    score; None only records the score. `generator` is `extractive`, `auto`, `ollama` or `openai-compatible`; `model`
    and `base_url` say which model and server, `timeout` how many seconds a whole reply may take, and `options` replaces
    fixed options of a model, e.g. `(("num_ctx", 4096),)`.
    """

    mode: str = "hybrid"
    k: int = 24
    budget: int = 6000
    partial: str = "refuse"
    threshold: float | None = None
    generator: str = "extractive"
    model: str = ""
    base_url: str = ""
    max_sentences: int = 3
    timeout: float = 180.0
    options: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Delivered:
    """A fragment as it went to the generator: its position from 1 and the pair it was chosen for."""

    position: int
    fragment: Fragment
    pair: Pair | None = None


@dataclass(frozen=True)
class Support:
    """A passage that bears an answer: `[start, end)` of the representation of a delivered fragment.

    `coverage` is the share of the topic that the passage itself is about, 0 to 1; `figure` the number it holds, for a
    table row; `reason` tells that it states a cause.
    """

    delivered: Delivered
    start: int
    end: int
    quote: str
    score: float
    coverage: float
    figure: Figure | None = None
    reason: bool = False
    pair: Pair | None = None


@dataclass(frozen=True)
class Operand:
    """A number that goes into a computed one: its name with period, value in base units, and where it stands."""

    name: str
    value: str
    support: Support


@dataclass(frozen=True)
class Computed:
    """A derivation: what was computed, by which formula, from which operands, with which result (base units).

    `shown` is the result as the sentence prints it; `over_time` says how the formula's values for `periods`, oldest
    first, were put together.
    """

    name: str
    formula: str
    operands: tuple[Operand, ...]
    result: str
    shown: str
    over_time: str | None
    periods: tuple[str, ...]


@dataclass(frozen=True)
class Draft:
    """A sentence that a generator proposes, with the passages it rests on. A remark asserts nothing.

    `lead` is the `Yes. ` or `No. ` that a rule derived from the figure of the sentence, or who says it
    where a model named no company; no model sets it. `objection`
    tells why a sentence cannot stand whatever it cites, as found when a model's reply was read.
    """

    text: str
    supports: tuple[Support, ...] = ()
    computed: Computed | None = None
    remark: bool = False
    unresolved: tuple[str, ...] = field(default=())
    lead: str = ""
    objection: str = ""


def _citation(row: Any) -> dict[str, Any]:
    names = (
        "claim", "marker", "source_id", "version", "company", "form", "period", "section", "speaker", "page_index",
        "page_label", "start", "end", "quote", "fragment_id", "representation_id", "representation_type",
        "content_sha256",
    )  # fmt: skip
    return {name: getattr(row, name) for name in names}


def to_json(answer: AnswerRecord) -> dict[str, Any]:
    """Return the object that `finrag ask --json` prints. Fields are added over time, never renamed."""
    refusal = answer.refusal
    return {
        "answer_id": answer.answer_id,
        "question": answer.question,
        "decision": answer.decision,
        "answer": answer.answer or None,
        "refusal": None
        if refusal is None
        else {"code": refusal.code, "reason": refusal.reason, "missing": list(refusal.missing)},
        "claims": [
            {"claim": one.claim, "sentence": one.sentence, "verdict": one.verdict, "reason": one.reason}
            for one in answer.claims
        ],
        "citations": [_citation(one) for one in answer.citations],
        "derivations": [
            {
                "claim": one.claim,
                "name": one.name,
                "formula": one.formula,
                "operands": one.operands,
                "result": one.result,
            }
            for one in answer.derivations
        ],
        "gates": [
            {"name": one.name, "made_by": one.made_by, "passed": one.passed, "code": one.code, "detail": one.detail}
            for one in answer.gates
        ],
        "index_version": answer.index_version,
        "generator": answer.generator,
        "timings_ms": dict(answer.timings_ms),
    }
