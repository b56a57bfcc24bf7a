"""Mentions of fiscal periods in running text and questions: Q1 2026, 1Q26, three months ended March 31, 2026, FY25.

Every pattern is linear. Relative words ("last quarter", "latest") and ranges are the question planner's matter.
"""

import re
from datetime import date
from typing import NamedTuple

from finrag_pipelines.catalog.calendars import FiscalCalendar, locate, period_for

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"(?:\d{1,2})(?:st|nd|rd|th)?"
_GAP = r"[\s,]{1,4}"
_YEAR4 = r"(?:19[5-9]\d|20[0-6]\d)"
_DATE = (
    rf"(?:{_MONTH}\s{{1,3}}{_DAY}{_GAP}{_YEAR4}|{_DAY}[-\s]{{1,3}}{_MONTH}[-\s,]{{1,4}}{_YEAR4}"
    rf"|\d{{1,2}}/\d{{1,2}}/(?:{_YEAR4}|\d{{2}})\b|{_YEAR4}-\d{{2}}-\d{{2}}"
    rf"|{_YEAR4}\s?年\s?\d{{1,2}}\s?月\s?\d{{1,2}}\s?日)"
)
_ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "final": 4}
_ORDINAL = r"(?:first|second|third|fourth|1st|2nd|3rd|4th)"
_NUMBERS = {
    **{
        w: n
        for n, w in enumerate(
            ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=1
        )
    },
    "thirteen": 13,
    "fourteen": 14,
    "sixteen": 16,
    "seventeen": 17,
    "twenty-four": 24,
    "twenty-six": 26,
    "twenty-seven": 27,
    "twenty-eight": 28,
    "thirty-six": 36,
    "thirty-nine": 39,
    "forty": 40,
    "fifty-two": 52,
    "fifty-three": 53,
}
_COUNT = r"(?:\d{1,2}|" + "|".join(w.replace("-", r"[-\s]") for w in sorted(_NUMBERS, key=len, reverse=True)) + ")"
_FISCAL = r"(?:fiscal(?:\s+years?)?\s+|fy\s?|year\s+|calendar\s+(?:year\s+)?)"
_SHORT = r"(?:['’]\s?\d{2}|\d{2})"

# What stands over the columns of a statement: "Three Months Ended", "36 Weeks Ended", "Fiscal Year Ended".
DURATION_WORDS = (
    rf"(?:\b(?P<count>{_COUNT})[-\s]{{1,2}}(?P<unit>months?|weeks?)(?:\s+periods?)?"
    r"|\b(?P<span>(?:fiscal\s+)?year[-\s]to[-\s]date(?:\s+periods?)?|(?:fiscal\s+)?(?:full[-\s])?years?"
    r"|(?:fiscal\s+)?quarters?|quarterly\s+periods?))"
    r"\s{0,3}(?:then\s+)?(?:ended|ending|end)\b"
)
_DURATION_ENDED = re.compile(rf"{DURATION_WORDS}[:\s]{{0,4}}(?:on\s+)?(?P<date>{_DATE})", re.IGNORECASE)
_QUARTER_YEAR = re.compile(
    rf"\b(?P<ordinal>{_ORDINAL})[-\s]{{1,2}}(?:fiscal\s+)?quarters?,?(?:\s{{1,3}}(?:and|of|for|in|full[-\s]year|the|"
    rf"first\s+(?:six|nine)\s+months|results)){{0,4}}\s{{1,3}}(?P<fiscal>{_FISCAL})?"
    rf"(?P<year>{_YEAR4}|(?<=fy)\d\d|(?<=fy\s)\d\d|['’]\d\d)\b",
    re.IGNORECASE,
)
_YEAR_QUARTER = re.compile(
    rf"\b(?P<fiscal>{_FISCAL})?(?P<year>{_YEAR4})['’]?s?[-\s]{{1,2}}(?P<ordinal>{_ORDINAL})[-\s]{{1,2}}"
    r"(?:fiscal\s+)?quarter\b",
    re.IGNORECASE,
)
_Q_YEAR = re.compile(
    rf"\b(?:f?q(?P<q1>[1-4])|(?P<q2>[1-4])q)(?:\s?[-/]\s?|[\s,]{{0,2}}(?:of\s+)?)(?P<fiscal>{_FISCAL})?"
    rf"(?P<year>{_YEAR4}|{_SHORT})\b(?!\s?%|[.,]\d)",
    re.IGNORECASE,
)
_Q_AND_YEAR = re.compile(
    rf"\b(?:q(?P<q1>[1-4])|(?P<q2>[1-4])q)\s?(?:and|&)\s?(?:full|fiscal)[-\s]years?\s(?P<year>{_YEAR4})\b",
    re.IGNORECASE,
)
_YEAR_Q = re.compile(
    rf"\b(?P<fiscal>{_FISCAL})?(?P<year>{_YEAR4}|(?<=fy)\d\d|(?<=fy\s)\d\d)[-\s]?f?q(?P<q>[1-4])(?P<ytd>\s?ytd)?\b",
    re.IGNORECASE,
)
_PART_YEAR = re.compile(
    rf"\b(?:first\s+(?P<part>half|six\s+months|nine\s+months|three\s+quarters|two\s+quarters)|(?P<h>1h|h1))"
    rf"(?:\s{{1,3}}(?:of|in))?\s{{0,3}}(?P<fiscal>{_FISCAL})?(?P<year>{_YEAR4}|['’]\d\d)\b",
    re.IGNORECASE,
)
_WEEKS_OF_YEAR = re.compile(
    rf"\b(?P<count>{_COUNT})[-\s]{{1,2}}(?P<unit>months?|weeks?)(?:\s+periods?)?\s{{1,3}}(?:of|in)\s{{1,3}}"
    rf"(?P<fiscal>{_FISCAL})?(?P<year>{_YEAR4})\b",
    re.IGNORECASE,
)
_ENDED_IN_MONTH = re.compile(
    rf"{DURATION_WORDS}\s{{0,4}}(?:in\s+)?(?P<month>{_MONTH}){_GAP}(?P<year>{_YEAR4})\b", re.IGNORECASE
)
_FISCAL_YEAR = re.compile(
    rf"\b(?:fiscal(?:[-\s]+years?)?|fy|full[-\s]years?|years?[-\s]end(?:ed)?|calendar\s+years?|years?)"
    rf"(?P<gap>[\s-]{{0,3}})(?P<year>{_YEAR4}|['’]\d\d|\d\d(?=\b))\b(?!\s?%|[.,]\d|[-/]\d)",
    re.IGNORECASE,
)
_AS_OF = re.compile(
    rf"(?:\b(?:as\s+(?:of|at)|at|balance\s+at|ended|ending)\s{{1,3}}(?:the\s+)?|截[至止]\s?)(?P<date>{_DATE})",
    re.IGNORECASE,
)
_ANY_DATE = re.compile(rf"(?<![A-Za-z0-9/-])(?P<date>{_DATE})(?![\d/-])", re.IGNORECASE)
_BARE_YEAR = re.compile(r"(?<![\w$€£.,/#&-])(?P<year>(?:19[89]\d|20[0-4]\d))(?![\w%/]|[.,]\d|-\d)")
_MORE = re.compile(
    rf"\s{{0,3}}(?:,|;|and|versus|vs\.?|to|compared\s+(?:to|with)|or|&|respectively)?\s{{0,3}}(?:and\s{{1,3}})?"
    rf"(?P<what>{_DATE}|{_YEAR4}(?![\w%/]|[.,]\d|-\d))",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"(?P<year>(?:19|20)\d\d)\s?年\s?(?:第?(?P<q>[一二三四1-4])季度?|(?P<half>上半年|半年度)|(?P<nine>前三季度|前三季)"
    r"|(?P<full>年度|全年|度))"
)
_MAY_NUMBER_QUARTER = re.compile(r"q[1-4]|[1-4]q")
_CHINESE_QUARTER = {"一": 1, "二": 2, "三": 3, "四": 4, "1": 1, "2": 2, "3": 3, "4": 4}

DURATIONS = ("quarter", "ytd", "year", "instant")


class PeriodMention(NamedTuple):
    """A period named in a text: its range, its label by the issuer's count, the stated end where there is one, and
    `duration` (quarter, ytd, year, instant). `explicit` is False for a bare year, which may mean other things."""

    start: int
    end: int
    label: str
    period_end: date | None
    duration: str
    explicit: bool = True


def parse_date(text: str) -> date | None:
    """Return the day written as `September 30, 2025`, `30 Sept. 2025`, `9/6/2025`, `2025-09-30`, `2025年9月30日`;
    None for anything else. Numeric dates are month first, as US filings write them."""
    text = " ".join(re.sub(r"(?<=\d)-(?=[A-Za-z])|(?<=[A-Za-z.])-(?=\d)|,", " ", text).split())
    numeric = re.fullmatch(r"(\d{1,2})/(\d{1,2})/(\d{2,4})", text)
    iso = re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", text) or re.fullmatch(
        r"(\d{4})\s?年\s?(\d{1,2})\s?月\s?(\d{1,2})\s?日", text
    )
    named = re.fullmatch(r"([A-Za-z]{3})[a-z]*\.? (\d{1,2})(?:st|nd|rd|th)? (\d{4})", text, re.IGNORECASE)
    day_first = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)? ([A-Za-z]{3})[a-z]*\.? (\d{4})", text, re.IGNORECASE)
    try:
        if numeric:
            return date(_full_year(numeric[3]), int(numeric[1]), int(numeric[2]))
        if iso:
            return date(int(iso[1]), int(iso[2]), int(iso[3]))
        if named:
            return date(int(named[3]), MONTHS.index(named[1].lower()) + 1, int(named[2]))
        if day_first:
            return date(int(day_first[3]), MONTHS.index(day_first[2].lower()) + 1, int(day_first[1]))
    except ValueError:
        return None
    return None


def find_dates(text: str) -> list[tuple[int, int, date]]:
    """Return the full dates in a text with their ranges, in order."""
    found = ((m.start("date"), m.end("date"), parse_date(m["date"])) for m in _ANY_DATE.finditer(text))
    return [(start, end, day) for start, end, day in found if day]


def count_word(text: str) -> int | None:
    """Return the number that a word or numeral of a duration says ("twelve", "36", "twenty-six"), or None."""
    text = "-".join(text.lower().split())
    return int(text) if text.isdigit() else _NUMBERS.get(text)


def duration_of(count: int, unit: str, year_weeks: int = 52) -> str | None:
    """Return quarter, ytd or year for a number of months or weeks, or None for one that is no reporting period."""
    if unit.lower().startswith("month"):
        return {3: "quarter", 6: "ytd", 9: "ytd", 12: "year"}.get(count)
    if count in (12, 13, 14, 16, 17):
        return "quarter"
    if count in (52, 53):
        return "year"
    return "ytd" if 24 <= count <= 41 else None


def parse_periods_in_text(text: str, calendar: FiscalCalendar) -> list[PeriodMention]:
    """Return the periods that `text` names, in order, labelled by the issuer's calendar. Overlapping readings are
    resolved in favour of the more specific one; a list ("2023, 2022 and 2021") yields each of its members."""
    found: list[PeriodMention] = []
    taken = bytearray(len(text))

    def add(start: int, end: int, label: str | None, day: date | None, duration: str, explicit: bool = True) -> bool:
        if label is None or any(taken[start:end]):
            return False
        taken[start:end] = b"\x01" * (end - start)
        found.append(PeriodMention(start, end, label, day, duration, explicit))
        return True

    def follow(end: int, month_day: tuple[int, int] | None, duration: str, quarter: int | None) -> None:
        """Read on after a mention: ", 2022 and 2021", "and September 3, 2022"."""
        for _ in range(6):
            more = _MORE.match(text, end)
            if not more:
                return
            day = parse_date(more["what"])
            if day is None and month_day is not None:
                day = _safe_date(int(more["what"]), *month_day)
            if day is not None:
                label = _label_at(calendar, day, duration)
            else:
                label = _label_of(int(more["what"]), quarter, duration)
            if not add(more.start("what"), more.end("what"), label, day, duration):
                return
            end = more.end("what")

    # Most texts hold few of the words that these patterns need: to look for a word first is many times faster.
    low = text.lower()
    quarters, numbered = "quarter" in low, _MAY_NUMBER_QUARTER.search(low) is not None
    for m in _DURATION_ENDED.finditer(text) if "end" in low else ():
        duration, day = _span_duration(m), parse_date(m["date"])
        if duration is None or day is None:
            continue
        if add(m.start(), m.end(), _label_at(calendar, day, duration), day, duration):
            follow(m.end(), (day.month, day.day), duration, None)
    for m in _ENDED_IN_MONTH.finditer(text) if "end" in low else ():
        duration, day = _span_duration(m), _quarter_end_in(calendar, m["month"], int(m["year"]))
        if duration is not None and day is not None:
            add(m.start(), m.end(), _label_at(calendar, day, duration), None, duration)
    for m in _WEEKS_OF_YEAR.finditer(text) if "week" in low or "month" in low else ():
        add(m.start(), m.end(), _label_of_span(m), None, _span_duration(m) or "")
    for m in _QUARTER_YEAR.finditer(text) if quarters else ():
        quarter, year = _ORDINALS[m["ordinal"].lower()], _full_year(m["year"])
        if add(m.start(), m.end(), f"{year}Q{quarter}", None, "quarter"):
            if re.search(r"full[-\s]year", m[0], re.IGNORECASE):
                found.append(PeriodMention(m.start("year"), m.end("year"), f"FY{year}", None, "year"))
            if re.search(r"first\s+(?:six|nine)\s+months", m[0], re.IGNORECASE) and quarter > 1:
                found.append(PeriodMention(m.start("year"), m.end("year"), f"{year}Q{quarter}YTD", None, "ytd"))
            follow(m.end(), None, "quarter", quarter)
    for m in _Q_AND_YEAR.finditer(text) if numbered else ():
        if add(m.start(), m.end(), f"{m['year']}Q{m['q1'] or m['q2']}", None, "quarter"):
            found.append(PeriodMention(m.start("year"), m.end("year"), f"FY{m['year']}", None, "year"))
    for m in _YEAR_QUARTER.finditer(text) if quarters else ():
        add(m.start(), m.end(), f"{m['year']}Q{_ORDINALS[m['ordinal'].lower()]}", None, "quarter")
    for m in _YEAR_Q.finditer(text) if numbered else ():
        ytd = bool(m["ytd"]) and m["q"] != "1"
        label = f"{_full_year(m['year'])}Q{m['q']}{'YTD' if ytd else ''}"
        add(m.start(), m.end(), label, None, "ytd" if ytd else "quarter")
    for m in _Q_YEAR.finditer(text) if numbered else ():
        quarter = int(m["q1"] or m["q2"])
        if add(m.start(), m.end(), f"{_full_year(m['year'])}Q{quarter}", None, "quarter"):
            follow(m.end(), None, "quarter", quarter)
    for m in _PART_YEAR.finditer(text) if "first" in low or "1h" in low or "h1" in low else ():
        nine = (m["part"] or "").lower().startswith(("nine", "three"))
        add(m.start(), m.end(), f"{_full_year(m['year'])}Q{3 if nine else 2}YTD", None, "ytd")
    for m in _CHINESE.finditer(text) if "年" in text else ():
        year = int(m["year"])
        if m["q"]:
            add(m.start(), m.end(), f"{year}Q{_CHINESE_QUARTER[m['q']]}", None, "quarter")
        elif m["full"]:
            add(m.start(), m.end(), f"FY{year}", None, "year")
        else:
            add(m.start(), m.end(), f"{year}Q{2 if m['half'] else 3}YTD", None, "ytd")
    for m in _AS_OF.finditer(text):
        day = parse_date(m["date"])
        if day and add(m.start(), m.end(), _label_at(calendar, day, "instant"), day, "instant"):
            follow(m.end(), (day.month, day.day), "instant", None)
    for m in _ANY_DATE.finditer(text):
        day = parse_date(m["date"])
        if day is None or any(taken[m.start() : m.end()]):
            continue
        near = locate(calendar, day, 1)
        if not (near and add(m.start(), m.end(), _label_at(calendar, day, "instant"), day, "instant", False)):
            taken[m.start() : m.end()] = b"\x01" * (m.end() - m.start())  # its year is no period
    for m in _FISCAL_YEAR.finditer(text):
        short = len(m["year"].strip("'’")) == 2
        if short and not m[0].lower().startswith("fy") and "'" not in m["year"] and "’" not in m["year"]:
            continue
        if add(m.start(), m.end(), f"FY{_full_year(m['year'])}", None, "year"):
            follow(m.end(), None, "year", None)
    for m in _BARE_YEAR.finditer(text):
        if text[max(0, m.start() - 4) : m.start()].lower() == "due ":
            continue
        add(m.start(), m.end(), f"FY{m['year']}", None, "year", False)
    return sorted(found)


def _span_duration(match: re.Match[str]) -> str | None:
    if match["count"]:
        count = count_word(match["count"])
        return duration_of(count, match["unit"]) if count else None
    span = match["span"].lower()
    if "quarter" in span:
        return "quarter"
    return "ytd" if "date" in span else "year"


def _quarter_end_in(calendar: FiscalCalendar, month: str, year: int) -> date | None:
    """Return the end of the issuer's quarter that is meant by a month without a day: the nearest to its middle."""
    found = locate(calendar, date(year, MONTHS.index(month[:3].lower()) + 1, 15), 20)
    return found[2] if found else None


def _label_of_span(match: re.Match[str]) -> str | None:
    """Return the label of `first 36 weeks of 2023`: how much of the year it is says which quarter it ends with. None
    for `12 weeks of 2023`, which may be any quarter, unless they are said to be the first."""
    count, year = count_word(match["count"]) or 0, int(match["year"])
    duration = duration_of(count, match["unit"])
    if duration == "year":
        return f"FY{year}"
    if duration == "ytd":
        past_half = count > 6 if match["unit"].lower().startswith("month") else count > 28
        return f"{year}Q{3 if past_half else 2}YTD"
    is_first = re.search(r"\bfirst\s+$", match.string[max(0, match.start() - 8) : match.start()], re.IGNORECASE)
    return f"{year}Q1" if duration and is_first else None


def _label_at(calendar: FiscalCalendar, day: date, duration: str) -> str | None:
    period = period_for(calendar, day, duration) or period_for(calendar, day, duration, nearest=duration != "instant")
    return period.label if period else None


def _label_of(year: int, quarter: int | None, duration: str) -> str:
    if duration == "year" or quarter is None:
        return f"FY{year}"
    return f"{year}Q{quarter}"


def _full_year(text: str) -> int:
    """Return the year of `2025`, `25` or `'25`; two digits from 70 on are of the last century."""
    digits = re.sub(r"\D", "", text)
    year = int(digits)
    if len(digits) > 2:
        return year
    return 1900 + year if year >= 70 else 2000 + year


def _safe_date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return date(year, month, 28) if month == 2 else None
