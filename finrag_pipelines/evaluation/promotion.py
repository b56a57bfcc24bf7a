"""May an index version answer? Its guarded figures are held against those of the version that answers now.

A fall beyond a figure's tolerance stops the promotion and names the stage to look at. Nothing is promoted here.
"""

import dataclasses
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from finrag_pipelines.evaluation.configurations import Configuration, read_configuration
from finrag_pipelines.evaluation.folders import DEFAULT_CONFIGURATION, configuration_path, guards_path
from finrag_pipelines.evaluation.guards import LOST_BEFORE, Guard, guarded_figures, read_guards
from finrag_pipelines.evaluation.results import Evaluation
from finrag_pipelines.evaluation.results import history as evaluations_of
from finrag_pipelines.evaluation.run import evaluate
from finrag_pipelines.evaluation.sets import EvalSet, Question
from finrag_pipelines.indexing.build import describe_index
from finrag_pipelines.indexing.manifest import ManifestEntry
from finrag_pipelines.indexing.publication import (
    CURRENT,
    PUBLISHED,
    current_version,
    history,
    published_version,
    standing_for,
)
from finrag_pipelines.indexing.shard import Shard
from finrag_pipelines.storage import Store, StoreError, canonical_json, write_file

if TYPE_CHECKING:
    from finrag_pipelines.embedding.model import Embedder

FOLDER = "promotions"
_SPECS = ("", "minilm", "hashing")


@dataclass(frozen=True)
class Fall:
    """A guarded figure that fell too far on a set, and the questions that are decided or found otherwise now."""

    set_name: str
    figure: str
    stage: str
    before: float
    after: float
    tolerance: float
    questions: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line for people."""
        named = f"; look at {', '.join(self.questions)}" if self.questions else ""
        return (
            f"{self.set_name}: {self.figure} fell from {self.before:.3f} to {self.after:.3f}, more than "
            f"{self.tolerance:g} ({self.stage}){named}"
        )


@dataclass(frozen=True)
class Verdict:
    """Whether a version may answer in the place of `previous`, the one that answers (None: none does yet).

    `compared` are the sets whose guarded figures were compared, `notes` say what was not compared and why.
    """

    index_version: str
    previous: str | None
    compared: tuple[str, ...] = ()
    falls: tuple[Fall, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Tell whether no guarded figure fell too far."""
        return not self.falls

    @property
    def reason(self) -> str:
        """Why it may answer or may not, in a sentence without an end."""
        if self.falls:
            return f"{len(self.falls)} guarded figure(s) fell on {', '.join(sorted({f.set_name for f in self.falls}))}"
        if self.previous in (None, self.index_version):
            return "there is no other version to compare it with"
        if not self.compared:
            return "nothing is guarded: no eval set was compared"
        return f"no guarded figure fell on {', '.join(self.compared)}"


def judge(
    store: Store,
    candidate: str,
    eval_sets: Sequence[EvalSet],
    embedder: "Embedder",
    configuration: Configuration | None = None,
    guards: tuple[Guard, ...] | None = None,
    notes: Sequence[str] = (),
) -> Verdict:
    """Evaluate an index version on the sets, compare it with the version that answers, and keep the verdict.

    The version that answers is held to its newest evaluations on the same sets; where there are none, they are made,
    with the model it was built with if that is at hand. Questions whose documents changed between the two versions
    are left out of the comparison, and said: their gold evidence is about other bytes.
    """
    previous = current_version(store)
    if previous is None or previous == candidate:
        return read_verdict(store, candidate) or _kept(store, Verdict(candidate, previous))
    configuration = configuration or read_configuration(configuration_path(DEFAULT_CONFIGURATION))
    guards = read_guards(guards_path()) if guards is None else guards
    entries = _entries(store, previous), _entries(store, candidate)
    found: list[Fall] = []
    said, compared = list(notes), []
    for eval_set in eval_sets:
        before = _standing(store, eval_set, configuration, previous, embedder)
        if before is None:
            said.append(f"{eval_set.name}: the model of index {previous[:12]} is not at hand, so nothing is compared")
            continue
        after = evaluate(
            store, eval_set, configuration, embedder, candidate, allow_unresolved=True, with_ragas=False, current=False
        ).evaluation
        apart = {one.id for one in eval_set.questions if _is_about_other_bytes(one, *entries)}
        if apart:
            said.append(
                f"{eval_set.name}: {len(apart)} question(s) left out, their documents changed: {_listed(sorted(apart))}"
            )
        if len(apart) == len(eval_set.questions):
            continue
        compared.append(eval_set.name)
        found += falls(_without(before, apart), _without(after, apart), guards)
    return _kept(store, Verdict(candidate, previous, tuple(compared), tuple(found), tuple(said)))


def falls(before: Evaluation, after: Evaluation, guards: tuple[Guard, ...]) -> tuple[Fall, ...]:
    """Return the guarded figures that fell by more than their tolerance, in the order of the guards."""
    first, second = guarded_figures(before, guards), guarded_figures(after, guards)
    return tuple(
        Fall(
            after.header.set_name,
            one.figure,
            one.stage,
            first[one.figure],
            second[one.figure],
            one.tolerance,
            _changed(before, after, one.figure),
        )
        for one in guards
        if one.figure in first
        and one.figure in second
        and first[one.figure] - second[one.figure] > one.tolerance + 1e-9
    )


def _changed(before: Evaluation, after: Evaluation, figure: str) -> tuple[str, ...]:
    """Return the questions that a fall comes from: lower in the figure, lost at another stage, or decided otherwise."""

    def values(one: Evaluation) -> dict[str, float]:
        found = {row.question_id: row.value for row in one.figures if row.name == figure and row.value is not None}
        if found:
            return found
        if figure in LOST_BEFORE:
            for row in one.losses:
                found[row.question_id] = found.get(row.question_id, 0) + (row.stage not in LOST_BEFORE[figure])
            return found
        return {row.question_id: float(row.as_decision.right) for row in one.questions}

    first, second = values(before), values(after)
    return tuple(sorted(name for name in first if second.get(name, 0.0) < first[name]))


def _without(evaluation: Evaluation, apart: Collection[str]) -> Evaluation:
    if not apart:
        return evaluation
    return dataclasses.replace(
        evaluation,
        questions=tuple(one for one in evaluation.questions if one.question_id not in apart),
        figures=tuple(one for one in evaluation.figures if one.question_id not in apart),
        losses=tuple(one for one in evaluation.losses if one.question_id not in apart),
    )


def _entries(store: Store, version: str) -> dict[str, ManifestEntry]:
    shards = [Shard(store.path("lexical", name), name) for _, name in describe_index(store, version).shards]
    return {entry.source_id: entry for shard in shards for entry in shard.entries}


def _is_about_other_bytes(
    question: Question, before: dict[str, ManifestEntry], after: dict[str, ManifestEntry]
) -> bool:
    """Tell whether a source of its gold evidence has other bytes, or, for an unanswerable one, whether a company that
    it asks about has gained documents and may have made it answerable."""
    for gold in question.gold:
        first, second = before.get(gold.source_id), after.get(gold.source_id)
        if first and second and first.content_sha256 != second.content_sha256:
            return True
    asked = {company for company, _ in question.pairs if company}
    gained = {one.company for name, one in after.items() if name not in before}
    return not question.answerable and bool(asked & gained)


def _standing(
    store: Store, eval_set: EvalSet, configuration: Configuration, version: str, embedder: "Embedder"
) -> Evaluation | None:
    for one in reversed(evaluations_of(store, eval_set.name, configuration.name)):
        header = one.header
        same = header.set_sha256 == eval_set.sha256 and header.configuration_sha256 == configuration.sha256
        if header.index_version == version and same:
            return one
    fitting = _embedder_of(describe_index(store, version).model_digest, embedder)
    if fitting is None:
        return None
    return evaluate(
        store, eval_set, configuration, fitting, version, allow_unresolved=True, with_ragas=False, current=False
    ).evaluation


def _embedder_of(model_digest: str, given: "Embedder") -> "Embedder | None":
    """Return the embedder of a model: the given one, or one of those that need no configuration."""
    from finrag_pipelines.embedding.model import EmbeddingError
    from finrag_pipelines.embedding.opening import open_embedder

    if given.model_digest == model_digest:
        return given
    for spec in _SPECS:
        try:
            found = open_embedder(spec or None)
        except EmbeddingError:
            continue
        if found.model_digest == model_digest:
            return found
    return None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _kept(store: Store, verdict: Verdict) -> Verdict:
    write_file(store.path(FOLDER, f"{verdict.index_version}.json"), canonical_json(dataclasses.asdict(verdict)))
    return verdict


def read_verdict(store: Store, version: str) -> Verdict | None:
    """Return the newest verdict on a version, or None where it was never judged."""
    try:
        row = json.loads(store.path(FOLDER, f"{version}.json").read_bytes())
    except FileNotFoundError:
        return None
    fallen = tuple(Fall(**{**one, "questions": tuple(one["questions"])}) for one in row["falls"])
    return Verdict(row["index_version"], row["previous"], tuple(row["compared"]), fallen, tuple(row["notes"]))


def awaits_promotion(store: Store) -> bool:
    """Tell whether the published version has not been decided on: it does not answer, was not stopped, and nobody went
    back from it."""
    published, current = published_version(store), current_version(store)
    if published is None or published == current:
        return False
    moves = [one for one in history(store) if one.index_version == published]
    since = max((one.sequence for one in moves if one.pointer == PUBLISHED), default=0)
    if any(one.pointer == CURRENT and one.sequence > since for one in moves):
        return False
    verdict = read_verdict(store, published)
    return verdict is None or verdict.previous != current or verdict.passed


def before_the_last_move(store: Store) -> str:
    """Return the version that answered before the last movement; of one that an erasure replaced, the one in its place.

    After a step back that is the version it came from. Raises StoreError where there was none.
    """
    present = current_version(store)
    for move in reversed([one for one in history(store) if one.pointer == CURRENT and one.previous]):
        version = standing_for(store, str(move.previous))
        if version != present:
            return version
    raise StoreError(f"no other index answered before the present one in {store.root}; there is nothing to go back to")
