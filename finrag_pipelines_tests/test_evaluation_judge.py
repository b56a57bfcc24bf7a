"""RAGAS with a judge that judges, hangs, talks, or dies midway: each costs its own rows, which are counted."""

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from finrag_pipelines.answering.generators import GeneratorError
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.evaluation import ragas_metrics
from finrag_pipelines.evaluation.configurations import read_configuration
from finrag_pipelines.evaluation.document import to_markdown
from finrag_pipelines.evaluation.figures import Mean, means
from finrag_pipelines.evaluation.judge import JUDGED, JudgeSettings, bounded, open_judge
from finrag_pipelines.evaluation.ragas_metrics import GIVE_UP, Sample
from finrag_pipelines.evaluation.report import report_of_store
from finrag_pipelines.evaluation.report_sections import left_out
from finrag_pipelines.evaluation.run import evaluate
from finrag_pipelines.evaluation.sets import EvalSet, read_set
from finrag_pipelines.storage import Store
from finrag_pipelines_tests.answering_store import sample_store
from finrag_pipelines_tests.model_servers import (
    HOW_TO_INSTALL,
    SMALL_MODEL,
    OllamaProtocol,
    file_digest,
    listening,
    relayed,
    serving_ollama,
    serving_small_model,
    small_model_weights,
)

ROOT = Path(__file__).resolve().parents[1]
FAITHFULNESS, RELEVANCY, PRECISION = JUDGED


def filled(schema: dict[str, Any], definitions: dict[str, Any] | None = None) -> Any:
    """Return what a judge that agrees to everything replies in the form of a JSON schema."""
    definitions = definitions or schema.get("$defs", {})
    if reference := schema.get("$ref"):
        return filled(definitions[reference.split("/")[-1]], definitions)
    match schema.get("type"):
        case "object":
            return {name: filled(one, definitions) for name, one in schema.get("properties", {}).items()}
        case "array":
            return [filled(schema["items"], definitions)]
        case "integer":
            return 0 if "noncommittal" in schema.get("title", "").lower() else 1
        case "boolean":
            return True
        case _:
            return "Net revenue rose by 5 percent."


@contextmanager
def judging(fault: str = "", good: int = 0) -> Iterator[str]:
    """Serve OpenAI's routes: a judge that agrees, and after `good` replies hangs, talks prose, or drops connections."""
    asked, released = [0], threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send({"data": [{"id": "judge", "meta": {"n_params": 7, "n_ctx": 8192}}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked[0] += 1
            text = json.dumps(filled(body["response_format"]["json_schema"]["schema"]))
            if fault and asked[0] > good:
                if fault == "hangs":
                    released.wait(20)
                if fault == "dies":
                    self.connection.close()
                    return
                text = "As a language model I would say that the answer looks fine to me."
            self._send({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})

        def _send(self, content: dict[str, Any]) -> None:
            payload = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *arguments: object) -> None:
            return None

    try:
        with listening(Handler) as address:
            yield f"{address}/v1"
    finally:
        released.set()


def _sample(number: int, answered: bool = True) -> Sample:
    text = f"Net revenue of unit {number} rose by 5 percent."
    return Sample(f"q{number}", "How did net revenue change?", text, text, (text,), ("f",), (text,), ("f",), answered)


def _judged(address: str, samples: list[Sample], timeout: float = 20) -> dict[str, Mean]:
    judge = open_judge(JudgeSettings("openai-compatible/judge", address, timeout))
    assert judge.digest and judge.digest.startswith("card:")
    return {one.name: one for one in means(ragas_metrics.judged(samples, judge, open_embedder("hashing")))}


def test_a_judge_scores_answers_and_refusals_cost_it_nothing() -> None:
    with judging() as address:
        found = _judged(address, [_sample(1), _sample(2), _sample(3, answered=False)])
    assert set(found) == set(JUDGED)
    assert all((one.scored, one.refused) == (2, 1) for one in found.values())
    assert found[FAITHFULNESS].value == 1.0
    assert found[PRECISION].value == pytest.approx(1.0)
    assert 0 < (found[RELEVANCY].value or 0) <= 1


def test_a_judge_that_talks_prose_midway_costs_the_rows_that_it_talked_on() -> None:
    with judging("talks", good=6) as address:  # 2 for faithfulness, 3 for relevancy, 1 for one context
        found = _judged(address, [_sample(1), _sample(2), _sample(3)])
    assert {(one.scored, one.unparsed, one.failed) for one in found.values()} == {(1, 2, 0)}


def test_a_judge_that_dies_midway_costs_the_rows_that_came_after() -> None:
    with judging("dies", good=6) as address:
        found = _judged(address, [_sample(1), _sample(2)])
    assert {one.scored for one in found.values()} == {1}
    assert {one.unparsed + one.failed for one in found.values()} == {1}


def test_a_judge_that_hangs_is_given_up_and_what_it_scored_stands() -> None:
    with judging("hangs", good=6) as address:
        samples = [_sample(number) for number in range(1, GIVE_UP)]
        found = _judged(address, samples, timeout=0.3)
    assert {(one.scored, one.timed_out) for one in found.values()} == {(1, len(samples) - 1)}


def test_a_judge_that_is_not_there_stops_the_run_before_it_starts() -> None:
    with pytest.raises(GeneratorError, match="no server at"):
        open_judge(JudgeSettings("openai-compatible/judge", "http://127.0.0.1:9/v1", 5))
    with pytest.raises(GeneratorError, match="write ollama/MODEL or openai-compatible/MODEL"):
        open_judge(JudgeSettings("oracle/x"))


def test_a_schema_is_bounded_so_that_a_reply_ends() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/B"}}},
        "$defs": {"B": {"type": "object", "properties": {"c": {"type": "string"}}}},
    }
    made = bounded(schema)
    assert made["properties"]["a"]["maxItems"] and made["$defs"]["B"]["properties"]["c"]["maxLength"]
    assert "maxItems" not in schema["properties"]["a"]  # type: ignore[index]


@pytest.fixture
def own(tmp_path: Path) -> Store:
    shutil.copytree(sample_store().root, tmp_path / "store")
    return Store(tmp_path / "store")


def _few(count: int) -> EvalSet:
    rows = read_set(ROOT / "eval_sets" / "consumer_staples.jsonl").questions
    return EvalSet(
        "judged", "of-the-test", tuple(one for one in rows if one.id in ("staples-01", "staples-03"))[:count]
    )


def test_the_judge_and_its_digest_are_recorded_and_another_judge_is_another_evaluation(own: Store) -> None:
    full = read_configuration(ROOT / "eval_configs" / "full.toml")
    hashing = open_embedder("hashing")
    with judging() as address:
        judge = open_judge(JudgeSettings("openai-compatible/judge", address, 20))
        made = evaluate(own, _few(2), full, hashing, with_ragas=False, judge=judge).evaluation
        assert evaluate(own, _few(2), full, hashing, with_ragas=False, judge=judge).skipped
    assert (made.header.judge, made.header.judge_digest) == ("openai-compatible/judge", judge.digest)
    counted = {one.name: (one.scored, one.refused) for one in means(made.figures) if one.name in JUDGED}
    assert counted == dict.fromkeys(JUDGED, (1, 1))
    assert not evaluate(own, _few(2), full, hashing, with_ragas=False).skipped, (
        "without a judge it is another evaluation"
    )
    evaluate(own, _few(2), full, hashing, with_ragas=False, judge=judge)
    markdown = to_markdown(report_of_store(own).report)
    assert "judged by openai-compatible/judge, digest card:" in markdown
    assert "Net revenue rose by 5 percent." not in markdown


@pytest.mark.slow
@pytest.mark.skipif(small_model_weights() is None, reason=f"no small model here: {HOW_TO_INSTALL}")
@pytest.mark.parametrize("kind", ["openai-compatible", "ollama"])
def test_a_real_small_model_judges_or_its_rows_are_counted(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    weights = small_model_weights()
    assert weights is not None
    samples = [_sample(1)]
    with serving_small_model() as address:
        protocol = OllamaProtocol(relayed(address), model=SMALL_MODEL, digest=file_digest(weights), context=4096)
        with serving_ollama(protocol) as host:
            where = host if kind == "ollama" else f"{address}/v1"
            judge = open_judge(JudgeSettings(f"{kind}/{SMALL_MODEL}", where, timeout=240, context=4096))
            found = {one.name: one for one in means(ragas_metrics.judged(samples, judge, open_embedder("hashing")))}
    assert judge.digest == (file_digest(weights) if kind == "ollama" else judge.digest) and judge.digest
    with capsys.disabled():
        for one in found.values():
            print(f"\n{kind} {one.name}: {one.value} ({one.scored} scored, {left_out(one)} left out)")
    assert set(found) == set(JUDGED)
    for one in found.values():
        assert one.scored + one.nan + one.timed_out + one.unparsed + one.failed == len(samples)
        assert one.value is None or 0 <= one.value <= 1
    assert sum(one.scored for one in found.values()) > 0, "a small model judges something"
