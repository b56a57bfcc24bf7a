"""Which generator a configuration names: extractive, a model, or a model that the extractive one stands in for."""

import dataclasses

from finrag_pipelines.answering import extractive
from finrag_pipelines.answering.generators.language_model import LanguageModel
from finrag_pipelines.answering.generators.model import (
    ChatServer,
    Generated,
    GenerationRequest,
    Generator,
    GeneratorError,
)
from finrag_pipelines.answering.generators.ollama import OllamaServer
from finrag_pipelines.answering.generators.openai_compatible import OpenAICompatibleServer
from finrag_pipelines.answering.model import AnswerConfig

KINDS = ("extractive", "auto", "ollama", "openai-compatible")


class ExtractiveGenerator:
    """Drafts by picking and ordering passages and table rows; needs no model."""

    def generate(self, request: GenerationRequest) -> Generated:
        """Return the drafts; it never declines."""
        drafts = extractive.generate(request.ask, request.plan, request.findings, request.documents, request.config)
        return Generated(tuple(drafts), f"{extractive.NAME}/{extractive.VERSION}", request.delivered)


class AutoGenerator:
    """Asks a model and, where that fails, lets the extractive generator step in and says so."""

    def __init__(self, server: ChatServer) -> None:
        self._server = server

    def generate(self, request: GenerationRequest) -> Generated:
        """Return what the model made, or what the extractive generator made in its place."""
        try:
            return LanguageModel(self._server).generate(request)
        except GeneratorError as error:
            instead = ExtractiveGenerator().generate(request)
            why = f"{self._server.name}: {error.code}"
            return dataclasses.replace(instead, generator=f"{instead.generator} (stepped in: {why})", stepped_in=why)


def open_generator(config: AnswerConfig) -> Generator:
    """Return the generator that a configuration names. Raises GeneratorError for one that does not exist.

    `auto` speaks to an OpenAI-compatible server where the base URL ends in `/v1`, and to Ollama otherwise.
    """
    ollama = config.generator == "ollama" or not config.base_url.rstrip("/").endswith("/v1")
    match config.generator:
        case "extractive":
            return ExtractiveGenerator()
        case "auto":
            return AutoGenerator(_ollama(config) if ollama else _openai(config))
        case "ollama":
            return LanguageModel(_ollama(config))
        case "openai-compatible":
            return LanguageModel(_openai(config))
        case other:
            raise GeneratorError("unknown", f"generator {other!r} is unknown; choose one of {', '.join(KINDS)}")


def _ollama(config: AnswerConfig) -> ChatServer:
    return OllamaServer(config.model, config.base_url, config.timeout)


def _openai(config: AnswerConfig) -> ChatServer:
    return OpenAICompatibleServer(config.model, config.base_url, config.timeout)
