"""Of which quarter a call or a press release speaks. It opens with it, mostly; else dates tell."""

import re
from dataclasses import dataclass
from datetime import date, timedelta

from finrag_pipelines.catalog.calendars import FiscalCalendar, calendar_for, locate, period_end_of
from finrag_pipelines.catalog.companies import repair_encoding
from finrag_pipelines.catalog.period_mentions import PeriodMention, parse_periods_in_text
from finrag_pipelines.catalog.periods import parse_label
from finrag_pipelines.parsing.identity import openings

_HEAD = 2_500
_EVIDENCE_CHARACTERS = 400_000
_DAYS_TO_REPORT = 5  # nobody reports a quarter sooner after its end


@dataclass(frozen=True)
class Spoken:
    """The label of the period of which a document speaks, what that rests on, and a doubt where there is one."""

    label: str
    basis: str
    doubt: str | None = None
    end: date | None = None


def period_of_call(text: str, stated: str, day: date | None, calendar: FiscalCalendar) -> Spoken | None:
    """Return the period of a call, or None. `stated` is what its container says of the quarter, `day` its date.

    The first quarter that the opening names with a year counts, unless the list of quarterly reports in the call
    contradicts it. Where the year is missing, that list, the date, or the years of which the call speaks give it; where
    no quarter is named, it is the last one that had ended.
    """
    mentions = _mentions(f"{stated}\n{repair_encoding(text[: openings.OPENING_CHARACTERS])}", calendar)
    ordinal, listed_year, doubt = openings.call_quarter(text)
    if doubt:
        return Spoken(f"{listed_year}Q{ordinal}", "text: the reports that the call lists", doubt)
    named = next((m for m in mentions if m.duration == "quarter"), None)
    if named:
        return Spoken(named.label, "opening", end=named.period_end)
    if ordinal and listed_year:
        return Spoken(f"{listed_year}Q{ordinal}", "opening and the reports that the call lists")
    if ordinal and day:
        return _or_none(_quarter_before(calendar, day, ordinal), "opening and date of the call")
    if ordinal:
        year = _spoken_year(text)
        doubt = f"the call gives no date; its year, {year}, is inferred from the years of which it speaks"
        return Spoken(f"{year}Q{ordinal}", "opening, and the years of which the call speaks", doubt) if year else None
    if day:
        label = _quarter_before(calendar, day, None)
        doubt = f"the call names no quarter; {label} had ended last before it"
        return _or_none(label, "date of the call: the last quarter that had ended", doubt)
    return _year_named(mentions)


def period_of_release(text: str, day: date | None, calendar: FiscalCalendar) -> Spoken | None:
    """Return the period whose results a press release reports, or None where it reports none: the quarter of its
    headline, with the year that it names or that its date gives; else the year of which it reports results."""
    opening = repair_encoding(text[: openings.OPENING_CHARACTERS])
    mentions = _mentions(opening, calendar)
    quarters = [m for m in mentions if m.duration == "quarter"]
    ordinal = openings.named_quarter(opening[:600])
    if ordinal is not None:
        named = next((m for m in quarters if parse_label(m.label).quarter == ordinal), None)
        if named:
            return Spoken(named.label, "opening", end=named.period_end)
        return _or_none(_quarter_before(calendar, day, ordinal), "opening and date") if day else None
    if quarters:
        return Spoken(quarters[0].label, "opening", end=quarters[0].period_end)
    return _year_named(mentions) if re.search(r"\bresults\b", opening[:600], re.IGNORECASE) else None


def end_of_spoken(spoken: Spoken, day: date | None, calendar: FiscalCalendar, known: bool) -> date:
    """Return the last day of the period of a call or release: as stated; else by the calendar of a known issuer; else
    the end of a calendar quarter that lies shortly before the date."""
    if spoken.end is not None:
        return spoken.end
    plain = period_end_of(calendar, spoken.label)
    if known or day is None or timedelta(days=_DAYS_TO_REPORT) <= day - plain <= timedelta(days=120):
        return plain
    before = locate(calendar_for(), day - timedelta(days=50), 50)
    return before[2] if before and before[2] < day else plain


def _mentions(opening: str, calendar: FiscalCalendar) -> list[PeriodMention]:
    return parse_periods_in_text(" ".join(opening[:_HEAD].split()), calendar)


def _or_none(label: str | None, basis: str, doubt: str | None = None) -> Spoken | None:
    return Spoken(label, basis, doubt) if label else None


def _year_named(mentions: list[PeriodMention]) -> Spoken | None:
    year = next((m for m in mentions if m.duration in ("year", "ytd") and m.explicit), None)
    return Spoken(year.label, "opening", end=year.period_end) if year else None


def _quarter_before(calendar: FiscalCalendar, day: date, quarter: int | None) -> str | None:
    """Return the label of the last quarter (of that number, if given) that had ended some days before `day`."""
    ends = sorted(
        (end, number, calendar.label_year(ending))
        for ending in (day.year - 1, day.year, day.year + 1)
        for number, end in enumerate(calendar.quarter_ends(ending), start=1)
        if quarter in (None, number) and end <= day - timedelta(days=_DAYS_TO_REPORT)
    )
    return f"{ends[-1][2]}Q{ends[-1][1]}" if ends else None


_THIS_YEAR = re.compile(
    r"\b(?:rest|remainder|balance|majority|most|part|start|beginning|first half|first quarter|first nine months) of "
    r"(?:fiscal |the year )?(20[0-4]\d)\b",
    re.IGNORECASE,
)
_NEXT_YEAR = re.compile(
    r"\b(?:look(?:ing)? (?:ahead |forward |out )?(?:in)?to(?:wards?)?|head(?:ing)? into|going into|go into|"
    r"considerations (?:for|on)|"
    r"thoughts (?:for|on|about)|regarding|enter(?:ing)?|preview (?:of|for)|roll off in) (?:fiscal )?(20[0-4]\d)\b",
    re.IGNORECASE,
)


def _spoken_year(text: str) -> int | None:
    """Return the year in which a call without a date speaks: the one in whose rest or first half it places itself, if
    what it looks ahead to is the year after, each said more than once and never otherwise. Else None."""
    flat = " ".join(text[:_EVIDENCE_CHARACTERS].split())
    now, ahead = _THIS_YEAR.findall(flat), _NEXT_YEAR.findall(flat)
    if len(now) < 2 or len(ahead) < 2 or len(set(now)) > 1 or len(set(ahead)) > 1:
        return None
    return int(now[0]) if int(ahead[0]) == int(now[0]) + 1 else None
