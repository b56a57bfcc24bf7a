"""The commands `finrag eval …`: check sets, run configurations on them, compare, report, import and export."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from finrag_pipelines.storage import Store, open_store

app = typer.Typer(
    name="eval",
    help="Eval sets and configurations: validate, run, compare, report.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
ERROR, USAGE = 1, 2

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text for people.")]
Sets = Annotated[list[str] | None, typer.Option("--set", help="An eval set by name; repeat for several. Default: all.")]
Configs = Annotated[
    list[str] | None, typer.Option("--config", help="A configuration by name; repeat for several. Default: full.")
]


def _stop(message: str, code: int = ERROR) -> NoReturn:
    sys.stderr.write(f"finrag: {message}\n")
    raise typer.Exit(code)


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def _set_paths(names: list[str] | None) -> list[Path]:
    from finrag_pipelines.evaluation.folders import set_path, sets_folder
    from finrag_pipelines.evaluation.sets import set_names

    return [set_path(name) for name in names or set_names(sets_folder())]


@app.command()
def validate(
    files: Annotated[list[Path] | None, typer.Argument(help="Files of eval sets. Default: all of the project.")] = None,
    form_only: Annotated[bool, typer.Option("--form-only", help="Check the files, not the store's texts.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check eval sets: the form of every line, and that every gold quote stands in the stored text of its source."""
    from finrag_pipelines.evaluation.gold import GoldResolver, unresolved
    from finrag_pipelines.evaluation.sets import SetError, read_set

    resolver = None if form_only else GoldResolver(open_store())
    problems: list[str] = []
    counts: dict[str, int] = {}
    for path in files or _set_paths(None):
        try:
            eval_set = read_set(path)
            counts[eval_set.name] = len(eval_set.questions)
            problems += unresolved(eval_set, resolver) if resolver else ()
        except SetError as error:
            problems += error.problems
        except FileNotFoundError:
            problems.append(f"{path}: no such file")
    if as_json:
        _print_json({"sets": counts, "problems": problems})
    else:
        for problem in problems:
            sys.stdout.write(f"{problem}\n")
        listed = ", ".join(f"{name} ({count})" for name, count in counts.items())
        sys.stdout.write(f"{len(problems)} problem(s) in {len(counts)} set(s): {listed}\n")
    raise typer.Exit(ERROR if problems else 0)


@app.command()
def run(
    sets: Sets = None,
    configs: Configs = None,
    index_version: Annotated[str, typer.Option("--index-version", help="Evaluate this index version.")] = "",
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Ask so often, and count what changed.")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Run again although nothing changed.")] = False,
    allow_unresolved: Annotated[
        bool, typer.Option("--allow-unresolved", help="Count gold evidence that cannot be located as lost.")
    ] = False,
    ragas: Annotated[bool, typer.Option(help="Take the RAGAS measures that need no judge.")] = True,
    judge: Annotated[
        str,
        typer.Option("--judge", envvar="FINRAG_JUDGE", help="Judge with ollama/MODEL or openai-compatible/MODEL."),
    ] = "",
    judge_url: Annotated[
        str, typer.Option("--judge-url", envvar="FINRAG_JUDGE_URL", help="Where the judge's server is.")
    ] = "",
    judge_timeout: Annotated[
        float, typer.Option("--judge-timeout", min=1, help="Seconds for one measure of one question.")
    ] = 120.0,
    as_json: AsJson = False,
) -> None:
    """Run configurations on eval sets, then write the report. Unchanged inputs are skipped, and that is said.

    The runs are those of the job `evaluate`, and stand in the Dagster UI like those that were launched there.
    """
    from finrag_pipelines.console import Bars
    from finrag_pipelines.defs.local import LocalRunner
    from finrag_pipelines.evaluation.configurations import read_configuration
    from finrag_pipelines.evaluation.folders import DEFAULT_CONFIGURATION, configuration_path
    from finrag_pipelines.evaluation.report import paths_of
    from finrag_pipelines.evaluation.results import find_evaluation
    from finrag_pipelines.evaluation.run import Outcome
    from finrag_pipelines.evaluation.summary import summary

    store = open_store()
    configurations = configs or [DEFAULT_CONFIGURATION]
    for name in configurations:
        read_configuration(configuration_path(name))
    names, skipped = _sets_to_run(store, sets, allow_unresolved)
    runner = LocalRunner.of(store)
    settings = {
        "index_version": index_version,
        "repeats": repeats,
        "force": force,
        "allow_unresolved": allow_unresolved,
        "ragas": ragas,
        "judge": judge,
        "judge_url": judge_url,
        "judge_timeout": judge_timeout,
    }
    outcomes = []
    for said in skipped:
        sys.stderr.write(f"finrag: {said}\n")
    with Bars(as_json) as bars, bars.track("evaluating", len(names) * len(configurations)) as advance:
        for name in names:
            for configuration in configurations:
                done = runner.evaluate(configuration, name, settings)
                found = find_evaluation(store, name, configuration)
                if done.error or found is None:
                    _stop(f"{configuration} on {name}: {done.error}")
                outcomes.append(Outcome(found, bool(done.metadata["evaluation_results"]["skipped"])))
                advance(f"{configuration} on {name}")
    if error := runner.report().error:
        _stop(error)
    written = paths_of(store)
    if as_json:
        rows = summary([one.evaluation for one in outcomes])
        runs = [{**asdict(one.evaluation.header), "skipped": one.skipped} for one in outcomes]
        report = {"runs": runs, "figures": [asdict(row) for row in rows], "report": str(written.html)}
        _print_json({**report, "skipped_sets": list(skipped)})
        return
    for one in outcomes:
        sys.stdout.write(f"{one}\n{_in_short(one.evaluation)}")
    sys.stdout.write(f"report: {written.markdown} and {written.html}\n")


def _sets_to_run(store: Store, sets: list[str] | None, allow_unresolved: bool) -> tuple[list[str], tuple[str, ...]]:
    """Return the sets that were named, or all that are about this corpus and what is said of the others."""
    from finrag_pipelines.catalog.catalog import read_catalog
    from finrag_pipelines.evaluation.applicable import applicable
    from finrag_pipelines.evaluation.folders import all_sets
    from finrag_pipelines.evaluation.gold import GoldResolver, unresolved
    from finrag_pipelines.evaluation.sets import SetError, read_set

    if sets:
        chosen, skipped = [read_set(path) for path in _set_paths(sets)], ()
    else:
        found = applicable(all_sets(), read_catalog(store))
        chosen, skipped = list(found.sets), found.skipped
        if not chosen:
            _stop(f"no eval set is about this corpus; {'; '.join(skipped)}")
    problems = [] if allow_unresolved else [p for one in chosen for p in unresolved(one, GoldResolver(store))]
    if problems:
        raise SetError(problems)
    return [one.name for one in chosen], skipped


def _in_short(evaluation: Any) -> str:
    from finrag_pipelines.evaluation.evidence_loss import KEPT
    from finrag_pipelines.evaluation.matrix import decision_matrix
    from finrag_pipelines.evaluation.report_sections import interval_text, number

    matrix = decision_matrix(row.as_decision for row in evaluation.questions)
    lost = sum(row.stage != KEPT for row in evaluation.losses)
    return (
        f"  answerable accepted {interval_text(matrix.accepted)}, unanswerable refused {interval_text(matrix.refused)}"
        f", right code {interval_text(matrix.right_codes)}\n"
        f"  wrong answers {interval_text(matrix.wrong_answers)}, score {number(matrix.score)}, "
        f"gold evidence lost {lost} of {len(evaluation.losses)}\n"
    )


@app.command()
def compare(
    first: Annotated[str, typer.Argument(help="A configuration that was run.")],
    second: Annotated[str, typer.Argument(help="Another one.")],
    sets: Sets = None,
    as_json: AsJson = False,
) -> None:
    """Say how two configurations differ on the sets that both were run on, or that no difference is shown."""
    from finrag_pipelines.evaluation.comparison import compare as compare_evaluations
    from finrag_pipelines.evaluation.results import find_evaluation

    store = open_store()
    found: dict[str, Any] = {}
    for path in _set_paths(sets):
        both = [find_evaluation(store, path.stem, name) for name in (first, second)]
        if both[0] is not None and both[1] is not None:
            found[path.stem] = compare_evaluations(both[0], both[1])
    if not found:
        _stop(f"{first} and {second} have no set in common that both were run on; run `finrag eval run` first")
    if as_json:
        _print_json({name: [asdict(one) for one in rows] for name, rows in found.items()})
        return
    for name, rows in found.items():
        for one in rows:
            sys.stdout.write(f"{name}: {one.sentence}\n")


@app.command()
def report(
    as_json: AsJson = False,
) -> None:
    """Write the report over the current results and print it as Markdown."""
    from finrag_pipelines.evaluation.document import to_markdown
    from finrag_pipelines.evaluation.report import report_of_store

    written = report_of_store(open_store())
    if written.evaluations == 0:
        _stop("nothing has been evaluated yet; run `finrag eval run`")
    if as_json:
        _print_json({name: str(path) for name, path in asdict(written.paths).items()})
    else:
        sys.stdout.write(to_markdown(written.report))


@app.command()
def modes(
    out: Annotated[Path | None, typer.Argument(help="Write the choices to this file, for FINRAG_MODES.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say which retrieval mode is worth it for which type of question, from what was evaluated in several modes."""
    from finrag_pipelines.evaluation.modes import LEAST_QUESTIONS, NOT_SHOWN, choices_of, mode_table, modes_file
    from finrag_pipelines.evaluation.results import current_evaluations
    from finrag_pipelines.retrieval.modes import ModeChoices

    evaluations = current_evaluations(open_store())
    table = mode_table(evaluations)
    if not table:
        _stop(
            "fewer than two modes were evaluated; run `finrag eval run --config full --config lexical --config vector`"
        )
    found = ModeChoices(dict(sorted(choices_of(table).items())))
    if out is not None:
        out.write_text(json.dumps(modes_file(table, evaluations), indent=2) + "\n", "utf-8")
    if as_json:
        _print_json({"choices": found.choices, "sha256": found.sha256, "table": [asdict(row) for row in table]})
        return
    for row in table:
        if row.choice != NOT_SHOWN:
            cells = ", ".join(f"{one.mode} {one.recall:.3f} in {one.median_ms:g} ms" for one in row.cells)
            sys.stdout.write(f"{row.kind} ({row.cells[0].questions}): {row.choice}; {cells}\n")
    small = [row.kind for row in table if row.choice == NOT_SHOWN]
    sys.stdout.write(f"not shown, for fewer than {LEAST_QUESTIONS} questions each: {', '.join(small) or 'none'}\n")
    sys.stdout.write(f"auto: {json.dumps(found.choices)}, hybrid for the rest (table {found.sha256[:12]})\n")


@app.command()
def promote(
    version: Annotated[str, typer.Argument(help="An index version. Default: the newest published one.")] = "",
    sets: Sets = None,
    force: Annotated[bool, typer.Option("--force", help="Promote it whatever the figures say.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make an index version the one that answers use, unless a guarded figure falls by more than its tolerance."""
    from finrag_pipelines.defs.local import LocalRunner
    from finrag_pipelines.evaluation.promotion import read_verdict
    from finrag_pipelines.indexing.publication import current_version, published_version, resolve_version

    store = open_store()
    candidate = resolve_version(store, version or published_version(store))
    done = LocalRunner.of(store).promote(candidate, [path.stem for path in _set_paths(sets)] if sets else [], force)
    verdict = read_verdict(store, candidate)
    if verdict is None or (done.error and verdict.passed):
        _stop(done.error or "the index version was not judged")
    promoted = current_version(store) == candidate
    if as_json:
        _print_json({**asdict(verdict), "promoted": promoted, "reason": verdict.reason, "run": done.run_id})
    else:
        what = "answers" if promoted else "was not promoted"
        said = [f"index {candidate[:12]} {what}: {verdict.reason}", *map(str, verdict.falls), *verdict.notes]
        sys.stdout.write("\n  ".join(said) + "\n")
    raise typer.Exit(0 if promoted else ERROR)


@app.command()
def rollback(as_json: AsJson = False) -> None:
    """Make the index version answer that did before the last promotion."""
    from finrag_pipelines.defs.local import LocalRunner
    from finrag_pipelines.indexing.publication import current_version

    store = open_store()
    if error := LocalRunner.of(store).roll_back().error:
        _stop(error)
    version = current_version(store)
    _print_json({"index_version": version}) if as_json else sys.stdout.write(
        f"index {(version or '')[:12]} answers again\n"
    )


@app.command(name="import")
def import_set(
    form: Annotated[str, typer.Argument(help="financebench, tatqa or beir.")],
    path: Annotated[Path, typer.Argument(help="The file, or for beir the folder.")],
    out: Annotated[Path, typer.Argument(help="The eval set to write, e.g. my_sets/financebench.jsonl.")],
    held: Annotated[bool, typer.Option("--held", help="Only questions whose sources the store holds.")] = False,
) -> None:
    """Write an eval set from FinanceBench, TAT-QA or a BEIR folder, its documents named as the store names them."""
    from finrag_pipelines.catalog.catalog import read_catalog
    from finrag_pipelines.evaluation import imports
    from finrag_pipelines.evaluation.sets import write_set

    readers = {"financebench": imports.import_financebench, "tatqa": imports.import_tatqa, "beir": imports.import_beir}
    if form not in readers:
        _stop(f"form {form!r} is unknown; choose one of {', '.join(readers)}", USAGE)
    catalog = read_catalog(open_store())
    questions = readers[form](path, imports.by_file_name(catalog))
    if held:
        questions = tuple(one for one in questions if all(g.source_id in catalog.sources for g in one.gold))
    write_set(out, questions)
    sys.stdout.write(f"{len(questions)} question(s) written to {out}\n")


@app.command()
def export(
    form: Annotated[str, typer.Argument(help="beir, trec, ragas or parquet.")],
    name: Annotated[str, typer.Argument(help="An eval set that was run.")],
    out: Annotated[Path, typer.Argument(help="Folder (beir, trec) or file (ragas, parquet) to write.")],
    config: Annotated[str, typer.Option("--config", help="The configuration whose answers are exported.")] = "full",
) -> None:
    """Write an evaluated set for other tools. Exports hold text of documents: mind who may read it."""
    from finrag_pipelines.evaluation import exports
    from finrag_pipelines.evaluation.folders import set_path
    from finrag_pipelines.evaluation.gold import GoldResolver
    from finrag_pipelines.evaluation.results import find_evaluation
    from finrag_pipelines.evaluation.sets import read_set
    from finrag_pipelines.evidence.records import unseal
    from finrag_pipelines.evidence.write import read_run
    from finrag_pipelines.retrieval.search import open_index

    store = open_store()
    evaluation = find_evaluation(store, name, config)
    if evaluation is None:
        _stop(f"{config} was not run on {name}; run `finrag eval run --set {name} --config {config}` first")
    if form == "parquet":
        exports.write_parquet(out, evaluation)
    elif form in ("beir", "trec", "ragas"):
        eval_set = read_set(set_path(name))
        index = open_index(store, evaluation.header.index_version)
        fragments = exports.indexed_fragments(index)
        relevant = exports.relevant_fragments(eval_set, GoldResolver(store), fragments)
        records = _records(store, evaluation, read_run, unseal)
        if form == "beir":
            exports.write_beir(out, eval_set, relevant, fragments)
        elif form == "trec":
            exports.write_trec(out, records, relevant, config)
        else:
            exports.write_ragas(out, eval_set, records, relevant, index)
    else:
        _stop(f"form {form!r} is unknown; choose one of beir, trec, ragas, parquet", USAGE)
    sys.stdout.write(f"written to {out}\n")


def _records(store: Store, evaluation: Any, read_run: Any, unseal: Any) -> dict[str, Any]:
    by_id = {sealed.answer_id: unseal(sealed) for sealed in read_run(store, evaluation.header.run_id)}
    return {row.question_id: by_id[row.answer_id] for row in evaluation.questions}
