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
    as_json: AsJson = False,
) -> None:
    """Run configurations on eval sets, then write the report. Unchanged inputs are skipped, and that is said."""
    from finrag_pipelines.embedding.opening import open_embedder
    from finrag_pipelines.evaluation.configurations import read_configuration
    from finrag_pipelines.evaluation.folders import DEFAULT_CONFIGURATION, configuration_path
    from finrag_pipelines.evaluation.report import report_of_store
    from finrag_pipelines.evaluation.run import evaluate
    from finrag_pipelines.evaluation.sets import read_set
    from finrag_pipelines.evaluation.summary import summary

    store, embedder = open_store(), open_embedder()
    configurations = [read_configuration(configuration_path(one)) for one in configs or [DEFAULT_CONFIGURATION]]
    outcomes = []
    for path in _set_paths(sets):
        eval_set = read_set(path)
        for configuration in configurations:
            outcome = evaluate(
                store, eval_set, configuration, embedder, index_version or None, repeats, force, allow_unresolved, ragas
            )
            outcomes.append(outcome)
            if not as_json:
                sys.stdout.write(f"{outcome}\n")
                sys.stdout.write(_in_short(outcome.evaluation))
    written = report_of_store(store)
    if as_json:
        rows = summary([one.evaluation for one in outcomes])
        runs = [{**asdict(one.evaluation.header), "skipped": one.skipped} for one in outcomes]
        _print_json({"runs": runs, "figures": [asdict(row) for row in rows], "report": str(written.html)})
    else:
        sys.stdout.write(f"report: {written.markdown} and {written.html}\n")


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
        _print_json({"markdown": str(written.markdown), "html": str(written.html), "parquet": str(written.parquet)})
    else:
        sys.stdout.write(to_markdown(written.report))


@app.command()
def promote(
    version: Annotated[str, typer.Argument(help="An index version. Default: the newest published one.")] = "",
    sets: Sets = None,
    force: Annotated[bool, typer.Option("--force", help="Promote it whatever the figures say.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make an index version the one that answers use, unless a guarded figure falls by more than its tolerance."""
    from finrag_pipelines.embedding.opening import open_embedder
    from finrag_pipelines.evaluation.promotion import try_promotion
    from finrag_pipelines.evaluation.sets import read_set

    eval_sets = [read_set(path) for path in _set_paths(sets)]
    verdict = try_promotion(open_store(), version or None, eval_sets, open_embedder(), force)
    if as_json:
        _print_json(asdict(verdict))
    else:
        sys.stdout.write(f"{verdict}\n")
    raise typer.Exit(0 if verdict.promoted else ERROR)


@app.command()
def rollback() -> None:
    """Make the index version answer that did before the last promotion."""
    from finrag_pipelines.evaluation.promotion import roll_back

    sys.stdout.write(f"index {roll_back(open_store())[:12]} answers again\n")


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
