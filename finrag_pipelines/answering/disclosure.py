"""Showing an answer: access is read again at that moment, sentence by sentence, and what was shown is recorded.

An answer that was right to give may not be right to show later, or to somebody else.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.model import ANSWERED, REFUSED
from finrag_pipelines.catalog.access import Principal
from finrag_pipelines.catalog.calendars import calendar_for
from finrag_pipelines.catalog.catalog import rules_digest
from finrag_pipelines.catalog.companies import Company, load_companies
from finrag_pipelines.catalog.identity import Identity
from finrag_pipelines.catalog.period_mentions import parse_periods_in_text
from finrag_pipelines.evidence.records import (
    AnswerRecord,
    CitationRow,
    ClaimRow,
    DisclosureRow,
    GateRow,
    PlanPair,
    Refusal,
)
from finrag_pipelines.evidence.write import EvidenceError, read_disclosures, write_disclosure
from finrag_pipelines.storage import Store

SHOWN, PARTLY, WITHHELD = "shown", "partly withheld", "withheld"
DROPPED = "dropped"
NOT_COVERED = Refusal("SCOPE.uncovered", "The retrieved evidence does not cover what was asked.")
"""What somebody reads who may not read all that a refusal rests on, or nothing of an answer: it names nothing."""
WITHDRAWN = Refusal("ACCESS.withdrawn", "Access to what this answer rests on was withdrawn.")


@dataclass(frozen=True)
class Segment:
    """One sentence of an answer on its way out, with the passages that bear it."""

    claim: int
    sentence: str
    citations: tuple[CitationRow, ...]


@dataclass(frozen=True)
class Shown:
    """An answer as it may be shown, with the disclosure that was recorded of it and its number in their chain."""

    record: AnswerRecord
    disclosure: DisclosureRow
    sequence: int


def show(store: Store, record: AnswerRecord, principal: Principal, channel: str) -> Shown:
    """Return what of an answer `principal` may see now, and record that it was shown or withheld.

    Sentences whose sources are no longer readable are left out, and so is every row that names such a source. Where
    nothing is left, one who saw the answer before is told that access was withdrawn; anybody else, that what was asked
    is not covered. A refusal is shown as it was recorded to one who may read all that it rests on, and to anybody else
    as not covered. `channel` says how it is shown (see DisclosureRow).
    """
    view = _View(Documents(store), record, principal)
    kept = [one for one in record.claims if view.may_see(one)]
    withheld = [one.claim for one in record.claims if one not in kept]
    shown = record if view.sees_all() else view.reduced(kept, _saw_before(store, record, principal))
    sentences = [one.claim for one in shown.claims if one.verdict != DROPPED] if shown.decision == ANSWERED else []
    complete = not withheld and shown.decision == record.decision and (shown is record or shown.decision == ANSWERED)
    outcome = SHOWN if complete else PARTLY if shown.decision == ANSWERED else WITHHELD
    return Shown(shown, *_record(store, record, view, outcome, sentences, withheld, channel))


def disclose(store: Store, record: AnswerRecord, principal: Principal, channel: str = "evidence") -> AnswerRecord:
    """Return the record as `show` does, alone."""
    return show(store, record, principal, channel).record


def stream(store: Store, record: AnswerRecord, principal: Principal) -> Iterator[Segment]:
    """Yield the sentences of an answer one by one, reading access again before each and recording each before it is
    out: a revocation stops the very next one."""
    for claim in record.claims:
        if claim.verdict == DROPPED:
            continue
        view = _View(Documents(store), record, principal)
        if view.may_see(claim):
            _record(store, record, view, SHOWN, [claim.claim], [], "stream")
            cited = tuple(one for one in record.citations if one.claim == claim.claim)
            yield Segment(claim.claim, claim.sentence, cited)
        else:
            _record(store, record, view, WITHHELD, [], [claim.claim], "stream")


def _record(
    store: Store,
    record: AnswerRecord,
    view: "_View",
    outcome: str,
    shown: list[int],
    withheld: list[int],
    channel: str,
) -> tuple[DisclosureRow, int]:
    row = DisclosureRow(
        answer_id=record.answer_id,
        principal=view.principal.name,
        policy_epoch=view.documents.policy_epoch,
        shown_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        outcome=outcome,
        segments=len(shown),
        withheld=",".join(map(str, withheld)),
        claims=",".join(map(str, shown)),
        channel=channel,
    )
    return row, write_disclosure(store, row)


def _saw_before(store: Store, record: AnswerRecord, principal: Principal) -> bool:
    try:
        earlier = [one.disclosure for one in read_disclosures(store, record.answer_id)]
    except EvidenceError:
        return False  # a damaged chain is for `finrag verify` to report; here it must not say more than it may
    return any(one.principal == principal.name and one.segments for one in earlier)


def _without_counts(gates: tuple[GateRow, ...]) -> tuple[GateRow, ...]:
    """Return gates without detail and value, which count what may not be seen."""
    return tuple(dataclasses.replace(one, detail="", value=None) for one in gates)


class _View:
    """What one principal may see of one answer, as the catalog stands at this moment."""

    def __init__(self, documents: Documents, record: AnswerRecord, principal: Principal) -> None:
        self.documents, self.record, self.principal = documents, record, principal

    def _readable(self, source_id: str) -> bool:
        return self.documents.may_read(self.principal, source_id)

    def may_see(self, claim: ClaimRow) -> bool:
        """Tell whether a sentence may be seen; one without a citation may repeat anything that the record holds."""
        sources = {one.source_id for one in self.record.citations if one.claim == claim.claim}
        return all(map(self._readable, sources)) if sources else self.sees_all()

    def sees_all(self) -> bool:
        """Tell whether the whole record may be seen: no row names a source that may not be read, and no pair a company
        or period that only such a source makes known."""
        return self._sees_all

    @cached_property
    def _sees_all(self) -> bool:
        rows = (*self.record.candidates, *self.record.deliveries, *self.record.citations)
        if not all(map(self._readable, {one.source_id for one in rows})):
            return False
        return self._reads_as_who_asked() or all(map(self._may_know, self.record.plan_pairs))

    def _reads_as_who_asked(self) -> bool:
        """Tell whether the principal is the one who asked, under the access rules of then."""
        seen = self.documents.seen_by(self.principal)
        return f"access={rules_digest(seen.catalog)}" in self.record.rule_digests

    def _may_know(self, pair: PlanPair) -> bool:
        """Tell whether the principal may know of a company and period that the question was read to ask for: the
        company by a readable document; the period by one too, or by the question, or where nothing of it is hidden."""
        if pair.company is not None and pair.company not in self._companies:
            return False
        if pair.period is None or pair.period in self.record.question:
            return True
        stated = parse_periods_in_text(self.record.question, calendar_for(pair.company))
        if pair.period in {one.label for one in stated}:
            return True
        of_company = [
            (one.identity, self._readable(name))
            for name, one in self.documents.catalog.sources.items()
            if one.received and pair.company in (None, one.identity.company)
        ]
        reported = {identity.period for identity, readable in of_company if readable}
        return pair.period in reported or all(readable for _, readable in of_company)

    @cached_property
    def _companies(self) -> frozenset[str]:
        """The companies that issued a readable document or are the subject of one."""
        seen = self.documents.seen_by(self.principal).catalog.sources.values()
        identities: list[Identity] = [one.identity for one in seen if one.received]
        issuers = [Company(one.company, one.company_name or one.company) for one in identities if one.company]
        table = load_companies().extended_by(issuers)
        named = (subject for one in identities for subject in one.subjects)
        subjects = (table.get(one) or table.by_ticker(one) or table.by_name(one) for one in named)
        return frozenset({one.id for one in issuers} | {one.id for one in subjects if one})

    def reduced(self, kept: list[ClaimRow], saw_before: bool) -> AnswerRecord:
        """Return the record without what may not be seen, or a refusal that names nothing where no supported sentence
        is left: what a refusal says may repeat anything that was found, so nothing of it stays."""
        record = self.record
        if record.decision == REFUSED or not any(one.verdict == "supported" for one in kept):
            return self._withheld(saw_before)
        candidates = tuple(one for one in record.candidates if self._readable(one.source_id))
        deliveries = tuple(one for one in record.deliveries if self._readable(one.source_id))
        numbers = {one.claim for one in kept}
        return dataclasses.replace(
            record,
            answer="\n".join(one.sentence for one in kept if one.verdict != DROPPED),
            plan_pairs=tuple(
                dataclasses.replace(one, covered=one.covered and self._is_left(one))
                for one in record.plan_pairs
                if self._may_know(one)
            ),
            gates=_without_counts(record.gates),
            claims=tuple(kept),
            citations=tuple(one for one in record.citations if one.claim in numbers),
            derivations=tuple(one for one in record.derivations if one.claim in numbers),
            candidates=candidates,
            deliveries=deliveries,
        )

    def _is_left(self, pair: PlanPair) -> bool:
        """Tell whether a pair is still covered: by a delivery of its period where one of its company is withheld."""
        of_company = [one for one in self.record.deliveries if pair.company in (None, one.company)]
        left = [one for one in of_company if self._readable(one.source_id)]
        return bool(left) and (len(left) == len(of_company) or any(pair.period in (None, one.period) for one in left))

    def _withheld(self, saw_before: bool) -> AnswerRecord:
        refusal = WITHDRAWN if saw_before else NOT_COVERED
        return dataclasses.replace(
            self.record,
            decision=REFUSED,
            refusal_code=refusal.code,
            refusal_reason=refusal.reason,
            missing=refusal.missing,
            answer="",
            model_digest=None,
            prompt_sha256=None,
            timings_ms=(),
            plan_pairs=(),
            gates=(),
            claims=(),
            citations=(),
            derivations=(),
            candidates=(),
            deliveries=(),
        )
