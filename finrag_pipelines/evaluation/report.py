"""The report: which configuration is better, for which kind of question, how sure that is, where evidence was lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from finrag_pipelines.evaluation import report_sections as sections
from finrag_pipelines.evaluation.document import Report, to_html, to_markdown
from finrag_pipelines.evaluation.matrix import Costs
from finrag_pipelines.evaluation.results import FOLDER, Evaluation, current_evaluations, history, to_parquet
from finrag_pipelines.evaluation.summary import SummaryRow, summary
from finrag_pipelines.storage import Store, write_file


def make_report(
    evaluations: Sequence[Evaluation], past: Sequence[Evaluation] = (), costs: Costs | None = None
) -> Report:
    """Put evaluations side by side, set by set. `past` are older ones of the same configurations, for the history."""
    ordered = sorted(evaluations, key=lambda one: (one.header.set_name, one.header.configuration))
    by_set = [(name, list(rows)) for name, rows in groupby(ordered, key=lambda one: one.header.set_name)]
    made = [
        sections.what_was_run_section(ordered),
        sections.decisions_section(by_set, costs or Costs()),
        sections.pipelines_section(by_set),
        sections.comparisons_section(by_set),
        sections.kinds_section(by_set),
        sections.retrieval_section(by_set),
        sections.measures_section(by_set),
        sections.losses_section(by_set),
        sections.modes_section(ordered),
        sections.latency_section(ordered),
        sections.determinism_section(ordered),
        sections.history_section([*past, *ordered]),
        sections.questions_section(ordered),
    ]
    return Report("Evaluation", tuple(one for one in made if one.title))


@dataclass(frozen=True)
class ReportPaths:
    """Where the report of a store lies, whether it was written or not."""

    markdown: Path
    html: Path
    parquet: Path


def paths_of(store: Store) -> ReportPaths:
    """Return where the report of a store lies."""
    return ReportPaths(*(store.path(FOLDER, f"report.{ending}") for ending in ("md", "html", "parquet")))


@dataclass(frozen=True)
class WrittenReport:
    """A report, over how many evaluations it is, and where it was written."""

    report: Report
    evaluations: int
    paths: ReportPaths


def report_of_store(store: Store, costs: Costs | None = None) -> WrittenReport:
    """Make and write the report over the current evaluation of every configuration and set."""
    current = current_evaluations(store)
    past = [old for one in current for old in history(store, one.header.set_name, one.header.configuration)]
    report = make_report(current, past, costs)
    paths = paths_of(store)
    write_file(paths.markdown, to_markdown(report).encode())
    write_file(paths.html, to_html(report).encode())
    write_file(paths.parquet, to_parquet(summary(current, costs), SummaryRow))
    return WrittenReport(report, len(current), paths)
