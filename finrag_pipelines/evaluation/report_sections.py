"""The sections of the report, each made of evaluations: sentences, tables, and plots that say the same."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from finrag_pipelines.evaluation.comparison import compare
from finrag_pipelines.evaluation.document import Section, Table
from finrag_pipelines.evaluation.evidence_loss import KEPT, STAGES, Loss
from finrag_pipelines.evaluation.figures import MILLISECONDS, PROMPT_TOKENS, Mean, means
from finrag_pipelines.evaluation.matrix import Costs, Interval, Matrix, wilson
from finrag_pipelines.evaluation.modes import LEAST_QUESTIONS, NOT_SHOWN, mode_table
from finrag_pipelines.evaluation.plots import Bar, Line, interval_plot, line_plot, matrix_plot, waterfall_plot
from finrag_pipelines.evaluation.results import Evaluation, QuestionRow
from finrag_pipelines.evaluation.retrieval_metrics import CUTS
from finrag_pipelines.evaluation.summary import intervals_of, matrix_of

REFERENCE = "full"
STAGE_ORDER = ("retrieve", "deliver", "sufficiency", "generate", "claims", "disclosure", "total")
NOTHING = "–"
LEAST_OF_A_KIND = 3
"""Kinds with fewer questions are left out of the table by kind: their intervals say nothing."""


def what_was_run_section(ordered: Sequence[Evaluation]) -> Section:
    """Return what was run, by hash, and how a figure is opened."""
    rows = [
        (
            one.header.set_name, one.header.configuration, one.header.pipeline, one.header.mode,
            ", ".join(one.header.generators) or NOTHING, one.header.index_version[:12],
            one.header.configuration_sha256[:12], one.header.code_version[:12], str(one.header.seed), one.header.run_id,
        )
        for one in ordered
    ]  # fmt: skip
    notes = sorted({f"{one.name}: {note}" for one in ordered for note in one.header.notes})
    notes += sorted(
        {
            f"{one.name}: judged by {one.header.judge}, digest {one.header.judge_digest or 'not told by its server'}."
            for one in ordered
            if one.header.judge
        }
    )
    scripted = sorted(
        {one.header.configuration for one in ordered if any("scripted" in g for g in one.header.generators)}
    )
    text = [
        "Every figure is read from evidence records: `finrag evidence ANSWER_ID` opens the record of a question listed "
        "at the end, down to the bytes of the documents."
    ]
    if scripted:
        text.append(
            f"The sentences of {', '.join(scripted)} are scripted, not a model's; see the script beside the file."
        )
    columns = (
        "set",
        "configuration",
        "pipeline",
        "mode",
        "generator",
        "index",
        "configuration hash",
        "code",
        "seed",
        "run",
    )
    return Section("What was run", (*text, *notes), (Table(columns, tuple(rows)),))


def decisions_section(by_set: Sequence[tuple[str, list[Evaluation]]], costs: Costs) -> Section:
    """Return the decision matrices with intervals and the cost-weighted score."""
    text = (
        "Per class, not overall: where most questions are answerable, answering everything scores well. Intervals are "
        "Wilson's at 95 %. A wrong answer is one to an unanswerable question, one that leaves a required company or "
        "period uncited, or one without the figure asked for; nothing judges prose, so it is a lower bound.",
        f"Score: 1 is no cost. A wrong answer costs {costs.wrong_answer:g}, a needless refusal "
        f"{costs.needless_refusal:g}, a right refusal with another code {costs.wrong_code:g}.",
    )
    tables, plots = [], []
    columns = ("configuration", "answerable accepted", "unanswerable refused", "right code", "wrong answers", "score")
    for name, rows in by_set:
        matrices = [(one.header.configuration, matrix_of(one, costs)) for one in rows]
        listed = tuple(
            (label, *(interval_text(interval) for _, interval in intervals_of(matrix)), number(matrix.score))
            for label, matrix in matrices
        )
        tables.append(Table(columns, listed, name))
        plots.append(matrix_plot(name, [_cells(label, matrix) for label, matrix in matrices]))
        bars = [
            Bar(f"{label}: {what}", one.share, one.low, one.high, f"{one.successes}/{one.total}")
            for label, matrix in matrices
            for what, one in intervals_of(matrix)[:2]
        ]
        plots.append(interval_plot(f"{name}: right decisions by class", bars))
    return Section("Decisions", text, tuple(tables), tuple(plots))


def _cells(label: str, matrix: Matrix) -> tuple[str, int, int, int, int]:
    return (
        label,
        matrix.answerable_answered,
        matrix.answerable_refused,
        matrix.unanswerable_answered,
        matrix.unanswerable_refused,
    )


def comparisons_section(by_set: Sequence[tuple[str, list[Evaluation]]]) -> Section:
    """Return what is shown about each configuration against the reference."""
    rows = []
    for name, evaluations in by_set:
        reference = next((one for one in evaluations if one.header.configuration == REFERENCE), evaluations[0])
        for other in evaluations:
            if other is not reference:
                rows += [(name, one.sentence) for one in compare(other, reference)]
    text = (
        "Paired, question by question: McNemar's exact test on right decisions, a bootstrap over questions elsewhere.",
    )
    return Section("Is one better?", text, (Table(("set", "what is shown"), tuple(rows)),) if rows else ())


def kinds_section(by_set: Sequence[tuple[str, list[Evaluation]]]) -> Section:
    """Return right decisions by tag over all sets."""
    names = sorted({one.header.configuration for _, rows in by_set for one in rows})
    counts: dict[tuple[str, str], list[bool]] = {}
    for _, rows in by_set:
        for one in rows:
            for row in one.questions:
                for tag in row.tags:
                    counts.setdefault((tag, one.header.configuration), []).append(row.as_decision.right)
    tags = sorted({tag for (tag, _), decided in counts.items() if len(decided) >= LEAST_OF_A_KIND})
    rows = [(tag, *(_right(counts.get((tag, name), [])) for name in names)) for tag in tags]
    text = ("Right decisions with their intervals over all sets. Most kinds are small: read the intervals.",)
    return Section("By kind of question", text, (Table(("kind", *names), tuple(rows)),) if rows else ())


def _right(decided: Sequence[bool]) -> str:
    return interval_text(wilson(sum(decided), len(decided)))


def retrieval_section(by_set: Sequence[tuple[str, list[Evaluation]]]) -> Section:
    """Return recall, reciprocal rank and nDCG at each level."""
    tables, plots = [], []
    for name, rows in by_set:
        listed, lines = [], []
        for one in rows:
            found = {mean.name: mean for mean in means(one.figures)}
            if "fragment_mrr" not in found:
                continue
            for level in ("document", "page", "fragment"):
                if f"{level}_mrr" in found:
                    cells = [
                        number(found[f"{level}_{what}"].value)
                        for what in (*(f"recall@{k}" for k in CUTS), "mrr", "ndcg@10")
                    ]
                    listed.append((one.header.configuration, level, *cells, str(found[f"{level}_mrr"].scored)))
            points = [(at, found[f"fragment_recall@{k}"].value) for at, k in enumerate(CUTS)]
            lines.append(Line(one.header.configuration, tuple((x, y) for x, y in points if y is not None)))
        columns = ("configuration", "level", *(f"recall@{k}" for k in CUTS), "MRR", "nDCG@10", "questions")
        if listed:
            tables.append(Table(columns, tuple(listed), name))
        if any(line.points for line in lines):
            plots.append(
                line_plot(f"{name}: recall of fragments at k", lines, [(at, str(k)) for at, k in enumerate(CUTS)])
            )
    return Section("Retrieval", (), tuple(tables), tuple(plots))


def measures_section(by_set: Sequence[tuple[str, list[Evaluation]]]) -> Section:
    """Return all other figures, with how many rows they leave out."""
    tables = []
    for name, rows in by_set:
        listed = []
        for one in rows:
            for mean in means(one.figures):
                if not mean.name.startswith(("document_", "page_", "fragment_", MILLISECONDS, PROMPT_TOKENS)):
                    listed.append(
                        (one.header.configuration, mean.name, number(mean.value), str(mean.scored), left_out(mean))
                    )
        columns = ("configuration", "figure", "mean", "scored", "left out")
        tables.append(Table(columns, tuple(sorted(listed, key=lambda row: (row[1], row[0]))), name))
    text = (
        "Scope coverage is the share of the companies and periods asked for that the delivered evidence belongs to; it "
        "is apart from precision. Citation precision counts citations that touch a gold passage: gold names passages "
        "that suffice, so it is a lower bound. Refusals have no answer to be measured and are counted as left out.",
    )
    return Section("Answers, scope and RAGAS", text, tuple(tables))


def left_out(mean: Mean) -> str:
    """Return in words how many rows a mean leaves out, and why."""
    counts = (
        ("refused", mean.refused),
        ("NaN", mean.nan),
        ("timed out", mean.timed_out),
        ("in another form", mean.unparsed),
        ("failed", mean.failed),
        ("not installed", mean.not_installed),
    )
    return ", ".join(f"{count} {name}" for name, count in counts if count) or "0"


def losses_section(by_set: Sequence[tuple[str, list[Evaluation]]]) -> Section:
    """Return where gold evidence was lost, and the rows to look at."""
    tables, plots, rows = [], [], []
    for name, evaluations in by_set:
        if not any(one.losses for one in evaluations):
            continue
        present = [stage for stage in STAGES if any(row.stage == stage for one in evaluations for row in one.losses)]
        listed = []
        for one in evaluations:
            counts = {stage: sum(row.stage == stage for row in one.losses) for stage in present}
            listed.append((one.header.configuration, str(len(one.losses)), *(str(counts[stage]) for stage in present)))
            steps = [(stage, counts[stage]) for stage in present if stage != KEPT and counts[stage]]
            if one.losses:
                plots.append(waterfall_plot(f"{one.name}: where gold evidence was lost", steps, len(one.losses)))
            rows += [
                (
                    one.name,
                    row.question_id,
                    str(row.gold),
                    row.source_id,
                    row.stage,
                    ranks(row),
                    row.detail,
                    row.answer_id,
                )
                for row in one.losses
                if row.stage != KEPT
            ]
        tables.append(Table(("configuration", "gold quotes", *present), tuple(listed), name))
    if rows:
        columns = ("evaluation", "question", "quote", "source", "stage", "ranks", "detail", "record")
        tables.append(Table(columns, tuple(rows), "The rows to look at"))
    text = ("For each gold quote the first stage after which it was no longer there; `cited` is none of it lost.",)
    return Section("First evidence loss", text, tuple(tables), tuple(plots))


def ranks(row: Loss) -> str:
    """Return the ranks of a loss as `lexical 3, vector –, fused 30`."""
    names = ("lexical", "vector", "fused")
    return ", ".join(f"{name} {getattr(row, f'{name}_rank') or NOTHING}" for name in names)


def modes_section(ordered: Sequence[Evaluation]) -> Section:
    """Return where which retrieval mode is worth it."""
    table = mode_table(ordered)
    text = (
        "Recall of fragments at 10 and median retrieval time of the sets that were run in several modes; the cheapest "
        "mode whose recall is shown to be no worse than the best, or that the set is too small to show it.",
    )
    if not table:
        return Section("Where which mode is worth it", (*text, "Not shown: fewer than two modes were evaluated."))
    modes = [cell.mode for cell in table[0].cells]
    rows = tuple(
        (
            row.kind,
            str(max(cell.questions for cell in row.cells)),
            *(
                f"{number(cell.recall)} in {number(cell.median_ms)} ms" if cell.questions else NOTHING
                for cell in row.cells
            ),
            row.choice,
        )
        for row in table
        if row.choice != NOT_SHOWN
    )
    small = [row.kind for row in table if row.choice == NOT_SHOWN]
    if small:
        text = (*text, f"Not shown, for fewer than {LEAST_QUESTIONS} questions each: {', '.join(small)}.")
    return Section("Where which mode is worth it", text, (Table(("kind", "questions", *modes, "choice"), rows),))


def latency_section(ordered: Sequence[Evaluation]) -> Section:
    """Return milliseconds by stage, and the tokens that models read."""
    stages = sorted(
        {
            one.name.removeprefix(MILLISECONDS)
            for e in ordered
            for one in e.figures
            if one.name.startswith(MILLISECONDS)
        },
        key=lambda name: (STAGE_ORDER.index(name) if name in STAGE_ORDER else len(STAGE_ORDER), name),
    )
    rows = []
    for one in ordered:
        values: dict[str, list[float]] = {}
        for figure in one.figures:
            if figure.value is not None:
                values.setdefault(figure.name, []).append(figure.value)
        cells = [_spread(values.get(f"{MILLISECONDS}{stage}", [])) for stage in stages]
        tokens = values.get(PROMPT_TOKENS, [])
        read = f"{sum(tokens):.0f} in {len(tokens)}" if tokens else NOTHING
        rows.append((one.header.set_name, one.header.configuration, *cells, read))
    text = (
        "Median and, behind the bar, 95 % of the questions that came so far. A dash: no question came to that stage. "
        "Tokens are those that a model's server counted in its prompts; without a model an answer costs none.",
    )
    columns = ("set", "configuration", *stages, "tokens read, in prompts")
    return Section("Latency and cost per stage, in milliseconds", text, (Table(columns, tuple(rows)),))


def _spread(values: Sequence[float]) -> str:
    ordered = sorted(values)
    if not ordered:
        return NOTHING
    return f"{ordered[len(ordered) // 2]:.1f} / {ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]:.1f}"


def pipelines_section(by_set: Sequence[tuple[str, list[Evaluation]]]) -> Section:
    """Return the questions that pipelines decide otherwise, with what each did."""
    tables = []
    for name, rows in by_set:
        by_pipeline = {one.header.pipeline: one for one in reversed(rows) if one.header.pipeline != "full"}
        whole = next((one for one in rows if one.header.configuration == REFERENCE), None)
        if not by_pipeline or whole is None:
            continue
        columns = [*(by_pipeline[one] for one in sorted(by_pipeline, reverse=True)), whole]
        decided = [{row.question_id: row for row in one.questions} for one in columns]
        listed = []
        for question_id in decided[0]:
            cells = [one[question_id] for one in decided if question_id in one]
            if len({(one.decision, one.code, bool(one.wrong)) for one in cells}) > 1:
                listed.append((question_id, *map(_what_was_done, cells)))
        if listed:
            tables.append(Table(("question", *(one.header.configuration for one in columns)), tuple(listed), name))
    text = (
        "What a threshold on a topical score lets through, what checks in front of it refuse, and what scope repair "
        "answers. A scripted sentence is no model's: one is a known fabrication, the others open the first passage.",
    )
    return Section("Where pipelines decide otherwise", text, tuple(tables)) if tables else Section("", ())


def _what_was_done(row: QuestionRow) -> str:
    if row.decision != "answered":
        return f"refused {row.code} at {row.gate}"
    said = [f"answered, wrong: {row.wrong}" if row.wrong else "answered", "every gate passed"]
    said.append(f"cites {', '.join(row.cited) or 'no company'}")
    return "; ".join([*said, *(["scripted sentence"] if row.generator.startswith("scripted") else [])])


def determinism_section(ordered: Sequence[Evaluation]) -> Section:
    """Return how many decisions and records changed over repeats."""
    rows = [
        (
            one.header.set_name,
            one.header.configuration,
            str(one.header.repeats),
            str(sum(row.flips > 0 for row in one.questions)),
            str(sum(row.differing > 0 for row in one.questions)),
        )
        for one in ordered
        if one.header.repeats > 1
    ]
    if not rows:
        return Section("Determinism", ("Not measured: every question was asked once. `--repeats 3` asks three times.",))
    columns = ("set", "configuration", "runs", "questions whose decision flipped", "questions whose record differed")
    return Section("Determinism", (), (Table(columns, tuple(rows)),))


def history_section(evaluations: Iterable[Evaluation]) -> Section:
    """Return how figures moved over index versions."""
    unique = {one.header.key: one for one in evaluations}
    ordered = sorted(
        unique.values(), key=lambda one: (one.header.set_name, one.header.configuration, one.header.evaluated_at)
    )
    rows, plots = [], []
    for (set_name, name), group in groupby(ordered, key=lambda one: (one.header.set_name, one.header.configuration)):
        listed = list(group)
        if len({one.header.index_version for one in listed}) < 2:
            continue
        lines: dict[str, list[tuple[float, float]]] = {}
        for at, one in enumerate(listed):
            found = {mean.name: mean.value for mean in means(one.figures)}
            matrix = matrix_of(one)
            values = {
                "answerable accepted": matrix.accepted.share,
                "unanswerable refused": matrix.refused.share,
                "fragment recall@10": found.get("fragment_recall@10"),
                "score": matrix.score,
            }
            for label, value in values.items():
                if value is not None:
                    lines.setdefault(label, []).append((float(at), value))
            cells = map(number, values.values())
            rows.append((set_name, name, one.header.index_version[:12], one.header.evaluated_at, *cells))
        ticks = [(float(at), one.header.index_version[:6]) for at, one in enumerate(listed)]
        plots.append(line_plot(f"{name} on {set_name}", [Line(k, tuple(v)) for k, v in lines.items()], ticks))
    if not rows:
        return Section("History over index versions", ("One index version has been evaluated so far.",))
    shown = ("answerable accepted", "unanswerable refused", "fragment recall@10", "score")
    columns = ("set", "configuration", "index", "evaluated", *shown)
    return Section("History over index versions", (), (Table(columns, tuple(rows)),), tuple(plots))


def questions_section(ordered: Sequence[Evaluation]) -> Section:
    """Return every question with its evidence record."""
    rows = tuple(
        (
            one.header.set_name, one.header.configuration, row.question_id, "yes" if row.answerable else "no",
            row.decision, row.code or NOTHING, row.expected_code or NOTHING, row.wrong or NOTHING,
            row.generator or NOTHING, row.answer_id,
        )
        for one in ordered
        for row in one.questions
    )  # fmt: skip
    columns = (
        "set",
        "configuration",
        "question",
        "answerable",
        "decision",
        "code",
        "expected",
        "wrong",
        "generator",
        "record",
    )
    return Section("Every question", (), (Table(columns, rows),))


def interval_text(one: Interval) -> str:
    """Return an interval as `9/12 (0.47–0.91)`."""
    if one.share is None or one.low is None or one.high is None:
        return NOTHING
    return f"{one.successes}/{one.total} ({one.low:.2f}–{one.high:.2f})"


def number(value: float | None) -> str:
    """Return a figure with three decimals, or a dash."""
    return NOTHING if value is None else f"{value:.3f}"
