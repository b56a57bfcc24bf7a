"""The pipelines that ours is compared with: unscoped retrieval, a score threshold, a generator, citations that resolve.

A wide hybrid net is reordered by how near the text of a fragment alone is to the question, and the best three are
delivered: a topical score decides. `deterministic_checks` puts two checks in front: does the question want what
documents cannot hold, and does what was found cover every (company, period) asked for. Built from the same parts.
"""

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.evidence_type import evidence_type
from finrag_pipelines.answering.gates import covers, scope_refusal, uncovered
from finrag_pipelines.answering.generators import GenerationRequest, Generator
from finrag_pipelines.answering.model import ANSWERED, REFUSED, Delivered, Draft
from finrag_pipelines.answering.question import Ask
from finrag_pipelines.catalog.access import Principal
from finrag_pipelines.evaluation.configurations import Configuration
from finrag_pipelines.evidence.records import (
    AnswerRecord,
    CandidateRow,
    CitationRow,
    ClaimRow,
    DeliveryRow,
    GateRow,
    PlanPair,
    Refusal,
)
from finrag_pipelines.indexing.analyzer import terms
from finrag_pipelines.retrieval.model import Candidate, Plan
from finrag_pipelines.retrieval.question import plan_question
from finrag_pipelines.retrieval.search import Index
from finrag_pipelines.storage import Store, canonical_json, sha256_text

DEPTH = 3
"""How many fragments are delivered, as in the pipeline that these rebuild."""


def unscoped_plan(question: str) -> Plan:
    """Return a plan that asks for no company and no period: every word is searched for, in every document."""
    return Plan(question, ranking_query=" ".join(terms(question)))


def by_topic(index: Index, question: str, found: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Reorder candidates by the cosine of question and fragment, without the line that says whose text it is.

    The score is that cosine. It stands in for the cross-encoder of the pipeline that is rebuilt: like it, it measures
    whether a text is on the topic, and nothing else.
    """
    if not found:
        return ()
    asked, *vectors = _vectors_of(index, [question, *(one.fragment.text for one in found)])
    nearness = [round(float(vector @ asked), 6) for vector in vectors]
    ordered = sorted(zip(nearness, found, strict=True), key=lambda one: (-one[0], one[1].fragment.fragment_id))
    return tuple(
        dataclasses.replace(one, rank=rank, score=score, rerank_score=score)
        for rank, (score, one) in enumerate(ordered, start=1)
    )


_known: dict[tuple[str, str], np.ndarray] = {}
_KEPT = 20_000  # vectors: the questions of a set bring up the same fragments again and again


def _vectors_of(index: Index, texts: Sequence[str]) -> list[np.ndarray]:
    """Return the vectors of texts; what was embedded for an earlier question is not embedded again."""
    model = index.embedder.model_digest
    missing = [text for text in dict.fromkeys(texts) if (model, text) not in _known]
    if len(_known) > _KEPT:
        _known.clear()
        missing = list(dict.fromkeys(texts))
    if missing:
        made = index.embedder.embed(missing)
        _known.update(((model, text), vector) for text, vector in zip(missing, made, strict=True))
    return [_known[model, text] for text in texts]


@dataclass
class _Gates:
    rows: list[GateRow] = dataclasses.field(default_factory=list)
    refusal: Refusal | None = None

    def passes(self, name: str, refusal: Refusal | None, detail: str = "", value: float | None = None) -> bool:
        code = refusal.code if refusal else None
        self.rows.append(GateRow(len(self.rows) + 1, name, "deterministic", refusal is None, code, detail, value))
        self.refusal = self.refusal or refusal
        return refusal is None


def baseline_answer(
    index: Index,
    store: Store,
    question: str,
    principal: Principal,
    configuration: Configuration,
    as_of: str | None,
    documents: Documents,
    generator: Generator,
) -> AnswerRecord:
    """Answer as one of the two pipelines of comparison does; the record is of the same form as every other."""
    started = time.perf_counter()
    config, checks = configuration.answer, configuration.pipeline == "deterministic_checks"
    gates = _Gates()
    view = index.catalog_view(principal, as_of)
    wanted = plan_question(question, view, date.fromisoformat(as_of) if as_of else None).pairs
    ranked: tuple[Candidate, ...] = ()
    delivered: tuple[Delivered, ...] = ()
    drafts: list[Draft] = []
    made_by = ""
    refusal, detail = evidence_type(question, documents.newest_year()) if checks else (None, "")
    if not checks or gates.passes("evidence_type", refusal, detail):
        net = index.search(question, principal, config.k, config.mode, as_of, unscoped_plan(question))
        ranked = by_topic(index, question, net.results)
        found = ranked[:DEPTH]
        retrieved = time.perf_counter()
        missing = uncovered(wanted, [one.fragment for one in found]) if checks else ()
        scoped = not checks or gates.passes("scope", scope_refusal(missing) if missing else None)
        top = max((one.score for one in found), default=0.0)
        low = not found or (config.threshold is not None and top < config.threshold)
        reason = f"The best retrieval score is below the configured threshold of {config.threshold}."
        below = Refusal("RETRIEVAL.below_threshold", reason) if low else None
        if scoped and gates.passes("retrieval_score", below, value=round(top, 9)):
            delivered = tuple(Delivered(one.rank, one.fragment, one.pair) for one in found)
            made = generator.generate(
                GenerationRequest(
                    question, Ask("statement", question), net.trace.plan, wanted, (), delivered, documents, config
                )
            )
            drafts, delivered, made_by = list(made.drafts), made.delivered, made.generator
            declined = Refusal("MODEL.declined", "The model found no answer in the passages.")
            if gates.passes("model", declined if made.self_refusal else None, made.generator):
                drafts = [one for one in drafts if one.supports]
                refusal = None if drafts else Refusal("CITATION.unresolved", "No sentence cites a delivered passage.")
                gates.passes("citations", refusal)
    else:
        retrieved = time.perf_counter()
    answered = gates.refusal is None
    lines, claims, citations = _written(drafts if answered else [])
    ended = time.perf_counter()
    return AnswerRecord(
        decision=ANSWERED if answered else REFUSED,
        principal=principal.name,
        index_version=index.version,
        as_of=as_of,
        configuration=configuration.sha256,
        settings=canonical_json(
            {"pipeline": configuration.pipeline, "answer": dataclasses.asdict(config), "seed": configuration.seed}
        ).decode(),
        generator=made_by,
        policy_epoch=documents.policy_epoch,
        refusal_code=gates.refusal.code if gates.refusal else None,
        refusal_reason=gates.refusal.reason if gates.refusal else None,
        missing=gates.refusal.missing if gates.refusal else (),
        timings_ms=(
            ("retrieve", round((retrieved - started) * 1000, 3)),
            ("generate", round((ended - retrieved) * 1000, 3)),
            ("total", round((ended - started) * 1000, 3)),
        ),
        question=question,
        answer="\n".join(lines),
        plan_pairs=tuple(
            PlanPair(one.company, one.period, any(covers(one, given.fragment) for given in delivered)) for one in wanted
        ),
        candidates=tuple(_candidate(one) for one in ranked),
        gates=tuple(gates.rows),
        deliveries=tuple(_delivery(one) for one in delivered),
        claims=claims,
        citations=citations,
    )


def _candidate(one: Candidate) -> CandidateRow:
    f = one.fragment
    return CandidateRow(
        "retrieval", one.rank, one.score, f.fragment_id, f.source_id, f.version, f.company, f.period,
        ",".join(one.contributing), one.lexical_rank, one.lexical_score, one.vector_rank, one.vector_score,
        one.rerank_score,
    )  # fmt: skip


def _delivery(one: Delivered) -> DeliveryRow:
    f = one.fragment
    return DeliveryRow(
        one.position, f.fragment_id, f.source_id, f.version, f.representation_id, f.content_sha256, f.start, f.end,
        sha256_text(f.text), f.tokens, f.company, f.period,
    )  # fmt: skip


def _written(drafts: Sequence[Draft]) -> tuple[list[str], tuple[ClaimRow, ...], tuple[CitationRow, ...]]:
    """Return the lines of an answer, its claims (unchecked here, and so recorded) and its citations."""
    lines, claims, citations = [], [], []
    marker = 0
    for number, draft in enumerate(drafts, start=1):
        marks = []
        for support in draft.supports:
            marker += 1
            marks.append(f" [{marker}]")
            f = support.delivered.fragment
            citations.append(
                CitationRow(
                    number, marker, f.fragment_id, f.source_id, f.version, f.company, f.form, f.period, f.section,
                    f.speaker, f.role, f.page_index, f.page_label, support.start, support.end, f.representation_id,
                    f.representation_type, f.content_sha256, sha256_text(support.quote), support.quote,
                )
            )  # fmt: skip
        lines.append(draft.text + "".join(marks))
        claims.append(ClaimRow(number, "unchecked", "this pipeline has no claim checks", lines[-1]))
    return lines, tuple(claims), tuple(citations)
