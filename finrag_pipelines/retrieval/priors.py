"""Reasons to prefer one authorised candidate over another that the channels like as much. They filter nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from finrag_pipelines.indexing.manifest import ManifestEntry
from finrag_pipelines.indexing.period_codes import period_code
from finrag_pipelines.retrieval.amendments import NONE, Amendments
from finrag_pipelines.retrieval.lexicon import load_lexicon
from finrag_pipelines.retrieval.model import Pair, Plan

FILING_PERIOD = 1.25
RESTATED = 0.75
"""An original goes behind the amendment that restates it, also where it is found some ranks before it."""
DATE = 1.25
SECTION = 1.15
_ITEMS = ("Item ", "Part ", "Cover")
_STATEMENT_SECTIONS = {"Item 8", "Part I Item 1"}
_DAYS_AFTER = 21  # an event is announced, a meeting's votes are filed, within weeks


@dataclass(frozen=True)
class Preference:
    """What is preferred for one pair: filings of these period codes, documents near these days, the sections in which
    filings usually say what is asked, and amendments for what they restate."""

    filing_periods: frozenset[int]
    spans: tuple[tuple[str, str], ...]
    sections: frozenset[str] = frozenset()
    amendments: Amendments = NONE

    def of(self, entry: ManifestEntry, section: str) -> tuple[float, tuple[str, ...]]:
        """Return the factor for the score of a row of `entry` in `section`, and the names of the reasons."""
        factor, reasons = 1.0, []
        if (code := period_code(entry.period or "")) is not None and code in self.filing_periods:
            factor *= FILING_PERIOD
            reasons.append("filing_period")
        days = [day for day in (entry.filed, *entry.event_dates) if day]
        if any(start <= day <= end for day in days for start, end in self.spans):
            factor *= DATE
            reasons.append("date")
        if section in self.sections:
            factor *= SECTION
            reasons.append("section")
        elif self.sections and not section.startswith(_ITEMS):
            # A call, a memo, a release have no items, and are not to lose for that.
            factor *= SECTION**0.5 if section else SECTION
            reasons.append("other_section" if section else "no_section")
        if self.amendments.is_restated(entry.source_id, section):
            factor *= RESTATED
            reasons.append("restated")
        if entry.source_id in self.amendments.restating:
            reasons.append("restates")
        return factor, tuple(reasons)


def preference_for(
    pair: Pair, plan: Plan, reporting: Sequence[ManifestEntry], amendments: Amendments = NONE
) -> Preference:
    """Return what is preferred for `pair`, given the documents that report its period.

    The filing of the period itself is; but where several periods of one company are set side by side and the filing
    of the last one reports this one too, that filing is, since it states them on one basis.
    """
    wanted = pair.period
    if wanted and plan.comparison:
        labels = sorted(
            (code, other.period)
            for other in plan.pairs
            if other.company == pair.company and other.period and (code := period_code(other.period)) is not None
        )
        if labels and any(same_period(entry.period, labels[-1][1]) for entry in reporting):
            wanted = labels[-1][1]
    return Preference(_alike(wanted), tuple(_span(value) for value in plan.dates), _sections(plan), amendments)


def _sections(plan: Plan) -> frozenset[str]:
    lexicon = load_lexicon()
    found = {section for name in plan.concepts for section in lexicon.concept(name).sections}
    return frozenset(found | (_STATEMENT_SECTIONS if plan.statements else set()))


def same_period(filing: str | None, asked: str) -> bool:
    """Tell whether a filing's period is the one asked for, the fourth quarter and its year taken as one."""
    return (period_code(filing) if filing else None) in _alike(asked)


def _alike(label: str | None) -> frozenset[int]:
    code = period_code(label) if label else None
    if code is None:
        return frozenset()
    year, kind = divmod(code, 10)
    if kind in (0, 4):
        return frozenset({year * 10, year * 10 + 4})
    return frozenset({year * 10 + (kind - 4 if kind > 4 else kind)})


def _span(value: str) -> tuple[str, str]:
    """The days on which a document about a day (`2023-05-26`) or a month (`2023-05`) may be dated."""
    if len(value) > 7:
        day = date.fromisoformat(value)
        return value, (day + timedelta(days=_DAYS_AFTER)).isoformat()
    return f"{value}-01", f"{value}-31"
