"""A model behind a server with OpenAI's routes: llama.cpp, vLLM and the like."""

import json
import os
import time
from collections.abc import Mapping
from typing import Any

from finrag_pipelines.answering.generators.address import checked_address, through_proxy
from finrag_pipelines.answering.generators.model import Completion, GeneratorError, Prompt, Served
from finrag_pipelines.storage import digest

_PAUSE = 0.5
_LARGEST = 4_000_000


class OpenAICompatibleServer:
    """One model behind OpenAI's routes. `timeout` in seconds is for a whole reply, loading of the model included.

    FINRAG_API_KEY, if set, is sent as bearer token and recorded nowhere.
    """

    def __init__(self, model: str, base_url: str, timeout: float) -> None:
        if not base_url:
            message = "openai-compatible needs --base-url (or FINRAG_BASE_URL), e.g. http://127.0.0.1:8080/v1"
            raise GeneratorError("unknown", message)
        self._model, self._base_url, self._timeout = model, checked_address(base_url), timeout

    @property
    def name(self) -> str:
        """Kind and model."""
        return f"openai-compatible/{self._model or 'default'}"

    def served(self) -> Served:
        """Return a fingerprint of what the server says of the model, and its context length; it names no digest."""
        listed = self._request("GET", "/models", None).get("data")
        models = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        if self._model and models and not any(self._model in _names(one) for one in models) and len(models) > 1:
            raise self._absent_model()
        named = next((one for one in models if self._model in _names(one)), models[0] if models else {})
        meta = named.get("meta")
        card = {key: value for key, value in meta.items() if key != "n_ctx"} if isinstance(meta, dict) else {}
        lengths = [meta.get("n_ctx") if isinstance(meta, dict) else None, named.get("max_model_len")]
        context = next((one for one in lengths if isinstance(one, int) and one > 0), None)
        return Served(f"card:{digest(card)}" if card else None, context)

    def complete(self, prompt: Prompt, options: Mapping[str, float]) -> Completion:
        """Return a reply in the wanted JSON form. Raises GeneratorError."""
        sampling = {name: value for name, value in options.items() if name not in ("num_ctx", "num_predict")}
        body = {
            "model": self._model or "default",
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": dict(prompt.schema)},
            },
            "max_tokens": int(options["num_predict"]),
            "cache_prompt": False,  # llama.cpp repeats itself only without its prompt cache
            **sampling,
        }
        content = self._request("POST", "/chat/completions", body)
        try:
            choice = content["choices"][0]
            text, reason = choice["message"]["content"], choice.get("finish_reason")
            usage = content.get("usage") or {}
            counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise self._bad_reply(type(error).__name__) from None
        if reason == "length":
            longest = f"{options['num_predict']:g}"
            raise GeneratorError("truncated_reply", f"the reply was cut after {longest} tokens; nothing of it is used")
        if not isinstance(text, str):
            raise self._bad_reply("no text")
        prompt_tokens, completion_tokens = (one if isinstance(one, int) else None for one in counts)
        return Completion(text, prompt_tokens, completion_tokens)

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        """Send a request, and send it again while the server says that it is loading (503)."""
        until = time.monotonic() + self._timeout
        while True:
            status, text = self._send(method, path, body, max(0.1, until - time.monotonic()))
            if status != 503:
                break
            if time.monotonic() + _PAUSE > until:
                message = f"{self._base_url} was still loading its model after {self._timeout:g} s"
                raise GeneratorError("loading", message)
            time.sleep(_PAUSE)
        if status == 404 and body is not None:
            raise self._absent_model()
        if status == 404:
            return {}  # a server without a list of models
        if status == 400 and "context" in text:
            raise GeneratorError("truncated_prompt", f"the prompt exceeds the context that {self._base_url} has")
        if status >= 400:  # its words may repeat the prompt, and errors are kept where no document text may be
            message = f"{self._base_url} refused the request with status {status}; its log says why"
            raise GeneratorError("refused", message)
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise self._bad_reply("no JSON") from None
        if not isinstance(content, dict):
            raise self._bad_reply("no JSON object")
        return content

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None, timeout: float) -> tuple[int, str]:
        import httpx

        key = os.environ.get("FINRAG_API_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        until = time.monotonic() + timeout
        try:
            with (
                httpx.Client(timeout=timeout, trust_env=through_proxy(self._base_url), headers=headers) as client,
                client.stream(method, f"{self._base_url}{path}", json=body) as response,
            ):
                received = bytearray()
                for part in response.iter_bytes():
                    received += part
                    if len(received) > _LARGEST:
                        raise self._bad_reply(f"more than {_LARGEST} bytes")
                    if time.monotonic() > until:
                        raise self._timed_out()
                return response.status_code, received.decode("utf-8", "replace")
        except httpx.TimeoutException:
            raise self._timed_out() from None
        except httpx.RemoteProtocolError:
            message = f"the reply of {self._base_url} broke off; nothing of it is used"
            raise GeneratorError("truncated_reply", message) from None
        except httpx.HTTPError:
            message = f"no server at {self._base_url}; start it, or name another with --base-url"
            raise GeneratorError("absent_server", message) from None

    def _absent_model(self) -> GeneratorError:
        return GeneratorError("absent_model", f"{self._base_url} serves no model {self._model!r} on OpenAI's routes")

    def _bad_reply(self, reason: str) -> GeneratorError:
        return GeneratorError("bad_reply", f"the reply of {self._base_url} could not be read ({reason})")

    def _timed_out(self) -> GeneratorError:
        return GeneratorError("timeout", f"{self._base_url} gave no whole reply in {self._timeout:g} s")


def _names(model: Mapping[str, Any]) -> tuple[Any, ...]:
    aliases = model.get("aliases")
    return (model.get("id"), *(aliases if isinstance(aliases, list) else ()))
