"""Which periods a question names: absolute ones by the issuer's calendar, relative ones from the catalog.

Absolute mentions are read by catalog/period_mentions.py; ranges, "latest" and "last quarter" are read here.
"""

import re
from dataclasses import dataclass
from datetime import date

from finrag_pipelines.catalog.calendars import calendar_for
from finrag_pipelines.catalog.period_mentions import parse_date, parse_periods_in_text
from finrag_pipelines.catalog.periods import FiscalPeriod
from finrag_pipelines.retrieval.catalog_view import CatalogView

_NEWEST = r"(?:latest|most\s+recent(?:ly\s+reported)?|last|newest|current|just[-\s]reported)"
_RELATIVE = re.compile(
    rf"\b{_NEWEST}\s+(?:(?:reported|completed|fiscal|full|available)\s+){{0,2}}(?P<unit>quarters?|years?|period)\b"
    r"(?!\s+(?:ago|earlier))",
    re.IGNORECASE,
)
_NEWEST_DOCUMENT = re.compile(
    rf"\b{_NEWEST}\s+(?:[\w-]+\s+){{0,2}}?(?P<form>10-?k|10-?q|8-?k|annual\s+(?:report|filing)|quarterly\s+(?:report|"
    r"filing)|(?:earnings|conference)\s+call|transcript|filings?|report|results|earnings|announcement|notice|memo)\b",
    re.IGNORECASE,
)
_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8, "ten": 10, "twelve": 12}
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_COUNTS)})"
_AGO = re.compile(
    rf"\b{_COUNT}\s+(?P<unit>quarters?|years?)\s+ago\b"
    r"|\b(?:in|for|during)\s+(?:the\s+)?(?:previous|prior|preceding)\s+(?P<before>quarter|year)\b",
    re.IGNORECASE,
)
_LAST_SEVERAL = re.compile(
    rf"\b(?:last|latest|past|previous|most\s+recent)\s+{_COUNT}\s+(?:(?:fiscal|reported)\s+)?(?P<unit>quarters|years)\b",
    re.IGNORECASE,
)
_YEAR_TO_DATE = re.compile(r"\b(?:year[-\s]to[-\s]date|ytd|so\s+far\s+this\s+year)\b", re.IGNORECASE)
_MONTH_NAMES = """
january february march april may june july august september october november december
jan feb mar apr jun jul aug sep oct nov dec sept
"""
_MONTHS = tuple(_MONTH_NAMES.split())
# A year that no filing can have, where a period is named: it is asked for and not covered, instead of being ignored.
_ODD_YEAR = re.compile(
    r"\b(?P<year>\d{4,5})[\s-]?Q(?P<quarter>[1-4])\b|\bQ(?P<number>[1-4])[\s,]{1,2}(?:of\s+)?(?P<of>\d{4,5})\b"
    rf"|\b(?:fiscal(?:\s+year)?|fy|year|quarter\s+(?:of|in)|{'|'.join(_MONTHS)})\s?(?:\d{{1,2}},\s)?(?P<named>\d{{4,5}})\b",
    re.IGNORECASE,
)
_YEARS = range(1950, 2070)
_DAY = re.compile(
    rf"\b(?:(?:{'|'.join(_MONTHS)})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}|\d{{1,2}}(?:st|nd|rd|th)?\s+"
    rf"(?:{'|'.join(_MONTHS)})\.?,?\s+\d{{4}}|\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}/\d{{1,2}}/\d{{4}})\b"
    r"|\d{4}\s?年\s?\d{1,2}\s?月\s?\d{1,2}\s?日",
    re.IGNORECASE,
)
_MONTH = re.compile(rf"\b(?P<month>{'|'.join(_MONTHS)})\.?,?\s+(?P<year>(?:19|20)\d{{2}})\b", re.IGNORECASE)
_AFTER_MONTH = re.compile(rf"\b(?:{'|'.join(_MONTHS)})\.?,?\s+$", re.IGNORECASE)
_NOT_A_YEAR = re.compile(r"\b(?:due|maturing|notes?|debentures?|bonds?|through|until|by)\s+(?:in\s+)?$", re.IGNORECASE)


@dataclass(frozen=True)
class PeriodScope:
    """A period named in a question: range, label, and whether it was stated relatively ("latest quarter")."""

    start: int
    end: int
    label: str
    relative: bool = False


def find_periods(question: str, view: CatalogView, company: str | None, as_of: date | None) -> list[PeriodScope]:
    """Return the periods that a question names, in order, labelled as `company` counts them."""
    mentions = parse_periods_in_text(question, calendar_for(company))
    explicit = any(mention.explicit for mention in mentions)
    found = [
        PeriodScope(mention.start, mention.end, mention.label)
        for mention in mentions
        if mention.explicit
        or not (
            _NOT_A_YEAR.search(question[: mention.start])
            or _AFTER_MONTH.search(question[: mention.start])
            or (explicit and mention.label not in view.periods_of(company))
        )
    ]
    taken = [(scope.start, scope.end) for scope in found]
    for scope in [*_odd(question), *_relative(question, view, company, as_of, bool(found))]:
        span = (scope.start, scope.end)  # "the last three quarters" is several periods at one place
        if not any(start < scope.end and scope.start < end for start, end in taken if (start, end) != span):
            found.append(scope)
            taken.append((scope.start, scope.end))
    return sorted(found, key=lambda scope: (scope.start, scope.end, scope.label))


def _odd(question: str) -> list[PeriodScope]:
    """Return the periods whose years lie outside what any filing reports, as they are written."""
    found = []
    for match in _ODD_YEAR.finditer(question):
        year, quarter = match["year"] or match["of"] or match["named"], match["quarter"] or match["number"]
        if int(year) not in _YEARS:
            label = f"{year}Q{quarter}" if quarter else f"FY{year}"
            found.append(PeriodScope(match.start(), match.end(), label))
    return found


def _back(newest: FiscalPeriod, count: int, quarters: bool) -> str:
    """Return the label of the period `count` quarters or years before the newest one."""
    if not quarters:
        return f"FY{newest.year - count}"
    place = newest.year * 4 + (newest.quarter or 4) - 1 - count
    return f"{place // 4}Q{place % 4 + 1}"


def _relative(
    question: str, view: CatalogView, company: str | None, as_of: date | None, stated: bool
) -> list[PeriodScope]:
    """Return the periods that are named by their distance from the newest one; `stated` tells that others are named
    outright, to which "the prior year" then refers."""
    filed = view.filed_periods(company, as_of.isoformat() if as_of else None)
    quarters = [p for p in filed if p.quarter is not None and not p.ytd]
    years = [p for p in filed if p.quarter is None]
    newest_quarter = _later_quarter(filed)
    found: list[PeriodScope] = []
    newest = {True: newest_quarter, False: years[-1] if years else newest_quarter}
    for match in _LAST_SEVERAL.finditer(question):
        count = int(_COUNTS.get(match["count"].lower(), match["count"]))
        of_quarters = match["unit"].lower() == "quarters"
        if base := newest[of_quarters]:
            labels = [_back(base, back, of_quarters) for back in range(min(count, 40))]
            found += [PeriodScope(match.start(), match.end(), label, relative=True) for label in labels]
    for match in _AGO.finditer(question) if not stated else ():
        count = int(_COUNTS.get((match["count"] or "one").lower(), match["count"] or 1))
        of_quarters = (match["unit"] or match["before"]).lower().startswith("quarter")
        if base := newest[of_quarters]:
            label = _back(base, count, of_quarters)
            found.append(PeriodScope(match.start(), match.end(), label, relative=True))
    for match in _RELATIVE.finditer(question):
        unit = match["unit"].lower()
        period = newest_quarter if unit.startswith(("quarter", "period")) else (years[-1] if years else None)
        if period:
            found.append(PeriodScope(match.start(), match.end(), period.label, relative=True))
    for match in _NEWEST_DOCUMENT.finditer(question):
        form = match["form"].lower()
        if form.startswith(("10-k", "10k", "annual")):
            period = years[-1] if years else None
        elif form.startswith(("10-q", "10q", "quarterly")):
            period = quarters[-1] if quarters else None
        elif form.startswith(("8-k", "8k", "announcement", "notice", "memo")):
            continue
        else:
            period = newest_quarter
        if period:
            found.append(PeriodScope(match.start(), match.end(), period.label, relative=True))
    if quarters:
        for match in _YEAR_TO_DATE.finditer(question):
            newest = quarters[-1]
            label = FiscalPeriod(newest.year, newest.quarter, ytd=(newest.quarter or 0) > 1).label
            found.append(PeriodScope(match.start(), match.end(), label, relative=True))
    return found


def _later_quarter(filed: list[FiscalPeriod]) -> FiscalPeriod | None:
    """The newest period filed for, a year standing for its fourth quarter."""
    if not filed:
        return None
    newest = filed[-1]
    return FiscalPeriod(newest.year, newest.quarter or 4)


def find_dates(question: str, periods: list[PeriodScope]) -> list[tuple[int, int, str]]:
    """Return the days (`2023-05-26`) and months (`2023-05`) that a question names beside its periods, with ranges."""
    taken = [(scope.start, scope.end) for scope in periods]
    found = []
    for match in _DAY.finditer(question):
        day = parse_date(match.group())
        if day and not _overlaps(match, taken):
            found.append((match.start(), match.end(), day.isoformat()))
            taken.append((match.start(), match.end()))
    for match in _MONTH.finditer(question):
        inside = [p for p in periods if match.start() < p.start < p.end <= match.end()]
        if not _overlaps(match, [t for t in taken if t not in {(p.start, p.end) for p in inside}]):
            month = (["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]).index(
                match["month"][:3].lower()
            ) + 1
            found.append((match.start(), match.end(), f"{match['year']}-{month:02d}"))
    return sorted(found)


def _overlaps(match: re.Match[str], taken: list[tuple[int, int]]) -> bool:
    return any(start < match.end() and match.start() < end for start, end in taken)
