"""The records in which EDGAR's answers are passed on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ListedCompany:
    """A line of EDGAR's list of tickers. `cik` has ten digits; share classes of one company have the same."""

    ticker: str
    cik: str
    name: str


@dataclass(frozen=True)
class Filing:
    """One filing as a company's submissions list it. `cik` has ten digits, `accession` is dashed, dates are ISO dates.

    `primary_document` is None for old filings, of which only the complete submission exists. `items` are those of an
    8-K. `fiscal_year_end` (`0930`) is what the company's submissions state today.
    """

    cik: str
    accession: str
    form: str
    filed: str
    period_of_report: str | None = None
    primary_document: str | None = None
    items: tuple[str, ...] = ()
    fiscal_year_end: str | None = None

    @property
    def is_amendment(self) -> bool:
        """Tell whether the filing amends another."""
        return self.form.endswith("/A")


@dataclass(frozen=True)
class OlderPage:
    """A further page of a company's submissions and the dates of its first and last filing."""

    name: str
    filed_from: str
    filed_to: str


@dataclass(frozen=True)
class Submissions:
    """What a company has filed, newest first: the recent filings, and where the older ones are listed; and the month
    and day (`0930`) on which its fiscal year ends, where EDGAR has them."""

    cik: str
    name: str
    tickers: tuple[str, ...]
    filings: tuple[Filing, ...]
    older: tuple[OlderPage, ...]
    fiscal_year_end: str | None = None


@dataclass(frozen=True)
class FiledDocument:
    """One document of a filing as its index page lists it; `path` starts with `/Archives/`, `size` is in bytes."""

    sequence: str
    description: str
    name: str
    type: str
    path: str
    size: int | None


@dataclass(frozen=True)
class FilingIndex:
    """The index page of a filing: its documents in order, and what its head says."""

    accession: str
    form: str
    filed: str | None
    period_of_report: str | None
    documents: tuple[FiledDocument, ...]


@dataclass(frozen=True)
class ListedFiling:
    """A line of a daily or full index, or an entry of the feed: which filing, by whom, when."""

    form: str
    company_name: str
    cik: str
    filed: str
    accession: str


@dataclass(frozen=True)
class Listing:
    """What an index or a feed lists, in its order, and the lines of it that could not be read."""

    filings: tuple[ListedFiling, ...]
    unreadable: tuple[str, ...] = ()
