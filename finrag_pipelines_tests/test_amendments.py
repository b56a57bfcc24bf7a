"""Amendments: what they say they do, what they amend, and that retrieval prefers what they restate."""

from dataclasses import replace
from pathlib import Path

import pytest

from finrag_pipelines import commands, pipeline
from finrag_pipelines.answering.answer import answer_question
from finrag_pipelines.catalog.access import PUBLIC_PRINCIPAL
from finrag_pipelines.catalog.amendments import amendment_links
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.catalog.identity import Identity
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.ingestion.receive import receive_content
from finrag_pipelines.parsing.identity.amendment import read_amendment
from finrag_pipelines.parsing.parse import Overrides, parse
from finrag_pipelines.retrieval.search import open_index
from finrag_pipelines.storage import Store
from finrag_pipelines.storage.database import snapshot

COVER = (
    "UNITED STATES SECURITIES AND EXCHANGE COMMISSION FORM 10-K/A (Amendment No. 2) For the year ended May 31, 2025. "
)

NOTES = [
    (
        "This Amendment No. 1 to the Annual Report on Form 10-K is being filed to restate our previously issued "
        "consolidated financial statements as of December 31, 2024, which should no longer be relied upon.",
        "restates",
        "financial statements",
    ),
    (
        "We are filing this Amendment to reflect the restatement of our unaudited condensed consolidated financial "
        "statements for the quarter. This Amendment amends and restates Items 1, 2 and 4 of the Original Filing.",
        "restates",
        "financial statements",
    ),
    (
        "This Amendment amends and replaces the Original Form 10-K in its entirety. The exhibits are filed again.",
        "restates",
        "whole",
    ),
    (
        "The purpose of this Amendment No. 1 is to correct an error in Item 9A of the Original Filing. Except for this "
        "the Amendment does not modify or restate the Original Filing.",
        "restates",
        "Item 9A",
    ),
    (
        "This Amendment is being filed solely to include the information required by Part III of Form 10-K, which was "
        "to be incorporated by reference to the proxy statement. It does not restate any financial statements.",
        "adds",
        "Part III",
    ),
    (
        "The sole purpose of this Amendment No. 1 is to furnish Exhibit 101 to the Form 10-Q in accordance with Rule "
        "405 of Regulation S-T. No other changes have been made. This Amendment does not restate any statements.",
        "adds",
        "exhibits",
    ),
    (
        "This Amendment is filed solely to file the consent of the auditor as Exhibit 23.1, which was left out.",
        "adds",
        "exhibits",
    ),
    ("This Amendment is filed. The Company makes anvils of iron and of steel in two plants of its own.", "unknown", ""),
]


@pytest.mark.parametrize(("note", "effect", "scope"), NOTES)
def test_the_explanatory_note_tells_restating_from_adding(note: str, effect: str, scope: str) -> None:
    found = read_amendment(f"{COVER}EXPLANATORY NOTE {note} PART I Item 1. Business", "10-K/A")
    assert found and (found.effect, found.number) == (effect, 2)
    assert scope in found.scope


def test_an_amendment_without_a_note_says_that_its_effect_is_unknown() -> None:
    found = read_amendment(f"{COVER}Table of contents. Explanatory Note 3. Item 1. Business 4.", "10-K/A")
    assert found and (found.effect, found.basis) == ("unknown", "it has no explanatory note")
    described = read_amendment(COVER, "10-K/A", "To furnish Exhibit 101 only.")
    assert described and (described.effect, described.basis) == ("adds", "dei")
    assert read_amendment(f"{COVER}EXPLANATORY NOTE {NOTES[0][0]}", "10-K") is None


ORIGINAL = Identity(company="ACME", form="10-K", period="FY2024", period_end="2024-12-31", filed="2025-02-20")
AMENDED = replace(ORIGINAL, form="10-K/A", filed="2025-05-01")


@pytest.mark.parametrize(
    ("identities", "amends", "reason"),
    [
        ({"o": ORIGINAL, "a": AMENDED}, "o", None),
        ({"o": ORIGINAL, "a": replace(AMENDED, period_end=None)}, "o", None),
        ({"a": AMENDED}, None, "no 10-K of ACME is in the store"),
        ({"o": replace(ORIGINAL, company="OTHER"), "a": AMENDED}, None, "no 10-K of ACME"),
        ({"o": replace(ORIGINAL, period="FY2023", period_end="2023-12-31"), "a": AMENDED}, None, "for FY2024"),
        ({"o": replace(ORIGINAL, filed="2025-06-01"), "a": AMENDED}, None, "filed before it"),
        ({"o": ORIGINAL, "a": replace(AMENDED, company=None)}, None, "does not tell its company"),
        ({"o": ORIGINAL, "p": replace(ORIGINAL, filed="2025-02-21"), "a": AMENDED}, "p", None),
        ({"o": ORIGINAL, "a": replace(AMENDED, period=None, period_end=None)}, "o", None),
    ],
)
def test_an_amendment_is_linked_by_company_form_and_period_or_the_reason_is_said(
    identities: dict[str, Identity], amends: str | None, reason: str | None
) -> None:
    links = amendment_links(identities)
    assert list(links) == ["a"]
    assert links["a"].amends == amends and (reason or "") in (links["a"].reason or "")


def test_the_period_label_follows_from_what_edgar_states_where_the_cover_gives_none() -> None:
    text = "<html><body><p>FORM 10-Q</p><p>Acme Anvil Works Inc.</p><p>Item 1. Financial Statements</p></body></html>"
    stated = Overrides(company="ACME", form="10-Q", period_end="2025-03-31")
    assert parse(text.encode(), "", stated).identity.period == "2025Q1"
    identity = parse(text.encode(), "", replace(stated, fiscal_year_end="0930")).identity
    assert identity.period == "2025Q2" and "period" not in identity.unknown
    assert {f.name: f.basis for f in identity.findings}["period"] == "stated period end and fiscal year end"


def _report(form: str, cost: str, note: str = "") -> bytes:
    amended = "<p>(Amendment No. 1)</p>" if form.endswith("/A") else ""
    explained = f"<p>EXPLANATORY NOTE</p><p>{note}</p>" if note else ""
    return (
        f"<html><body><p>UNITED STATES SECURITIES AND EXCHANGE COMMISSION</p><p>FORM {form}</p>{amended}"
        "<p>For the quarterly period ended March 31, 2025</p><p>ACME ANVIL WORKS INC</p>"
        "<p>(Exact name of registrant as specified in its charter)</p>"
        f"{explained}<p>PART I. FINANCIAL INFORMATION</p>"
        "<p>Item 2. Management's Discussion and Analysis of Financial Condition and Results of Operations</p>"
        f"<p>The cost of iron for anvils was ${cost} million in the quarter ended March 31, 2025, which pressed the "
        "margin of the forge.</p><p>PART II. OTHER INFORMATION</p><p>Item 1. Legal Proceedings</p>"
        "<p>A suit about falling anvils is pending in the quarter ended March 31, 2025.</p></body></html>"
    ).encode()


RESTATING = (
    "This Amendment No. 1 on Form 10-Q/A is filed to restate our previously issued condensed consolidated financial "
    "statements for the quarter ended March 31, 2025, because the cost of iron was misstated."
)
QUESTION = "What was the cost of iron of Acme in Q1 2025?"


@pytest.fixture(scope="module")
def amended(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store, embedder = Store(tmp_path_factory.mktemp("amended") / "store"), open_embedder("hashing")
    stated = Overrides(company="ACME", company_name="Acme Anvil Works", filed="2025-05-01")
    receive_content(store, _report("10-Q", "14.1"), "q1.htm", "test", stated)
    later = replace(stated, filed="2025-08-15")
    receive_content(store, _report("10-Q/A", "17.3", RESTATING), "q1a.htm", "test", later)
    for source_id in sorted(read_catalog(store).sources):
        pipeline.register(store, source_id)
        pipeline.represent(store, source_id)
        pipeline.fragment(store, source_id)
        pipeline.embed(store, source_id, embedder)
    pipeline.build_manifest(store)
    pipeline.publish_index(store, embedder)
    return store


ORIGINAL_ID, AMENDMENT_ID = "ACME_10-Q_2025Q1", "ACME_10-Q-A_2025Q1"


def test_retrieval_prefers_the_amendment_for_what_it_restates_and_says_so(amended: Store) -> None:
    found = open_index(amended, embedder=open_embedder("hashing")).search(QUESTION)
    first = found.results[0]
    assert first.fragment.source_id == AMENDMENT_ID and "17.3" in first.fragment.text and "restates" in first.priors
    original = next(one for one in found.results if "14.1" in one.fragment.text)
    assert "restated" in original.priors, "the original is still found"
    assert found.trace.amendments == ((AMENDMENT_ID, ORIGINAL_ID),)
    assert any(f"{AMENDMENT_ID}, filed 2025-08-15, restates {ORIGINAL_ID}" in note for note in found.trace.notes)


def test_what_an_amendment_does_not_hold_is_not_put_behind(amended: Store) -> None:
    index = open_index(amended, embedder=open_embedder("hashing"))
    view = index.catalog_view(PUBLIC_PRINCIPAL)
    rule = index._amendments(view)
    assert rule.is_restated(ORIGINAL_ID, "Part I Item 2")
    assert not rule.is_restated(ORIGINAL_ID, "Part I Item 4")
    assert not rule.is_restated(AMENDMENT_ID, "Part I Item 2")


def test_before_the_amendment_was_filed_the_original_answers_and_nothing_tells_of_it(amended: Store) -> None:
    found = open_index(amended, embedder=open_embedder("hashing")).search(QUESTION, as_of="2025-06-30")
    assert {one.fragment.source_id for one in found.results} == {ORIGINAL_ID}
    assert found.results[0].priors.count("restated") == 0
    assert AMENDMENT_ID not in repr(found.trace)


def test_an_amendment_that_the_reader_may_not_see_changes_nothing(amended: Store) -> None:
    index = open_index(amended, embedder=open_embedder("hashing"))
    found = index.search(QUESTION, excluded=frozenset({AMENDMENT_ID}))
    assert "restated" not in found.results[0].priors and AMENDMENT_ID not in repr(found.trace)


def test_an_answer_from_an_amendment_tells_the_reader_that_it_restates(amended: Store) -> None:
    index = open_index(amended, embedder=open_embedder("hashing"))
    record = answer_question(index, amended, QUESTION, PUBLIC_PRINCIPAL)
    assert record.decision == "answered", record.refusal_reason
    assert record.citations[0].source_id == AMENDMENT_ID and "17.3" in record.answer
    assert record.answer.startswith(f"{AMENDMENT_ID} amends the original filing and restates ")
    assert "14.1" not in record.answer, "what was taken back does not stand beside it"
    assert any("restated by an amendment left out" in gate.detail for gate in record.gates)
    before = answer_question(index, amended, QUESTION, PUBLIC_PRINCIPAL, as_of="2025-06-30")
    assert "14.1" in before.answer and AMENDMENT_ID not in before.answer


def test_the_link_stands_in_the_listing_the_inspection_and_the_tables(amended: Store) -> None:
    rows = {row.source_id: row for row in commands.list_sources(amended).sources}
    assert rows[AMENDMENT_ID].amends == ORIGINAL_ID and "restates financial" in str(rows[AMENDMENT_ID].amendment)
    assert rows[ORIGINAL_ID].amends is None
    seen = commands.inspect(amended, AMENDMENT_ID, PUBLIC_PRINCIPAL, None, None, None)
    assert seen.amends == ORIGINAL_ID and seen.identity["amendment"]["effect"] == "restates"
    with snapshot(amended) as connection:
        found = connection.execute("SELECT source_id, amends, effect, number FROM catalog.amendments").fetchall()
    assert found == [(AMENDMENT_ID, ORIGINAL_ID, "restates", 1)]


def test_a_real_amendment_is_linked_to_its_original(store: Store, corpus: Path) -> None:
    folder = corpus / "amendments"
    for path, filed in (
        ("S-3_VINCERX_0001193125-25-012209.txt", "2025-01-24"),
        ("S-3A_VINCERX_0001193125-25-068723.txt", "2025-03-31"),
    ):
        receive_content(store, (folder / path).read_bytes(), path, "test", Overrides(filed=filed))
    links = commands.amendments_of(read_catalog(store))
    assert [(link.amends or "").split("_")[1] for link in links.values()] == ["S-3"]
