"""Answers over real filings: parts of a company, rankings, premises that do not hold, claims made false on purpose."""

import os
from functools import cache
from pathlib import Path

import pytest

from finrag_pipelines import pipeline
from finrag_pipelines.answering.answer import Attempt, answer_question, company_names
from finrag_pipelines.answering.claims import DROPPED, SUPPORTED, ClaimChecker
from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.model import AnswerConfig, Draft
from finrag_pipelines.catalog.access import PUBLIC_PRINCIPAL
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.evidence.records import AnswerRecord
from finrag_pipelines.ingestion.receive import receive_file
from finrag_pipelines.retrieval.search import Index, open_index
from finrag_pipelines.storage import Store
from finrag_pipelines_tests.answering_mutations import mutations, rewordings

pytestmark = pytest.mark.slow

FILES = (
    "sec/AAPL_10-Q_2023Q3_0000320193-23-000077.htm",
    "sec/KO_10-Q_2025Q2.htm",
    "sec/NVDA_10-K_FY2024_0001045810-24-000029.htm",
    "sec/PEP_10-Q_2023Q3_0000077476-23-000058.htm",
    "sec/TRV_10-Q_2023Q3_0000086312-23-000063.htm",
    "sec/UNH_10-Q_2023Q2_0000731766-23-000053.htm",
    "transcripts/seekingalpha/MDLZ_2022Q2.txt",
    "transcripts/seekingalpha/PEP_2022Q2.txt",
)
COMPANIES = ["Apple", "Coca-Cola", "Nvidia", "PepsiCo", "Travelers", "UnitedHealth Group", "Mondelez", "Intel"]


class Filings:
    """A store with a handful of real filings, and what is needed to ask it."""

    def __init__(self, folder: Path, corpus: Path) -> None:
        self.store = Store(folder)
        embedder = open_embedder("hashing")
        for name in FILES:
            receive_file(self.store, corpus / name)
        for source_id in sorted(read_catalog(self.store).sources):
            for stage in (pipeline.register, pipeline.represent, pipeline.fragment):
                stage(self.store, source_id)
            pipeline.embed(self.store, source_id, embedder)
        pipeline.build_manifest(self.store)
        pipeline.publish_index(self.store, embedder)
        self.index: Index = open_index(self.store, embedder=embedder)
        self.documents = Documents(self.store)

    @cache  # noqa: B019 - one object per session
    def ask(self, text: str) -> AnswerRecord:
        """Answer one question."""
        return answer_question(self.index, self.store, text, PUBLIC_PRINCIPAL, None, None, self.documents)

    def sentences(self, text: str) -> list[Draft]:
        """Return the sentences of an answer as they were drafted and found to be borne out."""
        attempt = Attempt(self.index, self.store, text, PUBLIC_PRINCIPAL, AnswerConfig(), None, self.documents, None)
        attempt.run()
        return [draft for draft, verdict in attempt.kept if verdict.verdict == SUPPORTED]


@pytest.fixture(scope="module")
def filings(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Filings:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    return Filings(tmp_path_factory.mktemp("filings") / "store", corpus)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How much revenue did Apple get from iPhone sales in Q3 2023?", "$39,669 million for 2023Q3"),
        ("What was Apple's net sales in Greater China in Q3 2023?", "$15,758 million for 2023Q3"),
        ("What was Apple's Services gross margin percentage in the third quarter of fiscal 2023?", "70.5%"),
        ("How much revenue did NVIDIA's Data Center segment generate in fiscal 2024?", "$47,525 million"),
        ("What were Optum Rx revenues in the second quarter of 2023?", "$28,646 million"),
        ("What was Travelers' net investment income in Q3 2023?", "$769 million"),
        ("What were net written premiums of Travelers' Personal Insurance in Q3 2023?", "$4,410 million"),
        ("Did Apple's Mac sales fall in the third quarter of 2023?", "Yes. Apple: growth of revenue of Mac"),
        ("Is Travelers' combined ratio above 100% in the third quarter of 2023?", "Yes. "),
        ("Did Coca-Cola's cash and cash equivalents exceed $15 billion on June 27, 2025?", "No. "),
        ("Which PepsiCo division had the lowest operating profit in Q3 2023?", "was QFNA, $135 million"),
        ("Which Coca-Cola operating segment had the largest operating income in Q2 2025?", "was North America, $1,621"),
        ("Which Travelers segment had the highest combined ratio in Q3 2023?", "was Personal Insurance, 110.0%"),
        ("What was Apple's research and development expense as a percentage of net sales in Q3 2023?", "9.1%"),
    ],
)
def test_figures_of_parts_rankings_and_yes_or_no_come_from_the_companys_own_tables(
    filings: Filings, question: str, said: str
) -> None:
    assert said in filings.ask(question).answer


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("Why did NVIDIA's revenue fall in fiscal 2024?", "QUESTION.false_presupposition"),
        ("What was the revenue?", "QUESTION.underspecified"),
        ("Which region of Travelers had the highest net investment income in Q3 2023?", "EVIDENCE.insufficient"),
        ("What did Mondelez launch into orbit in Q2 2022?", "EVIDENCE.insufficient"),
    ],
)
def test_what_the_filings_contradict_or_do_not_hold_is_refused(filings: Filings, question: str, code: str) -> None:
    assert filings.ask(question).refusal_code == code


def test_a_named_person_is_quoted_and_nobody_else(filings: Filings) -> None:
    answer = filings.ask("What did Hugh Johnston say about inflation in PepsiCo's Q2 2022 call?")
    assert {one.speaker for one in answer.citations} == {"Hugh Johnston"}
    assert answer.answer.startswith("Hugh Johnston, chief financial officer of PepsiCo")


QUESTIONS = (
    "What was Apple's net sales in Q3 2023?",
    "How much revenue did Apple get from iPhone sales in Q3 2023?",
    "What was Apple's diluted earnings per share for the third quarter of fiscal 2023?",
    "What was Apple's Services gross margin percentage in the third quarter of fiscal 2023?",
    "What were Apple's total assets at the end of Q3 2023?",
    "What was Coca-Cola's net operating revenue in Q2 2025?",
    "What was Coca-Cola's gross profit in Q2 2025?",
    "What was Coca-Cola's net income in Q2 2025?",
    "What was Coca-Cola's effective tax rate in Q2 2025?",
    "What is the long-term debt of Coca-Cola in Q2 2025?",
    "How did Coca-Cola's unit case volume change in the second quarter of 2025?",
    "What was NVIDIA's revenue in fiscal 2024?",
    "What was NVIDIA's operating income in fiscal 2024?",
    "How much did NVIDIA spend on research and development in fiscal 2024?",
    "Why did NVIDIA's gross margin increase in fiscal 2024?",
    "What was PepsiCo's net revenue in Q3 2023?",
    "What was PepsiCo's operating profit in Q3 2023?",
    "Did PepsiCo's inventories go up in Q3 2023?",
    "Which PepsiCo division had the lowest operating profit in Q3 2023?",
    "What was Travelers' net investment income in Q3 2023?",
    "What was the combined ratio of Travelers in the third quarter of 2023?",
    "What was TRV's net income in Q3 2023 compared with Q3 2022?",
    "What was UnitedHealth's medical care ratio in Q2 2023?",
    "What were UnitedHealth's total revenues in Q2 2023?",
    "What were UnitedHealth's earnings from operations in Q2 2023?",
    "What did Hugh Johnston say about inflation in PepsiCo's Q2 2022 call?",
    "What did Dirk Van de Put say about elasticity in Mondelez's Q2 2022 call?",
)


def test_mutations_of_true_answers_are_all_caught_and_rewordings_pass(filings: Filings) -> None:
    names = company_names(filings.index, PUBLIC_PRINCIPAL)
    speakers = ["Hugh Johnston", "Dirk Van de Put", "Luca Zaramella", "Ramon Laguarta"]
    checker = ClaimChecker(filings.documents, names, speakers)
    true = [draft for question in QUESTIONS for draft in filings.sentences(question)]
    others = {draft.supports[0].delivered.fragment.company: draft.supports[0] for draft in true}
    made = []
    for draft in true:
        company = draft.supports[0].delivered.fragment.company
        other = next(support for name, support in sorted(others.items()) if name != company)
        made += mutations(draft, COMPANIES, other)
    passed = [(name, one.text) for name, one in made if checker.check(one).verdict != DROPPED]
    assert len(made) >= 200
    assert passed == []
    again = [one for draft in true for one in rewordings(draft, filings.documents)]
    rejected = [(one.text, verdict.reason) for one in again if (verdict := checker.check(one)).verdict == DROPPED]
    assert len(again) >= 60
    assert len(rejected) <= 3, rejected
