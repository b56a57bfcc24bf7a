"""Answers shown later: access is read again, what is withheld says nothing, and a replay gives the same."""

import shutil
from pathlib import Path

import pytest

from finrag_pipelines.answering.disclosure import disclose, stream
from finrag_pipelines.answering.replay import replay
from finrag_pipelines.catalog.access import PUBLIC_PRINCIPAL, Principal
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.evidence import AnswerRecord, verify, write_answers
from finrag_pipelines.storage import Store
from finrag_pipelines.storage.database import database
from finrag_pipelines_tests.answering_store import ask, sample_store

QUESTION = "How did KO, PEP, and MDLZ each describe input-cost or commodity pressure in Q1 2026?"
STRANGER = Principal("stranger", frozenset({"nobody"}))


@pytest.fixture
def copied(tmp_path: Path) -> Store:
    """A copy of the sample store that a test may change."""
    shutil.copytree(sample_store().root, tmp_path / "store", ignore=shutil.ignore_patterns("evidence", "*.lock"))
    store = Store(tmp_path / "store")
    store.path("finrag.duckdb").unlink(missing_ok=True)
    return store


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
    assert (shown.answer, shown.claims, shown.citations, shown.candidates, shown.deliveries) == ("", (), (), (), ())
    assert list(stream(copied, record, STRANGER)) == []


def test_the_one_who_asked_is_told_that_access_was_withdrawn(copied: Store) -> None:
    record = recorded(copied)
    shown = disclose(copied, record, Principal("public", frozenset({"nobody"})))
    assert shown.refusal_code == "ACCESS.withdrawn"


def test_a_revocation_while_streaming_stops_the_next_sentence(copied: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from finrag_pipelines.answering.documents import Documents

    record = recorded(copied)
    sentences = stream(copied, record, PUBLIC_PRINCIPAL)
    assert next(sentences).startswith("Desmond Achterberg")
    monkeypatch.setattr(Documents, "may_read", lambda self, principal, source: False)
    assert list(sentences) == []


def test_a_replay_gives_plan_candidates_gates_decision_and_text_again(copied: Store) -> None:
    record = recorded(copied)
    outcome = replay(copied, record.answer_id, open_embedder("hashing"))
    assert outcome.same and outcome.changed_circumstances == ()
    assert outcome.again.answer == record.answer
