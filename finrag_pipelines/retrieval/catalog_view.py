"""What a principal may know of the corpus when a question is read: companies, documents and reported periods.

It is made from index entries that the principal may read, and from nothing else, so that no plan can leak.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from finrag_pipelines.catalog.companies import Company, CompanyTable, load_companies
from finrag_pipelines.catalog.periods import FiscalPeriod, parse_label
from finrag_pipelines.indexing.manifest import ManifestEntry

TRANSCRIPT = "transcript"


def parsed_label(label: str | None) -> FiscalPeriod | None:
    """Return the period that `label` spells, or None."""
    try:
        return parse_label(label or "")
    except ValueError:
        return None


@dataclass(frozen=True, eq=False)
class CatalogView:
    """Readable documents, and per company id the labels of the periods that their text reports.

    `holds` tells whether a word, in lower case, stands anywhere in them; None where that cannot be told.
    Two views are equal only when they are one object, so that what is derived from a view can be kept for it.
    """

    documents: tuple[ManifestEntry, ...]
    reported: Mapping[str, frozenset[str]]
    holds: Callable[[str], bool] | None = None

    @cached_property
    def table(self) -> CompanyTable:
        """All known companies, those of the catalog with the names that their documents state."""
        stated = (
            Company(id=entry.company, name=entry.company_name or entry.company)
            for entry in self.documents
            if entry.company
        )
        return load_companies().extended_by(stated)

    @cached_property
    def source_ids(self) -> frozenset[str]:
        """The ids of the readable documents: what any search may look at."""
        return frozenset(entry.source_id for entry in self.documents)

    @cached_property
    def companies(self) -> tuple[Company, ...]:
        """The companies that issued a readable document or are the subject of one, sorted by id."""
        ids = {entry.company for entry in self.documents if entry.company}
        ids |= {company for entry in self.documents for company in self.subject_ids(entry)}
        return tuple(company for company_id in sorted(ids) if (company := self.table.get(company_id)))

    @cached_property
    def company_ids(self) -> frozenset[str]:
        """The ids of `companies`."""
        return frozenset(company.id for company in self.companies)

    def subject_ids(self, entry: ManifestEntry) -> frozenset[str]:
        """Return the companies that a document is about beside its issuer, as far as its subjects name known ones."""
        found = set()
        for subject in entry.subjects:
            company = self.table.get(subject) or self.table.by_ticker(subject) or self.table.by_name(subject)
            if company:
                found.add(company.id)
        return frozenset(found)

    def concerns(self, entry: ManifestEntry, company: str) -> bool:
        """Tell whether a document was issued by a company or is about it."""
        return entry.company == company or company in self.subject_ids(entry)

    def periods_of(self, company: str | None) -> frozenset[str]:
        """Return the labels of periods reported by the documents of a company, or of all companies."""
        if company is not None:
            return self.reported.get(company, frozenset())
        return frozenset().union(*self.reported.values())

    def filed_periods(self, company: str | None, as_of: str | None = None) -> list[FiscalPeriod]:
        """Return the filing periods of a company's documents (None: all companies'), oldest first, as known on the
        ISO date `as_of`. Periods without a known end are placed as if years were calendar years."""
        found = {
            (entry.period_end or _nominal_end(period), period)
            for entry in self.documents
            if (company is None or entry.company == company)
            and (period := parsed_label(entry.period)) is not None
            and known_on(entry, as_of)
        }
        return [period for _, period in sorted(found, key=lambda item: (item[0], item[1].quarter or 5, item[1].year))]


def known_on(entry: ManifestEntry, day: str | None) -> bool:
    """Tell whether a document was known on an ISO date (None: today): by the date it was filed, else its last event,
    else the end of its period. One without any of them always was."""
    if day is None:
        return True
    since = entry.filed or max(entry.event_dates, default=None) or entry.period_end
    if since is None and (period := parsed_label(entry.period)) is not None:
        since = _nominal_end(period)
    return since is None or since <= day


def _nominal_end(period: FiscalPeriod) -> str:
    quarter = period.quarter or 4
    return f"{period.year}-{quarter * 3:02d}-{(31, 30, 30, 31)[quarter - 1]}"
