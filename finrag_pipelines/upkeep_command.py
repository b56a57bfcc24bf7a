"""The commands `finrag status`, `diff` and `compact`: how the corpus stands, what changed, what may be cleared."""

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from finrag_pipelines.storage import open_store

if TYPE_CHECKING:
    from finrag_pipelines.ingestion.edgar.poll_record import PollRecord
    from finrag_pipelines.revision import Revision, Side, Words
    from finrag_pipelines.status import PublishedIndex, Status

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text for people.")]


def status(as_json: AsJson = False) -> None:
    """Say what is published, what is stale and why, what EDGAR brought, and what to run next."""
    from finrag_pipelines.status import status as read_status

    found = read_status(open_store())
    if as_json:
        print_json(asdict(found))
    else:
        _print_status(found)


def diff(
    source: str,
    before: Annotated[int, typer.Argument(min=1, help="The earlier version.")],
    after: Annotated[int, typer.Argument(min=1, help="The later version.")],
    principal: Annotated[str, typer.Option("--principal", help="Who asks; decides what may be read.")] = "public",
    as_json: AsJson = False,
) -> None:
    """Show what changed between two versions of a source: sections, fragments word by word, table values."""
    from finrag_pipelines.catalog.catalog import read_catalog
    from finrag_pipelines.commands import versions_to_compare
    from finrag_pipelines.revision import compare_versions

    store = open_store()
    sides = versions_to_compare(store, source, read_catalog(store).principal(principal), before, after)
    found = compare_versions(store, *sides)
    if as_json:
        print_json({"same": found.is_empty, **asdict(found)})
    else:
        _print_revision(found)


def compact(
    keep: Annotated[int, typer.Option(min=1, help="How many of the newest index versions stay.")] = 5,
    now: Annotated[bool, typer.Option("--now", help="Also take files that a search may still be reading.")] = False,
    as_json: AsJson = False,
) -> None:
    """Clear away index versions, shards and vectors that neither the newest versions nor any recorded answer need."""
    from datetime import timedelta

    from finrag_pipelines.console import Bars
    from finrag_pipelines.upkeep import GRACE, compact_store

    with Bars(as_json) as bars, bars.track("compacting", 1) as advance:
        found = compact_store(open_store(), keep, timedelta(0) if now else GRACE)
        advance("")
    if as_json:
        print_json(asdict(found))
        return
    sys.stdout.write(
        f"{len(found.versions)} index version(s), {found.shards} shard(s), {found.manifests} manifest(s) and "
        f"{found.rows} vectors removed; {found.bytes / 2**20:.1f} MB freed\n"
    )


def print_json(value: object) -> None:
    """Print `value` as one line of JSON, escaped where the terminal cannot show it."""
    in_ascii = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    sys.stdout.write(json.dumps(value, ensure_ascii=in_ascii) + "\n")


def _print_status(found: "Status") -> None:
    from finrag_pipelines.console import print_rows

    _row("answers from", _index(found.answers))
    if found.newest and found.answers and found.newest.index_version != found.answers.index_version:
        _row("newest", f"{_index(found.newest)}; it is not promoted")
    counted = ", ".join(f"{number} {state}" for state, number in found.counts.items() if number)
    _row("sources", f"{sum(found.counts.values())}: {counted}" if counted else "none")
    if found.rejected:
        _row("rejected", f"{found.rejected} input(s)")
    behind = (
        f"behind: {len(found.to_publish)} source(s) differ" if found.to_publish else "behind: built by another model"
    )
    _row("index", behind if found.index_is_stale else "holds all that is ready" if found.newest else "none yet")
    _row("EDGAR", _poll(found.edgar.newest) if found.edgar.newest else "never asked")
    if (news := found.edgar.with_news) and news != found.edgar.newest:
        _row("last news", _poll(news))
    late = [one for one in found.evaluations if one.is_behind]
    _row(
        "evaluation",
        f"{len(found.evaluations)} on record, {len(late)} of another index" if found.evaluations else "none",
    )
    if found.stale:
        sys.stdout.write("\nstale\n")
        print_rows(("source", "why", "detail"), [(one.source_id, one.code, one.detail) for one in found.stale])
    if found.to_publish:
        sys.stdout.write("\nnot as published\n")
        print_rows(("source", "difference"), [(one.source_id, one.difference) for one in found.to_publish])
    sys.stdout.write("\nnext\n" if found.next else "\nnothing to do\n")
    for command, reason in found.next:
        sys.stdout.write(f"  {command:<20} {reason}\n")


def _row(name: str, value: str) -> None:
    sys.stdout.write(f"{name:<13} {value}\n")


def _index(index: "PublishedIndex | None") -> str:
    if index is None:
        return "nothing: no index is published"
    when = f", published {index.published_at[:16]}" if index.published_at else ""
    return f"index {index.index_version[:12]}: {index.sources} sources, {index.fragments} fragments{when}"


def _poll(poll: "PollRecord") -> str:
    missed = ", ".join(f"{name} ({code})" for name, code in sorted(poll.unanswered.items()))
    brought = f"{len(poll.sources)} new source(s), {poll.rejected} rejected"
    return f"{poll.at[:16]} by {poll.by}: {poll.companies} companies answered, {brought}" + (
        f"; unanswered: {missed}" if missed else ""
    )


def _print_revision(found: "Revision") -> None:
    from finrag_pipelines.console import print_rows, visible

    def line(text: str) -> None:
        sys.stdout.write(visible(text) + "\n")

    line(found.source_id)
    for side in (found.before, found.after):
        line(f"  {_side(side)}")
    if found.is_empty:
        line("nothing changed in what they say")
        return
    for change in found.identity:
        line(f"  {change.field}: {change.before or 'not stated'} -> {change.after or 'not stated'}")
    changed = [s for s in found.sections if s.added or s.removed or s.changed or s.before is None or s.after is None]
    line(f"\nsections: {len(changed)} of {len(found.sections)} differ")
    columns = ("section", "characters before", "after", "fragments same", "changed", "added", "removed")
    print_rows(
        columns,
        [
            (visible(s.section) or "whole text", s.before, s.after, s.same, s.changed, s.added, s.removed)
            for s in changed
        ],
    )
    for change in found.fragments:
        spans = [f"[{places[0].start}:{places[-1].end}]" if places else "-" for places in (change.before, change.after)]
        line(f"\n{change.section or 'whole text'}  {change.kind}  {spans[0]} -> {spans[1]}")
        for words in change.words:
            line(f"  {_words(words)}")
    if found.values:
        line(f"\ntable values ({len(found.values)})")
        columns = ("section", "table", "row", "column", "before", "after")
        print_rows(columns, [(v.section, v.table[:60], v.row, v.column, v.before, v.after) for v in found.values])


def _side(side: "Side") -> str:
    return (
        f"version {side.version}  {side.content_sha256[:12]}  {side.registered_at[:16]}  {side.characters} characters, "
        f"{side.fragments} fragments  {side.file_name}"
    )


def _words(words: "Words") -> str:
    marked = [f"[-{words.removed}-]" if words.removed else "", f"{{+{words.added}+}}" if words.added else ""]
    lead, trail = (f"… {words.lead}" if words.lead else ""), (f"{words.trail} …" if words.trail else "")
    return " ".join(part for part in (lead, *marked, trail) if part)
