"""Configurations run on a set: the comparison the project was made from, losses stage by stage, results, report."""

import dataclasses
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from finrag_pipelines import pipeline
from finrag_pipelines.catalog.access import PUBLIC_PRINCIPAL
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.evaluation.comparison import compare
from finrag_pipelines.evaluation.configurations import Configuration, read_configuration
from finrag_pipelines.evaluation.document import to_html, to_markdown
from finrag_pipelines.evaluation.evidence_loss import KEPT, STAGES, Loss, LossTracer
from finrag_pipelines.evaluation.figures import means
from finrag_pipelines.evaluation.gold import GoldResolver
from finrag_pipelines.evaluation.modes import NOT_SHOWN, TYPE, mode_table
from finrag_pipelines.evaluation.report import make_report, report_of_store
from finrag_pipelines.evaluation.results import (
    Evaluation,
    QuestionRow,
    current_evaluations,
    find_evaluation,
    from_parquet,
    read_evaluation,
    to_parquet,
)
from finrag_pipelines.evaluation.run import Outcome, evaluate
from finrag_pipelines.evaluation.sets import EvalSet, Gold, Question, SetError, read_set
from finrag_pipelines.evidence import AnswerRecord, read_answer, verify
from finrag_pipelines.ingestion.receive import receive_file
from finrag_pipelines.storage import Store
from finrag_pipelines_tests.answering_store import ask, sample_index, sample_store

ROOT = Path(__file__).resolve().parents[1]
STOCK, THREE = "staples-03", "staples-02"


def _configuration(name: str) -> Configuration:
    return read_configuration(ROOT / "eval_configs" / f"{name}.toml")


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store of a dozen sample documents of its own, to evaluate in."""
    folder = tmp_path_factory.mktemp("evaluation") / "store"
    shutil.copytree(sample_store().root, folder)
    return Store(folder)


@pytest.fixture(scope="module")
def staples(evaluated: Store) -> EvalSet:
    """The first questions of the set that need no document beside those of the store."""
    held = GoldResolver(evaluated).catalog.sources
    questions = [
        one
        for one in read_set(ROOT / "eval_sets" / "consumer_staples.jsonl").questions
        if all(gold.source_id in held for gold in one.gold)
    ]
    return EvalSet("consumer_staples", "of-the-test", tuple(questions[:6]))


def _run(store: Store, eval_set: EvalSet, configuration: Configuration, **options: int | bool) -> Outcome:
    return evaluate(store, eval_set, configuration, open_embedder("hashing"), with_ragas=False, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def results(evaluated: Store, staples: EvalSet) -> dict[str, Evaluation]:
    names = ("threshold_only", "deterministic_checks", "full")
    return {name: _run(evaluated, staples, _configuration(name)).evaluation for name in names}


def _question(evaluation: Evaluation, name: str) -> QuestionRow:
    return next(row for row in evaluation.questions if row.question_id == name)


def test_a_threshold_lets_the_stock_price_and_the_incomplete_comparison_pass(
    evaluated: Store, results: dict[str, Evaluation]
) -> None:
    stock, three = (_question(results["threshold_only"], one) for one in (STOCK, THREE))
    assert (stock.decision, stock.wrong) == ("answered", "answered_unanswerable")
    record = read_answer(evaluated, stock.answer_id)
    assert all(gate.passed for gate in record.gates) and "retrieval_score" in [gate.name for gate in record.gates]
    assert three.decision == "answered"
    assert three.wrong.startswith("pair_without_citation")
    delivered = {one.company for one in read_answer(evaluated, three.answer_id).deliveries}
    assert delivered < {"KO", "PEP", "MDLZ"}
    assert three.generator.startswith("scripted/"), "the fabricated sentence is a script's, and says so"


def test_deterministic_checks_refuse_both(results: dict[str, Evaluation]) -> None:
    stock, three = (_question(results["deterministic_checks"], one) for one in (STOCK, THREE))
    assert (stock.decision, stock.code) == ("refused", "EVIDENCE_TYPE.live_market")
    assert (three.decision, three.code) == ("refused", "SCOPE.uncovered")


def test_the_full_pipeline_answers_from_all_three_and_refuses_the_stock_price(
    evaluated: Store, results: dict[str, Evaluation]
) -> None:
    stock, three = (_question(results["full"], one) for one in (STOCK, THREE))
    assert (stock.decision, stock.code) == ("refused", "EVIDENCE_TYPE.live_market")
    assert (three.decision, three.wrong) == ("answered", "")
    cited = {one.company for one in read_answer(evaluated, three.answer_id).citations}
    assert cited == {"KO", "PEP", "MDLZ"}


def test_every_row_opens_down_to_an_evidence_record_that_verifies(
    evaluated: Store, results: dict[str, Evaluation]
) -> None:
    for found in results.values():
        for row in found.questions:
            record = read_answer(evaluated, row.answer_id)
            assert (record.decision, record.refusal_code) == (row.decision, row.code)
            assert record.index_version == found.header.index_version
        assert {loss.answer_id for loss in found.losses} <= {row.answer_id for row in found.questions}
    assert verify(evaluated, _question(results["threshold_only"], THREE).answer_id) == []


def test_unchanged_inputs_are_skipped_and_say_so(
    evaluated: Store, staples: EvalSet, results: dict[str, Evaluation]
) -> None:
    again = _run(evaluated, staples, _configuration("full"))
    assert again.skipped and "unchanged inputs" in str(again)
    assert again.evaluation == results["full"] == find_evaluation(evaluated, "consumer_staples", "full")
    changed = dataclasses.replace(staples, sha256="changed", questions=staples.questions[:1])
    assert not _run(evaluated, dataclasses.replace(changed, name="other"), _configuration("full")).skipped


def test_an_answer_that_is_repeated_does_not_change(evaluated: Store, staples: EvalSet) -> None:
    few = EvalSet("repeated", "x", staples.questions[:2])
    found = _run(evaluated, few, _configuration("full"), repeats=2).evaluation
    assert [(row.flips, row.differing) for row in found.questions] == [(0, 0), (0, 0)]


def test_the_full_pipeline_loses_no_wrong_company_rows_and_has_ranking_figures(results: dict[str, Evaluation]) -> None:
    found = {mean.name: mean for mean in means(results["full"].figures)}
    assert found["wrong_company_rows"].value == 0.0
    assert found["scope_coverage"].value == 1.0
    assert (found["document_recall@20"].value or 0) > 0.9
    assert found["fragment_recall@1"].value is not None and found["citation_recall"].scored


def test_the_first_loss_of_each_quote_is_named_by_its_stage(evaluated: Store, staples: EvalSet) -> None:
    memo = "RESEARCH_memo_2026-05-06"
    restricted = "Both companies face input-cost pressure"
    transcript, quote = "PEP_transcript_2026Q1", "Commodity costs rose 5 percent in the quarter."
    pep = "What did PepsiCo say about commodity costs in Q1 2026?"
    asked = {
        "not_ingested": Question("a", pep, True, gold=(Gold("XYZ_10-K_FY2025", "x"),)),
        "not_parsed": Question("b", pep, True, gold=(Gold(transcript, "This was never said."),)),
        "hidden_by_access": Question("c", pep, True, gold=(Gold(memo, restricted),)),
        "hidden_by_date": Question("d", pep, True, as_of="2020-01-01", gold=(Gold(transcript, quote),)),
        "hidden_by_scope": Question(
            "e", "What did Coca-Cola say about commodity costs in Q1 2026?", True, gold=(Gold(transcript, quote),)
        ),
        "refused_before_search": Question(
            "f", "What is PepsiCo's stock price today?", True, gold=(Gold(transcript, quote),)
        ),
    }
    eval_set = EvalSet("losses", "x", tuple(asked.values()))
    with pytest.raises(SetError, match="not in the store"):
        _run(evaluated, eval_set, _configuration("full"))
    found = _run(evaluated, eval_set, _configuration("full"), allow_unresolved=True).evaluation
    stages = {loss.question_id: loss.stage for loss in found.losses}
    assert {stage: stages[question.id] for stage, question in asked.items()} == {stage: stage for stage in asked}
    assert any("a: gold evidence 1" in note for note in found.header.notes)
    assert not any("never said" in note for note in found.header.notes), "results keep no text of documents"


def test_a_small_k_loses_evidence_in_fusion_and_a_small_budget_in_delivery(evaluated: Store, staples: EvalSet) -> None:
    full = _configuration("full")

    def stages(**change: int) -> list[str]:
        narrow = dataclasses.replace(full, name="narrow", answer=dataclasses.replace(full.answer, **change))
        return [loss.stage for loss in _run(evaluated, staples, narrow).evaluation.losses]

    assert "lost_in_fusion" in stages(k=3)
    assert set(stages(budget=150)) & {"not_delivered", "refused_before_delivery", "refused_after_delivery"}


def test_losses_and_questions_survive_parquet(tmp_path: Path) -> None:
    losses = [Loss("q", 1, "s", STAGES[0], "a-0001"), Loss("q", 2, "s", KEPT, "a-0001", "f", 1, None, 3, "claim 1")]
    assert from_parquet(to_parquet(losses, Loss), Loss) == losses
    assert from_parquet(to_parquet([], Loss), Loss) == []
    with pytest.raises(FileNotFoundError):
        read_evaluation(tmp_path)


def test_configurations_are_compared_question_by_question(results: dict[str, Evaluation]) -> None:
    found = compare(results["threshold_only"], results["full"])
    decided = found[0]
    assert decided.test is not None and decided.test.only_second > decided.test.only_first
    assert decided.sentence.startswith("right decisions: ")
    same = compare(results["full"], results["full"])
    assert all("no difference shown" in one.sentence for one in same)


def _timed(evaluation: Evaluation, mode: str, milliseconds: float, questions: int) -> Evaluation:
    row, figure = evaluation.questions[0], evaluation.figures[0]
    names = [f"q{n}" for n in range(questions)]
    return Evaluation(
        dataclasses.replace(evaluation.header, mode=mode, pipeline="full", generators=("extractive/1",)),
        tuple(dataclasses.replace(row, question_id=n, retrieve_ms=milliseconds, tags=("figure",)) for n in names),
        tuple(dataclasses.replace(figure, question_id=n, name="fragment_recall@10", value=1.0) for n in names),
        (),
    )


def test_the_cheapest_mode_is_chosen_only_where_the_set_shows_it(results: dict[str, Evaluation]) -> None:
    one = results["full"]

    def choices(questions: int) -> dict[str, str]:
        table = mode_table([_timed(one, "lexical", 5, questions), _timed(one, "hybrid", 50, questions)])
        return {row.kind: row.choice for row in table}

    kinds = ("all", "figure", f"{TYPE}{one.questions[0].question_type}")
    assert one.questions[0].question_type == "figure"
    assert choices(12) == dict.fromkeys(kinds, "lexical")
    assert choices(4) == dict.fromkeys(kinds, NOT_SHOWN)
    assert mode_table([_timed(one, "hybrid", 50, 12)]) == ()


def test_the_report_says_what_was_run_and_what_is_shown(evaluated: Store, results: dict[str, Evaluation]) -> None:
    written = report_of_store(evaluated)
    assert written.evaluations == len(current_evaluations(evaluated))
    markdown, html = to_markdown(written.report), to_html(written.report)
    assert written.paths.markdown.read_text() == markdown and written.paths.html.read_text() == html
    for expected in ("scripted, not a model's", "no difference shown", "First evidence loss", "finrag evidence"):
        assert expected in markdown
    assert _question(results["full"], THREE).answer_id in markdown
    assert html.count("<svg") >= 4
    assert not [one for one in ("src=", "href=", "@import", "url(") if one in html], "the page loads nothing"
    assert "Commodity costs rose 5 percent" not in markdown, "a report holds no text of documents"


def _rows(losses: Sequence[Loss], stage: str) -> list[Loss]:
    return [one for one in losses if one.stage == stage]


def test_a_cited_quote_is_no_loss(results: dict[str, Evaluation]) -> None:
    losses = results["full"].losses
    assert len(_rows(losses, KEPT)) > len(losses) / 2


QUOTED = "Commodity costs rose 5 percent in the quarter."
ASKED = Question(
    "q", "What did PepsiCo say about commodity costs in Q1 2026?", True, gold=(Gold("PEP_transcript_2026Q1", QUOTED),)
)


def _stage(record: AnswerRecord, mode: str = "hybrid", k: int = 20, question: Question = ASKED) -> str:
    tracer = LossTracer(sample_index(), GoldResolver(sample_store()), mode, k)
    (loss,) = tracer.trace(question, record, PUBLIC_PRINCIPAL)
    assert loss.answer_id == record.answer_id
    return loss.stage


@pytest.fixture(scope="module")
def recorded() -> tuple[AnswerRecord, str]:
    """The answer to ASKED, which cites the quote, and the fragment that holds it."""
    record = ask(ASKED.question)
    tracer = LossTracer(sample_index(), GoldResolver(sample_store()), "hybrid", 20)
    (held,) = tracer.fragments(tracer.resolver.locate(ASKED.gold[0]))
    return record, held.fragment_id


def test_losses_after_the_search_are_told_apart_by_what_the_record_says(recorded: tuple[AnswerRecord, str]) -> None:
    record, held = recorded
    change = dataclasses.replace
    assert _stage(record) == KEPT
    uncited = change(record, citations=())
    assert _stage(uncited) == "not_cited"
    dropped = change(record.claims[0], sentence=QUOTED, verdict="dropped", reason="other number")
    assert _stage(change(uncited, claims=(dropped,))) == "claim_dropped"
    stop = change(record.gates[-1], name="claims", passed=False, code="CLAIM.unsupported")
    assert _stage(change(uncited, gates=(*record.gates, stop))) == "refused_after_delivery"
    others = tuple(one for one in record.deliveries if one.fragment_id != held)
    assert others and _stage(change(uncited, deliveries=others)) == "not_delivered"
    assert _stage(change(uncited, deliveries=())) == "refused_before_delivery"


def test_losses_in_the_search_are_told_apart_by_channel(
    recorded: tuple[AnswerRecord, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    record, held = recorded
    unfound = dataclasses.replace(
        record, citations=(), deliveries=(), candidates=tuple(c for c in record.candidates if c.fragment_id != held)
    )
    assert _stage(unfound, k=1) == "lost_in_fusion"
    assert _stage(unfound, "hybrid+rerank", k=1000) == "lost_in_rerank"
    # Nothing but the best row of a channel is looked at, which is another one for a question about something else.
    monkeypatch.setattr("finrag_pipelines.retrieval.search.CHANNEL_DEPTH", 1)
    elsewhere = dataclasses.replace(ASKED, question="What did PepsiCo say about its dividend in Q1 2026?")
    stages = {mode: _stage(unfound, mode, question=elsewhere) for mode in ("lexical", "vector", "hybrid")}
    assert stages == {"lexical": "not_in_lexical", "vector": "not_in_vector", "hybrid": "not_in_either_channel"}


def test_losses_before_the_index_are_told_apart_by_how_far_the_source_came(evaluated: Store, tmp_path: Path) -> None:
    notice = tmp_path / "notice.md"
    text = "The fund changes its benchmark to a broader index."
    notice.write_text(f"# Harbour Street Fund\n\nAnnouncement of 3 May 2023\n\n{text}\n")
    notice.with_name("notice.md.meta.json").write_text(
        '{"company": "HSF", "form": "fund_announcement", "filed": "2023-05-03"}'
    )
    name = str(receive_file(evaluated, notice).source_id)
    asked = EvalSet("early", "x", (Question("q", "What changes?", True, gold=(Gold(name, text),)),))

    def stage() -> str:
        found = _run(evaluated, asked, _configuration("full"), allow_unresolved=True, force=True).evaluation
        return found.losses[0].stage

    assert stage() == "not_parsed"
    pipeline.register(evaluated, name)
    pipeline.represent(evaluated, name)
    assert stage() == "not_in_a_fragment"
    pipeline.fragment(evaluated, name)
    assert stage() == "not_in_the_index"


def test_every_stage_of_a_loss_is_reached_by_a_test() -> None:
    text = Path(__file__).read_text("utf-8")
    assert [stage for stage in STAGES if stage != KEPT and f'"{stage}"' not in text] == []


def test_the_report_says_what_each_pipeline_did_and_what_each_stage_cost(
    evaluated: Store, results: dict[str, Evaluation]
) -> None:
    report = make_report(list(results.values()))
    (apart,) = [one for one in report.sections if one.title == "Where pipelines decide otherwise"]
    (table,) = apart.tables
    assert table.columns == ("question", "threshold_only", "deterministic_checks", "full")
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows[STOCK][0].startswith("answered, wrong: answered_unanswerable; every gate passed")
    assert rows[STOCK][1:] == ("refused EVIDENCE_TYPE.live_market at evidence_type",) * 2
    assert "wrong: pair_without_citation" in rows[THREE][0] and rows[THREE][0].endswith("scripted sentence")
    assert rows[THREE][1] == "refused SCOPE.uncovered at scope"
    assert rows[THREE][2] == "answered; every gate passed; cites KO, MDLZ, PEP"
    (cost,) = [one for one in report.sections if one.title.startswith("Latency and cost per stage")]
    columns = cost.tables[0].columns
    assert columns[2:] == (
        "retrieve",
        "deliver",
        "sufficiency",
        "generate",
        "claims",
        "disclosure",
        "total",
        columns[-1],
    )
    full = next(row for row in cost.tables[0].rows if row[1] == "full")
    assert all(" / " in cell for cell in full[2:-1]) and full[-1] == "–"


def test_the_history_shows_figures_over_index_versions(results: dict[str, Evaluation]) -> None:
    first = results["full"]
    header = dataclasses.replace(first.header, index_version="f" * 64, key="later", evaluated_at="2999-01-01")
    later = dataclasses.replace(first, header=header, questions=first.questions[:3])
    (section,) = [one for one in make_report([first], [later]).sections if one.title.startswith("History")]
    assert [row[2] for row in section.tables[0].rows] == [first.header.index_version[:12], "f" * 12]
    assert section.plots and "score" in section.plots[0]
    alone = make_report([first], [first])
    assert any("One index version" in text for one in alone.sections for text in one.text)
