"""RAGAS measures that a language model judges: faithfulness, answer relevancy, context precision without a reference.

The judge is a model behind Ollama or OpenAI's routes. It gets the JSON schema of each reply that ragas wants, bounded
so that a small model comes to an end; what it does not deliver in that form and in time costs the rows that asked.
ragas is imported here only when a judge is opened.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from finrag_pipelines.answering.generators import GeneratorError
from finrag_pipelines.answering.generators.model import SAMPLING, ChatServer, Prompt
from finrag_pipelines.answering.generators.ollama import OllamaServer
from finrag_pipelines.answering.generators.openai_compatible import OpenAICompatibleServer
from finrag_pipelines.evaluation.figures import FAILED, TIMED_OUT, UNPARSED

if TYPE_CHECKING:
    from finrag_pipelines.embedding.model import Embedder

JUDGED = ("ragas_faithfulness", "ragas_answer_relevancy", "ragas_context_precision_without_reference")
KINDS = ("ollama", "openai-compatible")
TIMEOUT = 120.0
"""Seconds that a judge has for one measure of one row, however many questions ragas asks it for that."""
CONTEXT, LONGEST_REPLY = 8192.0, 768.0
_STRING, _ITEMS = 400, 8


@dataclass(frozen=True)
class JudgeSettings:
    """Who judges: `model` as `ollama/NAME` or `openai-compatible/NAME`, where its server is (empty: Ollama's own),
    and how many seconds it has for one measure of one row."""

    model: str
    base_url: str = ""
    timeout: float = TIMEOUT
    context: float = CONTEXT


@dataclass(frozen=True)
class Judge:
    """A judge that answered when it was opened: its name and the digest of its weights, as its server tells it."""

    name: str
    digest: str | None
    server: ChatServer
    settings: JudgeSettings


def open_judge(settings: JudgeSettings) -> Judge:
    """Ask the server for its model. Raises GeneratorError where there is no such judge: nothing is run then."""
    kind, _, model = settings.model.partition("/")
    match kind:
        case "ollama":
            server: ChatServer = OllamaServer(model, settings.base_url, settings.timeout)
        case "openai-compatible":
            server = OpenAICompatibleServer(model, settings.base_url, settings.timeout)
        case _:
            raise GeneratorError(
                "unknown", f"judge {settings.model!r}: write {' or '.join(f'{one}/MODEL' for one in KINDS)}"
            )
    return Judge(server.name, server.served().digest, server, settings)


def judged_metrics(judge: Judge, embedder: "Embedder") -> dict[str, Any]:
    """Return the measures by name, each with `single_turn_ascore(sample)` like those that need no judge."""
    from ragas.embeddings.base import BaseRagasEmbedding
    from ragas.llms.base import InstructorBaseRagasLLM
    from ragas.metrics.collections import AnswerRelevancy, ContextPrecisionWithoutReference, Faithfulness

    class JudgeLLM(InstructorBaseRagasLLM):
        """The judge as ragas calls it."""

        def generate(self, prompt: str, response_model: Any) -> Any:
            asked = Prompt("Judge as asked. Reply in JSON only.", prompt, bounded(response_model.model_json_schema()))
            options = {**SAMPLING, "num_ctx": judge.settings.context, "num_predict": LONGEST_REPLY}
            return response_model.model_validate_json(judge.server.complete(asked, options).text)

        async def agenerate(self, prompt: str, response_model: Any) -> Any:
            return await asyncio.to_thread(self.generate, prompt, response_model)

    class Embedding(BaseRagasEmbedding):
        """The project's embedder as ragas calls it."""

        def embed_text(self, text: str, **kwargs: Any) -> list[float]:
            return [float(one) for one in embedder.embed([text])[0]]

        async def aembed_text(self, text: str, **kwargs: Any) -> list[float]:
            return self.embed_text(text)

    llm = JudgeLLM()
    with_contexts = ("user_input", "response", "retrieved_contexts")
    return {
        "ragas_faithfulness": _Judged(Faithfulness(llm=llm), with_contexts),
        "ragas_answer_relevancy": _Judged(AnswerRelevancy(llm=llm, embeddings=Embedding()), with_contexts[:2]),
        "ragas_context_precision_without_reference": _Judged(ContextPrecisionWithoutReference(llm=llm), with_contexts),
    }


@dataclass(frozen=True)
class _Judged:
    """A measure of `ragas.metrics.collections` under the interface of its older classes."""

    metric: Any
    fields: tuple[str, ...]

    async def single_turn_ascore(self, sample: Any) -> float:
        return float((await self.metric.ascore(**{name: getattr(sample, name) for name in self.fields})).value)


def bounded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON schema whose strings and arrays have a largest size, so that a constrained reply ends."""

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(one) for one in node]
        if not isinstance(node, dict):
            return node
        out = {name: walk(value) for name, value in node.items()}
        if out.get("type") == "string" and "enum" not in out:
            out.setdefault("maxLength", _STRING)
        if out.get("type") == "array":
            out.setdefault("maxItems", _ITEMS)
        if out.get("type") == "object" and "properties" in out:
            out.setdefault("additionalProperties", False)
        return out

    return walk(dict(schema))


def status_of(error: BaseException) -> str:
    """Return how a failed row is counted: timed out, in another form than asked for, or failed."""
    if isinstance(error, TimeoutError):
        return TIMED_OUT
    if isinstance(error, GeneratorError):
        unread = ("bad_reply", "truncated_reply")
        return TIMED_OUT if error.code in ("timeout", "loading") else UNPARSED if error.code in unread else FAILED
    return UNPARSED if type(error).__name__ in ("ValidationError", "JSONDecodeError") else FAILED
