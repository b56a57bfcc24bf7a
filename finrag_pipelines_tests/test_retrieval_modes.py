"""Mode `auto`: the type of a question, the table as data with a digest, and what a record says of it."""

import dataclasses
import json
from pathlib import Path

import pytest

from finrag_pipelines.answering.model import AnswerConfig
from finrag_pipelines.evaluation.modes import ALL, NOT_SHOWN, TYPE, ModeRow, choices_of
from finrag_pipelines.retrieval.model import Pair, Plan
from finrag_pipelines.retrieval.modes import load_modes, question_type
from finrag_pipelines_tests.answering_store import ask, sample_index

PAIR = Pair("PGR", "2024Q3")
FIGURE = "Progressive combined ratio Q3 2024"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, "other"),
        ({"companies": (), "pairs": (Pair(None, "2024Q3"),), "concepts": ("x",)}, "unscoped"),
        ({"concepts": ("combined_ratio",)}, "figure"),
        ({"statements": ("income",)}, "figure"),
        ({"sections": ("Item 1A",), "concepts": ("x",)}, "section"),
        ({"roles": ("cfo",), "sections": ("Item 2",)}, "speaker"),
        ({"pairs": (PAIR, Pair("ALL", "2024Q3")), "roles": ("cfo",)}, "comparison"),
    ],
)
def test_a_question_has_the_first_type_that_its_plan_shows(change: dict, expected: str) -> None:
    assert question_type(dataclasses.replace(Plan("?", (PAIR,), companies=("PGR",)), **change)) == expected


def test_a_type_without_a_choice_is_searched_in_the_default_mode() -> None:
    question = "What about aluminum?"
    auto, hybrid = (sample_index().search(question, mode=mode) for mode in ("auto", "hybrid"))
    assert (question_type(auto.trace.plan), auto.trace.mode) == ("unscoped", "hybrid")
    assert auto.results == hybrid.results
    assert "unscoped" not in load_modes().choices, "nothing was measured for it"


def test_a_measured_table_decides_and_the_record_keeps_its_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "modes.json"
    table.write_text(json.dumps({"choices": {"figure": "lexical"}}))
    monkeypatch.setenv("FINRAG_MODES", str(table))
    found = sample_index().search(FIGURE, mode="auto")
    assert found.trace.mode == "lexical"
    assert found.results == sample_index().search(FIGURE, mode="lexical").results
    assert any("of the type figure is searched lexical" in note for note in found.trace.notes)
    record = ask(FIGURE, config=AnswerConfig(mode="auto"))
    assert f"modes={load_modes().sha256}" in record.rule_digests
    assert not any(one.startswith("modes=") for one in ask(FIGURE).rule_digests)


@pytest.mark.parametrize("content", ["{", "{}", '{"choices": {"figure": "oracle"}}', '{"choices": {"poem": "hybrid"}}'])
def test_a_table_that_is_none_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "modes.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"modes\.json"):
        load_modes(path)


def test_only_types_for_which_another_mode_is_shown_are_written() -> None:
    table = [
        ModeRow(ALL, (), "lexical"),
        ModeRow(f"{TYPE}figure", (), "lexical"),
        ModeRow(f"{TYPE}other", (), "hybrid"),
        ModeRow(f"{TYPE}section", (), NOT_SHOWN),
    ]
    assert choices_of(table) == {"figure": "lexical"}
