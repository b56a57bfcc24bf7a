"""Fiscal calendars, and periods as people write them."""

from datetime import date

import pytest

from finrag_pipelines.catalog.calendars import (
    calendar_for,
    labels_reported,
    load_calendars,
    other_reading,
    parse_year_end,
    period_end_of,
    period_for,
    period_start_of,
)
from finrag_pipelines.catalog.companies import load_companies
from finrag_pipelines.catalog.period_mentions import parse_date, parse_periods_in_text
from finrag_pipelines.catalog.periods import parse_label


@pytest.mark.parametrize(
    ("company", "end", "duration", "label"),
    [
        ("PEP", "2023-03-25", "quarter", "2023Q1"),
        ("PEP", "2023-06-17", "quarter", "2023Q2"),
        ("PEP", "2023-09-09", "10-Q", "2023Q3"),
        ("PEP", "2022-12-31", "10-K", "FY2022"),
        ("PEP", "2021-12-25", "instant", "FY2021"),
        ("AAPL", "2022-12-31", "quarter", "2023Q1"),
        ("AAPL", "2023-07-01", "ytd", "2023Q3YTD"),
        ("AAPL", "2023-09-30", "year", "FY2023"),
        ("NVDA", "2024-01-28", "10-K", "FY2024"),
        ("NVDA", "2024-04-28", "quarter", "2025Q1"),
        ("WMT", "2018-01-31", "year", "FY2018"),
        ("COST", "2021-08-29", "year", "FY2021"),
        ("COST", "2021-05-09", "quarter", "2021Q3"),
        ("NKE", "2023-05-31", "year", "FY2023"),
        ("GIS", "2020-05-31", "year", "FY2020"),
        ("MSFT", "2023-06-30", "year", "FY2023"),
        ("FL", "2022-10-29", "10-Q", "2022Q3"),
        ("FL", "2023-01-28", "10-K", "FY2022"),
        ("TGT", "2003-02-01", "year", "FY2002"),
        ("HD", "2023-01-29", "year", "FY2022"),
        ("BBY", "2023-01-28", "year", "FY2023"),
        ("LOW", "2023-02-03", "year", "FY2022"),
        ("KR", "2022-05-21", "quarter", "2022Q1"),
        ("JNJ", "2023-01-01", "year", "FY2022"),
        ("ADBE", "2022-12-02", "year", "FY2022"),
        ("MU", "2023-08-31", "year", "FY2023"),
        ("DIS", "2022-10-01", "year", "FY2022"),
        ("ACN", "2023-02-28", "quarter", "2023Q2"),
        ("AVGO", "2024-02-04", "quarter", "2024Q1"),
        ("KO", "2025-06-27", "quarter", "2025Q2"),
        ("KO", "2025-06-27", "ytd", "2025Q2YTD"),
        ("KO", "2025-03-28", "ytd", "2025Q1"),
    ],
)
def test_a_period_end_gets_the_label_that_the_issuer_itself_uses(
    company: str, end: str, duration: str, label: str
) -> None:
    period = period_for(calendar_for(company), date.fromisoformat(end), duration)
    assert period is not None
    assert period.label == label
    assert abs((period_end_of(calendar_for(company), label) - date.fromisoformat(end)).days) <= 7


@pytest.mark.parametrize("company", sorted(load_calendars()))
def test_every_calendar_in_the_table_cuts_its_years_into_four_adjoining_quarters(company: str) -> None:
    assert load_companies().get(company) is not None
    calendar = calendar_for(company)
    for year in range(1995, 2035):
        labels = [f"{year}Q{quarter}" for quarter in (1, 2, 3, 4)]
        ends = [period_end_of(calendar, label) for label in labels]
        starts = [period_start_of(calendar, label) for label in labels]
        assert all(75 <= (end - start).days + 1 <= 126 for start, end in zip(starts, ends, strict=True))
        assert [(b - a).days for a, b in zip(ends, starts[1:], strict=False)] == [1, 1, 1]
        assert period_start_of(calendar, f"{year + 1}Q1") > ends[3]
        for label, end in zip(labels, ends, strict=True):
            found = period_for(calendar, end)
            assert found is not None
            assert found.label == label


def test_a_day_on_which_no_period_ends_has_no_period() -> None:
    assert period_for(calendar_for("KO"), date(2025, 5, 15)) is None
    assert period_for(calendar_for("KO"), date(2025, 6, 30), "year") is None
    assert period_for(calendar_for("KO"), date(2025, 7, 20), nearest=True).label == "2025Q2"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("stated", "end", "label"),
    [
        ("--09-30", "2023-07-01", "2023Q3"),
        ("0930", "2022-12-24", "2023Q1"),
        ("--12-28", "2024-12-28", "2024Q4"),
        ("1202", "2022-12-02", "2022Q4"),
        ("0128", "2023-10-29", "2024Q3"),
        (None, "2023-06-30", "2023Q2"),
    ],
)
def test_an_unknown_issuer_is_dated_by_the_year_end_that_it_states(stated: str | None, end: str, label: str) -> None:
    period = period_for(calendar_for("somebody-new", stated), date.fromisoformat(end))
    assert period is not None
    assert period.label == label


def test_stated_year_ends_are_read_in_every_notation() -> None:
    assert {parse_year_end(t) for t in ("--09-30", "0930", "09-30", "2023-09-30", "September 30", "9/30")} == {(9, 30)}
    assert parse_year_end("soon") is None
    assert parse_year_end("1399") is None


def test_where_readings_differ_the_other_one_is_known() -> None:
    assert other_reading(calendar_for("FL"), "2022Q3") == "2023Q3"
    assert other_reading(calendar_for("NVDA"), "FY2024") == "FY2023"
    assert other_reading(calendar_for("AAPL"), "2026Q1") == "2025Q4"
    assert other_reading(calendar_for("KO"), "2026Q1") is None


def test_a_year_reports_its_last_quarter_and_a_year_to_date_its_quarter() -> None:
    assert labels_reported(parse_label("FY2022")) == ("FY2022", "2022Q4")
    assert labels_reported(parse_label("2022Q3YTD")) == ("2022Q3", "2022Q3YTD")
    assert labels_reported(parse_label("2022Q3")) == ("2022Q3",)


@pytest.mark.parametrize(
    ("company", "text", "labels"),
    [
        ("KO", "Q1 2026", ["2026Q1"]),
        ("KO", "2026Q1 and 2026 Q2", ["2026Q1", "2026Q2"]),
        ("KO", "Q1'26 or 1Q26 or Q1 FY26 or Q1/2026", ["2026Q1"] * 4),
        ("KO", "the first quarter of 2026", ["2026Q1"]),
        ("KO", "the second quarter of fiscal year 2026", ["2026Q2"]),
        ("KO", "third-quarter 2024 results", ["2024Q3"]),
        ("KO", "2025 second quarter", ["2025Q2"]),
        ("KO", "the three months ended March 31, 2026 and 2025", ["2026Q1", "2025Q1"]),
        ("KO", "nine months ended Sept. 30, 2025", ["2025Q3YTD"]),
        ("KO", "FY25, fiscal 2024, FY 2023", ["FY2025", "FY2024", "FY2023"]),
        ("KO", "year-end 2025", ["FY2025"]),
        ("KO", "2025 annual report", ["FY2025"]),
        ("KO", "Years ended December 31, 2023, 2022 and 2021", ["FY2023", "FY2022", "FY2021"]),
        ("KO", "fiscal years 2023, 2022 and 2021", ["FY2023", "FY2022", "FY2021"]),
        ("KO", "third quarters of 2024 and 2023", ["2024Q3", "2023Q3"]),
        ("KO", "the first nine months of 2024", ["2024Q3YTD"]),
        ("KO", "as of June 30, 2023 and December 31, 2022", ["2023Q2", "FY2022"]),
        ("KO", "fourth quarter and full-year 2022", ["2022Q4", "FY2022"]),
        ("KO", "from Q3 2025 to Q1 2026", ["2025Q3", "2026Q1"]),
        ("PEP", "12 Weeks Ended 9/6/2025", ["2025Q3"]),
        ("PEP", "36 weeks ended September 6, 2025 and September 7, 2024", ["2025Q3YTD", "2024Q3YTD"]),
        ("PEP", "the first 36 weeks of 2023 and the first 24 weeks of fiscal 2022", ["2023Q3YTD", "2022Q2YTD"]),
        ("PEP", "12 weeks ended September 2023", ["2023Q3"]),
        ("KO", "three months ended in June 2024, nine months of 2024", ["2024Q2", "2024Q3YTD"]),
        ("FL", "the first thirteen weeks of 2022", ["2022Q1"]),
        ("AAPL", "fiscal years ended September 24, 2022 and September 25, 2021", ["FY2022", "FY2021"]),
        ("FL", "thirteen weeks ended October 29, 2022", ["2022Q3"]),
        ("FL", "January 28, 2023", ["FY2022"]),
        ("KO", "2025年第四季 and 2024年度 and 2024年前三季度", ["2025Q4", "FY2024", "2024Q3YTD"]),
        ("KO", "截至2024年9月30日", ["2024Q3"]),
        ("KO", "$2,022 million, 2,023 shares, 3.125% notes due 2037, 10-K, Section 2024.1", []),
        ("KO", "on May 17, 2023 the board met", []),
        ("KO", "", []),
    ],
)
def test_periods_are_read_as_people_write_them(company: str, text: str, labels: list[str]) -> None:
    assert [m.label for m in parse_periods_in_text(text, calendar_for(company))] == labels


def test_a_mention_points_at_its_words_and_knows_how_sure_it_is() -> None:
    text = "In 2025 sales grew; in Q1 2026 they fell."
    bare, quarter = parse_periods_in_text(text, calendar_for("KO"))
    assert text[bare.start : bare.end] == "2025"
    assert not bare.explicit
    assert text[quarter.start : quarter.end] == "Q1 2026"
    assert quarter.explicit


def test_mentions_in_a_long_hostile_text_are_read_in_linear_time() -> None:
    import time

    calendar = calendar_for("KO")
    for piece in ("first ", "2025, ", "12 weeks ", "Q1 ", "ended ", "20", "三季度年", "and "):
        started = time.perf_counter()
        parse_periods_in_text(piece * (200_000 // len(piece)), calendar)
        assert time.perf_counter() - started < 3, piece


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("September 30, 2025", date(2025, 9, 30)),
        ("Sept. 24, 2022", date(2022, 9, 24)),
        ("30 June 2024", date(2024, 6, 30)),
        ("9/6/2025", date(2025, 9, 6)),
        ("9/6/25", date(2025, 9, 6)),
        ("2025-09-30", date(2025, 9, 30)),
        ("2024年9月30日", date(2024, 9, 30)),
        ("February 30, 2024", None),
        ("Smarch 3, 2024", None),
    ],
)
def test_dates_are_read_or_refused(written: str, day: date | None) -> None:
    assert parse_date(written) == day
