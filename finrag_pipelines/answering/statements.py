"""Looking a line item up in the statements of the documents in scope: deterministic, by label, statement and period.

Retrieval ranks passages by topic; a figure for a formula is better found where its row stands. What is found here is
delivered, recorded and cited like any other fragment, and comes only from documents that the principal may read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from finrag_pipelines.answering.documents import Documents, Figure
from finrag_pipelines.answering.question import Measure
from finrag_pipelines.answering.support import label_fit, period_agrees
from finrag_pipelines.chunking.files import read_fragments
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.indexing.manifest import ManifestEntry
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
        """Order the company's filings: the preferred period, the period itself, then later ones that look back."""
        mine = [one for one in self._entries if one.company == company and one.period]
        wanted = [preferred, period]

        def place(entry: ManifestEntry) -> tuple[int, int, str, str]:
            place = wanted.index(entry.period) if entry.period in wanted else 2
            annual = 0 if (entry.form or "").startswith(("10-K", "10-Q")) else 1
            return place, annual, entry.period or "", entry.source_id

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
        in_statement = statement != "any" and best[0].statement == statement
        if not in_statement and len({figure.value for figure in best}) > 1:
            return None  # several tables outside the statements disagree: none of them is the figure
        for figure in best:
            for fragment in _fragments(self._store, entry.fragments_path):
                if fragment.start <= figure.row_start and figure.row_end <= fragment.end:
                    return Located(fragment, figure, top)
        return None
