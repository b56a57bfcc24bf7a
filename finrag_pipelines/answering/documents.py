"""What stands behind a fragment: the stored text, its table figures, the name of its issuer, and who may read it."""

import bisect
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from finrag_pipelines.answering.words import normal, word_list, words
from finrag_pipelines.catalog.access import Principal
from finrag_pipelines.catalog.catalog import Catalog, read_catalog, rules_digest
from finrag_pipelines.catalog.companies import load_companies
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.parsing.model import Cell, Element, ParsedDocument, Row, Table
from finrag_pipelines.parsing.representation_store import read_representation
from finrag_pipelines.storage import Store

_NOTE = re.compile(r"\s*\([a-z0-9]{1,2}\)|\s*\[[a-z0-9]{1,2}\]|[*†‡]+", re.IGNORECASE)


@dataclass(frozen=True)
class Figure:
    """A number in a table: where it stands, what its row and column say, and its value in base units.

    `label` and `path` are as printed; `key` is the label folded for look-up. `statement` is income, balance,
    cash_flow or None. `duration` is quarter, ytd, year, instant or None.
    """

    label: str
    key: str
    path: tuple[str, ...]
    header: str
    caption: str
    units: str
    value: Decimal
    step: Decimal
    printed: str
    unit: str | None
    period: str | None
    period_end: str | None
    duration: str | None
    concept: str | None
    row_start: int
    row_end: int
    start: int
    end: int
    table_start: int
    statement: str | None
    column: int = 0


def without_notes(label: str) -> str:
    """Return a row label without the marks of its footnotes."""
    return " ".join(_NOTE.sub(" ", label).split())


def label_key(label: str) -> str:
    """Fold a row label for look-up: no case, notes, punctuation or trailing colon."""
    folded = normal(without_notes(label)).replace("'", "").replace("&", " and ")
    return " ".join(re.sub(r"[^\w]+", " ", folded).split())


def _value(cell: Cell) -> tuple[Decimal, Decimal] | None:
    try:
        value = Decimal((cell.value or "").replace(",", ""))
    except InvalidOperation:
        return None
    if not value.is_finite():
        return None
    exponent = value.as_tuple().exponent
    step = Decimal(10) ** (exponent if isinstance(exponent, int) else 0)
    factor = Decimal(10) ** cell.scale
    return value * factor, step * factor


def is_whole(figure: Figure) -> bool:
    """Tell whether a column is that of the whole company: its header names nothing but a period, or says `total`."""
    rest = [one for one in words(figure.header) if one not in _HEADER_WORDS and not any(map(str.isdigit, one))]
    return not rest


_HEADER_WORDS = frozenset(word_list("header_words"))


def _statement(table: Table) -> str | None:
    """Tell which primary statement a table is, by the rows that only such a statement has."""
    keys = [label_key(row.label) for row in table.rows]
    joined = " | ".join(keys)
    if "total assets" in keys and any(one.startswith("total liabilities") for one in keys):
        return "balance"
    if "total current assets" in keys or "total current liabilities" in keys:
        return "balance"
    activities = sum(f"{one} activities" in joined for one in ("operating", "investing", "financing"))
    if activities >= 2 and len(keys) >= 10:
        return "cash_flow"
    taxes = "income tax" in joined or "provision for" in joined or "taxes on income" in joined
    income = any(one.startswith(("net income", "net earnings", "net loss", "consolidated net income")) for one in keys)
    if taxes and income and len(keys) >= 8:
        return "income"
    return None


def figures_of(document: ParsedDocument) -> tuple[Figure, ...]:
    """Return every number in the tables of a document, in the order of the text."""
    found: list[Figure] = []
    for table in document.tables:
        statement = _statement(table)
        for row in table.rows:
            if row.is_header:
                continue
            key = label_key(row.label)
            for cell in row.cells:
                parsed = _value(cell)
                if parsed is not None:
                    found.append(_figure(table, row, cell, key, parsed, statement, document.text))
    return tuple(sorted(found, key=lambda one: (one.row_start, one.start)))


def _figure(
    table: Table, row: Row, cell: Cell, key: str, parsed: tuple[Decimal, Decimal], statement: str | None, text: str
) -> Figure:
    return Figure(
        label=" ".join(row.label.split()),
        key=key,
        path=row.path,
        header=" ".join(cell.header.split()),
        caption=table.caption,
        units=table.units,
        value=parsed[0],
        step=parsed[1],
        printed=" ".join(text[cell.start : cell.end].split()),
        unit=cell.unit,
        period=cell.period,
        period_end=cell.period_end,
        duration=cell.duration,
        concept=cell.concept,
        row_start=row.start,
        row_end=row.end,
        start=cell.start,
        end=cell.end,
        table_start=table.start,
        statement=statement,
        column=cell.column,
    )


@lru_cache(maxsize=64)
def _document(store: Store, representation_id: str) -> tuple[ParsedDocument, tuple[Figure, ...], tuple[int, ...]]:
    document = read_representation(store, representation_id)
    figures = figures_of(document)
    return document, figures, tuple(one.row_start for one in figures)


class Documents:
    """The stored documents and the catalog as one answer sees them."""

    def __init__(self, store: Store, catalog: Catalog | None = None) -> None:
        self._store = store
        self.catalog = catalog if catalog is not None else read_catalog(store)

    def seen_by(self, principal: Principal) -> "Documents":
        """Return the documents as if those that a principal may not read were not there."""
        return Documents(self._store, self.catalog.seen_by(principal))

    def parsed(self, representation_id: str) -> ParsedDocument:
        """Return a representation, proved by its hashes when it is first read in this process."""
        return _document(self._store, representation_id)[0]

    def text(self, representation_id: str, start: int, end: int) -> str:
        """Return the stored text at a range."""
        return self.parsed(representation_id).text[start:end]

    def elements(self, representation_id: str) -> tuple[Element, ...]:
        """Return the elements of a representation, in the order of the text."""
        return self.parsed(representation_id).elements

    def figures(self, representation_id: str) -> tuple[Figure, ...]:
        """Return all figures of a representation."""
        return _document(self._store, representation_id)[1]

    def figures_in(self, fragment: Fragment) -> tuple[Figure, ...]:
        """Return the figures whose whole row lies in the fragment."""
        _, figures, starts = _document(self._store, fragment.representation_id)
        first = bisect.bisect_left(starts, fragment.start)
        last = bisect.bisect_left(starts, fragment.end)
        return tuple(one for one in figures[first:last] if one.row_end <= fragment.end)

    def company_name(self, company: str | None) -> str:
        """Return a short name for people; the id where no name is known."""
        if not company:
            return "the document"
        known = load_companies().get(company)
        if known:
            return known.aliases[0] if known.aliases else _short(known.name)
        for source in self.catalog.sources.values():
            if source.received and source.identity.company == company and source.identity.company_name:
                return _short(source.identity.company_name)
        return company

    def company_words(self, company: str) -> frozenset[str]:
        """Return the folded words of all names of a company."""
        known = load_companies().get(company)
        names = (known.name, *known.aliases, *known.tickers, *known.former_names) if known else ()
        return frozenset(
            one for name in (*names, company, self.company_name(company)) for one in label_key(name).split()
        )

    def may_read(self, principal: Principal, source_id: str) -> bool:
        """Tell whether the principal may read a source as this catalog stands. An unknown source is not readable."""
        return self.catalog.may_read(principal, source_id)

    @property
    def policy_epoch(self) -> int:
        """The policy epoch under which this answer is made."""
        return self.catalog.policy_epoch

    @property
    def access_digest(self) -> str:
        """The digest of the access rules in force."""
        return rules_digest(self.catalog)

    def newest_year(self) -> int | None:
        """Return the latest fiscal or calendar year that any document belongs to, or None in an empty corpus."""
        years = []
        for source in self.catalog.sources.values():
            if source.received:
                identity = source.identity
                for label in (identity.period, identity.period_end, identity.filed, *identity.event_dates):
                    years += [int(one) for one in re.findall(r"(?:19|20)\d\d", label or "")[:1]]
        return max(years, default=None)


_SUFFIX = re.compile(
    r",?\s+(?:inc\.?|incorporated|corp\.?|corporation|company|co\.?|plc|ltd\.?|limited|n\.v\.|s\.a\.|llc|l\.p\.)$", re.I
)


def _short(name: str) -> str:
    shorter = _SUFFIX.sub("", name).strip(" ,&")
    return shorter if len(shorter) > 1 else name
