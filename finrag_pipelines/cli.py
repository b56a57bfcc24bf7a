"""The command `finrag`: bring in documents, ask, search, read, and follow an answer back to its bytes.

What is printed for people is in console.py. Exit codes: 0 done or answered, 1 error, 2 usage, 3 refused, 4 some inputs
skipped, 5 verification failed.
"""

import io
import json
import os
import sys
from dataclasses import asdict
from datetime import date
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from finrag_pipelines import edgar_command, eval_command, lifecycle_command, upkeep_command
from finrag_pipelines.storage import Store, open_store, project_root

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


MAX_QUESTION = 20_000


class Exit(IntEnum):
    """What the exit code of `finrag` says."""

    DONE = 0
    ERROR = 1
    USAGE = 2
    REFUSED = 3
    SKIPPED = 4
    UNVERIFIED = 5
    INTERRUPTED = 130


def _question(text: str) -> str:
    # Bytes of the command line that are no UTF-8 reach Python as lone surrogates, which no engine takes.
    text = text.encode("utf-8", "replace").decode().strip()
    if not 0 < len(text) <= MAX_QUESTION:
        raise typer.BadParameter(f"ask something of 1 to {MAX_QUESTION} characters")
    return text


Question = Annotated[str, typer.Argument(callback=_question, help="The question.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text for people.")]
As = Annotated[str, typer.Option("--principal", help="Who asks; decides what may be read.")]


def _known_mode(mode: str) -> str:
    from finrag_pipelines.retrieval.modes import AUTO, FIXED_MODES

    known = (*FIXED_MODES, AUTO)
    if mode not in known:
        raise typer.BadParameter(f"{mode!r} is no mode; choose one of {', '.join(known)}")
    return mode


def _a_day(text: str) -> str:
    try:
        return text and date.fromisoformat(text).isoformat()
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no date; write YYYY-MM-DD") from None


Mode = Annotated[
    str, typer.Option("--mode", help="lexical, vector, hybrid, hybrid+rerank or auto.", callback=_known_mode)
]
AsOf = Annotated[str, typer.Option("--as-of", help="Read the question as of this date (YYYY-MM-DD).", callback=_a_day)]
GeneratorKind = Annotated[
    str, typer.Option("--generator", envvar="FINRAG_GENERATOR", help="extractive, auto, ollama or openai-compatible.")
]
ModelName = Annotated[str, typer.Option("--model", envvar="FINRAG_MODEL", help="Which model the server is to use.")]
BaseUrl = Annotated[str, typer.Option("--base-url", envvar="FINRAG_BASE_URL", help="Where the model's server is.")]
IndexVersion = Annotated[str, typer.Option("--index-version", help="Answer from this index version, not the current.")]


def _print_json(value: Any) -> None:
    in_ascii = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    sys.stdout.write(json.dumps(value, ensure_ascii=in_ascii, sort_keys=False) + "\n")


def _stop(message: str, code: Exit = Exit.ERROR) -> NoReturn:
    sys.stderr.write(f"finrag: {_one_line(message)}\n")
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
    paths: Annotated[list[Path] | None, typer.Argument(help="Files or folders; none: what is in the store.")] = None,
    company: Annotated[str | None, typer.Option(help="Override the company id (one file only).")] = None,
    form: Annotated[str | None, typer.Option(help="Override the form, e.g. 10-Q, transcript, memo.")] = None,
    period: Annotated[str | None, typer.Option(help="Override the fiscal period, e.g. 2025Q3 or FY2025.")] = None,
    filed: Annotated[str | None, typer.Option(help="Override the filed date (YYYY-MM-DD).")] = None,
    label: Annotated[list[str] | None, typer.Option(help="Access label; repeat for several. Default: public.")] = None,
    as_json: AsJson = False,
) -> None:
    """Bring in documents: identify, parse, cut, embed, and publish an index of all that is ready.

    Without paths, go on with what the store has received: what is stale or failed, and an index that is behind.
    """
    from finrag_pipelines import console
    from finrag_pipelines.ingestion.folder import find_documents
    from finrag_pipelines.parsing.parse import Overrides

    paths = paths or []
    missing = [str(path) for path in paths if not os.path.lexists(path)]
    if missing:
        _stop(f"no such file or folder: {', '.join(missing)}", Exit.USAGE)
    if barred := [str(path) for path in paths if path.is_dir() and not os.access(path, os.R_OK | os.X_OK)]:
        _stop(f"folder cannot be read: {', '.join(barred)}; check its rights")
    overrides = Overrides(company=company, form=form, period=period, filed=filed)
    documents = list(find_documents(paths))
    if label and not all(name.strip() and name.isprintable() for name in label):
        _stop("--label needs a name", Exit.USAGE)
    if overrides.stated() and len(documents) != 1:
        _stop("--company, --form, --period and --filed need exactly one file; use sidecars for many", Exit.USAGE)
    _check_overrides(overrides)
    report = _ingest(open_store(), paths, overrides, tuple(label) if label else None, as_json)
    if as_json:
        _print_json(asdict(report))
    else:
        console.print_ingest(report)
    if report.error or report.stopped:
        raise typer.Exit(Exit.ERROR)
    if report.unfinished_erasures:
        raise typer.Exit(Exit.UNVERIFIED)
    raise typer.Exit(Exit.SKIPPED if report.skipped else Exit.DONE)


def _check_overrides(overrides: Any) -> None:
    from finrag_pipelines.ingestion.folder import check_stated

    try:
        check_stated(overrides)
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
    question: Question,
    principal: As = "public",
    mode: Mode = "hybrid",
    limit: Annotated[int, typer.Option("-k", "--limit", min=1, max=200, help="How many results.")] = 10,
    as_of: AsOf = "",
    index_version: IndexVersion = "",
    as_json: AsJson = False,
) -> None:
    """Find fragments, and show how: plan, filters, ranks of each channel."""
    from finrag_pipelines import console
    from finrag_pipelines.as_of import index_as_of
    from finrag_pipelines.embedding.opening import open_embedder
    from finrag_pipelines.retrieval.search import open_index
    from finrag_pipelines.retrieval.to_json import response_json
    from finrag_pipelines.showing import searched

    store = open_store()
    reader = _principal(store, principal)
    _say_if_replaced(store, index_version)
    stood = index_as_of(store, as_of, open_embedder()) if as_of and not index_version else None
    index = open_index(store, index_version or stood)
    response = searched(store, index, question, reader, limit, mode, as_of or None)
    if as_json:
        _print_json(response_json(response))
    else:
        console.print_search(response)


def _say_if_replaced(store: Store, index_version: str) -> None:
    """Say on standard error that another index version stands in for one that an erasure took away."""
    from finrag_pipelines.indexing.publication import replaced_by

    if index_version and (other := replaced_by(store, index_version)):
        sys.stderr.write(
            f"finrag: index version {index_version[:12]} was replaced by {other[:12]} because of an erasure; "
            "that one answers\n"
        )


@app.command()
def ask(
    question: Question,
    principal: As = "public",
    mode: Mode = "hybrid",
    as_of: AsOf = "",
    index_version: IndexVersion = "",
    repeat: Annotated[int, typer.Option(min=1, max=1000, help="Ask so often, and say how stable the answer is.")] = 1,
    streamed: Annotated[bool, typer.Option("--stream", help="Print sentence by sentence.")] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="Answer a comparison for what is covered, the gap stated first.")
    ] = False,
    generator: GeneratorKind = "extractive",
    model: ModelName = "",
    base_url: BaseUrl = "",
    as_json: AsJson = False,
) -> None:
    """Answer one question with citations, or refuse with a reason; either leaves evidence records."""
    from finrag_pipelines import console, showing

    if streamed and repeat > 1:
        _stop("--stream shows one answer; leave out --repeat", Exit.USAGE)
    made_by = _generator(generator, model, base_url) | {"partial": "allow" if partial else "refuse"}
    store = open_store()
    run_id = _asked(store, [question] * repeat, principal, mode, as_of, index_version, made_by)
    reader = _principal(store, principal)
    if streamed:
        answer: dict[str, Any] = {}
        for answer in showing.segments_of_run(store, run_id, reader):
            _print_json(answer) if as_json else console.print_segment(answer)
            sys.stdout.flush()
    elif repeat > 1:
        answer, stable = showing.first_of_run(store, run_id, reader)
        if as_json:
            _print_json({"answer": answer, "stability": asdict(stable)})
        else:
            console.print_stability(answer, stable)
        if stable.deterministic:
            raise typer.Exit(Exit.UNVERIFIED)
    else:
        answer = showing.answers_of_run(store, run_id, reader)[0]
        _print_json(answer) if as_json else console.print_answer(answer)
    raise typer.Exit(Exit.DONE if answer["decision"] == "answered" else Exit.REFUSED)


def _answers(
    store: Store, questions: list[str], principal: str, mode: str, as_of: str, index_version: str
) -> list[dict[str, Any]]:
    """Run the job `answer_questions` and return what the principal may see of what it recorded."""
    from finrag_pipelines.showing import answers_of_run

    run_id = _asked(store, questions, principal, mode, as_of, index_version)
    return answers_of_run(store, run_id, _principal(store, principal))


def _generator(kind: str, model: str, base_url: str) -> dict[str, str]:
    """Return the generator's part of the run configuration; stop where no such generator can exist."""
    from finrag_pipelines.answering.generators import GeneratorError, open_generator
    from finrag_pipelines.answering.model import AnswerConfig

    kind = kind or "extractive"
    try:
        open_generator(AnswerConfig(generator=kind, model=model, base_url=base_url))
    except GeneratorError as error:
        _stop(str(error), Exit.USAGE)
    return {"generator": kind, "model": model, "base_url": base_url}


def _asked(
    store: Store,
    questions: list[str],
    principal: str,
    mode: str,
    as_of: str,
    index_version: str,
    made_by: dict[str, str] | None = None,
) -> str:
    """Run the job `answer_questions` in this process; return the id of the run."""
    from finrag_pipelines.defs.local import LocalRunner

    _principal(store, principal)
    _say_if_replaced(store, index_version)
    outcome = LocalRunner.of(store).answer(
        {
            "questions": questions,
            "principal": principal,
            "mode": mode,
            "as_of": as_of,
            "index_version": index_version,
            **(made_by or {}),
        }
    )
    if outcome.error:
        _stop(outcome.error)
    return outcome.run_id


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
def evidence(
    answer_id: str,
    principal: Annotated[str, typer.Option(help="To whom it is shown. Default: the one who asked.")] = "",
    html: Annotated[Path | None, typer.Option(help="Write a page to this file, to keep or to hand on.")] = None,
    form: Annotated[str, typer.Option("--format", help="Export as w3c (annotations) or openlineage (events).")] = "",
    output: Annotated[Path | None, typer.Option(help="The file to export to.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show everything behind an answer: claims, quotes, ranges, hashes, candidates, gates. Access is read again."""
    from finrag_pipelines import console, showing

    store = open_store()
    if form not in ("", "w3c", "openlineage") or bool(form) != bool(output):
        _stop("an export needs both --format w3c or --format openlineage and --output FILE", Exit.USAGE)
    for path in filter(None, (html, output)):
        if path.is_dir() or not path.absolute().parent.is_dir():
            _stop(f"cannot write {path}: name a file in a folder that exists", Exit.USAGE)
    if html:
        showing.write_page(store, answer_id, html, principal)
        sys.stdout.write(f"written: {html}\n")
    if form == "w3c" or form == "openlineage":
        assert output is not None
        showing.write_export(store, answer_id, form, output, principal)
        sys.stdout.write(f"written: {output}\n")
    if not (html or form):
        record = showing.evidence_of(store, answer_id, principal)
        _print_json(record) if as_json else console.print_evidence(record)


@app.command()
def verify(
    answer_id: Annotated[str | None, typer.Argument(help="Verify this answer alone.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Verify everything, as without an answer.")] = False,
    as_json: AsJson = False,
) -> None:
    """Re-read every citation from stored bytes and recompute the chains of records, disclosures and catalog."""
    from finrag_pipelines.evidence.verify import erased_answers
    from finrag_pipelines.evidence.verify import verify as verify_evidence
    from finrag_pipelines.evidence.write import EvidenceError, read_head
    from finrag_pipelines.pipeline import published_versions

    if answer_id and everything:
        _stop("name one answer, or --all", Exit.USAGE)
    store = open_store()
    differences = verify_evidence(store, answer_id, published_versions(store))
    try:
        ends = asdict(read_head(store))
    except EvidenceError:
        ends = {}  # among the differences already
    erased = () if differences else erased_answers(store, answer_id)
    if as_json:
        found = [asdict(d) for d in differences]
        _print_json({"verified": not differences, "differences": found, "chain": ends, "erased": erased})
    else:
        for difference in differences:
            sys.stdout.write(f"{_one_line(str(difference))}\n")
        if not differences:
            sys.stdout.write("verified: every citation reads back and the chain is whole\n")
            for one in erased:
                sys.stdout.write(f"erased: texts of {one} are blank by an erasure; their commitments stand\n")
            sys.stdout.write(f"record {ends['sequence']} {ends['record_hash']}\n")
            sys.stdout.write(f"disclosure {ends['disclosures']} {ends['disclosure_hash']}\n")
    raise typer.Exit(Exit.UNVERIFIED if differences else Exit.DONE)


@app.command()
def replay(answer_id: str, as_json: AsJson = False) -> None:
    """Ask a recorded question again on its index version, principal, as-of and configuration, and compare."""
    from finrag_pipelines import console
    from finrag_pipelines.answering.replay import replay as ask_again

    outcome = ask_again(open_store(), answer_id)
    if as_json:
        _print_json(
            {
                "answer_id": answer_id,
                "same": outcome.same,
                "text_compared": outcome.text_compared,
                "changed_circumstances": [asdict(one) for one in outcome.changed_circumstances],
                "differing": [asdict(one) for one in outcome.differing],
            }
        )
    else:
        console.print_replay(outcome)
    raise typer.Exit(Exit.DONE if outcome.same else Exit.UNVERIFIED)


@app.command()
def sql(query: str, as_json: AsJson = False) -> None:
    """Run SQL on a snapshot of the catalog and evidence tables; it never blocks a writer and changes nothing."""
    import duckdb

    from finrag_pipelines import commands, console

    try:
        columns, rows = commands.query(open_store(), query)
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


app.add_typer(edgar_command.app)
app.add_typer(eval_command.app)
lifecycle_command.add_to(app)
app.command("status")(upkeep_command.status)
app.command("diff")(upkeep_command.diff)
app.command("compact")(upkeep_command.compact)


def main() -> None:
    """Run `finrag`, and turn every error into one line and an exit code."""
    from filelock import Timeout

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Text of documents and file names may hold what this terminal cannot show; it is escaped, not fatal.
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except SystemExit as stopped:
        if stopped.code == Exit.INTERRUPTED:
            sys.stderr.write("\nfinrag: interrupted; what was finished is kept, run it again to go on\n")
        _flush()
        raise
    except Timeout as error:
        _fail(f"{error.lock_file} is held by another process; try again when it is done")
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        _fail(f"{place}{error.strerror or error}; see whether the store and the disk can be written (`finrag doctor`)")
    except Exception as error:
        if os.environ.get("FINRAG_DEBUG"):
            raise
        known = type(error).__module__.startswith("finrag_pipelines.")
        text = " ".join(str(error).split()) or type(error).__name__
        _fail(text if known else f"{type(error).__name__}: {text} (FINRAG_DEBUG=1 shows where)")


def _flush() -> None:
    """Write out what is buffered; where the reader is gone, let the interpreter exit without complaint."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> NoReturn:
    sys.stderr.write(f"finrag: {_one_line(message)}\n")
    sys.exit(Exit.ERROR)


def _one_line(message: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in message.replace("\n", " "))


if __name__ == "__main__":
    main()
