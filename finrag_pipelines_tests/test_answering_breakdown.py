"""Parts of a company: found in its own tables, ranked within one table, and never mixed with the whole."""

from dataclasses import replace
from decimal import Decimal

import pytest

from finrag_pipelines.answering.breakdown import figures_of_part, part_names, parts_asked, rankings
from finrag_pipelines.answering.documents import Figure, label_key
from finrag_pipelines.answering.question import Ask, measures

_BLANK = Figure(
    label="", key="", path=(), header="Year Ended 2024", caption="", units="", value=Decimal(0), step=Decimal(1000000),
    printed="", unit="USD", period="FY2024", period_end="2024-12-31", duration="year", concept=None, row_start=0,
    row_end=1, start=0, end=1, table_start=0, statement=None,
)  # fmt: skip


def _row(label: str, value: int, **other: object) -> Figure:
    return replace(_BLANK, label=label, key=label_key(label), value=Decimal(value), **other)


SEGMENTS = (
    _row("Ocean Freight", 40, caption="Net sales by segment", table_start=10),
    _row("Dry Docks", 70, caption="Net sales by segment", table_start=10),
    _row("Total", 110, caption="Net sales by segment", table_start=10),
    _row("Ocean Freight", 9, caption="Operating income by segment", table_start=20),
    _row("Dry Docks", 5, caption="Operating income by segment", table_start=20),
    _row("Ocean Freight", 12, caption="Net sales by segment", header="Change", table_start=30),
    _row("Net sales", 110, statement="income", table_start=40),
)


def _ask(question: str, key: str = "revenue") -> Ask:
    return Ask("amount", question, measures=(key,))


def _asked(question: str, own: frozenset[str] = frozenset()) -> tuple[str, ...]:
    return parts_asked(question, _ask(question), part_names(SEGMENTS), own)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("What were the net sales of Dry Docks in 2024?", ("dry docks",)),
        ("What were Ocean Freight's net sales in 2024?", ("ocean freight",)),
        ("What were total net sales in 2024?", ()),
        ("What were net sales after the ships left the dry docks?", ()),
    ],
)
def test_a_part_is_what_the_tables_have_as_a_row_and_the_question_writes_as_a_name(
    question: str, parts: tuple[str, ...]
) -> None:
    assert _asked(question) == parts


def test_the_name_of_the_company_is_no_part_of_it() -> None:
    assert _asked("What were the net sales of Ocean Freight in 2024?", frozenset({"ocean", "freight"})) == ()


def test_the_figure_of_a_part_is_that_of_the_measure_and_no_change() -> None:
    for key, value in (("revenue", 40), ("operating_income", 9)):
        found = figures_of_part(SEGMENTS, "ocean freight", _ask("", key), measures()[key])
        assert [one.figure.value for one in found] == [value]


def test_a_ranking_holds_the_parts_of_one_table_without_its_total() -> None:
    question = "Which segment had the highest net sales in 2024?"
    (found,) = rankings(SEGMENTS, _ask(question), measures()["revenue"])
    assert [(one.name, int(one.figure.value)) for one in found.figures] == [("Ocean Freight", 40), ("Dry Docks", 70)]


def test_rows_are_not_ranked_as_what_they_are_not() -> None:
    assert rankings(SEGMENTS, _ask("Which country had the highest net sales in 2024?"), measures()["revenue"]) == []


def test_sibling_tables_are_ranked_by_what_their_captions_differ_in() -> None:
    rows = [
        _row("Combined ratio", value, caption=f"Results of {name} were as follows:", table_start=start, unit="percent")
        for start, (name, value) in enumerate((("Harbor Insurance", 99), ("Bridge & Tunnel Insurance", 74)))
    ]
    ask = _ask("Which segment had the highest combined ratio?", "combined_ratio")
    (found,) = rankings(rows, ask, measures()["combined_ratio"])
    assert sorted(one.name for one in found.figures) == ["Bridge & Tunnel Insurance", "Harbor Insurance"]
