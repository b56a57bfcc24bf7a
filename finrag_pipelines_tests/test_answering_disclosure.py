"""Answers shown later: access is read again, what is withheld says nothing, and a replay gives the same."""

import shutil
from pathlib import Path

import pytest

from finrag_pipelines.answering.disclosure import disclose, stream
from finrag_pipelines.answering.replay import replay
from finrag_pipelines.catalog.access import PUBLIC_PRINCIPAL, Principal
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.evidence import AnswerRecord, canonical_projection, verify, write_answers
from finrag_pipelines.evidence.write import read_disclosures
from finrag_pipelines.ingestion.receive import receive_file
from finrag_pipelines.storage import Store
from finrag_pipelines.storage.database import database
from finrag_pipelines_tests.answering_store import FILES, SAMPLE, ask, sample_store

QUESTION = "How did KO, PEP, and MDLZ each describe input-cost or commodity pressure in Q1 2026?"
STRANGER = Principal("stranger", frozenset({"nobody"}))


@pytest.fixture
def copied(tmp_path: Path) -> Store:
    """A copy of the sample store that a test may change."""
    shutil.copytree(sample_store().root, tmp_path / "store", ignore=shutil.ignore_patterns("evidence", "*.lock"))
    store = Store(tmp_path / "store")
    store.path("finrag.duckdb").unlink(missing_ok=True)
    return store


def close(store: Store, name: str) -> None:
    """Take a sample document from everybody but a group that nobody is in."""
    assert receive_file(store, SAMPLE / name, labels=("closed",)).source_id


def recorded(store: Store) -> AnswerRecord:
    return write_answers(store, "shown", [ask(QUESTION)])[0]


def test_what_was_shown_to_whom_is_recorded(copied: Store) -> None:
    record = recorded(copied)
    assert disclose(copied, record, PUBLIC_PRINCIPAL) == record
    with database(copied) as connection:
        rows = connection.execute("SELECT answer_id, principal, outcome, withheld FROM evidence.disclosures").fetchall()
    assert rows == [("shown-0001", "public", "shown", "")]
    assert verify(copied) == []


def test_somebody_without_access_is_answered_as_if_the_sources_were_not_there(copied: Store) -> None:
    record = recorded(copied)
    shown = disclose(copied, record, STRANGER)
    assert (shown.decision, shown.refusal_code) == ("refused", "SCOPE.uncovered")
    assert shown.refusal_reason == "The retrieved evidence does not cover what was asked."
    assert (shown.answer, shown.claims, shown.citations, shown.candidates, shown.deliveries) == ("", (), (), (), ())
    assert (shown.missing, shown.gates, shown.plan_pairs) == ((), (), ())
    assert list(stream(copied, record, STRANGER)) == []
    outcomes = [(one.disclosure.outcome, one.disclosure.segments) for one in read_disclosures(copied)]
    assert set(outcomes) == {("withheld", 0)}


def test_only_one_who_saw_it_is_told_that_access_was_withdrawn(copied: Store) -> None:
    record = recorded(copied)
    revoked = Principal("public", frozenset({"nobody"}))
    assert disclose(copied, record, revoked).refusal_code == "SCOPE.uncovered"
    disclose(copied, record, PUBLIC_PRINCIPAL)
    assert disclose(copied, record, revoked).refusal_code == "ACCESS.withdrawn"
    assert disclose(copied, record, STRANGER).refusal_code == "SCOPE.uncovered"


def test_a_source_that_was_closed_takes_its_sentences_quotes_and_rows_with_it(copied: Store) -> None:
    record = recorded(copied)
    close(copied, "MDLZ_transcript_2026Q1.pdf")
    shown = disclose(copied, record, PUBLIC_PRINCIPAL)
    assert shown.decision == "answered" and "Mondelez" not in shown.answer and "Coca-Cola" in shown.answer
    for rows in (shown.citations, shown.candidates, shown.deliveries):
        assert rows and all(one.source_id != "MDLZ_transcript_2026Q1" for one in rows)
    assert b"Brandvold" not in canonical_projection(shown)
    (row,) = [one.disclosure for one in read_disclosures(copied)]
    assert (row.outcome, row.channel) == ("partly withheld", "evidence")
    assert row.policy_epoch == record.policy_epoch + 1
    numbers = {*row.claims.split(","), *row.withheld.split(",")}
    assert numbers == {str(one.claim) for one in record.claims} and row.segments == len(row.claims.split(","))
    assert verify(copied) == []


@pytest.mark.parametrize(
    ("question", "code", "telling"),
    [
        (
            "Why did the revenue of Coca-Cola decline in the first quarter of 2026?",
            "QUESTION.false_presupposition",
            "$334 million",
        ),
        ("How many employees did Coca-Cola dismiss in Q1 2026?", "EVIDENCE.insufficient", "KO/2026Q1"),
    ],
)
def test_a_refusal_says_nothing_of_a_source_that_was_closed(
    copied: Store, question: str, code: str, telling: str
) -> None:
    (record,) = write_answers(copied, "refused", [ask(question)])
    assert record.refusal_code == code and telling in (record.refusal_reason or "")
    assert disclose(copied, record, PUBLIC_PRINCIPAL) == record
    close(copied, "KO_10-Q_2026Q1.pdf")
    shown = disclose(copied, record, PUBLIC_PRINCIPAL)
    assert (shown.refusal_code, shown.missing) == ("SCOPE.uncovered", ())
    assert shown.refusal_reason == "The retrieved evidence does not cover what was asked."
    assert (shown.plan_pairs, shown.gates, shown.candidates, shown.deliveries) == ((), (), (), ())
    assert [one.disclosure.outcome for one in read_disclosures(copied)] == ["shown", "withheld"]


def test_a_refusal_stays_as_it_was_where_an_unrelated_source_was_closed(copied: Store) -> None:
    question = "Why did the revenue of Coca-Cola decline in the first quarter of 2026?"
    (record,) = write_answers(copied, "refused", [ask(question)])
    close(copied, "UNH_10-Q_2024Q3.htm")
    assert disclose(copied, record, PUBLIC_PRINCIPAL) == record


def test_a_revocation_while_streaming_stops_the_next_sentence(copied: Store) -> None:
    record = recorded(copied)
    sentences = stream(copied, record, PUBLIC_PRINCIPAL)
    assert next(sentences).sentence.startswith("Desmond Achterberg")
    for name in FILES:
        if name.startswith(("KO", "PEP", "MDLZ")):
            close(copied, name)
    assert list(sentences) == []
    rows = [one.disclosure for one in read_disclosures(copied)]
    assert [one.outcome for one in rows] == ["shown", *["withheld"] * (len(rows) - 1)] and len(rows) > 1
    assert rows[1].policy_epoch > rows[0].policy_epoch


def test_a_replay_gives_plan_candidates_gates_decision_and_text_again(copied: Store) -> None:
    record = recorded(copied)
    outcome = replay(copied, record.answer_id, open_embedder("hashing"))
    assert outcome.same and outcome.changed_circumstances == () and outcome.text_compared
    assert outcome.again.answer == record.answer
    assert canonical_projection(outcome.again) == canonical_projection(record)
