"""Commands about who may read a source and how long it stays: `access`, `suspend`, `resume`, `erase`, `retention`."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from finrag_pipelines.storage import Store, open_store

if TYPE_CHECKING:
    from finrag_pipelines.lifecycle.erase import ErasureReport
    from finrag_pipelines.lifecycle.search import Searched

access = typer.Typer(name="access", help="Who may read what: principals with groups, sources with labels.")

_ERROR, _USAGE, _UNVERIFIED = 1, 2, 5  # as cli.Exit has them

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text for people.")]
Reason = Annotated[str, typer.Option(help="Why, in your words; kept in the catalog, so no words of the document.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to the command line."""
    app.add_typer(access)
    for command in (suspend, resume, erase, retention):
        app.command()(command)


@access.command()
def grant(
    principal: Annotated[str, typer.Argument(help="A principal, known or new.")],
    groups: Annotated[list[str], typer.Argument(help="Groups to put it into, beside those it has.")],
    as_json: AsJson = False,
) -> None:
    """Put a principal into groups. Holds at once, for every index version and every recorded answer."""
    from finrag_pipelines.catalog.lifecycle import grant as put_into

    put_into(open_store(), principal, groups)
    _show(open_store(), principal, as_json)


@access.command()
def revoke(
    principal: Annotated[str, typer.Argument(help="A principal.")],
    groups: Annotated[list[str], typer.Argument(help="Groups to take it out of.")],
    as_json: AsJson = False,
) -> None:
    """Take a principal out of groups. Holds at once, also for answers that were given before."""
    from finrag_pipelines.catalog.lifecycle import revoke as take_out_of

    take_out_of(open_store(), principal, groups)
    _show(open_store(), principal, as_json)


@access.command()
def label(
    source: str,
    labels: Annotated[list[str], typer.Argument(help="Labels in place of those it has; `public` opens it to all.")],
    as_json: AsJson = False,
) -> None:
    """Set the access labels of a source. Holds at once; an index follows in which it stands under them."""
    from finrag_pipelines.catalog.lifecycle import set_labels

    set_labels(open_store(), source, labels)
    _follow(open_store(), as_json)
    _show(open_store(), None, as_json, source)


@access.command()
def show(as_json: AsJson = False) -> None:
    """List principals with their groups, sources with their labels, and the policy epoch."""
    _show(open_store(), None, as_json)


def _show(store: Store, principal: str | None, as_json: bool, source: str | None = None) -> None:
    """Print the rules: all of them, or those of one principal or source."""
    from finrag_pipelines.catalog.catalog import read_catalog

    catalog = read_catalog(store)
    principals = {
        name: sorted(one.groups)
        for name, one in sorted(catalog.principals.items())
        if source is None and principal in (None, name)
    }
    sources = [
        {"source_id": name, "labels": list(one.labels), "lifecycle": one.lifecycle, "reason": one.reason}
        for name, one in sorted(catalog.sources.items())
        if principal is None and source in (None, name)
    ]
    if as_json:
        _print_json({"policy_epoch": catalog.policy_epoch, "principals": principals, "sources": sources})
        return
    from finrag_pipelines.console import print_rows

    if principals:
        print_rows(("principal", "groups"), [(name, ", ".join(groups)) for name, groups in principals.items()])
    if sources:
        sys.stdout.write("\n" if principals else "")
        rows = [(one["source_id"], ", ".join(one["labels"]), one["lifecycle"], one["reason"]) for one in sources]
        print_rows(("source", "labels", "state", "reason"), rows)
    sys.stdout.write(f"\npolicy epoch {catalog.policy_epoch}\n")


def suspend(source: str, reason: Reason = "", as_json: AsJson = False) -> None:
    """Make a source unreadable for everybody, at once and on every index version; it is kept, `resume` undoes it."""
    from finrag_pipelines.catalog.lifecycle import suspend as withhold

    _turned(source, withhold(open_store(), source, reason), "suspended", as_json)


def resume(source: str, as_json: AsJson = False) -> None:
    """Make a suspended source readable again."""
    from finrag_pipelines.catalog.lifecycle import resume as let_go

    _turned(source, let_go(open_store(), source), "live", as_json)


def _turned(source: str, changed: bool, state: str, as_json: bool) -> None:
    index_version = _follow(open_store(), as_json)
    if as_json:
        _print_json({"source_id": source, "state": state, "changed": changed, "index_version": index_version})
    else:
        sys.stdout.write(f"{source} is {state}{'' if changed else ' already'}\n")
        sys.stdout.write(f"index {index_version[:12] if index_version else 'not published yet'}\n")


def erase(
    sources: Annotated[
        list[str] | None, typer.Argument(help="Sources; with --verify none means all erased ones.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    reason: Reason = "",
    verify: Annotated[
        bool, typer.Option("--verify", help="Erase nothing; search the store for what was erased.")
    ] = False,
    file: Annotated[list[Path] | None, typer.Option(help="With --verify: a copy of a document to search for.")] = None,
    text: Annotated[list[str] | None, typer.Option(help="With --verify: words to search for.")] = None,
    as_json: AsJson = False,
) -> None:
    """Remove sources for good: bytes, text, index, vectors, quotes in records. A tombstone of hashes stays."""
    store = open_store()
    if verify:
        _verify(store, sources or [], file or [], text or [], as_json)
    if file or text:
        _stop("--file and --text go with --verify", _USAGE)
    if not sources:
        _stop("name the sources to erase; `finrag sources` lists them", _USAGE)
    _erase(store, sources, yes, reason, as_json)


def _erase(store: Store, sources: Sequence[str], yes: bool, reason: str, as_json: bool) -> None:
    from finrag_pipelines.catalog.catalog import read_catalog
    from finrag_pipelines.defs.forgetting import forget_runs
    from finrag_pipelines.withdrawal import erase as remove

    catalog = read_catalog(store)
    for source in sources:
        catalog.source(source)
    if not yes:
        if as_json or not sys.stdin.isatty():
            _stop("this cannot be undone; add --yes", _USAGE)
        if not typer.confirm(f"Erase {', '.join(sources)} for good?"):
            _stop("nothing was erased")
    started = time.monotonic()
    report = _alone(store, as_json, lambda: remove(store, sources, reason, forget_runs))
    index_version = _follow(store, as_json) if report.is_done else None
    seconds = round(time.monotonic() - started, 2)
    if as_json:
        _print_json({**asdict(report), "index_version": index_version, "seconds": seconds})
    else:
        _print_report(report, index_version, seconds)
    raise typer.Exit(0 if report.is_done and not report.searched.untold else _UNVERIFIED)


def _print_report(report: "ErasureReport", index_version: str | None, seconds: float) -> None:
    done = "erased" if report.is_done else "not erased completely"
    sys.stdout.write(f"{done}: {', '.join(report.source_ids)} ({seconds:.1f} s)\n")
    sys.stdout.write(f"  {report.removed.files} files of documents removed, {report.removed.bytes} bytes\n")
    for one in report.versions_replaced:
        sys.stdout.write(f"  index {one.index_version[:12]} replaced by {one.by[:12]}\n")
    sys.stdout.write(
        f"  {report.texts_blanked} texts blanked; {len(report.answers)} answers have blank texts; "
        f"{report.runs_forgotten} runs with a quoting question forgotten\n"
    )
    _print_searched(report.searched)
    if index_version:
        sys.stdout.write(f"index {index_version[:12]} answers\n")


def _print_searched(searched: "Searched") -> None:
    megabytes = searched.bytes / 1e6
    sys.stdout.write(f"  searched {searched.files} files, {megabytes:.1f} MB, for {searched.passages} passages: ")
    sys.stdout.write(f"{len(searched.hits)} hits\n")
    for hit in searched.hits:
        sys.stdout.write(f"  hit  {hit.path} ({hit.place}): {hit.passages}\n")
    for path in searched.unopened:
        sys.stdout.write(f"  not opened, searched as bytes at most: {path}\n")
    for name in searched.untold:
        sys.stdout.write(f"  not searched for, as documents that stay say all of it, or it has no words: {name}\n")


def _verify(
    store: Store, sources: Sequence[str], files: Sequence[Path], texts: Sequence[str], as_json: bool
) -> NoReturn:
    from finrag_pipelines.lifecycle.verification import stated_passages, verify_erasures
    from finrag_pipelines.withdrawal import erasures_of

    if missing := [path for path in files if not path.is_file()]:
        _stop(f"no such file: {missing[0]}", _USAGE)
    try:
        passages = stated_passages(files, texts)
    except ValueError as error:
        _stop(str(error), _USAGE)
    found = verify_erasures(store, erasures_of(store, sources), passages)
    if as_json:
        _print_json({"verified": found.is_clean, **asdict(found)})
    else:
        for one in found.erasures:
            state = "done" if one.is_done else "not finished: run `finrag erase` on it again"
            sys.stdout.write(f"{one.source_id} erased {one.at[:10]}: {state}\n")
        for hit in found.traces:
            sys.stdout.write(f"  left {hit.path}: {hit.place}\n")
        _print_searched(found.searched)
        if not (files or texts):
            sys.stdout.write(
                "  searched by hashes and ids; the words were not kept: --file or --text searches for them\n"
            )
        is_unknown = not found.is_clean and not (found.traces or found.searched.hits) and found.searched.untold
        said = "nothing is left" if found.is_clean else "not proved" if is_unknown else "something is left"
        sys.stdout.write(f"{said}\n")
    raise typer.Exit(0 if found.is_clean else _UNVERIFIED)


def retention(
    action: Annotated[str, typer.Argument(help="`show` says what is due; `apply` erases it.")] = "show",
    as_json: AsJson = False,
) -> None:
    """Say what the rules of retention.toml would erase today, or erase it."""
    from finrag_pipelines.defs.forgetting import forget_runs
    from finrag_pipelines.lifecycle.retention import RetentionError, due, read_rules
    from finrag_pipelines.withdrawal import apply_rules

    if action not in ("show", "apply"):
        _stop(f"retention {action}: write `show` or `apply`", _USAGE)
    store = open_store()
    try:
        rules = read_rules()
        found = due(store, rules, datetime.now(UTC))
        report = None
        if action == "apply":
            report = _alone(store, as_json, lambda: apply_rules(store, rules, forget_runs))
            _follow(store, as_json)
    except RetentionError as error:
        _stop(str(error))
    if as_json:
        _print_json({"due": [asdict(one) for one in found], "report": asdict(report) if report else None})
        return
    for one in found:
        sys.stdout.write(f"{'erased' if report else 'due'}  {one.source_id}: {one.why}\n")
    if not found:
        sys.stdout.write("nothing is due\n")
    if report:
        _print_searched(report.searched)


def _alone(store: Store, quiet: bool, work: Callable[[], Any]) -> Any:
    """Do `work` while no ingestion writes to the store."""
    from finrag_pipelines.commands import alone
    from finrag_pipelines.console import Bars

    with Bars(quiet) as bars, alone(store, bars), bars.track("erasing", 1) as advance:
        done = work()
        advance("")
    return done


def _follow(store: Store, quiet: bool) -> str | None:
    """Publish the index that follows from a change of rules; return the version that answers."""
    from finrag_pipelines.commands import alone
    from finrag_pipelines.console import Bars
    from finrag_pipelines.defs.local import LocalRunner
    from finrag_pipelines.embedding.opening import open_embedder
    from finrag_pipelines.indexing.publication import current_version
    from finrag_pipelines.pipeline import is_published, mirror

    if current_version(store) is None:
        return None
    with Bars(quiet) as bars, alone(store, bars):
        if is_published(store, open_embedder().model_digest):
            mirror(store)
        else:
            with bars.track("building the index", 1) as advance:
                outcome = LocalRunner.of(store).publish_at_once()
                advance("")
            if outcome.error:
                _stop(f"the rules hold, and the index was not published: {outcome.error}")
    return current_version(store)


def _print_json(value: object) -> None:
    in_ascii = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    sys.stdout.write(json.dumps(value, ensure_ascii=in_ascii, default=sorted) + "\n")


def _stop(message: str, code: int = _ERROR) -> NoReturn:
    sys.stderr.write(f"finrag: {' '.join(message.split())}\n")
    raise typer.Exit(code)
