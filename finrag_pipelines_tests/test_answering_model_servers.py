"""Servers of models: the real clients against small servers on loopback; what breaks is a clear, typed error."""

import json
import re
from dataclasses import replace

import pytest

from finrag_pipelines.answering.generators.model import ChatServer, GeneratorError, Prompt, model_options
from finrag_pipelines.answering.generators.ollama import OllamaServer
from finrag_pipelines.answering.generators.openai_compatible import OpenAICompatibleServer
from finrag_pipelines.answering.generators.prompt import reply_schema
from finrag_pipelines.answering.model import AnswerConfig
from finrag_pipelines.evidence import AnswerRecord
from finrag_pipelines_tests.answering_store import ask
from finrag_pipelines_tests.model_servers import OllamaProtocol, serving_ollama, serving_routes

GOOD = json.dumps({"declined": False, "sentences": []})
PROMPT = Prompt("system", "user", reply_schema(["S1", "S2"]))
OPTIONS = model_options(AnswerConfig())
QUESTION = "What did PepsiCo say about commodity costs in Q1 2026?"
TRUE = "PepsiCo's commodity costs rose 5 percent in the quarter."


def test_ollama_is_asked_for_repeatable_json_and_its_stream_is_joined() -> None:
    protocol = OllamaProtocol(lambda body: {"text": GOOD, "prompt_eval_count": 12})
    with serving_ollama(protocol) as host:
        server = OllamaServer("small:1b", host, 5)
        served = server.served()
        reply = server.complete(PROMPT, OPTIONS)
    assert (served.digest, served.context) == (protocol.digest, 8192)
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == (GOOD, 12, 50)
    (sent,) = protocol.chat_requests()
    assert sent["options"] == {
        "temperature": 0.0, "top_p": 0.9, "top_k": 40, "seed": 0, "num_ctx": 8192, "num_predict": 1024,
    }  # fmt: skip
    assert sent["format"] == dict(PROMPT.schema) and sent["stream"] is True
    assert [one["role"] for one in sent["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("404", "absent_model"),
        ("500", "refused"),
        ("hang", "timeout"),
        ("drip", "timeout"),
        ("cut", "truncated_reply"),
        ("unfinished", "truncated_reply"),
        ("not json", "bad_reply"),
    ],
)
def test_ollama_failures_are_named(fault: str, code: str) -> None:
    protocol = OllamaProtocol(lambda body: {"text": GOOD}, fault=fault)
    with serving_ollama(protocol) as host, pytest.raises(GeneratorError) as error:
        OllamaServer("small:1b", host, 0.4).complete(PROMPT, OPTIONS)
    assert error.value.code == code
    assert "out of memory" not in str(error.value)  # a server's words may repeat a prompt


def test_a_reply_cut_at_its_length_limit_is_not_used() -> None:
    protocol = OllamaProtocol(lambda body: {"text": GOOD, "done_reason": "length"})
    with serving_ollama(protocol) as host, pytest.raises(GeneratorError, match="cut after 1024 tokens") as error:
        OllamaServer("small:1b", host, 5).complete(PROMPT, OPTIONS)
    assert error.value.code == "truncated_reply"


def test_an_absent_model_is_said_with_the_command_that_fetches_it() -> None:
    with serving_ollama(OllamaProtocol(lambda body: {"text": GOOD})) as host:
        assert OllamaServer("small:1b", host, 5).served().digest
        with pytest.raises(GeneratorError, match="ollama pull other:7b") as error:
            OllamaServer("other:7b", host, 5).served()
    assert error.value.code == "absent_model"


def test_a_name_without_a_tag_is_the_latest() -> None:
    with serving_ollama(OllamaProtocol(lambda body: {"text": GOOD}, model="small:latest")) as host:
        assert OllamaServer("small", host, 5).served().digest
        with pytest.raises(GeneratorError):
            OllamaServer("smal", host, 5).served()


def test_something_else_at_the_address_is_no_ollama() -> None:
    with serving_routes({"/api/tags": (200, "<html>hello</html>")}) as host, pytest.raises(GeneratorError) as error:
        OllamaServer("small:1b", host, 5).served()
    assert error.value.code == "bad_reply"


def test_an_absent_or_silent_server_is_said() -> None:
    servers: list[ChatServer] = [
        OllamaServer("small:1b", "http://127.0.0.1:9", 2),
        OpenAICompatibleServer("small", "http://127.0.0.1:9/v1", 2),
    ]
    for one in servers:
        with pytest.raises(GeneratorError, match=r"no .*server at") as error:
            one.served()
        assert error.value.code == "absent_server"


def answered(host: str, generator: str = "ollama") -> AnswerRecord:
    return ask(QUESTION, config=AnswerConfig(generator=generator, model="small:1b", base_url=host, timeout=5))


def writing(text: str, words: str = "Commodity costs rose 5 percent", **more: object) -> OllamaProtocol:
    """A model that writes one sentence and cites the source that holds `words`."""

    def respond(body: dict) -> dict:
        sources = re.findall(r'<source id="(S\d+)"[^>]*>\n(.*?)\n</source>', body["messages"][1]["content"], re.DOTALL)
        ids = [name for name, source in sources if words in " ".join(source.split())][:1]
        reply = {"declined": False, "sentences": [{"text": text, "sources": ids}]}
        return {"text": json.dumps(reply), **more}

    return OllamaProtocol(respond)


def test_an_answer_made_through_the_ollama_client_is_recorded_with_its_model() -> None:
    protocol = writing(TRUE)
    with serving_ollama(protocol) as host:
        answer, again = answered(host), answered(host)
    assert answer.decision == "answered" and TRUE in answer.answer
    assert (answer.generator, answer.model_digest) == ("ollama/small:1b", protocol.digest)
    (gate,) = [one for one in answer.gates if one.name == "prompt"]
    assert gate.value == 5000 and "num_ctx 8192" in gate.detail and "seed 0" in gate.detail
    assert answer.prompt_sha256 == again.prompt_sha256
    assert protocol.chat_requests()[0] == protocol.chat_requests()[1]


def test_the_fabrication_of_a_served_model_does_not_leave() -> None:
    with serving_ollama(writing("Coca-Cola's commodity costs rose 5 percent in the quarter.")) as host:
        answer = answered(host)
    assert (answer.decision, answer.refusal_code, answer.answer) == ("refused", "CLAIM.unsupported", "")


def test_a_prompt_that_ollama_cut_was_not_delivered() -> None:
    with serving_ollama(writing(TRUE, prompt_eval_count=700)) as host:
        with pytest.raises(GeneratorError, match="it was cut, so it was not delivered") as error:
            answered(host)
        stepped_in = answered(host, "auto")
    assert error.value.code == "truncated_prompt"
    assert stepped_in.generator == "extractive/1 (stepped in: ollama/small:1b: truncated_prompt)"
    assert stepped_in.decision == "answered"


def test_a_model_is_given_no_more_than_the_context_that_it_was_trained_for() -> None:
    protocol = writing(TRUE, prompt_eval_count=1900)
    protocol.context = 3000
    with serving_ollama(protocol) as host:
        answer = answered(host)
    assert protocol.chat_requests()[0]["options"]["num_ctx"] == 3000
    assert answer.decision == "answered" and len(answer.deliveries) < 20


@pytest.mark.parametrize("fault", ["404", "500", "cut", "unfinished", "not json"])
def test_with_auto_each_fault_of_a_server_is_stepped_in_for(fault: str) -> None:
    protocol = writing(TRUE)
    protocol.fault = fault
    with serving_ollama(protocol) as host:
        answer = answered(host, "auto")
    assert answer.decision == "answered"
    assert re.fullmatch(r"extractive/\d+ \(stepped in: ollama/small:1b: \w+\)", answer.generator)
    assert answer.model_digest is None and answer.prompt_sha256 is None


MODELS = (200, json.dumps({"data": [{"id": "small", "meta": {"n_ctx": 4096, "n_params": 135}}]}))


def completion(text: str | None, reason: str = "stop", tokens: object = 12) -> tuple[int, str]:
    content = {
        "model": "small",
        "choices": [{"message": {"content": text}, "finish_reason": reason}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 7},
    }
    return 200, json.dumps(content)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (completion(GOOD), None),
        (completion(GOOD, tokens="many"), None),
        (completion(GOOD, reason="length"), "truncated_reply"),
        (completion(None), "bad_reply"),
        ((400, '{"error": {"message": "exceeds the available context size"}}'), "truncated_prompt"),
        ((500, "{}"), "refused"),
        ((404, "{}"), "absent_model"),
        ((200, "no JSON"), "bad_reply"),
        ((200, "[]"), "bad_reply"),
        ((200, '{"choices": []}'), "bad_reply"),
    ],
)
def test_openai_compatible_replies_are_read_or_named(answer: tuple[int, str], code: str | None) -> None:
    with serving_routes({"/v1/models": MODELS, "/v1/chat/completions": answer}) as host:
        server = OpenAICompatibleServer("small", f"{host}/v1", 5)
        if code is None:
            assert server.complete(PROMPT, OPTIONS).text == GOOD
            return
        with pytest.raises(GeneratorError) as error:
            server.complete(PROMPT, OPTIONS)
    assert error.value.code == code


def test_openai_compatible_servers_get_a_schema_and_a_key_and_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINRAG_API_KEY", "k")
    requests: list[tuple[str, dict]] = []
    routes = {"/v1/models": MODELS, "/v1/chat/completions": completion(GOOD)}
    with serving_routes(routes, requests, busy=1) as host:
        server = OpenAICompatibleServer("small", f"{host}/v1/", 5)
        served = server.served()
        reply = server.complete(PROMPT, OPTIONS)
    assert served.context == 4096 and str(served.digest).startswith("card:")
    assert (reply.prompt_tokens, reply.completion_tokens) == (12, 7)
    path, sent = requests[-1]
    assert path == "/v1/chat/completions" and sent["authorization"] == "Bearer k"
    assert sent["body"]["response_format"]["json_schema"]["schema"] == dict(PROMPT.schema)
    wanted = {"temperature": 0.0, "top_p": 0.9, "top_k": 40, "seed": 0, "max_tokens": 1024, "cache_prompt": False}
    assert {name: sent["body"][name] for name in wanted} == wanted
    assert [one[0] for one in requests] == ["/v1/models", "/v1/models", "/v1/chat/completions"]


def test_a_server_that_goes_on_loading_is_said() -> None:
    with serving_routes({}, busy=99) as host, pytest.raises(GeneratorError, match="still loading") as error:
        OpenAICompatibleServer("small", f"{host}/v1", 0.6).served()
    assert error.value.code == "loading"


def test_among_several_served_models_the_named_one_must_exist() -> None:
    two = (200, json.dumps({"data": [{"id": "a", "max_model_len": 2048}, {"id": "b"}]}))
    with serving_routes({"/v1/models": two}) as host:
        assert OpenAICompatibleServer("a", f"{host}/v1", 5).served().context == 2048
        with pytest.raises(GeneratorError, match="serves no model 'c'") as error:
            OpenAICompatibleServer("c", f"{host}/v1", 5).served()
    assert error.value.code == "absent_model"


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with serving_ollama(OllamaProtocol(lambda body: {"text": GOOD})) as host:
        assert OllamaServer("small:1b", host, 5).served().digest
    with serving_routes({"/v1/models": MODELS}) as host:
        assert OpenAICompatibleServer("small", f"{host}/v1", 5).served().context == 4096


def test_a_reply_that_breaks_costs_its_own_question_only_in_a_run_of_many() -> None:
    protocol = OllamaProtocol(lambda body: {"text": GOOD, "done_reason": "length"})
    with serving_ollama(protocol) as host:
        config = AnswerConfig(generator="ollama", model="small:1b", base_url=host, timeout=5)
        with pytest.raises(GeneratorError, match="cut after"):
            ask(QUESTION, config=config)
        answer = ask(QUESTION, config=config, one_of_many=True)
        with pytest.raises(GeneratorError, match="ollama pull"):  # what would fail every question ends the run
            ask(QUESTION, config=replace(config, model="other:7b"), one_of_many=True)
    assert answer.refusal is not None and answer.refusal.code == "MODEL.failed"
    assert [(gate.name, gate.passed) for gate in answer.gates if gate.made_by == "model"] == [("model", False)]
