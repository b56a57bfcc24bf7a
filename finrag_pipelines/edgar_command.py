"""The commands `finrag edgar …`: filings of watched companies, from EDGAR into the published index."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from finrag_pipelines.storage import open_store

if TYPE_CHECKING:
    from finrag_pipelines.edgar_sync import FoundFiling, SyncReport
    from finrag_pipelines.ingestion.watch_list import WatchList

app = typer.Typer(name="edgar", help="Filings of watched companies, from EDGAR.", no_args_is_help=True)

_ERROR, _USAGE, _SKIPPED, _UNVERIFIED = 1, 2, 4, 5  # as cli.Exit has them


@app.callback()
def _group() -> None:
    """Filings of watched companies, from EDGAR."""


@app.command()
def sync(
    tickers: Annotated[str, typer.Option(help="These companies only, e.g. KO,PEP; also ones not watched.")] = "",
    forms: Annotated[str, typer.Option(help="These forms only, e.g. 10-Q,10-K,8-K; amendments included.")] = "",
    since: Annotated[str, typer.Option(help="Filed on or after this date (YYYY-MM-DD).")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many filings, the newest.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what is new; receive nothing.")] = False,
    retry_rejected: Annotated[bool, typer.Option("--retry-rejected", help="Try rejected filings again.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text.")] = False,
) -> None:
    """Receive what watched companies have filed, send it through its chain, and publish an index."""
    from finrag_pipelines.console import Bars
    from finrag_pipelines.edgar_sync import sync_filings
    from finrag_pipelines.ingestion.edgar.errors import EdgarError
    from finrag_pipelines.ingestion.watch_list import WatchListError

    try:
        watch_list = _watch_list(_listed(tickers), _listed(forms), since or None)
    except WatchListError as error:
        sys.stderr.write(f"finrag: {error}\n")
        raise typer.Exit(_USAGE) from None
    try:
        with Bars(as_json) as bars:
            report = sync_filings(open_store(), watch_list, bars, limit, dry_run, retry_rejected)
    except EdgarError as error:
        sys.stderr.write(f"finrag: {error}\n")
        raise typer.Exit(_ERROR) from None
    if as_json:
        sys.stdout.write(json.dumps(asdict(report), ensure_ascii=False) + "\n")
    else:
        _print(report)
    if report.ingest and (report.ingest.error or report.ingest.stopped):
        raise typer.Exit(_ERROR)
    if report.ingest and report.ingest.unfinished_erasures:
        raise typer.Exit(_UNVERIFIED)
    raise typer.Exit(_SKIPPED if report.unanswered or (report.ingest and report.ingest.skipped) else 0)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _watch_list(tickers: tuple[str, ...], forms: tuple[str, ...], since: str | None) -> "WatchList":
    from finrag_pipelines.ingestion.watch_list import WatchList, read_watch_list, watch_list_path

    # Whoever names companies needs no file.
    listed = WatchList() if tickers and not watch_list_path().exists() else read_watch_list()
    return listed.narrowed(tickers, forms, since)


def _print(report: "SyncReport") -> None:
    from finrag_pipelines import console

    sys.stdout.write(f"{report.companies} companies asked about: {len(report.filings)} new filing(s)\n")
    if report.filings:
        columns = ("company", "form", "filed", "period of report", "accession", "source")
        console.print_rows(columns, _rows(report.filings))
    for missed in report.unanswered:
        sys.stdout.write(f"  unanswered  {missed.path}\n              {missed.code}: {missed.message}\n")
    if report.ingest:
        console.print_ingest(report.ingest)


def _rows(filings: Sequence["FoundFiling"]) -> list[tuple[str | None, ...]]:
    return [
        (f.company, f.form, f.filed, f.period_of_report, f.accession, ", ".join(f.source_ids) or None) for f in filings
    ]
