"""Fiscal calendars: when an issuer's year and quarters end and what it calls them, as data in fiscal_calendars.json.

Labels follow the issuer's own count. Most count a year by the calendar year in which it ends (Nvidia's year that ends
in January 2024 is fiscal 2024); many retailers count by the year in which it starts (Foot Locker's year that ends in
January 2023 is 2022). `other_reading` gives the label under the opposite count, for questions that use it.
"""

import json
import re
from calendar import monthrange
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path

from finrag_pipelines.catalog.periods import FiscalPeriod, parse_label

_TABLE = Path(__file__).with_name("fiscal_calendars.json")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
TOLERANCE_DAYS = 7
_NEAREST_DAYS = 45


@dataclass(frozen=True)
class FiscalCalendar:
    """How a fiscal year is cut.

    The year ends in `month`: at its end (`month_end`), on its last `weekday` (`last_weekday`), or on the `weekday`
    nearest to `day` of it (`nearest_weekday`). `weeks` are the lengths of the four quarters where they are uneven;
    a 53rd week falls into quarter `long_quarter`. `label` says which calendar year names the fiscal year: that in which
    it `ends` or `starts`.
    """

    id: str
    month: int = 12
    rule: str = "month_end"
    day: int | None = None
    weekday: str | None = None
    weeks: tuple[int, ...] = ()
    long_quarter: int = 4
    label: str = "ends"

    def year_end(self, ending: int) -> date:
        """Return the last day of the fiscal year that ends, by its rule, in the calendar year `ending`. It may fall
        a few days into the next month or year."""
        last = date(ending, self.month, monthrange(ending, self.month)[1])
        if self.rule == "month_end" or self.weekday is None:
            return last
        target = _WEEKDAYS.index(self.weekday)
        if self.rule == "last_weekday":
            return last - timedelta(days=(last.weekday() - target) % 7)
        anchor = date(ending, self.month, min(self.day or last.day, last.day))
        ahead = (target - anchor.weekday()) % 7
        return anchor + timedelta(days=ahead if ahead <= 3 else ahead - 7)

    def quarter_ends(self, ending: int) -> tuple[date, date, date, date]:
        """Return the last days of the four quarters of the fiscal year that ends in the calendar year `ending`."""
        return _quarter_ends(self, ending)

    def label_year(self, ending: int) -> int:
        """Return the year by which the issuer names the fiscal year that ends in the calendar year `ending`."""
        return ending - 1 if self.label == "starts" else ending

    def ending_year(self, label_year: int) -> int:
        """Return the calendar year in which the fiscal year that the issuer calls `label_year` ends."""
        return label_year + 1 if self.label == "starts" else label_year


CALENDAR_YEAR = FiscalCalendar("calendar-year")


@lru_cache(maxsize=4096)
def _quarter_ends(calendar: FiscalCalendar, ending: int) -> tuple[date, date, date, date]:
    year_end = calendar.year_end(ending)
    if calendar.rule == "month_end":
        first, second, third = (_months_before(ending, calendar.month, months) for months in (9, 6, 3))
        return first, second, third, year_end
    start = calendar.year_end(ending - 1)
    weeks = list(calendar.weeks or (13, 13, 13, 13))
    weeks[calendar.long_quarter - 1] += (year_end - start).days // 7 - 52
    first = start + timedelta(weeks=weeks[0])
    second = first + timedelta(weeks=weeks[1])
    return first, second, second + timedelta(weeks=weeks[2]), year_end


def _months_before(year: int, month: int, months: int) -> date:
    index = year * 12 + (month - 1) - months
    return date(index // 12, index % 12 + 1, monthrange(index // 12, index % 12 + 1)[1])


@lru_cache(maxsize=1)
def load_calendars() -> dict[str, FiscalCalendar]:
    """Return the calendar of each company in fiscal_calendars.json, by company id."""
    calendars: dict[str, FiscalCalendar] = {}
    for row in json.loads(_TABLE.read_text(encoding="utf-8")):
        calendar = FiscalCalendar(
            id=row["id"],
            month=row["month"],
            rule=row["rule"],
            day=row.get("day"),
            weekday=row.get("weekday"),
            weeks=tuple(row.get("weeks", ())),
            long_quarter=row.get("long_quarter", 4),
            label=row["label"],
        )
        calendars.update((company, calendar) for company in row["companies"])
    return calendars


def parse_year_end(text: str | None) -> tuple[int, int] | None:
    """Return (month, day) of a stated fiscal year end: `--09-30`, `0930`, `12/31`, `2023-12-31`, `December 31`."""
    text = (text or "").strip()
    match = (
        re.fullmatch(r"-{0,2}(\d{2})[-/]?(\d{2})", text)
        or re.fullmatch(r"(\d{1,2})/(\d{1,2})", text)
        or re.fullmatch(r"\d{4}-(\d{2})-(\d{2})", text)
    )
    if match:
        month, day = int(match[1]), int(match[2])
    else:
        named = re.match(r"([A-Za-z]{3})[A-Za-z]*\.?\s+(\d{1,2})\b", text)
        if not named or named[1].lower() not in _MONTHS:
            return None
        month, day = _MONTHS.index(named[1].lower()) + 1, int(named[2])
    return (month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def calendar_for(
    company: str | None = None, fiscal_year_end: str | None = None, label: str | None = None
) -> FiscalCalendar:
    """Return the fiscal calendar of a company.

    A company in the table has its own. For any other the stated year end counts (dei `--09-30`, SGML `0930`), taken
    to the nearest end of a month, since 52-week years drift around it; with nothing stated, the calendar year.
    `label` (`ends`, `starts`) overrides how years are named, where a document shows it.
    """
    calendar = load_calendars().get(company or "")
    if calendar is None:
        stated = parse_year_end(fiscal_year_end)
        calendar = CALENDAR_YEAR if stated is None else ending_at(*stated)
    return replace(calendar, label=label) if label else calendar


def ending_at(month: int, day: int) -> FiscalCalendar:
    """Return the calendar of a year that ends near this day: at the nearest end of a month."""
    if day <= 14:
        month = 12 if month == 1 else month - 1
    return CALENDAR_YEAR if month == 12 else FiscalCalendar(f"month-end-{month:02d}", month)


def locate(calendar: FiscalCalendar, day: date, tolerance_days: int = TOLERANCE_DAYS) -> tuple[int, int, date] | None:
    """Return (ending year, quarter, nominal end) of the quarter that ends nearest to `day`, or None where no quarter
    ends within the tolerance."""
    best = min(
        (
            (abs((end - day).days), ending, quarter, end)
            for ending in (day.year - 1, day.year, day.year + 1)
            for quarter, end in enumerate(calendar.quarter_ends(ending), start=1)
        ),
        key=lambda candidate: (candidate[0], candidate[3]),
    )
    return best[1:] if best[0] <= tolerance_days else None


def period_for(
    calendar: FiscalCalendar, period_end: date, duration: str = "quarter", nearest: bool = False
) -> FiscalPeriod | None:
    """Return the fiscal period that ends on `period_end`, by the issuer's own count.

    `duration` is quarter, ytd, year or instant, or a form (10-K, 10-Q). The end may be up to 7 days off the calendar;
    with `nearest` the closest quarter counts, for issuers whose calendar is known only by its year end. An instant at
    the end of a year belongs to the year. None where no period ends there.
    """
    found = locate(calendar, period_end, _NEAREST_DAYS if nearest else TOLERANCE_DAYS)
    if found is None:
        return None
    ending, quarter, _ = found
    year = calendar.label_year(ending)
    kind = _DURATION_OF_FORM.get(duration.removesuffix("/A"), duration)
    if kind == "year":
        return FiscalPeriod(year, end=period_end) if quarter == 4 else None
    if quarter == 4 and kind in ("ytd", "instant"):
        return FiscalPeriod(year, end=period_end)
    return FiscalPeriod(year, quarter, ytd=kind == "ytd" and quarter > 1, end=period_end)


_DURATION_OF_FORM = {"10-K": "year", "10-K405": "year", "10-KSB": "year", "20-F": "year", "40-F": "year"} | {
    "10-Q": "quarter",
    "10-QSB": "quarter",
}


def period_end_of(calendar: FiscalCalendar, label: str) -> date:
    """Return the last day of the period with this label, by the calendar's rule. Raises ValueError for a bad label."""
    period = parse_label(label)
    return calendar.quarter_ends(calendar.ending_year(period.year))[(period.quarter or 4) - 1]


def period_start_of(calendar: FiscalCalendar, label: str) -> date:
    """Return the first day of the period with this label, by the calendar's rule."""
    period = parse_label(label)
    ending = calendar.ending_year(period.year)
    if period.quarter in (None, 1) or period.ytd:
        return calendar.quarter_ends(ending - 1)[3] + timedelta(days=1)
    return calendar.quarter_ends(ending)[period.quarter - 2] + timedelta(days=1)


def labels_reported(period: FiscalPeriod) -> tuple[str, ...]:
    """Return the labels that a statement for this period reports: a year also reports its last quarter, a year to date
    its quarter."""
    if period.quarter is None:
        return (period.label, f"{period.year}Q4")
    if period.ytd:
        return (f"{period.year}Q{period.quarter}", period.label)
    return (period.label,)


def other_reading(calendar: FiscalCalendar, label: str) -> str | None:
    """Return the label under which others may know the issuer's period `label`, where the readings differ.

    For an issuer that names its year by the start, the reading by the year of the end (Foot Locker's 2022Q3 is 2023Q3
    to those who count that way). For one that names it by the end, the calendar reading of the period's middle
    (Nvidia's FY2024 is mostly calendar 2023; Apple's 2026Q1 is calendar 2025Q4). None where both agree.
    """
    period = parse_label(label)
    if calendar.label == "starts":
        return replace(period, year=period.year + 1).label
    if period.ytd:
        return None
    start, end = period_start_of(calendar, label), period_end_of(calendar, label)
    middle = start + (end - start) / 2
    reading = (
        FiscalPeriod(middle.year) if period.quarter is None else FiscalPeriod(middle.year, (middle.month - 1) // 3 + 1)
    )
    return reading.label if reading.label != label else None
