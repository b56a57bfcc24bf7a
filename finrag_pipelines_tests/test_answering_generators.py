"""Language models behind the gates: what they draft is checked, what breaks is a clear error.

The clients are the real ones; the servers are small and stand on loopback.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from finrag_pipelines.answering.answer import answer_question
from finrag_pipelines.answering.generators import (
    GeneratorError,
    OllamaGenerator,
    OpenAICompatibleGenerator,
    open_generator,
)
from finrag_pipelines.answering.model import AnswerConfig
from finrag_pipelines.answering.prompt import Prompt, Reply, ReplyError, make_prompt, read_reply
from finrag_pipelines.catalog.access import PUBLIC_PRINCIPAL
from finrag_pipelines.evidence import AnswerRecord
from finrag_pipelines_tests.answering_store import ask, sample_documents, sample_index, sample_store

QUESTION = "How did KO, PEP, and MDLZ each describe input-cost or commodity pressure in Q1 2026?"
PROMPT = Prompt("system", "user")
GOOD = json.dumps({"declined": False, "sentences": []})


@dataclass
class Scripted:
    """A generator that writes what a test wants, with the ids of the sources that hold given words."""

    sentences: list[tuple[str, str]]
    declined: bool = False
    seen: Prompt | None = None
    name: str = "scripted"

    def draft(self, prompt: Prompt) -> Reply:
        self.seen = prompt
        blocks = {block.split(":", 1)[0]: " ".join(block.split()) for block in prompt.user.split("\n\nS")}
        ids = {f"S{key.removeprefix('S')}": text for key, text in blocks.items()}
        stated = [
            {"text": text, "sources": [one for one, block in ids.items() if words in block][:1] or [words]}
            for text, words in self.sentences
        ]
        return Reply(json.dumps({"declined": self.declined, "sentences": stated}), 100, "sha256:scripted")


def answered_by(model: Scripted, question: str = QUESTION) -> AnswerRecord:
    return answer_question(
        sample_index(), sample_store(), question, PUBLIC_PRINCIPAL, AnswerConfig(), None, sample_documents(), model
    )


KO = ("Coca-Cola called input costs manageable.", "Input costs were manageable. Commodities were")
PEP = ("PepsiCo's commodity costs rose 5 percent in the quarter.", "Commodity costs rose 5 percent")
MDLZ = ("Cocoa remains the largest input-cost pressure of Mondelez.", "Cocoa remains our largest input-cost pressure")


def test_a_models_true_sentences_leave_with_passages_as_citations() -> None:
    answer = answered_by(Scripted([KO, PEP, MDLZ]))
    assert answer.decision == "answered" and len(answer.claims) == 3
    assert [one.company for one in answer.citations] == ["KO", "PEP", "MDLZ"]
    assert (answer.generator, answer.model_digest) == ("scripted", "sha256:scripted") and answer.prompt_sha256
    assert [one.made_by for one in answer.gates if one.name == "model"] == ["model"]


def test_the_cocoa_passage_given_to_coca_cola_never_leaves() -> None:
    fabricated = ("Coca-Cola said that cocoa remains its largest input-cost pressure.", MDLZ[1])
    answer = answered_by(Scripted([fabricated, PEP, MDLZ]))
    assert (answer.decision, answer.refusal_code, answer.missing) == ("refused", "CLAIM.unsupported", ("KO/2026Q1",))
    assert answer.answer == ""
    kept = answered_by(Scripted([fabricated, KO, PEP, MDLZ]))
    assert kept.decision == "answered" and "cocoa remains its" not in kept.answer
    assert [one.verdict for one in kept.claims] == ["supported"] * 3 + ["dropped"]


@pytest.mark.parametrize("near", ["S999", "s1", "S1.", "[S1]", "S01", "1", "S1,S2", ""])
def test_an_id_that_is_not_of_this_delivery_does_not_resolve(near: str) -> None:
    model = Scripted([])
    model.draft = lambda prompt: Reply(  # type: ignore[method-assign]
        json.dumps({"declined": False, "sentences": [{"text": PEP[0], "sources": [near]}]})
    )
    answer = answered_by(model)
    assert (answer.decision, answer.refusal_code) == ("refused", "CITATION.unresolved")


def test_a_sentence_without_sources_is_dropped() -> None:
    model = Scripted([])
    model.draft = lambda prompt: Reply(  # type: ignore[method-assign]
        json.dumps({"declined": False, "sentences": [{"text": PEP[0], "sources": []}]})
    )
    assert answered_by(model).refusal_code == "CITATION.unresolved"


def test_a_model_that_declines_is_recorded_as_the_model_declining() -> None:
    answer = answered_by(Scripted([], declined=True))
    assert (answer.decision, answer.refusal_code) == ("refused", "MODEL.declined")
    assert [(one.name, one.made_by) for one in answer.gates][-1] == ("model", "model")


def test_text_of_documents_cannot_close_its_own_quotation() -> None:
    delivered = ask(QUESTION).deliveries
    assert delivered
    model = Scripted([KO, PEP, MDLZ])
    answered_by(model)
    assert model.seen is not None
    assert model.seen.user.count("<<<") == model.seen.user.count(">>>") == len(delivered)
    assert model.seen.user.endswith(f"Question: {QUESTION}")


@pytest.mark.parametrize("reply", ["", "no JSON", "[]", '{"declined": 1, "sentences": []}', '{"sentences": []}',
                                   '{"declined": false, "sentences": [{"text": 1, "sources": []}]}'])  # fmt: skip
def test_a_reply_of_another_form_is_an_error(reply: str) -> None:
    with pytest.raises(ReplyError):
        read_reply(reply, (), (), sample_documents())


def test_the_same_delivery_gives_the_same_prompt() -> None:
    hashes = {answered_by(Scripted([KO, PEP, MDLZ])).prompt_sha256 for _ in range(3)}
    assert len(hashes) == 1
    assert make_prompt("q", (), sample_documents()).user == "Question: q"


@contextmanager
def served(respond: dict[str, tuple[int, list[dict] | str]], cut: bool = False, hang: float = 0.0) -> Iterator[str]:
    """A server on loopback: by path, a status and either JSON lines or a text. `requests` keeps what it was sent."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            requests.append((self.path, json.loads(self.rfile.read(length) or b"{}")))
            if hang:
                stopped.wait(hang)
            status, content = respond.get(self.path, (404, '{"error": "not found"}'))
            body = content if isinstance(content, str) else "\n".join(map(json.dumps, content))
            payload = body.encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload) + (50 if cut else 0)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = _answer

        def log_message(self, format: str, *arguments: object) -> None:
            return None

    requests.clear()
    stopped = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()


requests: list[tuple[str, dict]] = []
TAGS = (200, json.dumps({"models": [{"model": "small:1b", "digest": "abc123", "size": 1}]}))


def chat(*parts: str, done: bool = True, **more: object) -> tuple[int, list[dict]]:
    lines: list[dict] = [{"model": "small:1b", "message": {"role": "assistant", "content": one}} for one in parts]
    if done:
        lines.append({"model": "small:1b", "message": {"role": "assistant", "content": ""}, "done": True, **more})
    return 200, lines


def test_ollama_is_asked_for_repeatable_json_and_its_stream_is_joined() -> None:
    with served({"/api/tags": TAGS, "/api/chat": chat(GOOD[:7], GOOD[7:], prompt_eval_count=12)}) as host:
        reply = OllamaGenerator("small:1b", host, 5).draft(PROMPT)
    assert (reply.text, reply.prompt_tokens, reply.model_digest) == (GOOD, 12, "abc123")
    sent = dict(requests)["/api/chat"]
    options = sent["options"]
    assert {name: options[name] for name in ("temperature", "top_p", "top_k", "seed", "num_ctx")} == {
        "temperature": 0.0,
        "top_p": 0.9,
        "top_k": 40,
        "seed": 0,
        "num_ctx": 8192,
    }
    assert sent["format"]["required"] == ["declined", "sentences"]


@pytest.mark.parametrize(
    ("respond", "code"),
    [
        ({"/api/tags": (200, '{"models": []}')}, "absent_model"),
        ({"/api/tags": TAGS, "/api/chat": (404, '{"error": "model not found"}')}, "absent_model"),
        ({"/api/tags": TAGS, "/api/chat": (500, '{"error": "out of memory"}')}, "refused"),
        ({"/api/tags": TAGS, "/api/chat": chat(GOOD, done=False)}, "truncated"),
        ({"/api/tags": TAGS, "/api/chat": chat(GOOD, done_reason="length")}, "truncated"),
        ({"/api/tags": TAGS, "/api/chat": chat(GOOD, prompt_eval_count=8192)}, "truncated"),
    ],
)
def test_ollama_failures_are_named(respond: dict, code: str) -> None:
    with served(respond) as host, pytest.raises(GeneratorError) as error:
        OllamaGenerator("small:1b", host, 5).draft(PROMPT)
    assert error.value.code == code


def test_an_absent_or_silent_server_is_said() -> None:
    for make in (OllamaGenerator, OpenAICompatibleGenerator):
        with pytest.raises(GeneratorError) as error:
            make("small:1b", "http://127.0.0.1:9", 2).draft(PROMPT)
        assert error.value.code == "absent_server"
        with served({}, hang=5) as host, pytest.raises(GeneratorError) as error:
            make("small:1b", host, 0.3).draft(PROMPT)
        assert error.value.code == "timeout"


def completion(text: str, reason: str = "stop", tokens: int = 12) -> tuple[int, str]:
    content = {
        "model": "small",
        "choices": [{"message": {"content": text}, "finish_reason": reason}],
        "usage": {"prompt_tokens": tokens},
    }
    return 200, json.dumps(content)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (completion(GOOD), None),
        (completion(GOOD, reason="length"), "truncated"),
        ((503, "{}"), "refused"),
        ((404, "{}"), "absent_model"),
        ((200, "no JSON"), "bad_reply"),
        ((200, '{"choices": []}'), "bad_reply"),
    ],
)
def test_openai_compatible_replies_are_read_or_named(answer: tuple[int, str], code: str | None) -> None:
    with served({"/v1/chat/completions": answer}) as host:
        generator = OpenAICompatibleGenerator("small", f"{host}/v1", 5)
        if code is None:
            assert generator.draft(PROMPT).text == GOOD
            return
        with pytest.raises(GeneratorError) as error:
            generator.draft(PROMPT)
    assert error.value.code == code


def test_with_auto_the_extractive_generator_steps_in_and_the_record_says_so() -> None:
    config = AnswerConfig(generator="auto", model="small:1b", base_url="http://127.0.0.1:9", timeout=2)
    answer = ask("Progressive combined ratio Q3 2024", config=config)
    assert answer.decision == "answered" and "89.4%" in answer.answer
    assert answer.generator == "extractive/1 instead of ollama/small:1b: absent_server"
    with pytest.raises(GeneratorError, match="no Ollama"):
        ask(
            "Progressive combined ratio Q3 2024", config=AnswerConfig(generator="ollama", base_url="http://127.0.0.1:9")
        )


def test_an_unknown_generator_is_a_clear_error() -> None:
    with pytest.raises(GeneratorError, match="choose one of"):
        open_generator(AnswerConfig(generator="oracle"))
