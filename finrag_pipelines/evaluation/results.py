"""What an evaluation leaves in the store: three Parquet tables and a header, found by set, configuration and key.

`evaluations/<set>/<configuration>/<key>/`: questions, figures and losses as Parquet, `run.json` written last; `CURRENT`
names the newest. Every row of questions and losses names the evidence record that it was read from.
"""

import dataclasses
import io
import json
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from finrag_pipelines.evaluation.evidence_loss import Loss
from finrag_pipelines.evaluation.figures import Figure
from finrag_pipelines.evaluation.matrix import Decision
from finrag_pipelines.storage import Store, canonical_json, write_file

FOLDER = "evaluations"
Row = TypeVar("Row")


@dataclass(frozen=True)
class Header:
    """What was run: everything that the figures depend on, by hash, and the run of evidence that they are read from.

    `code_version` is a hash over the sources of the stages. `generators` are the names that the records bear.
    `evaluated_at` is UTC and no part of the key. `judge` names the model that judged, with the digest of its weights.
    """

    set_name: str
    configuration: str
    key: str
    set_sha256: str
    configuration_sha256: str
    code_version: str
    index_version: str
    rules_sha256: str
    seed: int
    mode: str
    pipeline: str
    run_id: str
    repeats: int
    evaluated_at: str
    generators: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    judge: str = ""
    judge_digest: str | None = None


@dataclass(frozen=True)
class QuestionRow:
    """One question as it was decided. Times in milliseconds; `flips` counts repeats that decided otherwise.

    `differing` counts repeats whose record differs in anything but identities and times. `wrong` says why an answer
    does not hold, empty where nothing was found against it; `gate` is the one that refused; `cited` are the companies
    of its citations, sorted; `question_type` is what mode `auto` goes by.
    """

    question_id: str
    tags: tuple[str, ...]
    answerable: bool
    expected_code: str | None
    decision: str
    code: str | None
    wrong: str
    answer_id: str
    principal: str
    gate: str
    generator: str
    citations: int
    claims_supported: int
    claims_dropped: int
    claims_unchecked: int
    pairs_required: int
    candidate_rows: int
    wrong_company_rows: int
    gold: int
    retrieve_ms: float | None
    total_ms: float | None
    flips: int = 0
    differing: int = 0
    cited: tuple[str, ...] = ()
    question_type: str = ""

    @property
    def as_decision(self) -> Decision:
        """The row as the decision matrix counts it."""
        return Decision(
            self.question_id,
            self.answerable,
            self.decision == "answered",
            self.expected_code,
            self.code,
            bool(self.wrong),
        )


@dataclass(frozen=True)
class Evaluation:
    """One configuration on one set."""

    header: Header
    questions: tuple[QuestionRow, ...]
    figures: tuple[Figure, ...]
    losses: tuple[Loss, ...]

    @property
    def name(self) -> str:
        """How reports name it."""
        return f"{self.header.configuration} on {self.header.set_name}"


def folder_of(store: Store, set_name: str, configuration: str) -> Path:
    """Return where the evaluations of a configuration on a set lie."""
    return store.path(FOLDER, set_name, configuration)


def write_evaluation(store: Store, evaluation: Evaluation, current: bool = True) -> Path:
    """Keep an evaluation and return its folder; with `current`, reports show it for its set and configuration."""
    header = evaluation.header
    above = folder_of(store, header.set_name, header.configuration)
    folder = above / header.key[:16]
    write_file(folder / "questions.parquet", to_parquet(evaluation.questions, QuestionRow))
    write_file(folder / "figures.parquet", to_parquet(evaluation.figures, Figure))
    write_file(folder / "losses.parquet", to_parquet(evaluation.losses, Loss))
    write_file(folder / "run.json", canonical_json(dataclasses.asdict(header)))
    if current:
        make_current(store, evaluation)
    return folder


def make_current(store: Store, evaluation: Evaluation) -> None:
    """Make an evaluation that was kept the one that reports show for its set and configuration."""
    header = evaluation.header
    write_file(folder_of(store, header.set_name, header.configuration) / "CURRENT", header.key[:16].encode())


def read_evaluation(folder: Path) -> Evaluation:
    """Read an evaluation back. Raises FileNotFoundError where it was not finished."""
    header = json.loads((folder / "run.json").read_bytes())
    return Evaluation(
        _row(Header, header),
        tuple(from_parquet((folder / "questions.parquet").read_bytes(), QuestionRow)),
        tuple(from_parquet((folder / "figures.parquet").read_bytes(), Figure)),
        tuple(from_parquet((folder / "losses.parquet").read_bytes(), Loss)),
    )


def find_evaluation(store: Store, set_name: str, configuration: str, key: str | None = None) -> Evaluation | None:
    """Return the current evaluation of a set and configuration, or the one with this key; None where there is none."""
    above = folder_of(store, set_name, configuration)
    try:
        name = key[:16] if key else (above / "CURRENT").read_text()
        found = read_evaluation(above / name)
    except FileNotFoundError:
        return None
    return found if key is None or found.header.key == key else None


def current_evaluations(store: Store) -> tuple[Evaluation, ...]:
    """Return the current evaluation of every set and configuration, sorted by set, then configuration."""
    marks = sorted(store.path(FOLDER).glob("*/*/CURRENT"))
    found = [find_evaluation(store, mark.parents[1].name, mark.parent.name) for mark in marks]
    return tuple(one for one in found if one is not None)


def history(store: Store, set_name: str, configuration: str) -> tuple[Evaluation, ...]:
    """Return every evaluation of a set and configuration, oldest first."""
    folders = sorted(path.parent for path in folder_of(store, set_name, configuration).glob("*/run.json"))
    return tuple(sorted(map(read_evaluation, folders), key=lambda one: (one.header.evaluated_at, one.header.key)))


def to_parquet(rows: Sequence[Any], row_type: type) -> bytes:
    """Return frozen dataclasses as Parquet, one column a field; no rows give the columns alone."""
    import polars as pl

    kinds = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}
    schema = {}
    for name, annotation in typing.get_type_hints(row_type).items():
        if isinstance(annotation, types.UnionType):
            annotation = next(one for one in typing.get_args(annotation) if one is not types.NoneType)
        schema[name] = pl.List(pl.String) if typing.get_origin(annotation) is tuple else kinds[annotation]
    columns = {name: [_plain(getattr(row, name)) for row in rows] for name in schema}
    stream = io.BytesIO()
    pl.DataFrame(columns, schema=schema).write_parquet(stream, compression="zstd")
    return stream.getvalue()


def from_parquet(content: bytes, row_type: type[Row]) -> list[Row]:
    """Return the rows that `to_parquet` wrote."""
    import polars as pl

    return [_row(row_type, row) for row in pl.read_parquet(content).iter_rows(named=True)]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _row(row_type: type[Row], values: dict[str, Any]) -> Row:
    known = {one.name for one in dataclasses.fields(row_type)}  # type: ignore[arg-type]
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return row_type(**{name: value for name, value in fields.items() if name in known})
