"""A model served by Ollama, through its own client."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from finrag_pipelines.answering.generators.address import checked_address, through_proxy
from finrag_pipelines.answering.generators.model import Completion, GeneratorError, Prompt, Served

HOST = "http://127.0.0.1:11434"
MODEL = "llama3.2:1b"
_LONGEST = 100_000
"""Characters after which a stream is no reply any more."""


class OllamaServer:
    """One model of one Ollama server. `timeout` in seconds is for a whole reply."""

    def __init__(self, model: str, host: str, timeout: float) -> None:
        self._model = model or MODEL
        self._host = checked_address(host or os.environ.get("OLLAMA_HOST", "") or HOST)
        self._timeout = timeout

    @property
    def name(self) -> str:
        """Kind and model."""
        return f"ollama/{self._model}"

    def served(self) -> Served:
        """Return digest and context length of the model. Raises GeneratorError where server or model is absent."""
        with self._errors():
            client = self._client()
            digest = next((one.digest for one in client.list().models if self._is_named(one.model)), None)
            if digest is None:
                raise self._absent_model()
            return Served(str(digest), _context_length(client.show(self._model).modelinfo or {}))

    def complete(self, prompt: Prompt, options: Mapping[str, float]) -> Completion:
        """Stream a reply in the wanted JSON form and return it whole. Raises GeneratorError."""
        with self._errors():
            stream: Iterator[Any] = self._client().chat(
                model=self._model,
                messages=[{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
                format=dict(prompt.schema),
                options=dict(options),
                stream=True,
            )
            parts, last = self._read(stream)
        if last is None or not last.done:
            raise GeneratorError("truncated_reply", "Ollama's stream ended before the reply did; nothing of it is used")
        if last.done_reason == "length":
            longest = f"{options['num_predict']:g}"
            raise GeneratorError("truncated_reply", f"the reply was cut after {longest} tokens; nothing of it is used")
        return Completion("".join(parts), last.prompt_eval_count, last.eval_count)

    def _read(self, stream: Iterator[Any]) -> tuple[list[str], Any]:
        parts: list[str] = []
        last: Any = None
        length, until = 0, time.monotonic() + self._timeout
        for last in stream:
            parts.append(last.message.content or "")
            length += len(parts[-1])
            if length > _LONGEST:
                raise GeneratorError(
                    "bad_reply", f"Ollama's reply exceeds {_LONGEST} characters; nothing of it is used"
                )
            if time.monotonic() > until:  # a server that drips never trips the client's own time limit
                raise self._timed_out()
        return parts, last

    def _client(self) -> Any:
        import ollama

        return ollama.Client(host=self._host, timeout=self._timeout, trust_env=through_proxy(self._host))

    def _is_named(self, tag: str | None) -> bool:
        return tag is not None and self._model in (tag, tag.removesuffix(":latest"))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn whatever the client raises into a GeneratorError that says what to do."""
        import httpx
        import ollama

        try:
            yield
        except httpx.TimeoutException:
            raise self._timed_out() from None
        except httpx.RemoteProtocolError:
            message = "Ollama's stream broke off before the reply ended; nothing of it is used"
            raise GeneratorError("truncated_reply", message) from None
        except (httpx.HTTPError, ConnectionError):
            message = f"no Ollama server at {self._host}; start it with `ollama serve`, or name it with --base-url"
            raise GeneratorError("absent_server", message) from None
        except ollama.ResponseError as error:
            if error.status_code == 404:
                raise self._absent_model() from None
            # The server's words may repeat the prompt, and errors are kept where no text of documents may be.
            message = f"Ollama at {self._host} failed with status {error.status_code}; its log says why"
            raise GeneratorError("refused", message) from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:  # pydantic's errors are ValueErrors
            message = f"what {self._host} sent is not Ollama's form ({type(error).__name__})"
            raise GeneratorError("bad_reply", message) from None

    def _absent_model(self) -> GeneratorError:
        message = f"Ollama at {self._host} has no model {self._model}; fetch it with `ollama pull {self._model}`"
        return GeneratorError("absent_model", message)

    def _timed_out(self) -> GeneratorError:
        return GeneratorError("timeout", f"Ollama at {self._host} gave no whole reply in {self._timeout:g} s")


def _context_length(model_info: Mapping[str, Any]) -> int | None:
    """Return the context length that a model was trained for: Ollama gives it no more than that, whatever is asked."""
    lengths = [value for key, value in model_info.items() if key.endswith(".context_length")]
    return next((one for one in lengths if isinstance(one, int) and one > 0), None)
