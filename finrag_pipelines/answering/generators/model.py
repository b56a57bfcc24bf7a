"""The vocabulary of generation: what a generator works from, what it returns, how it fails, and what a server is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.extractive import Findings
from finrag_pipelines.answering.model import AnswerConfig, Delivered, Draft, Support
from finrag_pipelines.answering.question import Ask
from finrag_pipelines.retrieval.model import Pair, Plan
from finrag_pipelines.storage import sha256_text

CONTEXT = 8192
LONGEST_REPLY = 1024
# Sent with every request, so that a model repeats itself as far as its server lets it.
SAMPLING: Mapping[str, float] = {"temperature": 0.0, "top_p": 0.9, "top_k": 40, "seed": 0}


REPLY_FAILURES = frozenset({"timeout", "truncated_prompt", "truncated_reply", "refused", "bad_reply"})
"""Codes of a GeneratorError that say something of one question only; the others say it of the server or the model."""


class GeneratorError(Exception):
    """A generator could not do its work.

    `code` is one of absent_server, absent_model, loading, timeout, truncated_prompt, truncated_reply, refused,
    bad_reply or unknown. The message says what was wrong, where, and what to do.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class GenerationRequest:
    """What a generator works from: the question as read, what was found for each pair, and what may be delivered."""

    question: str
    ask: Ask
    plan: Plan
    pairs: tuple[Pair, ...]
    findings: tuple[Findings, ...]
    delivered: tuple[Delivered, ...]
    documents: Documents
    config: AnswerConfig


@dataclass(frozen=True)
class Prompt:
    """The exact messages that go to a model, and the form that its reply must have."""

    system: str
    user: str
    schema: Mapping[str, Any]

    @property
    def sha256(self) -> str:
        """The hash that the record keeps of the messages."""
        return sha256_text(f"{self.system}\n\n{self.user}")


@dataclass(frozen=True)
class Served:
    """What a server says of a model before it is used: digest of the weights and context length in tokens, if told."""

    digest: str | None = None
    context: int | None = None


@dataclass(frozen=True)
class Completion:
    """A whole reply: its text, and the tokens of prompt and reply as the server counted them (None if it did not)."""

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class ChatServer(Protocol):
    """A server that completes a chat. Both methods raise GeneratorError."""

    @property
    def name(self) -> str:
        """How the record names it: kind and model."""
        ...

    def served(self) -> Served:
        """Return what the server says of the model."""
        ...

    def complete(self, prompt: Prompt, options: Mapping[str, float]) -> Completion:
        """Return the whole reply. `options` are those of Ollama: the sampling, `num_ctx` and `num_predict`."""
        ...


@dataclass(frozen=True)
class Generated:
    """What a generator made: drafts, or the model's own refusal, and what is recorded of the making.

    `delivered` are the fragments that went to the generator, in that order. `options` are sorted by name.
    `stepped_in` tells which model the extractive generator replaced, and why. Token counts are the server's;
    `estimated_tokens` is ours.
    """

    drafts: tuple[Draft, ...]
    generator: str
    delivered: tuple[Delivered, ...]
    self_refusal: bool = False
    prompt: Prompt | None = None
    model_digest: str | None = None
    prompt_tokens: int | None = None
    estimated_tokens: int | None = None
    completion_tokens: int | None = None
    options: tuple[tuple[str, float], ...] = ()
    stepped_in: str = ""

    @property
    def prompt_sha256(self) -> str | None:
        """The hash of the prompt; None where no model was asked."""
        return self.prompt.sha256 if self.prompt else None

    def account(self) -> str:
        """Return in one line what the record keeps of a model's work: options and token counts."""
        options = ", ".join(f"{name} {value:g}" for name, value in self.options)
        counted = "not counted by the server" if self.prompt_tokens is None else f"{self.prompt_tokens} counted"
        reply = "" if self.completion_tokens is None else f"; reply of {self.completion_tokens} tokens"
        sources = f"{len(self.delivered)} sources"
        return f"{sources}; prompt of {self.estimated_tokens} tokens estimated, {counted}{reply}; {options}"


class Generator(Protocol):
    """Drafts the sentences of an answer."""

    def generate(self, request: GenerationRequest) -> Generated:
        """Return drafts or a self-refusal. Raises GeneratorError."""
        ...


def model_options(config: AnswerConfig) -> dict[str, float]:
    """Return the options of a request: the fixed ones, and what the configuration sets instead."""
    return {**SAMPLING, "num_ctx": CONTEXT, "num_predict": LONGEST_REPLY, **dict(config.options)}


def positions(delivered: Sequence[Delivered]) -> dict[str, Delivered]:
    """Return the delivered fragments by source id: `S1` is the first, and no other id exists."""
    return {f"S{one.position}": one for one in delivered}


def supports_of(finding: Findings) -> list[Support]:
    """Return the passages and rows that were found for a pair, the best first."""
    return [*(support for one in finding.measured for support in one.supports), *finding.passages]
