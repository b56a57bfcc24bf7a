"""First evidence loss: for each gold quote, the first stage after which it was no longer there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from finrag_pipelines.catalog.access import Principal
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.evaluation.gold import (
    LOCATED,
    NOT_INGESTED,
    FoldedText,
    GoldResolver,
    LocatedGold,
    holding,
    overlap,
)
from finrag_pipelines.evaluation.sets import Question
from finrag_pipelines.evidence.records import AnswerRecord
from finrag_pipelines.retrieval.model import Candidate, Pair, Plan
from finrag_pipelines.retrieval.scope import scope_of
from finrag_pipelines.retrieval.search import Index

KEPT = "cited"
STAGES = (
    "not_ingested",
    "not_parsed",
    "not_in_a_fragment",
    "not_in_the_index",
    "hidden_by_access",
    "hidden_by_date",
    "refused_before_search",
    "hidden_by_scope",
    "not_in_lexical",
    "not_in_vector",
    "not_in_either_channel",
    "lost_in_fusion",
    "lost_in_rerank",
    "refused_before_delivery",
    "not_delivered",
    "refused_after_delivery",
    "claim_dropped",
    "not_cited",
    KEPT,
)
"""In the order in which evidence can be lost; `cited` is none of it lost."""

_BEFORE_SEARCH = frozenset({"question", "evidence_type"})
DEEP = 100_000


@dataclass(frozen=True)
class Loss:
    """Where one gold quote was lost, with what to look at: the record, the fragment, its ranks, the gate.

    Ranks are from 1, None where the channel did not return it; `fused_rank` may lie beyond what was asked for.
    """

    question_id: str
    gold: int
    source_id: str
    stage: str
    answer_id: str
    fragment_id: str | None = None
    lexical_rank: int | None = None
    vector_rank: int | None = None
    fused_rank: int | None = None
    detail: str = ""


class LossTracer:
    """Traces the gold evidence of questions through one index version."""

    def __init__(self, index: Index, resolver: GoldResolver, mode: str, k: int) -> None:
        self.index, self.resolver, self.mode, self.k = index, resolver, mode, k

    def trace(
        self, question: Question, record: AnswerRecord, principal: Principal, plan: Plan | None = None
    ) -> tuple[Loss, ...]:
        """Return one row for each gold quote of a question; `plan` is the plan that was searched by, if not its own."""
        deep: tuple[dict[str, Candidate], Plan] | None = None
        found = []
        for number, gold in enumerate(question.gold, start=1):
            located = self.resolver.locate(gold)
            base = Loss(question.id, number, gold.source_id, "", record.answer_id)
            stage = self._before_search(located, principal, question.as_of)
            if isinstance(stage, str):
                found.append(_at(base, stage, located.problem or ""))
                continue
            held = stage
            ids = {one.fragment_id for one in held}
            base = _with_ranks(base, held, record)
            after = self._after_search(base, located, ids, record)
            if after is not None:
                found.append(after)
                continue
            if deep is None:
                mode = "hybrid" if self.mode == "hybrid+rerank" else self.mode
                response = self.index.search(
                    question.question, principal, k=DEEP, mode=mode, as_of=question.as_of, plan=plan
                )
                deep = {one.fragment.fragment_id: one for one in response.results}, response.trace.plan
            found.append(self._in_search(base, held, *deep, principal, question.as_of))
        return tuple(found)

    def fragments(self, located: LocatedGold) -> tuple[Fragment, ...]:
        """Return the fragments that hold located evidence, as this index version cut them, or as they were cut."""
        entry = next(
            (e for shard in self.index.shards for e in shard.entries if e.source_id == located.gold.source_id), None
        )
        same = entry is not None and entry.representation_id == located.representation_id
        path = entry.fragments_path if entry is not None and same else None
        cut = self.resolver.fragments_of(located.gold.source_id, located.representation_id or "", path)
        return holding(located, cut)

    def _before_search(
        self, located: LocatedGold, principal: Principal, as_of: str | None
    ) -> str | tuple[Fragment, ...]:
        """Return the stage of a loss before any search, or the indexed, readable fragments that hold the evidence."""
        if located.status != LOCATED:
            return "not_ingested" if located.status == NOT_INGESTED else "not_parsed"
        held = self.fragments(located)
        if not held:
            return "not_in_a_fragment"
        indexed = [(f, shard) for f in held for shard in self.index.shards if shard.row_of(f.fragment_id) is not None]
        if not indexed:
            return "not_in_the_index"
        open_sources = self.index.catalog_view(principal).source_ids
        readable = [f for f, _ in indexed if f.source_id in open_sources]
        if not readable:
            return "hidden_by_access"
        known = [f for f in readable if not (as_of and f.filed and f.filed > as_of)]
        return tuple(known) or "hidden_by_date"

    def _after_search(self, base: Loss, located: LocatedGold, ids: set[str], record: AnswerRecord) -> Loss | None:
        """Return the row for evidence that was found, or None where it was not."""
        gate = next((one for one in record.gates if one.passed is False), None)
        stopped = f"{gate.name}: {gate.code}" if gate else ""
        if gate is not None and gate.name in _BEFORE_SEARCH:
            return _at(base, "refused_before_search", stopped)
        cited = [
            one
            for one in record.citations
            if one.representation_id == located.representation_id
            and any(overlap(span, (one.start, one.end)) for span in located.ranges)
        ]
        if cited:
            return _at(base, KEPT, f"claim {cited[0].claim}")
        delivered = ids & {one.fragment_id for one in record.deliveries}
        found = ids & {one.fragment_id for one in record.candidates}
        if delivered:
            wanted = FoldedText(located.gold.quote).text
            dropped = [one for one in record.claims if one.verdict == "dropped"]
            for claim in dropped:
                if wanted and wanted in FoldedText(claim.sentence).text:
                    return _at(base, "claim_dropped", claim.reason)
            return _at(base, "refused_after_delivery", stopped) if gate else _at(base, "not_cited")
        if found:
            return (
                _at(base, "refused_before_delivery", stopped) if not record.deliveries else _at(base, "not_delivered")
            )
        return None

    def _in_search(
        self,
        base: Loss,
        held: Sequence[Fragment],
        deep: dict[str, Candidate],
        plan: Plan,
        principal: Principal,
        as_of: str | None,
    ) -> Loss:
        """Return the row for evidence that was not among the candidates of the record."""
        hits = [deep[one.fragment_id] for one in held if one.fragment_id in deep]
        if hits:
            best = min(hits, key=lambda one: one.rank)
            reranked = self.mode == "hybrid+rerank" and best.rank <= self.k
            return replace(
                base,
                stage="lost_in_rerank" if reranked else "lost_in_fusion",
                fragment_id=best.fragment.fragment_id,
                lexical_rank=best.lexical_rank,
                vector_rank=best.vector_rank,
                fused_rank=best.rank,
                detail=f"rank {best.rank} of {len(deep)}, {self.k} were asked for",
            )
        if not any(self._in_scope(one, plan, principal, as_of) for one in held):
            pairs = ", ".join("/".join(filter(None, (p.company, p.period))) for p in plan.pairs) or "none"
            filters = "; ".join(filter(None, (*plan.sections, *plan.roles, *plan.forms)))
            return _at(base, "hidden_by_scope", f"pairs: {pairs}" + (f"; only {filters}" if filters else ""))
        stage = {"lexical": "not_in_lexical", "vector": "not_in_vector"}.get(self.mode, "not_in_either_channel")
        return _at(base, stage, "in scope, not among the best of the channel, or a near duplicate of what was")

    def _in_scope(self, fragment: Fragment, plan: Plan, principal: Principal, as_of: str | None) -> bool:
        return any(
            self._pair_admits(pair, fragment, plan, principal, as_of) for pair in plan.pairs or (Pair(None, None),)
        )

    def _pair_admits(self, pair: Pair, fragment: Fragment, plan: Plan, principal: Principal, as_of: str | None) -> bool:
        """Tell whether a pair's scope has the fragment; a section or role that nothing has is given up as in search."""
        view = self.index.catalog_view(principal, as_of)
        for sections, roles in ((True, True), (True, False), (False, True), (False, False)):
            scope = scope_of(pair, plan, self.index.shards, view, sections, roles)
            masks = {at: self.index.shards[at].mask(rows) for at, rows in scope.shards.items()}
            if not any(mask.any() for mask in masks.values()):
                continue
            rows = ((at, self.index.shards[at].row_of(fragment.fragment_id)) for at in masks)
            return any(row is not None and bool(masks[at][row]) for at, row in rows)
        return False


def _at(base: Loss, stage: str, detail: str = "") -> Loss:
    return replace(base, stage=stage, detail=detail)


def _with_ranks(base: Loss, held: Sequence[Fragment], record: AnswerRecord) -> Loss:
    ids = {one.fragment_id for one in held}
    rows = sorted((one for one in record.candidates if one.fragment_id in ids), key=lambda one: one.rank)
    if not rows:
        return replace(base, fragment_id=held[0].fragment_id)
    best = rows[0]
    return replace(
        base,
        fragment_id=best.fragment_id,
        lexical_rank=best.lexical_rank,
        vector_rank=best.vector_rank,
        fused_rank=best.rank if best.stage == "retrieval" else None,
    )
