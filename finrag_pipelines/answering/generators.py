"""Language models behind one interface: Ollama by its own client, and any server with OpenAI's chat route.

What a model writes is a draft; citations and claims are checked by the same gates as everything else. Clients are
imported where they are used.
"""

import json
from collections.abc import Iterator
from typing import Any, Protocol

from finrag_pipelines.answering.model import AnswerConfig
from finrag_pipelines.answering.prompt import SCHEMA, Prompt, Reply

CONTEXT = 8192
LONGEST_REPLY = 1024
OLLAMA_HOST = "http://127.0.0.1:11434"
# Sent with every request, so that a model repeats itself as far as its server lets it.
SAMPLING: dict[str, float] = {"temperature": 0.0, "top_p": 0.9, "top_k": 40, "seed": 0}


class GeneratorError(Exception):
    """A model could not be used. `code` is absent_server, absent_model, timeout, truncated, refused or bad_reply."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Generator(Protocol):
    """A language model that drafts sentences from a prompt."""

    @property
    def name(self) -> str:
        """How the record names it: kind and model."""
        ...

    def draft(self, prompt: Prompt) -> Reply:
        """Return the model's reply. Raises GeneratorError."""
        ...


def open_generator(config: AnswerConfig) -> Generator | None:
    """Return the generator that a configuration names; None for `extractive`, which needs no model."""
    match config.generator:
        case "extractive":
            return None
        case "ollama" | "auto":
            return OllamaGenerator(config.model or "llama3.2:1b", config.base_url or OLLAMA_HOST, config.timeout)
        case "openai-compatible":
            if not config.base_url:
                raise GeneratorError(
                    "absent_server", "openai-compatible needs a base URL, e.g. http://127.0.0.1:8080/v1"
                )
            return OpenAICompatibleGenerator(config.model or "default", config.base_url, config.timeout)
        case other:
            known = "extractive, auto, ollama, openai-compatible"
            raise GeneratorError("refused", f"generator {other!r} is unknown; choose one of {known}")


def _assert_delivered(prompt: Prompt, counted: int | None, context: int) -> None:
    """Raise where the server's token count shows that it cut the prompt: what was cut was not delivered."""
    if counted is None:
        return
    size = len(prompt.system) + len(prompt.user)
    if counted >= context or counted * 12 < size:
        raise GeneratorError(
            "truncated",
            f"the server read {counted} tokens of a prompt of {size} characters: it was cut, so it was not delivered; "
            "give the server a larger context or lower the token budget",
        )


class OllamaGenerator:
    """A model served by Ollama."""

    def __init__(self, model: str, host: str, timeout: float) -> None:
        self._model, self._host, self._timeout = model, host, timeout

    @property
    def name(self) -> str:
        """Kind and model."""
        return f"ollama/{self._model}"

    def draft(self, prompt: Prompt) -> Reply:
        """Stream a reply in the wanted JSON form. Raises GeneratorError."""
        import httpx
        import ollama

        client = ollama.Client(host=self._host, timeout=self._timeout)
        try:
            digest = self._digest(client)
            stream: Iterator[Any] = client.chat(
                model=self._model,
                messages=[{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
                format=SCHEMA,
                options={**SAMPLING, "num_ctx": CONTEXT, "num_predict": LONGEST_REPLY},
                stream=True,
            )
            parts: list[str] = []
            last: Any = None
            for last in stream:
                parts.append(last["message"]["content"] or "")
        except httpx.TimeoutException:
            raise GeneratorError("timeout", f"Ollama at {self._host} gave no answer in {self._timeout:.0f} s") from None
        except (httpx.HTTPError, ConnectionError) as error:
            raise GeneratorError(
                "absent_server", f"no Ollama at {self._host} ({error}); start it with `ollama serve`"
            ) from None
        except ollama.ResponseError as error:
            if error.status_code == 404:
                raise GeneratorError(
                    "absent_model", f"Ollama has no model {self._model}; fetch it with `ollama pull {self._model}`"
                ) from None
            raise GeneratorError("refused", f"Ollama refused the request: {error.error}") from None
        except (KeyError, TypeError, ValueError) as error:
            raise GeneratorError("bad_reply", f"Ollama's reply could not be read ({type(error).__name__})") from None
        if last is None or not last.get("done"):
            raise GeneratorError("truncated", "Ollama's stream ended before the reply did; nothing of it is used")
        if last.get("done_reason") == "length":
            raise GeneratorError("truncated", f"the reply was cut after {LONGEST_REPLY} tokens; nothing of it is used")
        _assert_delivered(prompt, last.get("prompt_eval_count"), CONTEXT)
        return Reply("".join(parts), last.get("prompt_eval_count"), digest)

    def _digest(self, client: Any) -> str:
        """Return the digest of the model, so that the record names the weights and not only a tag."""
        for one in client.list()["models"]:
            if self._model in (one["model"], str(one["model"]).removesuffix(":latest")):
                return str(one["digest"])
        raise GeneratorError(
            "absent_model", f"Ollama has no model {self._model}; fetch it with `ollama pull {self._model}`"
        )


class OpenAICompatibleGenerator:
    """A model behind a server with OpenAI's routes: llama.cpp, vLLM and the like."""

    def __init__(self, model: str, base_url: str, timeout: float) -> None:
        self._model, self._base_url, self._timeout = model, base_url.rstrip("/"), timeout

    @property
    def name(self) -> str:
        """Kind and model."""
        return f"openai-compatible/{self._model}"

    def draft(self, prompt: Prompt) -> Reply:
        """Return a reply in the wanted JSON form. Raises GeneratorError."""
        import httpx

        body = {
            "model": self._model,
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}},
            "max_tokens": LONGEST_REPLY,
            "cache_prompt": False,  # llama.cpp repeats itself only without its prompt cache
            **SAMPLING,
        }
        try:
            response = httpx.post(f"{self._base_url}/chat/completions", json=body, timeout=self._timeout)
        except httpx.TimeoutException:
            raise GeneratorError("timeout", f"{self._base_url} gave no answer in {self._timeout:.0f} s") from None
        except httpx.HTTPError as error:
            raise GeneratorError("absent_server", f"no server at {self._base_url} ({error})") from None
        if response.status_code == 404:
            raise GeneratorError("absent_model", f"{self._base_url} has no model {self._model}")
        if response.status_code >= 400:
            raise GeneratorError("refused", f"{self._base_url} refused the request: status {response.status_code}")
        try:
            content = response.json()
            choice = content["choices"][0]
            text, reason = choice["message"]["content"], choice.get("finish_reason")
            counted = (content.get("usage") or {}).get("prompt_tokens")
            served = content.get("model")
        except (json.JSONDecodeError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            message = f"the reply of {self._base_url} could not be read ({type(error).__name__})"
            raise GeneratorError("bad_reply", message) from None
        if not isinstance(text, str) or reason == "length":
            raise GeneratorError("truncated", f"the reply was cut after {LONGEST_REPLY} tokens; nothing of it is used")
        _assert_delivered(prompt, counted if isinstance(counted, int) else None, CONTEXT * 4)
        return Reply(text, counted if isinstance(counted, int) else None, str(served) if served else None)
