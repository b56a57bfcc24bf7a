"""One configuration on one set: answers with their evidence records, then every figure read from those records."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from finrag_pipelines.answering.answer import answer_question
from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.gates import covers
from finrag_pipelines.answering.generators import Generator, open_generator
from finrag_pipelines.answering.model import ANSWERED
from finrag_pipelines.catalog.access import Principal
from finrag_pipelines.catalog.catalog import read_catalog, rules_digest
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.evaluation import ragas_metrics
from finrag_pipelines.evaluation.answer_metrics import citation_score, numeric_match, wrong_answer
from finrag_pipelines.evaluation.baselines import baseline_answer, unscoped_plan
from finrag_pipelines.evaluation.configurations import Configuration
from finrag_pipelines.evaluation.evidence_loss import LossTracer
from finrag_pipelines.evaluation.figures import MILLISECONDS, PROMPT_TOKENS, REFUSED, Figure, scored
from finrag_pipelines.evaluation.gold import LOCATED, GoldResolver, LocatedGold, unresolved
from finrag_pipelines.evaluation.judge import Judge
from finrag_pipelines.evaluation.results import (
    Evaluation,
    Header,
    QuestionRow,
    find_evaluation,
    make_current,
    write_evaluation,
)
from finrag_pipelines.evaluation.retrieval_metrics import CUTS, distinct, ndcg_at, recall_at, reciprocal_rank
from finrag_pipelines.evaluation.scripted import ScriptedGenerator
from finrag_pipelines.evaluation.sets import EvalSet, Question, SetError
from finrag_pipelines.evidence.records import AnswerRecord, CandidateRow, canonical_projection
from finrag_pipelines.evidence.write import run_path, write_answers
from finrag_pipelines.indexing.publication import resolve_version
from finrag_pipelines.retrieval.model import Pair
from finrag_pipelines.retrieval.modes import AUTO, load_modes, question_type
from finrag_pipelines.retrieval.question import plan_question
from finrag_pipelines.retrieval.rerank import CrossEncoderReranker
from finrag_pipelines.retrieval.search import Index, open_index
from finrag_pipelines.storage import Store, digest, sha256_bytes

if TYPE_CHECKING:
    from finrag_pipelines.embedding.model import Embedder

RULES = "1"
"""Changes with what the figures mean, where the code alone does not say so."""
_STAGES = ("parsing", "chunking", "embedding", "indexing", "retrieval", "evidence", "answering", "evaluation")


@dataclass(frozen=True)
class Outcome:
    """An evaluation, and whether it stood already because none of its inputs changed."""

    evaluation: Evaluation
    skipped: bool

    def __str__(self) -> str:
        """One line for people."""
        header = self.evaluation.header
        if self.skipped:
            return f"{self.evaluation.name}: unchanged inputs, not run again (key {header.key[:16]})"
        return f"{self.evaluation.name}: {len(self.evaluation.questions)} questions, evidence in run {header.run_id}"


@cache
def code_version() -> str:
    """Return a hash over the sources and rule tables of the stages that make and measure an answer."""
    package = Path(__file__).resolve().parents[1]
    paths = sorted(
        path for stage in _STAGES for path in (package / stage).rglob("*") if path.suffix in (".py", ".json")
    )
    return digest([[str(path.relative_to(package)), sha256_bytes(path.read_bytes())] for path in paths])


def evaluate(
    store: Store,
    eval_set: EvalSet,
    configuration: Configuration,
    embedder: "Embedder | None" = None,
    index_version: str | None = None,
    repeats: int = 1,
    force: bool = False,
    allow_unresolved: bool = False,
    with_ragas: bool = True,
    progress: Callable[[str], None] | None = None,
    current: bool = True,
    judge: Judge | None = None,
) -> Outcome:
    """Answer a set with a configuration and measure it; unchanged inputs are not run again unless `force`.

    Answers leave evidence records like any other answer. `repeats` answers everything so many times and counts what
    changed. With `current`, reports show it. Raises SetError for gold evidence that cannot be located, unless
    `allow_unresolved` counts it as lost. `judge` takes the measures that need one.
    """
    version = resolve_version(store, index_version)
    catalog = read_catalog(store)
    rules = rules_digest(catalog)
    chosen = [load_modes().sha256] if configuration.answer.mode == AUTO else []
    key = digest(
        [RULES, eval_set.sha256, configuration.sha256, code_version(), version, rules, repeats, with_ragas]
        + chosen
        + ([judge.name, judge.digest, judge.settings.timeout] if judge else [])
    )
    standing = None if force else find_evaluation(store, eval_set.name, configuration.name, key)
    if standing is not None:
        if current:
            make_current(store, standing)
        return Outcome(standing, True)
    resolver = GoldResolver(store, catalog)
    problems = unresolved(eval_set, resolver)
    if problems and not allow_unresolved:
        raise SetError(problems)
    reranker = CrossEncoderReranker(configuration.reranker) if configuration.reranker else None
    index = open_index(store, version, embedder, reranker)
    answering = _Answering(store, index, configuration, Documents(store, catalog))
    principals = {one.principal: catalog.principal(one.principal) for one in eval_set.questions}
    runs = []
    for _ in range(repeats):
        made = []
        for question in eval_set.questions:
            made.append(answering.answer(question, principals[question.principal]))
            if progress is not None:
                progress(question.id)
        runs.append(made)
    run_id = _free_run_id(store, f"eval-{configuration.name}-{eval_set.name}-{key[:12]}")
    records = write_answers(store, run_id, runs[0])
    for number, more in enumerate(runs[1:], start=2):
        write_answers(store, f"{run_id}.r{number}", more)
    mode = configuration.answer.mode
    header = Header(
        set_name=eval_set.name,
        configuration=configuration.name,
        key=key,
        set_sha256=eval_set.sha256,
        configuration_sha256=configuration.sha256,
        code_version=code_version(),
        index_version=version,
        rules_sha256=rules,
        seed=configuration.seed,
        mode=mode,
        pipeline=configuration.pipeline,
        run_id=run_id,
        repeats=repeats,
        evaluated_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        generators=tuple(sorted({one.generator for one in records if one.generator})),
        notes=(*_lost(eval_set, resolver), *_notes(mode, reranker)),
        judge=judge.name if judge else "",
        judge_digest=judge.digest if judge else None,
    )
    evaluation = _measure(
        header, eval_set, records, runs[1:], index, resolver, principals, configuration, with_ragas, judge
    )
    write_evaluation(store, evaluation, current)
    return Outcome(evaluation, False)


def _lost(eval_set: EvalSet, resolver: GoldResolver) -> tuple[str, ...]:
    """Say which gold evidence could not be located, without its words: a result outlives an erasure."""
    return tuple(
        f"{question.id}: gold evidence {number} in {gold.source_id} is {status}"
        for question in eval_set.questions
        for number, gold in enumerate(question.gold, start=1)
        if (status := resolver.locate(gold).status) != LOCATED
    )


def _notes(mode: str, reranker: CrossEncoderReranker | None) -> tuple[str, ...]:
    if mode == "hybrid+rerank" and reranker is None:
        return ("No reranker is configured: the order of rank fusion stood, and this is hybrid under another name.",)
    return ()


def _free_run_id(store: Store, wanted: str) -> str:
    """Return `wanted`, or with a number where a run of that name left evidence and no result."""
    number, run_id = 1, wanted
    while run_path(store, run_id).exists():
        number += 1
        run_id = f"{wanted}.{number}"
    return run_id


class _Answering:
    """Answers questions as a configuration says, with what is opened once for all of them."""

    def __init__(self, store: Store, index: Index, configuration: Configuration, documents: Documents) -> None:
        self._store, self._index, self._configuration, self._documents = store, index, configuration, documents
        self._model: Generator | None = ScriptedGenerator(configuration.script) if configuration.script else None

    def answer(self, question: Question, principal: Principal) -> AnswerRecord:
        config = self._configuration
        if config.pipeline == "full":
            return answer_question(
                self._index, self._store, question.question, principal, config.answer, question.as_of,
                self._documents, self._model,
            )  # fmt: skip
        model = self._model
        if model is None:  # the pipelines of comparison have no extractive answerer
            extractive = config.answer.generator == "extractive"
            model = ScriptedGenerator(None) if extractive else open_generator(config.answer)
        return baseline_answer(
            self._index,
            self._store,
            question.question,
            principal,
            config,
            question.as_of,
            self._documents,
            model,
        )


def _measure(
    header: Header,
    eval_set: EvalSet,
    records: Sequence[AnswerRecord],
    repeats: Sequence[Sequence[AnswerRecord]],
    index: Index,
    resolver: GoldResolver,
    principals: dict[str, Principal],
    configuration: Configuration,
    with_ragas: bool,
    judge: Judge | None,
) -> Evaluation:
    tracer = LossTracer(index, resolver, header.mode, configuration.answer.k)
    rows, figures, losses, samples = [], [], [], []
    for at, (question, record) in enumerate(zip(eval_set.questions, records, strict=True)):
        located = [resolver.locate(gold) for gold in question.gold]
        holding = [tracer.fragments(one) if one.status == LOCATED else () for one in located]
        held = [tuple(f.fragment_id for f in one) for one in holding]
        cut = _fragments(index, record)
        row = question_row(question, record, cut)
        view = index.catalog_view(principals[question.principal], question.as_of)
        day = date.fromisoformat(question.as_of) if question.as_of else None
        row = dataclasses.replace(row, question_type=question_type(plan_question(question.question, view, day)))
        again = [run[at] for run in repeats]
        rows.append(
            dataclasses.replace(
                row,
                flips=sum((one.decision, one.refusal_code) != (record.decision, record.refusal_code) for one in again),
                differing=sum(canonical_projection(one) != canonical_projection(record) for one in again),
            )
        )
        figures += retrieval_figures(question, record, located, held, cut)
        figures += answer_figures(question, record, located, cut)
        figures += cost_figures(question, record)
        plan = None if header.pipeline == "full" else unscoped_plan(question.question)
        losses += tracer.trace(question, record, principals[question.principal], plan)
        samples.append(_sample(question, record, [f for one in holding for f in one], cut))
    if with_ragas:
        figures += ragas_metrics.score([one for one in samples if one.gold_ids])
    if judge is not None:
        figures += ragas_metrics.judged(samples, judge, index.embedder)
    return Evaluation(header, tuple(rows), tuple(figures), tuple(losses))


def _fragments(index: Index, record: AnswerRecord) -> dict[str, Fragment]:
    """Return the fragments that a record names, by id."""
    wanted = {one.fragment_id for rows in (record.candidates, record.deliveries, record.citations) for one in rows}
    found = {}
    for fragment_id in wanted:
        for shard in index.shards:
            row = shard.row_of(fragment_id)
            if row is not None:
                found[fragment_id] = shard.fragment(row)
                break
    return found


def question_row(question: Question, record: AnswerRecord, cut: dict[str, Fragment]) -> QuestionRow:
    """Return how one question was decided, from its record."""
    timings = dict(record.timings_ms)
    companies = {company for company, _ in question.pairs if company}
    candidates = [one for one in record.candidates if one.stage == "retrieval"]
    verdicts = [one.verdict for one in record.claims]
    gate = next((one.name for one in record.gates if one.passed is False), "")
    reported = {name: one.periods for name, one in cut.items()}
    return QuestionRow(
        question_id=question.id,
        tags=question.tags,
        answerable=question.answerable,
        expected_code=question.refusal_code,
        decision=record.decision,
        code=record.refusal_code,
        wrong=wrong_answer(question, record, reported) or "",
        answer_id=record.answer_id,
        principal=record.principal,
        gate=gate,
        generator=record.generator,
        citations=len(record.citations),
        claims_supported=verdicts.count("supported"),
        claims_dropped=verdicts.count("dropped"),
        claims_unchecked=verdicts.count("unchecked"),
        pairs_required=len(question.pairs),
        candidate_rows=len(candidates),
        wrong_company_rows=sum(bool(companies) and one.company not in companies for one in candidates),
        gold=len(question.gold),
        retrieve_ms=timings.get("retrieve"),
        total_ms=timings.get("total"),
        cited=tuple(sorted({one.company for one in record.citations if one.company})),
    )


def retrieval_figures(
    question: Question,
    record: AnswerRecord,
    located: Sequence[LocatedGold],
    held: Sequence[Sequence[str]],
    cut: dict[str, Fragment],
) -> list[Figure]:
    """Return recall, reciprocal rank and nDCG at each level, scope coverage, and the share of wrong-company rows.

    A question that was refused before anything was searched has none of them, and is counted so. A page is that on
    which a fragment begins, or that of the gold evidence it holds.
    """
    rows = sorted((one for one in record.candidates if one.stage == "retrieval"), key=lambda one: one.rank)
    searched = bool(rows) or any(one.name in ("scope", "retrieval_score") for one in record.gates)
    found: list[Figure] = []
    if located:
        page_of = {
            name: (g.gold.source_id, g.pages[0])
            for g, ids in zip(located, held, strict=True)
            if g.pages
            for name in ids
        }
        begins = {name: (one.source_id, one.page_index) for name, one in cut.items()}
        keys: dict[str, tuple[list, set]] = {
            "document": ([one.source_id for one in rows], {one.gold.source_id for one in located}),
            "fragment": ([one.fragment_id for one in rows], {name for ids in held for name in ids}),
        }
        if all(one.pages for one in located):
            ranked = [page_of.get(one.fragment_id) or begins.get(one.fragment_id) for one in rows]
            keys["page"] = (ranked, {(one.gold.source_id, page) for one in located for page in one.pages[:1]})
        for level in ("document", "page", "fragment"):
            if level in keys:
                found += _ranked_figures(question.id, level, *keys[level], searched)
        found += _channel_figures(question.id, rows, keys["fragment"][1], searched)
    if question.pairs:
        delivered = [cut[one.fragment_id] for one in record.deliveries if one.fragment_id in cut]
        covered = [any(covers(Pair(*pair), one) for one in delivered) for pair in question.pairs]
        found.append(_or_refused(question.id, "scope_coverage", sum(covered) / len(covered), searched))
    companies = {company for company, _ in question.pairs if company}
    if companies and rows:
        share = sum(one.company not in companies for one in rows) / len(rows)
        found.append(scored(question.id, "wrong_company_rows", share))
    return found


def _channel_figures(
    question_id: str, rows: Sequence[CandidateRow], relevant: set[str], searched: bool
) -> list[Figure]:
    """Return, for each channel that returned anything, the share of gold fragments that it ranked among its best 10,
    and the reciprocal of the best rank that it gave one.

    Read from the candidates of the record: a fragment that fusion dropped counts as missed by both.
    """
    found = []
    for name in ("lexical", "vector"):
        rank_of = {one.fragment_id: getattr(one, f"{name}_rank") for one in rows}
        if any(rank_of.values()):
            ranks = [rank for one in relevant if (rank := rank_of.get(one))]
            recall = sum(rank <= 10 for rank in ranks) / max(1, len(relevant))
            found.append(_or_refused(question_id, f"{name}_recall@10", recall, searched))
            found.append(_or_refused(question_id, f"{name}_mrr", 1 / min(ranks) if ranks else 0.0, searched))
    return found


def _ranked_figures(question_id: str, level: str, ranked: list, relevant: set, searched: bool) -> list[Figure]:
    ranked = distinct(ranked)
    values = {f"{level}_recall@{k}": recall_at(ranked, relevant, k) for k in CUTS}
    values[f"{level}_mrr"] = reciprocal_rank(ranked, relevant)
    values[f"{level}_ndcg@10"] = ndcg_at(ranked, relevant, 10)
    return [_or_refused(question_id, name, value, searched) for name, value in values.items()]


def _or_refused(question_id: str, name: str, value: float, searched: bool) -> Figure:
    return scored(question_id, name, value) if searched else Figure(question_id, name, None, REFUSED)


def answer_figures(
    question: Question, record: AnswerRecord, located: Sequence[LocatedGold], cut: dict[str, Fragment]
) -> list[Figure]:
    """Return citation precision and recall and the numeric match of an answer; a refusal is counted as left out."""
    answered = record.decision == ANSWERED
    found: list[Figure] = []
    if located:
        score = citation_score(record.citations, located)
        for name, value in (("citation_precision", score.precision), ("citation_recall", score.recall)):
            found.append(_or_refused(question.id, name, value or 0.0, answered))
    numbers = numeric_match(question.reference_answer, record.answer)
    if question.answerable and numbers is not None:
        found.append(_or_refused(question.id, "numeric_match", numbers, answered))
    return found


def cost_figures(question: Question, record: AnswerRecord) -> list[Figure]:
    """Return the milliseconds of each stage that a question came to, and the tokens of a model's prompt."""
    found = [scored(question.id, f"{MILLISECONDS}{name}", value) for name, value in record.timings_ms]
    tokens = [one.value for one in record.gates if one.name == "prompt" and one.value is not None]
    return found + [scored(question.id, PROMPT_TOKENS, value) for value in tokens]


def _sample(
    question: Question, record: AnswerRecord, gold: Sequence[Fragment], cut: dict[str, Fragment]
) -> ragas_metrics.Sample:
    by_id = {one.fragment_id: one for one in gold}
    unique = [by_id[name] for name in sorted(by_id)]
    delivered = [cut[one.fragment_id] for one in record.deliveries if one.fragment_id in cut]
    return ragas_metrics.Sample(
        question_id=question.id,
        question=question.question,
        answer=record.answer,
        reference=question.reference_answer,
        contexts=tuple(one.text for one in delivered),
        context_ids=tuple(one.fragment_id for one in delivered),
        gold_contexts=tuple(one.text for one in unique),
        gold_ids=tuple(one.fragment_id for one in unique),
        answered=record.decision == ANSWERED,
    )
