"""Looking a line item up in the statements of the documents in scope: deterministic, by label, statement and period.

Retrieval ranks passages by topic; a figure for a formula is better found where its row stands. What is found here is
delivered, recorded and cited like any other fragment, and comes only from documents that the principal may read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from finrag_pipelines.answering.breakdown import figures_of_part, part_names, parts_asked, rankings
from finrag_pipelines.answering.documents import Documents, Figure
from finrag_pipelines.answering.model import Delivered
from finrag_pipelines.answering.question import Ask, Measure, core
from finrag_pipelines.answering.support import CONCEPT_ONLY, label_fit, period_agrees
from finrag_pipelines.catalog.identity import RESTATES
from finrag_pipelines.chunking.files import read_fragments
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.indexing.manifest import ManifestEntry
from finrag_pipelines.retrieval.model import Pair
from finrag_pipelines.storage import Store

ENOUGH = 0.85
"""The fit below which a row does not name the line item well enough to compute with."""


@dataclass(frozen=True)
class Located:
    """A figure with the fragment that holds its row."""

    fragment: Fragment
    figure: Figure
    fit: float


@lru_cache(maxsize=64)
def _fragments(store: Store, path: str) -> tuple[Fragment, ...]:
    return read_fragments(store.path(path))


class StatementFinder:
    """Finds line items in the documents that one principal may read."""

    def __init__(self, store: Store, documents: Documents, entries: Sequence[ManifestEntry]) -> None:
        self._store = store
        self._documents = documents
        self._entries = tuple(entries)

    def find(self, measure: Measure, company: str, period: str, preferred: str | None = None) -> Located | None:
        """Return the row of `company` that states the line item for `period`, or None.

        `preferred` is the period of the filing to look into first, so that all operands come from one document.
        """
        for entry in self._ordered(company, period, preferred):
            located = self._in_document(entry, period, lambda one: label_fit(one, measure), measure.statement)
            if located is not None:
                return located
        return None

    def find_label(self, fit: Callable[[Figure], float], company: str, period: str) -> Located | None:
        """Return the row of `company` whose label fits exactly, by `fit`, or None where none does or they disagree."""
        for entry in self._ordered(company, period, None):
            located = self._in_document(entry, period, fit, "any")
            if located is not None:
                return located
        return None

    def _ordered(self, company: str, period: str, preferred: str | None) -> list[ManifestEntry]:
        """Order the company's filings: the preferred period, the period itself, then later ones that look back; an
        amendment that restates before what it restates, the newest first."""
        mine = [one for one in self._entries if one.company == company and one.period]
        wanted = [preferred, period]

        def place(entry: ManifestEntry) -> tuple[int, int, str, int, str]:
            place = wanted.index(entry.period) if entry.period in wanted else 2
            annual = 0 if (entry.form or "").startswith(("10-K", "10-Q")) else 1
            restated_on = int((entry.filed or "0").replace("-", "")) if entry.amendment == RESTATES else 0
            return place, annual, entry.period or "", -restated_on, entry.source_id

        later = [one for one in mine if one.period in wanted or (one.period or "")[-4:] >= period[-4:]]
        return sorted(later, key=place)[:4]

    def _in_document(
        self, entry: ManifestEntry, period: str, fit_of: Callable[[Figure], float], statement: str
    ) -> Located | None:
        fits = [
            (fit, figure)
            for figure in self._documents.figures(entry.representation_id)
            if period_agrees(figure, period) and (fit := fit_of(figure)) >= ENOUGH
        ]
        if not fits:
            return None
        top = max(fit for fit, _ in fits)
        best = [figure for fit, figure in fits if fit == top]
        best = [figure for figure in best if figure.statement] or best  # a statement is of the whole company
        if statement != "cash_flow":  # where the cash flow statement shows the change of a balance
            best = [figure for figure in best if figure.statement != "cash_flow"] or best
        in_statement = statement != "any" and best[0].statement == statement and top > CONCEPT_ONLY + 0.5
        if not in_statement and len({figure.value for figure in best}) > 1:
            return None  # several tables outside the statements disagree: none of them is the figure
        return next((located for figure in best if (located := self.locate(entry, figure, top))), None)

    def locate(self, entry: ManifestEntry, figure: Figure, fit: float) -> Located | None:
        """Return the fragment that holds the row of a figure, or None."""
        for fragment in _fragments(self._store, entry.fragments_path):
            if fragment.start <= figure.row_start and figure.row_end <= fragment.end:
                return Located(fragment, figure, fit)
        return None

    def part_names(self, company: str, period: str | None) -> frozenset[str]:
        """Return the folded names that rows and columns of the company's filings have beside line items."""
        found: set[str] = set()
        for entry in self._ordered(company, period or self.newest(company) or "", None):
            found |= part_names(self._documents.figures(entry.representation_id))
        return frozenset(found)

    def newest(self, company: str) -> str | None:
        """Return the period of the company's newest filing, or None."""
        mine = [one for one in self._entries if one.company == company and one.period and one.period_end]
        filings = [one for one in mine if (one.form or "").startswith(("10-K", "10-Q", "20-F"))] or mine
        return max(filings, key=lambda one: (one.period_end or "", one.source_id)).period if filings else None

    def owner_of_part(self, ask: Ask, pair: Pair, delivered: Sequence[Delivered]) -> Pair:
        """Return the pair with the one company whose tables have the part that a question names without its company."""
        if pair.company is not None or not (ask.measures or ask.ratio):
            return pair
        companies = sorted({one.fragment.company for one in delivered if one.fragment.company})
        owners = [one for one in companies if self._names_part(ask, one, pair.period)]
        return Pair(owners[0], pair.period) if len(owners) == 1 else pair

    def _names_part(self, ask: Ask, company: str, period: str | None) -> bool:
        own = self._documents.company_words(company)
        return bool(parts_asked(core(ask.question), ask, self.part_names(company, period), own))

    def find_part(
        self, ask: Ask, parts: Sequence[str], measure: Measure | None, company: str, period: str
    ) -> Located | None:
        """Return the row that states a measure for the parts of a company that are asked for, or None where there is
        none or where tables disagree."""
        for entry in self._ordered(company, period, None):
            figures = [one for one in self._documents.figures(entry.representation_id) if period_agrees(one, period)]
            found = figures_of_part(figures, parts[0], ask, measure)
            for other in parts[1:]:
                allowed = {id(one.figure) for one in figures_of_part(figures, other, ask, measure)}
                found = [one for one in found if id(one.figure) in allowed]
            best = [one for one in found if one.fit == found[0].fit]
            if best and len({one.figure.value for one in best}) == 1:
                return self.locate(entry, best[0].figure, best[0].fit)
        return None

    def find_ranking(self, ask: Ask, measure: Measure | None, company: str, period: str) -> list[tuple[str, Located]]:
        """Return the parts of the table that ranks best by a measure, with the rows that state it; empty if none."""
        for entry in self._ordered(company, period, None):
            figures = [one for one in self._documents.figures(entry.representation_id) if period_agrees(one, period)]
            for ranking in rankings(figures, ask, measure)[:1]:
                rows = [(one.name, self.locate(entry, one.figure, one.fit)) for one in ranking.figures]
                if all(located for _, located in rows):
                    return [(name, located) for name, located in rows if located]
        return []
