"""From one pair of a plan to the rows that may answer it: hard filters, in the integer codes of both engines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from finrag_pipelines.catalog.calendars import calendar_for, period_end_of, period_start_of
from finrag_pipelines.indexing.manifest import ManifestEntry
from finrag_pipelines.indexing.period_codes import period_code
from finrag_pipelines.indexing.shard import RowFilter, Shard
from finrag_pipelines.indexing.vectors import VectorFilter, name_code
from finrag_pipelines.retrieval.catalog_view import CatalogView
from finrag_pipelines.retrieval.model import Pair, Plan

_ANNUAL = 0
UNDATED = frozenset({"memo", "fund_announcement"})
"""Forms whose documents belong to a day, not to a fiscal period."""


@dataclass(frozen=True)
class Scope:
    """The rows that a pair may be answered from: a filter per shard (by position), the same for the vector index,
    and the codes of the pair's period (None where it names none)."""

    shards: Mapping[int, RowFilter]
    vectors: VectorFilter
    periods: frozenset[int] | None

    @property
    def restricted(self) -> bool:
        """Tell whether anything but access restricts the rows."""
        return self.periods is not None


def accepted_periods(label: str | None) -> frozenset[int] | None:
    """Return the codes of the periods that answer a question about `label`: itself, and for a year to date the
    quarter that ends with it and the other way round."""
    code = period_code(label) if label else None
    if code is None:
        return None if label is None else frozenset()
    year, kind = divmod(code, 10)
    if kind == _ANNUAL or kind == 1:
        return frozenset({code})
    return frozenset({code, year * 10 + (kind - 4 if kind > 4 else kind + 4)})


def form_matches(form: str | None, wanted: Sequence[str]) -> bool:
    """Tell whether a form is one of those wanted, its amendments and exhibits included (10-K for 10-K/A, 10-K405)."""
    return form is not None and any(
        form == name or (form.startswith(name) and (not form[len(name)].isalpha() or form[len(name) :] in ("SB",)))
        for name in wanted
    )


def scope_of(
    pair: Pair,
    plan: Plan,
    shards: Sequence[Shard],
    view: CatalogView,
    sections: bool = True,
    roles: bool = True,
) -> Scope:
    """Return the scope of `pair`: documents of the view of its company and the plan's forms, rows that report its
    period.

    A quarter for which no document was filed is looked for in the annual report of its year as well. `sections` and
    `roles` tell whether those of the plan apply.
    """
    admitted: dict[int, list[int]] = {}
    for position, shard in enumerate(shards):
        places = [place for place, entry in enumerate(shard.entries) if _admits(entry, pair, plan, view)]
        if places:
            admitted[position] = places
    entries = [shards[position].entries[place] for position, places in admitted.items() for place in places]
    periods = None if _told_by_date(plan) else _periods_for(pair, entries)
    wanted_sections = frozenset(plan.sections) if sections and plan.sections else None
    wanted_roles = frozenset(plan.roles) if roles and plan.roles else None
    row_filters = {
        position: RowFilter(
            None if len(places) == len(shards[position].entries) else frozenset(places),
            periods,
            wanted_sections,
            wanted_roles,
        )
        for position, places in admitted.items()
    }
    return Scope(
        row_filters,
        VectorFilter(
            frozenset(entry.set_code for entry in entries),
            periods,
            None if wanted_sections is None else frozenset(map(name_code, wanted_sections)),
            None if wanted_roles is None else frozenset(map(name_code, wanted_roles)),
        ),
        periods,
    )


def _admits(entry: ManifestEntry, pair: Pair, plan: Plan, view: CatalogView) -> bool:
    if entry.source_id not in view.source_ids:
        return False
    if pair.company is not None and not view.concerns(entry, pair.company):
        return False
    if plan.forms and not form_matches(entry.form, plan.forms):
        return False
    return not (pair.period and _told_by_date(plan) and not _dated_within(entry, pair))


def _told_by_date(plan: Plan) -> bool:
    """Tell whether a question asks for documents without a fiscal period: a period then means when they were made."""
    return bool(plan.forms) and UNDATED.issuperset(plan.forms)


def _dated_within(entry: ManifestEntry, pair: Pair) -> bool:
    if entry.period == pair.period:
        return True
    calendar = calendar_for(pair.company or entry.company)
    try:
        start, end = period_start_of(calendar, pair.period or ""), period_end_of(calendar, pair.period or "")
    except ValueError:
        return False
    days = [day for day in (entry.filed, *entry.event_dates) if day]
    return any(start.isoformat() <= day <= end.isoformat() for day in days)


def _periods_for(pair: Pair, entries: Sequence[ManifestEntry]) -> frozenset[int] | None:
    periods = accepted_periods(pair.period)
    if not periods:
        return periods
    annual = {code // 10 * 10 for code in periods}
    if annual & periods:
        return periods
    filed = {period_code(entry.period) for entry in entries if entry.period}
    return periods if filed & periods else periods | annual
