"""Asking again: what differs is found and named, rule sets first, and never quoted."""

import dataclasses
import json
import multiprocessing
import shutil
from pathlib import Path

import pytest

from finrag_pipelines.answering.replay import Replay, deterministic_gates, replay
from finrag_pipelines.answering.run import answer_and_record
from finrag_pipelines.answering.stability import stability
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.evidence import AnswerRecord, EvidenceError, GateRow, read_records, verify, write_answers
from finrag_pipelines.evidence.write import read_head
from finrag_pipelines.storage import Store
from finrag_pipelines_tests.answering_store import ask, sample_store

QUESTION = "Progressive combined ratio Q3 2024"


@pytest.fixture
def copied(tmp_path: Path) -> Store:
    """A copy of the sample store that a test may write to."""
    shutil.copytree(sample_store().root, tmp_path / "store", ignore=shutil.ignore_patterns("evidence", "*.lock"))
    store = Store(tmp_path / "store")
    store.path("finrag.duckdb").unlink(missing_ok=True)
    return store


@pytest.fixture
def record() -> AnswerRecord:
    """An answer of the extractive generator."""
    answered = ask(QUESTION)
    assert answered.decision == "answered"
    return answered


def replayed(store: Store, record: AnswerRecord) -> Replay:
    """Record an answer that somebody altered, or that other rules made, and ask again."""
    (written,) = write_answers(store, "run-a", [record])
    return replay(store, written.answer_id, open_embedder("hashing"))


def test_a_rule_set_that_changed_is_named_before_anything_else(copied: Store, record: AnswerRecord) -> None:
    rules = tuple("measures=0000" if one.startswith("measures=") else one for one in record.rule_digests)
    outcome = replayed(copied, dataclasses.replace(record, rule_digests=rules, policy_epoch=99))
    assert outcome.same  # other rules, the same outcome
    assert [one.what for one in outcome.changed_circumstances] == ["rules measures", "policy_epoch"]


def test_every_part_that_differs_is_named_and_no_text_is_quoted(copied: Store, record: AnswerRecord) -> None:
    gates = tuple(dataclasses.replace(one, passed=False) if one.name == "scope" else one for one in record.gates)
    candidates = (dataclasses.replace(record.candidates[0], score=9.5), *record.candidates[1:])
    claims = tuple(dataclasses.replace(one, sentence="Another sentence.") for one in record.claims)
    altered = dataclasses.replace(
        record,
        decision="refused",
        answer="Another sentence.",
        gates=gates,
        candidates=candidates[:-1],
        claims=claims,
        plan_pairs=(),
    )
    outcome = replayed(copied, altered)
    assert not outcome.same
    named = {one.what for one in outcome.differing}
    assert {"gate scope", "decision", "answer", "claims row 1", "candidates", "plan_pairs"} <= named
    assert "candidates row 1, score" in named
    told = " ".join(map(str, (*outcome.differing, *outcome.changed_circumstances)))
    assert "Another sentence" not in told and record.citations[0].quote not in told


def test_a_refusal_replays_too(copied: Store) -> None:
    outcome = replayed(copied, ask("What is Coca-Cola's stock price today?"))
    assert outcome.same and outcome.changed_circumstances == ()


def test_the_reason_of_a_refusal_that_differs_is_not_quoted(copied: Store, record: AnswerRecord) -> None:
    reason = "The figures show the opposite: it rose."
    altered = dataclasses.replace(
        record, decision="refused", refusal_code="EVIDENCE.insufficient", refusal_reason=reason, missing=("a figure",)
    )
    told = " ".join(map(str, replayed(copied, altered).differing))
    assert "refusal_code: EVIDENCE.insufficient -> None" in told and "refusal_reason: 39 characters" in told
    assert "it rose" not in told and "a figure" not in told


def test_what_cannot_be_asked_again_is_said(copied: Store, record: AnswerRecord) -> None:
    with pytest.raises(EvidenceError, match="settings unknown here"):
        replayed(copied, dataclasses.replace(record, settings=json.dumps({"unheard_of": 1})))
    with pytest.raises(EvidenceError, match="no answer"):
        replay(copied, "run-z-0001")


def gate(name: str, made_by: str = "deterministic", passed: bool = True) -> GateRow:
    return GateRow(1, name, made_by, passed, None if passed else f"CODE.{name}")


def with_gates(*gates: GateRow, answer: str = "") -> AnswerRecord:
    return AnswerRecord("answered", "public", "v1", answer=answer, gates=gates)


def test_gates_before_a_models_words_are_deterministic_and_those_after_are_not() -> None:
    record = with_gates(gate("scope"), gate("model", "model"), gate("claims"))
    assert [one.name for one in deterministic_gates(record)] == ["scope"]
    assert len(deterministic_gates(with_gates(gate("scope"), gate("claims")))) == 2


def test_flips_are_told_apart_by_who_made_the_gate() -> None:
    first = with_gates(gate("scope"), gate("model", "model"), gate("claims"), answer="a")
    declined = with_gates(gate("scope"), gate("model", "model", passed=False))
    worded = with_gates(gate("scope"), gate("model", "model"), gate("claims", passed=False))
    broken = with_gates(gate("scope", passed=False))
    found = stability([first, first, declined, worded, broken])
    assert (found.asked, found.deterministic, found.versions) == (5, 1, 4)
    assert found.model_made == 5  # model and claims of `declined`, claims of `worded`, both of `broken`
    assert {(one.gate, one.made_by, one.flips) for one in found.gates} == {
        ("scope", "deterministic", 1),
        ("model", "model", 2),
        ("claims", "model", 3),
    }


def test_twenty_times_the_same_question_gives_one_record_and_no_flip(copied: Store) -> None:
    made = answer_and_record(copied, open_embedder("hashing"), "again", [QUESTION] * 20)
    found = stability(made)
    assert (found.asked, found.deterministic, found.model_made, found.versions) == (20, 0, 0, 1)
    assert found.decisions == (("answered", 20),)


PROCESSES = multiprocessing.get_context("forkserver")
QUESTIONS = (
    QUESTION,
    "What did PepsiCo say was driving margin pressure in Q1 2026?",
    "What is Coca-Cola's stock price today?",
    "Allstate combined ratio Q3 2024",
    "How did KO and PEP describe commodity pressure in Q1 2026?",
)


def ask_fifty(root: Path, name: str) -> None:
    embedder = open_embedder("hashing")
    for number in range(50):
        answer_and_record(Store(root), embedder, f"{name}-{number:02d}", [QUESTIONS[number % len(QUESTIONS)]])


@pytest.mark.slow
def test_two_hundred_questions_from_four_processes_lose_and_double_nothing(copied: Store) -> None:
    children = [PROCESSES.Process(target=ask_fifty, args=(copied.root, f"asker{number}")) for number in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join(1200)
    assert [child.exitcode for child in children] == [0, 0, 0, 0]
    records = read_records(copied)
    assert [one.sequence for one in records] == list(range(1, 201))
    assert len({one.answer_id for one in records}) == 200
    assert (read_head(copied).sequence, read_head(copied).runs) == (200, 200)
    assert verify(copied) == []
