"""Eval sets: every fault is named by file and line, gold quotes are found in stored texts, foreign sets are read."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from finrag_pipelines import pipeline
from finrag_pipelines.evaluation.configurations import ConfigurationError, configuration_names, read_configuration
from finrag_pipelines.evaluation.exports import indexed_fragments, relevant_fragments, write_beir
from finrag_pipelines.evaluation.gold import LOCATED, FoldedText, GoldResolver, holding, unresolved
from finrag_pipelines.evaluation.imports import by_file_name, import_beir, import_financebench, import_tatqa
from finrag_pipelines.evaluation.sets import EvalSet, Gold, Question, SetError, read_set, to_json, write_set
from finrag_pipelines.ingestion.receive import receive_file
from finrag_pipelines.storage import Store
from finrag_pipelines_tests.answering_store import sample_index, sample_store

ROOT = Path(__file__).resolve().parents[1]
QUOTE = "Commodity costs rose 5 percent in the quarter."
GOOD = Question("q-1", "Why?", True, gold=(Gold("PEP_transcript_2026Q1", QUOTE),))


def _file(folder: Path, *rows: dict | str) -> Path:
    path = folder / "own.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("path", sorted((ROOT / "eval_sets").glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_shipped_set_is_as_documented(path: Path) -> None:
    assert read_set(path).questions


def test_the_access_set_asks_each_question_as_two_principals() -> None:
    asked: dict[str, set[str]] = {}
    for one in read_set(ROOT / "eval_sets" / "access.jsonl").questions:
        asked.setdefault(one.question, set()).add(one.principal)
    assert len(asked) == 5
    assert all(who == {"analyst", "public"} for who in asked.values())


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"answerable": "yes"}, "'answerable' has the wrong type"),
        ({"refusal_code": "SCOPE.uncovered"}, "is answerable and has a refusal_code"),
        ({"answerable": False}, "is not answerable and has no refusal_code"),
        ({"answerable": False, "refusal_code": "SCOPE.nowhere"}, "'SCOPE.nowhere' is unknown"),
        ({"as_of": "May 2026"}, "is no date"),
        ({"pairs": [["KO"]]}, "is not [company, period]"),
        ({"gold": []}, "has no gold evidence"),
        ({"gold": [{"source_id": "KO_10-K_FY2025"}]}, "has neither quote nor page_index"),
        ({"id": "q 1"}, "is no plain name"),
        ({"expected": "x"}, "'expected' is unknown; known are"),
    ],
)
def test_a_fault_is_named_by_file_and_line(tmp_path: Path, change: dict, fault: str) -> None:
    path = _file(tmp_path, to_json(replace(GOOD, id="q-0")), {**to_json(GOOD), **change})
    with pytest.raises(SetError) as caught:
        read_set(path)
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith("own.jsonl:2: ")
    assert fault in caught.value.problems[0]


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(SetError) as caught:
        read_set(_file(tmp_path, "{", to_json(GOOD), to_json(GOOD), "[]"))
    assert [one.partition(": ")[0] for one in caught.value.problems] == [f"own.jsonl:{n}" for n in (1, 3, 4)]


def test_a_set_that_was_written_reads_back(tmp_path: Path) -> None:
    write_set(tmp_path / "own.jsonl", [GOOD])
    assert read_set(tmp_path / "own.jsonl").questions == (replace(GOOD, line=1),)


def test_white_space_and_typographic_variants_are_not_significant_in_a_quote() -> None:
    text = "He said: “Costs\n rose 5 %, in the Company’s\u00a0view – and fell.”"
    assert FoldedText(text).find_all('"Costs rose 5 %, in the Company\'s view - and fell."') == ((9, len(text)),)
    assert FoldedText(text).find_all("Costs fell") == ()
    assert FoldedText("ab ab").find_all("ab") == ((0, 2), (3, 5))


def test_a_quote_becomes_the_range_the_page_and_the_fragments_that_hold_it() -> None:
    located = GoldResolver(sample_store()).locate(Gold("PEP_transcript_2026Q1", QUOTE.replace(" ", "  ")))
    assert located.status == LOCATED
    assert located.pages
    fragments = [one for one in indexed_fragments(sample_index()) if one.source_id == "PEP_transcript_2026Q1"]
    held = holding(located, fragments)
    assert held
    start, end = located.ranges[0]
    assert all(one.start < end and start < one.end for one in held)
    assert "Commodity costs rose 5 percent" in " ".join(held[0].text.split())


def test_another_chunking_does_not_break_a_set() -> None:
    located = GoldResolver(sample_store()).locate(Gold("PEP_transcript_2026Q1", QUOTE))
    start, end = located.ranges[0]
    one = holding(located, indexed_fragments(sample_index()))[0]
    cut = start + (end - start) // 4
    left, right = replace(one, fragment_id="a", end=cut), replace(one, fragment_id="b", start=cut)
    assert [found.fragment_id for found in holding(located, [left, right])] == ["b"]


def test_a_quote_that_stands_nowhere_is_an_error_that_says_so() -> None:
    gone = Question(
        "q-2", "Why?", True, gold=(Gold("PEP_transcript_2026Q1", "Costs fell."), Gold("XYZ_10-K_FY2025", "x"))
    )
    found = unresolved(EvalSet("own", "", (replace(gone, line=7),)), GoldResolver(sample_store()))
    assert [one.partition(": ")[0] for one in found] == ["own.jsonl:7", "own.jsonl:7"]
    assert "stands nowhere in the text of PEP_transcript_2026Q1" in found[0]
    assert "XYZ_10-K_FY2025 is not in the store" in found[1]


def test_a_page_stands_for_a_quote_that_is_not_found() -> None:
    located = GoldResolver(sample_store()).locate(Gold("PEP_transcript_2026Q1", "Costs fell.", page_index=1))
    assert (located.status, located.by_page, located.pages) == (LOCATED, True, (1,))


def test_financebench_is_read_with_its_pages_and_the_stores_names(tmp_path: Path) -> None:
    row = {
        "financebench_id": "fb-1",
        "doc_name": "PEP_transcript_2026Q1",
        "question": "What rose?",
        "answer": "Costs",
        "question_type": "domain-relevant",
        "evidence": [{"doc_name": "PEP_transcript_2026Q1", "evidence_text": "Costs", "evidence_page_num": 0}],
    }
    other = {**row, "financebench_id": "fb-2", "doc_name": "OTHER_2019_10K", "evidence": [{"evidence_page_num": 3}]}
    path = _file(tmp_path, row, other)
    first, second = import_financebench(path, by_file_name(GoldResolver(sample_store()).catalog))
    assert first.gold == (Gold("PEP_transcript_2026Q1", "Costs", 0),)
    assert second.gold == (Gold("OTHER_2019_10K", "", 3),)
    assert first.tags == ("domain-relevant",)


def test_tatqa_is_read_with_the_paragraphs_and_the_table_it_relies_on(tmp_path: Path) -> None:
    context = {
        "table": {"uid": "t-1", "table": [["", "2019"], ["Total sales", "$1,496.5"]]},
        "paragraphs": [{"order": 1, "text": "Sales by type."}, {"order": 2, "text": "Costs."}],
        "questions": [
            {"uid": "tq-1", "question": "Sales in 2019?", "answer": ["$1,496.5"], "answer_from": "table-text",
             "answer_type": "span", "rel_paragraphs": ["2"], "scale": "million"}
        ],
    }  # fmt: skip
    path = tmp_path / "tatqa.json"
    path.write_text(json.dumps([context]))
    (found,) = import_tatqa(path, lambda name: "MY_10-K_FY2019" if name == "t-1" else None)
    assert [one.quote for one in found.gold] == ["Costs.", "2019\nTotal sales $1,496.5"]
    assert {one.source_id for one in found.gold} == {"MY_10-K_FY2019"}
    assert found.reference_answer == "$1,496.5 million"


def test_the_questions_of_financebench_are_read_and_located_in_a_real_filing(
    corpus: Path, store: Store, tmp_path: Path
) -> None:
    folder = corpus / "financebench"
    receipt = receive_file(store, folder / "pdfs" / "FOOTLOCKER_2022_8K_dated-2022-05-20.pdf")
    source_id = str(receipt.source_id)
    pipeline.register(store, source_id)
    pipeline.represent(store, source_id)
    resolver = GoldResolver(store)
    questions = import_financebench(folder / "questions.jsonl", by_file_name(resolver.catalog))
    assert len(questions) == len((folder / "questions.jsonl").read_text("utf-8").splitlines())
    write_set(tmp_path / "financebench.jsonl", questions)
    assert read_set(tmp_path / "financebench.jsonl").questions == tuple(
        replace(one, line=number) for number, one in enumerate(questions, start=1)
    )
    held = [gold for one in questions for gold in one.gold if gold.source_id == source_id]
    assert held
    for gold in held:
        located = resolver.locate(gold)
        assert located.status == LOCATED and located.pages == (gold.page_index,)


def test_the_questions_of_tatqa_are_read_whole(corpus: Path, tmp_path: Path) -> None:
    path = corpus / "qa" / "tatqa_dataset_dev.json"
    questions = import_tatqa(path, lambda name: None)
    assert len(questions) == sum(len(one["questions"]) for one in json.loads(path.read_text("utf-8")))
    write_set(tmp_path / "tatqa.jsonl", questions)
    assert len(read_set(tmp_path / "tatqa.jsonl").questions) == len(questions)


def test_queries_without_their_passages_are_said_to_be_no_beir_folder(corpus: Path, tmp_path: Path) -> None:
    shutil.copy(corpus / "qa" / "financerag_finqa_queries.jsonl", tmp_path / "queries.jsonl")
    with pytest.raises(SetError, match=r"corpus\.jsonl: no such file.*queries\.jsonl, corpus\.jsonl and qrels"):
        import_beir(tmp_path, lambda name: None)


def test_a_beir_folder_that_was_exported_is_read_back(tmp_path: Path) -> None:
    resolver, fragments = GoldResolver(sample_store()), indexed_fragments(sample_index())
    eval_set = EvalSet("own", "", (GOOD,))
    relevant = relevant_fragments(eval_set, resolver, fragments)
    write_beir(tmp_path, eval_set, relevant, fragments)
    (found,) = import_beir(tmp_path, by_file_name(resolver.catalog))
    assert (found.id, found.question) == ("q-1", "Why?")
    assert all(resolver.locate(one).status == LOCATED for one in found.gold)
    again = relevant_fragments(EvalSet("own", "", (found,)), resolver, fragments)
    assert set(relevant["q-1"]) <= set(again["q-1"])


def test_a_damaged_beir_folder_is_named_by_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "x"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "y"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tb\t1\n")
    with pytest.raises(SetError, match=r"test\.tsv:2"):
        import_beir(tmp_path, lambda name: None)


@pytest.mark.parametrize("name", configuration_names(ROOT / "eval_configs"))
def test_a_shipped_configuration_is_as_documented(name: str) -> None:
    found = read_configuration(ROOT / "eval_configs" / f"{name}.toml")
    assert found.description and found.sha256


def test_a_configuration_is_named_by_what_changes_an_answer_alone(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('description = "a"\n[answer]\nk = 10\n')
    first = read_configuration(path).sha256
    path.write_text('description = "b"\n[answer]\nk = 10\n')
    assert read_configuration(path).sha256 == first
    path.write_text('description = "b"\n[answer]\nk = 11\n')
    assert read_configuration(path).sha256 != first


@pytest.mark.parametrize(
    "text", ["[answer]\nkk = 1\n", 'pipeline = "mine"\n', 'script = "no.json"\n', "seed = 'x'\n", "[answer\n"]
)
def test_a_fault_in_a_configuration_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(ConfigurationError, match=r"own\.toml"):
        read_configuration(tmp_path / "own.toml")
