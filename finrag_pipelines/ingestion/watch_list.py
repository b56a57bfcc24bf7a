"""Which companies' filings arrive by themselves: the watch list, a TOML file."""

import os
import tomllib
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from finrag_pipelines.catalog.companies import normal_cik, normal_ticker
from finrag_pipelines.storage import project_root

FILE_NAME = "watch_list.toml"
DEFAULT_FORMS = ("10-Q", "10-K", "8-K")

_COMMON = {"forms", "since", "labels"}


class WatchListError(ValueError):
    """The watch list cannot be understood; the message says where, why and what to write."""


@dataclass(frozen=True)
class WatchedCompany:
    """A company by `ticker`, or by `cik` (ten digits) where it has none.

    Watched are filings of `forms`, amendments (`/A`) of each included, filed on or after `since` (ISO date; None:
    ever). `labels` are the access labels that its sources get; None means the default.
    """

    ticker: str | None
    cik: str | None = None
    forms: tuple[str, ...] = DEFAULT_FORMS
    since: str | None = None
    labels: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The ticker or else the CIK: what messages and cursors call the company."""
        return self.ticker or f"CIK{self.cik}"

    def wants(self, form: str, filed: str) -> bool:
        """Tell whether a filing of `form`, filed on the ISO date `filed`, is watched."""
        return form.removesuffix("/A") in self.forms and (self.since is None or filed >= self.since)


@dataclass(frozen=True)
class WatchList:
    """The watched companies in the order of their names, and the User-Agent the file states, if it does."""

    companies: tuple[WatchedCompany, ...] = ()
    user_agent: str | None = None

    def narrowed(
        self,
        tickers: tuple[str, ...] = (),
        forms: tuple[str, ...] = (),
        since: str | None = None,
    ) -> "WatchList":
        """Return the list for these tickers, forms and days only; each left empty narrows nothing.

        A ticker that is not watched is taken with the defaults. Raises WatchListError.
        """
        companies = self.companies
        if tickers:
            watched = {company.name: company for company in self.companies}
            wanted = sorted({_ticker(ticker, "--tickers") for ticker in tickers})
            companies = tuple(watched.get(ticker) or WatchedCompany(ticker) for ticker in wanted)
        if forms:
            stated = _forms(list(forms), "--forms")
            companies = tuple(replace(company, forms=stated) for company in companies)
        if since:
            companies = tuple(replace(company, since=_day(since, "--since")) for company in companies)
        return replace(self, companies=companies)


def watch_list_path() -> Path:
    """Return where the watch list lies: FINRAG_WATCH_LIST, or watch_list.toml in the project."""
    return Path(os.environ.get("FINRAG_WATCH_LIST") or project_root() / FILE_NAME)


def read_watch_list(path: Path | None = None) -> WatchList:
    """Read the watch list at `path`, or at its usual place. Raises WatchListError, also where there is none."""
    path = path or watch_list_path()
    try:
        record = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise WatchListError(f"{path} does not exist; write it, or set FINRAG_WATCH_LIST to your watch list") from None
    except OSError as error:
        raise WatchListError(f"{path} cannot be read: {error.strerror}; check its rights") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WatchListError(f"{path} is not TOML ({error}); correct it") from None
    _only(record, {"company", "user_agent", *_COMMON}, str(path))
    user_agent, rows = record.get("user_agent"), record.get("company", [])
    if not isinstance(user_agent, str | None):
        raise WatchListError(f"{path}: user_agent must be text")
    if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
        raise WatchListError(f"{path}: write each company under a heading [[company]]")
    defaults = _company({**record, "ticker": "X"}, WatchedCompany(None), f"{path}, top")
    companies = [_company(row, defaults, f"{path}, company {number}") for number, row in enumerate(rows, 1)]
    names = [company.name for company in companies]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise WatchListError(f"{path}: {', '.join(twice)} is there twice; keep one")
    return WatchList(tuple(sorted(companies, key=lambda company: company.name)), user_agent)


def _company(row: dict[str, Any], defaults: WatchedCompany, where: str) -> WatchedCompany:
    if where.endswith("top"):
        row = {name: row[name] for name in ("ticker", *_COMMON) if name in row}
    _only(row, {"ticker", "cik", *_COMMON}, where)
    ticker, stated_cik = row.get("ticker"), row.get("cik")
    cik = normal_cik(stated_cik) if isinstance(stated_cik, str | int) else None
    if (ticker is None) == (stated_cik is None) or (stated_cik is not None and cik is None):
        raise WatchListError(f'{where}: write either ticker = "KO" or cik = "0000021344"')
    labels = row.get("labels", list(defaults.labels) if defaults.labels else None)
    if labels is not None and not (isinstance(labels, list) and labels and all(isinstance(x, str) for x in labels)):
        raise WatchListError(f"{where}: labels must be a list of names")
    return WatchedCompany(
        None if ticker is None else _ticker(ticker, where),
        cik,
        _forms(row.get("forms", list(defaults.forms)), where),
        _day(row["since"], where) if "since" in row else defaults.since,
        tuple(sorted(set(labels))) if labels else None,
    )


def _only(row: dict[str, Any], allowed: set[str], where: str) -> None:
    if unknown := sorted(set(row) - allowed):
        raise WatchListError(f"{where}: unknown {', '.join(unknown)}; allowed are {', '.join(sorted(allowed))}")


def _ticker(stated: object, where: str) -> str:
    ticker = normal_ticker(stated) if isinstance(stated, str) else None
    if ticker is None:
        raise WatchListError(f"{where}: {stated!r} is no ticker; write one such as KO or BRK-B")
    return ticker


def _forms(stated: object, where: str) -> tuple[str, ...]:
    if not (isinstance(stated, list) and stated and all(isinstance(form, str) and form.strip() for form in stated)):
        raise WatchListError(f'{where}: forms must be a list such as ["10-Q", "10-K"]')
    return tuple(dict.fromkeys(" ".join(form.upper().split()).removesuffix("/A") for form in stated))


def _day(stated: object, where: str) -> str:
    try:
        return (stated if type(stated) is date else date.fromisoformat(str(stated))).isoformat()
    except ValueError:
        raise WatchListError(f"{where}: since {stated!r} is no date; write 2024-01-31") from None
