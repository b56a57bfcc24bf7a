"""Which periods a document's columns, tables and paragraphs report, by the issuer's own labels.

A cell gets the period of its column; an element gets every label that it reports. Retrieval filters on the latter, so a
label is only left out where the text speaks of other periods expressly.
"""

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache

from finrag_pipelines.catalog.calendars import (
    FiscalCalendar,
    calendar_for,
    ending_at,
    labels_reported,
    load_calendars,
    locate,
    period_for,
    period_start_of,
)
from finrag_pipelines.catalog.identity import Identity
from finrag_pipelines.catalog.period_mentions import (
    DURATION_WORDS,
    PeriodMention,
    count_word,
    duration_of,
    find_dates,
    parse_periods_in_text,
)
from finrag_pipelines.catalog.periods import FiscalPeriod, parse_label
from finrag_pipelines.parsing.identity.forms import is_annual, is_quarterly
from finrag_pipelines.parsing.model import FURNITURE, Cell, Fact, Layout, Row, Table
from finrag_pipelines.parsing.readers.limits import Deadline

_MAY_NAME_PERIOD = re.compile(r"(?:19|20)\d\d|[qQ]\s?[1-4]|[1-4]\s?[qQ]|[fF][yY]|\d/\d\d|年")
_RULES = re.compile(r"[-_=*.|]{2,}|[{(\[]\w{1,2}[})\]]|[*†‡§]")
_SPANNER = re.compile(DURATION_WORDS, re.IGNORECASE)
_MONTH_DAY = re.compile(
    r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s{1,3}(\d{1,2})(?:st|nd|rd|th)?\b", re.IGNORECASE
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_YEAR = re.compile(r"(?<![\w$.,/-])((?:19|20)\d\d)(?![\w%]|[.,]\d|[-–]\d)")
_QUARTER_NAME = re.compile(
    r"\b(first|second|third|fourth|1st|2nd|3rd|4th)[-\s]quarter\b|\bq([1-4])\b|\b([1-4])q\b", re.IGNORECASE
)
_QUARTERS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
_CHANGE = re.compile(r"\b(?:change|variance|growth|vs\.?|versus|increase|decrease|compared)\b|%\s?chg", re.IGNORECASE)
_INSTANT_WORDS = re.compile(
    r"\b(?:balance sheets?|financial position|financial condition|as of|as at|assets|liabilities|"
    r"outstanding at|balances? at)\b",
    re.IGNORECASE,
)
_FLOW_WORDS = re.compile(
    r"\b(?:income|operations|earnings|cash flows?|comprehensive|revenues?|sales|results|expenses?)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class _Filing:
    """What is needed of the document to read its columns: the issuer's calendar and the document's own period."""

    calendar: FiscalCalendar
    own: FiscalPeriod | None
    own_labels: tuple[str, ...]
    annual: bool
    quarterly: bool


@dataclass(frozen=True)
class _Column:
    """The period of a column: label, last day where known, duration."""

    label: str
    end: date | None
    duration: str | None


def annotate(layout: Layout, identity: Identity, deadline: Deadline | None = None) -> Layout:
    """Return the layout with the period, its end and its duration in every cell, and the reported labels in every
    element.

    Tables report the periods of their columns; paragraphs those that they name and, unless they expressly speak of
    others only, the document's own. A year's end reports the year and its last quarter; a year to date also its
    quarter. Furniture reports nothing. Raises UnreadableError `time_budget` past the deadline.
    """
    filing = _filing(identity)
    tables = []
    for number, table in enumerate(layout.tables):
        if deadline and number % 64 == 0:
            deadline.check(f"the periods of table {number + 1} of {len(layout.tables)}")
        tables.append(_annotated_table(table, layout.text, filing))
    facts = sorted((f for f in layout.facts if f.start is not None and f.period_end), key=lambda f: f.start or 0)
    starts = [f.start or 0 for f in facts]
    elements = []
    for number, element in enumerate(layout.elements):
        if deadline and number % 512 == 0:
            deadline.check(f"the periods of element {number + 1} of {len(layout.elements)}")
        if element.kind in FURNITURE:
            elements.append(element)
            continue
        if element.table is not None:
            labels = _table_labels(tables[element.table], layout.text, filing)
        else:
            inside = facts[bisect_left(starts, element.start) : bisect_left(starts, element.end)]
            labels = _text_labels(layout.text[element.start : element.end], inside, filing)
        elements.append(replace(element, periods=labels))
    return replace(layout, elements=tuple(elements), tables=tuple(tables))


def _filing(identity: Identity) -> _Filing:
    own = parse_label(identity.period) if identity.period else None
    calendar = calendar_of(identity)
    if own is not None:
        labels = labels_reported(own)
        if own.quarter == 4 and not own.ytd:
            labels = (own.label, f"FY{own.year}")
    else:
        labels = _labels_around(calendar, identity.event_dates or ((identity.filed,) if identity.filed else ()))
    return _Filing(calendar, own, labels, is_annual(identity.form), is_quarterly(identity.form))


def calendar_of(identity: Identity) -> FiscalCalendar:
    """Return the issuer's calendar: the known one, else the one that the document's period and its end imply."""
    if identity.company in load_calendars() or not (identity.period and identity.period_end):
        return calendar_for(identity.company)
    own, end = parse_label(identity.period), date.fromisoformat(identity.period_end)
    months_left = 3 * (4 - (own.quarter or 4))
    month = (end.month if end.day > 14 else end.month - 1 or 12) + months_left
    calendar = ending_at((month - 1) % 12 + 1, 28)
    at = locate(calendar, end, 45)
    if at and calendar.label_year(at[0]) == own.year + 1:
        return replace(calendar, label="starts")
    return calendar


def _labels_around(calendar: FiscalCalendar, days: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels of the quarters and years in which events fall, for documents without a period of their own."""
    labels: list[str] = []
    for text in days:
        day = date.fromisoformat(text)
        for ending in (day.year - 1, day.year, day.year + 1):
            ends = calendar.quarter_ends(ending)
            before = calendar.quarter_ends(ending - 1)[3]
            if before < day <= ends[3]:
                quarter = next(q for q, end in enumerate(ends, start=1) if day <= end)
                year = calendar.label_year(ending)
                labels += [f"{year}Q{quarter}", f"FY{year}"]
    return tuple(dict.fromkeys(labels))


# --- tables ----------------------------------------------------------------------------------------------------------


def _annotated_table(table: Table, text: str, filing: _Filing) -> Table:
    header_rows = " ".join(text[row.start : row.end] for row in table.rows if row.is_header)
    context = " ".join(f"{table.caption} {table.units} {header_rows}".split())[:600]

    @cache
    def column(header: str) -> _Column | None:
        return _read_column(header, context, filing)

    rows: list[Row] = []
    section: _Column | None = None  # stated by a row of its own: "December 31, 2022" over a second block of rows
    whole = _caption_column(table.caption, filing)
    below = False  # whether that row stands below the first values, so that it replaces what their headers say
    values_seen = False
    for row in table.rows:
        own = _row_column(row, context, filing)
        if row.is_header or not any(cell.value for cell in row.cells):
            if own:
                section, below = own, values_seen
            rows.append(row)
            continue
        cells = []
        for cell in row.cells:
            found = column(cell.header)
            if found is None and not _CHANGE.search(cell.header):  # a change between two periods belongs to neither
                found = own or section or whole
            elif found is not None and own and own.duration == "instant" and found.duration != "instant":
                found = own  # a dated balance in a statement of changes
            elif found is not None and section and below:
                found = section
            cells.append(_dated(cell, _balance(found, f"{row.label} {cell.header}", filing), filing))
        values_seen = True
        rows.append(replace(row, cells=tuple(cells)))
    return replace(table, rows=tuple(rows))


_BEGINNING = re.compile(r"\bbeginning\b|\bopening balance|\b(?:at|as of) january 1\b", re.IGNORECASE)
_DURING = re.compile(r"\b(?:during|held|recognized|incurred)\b", re.IGNORECASE)
_ENDING = re.compile(r"\b(?:end(?:ing)?)\b.{0,20}\b(?:balance|period|year|quarter)s?\b|\bending balance", re.IGNORECASE)


def _balance(column: _Column | None, label: str, filing: _Filing) -> _Column | None:
    """Return the instant of a balance at the beginning or end of the column's period, else the column itself."""
    if column is None or column.duration is None or _DURING.search(label):
        return column
    if column.duration == "instant" and not column.label.startswith("FY"):
        return column
    if _ENDING.search(label) and not _BEGINNING.search(label):
        period = parse_label(column.label)
        year_end = period.quarter in (None, 4)
        return _Column(f"FY{period.year}" if year_end else f"{period.year}Q{period.quarter}", column.end, "instant")
    if not _BEGINNING.search(label):
        return column
    before = period_start_of(filing.calendar, column.label) - timedelta(days=1)
    period = period_for(filing.calendar, before, "instant")
    return _Column(period.label, None, "instant") if period else None


def _dated(cell: Cell, column: _Column | None, filing: _Filing) -> Cell:
    """Give a cell its period: from its inline-XBRL context where there is one, else from its column."""
    if cell.period:
        return cell
    end = _iso(cell.period_end)
    if end is not None:
        duration = cell.duration or (column.duration if column else None) or "instant"
        period = period_for(filing.calendar, end, duration) or period_for(
            filing.calendar, end, duration, nearest=duration != "instant"
        )
        return replace(cell, period=period.label, duration=duration) if period else cell
    if column is None:
        return cell
    return replace(
        cell,
        period=column.label,
        period_end=column.end.isoformat() if column.end else None,
        duration=cell.duration or column.duration,
    )


def _read_column(header: str, context: str, filing: _Filing) -> _Column | None:
    """Return the period of a column from its header, completed by what spans the table; None where it states none or
    compares two."""
    header = " ".join(_RULES.sub(" ", header).split())
    if not header:
        return None
    mentions = parse_periods_in_text(header, filing.calendar)
    labels = {m.label for m in mentions if m.duration != "instant" or m.explicit}
    if len(labels) > 1 and (_CHANGE.search(header) or (len({lab[-4:] for lab in labels}) > 1 and len(mentions) > 2)):
        return None
    spanner = _duration_in(header)
    dates = find_dates(header)
    if dates:
        return _column_at(dates[-1][2], spanner or _duration_in(context) or "instant", filing)
    explicit = next((m for m in mentions if m.explicit and m.duration != "year"), None)
    if explicit:
        return _Column(explicit.label, None, explicit.duration)
    years = _YEAR.findall(header)
    quarter = _quarter_named(header)
    if quarter and not years:
        years = _YEAR.findall(context) or ([str(filing.own.year)] if filing.own else [])
        years = years[:1]
    if len(set(years)) != 1:
        spelled = {m.label for m in mentions if m.duration == "year"}
        return _Column(spelled.pop(), None, "year") if len(spelled) == 1 else None
    year = int(years[0])
    if quarter:
        return _Column(f"{year}Q{quarter}", None, "quarter")
    return _column_of_year(year, header, context, spanner, filing)


def _column_at(end: date, duration: str, filing: _Filing) -> _Column | None:
    """Return the column of a full date, of the given duration: of the quarter or year that ends nearest to it; an
    instant only at the end of one."""
    period = period_for(filing.calendar, end, duration)
    if period is None and duration != "instant":
        period = period_for(filing.calendar, end, duration, nearest=True)
    if period is None and duration == "year":
        period = period_for(filing.calendar, end, "quarter")
    return _Column(period.label, end, duration) if period else None


def _column_of_year(year: int, header: str, context: str, spanner: str | None, filing: _Filing) -> _Column:
    """Return the column of a bare year: a quarter or year to date under such a span in a quarterly report, an instant
    in a balance sheet, else the fiscal year."""
    if filing.own and year > filing.own.year:
        return _Column(f"FY{year}", None, "year")  # a year to come, as in tables of maturities
    duration = spanner or _duration_in(context)
    month_day = _MONTH_DAY.search(header) or _MONTH_DAY.search(context)
    end = _safe(year, month_day) if month_day else None
    if duration is None and (_INSTANT_WORDS.search(f"{header} {context}") or (end and not _FLOW_WORDS.search(context))):
        duration = "instant" if end or not filing.quarterly else None
    own_quarter = filing.own.quarter if filing.own and filing.quarterly else None
    if end is not None and duration is not None:
        period = period_for(filing.calendar, end, duration, nearest=duration != "instant")
        # A year's label in a header is the issuer's own; a date that falls into another year is of another column.
        if period and (period.year == year or duration == "instant" or filing.calendar.label == "starts"):
            if duration == "year" and filing.calendar.label == "starts":
                return _Column(f"FY{year}", None, duration)
            return _Column(period.label, end, duration)
    if duration in ("quarter", "ytd") and own_quarter:
        ytd = duration == "ytd" and own_quarter > 1
        return _Column(f"{year}Q{own_quarter}{'YTD' if ytd else ''}", None, duration)
    if duration is None and own_quarter:
        return _Column(f"{year}Q{own_quarter}", None, None)
    return _Column(f"FY{year}", None, duration if duration in ("year", "instant") else "year")


def _row_column(row: Row, context: str, filing: _Filing) -> _Column | None:
    """Return the period that a row's label states where it says nothing else ("2021")."""
    label = " ".join(row.label.split()).strip(" :")
    if not label or len(label) > 60 or not _MAY_NAME_PERIOD.search(label):
        return None
    dates, mentions = find_dates(label), parse_periods_in_text(label, filing.calendar)
    span = dates[0] if len(dates) == 1 else (mentions[0] if len(mentions) == 1 else None)
    if span is None or _words_beside(label, span[0], span[1]):
        return None
    if len(dates) == 1:
        return _column_at(dates[0][2], _duration_in(label) or "instant", filing)
    mention = mentions[0]
    year = parse_label(mention.label).year
    if filing.own and year > filing.own.year:
        return None  # a year to come, as in tables of maturities
    if mention.explicit:
        return _Column(mention.label, mention.period_end, mention.duration)
    return _column_of_year(year, label, context, None, filing)


def _words_beside(label: str, start: int, end: int) -> bool:
    """Tell whether a label says more than a period: "Balance at" and "Three Months Ended" do not count."""
    rest = _SPANNER.sub(" ", label[:start] + label[end:])
    return bool(re.sub(r"(?i)\b(?:balances?|at|as of|and|net|the|for|fiscal)\b|[^\w]", "", rest))


def _caption_column(caption: str, filing: _Filing) -> _Column | None:
    """Return the one period that a caption expressly states, for columns that state none."""
    mentions = [m for m in parse_periods_in_text(caption, filing.calendar) if m.explicit]
    if len({(m.label, m.duration) for m in mentions}) != 1:
        return None
    return _Column(mentions[0].label, mentions[0].period_end, mentions[0].duration)


def _duration_in(text: str) -> str | None:
    """Return the one duration that a text states ("Three Months Ended", "Fiscal Year"), or None for none or several."""
    found = set()
    for match in _SPANNER.finditer(text):
        if match["count"]:
            count = count_word(match["count"])
            found.add(duration_of(count, match["unit"]) if count else None)
        else:
            span = match["span"].lower()
            found.add("quarter" if "quarter" in span else "ytd" if "date" in span else "year")
    found.discard(None)
    return found.pop() if len(found) == 1 else None


def _quarter_named(text: str) -> int | None:
    match = _QUARTER_NAME.search(text)
    if not match:
        return None
    return _QUARTERS[match[1].lower()] if match[1] else int(match[2] or match[3])


def _safe(year: int, month_day: re.Match[str]) -> date | None:
    try:
        return date(year, _MONTHS.index(month_day[1].lower()) + 1, int(month_day[2]))
    except ValueError:
        return None


# --- labels of elements ----------------------------------------------------------------------------------------------


def _table_labels(table: Table, text: str, filing: _Filing) -> tuple[str, ...]:
    labels: set[str] = set()
    for row in table.rows:
        for cell in row.cells:
            if cell.period:
                labels.update(_reported(cell.period, cell.duration))
    if not labels:
        head = f"{table.caption} " + " ".join(text[r.start : r.end] for r in table.rows if r.is_header)
        return _text_labels(head, [], filing)
    return _in_order(_plausible(labels, filing), filing)


def _text_labels(text: str, facts: list[Fact], filing: _Filing) -> tuple[str, ...]:
    """Return the labels that a text reports: those it names and those of the facts in it. The document's own period
    is among them unless the text expressly speaks of others only."""
    mentions = parse_periods_in_text(text, filing.calendar) if _MAY_NAME_PERIOD.search(text) else []
    labels = {label for m in mentions for label in _reported(m.label, m.duration)}
    expressly = any(_speaks_of(m, filing) for m in mentions)
    for fact in facts:
        end = _iso(fact.period_end)
        if end is None:
            continue
        duration = "instant" if fact.period_start == fact.period_end else _fact_duration(fact.period_start, end)
        period = period_for(filing.calendar, end, duration) if duration else None
        if period:
            labels.update(_reported(period.label, duration))
            expressly = True
    own_year = filing.own is not None and filing.quarterly and f"FY{filing.own.year}" in labels
    labels = _plausible(labels, filing)
    if own_year or not labels or not expressly:
        labels |= set(filing.own_labels)
    return _in_order(labels, filing)


def _speaks_of(mention: PeriodMention, filing: _Filing) -> bool:
    """Tell whether a mention says which period a text is about: an explicit one of recent years, or, in an annual
    report, a bare year that its statements cover. An old agreement's date says nothing of that."""
    if filing.own is None:
        return mention.explicit
    age = filing.own.year - parse_label(mention.label).year
    return 0 <= age <= 3 if mention.explicit else filing.annual and 0 <= age <= 2


def _fact_duration(start: str | None, end: date) -> str | None:
    if start is None:
        return "instant"
    begin = _iso(start)
    if begin is None:
        return None
    days = (end - begin).days + 1
    if days > 400 or days < 70:
        return None
    return "year" if days > 340 else "quarter" if days < 130 else "ytd"


def _iso(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


def _reported(label: str, duration: str | None) -> tuple[str, ...]:
    """Return the labels for which a value stands: an instant at a year's end stands for the year and its last quarter,
    a year to date for its quarter too."""
    period = parse_label(label)
    if period.quarter is None and duration != "instant":
        return (label,)
    return labels_reported(period)


def _plausible(labels: set[str], filing: _Filing) -> set[str]:
    """Leave out years that no report reaches: more than one after its own, or more than fifteen before it."""
    if filing.own is None:
        return set(labels)
    return {label for label in labels if -15 <= parse_label(label).year - filing.own.year <= 1}


def _in_order(labels: set[str], filing: _Filing) -> tuple[str, ...]:
    """Return labels in a fixed order; a text that reports an annual report's own year reports its last quarter too."""
    if filing.own is not None and filing.own.label in labels:
        labels = labels | set(filing.own_labels)
    return tuple(sorted(labels))
