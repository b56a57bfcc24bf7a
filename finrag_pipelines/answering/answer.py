"""One question, from gate to gate: a cited answer whose every sentence was checked, or a typed refusal."""

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

from finrag_pipelines.answering import evidence_type, extractive, injection, question
from finrag_pipelines.answering.claims import DROPPED, REMARK, ClaimChecker, Verdict
from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.gates import (
    choose_deliveries,
    pair_text,
    scope_refusal,
    uncovered,
    unknown_companies,
)
from finrag_pipelines.answering.generators import Generated, GenerationRequest, Generator, open_generator
from finrag_pipelines.answering.generators.model import REPLY_FAILURES, GeneratorError, Prompt
from finrag_pipelines.answering.generators.passages import rests_on
from finrag_pipelines.answering.mentions import CompanyNames
from finrag_pipelines.answering.model import ANSWERED, REFUSED, AnswerConfig, Delivered, Draft, Support
from finrag_pipelines.answering.statements import StatementFinder
from finrag_pipelines.answering.sufficiency import Evidence, covered_pairs, insufficient, refuse_undisclosed
from finrag_pipelines.answering.support import bears
from finrag_pipelines.answering.words import rule_digest
from finrag_pipelines.catalog.access import Principal
from finrag_pipelines.evidence.records import (
    AnswerRecord,
    CandidateRow,
    CitationRow,
    ClaimRow,
    DeliveryRow,
    Derivation,
    GateRow,
    PlanPair,
    Refusal,
)
from finrag_pipelines.retrieval.model import Candidate, Pair, SearchResponse
from finrag_pipelines.retrieval.modes import AUTO, load_modes
from finrag_pipelines.storage import Store, canonical_json, digest, sha256_text

DETERMINISTIC = "deterministic"
MODEL = "model"


class _Ladder:
    """The gates in the order in which they ran, and the first refusal."""

    def __init__(self) -> None:
        self.rows: list[GateRow] = []
        self.refusal: Refusal | None = None

    def add(
        self,
        name: str,
        refusal: Refusal | None = None,
        detail: str = "",
        value: float | None = None,
        decides: bool = True,
        made_by: str = DETERMINISTIC,
    ) -> bool:
        """Record a gate; return whether the question got past it."""
        passed = None if not decides else refusal is None
        code = refusal.code if refusal else None
        self.rows.append(GateRow(len(self.rows) + 1, name, made_by, passed, code, detail, value))
        self.refusal = self.refusal or refusal
        return refusal is None


class _Stopwatch:
    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = round(self.laps.get(name, 0.0) + (now - self._last) * 1000, 3)
        self._last = now

    def timings(self) -> tuple[tuple[str, float], ...]:
        total = round((time.perf_counter() - self._start) * 1000, 3)
        return (*self.laps.items(), ("total", total))


def answer_question(
    index: Any,
    store: Store,
    text: str,
    principal: Principal,
    config: AnswerConfig | None = None,
    as_of: str | None = None,
    documents: Documents | None = None,
    model: Generator | None = None,
    one_of_many: bool = False,
) -> AnswerRecord:
    """Answer `text` for `principal` from an opened index version, or refuse with a typed reason.

    `as_of` is an ISO date after which nothing is known. The record is returned, not yet written; nothing may be shown
    before it was (see run.py). `model` is used instead of the generator that the configuration names. Raises
    GeneratorError where a configured model cannot be used (with `auto`, the extractive one steps in); with
    `one_of_many` a reply that cannot be used costs this question only and is recorded as the refusal `MODEL.failed`.
    """
    config = config or AnswerConfig()
    return Attempt(index, store, text, principal, config, as_of, documents, model, one_of_many).run()


class Attempt:
    """The state of one question on its way through the gates; `kept` holds the sentences that were borne out."""

    def __init__(
        self,
        index: Any,
        store: Store,
        text: str,
        principal: Principal,
        config: AnswerConfig,
        as_of: str | None,
        documents: Documents | None,
        model: Generator | None,
        one_of_many: bool = False,
    ) -> None:
        self.one_of_many = one_of_many
        self.index, self.store, self.text, self.principal = index, store, text, principal
        self.config, self.as_of = config, as_of
        self.documents = (documents or Documents(store)).seen_by(principal)
        self.ladder = _Ladder()
        self.watch = _Stopwatch()
        self.response: SearchResponse | None = None
        self.pairs: tuple[Pair, ...] = ()
        self.delivered: list[Delivered] = []
        self.located: list[Delivered] = []
        self.kept: list[tuple[Draft, Verdict]] = []
        self.dropped: list[tuple[Draft, Verdict]] = []
        self.opening: list[Draft] = []
        self._model = model
        self.generator = f"{extractive.NAME}/{extractive.VERSION}"
        self.model_digest: str | None = None
        self.prompt: Prompt | None = None

    def run(self) -> AnswerRecord:
        """Run the gates until one refuses; return the record."""
        answered = self._question() and self._retrieve() and self._scope() and self._generate() and self._disclose()
        return self._record(bool(answered))

    def _question(self) -> bool:
        names_scope = bool(self._names().find(self.text)) or any(char.isdigit() for char in self.text)
        refusal, detail = evidence_type.question_class(self.text, names_scope)
        if not self.ladder.add("question", refusal, detail):
            return False
        refusal, detail = evidence_type.evidence_type(self.text, self.documents.newest_year())
        return self.ladder.add("evidence_type", refusal, detail)

    def _names(self) -> CompanyNames:
        return company_names(self.index, self.principal, self.as_of)

    def _retrieve(self) -> bool:
        response = self.index.search(
            self.text, self.principal, k=self.config.k, mode=self.config.mode, as_of=self.as_of
        )
        plan = response.trace.plan
        if plan.roles and "analyst" not in plan.roles and question.asks_analyst(self.text):
            response = self._with_analysts(response)
        self.response = response
        self.watch.lap("retrieve")
        self.pairs = response.trace.plan.pairs or (Pair(None, None),)
        return True

    def _with_analysts(self, response: SearchResponse) -> SearchResponse:
        """Add what analysts said: a question that sets it against an executive's words needs both voices."""
        plan = dataclasses.replace(response.trace.plan, roles=("analyst",))
        more = self.index.search(
            self.text, self.principal, k=self.config.k // 2, mode=self.config.mode, as_of=self.as_of, plan=plan
        )
        known = {one.fragment.fragment_id for one in response.results}
        added = [one for one in more.results if one.fragment.fragment_id not in known]
        ranked = [dataclasses.replace(one, rank=len(known) + at) for at, one in enumerate(added, start=1)]
        return dataclasses.replace(response, results=(*response.results, *ranked))

    def _scope(self) -> bool:
        assert self.response is not None
        plan, results = self.response.trace.plan, self.response.results
        if not self.ladder.add("company", unknown_companies(plan)):
            return False
        missing = uncovered(plan.pairs, [one.fragment for one in results])
        detail = (
            f"asked: {', '.join(sorted(map(pair_text, plan.pairs)))}" if plan.pairs else "no company or period named"
        )
        allowed = self.config.partial == "allow" and 0 < len(missing) < len(self.pairs)
        if not self.ladder.add("scope", scope_refusal(missing) if missing and not allowed else None, detail):
            return False
        self._leave_out(missing)
        top = max((one.score for one in results), default=0.0)
        threshold = self.config.threshold
        below = threshold is not None and top < threshold
        reason = f"The best retrieval score is below the configured threshold of {threshold}."
        refusal = Refusal("RETRIEVAL.below_threshold", reason) if below else None
        if not self.ladder.add("retrieval_score", refusal, value=round(top, 9), decides=threshold is not None):
            return False
        if not results:
            return self.ladder.add("delivery", Refusal("EVIDENCE.insufficient", "No passage was found.", ("evidence",)))
        return self._deliver(results)

    def _read_access(self) -> None:
        """Read access again: what was readable when it was found may not be so any more."""
        self.documents = Documents(self.store).seen_by(self.principal)

    def _withdrawn(self, passages: Sequence[Delivered]) -> bool:
        """Read access again and tell whether any of the passages may not be read any more."""
        self._read_access()
        return not all(self.documents.may_read(self.principal, one.fragment.source_id) for one in passages)

    def _leave_out(self, missing: Sequence[Pair]) -> None:
        """Go on without the pairs that are not covered, and say so first."""
        if missing:
            names = ", ".join(sorted(map(pair_text, missing)))
            self.pairs = tuple(one for one in self.pairs if one not in missing)
            self.opening.append(Draft(f"The evidence does not cover: {names}.", remark=True))

    def _deliver(self, results: Sequence[Candidate]) -> bool:
        standing = self._standing(results)
        chosen = choose_deliveries(standing, self.pairs, self.config.budget)
        self._read_access()
        readable = [one for one in chosen if self.documents.may_read(self.principal, one.fragment.source_id)]
        self.delivered = [dataclasses.replace(one, position=at) for at, one in enumerate(readable, start=1)]
        missing = uncovered([one for one in self.pairs if one != Pair(None, None)], [one.fragment for one in readable])
        refusal = scope_refusal(missing) if missing or not readable else None
        tokens = sum(one.fragment.tokens for one in readable)
        detail = f"{len(readable)} fragments, {tokens} tokens of {self.config.budget}"
        if restated := len(results) - len(standing):
            detail += f"; {restated} restated by an amendment left out"
        self.watch.lap("deliver")
        return self.ladder.add("delivery", refusal, detail)

    def _standing(self, results: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates without those that an amendment restates which was found too: a figure that was taken
        back must not stand in an answer beside the one in its place."""
        assert self.response is not None
        found = {one.fragment.source_id for one in results}
        replaced = {original for amendment, original in self.response.trace.amendments if amendment in found}
        return [one for one in results if not ("restated" in one.priors and one.fragment.source_id in replaced)]

    def _generate(self) -> bool:
        assert self.response is not None
        plan = self.response.trace.plan
        titles = {one.fragment.section_title or "" for one in self.delivered if one.fragment.section in plan.sections}
        ask = question.read_question(self.text, plan, sorted(titles))
        ask = question.with_speakers(ask, [one.fragment.speaker for one in self.delivered if one.fragment.speaker])
        finder = self._finder()
        if finder is not None:
            self.pairs = tuple(finder.owner_of_part(ask, one, self.delivered) for one in self.pairs)
        if unnamed := self._unnamed_company(ask):
            return self.ladder.add("sufficiency", unnamed, f"kind: {ask.kind}")
        if self.pairs == (Pair(None, None),) and len(ask.topic) < 2:
            reason = "The question names neither company nor period and hardly a topic; say whose and which."
            refusal = Refusal("QUESTION.underspecified", reason, ("company", "topic"))
            return self.ladder.add("sufficiency", refusal, f"kind: {ask.kind}")
        evidence = Evidence(ask, plan, self.delivered, self.documents, finder)
        if presupposed := evidence.false_presupposition(self.pairs):
            self.delivered, self.located = evidence.delivered, evidence.located
            return self.ladder.add("sufficiency", presupposed, f"kind: {ask.kind}")
        findings = evidence.findings(self.pairs)
        self.delivered, self.located = evidence.delivered, evidence.located
        lacking, refusal = insufficient(findings)
        if lacking and (unreported := evidence.undisclosed(lacking)):
            refusal = refuse_undisclosed(unreported)
        partly = self.config.partial == "allow" and 0 < len(lacking) < len(findings)
        self.watch.lap("sufficiency")
        if not self.ladder.add("sufficiency", None if partly else refusal, f"kind: {ask.kind}"):
            return False
        if partly:
            self._leave_out(lacking)
            findings = [one for one in findings if one.pair not in lacking]
        if self._withdrawn(self.delivered):
            return self.ladder.add("disclosure", scope_refusal(self.pairs), "access changed while answering")
        try:
            made = self._drafts(ask, findings)
        except GeneratorError as error:
            if not self.one_of_many or error.code not in REPLY_FAILURES:
                raise
            reason = f"The model's reply could not be used: {error}"
            return self.ladder.add("model", Refusal("MODEL.failed", reason, ()), error.code, made_by=MODEL)
        self.watch.lap("generate")
        if made.prompt is not None:
            self.ladder.add("prompt", detail=made.account(), value=made.prompt_tokens)
            reason = "The model found that the delivered passages do not answer the question."
            refusal = Refusal("MODEL.declined", reason, ()) if made.self_refusal else None
            if not self.ladder.add("model", refusal, made.generator, made_by=MODEL):
                return False
        return self._check([*self.opening, *made.drafts], findings)

    def _unnamed_company(self, ask: question.Ask) -> Refusal | None:
        """Return the refusal of a question for a figure that does not say whose, where several companies report."""
        if any(one.company for one in self.pairs) or not (ask.measures or ask.ratio) or ask.across_companies:
            return None
        companies = {one.fragment.company for one in self.delivered if one.fragment.company}
        if len(companies) < 2 or ask.qualifiers:
            return None
        reason = "The question does not say whose figure is asked for; name a company and a period."
        missing = ("company",) if any(one.period for one in self.pairs) else ("company", "period")
        return Refusal("QUESTION.underspecified", reason, missing)

    def _drafts(self, ask: question.Ask, findings: Sequence[extractive.Findings]) -> Generated:
        """Have the sentences drafted; what did not go to a model was not delivered."""
        assert self.response is not None
        request = GenerationRequest(
            self.text,
            ask,
            self.response.trace.plan,
            self.pairs,
            tuple(findings),
            tuple(self.delivered),
            self.documents,
            self.config,
        )
        made = (self._model or open_generator(self.config)).generate(request)
        self.generator, self.model_digest, self.prompt = made.generator, made.model_digest, made.prompt
        self.delivered = list(made.delivered)
        return made

    def _finder(self) -> StatementFinder | None:
        view = getattr(self.index, "catalog_view", None)
        if view is None:
            return None
        entries = view(self.principal, self.as_of).documents
        readable = [one for one in entries if self.documents.may_read(self.principal, one.source_id)]
        return StatementFinder(self.store, self.documents, readable)

    def _check(self, drafts: Sequence[Draft], findings: Sequence[extractive.Findings]) -> bool:
        speakers = sorted({one.fragment.speaker for one in self.delivered if one.fragment.speaker})
        checker = ClaimChecker(self.documents, self._names(), speakers)
        for draft in drafts:
            verdict = checker.check(draft)
            (self.dropped if verdict.verdict == DROPPED else self.kept).append((draft, verdict))
        self.watch.lap("claims")
        claimed = [one for one, verdict in self.kept if verdict.verdict != REMARK]
        unresolved = [verdict for _, verdict in self.dropped if verdict.code == "CITATION.unresolved"]
        refusal = None
        if not claimed and unresolved:
            reason = "No sentence of the draft cites a passage that was delivered."
            refusal = Refusal("CITATION.unresolved", reason, ("a citation for each sentence",))
        if not self.ladder.add("citations", refusal, f"{len(unresolved)} sentences without a resolvable citation"):
            return False
        still = {one.pair for one in findings if any(self._answers(draft, one) for draft in claimed)}
        lost = sorted(pair_text(one.pair) for one in findings if one.pair not in still)
        refusal = None
        if lost or not claimed:
            reason = f"The drafted sentences are not borne out by their citations: {', '.join(lost) or 'none held'}."
            refusal = Refusal("CLAIM.unsupported", reason, tuple(lost))
        if refusal is None:
            self.kept[:0] = [(remark, checker.check(remark)) for remark in self._restated(claimed)]
        return self.ladder.add("claims", refusal, f"{len(claimed)} supported, {len(self.dropped)} dropped")

    def _restated(self, claimed: Sequence[Draft]) -> list[Draft]:
        """Say of each amendment that is cited that it restates: the reader may know the original only."""
        cited = {one.delivered.fragment.source_id for draft in claimed for one in draft.supports}
        restating = {amendment for amendment, _ in self.response.trace.amendments} if self.response else set()
        # The original is not named: whoever is shown this later may not be allowed to know of it.
        return [
            Draft(f"{amendment} amends the original filing and restates what is answered here.", remark=True)
            for amendment in sorted(restating & cited)
        ]

    def _answers(self, draft: Draft, finding: extractive.Findings) -> bool:
        """Tell whether a sentence answers for a pair: a model's must give what was found, not only speak of it."""
        return _answers(draft, finding.pair) and (self.prompt is None or rests_on(draft, finding))

    def _disclose(self) -> bool:
        """Re-read access at the moment of output: what was readable when it was found may not be so any more."""
        # A model may have drawn on anything that it was given, whatever it cites.
        read = self.delivered if self.prompt else [one.delivered for draft, _ in self.kept for one in draft.supports]
        withdrawn = self._withdrawn(read)
        self.watch.lap("disclosure")
        if not withdrawn:
            return self.ladder.add("disclosure")
        # Told as if the source had never been there: a principal learns nothing of what they may not see.
        return self.ladder.add("disclosure", scope_refusal(self.pairs), "access changed while answering")

    def _record(self, answered: bool) -> AnswerRecord:
        plan = self.response.trace.plan if self.response else None
        covered = covered_pairs(self.pairs, self.delivered)
        shown = self.kept if answered else []
        text, claims, citations, derivations = _written(shown, self.dropped)
        refusal = None if answered else self.ladder.refusal
        return AnswerRecord(
            decision=ANSWERED if answered else REFUSED,
            principal=self.principal.name,
            index_version=self.index.version,
            as_of=self.as_of,
            configuration=digest(dataclasses.asdict(self.config)),
            settings=canonical_json(dataclasses.asdict(self.config)).decode(),
            generator=self.generator,
            model_digest=self.model_digest,
            prompt_sha256=self.prompt.sha256 if self.prompt else None,
            policy_epoch=self.documents.policy_epoch,
            refusal_code=refusal.code if refusal else None,
            refusal_reason=refusal.reason if refusal else None,
            missing=refusal.missing if refusal else (),
            rule_digests=(
                f"access={self.documents.access_digest}",
                *evidence_type.rule_digests(),
                *question.rule_digests(),
                rule_digest(),
                injection.rule_digest(),
                *((f"modes={load_modes().sha256}",) if self.config.mode == AUTO else ()),
            ),
            timings_ms=self.watch.timings(),
            question=self.text,
            answer=text,
            plan_pairs=tuple(PlanPair(one.company, one.period, one in covered) for one in (plan.pairs if plan else ())),
            candidates=self._candidate_rows(),
            gates=tuple(self.ladder.rows),
            deliveries=tuple(_delivery_row(one) for one in self.delivered),
            claims=claims,
            citations=citations,
            derivations=derivations,
        )

    def _candidate_rows(self) -> tuple[CandidateRow, ...]:
        rows = [_candidate_row(one) for one in (self.response.results if self.response else ())]
        for at, one in enumerate(self.located, start=1):
            fragment = one.fragment
            rows.append(
                CandidateRow(
                    "statement", at, 0.0, fragment.fragment_id, fragment.source_id, fragment.version, fragment.company,
                    fragment.period, "statement",
                )
            )  # fmt: skip
        return tuple(rows)


def company_names(index: Any, principal: Principal, as_of: str | None = None) -> CompanyNames:
    """Return the company names that sentences are searched for, those of readable documents included."""
    view = getattr(index, "catalog_view", None)
    companies = view(principal, as_of).companies if view else ()
    return _cached_names(tuple(companies))


_NAMES: dict[tuple, CompanyNames] = {}


def _cached_names(companies: tuple) -> CompanyNames:
    if companies not in _NAMES:
        if len(_NAMES) > 16:
            _NAMES.clear()
        _NAMES[companies] = CompanyNames(companies)
    return _NAMES[companies]


def _answers(draft: Draft, pair: Pair) -> bool:
    """Tell whether a sentence answers for a pair."""
    return any(
        one.delivered.fragment.company == pair.company if draft.computed else bears(pair, one.delivered)
        for one in draft.supports
    )


def _candidate_row(one: Candidate) -> CandidateRow:
    fragment = one.fragment
    return CandidateRow(
        "retrieval",
        one.rank,
        one.score,
        fragment.fragment_id,
        fragment.source_id,
        fragment.version,
        fragment.company,
        fragment.period,
        ",".join(one.contributing),
        one.lexical_rank,
        one.lexical_score,
        one.vector_rank,
        one.vector_score,
        one.rerank_score,
    )


def _delivery_row(one: Delivered) -> DeliveryRow:
    fragment = one.fragment
    return DeliveryRow(
        one.position,
        fragment.fragment_id,
        fragment.source_id,
        fragment.version,
        fragment.representation_id,
        fragment.content_sha256,
        fragment.start,
        fragment.end,
        sha256_text(fragment.text),
        fragment.tokens,
        fragment.company,
        fragment.period,
    )


def _written(
    kept: Sequence[tuple[Draft, Verdict]], dropped: Sequence[tuple[Draft, Verdict]]
) -> tuple[str, tuple[ClaimRow, ...], tuple[CitationRow, ...], tuple[Derivation, ...]]:
    """Return answer text with numbered citations, and the rows of claims, citations and derivations."""
    markers: dict[tuple[str, int, int], int] = {}
    lines: list[str] = []
    claims: list[ClaimRow] = []
    citations: list[CitationRow] = []
    derivations: list[Derivation] = []
    for number, (draft, verdict) in enumerate(kept, start=1):
        cited: list[int] = []
        by_name: dict[str, int] = {}
        for support in draft.supports:
            fragment = support.delivered.fragment
            key = (fragment.fragment_id, support.start, support.end)
            marker = markers.setdefault(key, len(markers) + 1)
            if marker not in cited:
                cited.append(marker)
                citations.append(_citation_row(number, marker, support))
        line = draft.lead + draft.text + "".join(f" [{one}]" for one in cited)
        lines.append(line)
        claims.append(ClaimRow(number, verdict.verdict, verdict.reason, line))
        if draft.computed is not None:
            for operand in draft.computed.operands:
                fragment = operand.support.delivered.fragment
                by_name[operand.name] = markers[(fragment.fragment_id, operand.support.start, operand.support.end)]
            operands = [[one.name, one.value, by_name[one.name]] for one in draft.computed.operands]
            derivations.append(
                Derivation(
                    number,
                    draft.computed.name,
                    draft.computed.formula,
                    canonical_json(operands).decode(),
                    draft.computed.result,
                )
            )
    for number, (draft, verdict) in enumerate(dropped, start=len(kept) + 1):
        claims.append(ClaimRow(number, verdict.verdict, f"{verdict.code}: {verdict.reason}", draft.text))
    return "\n".join(lines), tuple(claims), tuple(citations), tuple(derivations)


def _citation_row(claim: int, marker: int, support: Support) -> CitationRow:
    fragment = support.delivered.fragment
    return CitationRow(
        claim=claim,
        marker=marker,
        fragment_id=fragment.fragment_id,
        source_id=fragment.source_id,
        version=fragment.version,
        company=fragment.company,
        form=fragment.form,
        period=fragment.period,
        section=fragment.section,
        speaker=fragment.speaker,
        role=fragment.role,
        page_index=fragment.page_index,
        page_label=fragment.page_label,
        start=support.start,
        end=support.end,
        representation_id=fragment.representation_id,
        representation_type=fragment.representation_type,
        content_sha256=fragment.content_sha256,
        quote_sha256=sha256_text(support.quote),
        quote=support.quote,
    )
