"""A real small language model, served on this machine: its prose may be poor, but what leaves is proved."""

from collections.abc import Iterator

import pytest

from finrag_pipelines.answering.generators.model import GeneratorError, Prompt
from finrag_pipelines.answering.generators.openai_compatible import OpenAICompatibleServer
from finrag_pipelines.answering.generators.tokens import fewest_tokens, prompt_estimate
from finrag_pipelines.answering.model import AnswerConfig
from finrag_pipelines.evidence import AnswerRecord
from finrag_pipelines_tests.answering_store import ask, sample_documents
from finrag_pipelines_tests.model_servers import (
    HOW_TO_INSTALL,
    SMALL_MODEL,
    OllamaProtocol,
    file_digest,
    relayed,
    serving_ollama,
    serving_small_model,
    small_model_weights,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(small_model_weights() is None, reason=f"no small model here: {HOW_TO_INSTALL}"),
]
# A short context, so that a model on two cores answers in a minute.
OPTIONS = (("num_ctx", 1536.0), ("num_predict", 600.0))
QUESTION = "What did PepsiCo say about commodity costs in Q1 2026?"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving_small_model() as address:
        yield address


def answered(generator: str, base_url: str, question: str = QUESTION) -> AnswerRecord:
    config = AnswerConfig(
        generator=generator, model=SMALL_MODEL, base_url=base_url, timeout=600, options=OPTIONS, budget=600
    )
    return ask(question, config=config)


def assert_proved(answer: AnswerRecord) -> None:
    """Every sentence that leaves has citations that read back from the stored text; otherwise a typed refusal does."""
    assert answer.prompt_sha256
    (gate,) = [one for one in answer.gates if one.name == "prompt"]
    assert gate.value and 200 < gate.value < 1536
    assert [one.made_by for one in answer.gates if one.name == "model"] == ["model"]
    if answer.decision == "refused":
        assert answer.refusal_code in ("MODEL.declined", "CLAIM.unsupported", "CITATION.unresolved")
        assert answer.answer == ""
        return
    delivered = {one.fragment_id for one in answer.deliveries}
    for claim in answer.claims:
        cited = [one for one in answer.citations if one.claim == claim.claim]
        assert (claim.verdict == "dropped") is (not cited)
        assert {one.fragment_id for one in cited} <= delivered
    for one in answer.citations:
        assert sample_documents().text(one.representation_id, one.start, one.end) == one.quote
        assert (one.company, one.period) == ("PEP", "2026Q1")


def test_a_small_model_behind_openais_routes_says_nothing_unproved(address: str) -> None:
    answer = answered("openai-compatible", f"{address}/v1")
    assert_proved(answer)
    assert answer.generator == f"openai-compatible/{SMALL_MODEL}"
    assert str(answer.model_digest).startswith("card:")


def test_a_small_model_behind_the_ollama_client_says_nothing_unproved(address: str) -> None:
    weights = small_model_weights()
    assert weights is not None
    protocol = OllamaProtocol(relayed(address), model=SMALL_MODEL, digest=file_digest(weights), context=2048)
    with serving_ollama(protocol) as host:
        answer, again = answered("ollama", host), answered("ollama", host)
    assert_proved(answer)
    assert (answer.generator, answer.model_digest) == (f"ollama/{SMALL_MODEL}", file_digest(weights))
    assert (again.decision, again.answer, again.gates) == (answer.decision, answer.answer, answer.gates)


def test_our_token_counts_bracket_those_of_a_real_tokenizer(address: str) -> None:
    server = OpenAICompatibleServer("", f"{address}/v1", 600)
    record = ask("Progressive combined ratio Q3 2024")
    fragments = [sample_documents().text(one.representation_id, one.start, one.end) for one in record.deliveries]
    for text in (*fragments[:3], "Net revenues rose 5.25% to $19,456,123 thousand.\n" * 20):
        prompt = Prompt("Quote.", text, {"enum": ["x"]})
        counted = server.complete(prompt, {"num_predict": 64, "num_ctx": 4096, "temperature": 0}).prompt_tokens
        assert counted is not None
        assert fewest_tokens(prompt) <= counted <= prompt_estimate(prompt)


def test_a_prompt_beyond_the_servers_context_is_not_delivered(address: str) -> None:
    server = OpenAICompatibleServer("", f"{address}/v1", 600)
    assert server.served().context == 4096
    with pytest.raises(GeneratorError) as error:
        server.complete(Prompt("s", "word " * 6000, {"type": "object"}), {"num_predict": 16, "num_ctx": 4096})
    assert error.value.code == "truncated_prompt"
