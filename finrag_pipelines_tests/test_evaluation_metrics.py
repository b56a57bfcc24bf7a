"""Figures: intervals and tests against known values, ranking measures against ir-measures, and rows that fail alone."""

import asyncio
import math
import random

import pytest

from finrag_pipelines.evaluation import ragas_metrics
from finrag_pipelines.evaluation.answer_metrics import citation_score, numeric_match, wrong_answer
from finrag_pipelines.evaluation.figures import Figure, means, scored
from finrag_pipelines.evaluation.gold import LOCATED, LocatedGold
from finrag_pipelines.evaluation.matrix import Costs, Decision, decision_matrix, wilson
from finrag_pipelines.evaluation.paired import compare_decisions, compare_figures, mcnemar, paired_difference
from finrag_pipelines.evaluation.plots import Bar, Line, interval_plot, line_plot, matrix_plot, waterfall_plot
from finrag_pipelines.evaluation.retrieval_metrics import distinct, ndcg_at, recall_at, reciprocal_rank
from finrag_pipelines.evaluation.sets import Gold, Question
from finrag_pipelines.evidence.records import AnswerRecord, CitationRow


def test_wilson_intervals_are_those_of_the_textbook() -> None:
    found = wilson(6, 12)
    assert (found.share, round(found.low or 0, 4), round(found.high or 0, 4)) == (0.5, 0.2538, 0.7462)
    assert round(wilson(3, 3).low or 0, 4) == 0.4385
    assert wilson(3, 3).high == 1.0
    assert wilson(0, 0).share is None


def test_the_decision_matrix_counts_per_class_and_weighs_a_wrong_answer_most() -> None:
    decisions = [
        Decision("a", True, True),
        Decision("b", True, True, wrong=True),
        Decision("c", True, False, code="SCOPE.uncovered"),
        Decision("d", False, False, "SCOPE.uncovered", "SCOPE.uncovered"),
        Decision("e", False, False, "EVIDENCE_TYPE.advice", "SCOPE.uncovered"),
        Decision("f", False, True, "EVIDENCE_TYPE.advice"),
    ]
    found = decision_matrix(decisions, Costs(10, 1, 0.1))
    assert (found.answerable_answered, found.answerable_refused) == (2, 1)
    assert (found.unanswerable_answered, found.unanswerable_refused, found.right_code) == (1, 2, 1)
    assert (found.wrong, found.wrong_answers.total) == (2, 3)
    assert found.cost == pytest.approx(10 + 1 + 0.1 + 10)
    assert found.score == pytest.approx(1 - 21.1 / 60)
    assert decision_matrix([]).score is None


def test_answering_everything_scores_well_overall_and_badly_by_cost() -> None:
    everything = [Decision(str(n), n < 12, True, "SCOPE.uncovered") for n in range(15)]
    careful = [Decision(str(n), n < 12, n < 8, "SCOPE.uncovered", "SCOPE.uncovered") for n in range(15)]
    assert sum(one.right for one in everything) > sum(one.right for one in careful)
    assert (decision_matrix(everything).score or 0) < (decision_matrix(careful).score or 0)


def test_mcnemar_is_the_exact_binomial_test() -> None:
    first = [True] * 10 + [False] * 2
    second = [True] * 4 + [False] * 6 + [True] * 2
    found = mcnemar(first, second)
    assert (found.only_first, found.only_second) == (6, 2)
    assert found.p_value == pytest.approx(2 * (1 + 8 + 28) / 256)
    assert mcnemar(first, first).p_value == 1.0


def test_no_difference_is_said_plainly_and_a_difference_names_the_better() -> None:
    few = {str(n): n > 0 for n in range(4)}
    assert "no difference shown between A and B" in compare_decisions("A", "B", few, few, "right").sentence
    bad, good = {str(n): False for n in range(12)}, {str(n): True for n in range(12)}
    assert "B is better" in compare_decisions("A", "B", bad, good, "right").sentence
    low, high = {str(n): 0.2 + n / 100 for n in range(12)}, {str(n): 0.6 + n / 100 for n in range(12)}
    assert "B is higher than A by 0.400" in compare_figures("A", "B", low, high, "recall").sentence
    assert "no question" in compare_figures("A", "B", {}, high, "recall").sentence


def test_the_bootstrap_gives_the_same_interval_for_the_same_values() -> None:
    drawn = random.Random(1)
    first = [drawn.random() for _ in range(30)]
    second = [one + drawn.gauss(0.05, 0.3) for one in first]
    found = paired_difference(first, second)
    assert found == paired_difference(first, second)
    assert found.low is not None and found.mean is not None and found.high is not None
    assert found.low < found.mean < found.high
    assert not found.shown


def test_ranking_measures_by_hand() -> None:
    ranked, relevant = ["a", "b", "c", "d"], {"b", "d", "x"}
    assert recall_at(ranked, relevant, 2) == pytest.approx(1 / 3)
    assert recall_at(ranked, relevant, 4) == pytest.approx(2 / 3)
    assert reciprocal_rank(ranked, relevant) == 0.5
    best = 1 + 1 / math.log2(3) + 1 / 2
    assert ndcg_at(ranked, relevant, 10) == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / best)
    assert distinct(["a", "b", "a"]) == ["a", "b"]
    assert ndcg_at(ranked, set(), 10) == recall_at(ranked, set(), 10) == 0.0


def test_ranking_measures_agree_with_ir_measures() -> None:
    ir = pytest.importorskip("ir_measures", reason="an outside witness; install ir-measures to compare with it")
    drawn = random.Random(7)
    names = [f"d{n}" for n in range(40)]
    for _ in range(20):
        ranked = drawn.sample(names, 25)
        relevant = set(drawn.sample(names, drawn.randint(1, 6)))
        qrels = [ir.Qrel("q", one, 1) for one in relevant]
        run = [ir.ScoredDoc("q", one, 1 / rank) for rank, one in enumerate(ranked, start=1)]
        wanted = ir.calc_aggregate([ir.R @ 5, ir.R @ 20, ir.RR, ir.nDCG @ 10], qrels, run)
        assert recall_at(ranked, relevant, 5) == pytest.approx(wanted[ir.R @ 5])
        assert recall_at(ranked, relevant, 20) == pytest.approx(wanted[ir.R @ 20])
        assert reciprocal_rank(ranked, relevant) == pytest.approx(wanted[ir.RR])
        assert ndcg_at(ranked, relevant, 10) == pytest.approx(wanted[ir.nDCG @ 10])


@pytest.mark.parametrize(
    ("reference", "answer", "share"),
    [
        ("$2.1 billion.", "Net sales were $2,130 million in FY2022.", 1.0),
        ("0.58 percent per annum", "The fee is 0.58%.", 1.0),
        ("0.58 percent per annum", "The fee is $0.58 million.", 0.0),
        ("89.4 against 92.4", "The ratio was 89.4.", 0.5),
        ("0.65 to 0.58 percent", "It fell by 0.55 percent.", 0.0),
        ("The Meridian index, since 2023", "The Meridian index.", None),
    ],
)
def test_numbers_match_by_value_and_unit(reference: str, answer: str, share: float | None) -> None:
    assert numeric_match(reference, answer) == share


def _citation(start: int, end: int, company: str = "KO", period: str | None = "2026Q1") -> CitationRow:
    return CitationRow(
        1, 1, "f", "s", 1, company, "10-Q", period, None, None, None, 0, None, start, end, "r", "native_text", "c", "h"
    )  # fmt: skip


def test_citations_are_scored_by_the_ranges_they_share_with_gold() -> None:
    gold = [
        LocatedGold(Gold("s", "x"), LOCATED, "r", ((10, 20),)),
        LocatedGold(Gold("s", "y"), LOCATED, "r", ((50, 60),)),
    ]
    found = citation_score([_citation(15, 25), _citation(30, 40)], gold)
    assert (found.precision, found.recall) == (0.5, 0.5)
    assert citation_score([_citation(20, 30)], gold).precision == 0.0
    assert citation_score([], gold) == citation_score([], gold[:1])


def test_an_answer_is_wrong_that_leaves_a_required_company_out() -> None:
    question = Question("q", "?", True, pairs=(("KO", "2026Q1"), ("PEP", "2026Q1")), gold=(Gold("s", "x"),))
    record = AnswerRecord("answered", "public", "v", citations=(_citation(0, 5),))
    assert wrong_answer(question, record, {}) == "pair_without_citation: PEP/2026Q1"
    both = AnswerRecord("answered", "public", "v", citations=(_citation(0, 5), _citation(0, 5, "PEP", "FY2026")))
    assert wrong_answer(question, both, {}) == "pair_without_citation: PEP/2026Q1"
    assert wrong_answer(question, both, {"f": ("2026Q1",)}) is None


def test_means_are_over_scored_rows_and_say_what_they_leave_out() -> None:
    rows = [
        scored("a", "x", 1.0),
        scored("b", "x", 0.0),
        scored("c", "x", math.nan),
        Figure("d", "x", None, "timed_out"),
    ]
    (found,) = means([*rows, Figure("e", "x", None, "refused")])
    assert (found.value, found.scored, found.nan, found.timed_out, found.refused) == (0.5, 2, 1, 1, 1)


class _Hangs:
    async def single_turn_ascore(self, row: object) -> float:
        await asyncio.sleep(60)
        return 1.0


class _Dies:
    async def single_turn_ascore(self, row: object) -> float:
        raise ValueError("the text of a document")


class _Prose:
    async def single_turn_ascore(self, row: object) -> float:
        return "rather good"  # type: ignore[return-value]


def _sample(name: str, answered: bool = True) -> ragas_metrics.Sample:
    context = "Commodity costs rose 5 percent in the quarter."
    return ragas_metrics.Sample(
        name, "What rose?", "Costs rose 5 percent.", "Costs rose 5 percent.", (context, "Other."), ("f1", "f2"),
        (context,), ("f1",), answered,
    )  # fmt: skip


def test_ragas_measures_without_a_judge_and_a_failing_one_costs_its_own_rows_only() -> None:
    metrics = ragas_metrics.open_metrics()
    metrics |= {"hangs": _Hangs(), "dies": _Dies(), "prose": _Prose()}
    figures = ragas_metrics.score([_sample("a"), _sample("b", answered=False)], metrics, timeout=0.2)
    found = {one.name: one for one in figures if one.question_id == "a"}
    assert found["ragas_id_context_precision"].value == 0.5
    assert found["ragas_id_context_recall"].value == 1.0
    assert found["ragas_non_llm_context_recall"].value == 1.0
    assert found["ragas_non_llm_context_precision"].value == pytest.approx(1.0)
    assert found["ragas_string_similarity"].value == pytest.approx(1.0)
    assert found["ragas_rouge_l"].value == pytest.approx(1.0)
    assert [found[name].status for name in ("hangs", "dies", "prose")] == ["timed_out", "failed", "failed"]
    assert found["dies"].reason == "ValueError", "messages may repeat text of documents"
    assert {one.status for one in figures if one.question_id == "b"} == {"refused"}


def test_plots_are_well_formed_and_escape_what_they_are_given() -> None:
    from lxml import etree

    plots = [
        interval_plot("a < b", [Bar("<x>", 0.5, 0.2, 0.8, "6/12"), Bar("none", None, None, None, "–")]),
        waterfall_plot("loss", [("not_cited", 2), ("lost_in_fusion", 1)], 10),
        line_plot("recall", [Line("full", ((0, 0.1), (1, 0.9)))], [(0, "1"), (1, "3")]),
        matrix_plot("set", [("full", 12, 0, 0, 3)]),
    ]
    for plot in plots:
        assert etree.fromstring(plot.encode()).tag.endswith("svg")
        assert "<x>" not in plot
