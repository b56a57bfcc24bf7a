"""Which periods columns, tables and paragraphs report."""

from dataclasses import replace
from pathlib import Path

import pytest

from finrag_pipelines.catalog.identity import Identity
from finrag_pipelines.catalog.periods import parse_label
from finrag_pipelines.parsing.identity.identify import identify
from finrag_pipelines.parsing.model import Cell, Element, ElementKind, Fact, Kind, Layout, Row, Table
from finrag_pipelines.parsing.parse import read_layout
from finrag_pipelines.parsing.reported import annotate, calendar_of

TEN_K = Identity(company="KO", form="10-K", period="FY2022", period_end="2022-12-31")
TEN_Q = Identity(company="KO", form="10-Q", period="2025Q2", period_end="2025-06-27")
PEP_Q = Identity(company="PEP", form="10-Q", period="2025Q3", period_end="2025-09-06")
AAPL_K = Identity(company="AAPL", form="10-K", period="FY2022", period_end="2022-09-24")
FL_Q = Identity(company="FL", form="10-Q", period="2022Q3", period_end="2022-10-29")


def cell_of(identity: Identity, header: str, caption: str = "", head_row: str = "", **stated: object) -> Cell:
    """Annotate a table with one cell and return the cell."""
    text = f"{head_row}\nSales 5\n"
    end = len(head_row)
    rows = (
        Row(label=head_row, start=0, end=end, is_header=True),
        Row(label="Sales", start=end + 1, end=end + 8, cells=(Cell(end + 7, end + 8, 1, header, "5", **stated),)),  # type: ignore[arg-type]
    )
    table = Table(0, len(text), caption=caption, rows=rows)
    element = Element(ElementKind.TABLE, 0, len(text), table=0)
    return annotate(Layout(text, Kind.HTML, (element,), tables=(table,)), identity).tables[0].rows[1].cells[0]


def labels_of(identity: Identity, text: str, facts: tuple[Fact, ...] = ()) -> tuple[str, ...]:
    """Annotate one paragraph and return the labels that it reports."""
    layout = Layout(text, Kind.HTML, (Element(ElementKind.PARAGRAPH, 0, len(text)),), facts=facts)
    return annotate(layout, identity).elements[0].periods


@pytest.mark.parametrize(
    ("identity", "header", "caption", "head_row", "label", "end", "duration"),
    [
        (TEN_Q, "Three Months Ended June 27, 2025", "", "", "2025Q2", "2025-06-27", "quarter"),
        (TEN_Q, "Six Months Ended June 28, 2024", "", "", "2024Q2YTD", "2024-06-28", "ytd"),
        (TEN_Q, "June 27, 2025", "CONSOLIDATED BALANCE SHEETS", "", "2025Q2", "2025-06-27", "instant"),
        (TEN_Q, "December 31, 2024", "CONSOLIDATED BALANCE SHEETS", "", "FY2024", "2024-12-31", "instant"),
        (TEN_Q, "As of June 30, 2023", "", "", "2023Q2", "2023-06-30", "instant"),
        (TEN_Q, "2024", "", "Three Months Ended", "2024Q2", None, "quarter"),
        (TEN_Q, "2024", "Six Months Ended June 27,", "", "2024Q2YTD", "2024-06-27", "ytd"),
        (TEN_Q, "Three Months Ended 2025 Amount", "", "", "2025Q2", None, "quarter"),
        (TEN_K, "2022", "CONSOLIDATED STATEMENTS OF INCOME", "Year Ended December 31,", "FY2022", "2022-12-31", "year"),
        (TEN_K, "2021", "CONSOLIDATED BALANCE SHEETS", "December 31,", "FY2021", "2021-12-31", "instant"),
        (TEN_K, "2021", "", "", "FY2021", None, "year"),
        (TEN_K, "Year Ended December 31, ------- 1995", "", "", "FY1995", "1995-12-31", "year"),
        (TEN_K, "Fourth Quarter", "Quarterly data 2021", "", "2021Q4", None, "quarter"),
        (PEP_Q, "12 Weeks Ended 9/6/2025", "", "", "2025Q3", "2025-09-06", "quarter"),
        (PEP_Q, "36 Weeks Ended 9/7/2024", "", "", "2024Q3YTD", "2024-09-07", "ytd"),
        (PEP_Q, "12/28/2024", "Condensed Consolidated Balance Sheet", "", "FY2024", "2024-12-28", "instant"),
        (AAPL_K, "Sept. 24, 2022", "", "Years ended", "FY2022", "2022-09-24", "year"),
        (AAPL_K, "September 25, 2021", "CONSOLIDATED BALANCE SHEETS", "", "FY2021", "2021-09-25", "instant"),
        (FL_Q, "Thirty-nine weeks ended October 30, 2021", "", "", "2021Q3YTD", "2021-10-30", "ytd"),
        (FL_Q, "January 29, 2022*", "", "", "FY2021", "2022-01-29", "instant"),
        (TEN_K, "Fiscal 2022", "", "", "FY2022", None, "year"),
    ],
)
def test_a_column_is_dated_by_its_header_and_what_spans_it(
    identity: Identity, header: str, caption: str, head_row: str, label: str, end: str | None, duration: str
) -> None:
    cell = cell_of(identity, header, caption, head_row)
    assert (cell.period, cell.period_end, cell.duration) == (label, end, duration)


@pytest.mark.parametrize("header", ["", "Amount", "Change 2022 vs. 2021", "% Change", "Page", "Level 3"])
def test_a_column_that_states_no_period_or_compares_two_has_none(header: str) -> None:
    assert cell_of(TEN_K, header).period is None


def test_a_tagged_cell_is_dated_by_its_context() -> None:
    cell = cell_of(PEP_Q, "Amount", period_end="2024-09-07", duration="ytd")
    assert (cell.period, cell.period_end, cell.duration) == ("2024Q3YTD", "2024-09-07", "ytd")


def columns_of(
    identity: Identity, *rows: tuple[str, str | None], header: str = "Six Months Ended June 27, 2025"
) -> list:
    """Annotate a table of one column, given as (row label, value or None); return (period, duration) of its values."""
    made = tuple(Row(label, 0, 1, cells=(Cell(0, 1, 1, header, "5"),) if value else ()) for label, value in rows)
    layout = Layout("x", Kind.HTML, (Element(ElementKind.TABLE, 0, 1, table=0),), tables=(Table(0, 1, rows=made),))
    table = annotate(layout, identity).tables[0]
    return [(cell.period, cell.duration) for row in table.rows for cell in row.cells]


def test_balances_at_the_beginning_and_end_of_a_span_are_instants() -> None:
    rows = [("Balance at beginning of period", "5"), ("Net income", "5"), ("Balance at end of period", "5")]
    assert columns_of(TEN_Q, *rows) == [("FY2024", "instant"), ("2025Q2YTD", "ytd"), ("2025Q2", "instant")]
    held = "Gains recognized during the period on securities still held at the end of the period"
    assert columns_of(TEN_Q, (held, "5")) == [("2025Q2YTD", "ytd")]


def test_a_dated_row_of_a_statement_of_changes_is_an_instant_of_its_own() -> None:
    rows = [("December 31, 2024", "5"), ("Net income", "5"), ("Balance at June 27, 2025", "5")]
    assert columns_of(TEN_Q, *rows) == [("FY2024", "instant"), ("2025Q2YTD", "ytd"), ("2025Q2", "instant")]


def test_a_date_over_a_second_block_of_rows_replaces_what_their_headers_say() -> None:
    rows = [("June 27, 2025", None), ("Bonds", "5"), ("December 31, 2024", None), ("Bonds", "5")]
    assert columns_of(TEN_Q, *rows, header="June 27, 2025 Fair Value") == [("2025Q2", "instant"), ("FY2024", "instant")]


def test_a_row_that_is_a_period_dates_its_cells_but_years_to_come_do_not() -> None:
    def period_of(label: str) -> str | None:
        row = Row(label, 0, len(label), cells=(Cell(0, 1, 1, "Amount", "5"),))
        table = Table(0, len(label), rows=(row,))
        layout = Layout(label, Kind.HTML, (Element(ElementKind.TABLE, 0, len(label), table=0),), tables=(table,))
        return annotate(layout, TEN_K).tables[0].rows[0].cells[0].period

    assert period_of("2021") == "FY2021"
    assert period_of("2027") is None
    assert period_of("Sales of 2021 in all our many markets of the world") is None


@pytest.mark.parametrize(
    ("identity", "text", "labels"),
    [
        (TEN_K, "We sell beverages.", ("2022Q4", "FY2022")),
        (TEN_K, "Sales grew in 2022 and 2021.", ("2022Q4", "FY2021", "FY2022")),
        (TEN_K, "Sales in 2021 exceeded those in 2020.", ("FY2020", "FY2021")),
        (TEN_K, "Since the merger of 2011 we have grown.", ("2022Q4", "FY2011", "FY2022")),
        (TEN_K, "Dividends of the second quarter of 2022 were paid.", ("2022Q2",)),
        (TEN_K, "Debt was $5 at December 31, 2021.", ("2021Q4", "FY2021")),
        (TEN_K, "We aim to halve waste by 2035.", ("2022Q4", "FY2022")),
        (TEN_Q, "We sell beverages.", ("2025Q2",)),
        (TEN_Q, "In 2025 sales grew.", ("2025Q2", "FY2025")),
        (TEN_Q, "the six months ended June 27, 2025", ("2025Q2", "2025Q2YTD")),
        (TEN_Q, "the three months ended June 27, 2025 and June 28, 2024", ("2024Q2", "2025Q2")),
        (PEP_Q, "36 weeks ended September 6, 2025", ("2025Q3", "2025Q3YTD")),
        (FL_Q, "In the third quarter of 2021 sales fell.", ("2021Q3",)),
    ],
)
def test_a_paragraph_reports_what_it_names_else_the_documents_own_period(
    identity: Identity, text: str, labels: tuple[str, ...]
) -> None:
    assert labels_of(identity, text) == labels


def test_a_call_on_the_fourth_quarter_reports_the_year_too() -> None:
    call = Identity(company="KO", form="transcript", period="2017Q4", period_end="2017-12-31")
    assert labels_of(call, "Thank you, operator.") == ("2017Q4", "FY2017")


def test_documents_without_a_period_report_the_quarter_in_which_their_event_falls() -> None:
    event = Identity(company="PEP", form="8-K", event_dates=("2023-05-26",))
    assert labels_of(event, "The company entered into an agreement.") == ("2023Q2", "FY2023")
    memo = Identity(form="memo", filed="2026-05-06", event_dates=("2026-05-06",))
    assert labels_of(memo, "We prefer Mondelez in Q1 2026.") == ("2026Q1",)


def test_the_facts_in_a_paragraph_tell_its_periods() -> None:
    fact = Fact("us-gaap:Revenues", "5", 10, 11, "2024-03-30", "2024-06-28")
    assert labels_of(TEN_Q, "Sales were 5 in the prior year quarter.", (fact,)) == ("2024Q2",)


def test_furniture_reports_nothing() -> None:
    layout = Layout("Page 5 of 2022", Kind.PDF, (Element(ElementKind.FOOTER, 0, 14),))
    assert annotate(layout, TEN_K).elements[0].periods == ()


def test_a_table_reports_the_periods_of_its_columns() -> None:
    cells = (Cell(0, 1, 1, "June 27, 2025", "5"), Cell(2, 3, 2, "December 31, 2024", "6"))
    table = Table(0, 4, caption="CONSOLIDATED BALANCE SHEETS", rows=(Row("Cash", 0, 4, cells=cells),))
    layout = Layout("5 6 ", Kind.HTML, (Element(ElementKind.TABLE, 0, 4, table=0),), tables=(table,))
    assert annotate(layout, TEN_Q).elements[0].periods == ("2024Q4", "2025Q2", "FY2024")


def test_an_unknown_issuer_is_dated_by_the_calendar_that_its_own_period_implies() -> None:
    starts = Identity(company="somebody", form="10-Q", period="2022Q3", period_end="2022-10-29")
    assert calendar_of(starts).label == "starts"
    assert cell_of(starts, "January 29, 2022").period == "FY2021"
    june = Identity(company="somebody", form="10-Q", period="2024Q1", period_end="2023-09-30")
    assert cell_of(june, "June 30, 2023").period == "FY2023"
    assert cell_of(june, "Three Months Ended September 30, 2022").period == "2023Q1"


def test_the_statements_of_the_sample_are_dated(sample: Path) -> None:
    if not sample.is_dir():
        pytest.skip(f"no sample corpus at {sample}")
    layout = read_layout((sample / "PGR_10-Q_2024Q3.htm").read_bytes())
    annotated = annotate(layout, identify(layout))
    periods = {cell.period for table in annotated.tables for row in table.rows for cell in row.cells}
    assert {"2024Q3", "2023Q3"} <= periods
    assert all(parse_label(label) for element in annotated.elements for label in element.periods)
    assert annotated == annotate(layout, identify(layout))
    assert annotated.text == layout.text


@pytest.mark.slow
def test_headers_alone_date_the_columns_of_real_filings_as_their_tags_do(corpus: Path) -> None:
    """The inline-XBRL context of a cell is the truth; the header is what other filings have."""
    counts = {"right": 0, "wrong": 0, "unknown": 0}
    for path in sorted((corpus / "sec").glob("*.htm")):
        content = path.read_bytes()
        if (b"<ix:nonFraction" not in content and b"<ix:nonfraction" not in content) or "truncated" in path.name:
            continue
        layout = read_layout(content)
        identity = identify(layout)
        told = annotate(layout, identity)
        blind = annotate(replace(layout, tables=tuple(untagged(table) for table in layout.tables)), identity)
        for true_table, table in zip(told.tables, blind.tables, strict=True):
            for true_row, row in zip(true_table.rows, table.rows, strict=True):
                for truth, cell in zip(true_row.cells, row.cells, strict=True):
                    if truth.concept and truth.period and truth.value:
                        same = cell.period == truth.period
                        counts["unknown" if cell.period is None else "right" if same else "wrong"] += 1
    total = sum(counts.values())
    print(", ".join(f"{name} {100 * count / total:.1f}%" for name, count in counts.items()), f"of {total} cells")
    assert total > 15_000, counts
    assert counts["wrong"] <= 0.015 * total, counts
    assert counts["right"] >= 0.88 * total, counts


def untagged(table: Table) -> Table:
    """Return the table without what inline-XBRL says of its cells' periods."""
    rows = (
        replace(row, cells=tuple(replace(cell, period_end=None, duration=None) for cell in row.cells))
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))
