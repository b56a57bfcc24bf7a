"""What `finrag` prints for people. Records in, text out; nothing is decided here."""

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from finrag_pipelines.commands import IngestReport, Inspection, SourceListing

_out = Console(highlight=False, soft_wrap=True)
_QUOTE_LIMIT = 320
_PIPE_WIDTH = 400


class Bars:
    """Progress bars on standard error; quiet where asked to be, plain lines where nobody watches."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._progress: Progress | None = None

    def __enter__(self) -> "Bars":
        if not self._quiet:
            self._progress = Progress(
                TextColumn("{task.description:<24}"),
                BarColumn(bar_width=30),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[item]}"),
                console=Console(stderr=True),
            )
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress:
            self._progress.stop()

    @contextmanager
    def track(self, description: str, total: int) -> Iterator[Callable[[str], None]]:
        """Show a bar of `total` steps."""
        if not self._progress or not total:
            yield lambda item: None
            return
        progress, task = self._progress, self._progress.add_task(description, total=total, item="")
        yield lambda item: progress.update(task, advance=1, item=item)
        progress.update(task, item="")


def plain(value: Any) -> Any:
    """Return a database value as JSON has it."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.hex()
    return value


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a result of a query as a table; in a pipe it is as wide as it needs to be."""
    table = Table(show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if value is None else _visible(str(value))) for value in row))
    Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH).print(table)


def print_ingest(report: IngestReport) -> None:
    """Print what an ingestion did."""
    new = len(report.new_sources)
    _out.print(
        f"{report.found} file(s) found: {new} processed, {report.unchanged} unchanged, {len(report.skipped)} skipped; "
        f"{report.seconds:.1f} s, {report.peak_memory_mb} MB"
    )
    for skipped in report.skipped:
        _line(f"  skipped  {skipped.path}\n           {skipped.code}: {skipped.message}")
    for warning in report.warnings:
        _line(f"  warning  {warning}")
    for said in report.unfinished_erasures:
        _line(f"  {said}")
    if report.error:
        _line(f"  {report.error}")
    elif report.index_version:
        state = "published" if report.index_changed else "unchanged"
        _line(f"index {report.index_version[:12]} {state}")
        if report.stopped:
            _line(f"index {report.stopped[:12]} is published, and was not promoted: the one above still answers")
        for said in report.promotion:
            _line(f"  {said}")
        if report.stopped:
            _line("  next: mend what fell and ingest again, or `finrag eval promote --force` to let it answer as it is")


def print_sources(listing: SourceListing) -> None:
    """Print the sources and the rejected inputs."""
    columns = ("source", "v", "state", "form", "period", "filed", "labels", "file")
    print_rows(
        columns,
        [
            (r.source_id, r.version, r.availability, r.form, r.period, r.filed, ",".join(r.labels), r.file_name)
            for r in listing.sources
        ],
    )
    for row in listing.sources:
        for note in filter(None, (row.reason, row.amendment, *row.warnings)):
            _line(f"  {row.source_id}: {note}")
    if listing.rejected:
        _line("\nrejected inputs")
        for rejected in listing.rejected:
            _line(f"  {rejected.path}\n    {rejected.code}: {rejected.message}")
    _line(f"\nindex {listing.index_version[:12] if listing.index_version else 'not published yet'}")


def print_answer(answer: dict[str, Any]) -> None:
    """Print an answer with its citations, or a refusal."""
    _out.print()
    _out.print(Text(_visible(f"Q  {answer['question']}"), style="bold"))
    if answer["decision"] == "refused":
        refusal = answer["refusal"]
        _out.print(Text(f"REFUSED  {refusal['code']}", style="yellow"))
        _line(f"   {refusal['reason']}")
        for missing in refusal["missing"]:
            _line(f"   missing: {missing}")
    else:
        for line in answer["answer"].splitlines():
            _line(f"   {line}")
        for number, citation in enumerate(answer["citations"], 1):
            _line(f"  [{number}] {_where(citation)}")
            _line(f"      “{_short(citation['quote'])}”")
    _line(f"   answer {answer['answer_id']}  index {(answer['index_version'] or '')[:12]}")


def print_segment(segment: dict[str, Any]) -> None:
    """Print one sentence of an answer with its citations, or, at the end, which answer it was or why there is none."""
    if "sentence" in segment:
        _line(f"   {segment['sentence']}")
        for citation in segment["citations"]:
            _line(f"  [{citation['marker']}] {_where(citation)}")
            _line(f"      “{_short(citation['quote'])}”")
        return
    if refusal := segment["refusal"]:
        _line(f"REFUSED  {refusal['code']}\n   {refusal['reason']}")
        for missing in refusal["missing"]:
            _line(f"   missing: {missing}")
    _line(f"   answer {segment['answer_id']}  index {(segment['index_version'] or '')[:12]}")


def print_stability(answer: dict[str, Any], stable: Any) -> None:
    """Print the first of many answers to one question, and how far the others came out the same."""
    print_answer(answer)
    decided = ", ".join(f"{name} {count} times" for name, count in stable.decisions)
    _line(f"\nasked {stable.asked} times: {decided}; {stable.versions} version(s) of the record")
    _line(f"flips of deterministic gates  {stable.deterministic}")
    _line(f"flips of model-made gates     {stable.model_made}")
    for gate in stable.gates:
        _line(f"  {gate.gate} ({gate.made_by}): {gate.flips}")


def print_replay(outcome: Any) -> None:
    """Print what a replay found: what has changed since, rule sets first, then what came out otherwise."""
    for one in outcome.changed_circumstances:
        _line(f"changed since  {one}")
    for one in outcome.differing:
        _line(f"differs        {one}")
    if outcome.same:
        compared = "and text" if outcome.text_compared else "(not the text: a model wrote it)"
        _line(f"the same: plan, candidates, gates, decision {compared}")


def _where(citation: dict[str, Any]) -> str:
    parts = [f"{citation['source_id']} v{citation['version']}"]
    if citation["speaker"]:
        parts.append(str(citation["speaker"]))
    elif citation["section"]:
        parts.append(str(citation["section"]))
    if citation["page_index"] is not None:
        label = f" (printed {citation['page_label']})" if citation["page_label"] else ""
        parts.append(f"page index {citation['page_index']}{label}")
    parts.append(f"[{citation['start']}:{citation['end']}]")
    return ", ".join(parts)


def _short(quote: str) -> str:
    flat = " ".join(quote.split())
    return flat if len(flat) <= _QUOTE_LIMIT else f"{flat[:_QUOTE_LIMIT]}…"


def print_next_steps(answers: Sequence[dict[str, Any]]) -> None:
    """Say where to look after the demo."""
    finrag = _as_called()
    _line(
        "\nWhere to look next\n"
        f"  {finrag} evidence {answers[0]['answer_id']}\n"
        "      everything behind the first answer\n"
        f"  {finrag} verify\n"
        "      every quote read back from stored bytes\n"
        f'  {finrag} ask "…" --principal analyst\n'
        "      a question of your own, by one who may read the internal memo too\n"
        f"  {finrag} ingest PATH…\n"
        "      your own filings\n"
        "  make ui\n"
        "      the asset graph on http://127.0.0.1:3000"
    )


def _as_called() -> str:
    """Return how to type the command: by its name where the shell finds it, else by its path from here."""
    called = Path(sys.argv[0])
    if shutil.which("finrag") or called.name != "finrag":
        return "finrag"
    path = called.absolute()
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def print_search(response: Any) -> None:
    """Print search results and the trace that says how they came about."""
    trace, plan = response.trace, response.trace.plan
    pairs = ", ".join(f"{p.company or 'any company'} {p.period or 'any period'}" for p in plan.pairs) or "none"
    _line(f"asked for   {pairs}")
    for name, values in sorted(trace.filters.items()):
        if values:
            _line(f"filter      {name}: {', '.join(map(str, values))}")
    _line(f"ranked by   {plan.ranking_query!r} over {trace.candidate_count} fragments, {trace.mode}")
    for term, added in plan.expansions:
        _line(f"expanded    {term} -> {', '.join(added)}")
    for note in (*plan.notes, *trace.notes):
        _line(f"note        {note}")
    if not response.results:
        _line("nothing was found")
    for found in response.results:
        fragment = found.fragment
        place = fragment.speaker or fragment.section or ""
        page = "" if fragment.page_index is None else f" page index {fragment.page_index}"
        channels = "+".join(found.contributing)
        origin = f"{fragment.source_id} v{fragment.version}  {place}{page}"
        _out.print(Text(f"\n{found.rank:>2}  {found.score:.4f}  {origin}  {channels}", style="bold"))
        _line(f"    [{fragment.start}:{fragment.end}] {_short(fragment.text)}")
    times = "  ".join(f"{name} {value:.0f} ms" for name, value in sorted(trace.timings_ms.items()))
    _line(f"\nindex {trace.index_version[:12]}  {times}")


def print_findings(findings: Sequence[Any]) -> None:
    """Print what the doctor found."""
    for finding in findings:
        _line(f"{'ok ' if finding.ok else 'NO '} {finding.name:<22} {finding.detail}")
        if not finding.ok:
            _line(f"    -> {finding.remedy}")


def print_evidence(record: dict[str, Any]) -> None:
    """Print everything behind an answer, from the decision down to the bytes."""
    answer = record["answer"]
    _out.print(Text(_visible(answer["question"]), style="bold"))
    for name in (
        "answer_id",
        "decision",
        "refusal_code",
        "refusal_reason",
        "principal",
        "as_of",
        "index_version",
        "generator",
        "policy_epoch",
        "sequence",
        "record_hash",
        "previous_hash",
    ):
        if answer.get(name) is not None:
            _line(f"  {name:<22} {answer[name]}")
    for name, rows in record.items():
        if name == "answer" or not rows:
            continue
        _out.print(Text(f"\n{name} ({len(rows)})", style="bold"))
        for row in rows:
            _line("  " + "  ".join(f"{k}={_short(str(v))}" for k, v in row.items() if v not in (None, "", [])))


def print_inspection(found: Inspection) -> None:
    """Print what parsing made of a source."""
    _line(f"{found.source_id} v{found.version}  {found.kind}  {found.characters} characters, {len(found.pages)} pages")
    _line(f"representation {found.representation_id[:16]} by {found.parser}")
    for finding in found.identity["findings"]:
        _line(f"  {finding['name']:<14} {finding['value']}   ({finding['basis']})")
    for name, reason in sorted(found.identity["unknown"].items()):
        _line(f"  {name:<14} unknown: {reason}")
    if found.amendment:
        _line(f"  amendment      {found.amendment}")
    for warning in (*found.identity["warnings"], *found.flags):
        _line(f"  warning        {warning}")
    if found.elements:
        _print_records("elements", found.elements, ("kind", "start", "end", "section", "turn", "table", "text"))
        return
    _print_records(
        "sections", found.sections, ("key", "title", "page_index", "start", "characters", "pointer", "flags")
    )
    _print_records("tables", found.tables, ("start", "page_index", "rows", "columns", "units", "caption"))
    _print_records("speakers", found.speakers, ("speaker", "role", "title", "firm", "turns"))
    _print_records("rejected headings", found.rejected_headings, ("key", "start", "reason"))


def _print_records(title: str, records: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    if not records:
        return
    _out.print(Text(f"\n{title} ({len(records)})", style="bold"))
    cells = [[_cell(record[column]) for column in columns] for record in records]
    print_rows(columns, cells)


def _cell(value: Any) -> str | None:
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    return None if value is None else " ".join(str(value).split())[:90]


def _line(text: str) -> None:
    sys.stdout.write(_visible(text) + "\n")


def visible(text: str) -> str:
    """Return `text` with control characters shown, not obeyed."""
    return _visible(text)


def _visible(text: str) -> str:
    # Text of documents is printed as it is: no markup is read in it, and control characters are shown, not obeyed.
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
