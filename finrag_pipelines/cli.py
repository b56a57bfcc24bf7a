"""The command `finrag`: bring in documents, ask, search, read, and follow an answer back to its bytes.

What is printed for people is in console.py. Exit codes: 0 done or answered, 1 error, 2 usage, 3 refused, 4 some inputs
skipped, 5 verification failed.
"""

import json
import os
import sys
from dataclasses import asdict
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from finrag_pipelines.storage import Store, StoreError, open_store, project_root

# Set before anything imports the libraries that read them: nothing leaves this machine unasked.
for name, value in {"HF_HUB_OFFLINE": "1", "RAGAS_DO_NOT_TRACK": "true", "DO_NOT_TRACK": "1"}.items():
    os.environ.setdefault(name, value)
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

app = typer.Typer(
    name="finrag",
    help="Answers from financial documents that can be proved, or honest refusals.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

DEMO_QUESTIONS = (
    "What did PepsiCo say was driving margin pressure in Q1 2026?",
    "How did KO, PEP, and MDLZ each describe input-cost or commodity pressure in Q1 2026?",
    "Progressive combined ratio Q3 2024",
    "What is Coca-Cola's stock price today?",
)


class Exit(IntEnum):
    """What the exit code of `finrag` says."""

    DONE = 0
    ERROR = 1
    USAGE = 2
    REFUSED = 3
    SKIPPED = 4
    UNVERIFIED = 5


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text for people.")]
As = Annotated[str, typer.Option("--principal", help="Who asks; decides what may be read.")]
Mode = Annotated[str, typer.Option("--mode", help="lexical, vector, hybrid or hybrid+rerank.")]
AsOf = Annotated[str, typer.Option("--as-of", help="Read the question as of this date (YYYY-MM-DD).")]
IndexVersion = Annotated[str, typer.Option("--index-version", help="Answer from this index version, not the current.")]


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, sort_keys=False) + "\n")


def _stop(message: str, code: Exit = Exit.ERROR) -> NoReturn:
    sys.stderr.write(f"finrag: {message}\n")
    raise typer.Exit(code)


def _principal(store: Store, name: str) -> Any:
    from finrag_pipelines.catalog.catalog import read_catalog

    return read_catalog(store).principal(name)


def _ingest(store: Store, paths: list[Path], overrides: Any, labels: tuple[str, ...] | None, quiet: bool) -> Any:
    """Receive the files, send what is new through its chain, publish. Returns an IngestReport."""
    from finrag_pipelines.commands import ingest
    from finrag_pipelines.console import Bars

    with Bars(quiet) as bars:
        return ingest(store, paths, bars, overrides, labels)


@app.command("ingest")
def ingest_command(
    paths: Annotated[list[Path], typer.Argument(help="Files or folders.")],
    company: Annotated[str | None, typer.Option(help="Override the company id (one file only).")] = None,
    form: Annotated[str | None, typer.Option(help="Override the form, e.g. 10-Q, transcript, memo.")] = None,
    period: Annotated[str | None, typer.Option(help="Override the fiscal period, e.g. 2025Q3 or FY2025.")] = None,
    filed: Annotated[str | None, typer.Option(help="Override the filed date (YYYY-MM-DD).")] = None,
    label: Annotated[list[str] | None, typer.Option(help="Access label; repeat for several. Default: public.")] = None,
    as_json: AsJson = False,
) -> None:
    """Bring in documents: identify, parse, cut, embed, and publish an index of all that is ready."""
    from finrag_pipelines import console
    from finrag_pipelines.ingestion.folder import find_documents
    from finrag_pipelines.parsing.parse import Overrides

    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        _stop(f"no such file or folder: {', '.join(missing)}", Exit.USAGE)
    overrides = Overrides(company=company, form=form, period=period, filed=filed)
    documents = list(find_documents(paths))
    if overrides.stated() and len(documents) != 1:
        _stop("--company, --form, --period and --filed need exactly one file; use sidecars for many", Exit.USAGE)
    _check_overrides(overrides)
    report = _ingest(open_store(), paths, overrides, tuple(label) if label else None, as_json)
    if as_json:
        _print_json(asdict(report))
    else:
        console.print_ingest(report)
    if report.error:
        raise typer.Exit(Exit.ERROR)
    raise typer.Exit(Exit.SKIPPED if report.skipped else Exit.DONE)


def _check_overrides(overrides: Any) -> None:
    from datetime import date

    from finrag_pipelines.catalog.periods import parse_label

    try:
        if overrides.period:
            parse_label(overrides.period)
        if overrides.filed:
            date.fromisoformat(overrides.filed)
    except ValueError as error:
        _stop(str(error), Exit.USAGE)


@app.command()
def sources(as_json: AsJson = False) -> None:
    """List the sources with version, availability and reason, and the inputs that were rejected."""
    from finrag_pipelines import console
    from finrag_pipelines.commands import list_sources

    listing = list_sources(open_store())
    if as_json:
        _print_json(asdict(listing))
    else:
        console.print_sources(listing)


@app.command()
def search(
    question: str,
    principal: As = "public",
    mode: Mode = "hybrid",
    limit: Annotated[int, typer.Option("-k", "--limit", min=1, max=200, help="How many results.")] = 10,
    as_of: AsOf = "",
    index_version: IndexVersion = "",
    as_json: AsJson = False,
) -> None:
    """Find fragments, and show how: plan, filters, ranks of each channel."""
    from finrag_pipelines import console
    from finrag_pipelines.retrieval.search import open_index
    from finrag_pipelines.retrieval.to_json import response_json

    store = open_store()
    reader = _principal(store, principal)
    index = open_index(store, index_version or None)
    response = index.search(question, reader, k=limit, mode=mode, as_of=as_of or None)
    if as_json:
        _print_json(response_json(response))
    else:
        console.print_search(response)


@app.command()
def ask(
    question: str,
    principal: As = "public",
    mode: Mode = "hybrid",
    as_of: AsOf = "",
    index_version: IndexVersion = "",
    as_json: AsJson = False,
) -> None:
    """Answer one question with citations, or refuse with a reason; either leaves evidence records."""
    from finrag_pipelines import console

    answer = _answers(open_store(), [question], principal, mode, as_of, index_version)[0]
    if as_json:
        _print_json(answer)
    else:
        console.print_answer(answer)
    raise typer.Exit(Exit.DONE if answer["decision"] == "answered" else Exit.REFUSED)


def _answers(
    store: Store, questions: list[str], principal: str, mode: str, as_of: str, index_version: str
) -> list[dict[str, Any]]:
    """Run the job `answer_questions` in this process and read back what it recorded."""
    from finrag_pipelines.commands import answers_of_run
    from finrag_pipelines.defs.local import LocalRunner

    _principal(store, principal)
    outcome = LocalRunner.of(store).answer(
        {
            "questions": questions,
            "principal": principal,
            "mode": mode,
            "as_of": as_of,
            "index_version": index_version,
        }
    )
    if outcome.error:
        _stop(outcome.error)
    return answers_of_run(store, outcome.run_id)


@app.command()
def read(
    source: str,
    page: Annotated[int | None, typer.Option(min=0, help="Page index, from 0.")] = None,
    span: Annotated[str | None, typer.Option("--range", help="Characters A:B of the canonical text.")] = None,
    version: Annotated[int | None, typer.Option(min=1, help="Document version; default: the newest.")] = None,
    principal: As = "public",
    as_json: AsJson = False,
) -> None:
    """Print the canonical text of a source: all of it, a page, or a range."""
    from finrag_pipelines.commands import read_passage

    passage = read_passage(open_store(), source, _principal(open_store(), principal), version, page, _span(span))
    if as_json:
        _print_json(asdict(passage))
    else:
        sys.stdout.write(passage.text.rstrip("\n") + "\n")


@app.command()
def inspect(
    source: str,
    page: Annotated[int | None, typer.Option(min=0, help="Show the elements of this page index, from 0.")] = None,
    image: Annotated[Path | None, typer.Option(help="Draw the page with element and section boxes (PDF only).")] = None,
    version: Annotated[int | None, typer.Option(min=1, help="Document version; default: the newest.")] = None,
    principal: As = "public",
    as_json: AsJson = False,
) -> None:
    """Show what parsing made of a source: identity, sections, tables, speakers, doubts."""
    from finrag_pipelines import commands, console

    store = open_store()
    found = commands.inspect(store, source, _principal(store, principal), version, page, image)
    if as_json:
        _print_json(asdict(found))
    else:
        console.print_inspection(found)
        if image:
            sys.stdout.write(f"\ndrawn: {image}\n")


def _span(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    start, colon, end = text.partition(":")
    if not (colon and start.isdecimal() and end.isdecimal() and int(start) < int(end)):
        _stop(f"--range {text!r}: write two offsets such as 1200:1500", Exit.USAGE)
    return int(start), int(end)


@app.command()
def evidence(answer_id: str, as_json: AsJson = False) -> None:
    """Show everything behind an answer: claims, quotes, ranges, hashes, candidates, gates."""
    from finrag_pipelines import console
    from finrag_pipelines.commands import evidence_of

    record = evidence_of(open_store(), answer_id)
    if as_json:
        _print_json(record)
    else:
        console.print_evidence(record)


@app.command()
def verify(
    answer_id: Annotated[str | None, typer.Argument(help="Verify the records of this answer alone.")] = None,
    as_json: AsJson = False,
) -> None:
    """Re-read every citation from stored bytes and recompute the chain of records."""
    from finrag_pipelines.evidence.verify import verify as verify_evidence

    differences = verify_evidence(open_store(), answer_id)
    if as_json:
        _print_json({"verified": not differences, "differences": [asdict(d) for d in differences]})
    else:
        for difference in differences:
            sys.stdout.write(f"{difference}\n")
        sys.stdout.write("verified: every citation reads back and the chain is whole\n" if not differences else "")
    raise typer.Exit(Exit.UNVERIFIED if differences else Exit.DONE)


@app.command()
def sql(query: str, as_json: AsJson = False) -> None:
    """Run SQL on a snapshot of the catalog and evidence tables; it never blocks a writer and changes nothing."""
    import duckdb

    from finrag_pipelines import console
    from finrag_pipelines.storage.database import snapshot

    try:
        with snapshot(open_store()) as connection:
            relation = connection.execute(query)
            columns = [column[0] for column in relation.description or []]
            rows = relation.fetchall()
    except duckdb.Error as error:
        _stop(f"sql: {str(error).strip()}")
    if as_json:
        _print_json([dict(zip(columns, map(console.plain, row), strict=True)) for row in rows])
    else:
        console.print_rows(columns, rows)


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check this installation and its store, and say what to do about what is amiss."""
    from finrag_pipelines import console
    from finrag_pipelines.doctor import examine

    findings = examine()
    if as_json:
        _print_json([asdict(finding) for finding in findings])
    else:
        console.print_findings(findings)
    raise typer.Exit(Exit.DONE if all(finding.ok for finding in findings) else Exit.ERROR)


@app.command()
def demo(as_json: AsJson = False) -> None:
    """Bring in the synthetic sample corpus and ask four questions about it."""
    from finrag_pipelines import console

    folder = project_root() / "data" / "sample"
    if not folder.is_dir():
        _stop(f"no sample corpus at {folder}; run `finrag demo` from a checkout of the project")
    store = open_store()
    report = _ingest(store, [folder], None, None, as_json)
    if report.error:
        _stop(report.error)
    if not as_json:
        console.print_ingest(report)
    answers = _answers(store, list(DEMO_QUESTIONS), "public", "hybrid", "", "")
    if as_json:
        _print_json({"ingest": asdict(report), "answers": answers})
        return
    for answer in answers:
        console.print_answer(answer)
    console.print_next_steps(answers)


def main() -> None:
    """Run `finrag`, and turn every expected error into one line and an exit code."""
    from filelock import Timeout

    from finrag_pipelines.catalog.log import CatalogError

    try:
        app()
    except (StoreError, CatalogError, ValueError) as error:
        sys.stderr.write(f"finrag: {error}\n")
        sys.exit(Exit.ERROR)
    except Timeout as error:
        sys.stderr.write(f"finrag: {error.lock_file} is held by another process; try again when it is done\n")
        sys.exit(Exit.ERROR)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.DONE)


if __name__ == "__main__":
    main()
