"""Under which label an issuer's own count puts a period that ends on a known day, for filings with a cover."""

import re
from dataclasses import dataclass
from datetime import date, timedelta

from finrag_pipelines.catalog.calendars import (
    FiscalCalendar,
    calendar_for,
    ending_at,
    load_calendars,
    parse_year_end,
    period_for,
)
from finrag_pipelines.catalog.period_mentions import count_word
from finrag_pipelines.catalog.periods import FiscalPeriod
from finrag_pipelines.parsing.identity import openings

_EVIDENCE_CHARACTERS = 400_000


@dataclass(frozen=True)
class Labelled:
    """A fiscal label with what it rests on, and a doubt where the sources differ."""

    label: str
    basis: str
    doubt: str | None = None


@dataclass(frozen=True)
class StatedFocus:
    """What a filing's dei facts state of its period: DocumentFiscalYearFocus, DocumentFiscalPeriodFocus and
    CurrentFiscalYearEndDate (which an EDGAR header may state instead); None for what is not stated."""

    year: str | None = None
    period: str | None = None
    year_end: str | None = None


def fiscal_label(text: str, day: date, quarterly: bool, company: str | None, stated: StatedFocus) -> Labelled:
    """Return the label that the issuer itself uses for the period that ends on `day`.

    The calendar of a known issuer decides, checked against the dei focus: where they differ, the label that the text
    uses more often wins, with a doubt. For other issuers the dei focus decides if the period's end allows it; else the
    quarter follows from the stated year end or from the longest year to date in the statements, and the year from the
    text where the fiscal year ends in January or February, which issuers name in two ways.
    """
    in_table = company in load_calendars()
    known = in_table or parse_year_end(stated.year_end) is not None
    calendar = calendar_for(company, stated.year_end) if known else _calendar_from_text(text, day, quarterly)
    own = period_for(calendar, day, "quarter" if quarterly else "year", nearest=True)
    if own is None:  # an annual period that ends off the stated year end: a changed fiscal year
        own = FiscalPeriod(day.year if day.day > 14 or day.month > 1 else day.year - 1)
    focus = _focus(stated, quarterly, day)
    if focus is None:
        own = own if in_table else _named_year(text, own, calendar)
        doubt = None
        if quarterly and own.quarter == 4:
            doubt = f"a quarterly report whose period ends with the fiscal year, {day}: the calendar is doubtful"
        return Labelled(own.label, "cover and fiscal calendar", doubt)
    if focus.label == own.label:
        return Labelled(own.label, "dei, as the fiscal calendar has it")
    if not in_table and (focus.quarter == own.quarter or not known):
        return Labelled(focus.label, "dei")
    mine, theirs = _label_mentions(text, own), _label_mentions(text, focus)
    chosen = focus if theirs > mine else own
    doubt = (
        f"the dei focus says {focus.label}, the fiscal calendar {own.label} for a period that ends on {day}; "
        f"the text uses them {theirs} and {mine} times: {chosen.label} counts"
    )
    return Labelled(chosen.label, "text: the label that it uses" if chosen is focus else "fiscal calendar", doubt)


def _focus(stated: StatedFocus, quarterly: bool, day: date) -> FiscalPeriod | None:
    """Return the period that the dei focus states, if the period's end allows it."""
    year, period = stated.year or "", (stated.period or "").upper()
    if not re.fullmatch(r"(?:19|20)\d\d", year) or abs(int(year) - day.year) > 1:
        return None
    if quarterly:
        return FiscalPeriod(int(year), int(period[1])) if re.fullmatch(r"Q[1-3]", period) else None
    return FiscalPeriod(int(year)) if period in ("FY", "Q4", "") else None


_YEAR_TO_DATE = re.compile(
    r"\b(?P<count>three|six|nine|\d{1,2}|twelve|thirteen|sixteen|twenty[- ]?(?:four|five|six|seven|eight)|"
    r"thirty[- ]?(?:six|nine)|forty)"
    r"[- ](?P<unit>months?|weeks?)(?: periods?)?[- ](?:then )?(?:ended|ending)\b",
    re.IGNORECASE,
)


def _calendar_from_text(text: str, day: date, quarterly: bool) -> FiscalCalendar:
    """Return the calendar that the statements imply: a year ends with an annual period; a quarter's place in its year
    follows from the longest year to date that the report shows."""
    if not quarterly:
        return ending_at(day.month, day.day)
    longest = 0
    for match in _YEAR_TO_DATE.finditer(" ".join(text[:_EVIDENCE_CHARACTERS].split())):
        count = count_word(match["count"].replace(" ", "-")) or 0
        months = count if match["unit"].lower().startswith("month") else round(count / 4.33)
        if months in (3, 4, 5, 6, 7, 9, 10):
            longest = max(longest, {4: 3, 5: 6, 7: 6, 10: 9}.get(months, months))
    if not longest:
        return calendar_for()
    rough = day + timedelta(days=round(30.44 * (12 - longest)))
    return ending_at(rough.month, rough.day)


def _label_mentions(text: str, period: FiscalPeriod) -> int:
    """Count how often the text uses a label: fiscal 2023, fiscal year 2023, third quarter of 2022."""
    ordinal = {1: "first", 2: "second", 3: "third", 4: "fourth"}.get(period.quarter or 0)
    pattern = rf"\b(?:fiscal(?: year)?|fy) ?{period.year}\b"
    if ordinal:
        pattern += rf"|\b{ordinal}[- ]quarters? (?:of )?(?:fiscal )?(?:year )?{period.year}\b"
    return len(re.findall(pattern, " ".join(text[:_EVIDENCE_CHARACTERS].split()), re.IGNORECASE))


def _named_year(text: str, period: FiscalPeriod, calendar: FiscalCalendar) -> FiscalPeriod:
    """Return the period under the year by which the text names it, where its fiscal year ends early in a calendar year
    and issuers differ."""
    if calendar.month not in (1, 2):
        return period
    earlier = FiscalPeriod(period.year - 1, period.quarter, end=period.end)
    return earlier if _label_mentions(text, earlier) > _label_mentions(text, period) else period


def annual_report_end(text: str, company: str | None) -> date | None:
    """Return the day on which the year of an annual report to shareholders ended, or None where it names no year."""
    year = openings.annual_report_year(text)
    if year is None:
        return None
    stated = re.search(r"\byears? ended (?:on )?([A-Za-z]{3,9}\.? \d{1,2})\b", " ".join(text[:20_000].split()))
    month_day = parse_year_end(stated[1]) if stated else None
    return ending_at(*month_day).year_end(year) if month_day else calendar_for(company).year_end(year)
