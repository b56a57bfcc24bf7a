"""Answers over the sample corpus: what is said is quoted, computed or refused, and always from the right document."""

import json
from typing import Any

import pytest

from finrag_pipelines.answering.answer import Attempt
from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.model import AnswerConfig, to_json
from finrag_pipelines.catalog.access import Principal
from finrag_pipelines.evidence import canonical_projection
from finrag_pipelines.evidence.verify import verify
from finrag_pipelines.evidence.write import read_answer, write_answers
from finrag_pipelines_tests.answering_store import ask, sample_documents, sample_store

ISSUE_FIELDS = [
    "source_id", "version", "company", "form", "period", "section", "speaker", "page_index", "page_label", "start",
    "end", "quote", "fragment_id", "representation_id", "representation_type", "content_sha256",
]  # fmt: skip


def test_a_cause_is_quoted_from_the_speaker_who_gave_it() -> None:
    answer = ask("What did PepsiCo say was driving margin pressure in Q1 2026?")
    assert answer.decision == "answered"
    assert {one.company for one in answer.citations} == {"PEP"}
    spoken = [one for one in answer.citations if one.source_id == "PEP_transcript_2026Q1"]
    assert spoken[0].speaker == "Ingrid Thackeray" and spoken[0].role == "chief_financial_officer"
    assert "tariff" in spoken[0].quote
    assert "Ingrid Thackeray, chief financial officer of PepsiCo" in answer.answer


def test_a_comparison_gives_each_company_its_own_documents() -> None:
    answer = ask("How did KO, PEP, and MDLZ each describe input-cost or commodity pressure in Q1 2026?")
    assert answer.decision == "answered"
    names = {"KO": "Coca-Cola", "PEP": "PepsiCo", "MDLZ": "Mondelez"}
    assert {one.company for one in answer.citations} == set(names)
    for claim in answer.claims:
        cited = {one.company for one in answer.citations if one.claim == claim.claim}
        assert [names[one] in claim.sentence for one in cited] == [True]


def test_a_figure_is_that_of_the_company_and_quarter_asked_for() -> None:
    answer = ask("Progressive combined ratio Q3 2024")
    assert answer.answer == "Progressive (10-Q 2024Q3, Part I Item 2): Combined ratio of 89.4% for 2024Q3. [1]"
    assert [one.source_id for one in answer.citations] == ["PGR_10-Q_2024Q3"]
    assert "91.9%" in ask("What was Progressive's combined ratio in the second quarter of 2024?").answer


def test_a_change_sets_two_periods_side_by_side_with_its_derivation() -> None:
    answer = ask("How did Progressive's net premiums written change from Q2 2024 to Q3 2024?")
    assert "$17,903 million" in answer.answer and "$19,456 million" in answer.answer and "8.7%" in answer.answer
    (derivation,) = answer.derivations
    operands = json.loads(derivation.operands)
    markers = {one.marker: one.source_id for one in answer.citations}
    assert [(name, markers[marker]) for name, _, marker in operands] == [
        ("net premiums written 2024Q2", "PGR_10-Q_2024Q2"),
        ("net premiums written 2024Q3", "PGR_10-Q_2024Q3"),
    ]


def test_an_analyst_is_quoted_as_an_analyst_beside_the_executive() -> None:
    answer = ask(
        "What did the CEO of Coca-Cola answer about North American volume in Q1 2026, and how does that differ from "
        "what the analyst suggested?"
    )
    roles = {one.role for one in answer.citations}
    assert roles == {"chief_executive", "analyst"}
    for claim in answer.claims:
        if any(one.role == "analyst" and one.claim == claim.claim for one in answer.citations):
            assert ", analyst of Northgate Securities" in claim.sentence


@pytest.mark.parametrize(
    ("question", "code", "missing"),
    [
        ("What is Coca-Cola's stock price today?", "EVIDENCE_TYPE.live_market", ("live market data",)),
        ("What did Coca-Cola's management say about pricing in Q2 2026?", "SCOPE.uncovered", ("KO/2026Q2",)),
        ("How did KO and PEP describe pricing in Q2 2026?", "SCOPE.uncovered", ("KO/2026Q2", "PEP/2026Q2")),
        ("What was Chubb's combined ratio in Q3 2024?", "SCOPE.unknown_company", ("Chubb",)),
        ("What was UnitedHealth's combined ratio in Q3 2024?", "EVIDENCE_TYPE.not_disclosed", ("UNH/2024Q3",)),
        ("What did Coca-Cola say about lithium mining in Q1 2026?", "EVIDENCE.insufficient", None),
        ("Why did PepsiCo sell its aircraft leasing business in Q1 2026?", "EVIDENCE.insufficient", None),
    ],
)
def test_refusals_name_code_and_what_is_missing(question: str, code: str, missing: tuple[str, ...] | None) -> None:
    answer = ask(question)
    assert (answer.decision, answer.refusal_code) == ("refused", code)
    assert answer.answer == "" and answer.citations == () and answer.refusal_reason
    if missing is not None:
        assert answer.missing == missing


def test_a_passage_on_the_subject_without_the_cause_is_not_enough() -> None:
    answer = ask("Why did the Harborlight Dividend Equity Fund move its cut-off time in 2022?")
    assert answer.refusal_code == "EVIDENCE.insufficient"
    assert answer.deliveries != ()  # it was found and read, and does not say


def test_what_a_later_notice_corrects_is_not_given_as_the_fact() -> None:
    answer = ask("What is the management fee of the Harborlight Dividend Equity Fund after the changes of 2023?")
    assert "The correct new management fee is 0.58 percent" in answer.answer
    assert all("0.55" not in one.quote for one in answer.citations if one.source_id.endswith("2023-06-15"))


def test_a_partial_answer_states_the_gap_first() -> None:
    question = "How did Coca-Cola describe consumer demand in Q1 2026 and in Q2 2026?"
    assert ask(question).refusal_code == "SCOPE.uncovered"
    answer = ask(question, config=AnswerConfig(partial="allow"))
    assert answer.decision == "answered"
    assert answer.answer.splitlines()[0] == "The evidence does not cover: KO/2026Q2."


def test_who_may_not_read_a_source_is_answered_as_if_it_were_not_there() -> None:
    question = "What does the research memo say about PepsiCo?"
    public, analyst = ask(question), ask(question, sample_documents().catalog.principal("analyst"))
    assert not any(one.source_id.startswith("RESEARCH") for one in (*public.candidates, *public.deliveries))
    assert "RESEARCH" not in json.dumps(to_json(public))
    assert analyst.principal == "analyst"


def test_access_withdrawn_while_answering_withholds_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    withdrawn = {"now": False}
    original = Attempt._check

    def check_then_withdraw(self: Attempt, *arguments: Any) -> bool:
        passed = original(self, *arguments)
        withdrawn["now"] = True
        return passed

    monkeypatch.setattr(Attempt, "_check", check_then_withdraw)
    monkeypatch.setattr(Documents, "may_read", lambda self, principal, source: not withdrawn["now"])
    answer = ask("Progressive combined ratio Q3 2024")
    assert (answer.decision, answer.refusal_code) == ("refused", "SCOPE.uncovered")
    assert answer.answer == "" and answer.gates[-1].name == "disclosure"


def test_the_same_question_gives_the_same_bytes() -> None:
    question = "How did KO, PEP, and MDLZ each describe input-cost or commodity pressure in Q1 2026?"
    assert len({canonical_projection(ask(question)) for _ in range(5)}) == 1


def test_every_citation_reads_back_and_the_record_verifies() -> None:
    questions = ["What did PepsiCo say was driving margin pressure in Q1 2026?", "Progressive combined ratio Q3 2024"]
    store = sample_store()
    written = write_answers(store, "reads-back", [ask(one) for one in questions])
    assert verify(store) == []
    for answer in written:
        assert read_answer(store, answer.answer_id) == answer
        for citation in answer.citations:
            text = sample_documents().text(citation.representation_id, citation.start, citation.end)
            assert text == citation.quote
            assert citation.fragment_id in {one.fragment_id for one in answer.deliveries}


def test_the_printed_object_has_the_documented_fields() -> None:
    shown = to_json(ask("Progressive combined ratio Q3 2024"))
    top = {
        "answer_id",
        "decision",
        "answer",
        "refusal",
        "claims",
        "citations",
        "index_version",
        "generator",
        "timings_ms",
    }
    assert top <= set(shown)
    assert [name for name in ISSUE_FIELDS if name not in shown["citations"][0]] == []
    refused = to_json(ask("What is Coca-Cola's stock price today?"))
    assert set(refused["refusal"]) == {"code", "reason", "missing"} and refused["answer"] is None


def test_instructions_inside_a_question_or_odd_input_never_break_the_gates() -> None:
    odd = ("", "?" * 50, "' OR '1'='1", "a" * 10_000, "😀😀", "SELECT * FROM evidence.answers; --", "[1] [2]")
    for question in odd:
        answer = ask(question, Principal("public"))
        assert answer.decision == "refused" and answer.refusal_reason


def test_a_line_item_by_segment_is_given_for_every_part_of_the_table() -> None:
    answer = ask("What was PepsiCo's operating profit by segment in Q1 2026?")
    sentences = [one.sentence for one in answer.claims]
    assert len(sentences) >= 3 and all("2026Q1" in one for one in sentences)
    assert any("PepsiCo Foods North America" in one for one in sentences)


@pytest.mark.parametrize(
    "question",
    [
        "What was PepsiCo's goodwill impairment in Q1 2026?",  # the balance of goodwill is no impairment
        "What percentage of Coca-Cola's revenue came from Mars in Q1 2026?",  # a sum of dollars is no percentage
        "What was Coca-Cola's inventory turnover guidance in Q1 2026?",
        "What was PepsiCo's revenue from airline tickets in Q1 2026?",  # the whole is no part of it
    ],
)
def test_the_figure_of_another_item_or_kind_is_not_given_for_the_one_asked_for(question: str) -> None:
    answer = ask(question)
    figures = [
        one for one in answer.claims if "$" in one.sentence and "“" not in one.sentence and '"' not in one.sentence
    ]
    assert not figures, answer.answer
