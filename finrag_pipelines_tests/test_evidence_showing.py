"""Every way of showing an answer reads access again: nothing of a closed source leaves by any of them."""

import json
import shutil
from pathlib import Path

import pytest

from finrag_pipelines import showing
from finrag_pipelines.catalog.access import PUBLIC_PRINCIPAL
from finrag_pipelines.catalog.catalog import define_principal
from finrag_pipelines.evidence import AnswerRecord, verify, write_answers
from finrag_pipelines.evidence.write import read_disclosures
from finrag_pipelines.ingestion.receive import receive_file
from finrag_pipelines.storage import Store
from finrag_pipelines_tests.answering_store import SAMPLE, ask, sample_store

QUESTION = "Progressive combined ratio Q3 2024"
SOURCE = "PGR_10-Q_2024Q3"


@pytest.fixture
def copied(tmp_path: Path) -> Store:
    """A copy of the sample store that a test may change."""
    shutil.copytree(sample_store().root, tmp_path / "store", ignore=shutil.ignore_patterns("evidence", "*.lock"))
    store = Store(tmp_path / "store")
    store.path("finrag.duckdb").unlink(missing_ok=True)
    return store


@pytest.fixture
def record(copied: Store) -> AnswerRecord:
    """An answer that cites one quarterly report, recorded and not shown yet."""
    return write_answers(copied, "shown", [ask(QUESTION)])[0]


def everything_shown(store: Store, answer_id: str, folder: Path, principal: str = "") -> dict[str, str]:
    """Show an answer in every way there is; return what came out by channel."""
    showing.write_page(store, answer_id, folder / "page.html", principal)
    for form in ("w3c", "openlineage"):
        showing.write_export(store, answer_id, form, folder / form, principal)
    return {
        "evidence": json.dumps(showing.evidence_of(store, answer_id, principal)),
        "html": (folder / "page.html").read_text("utf-8"),
        "w3c": (folder / "w3c").read_text("utf-8"),
        "openlineage": (folder / "openlineage").read_text("utf-8"),
        "ask": json.dumps(showing.answers_of_run(store, "shown", PUBLIC_PRINCIPAL)),
        "stream": json.dumps(list(showing.segments_of_run(store, "shown", PUBLIC_PRINCIPAL))),
    }


def test_an_open_source_is_shown_by_every_channel_and_each_showing_is_recorded(
    copied: Store, record: AnswerRecord, tmp_path: Path
) -> None:
    for channel, text in everything_shown(copied, record.answer_id, tmp_path).items():
        assert SOURCE in text, channel
    rows = [one.disclosure for one in read_disclosures(copied, record.answer_id)]
    assert [one.channel for one in rows] == ["html", "w3c", "openlineage", "evidence", "ask", "stream"]
    assert {(one.outcome, one.principal, one.segments) for one in rows} == {("shown", "public", 1)}
    assert verify(copied) == []


def test_a_closed_source_leaves_by_no_channel(copied: Store, record: AnswerRecord, tmp_path: Path) -> None:
    for name in ("PGR_10-Q_2024Q3.htm", "PGR_10-Q_2024Q2.htm"):
        receive_file(copied, SAMPLE / name, labels=("closed",))
    quote = " ".join(record.citations[0].quote.split())
    content = record.citations[0].content_sha256
    for channel, text in everything_shown(copied, record.answer_id, tmp_path).items():
        for secret in (SOURCE, quote, "89.4", content, record.citations[0].fragment_id[:12]):
            assert secret not in text, channel
    outcomes = {one.disclosure.outcome for one in read_disclosures(copied)}
    assert outcomes == {"withheld"}
    (answer,) = showing.answers_of_run(copied, "shown", PUBLIC_PRINCIPAL)
    assert (answer["decision"], answer["refusal"]["code"]) == ("refused", "SCOPE.uncovered")
    last = list(showing.segments_of_run(copied, "shown", PUBLIC_PRINCIPAL))[-1]
    assert (last["segments"], last["decision"]) == (0, "refused")


def test_an_operator_can_see_what_another_principal_would_see(
    copied: Store, record: AnswerRecord, tmp_path: Path
) -> None:
    define_principal(copied, "auditor", ["closed"])
    receive_file(copied, SAMPLE / "PGR_10-Q_2024Q3.htm", labels=("closed",))
    assert SOURCE not in json.dumps(showing.evidence_of(copied, record.answer_id)["citations"])
    assert SOURCE in json.dumps(showing.evidence_of(copied, record.answer_id, "auditor")["citations"])
    rows = [one.disclosure for one in read_disclosures(copied)]
    assert [(one.principal, one.segments) for one in rows] == [("public", 0), ("auditor", 1)]
