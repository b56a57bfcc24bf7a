"""Showing an answer: access is read again at that moment, sentence by sentence, and what was shown is recorded.

An answer that was right to give may not be right to show later, or to somebody else.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.gates import scope_refusal
from finrag_pipelines.answering.model import ANSWERED, REFUSED
from finrag_pipelines.catalog.access import Principal
from finrag_pipelines.evidence.records import AnswerRecord, CitationRow, ClaimRow, DisclosureRow, GateRow, Refusal
from finrag_pipelines.evidence.write import EvidenceError, read_disclosures, write_disclosure
from finrag_pipelines.retrieval.model import Pair
from finrag_pipelines.storage import Store

SHOWN, PARTLY, WITHHELD = "shown", "partly withheld", "withheld"
DROPPED = "dropped"


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
    nothing is left, one who saw the answer before is told that access was withdrawn; anybody else, as if the sources
    were not there. `channel` says how it is shown (see DisclosureRow).
    """
    view = _View(Documents(store), record, principal)
    kept = [one for one in record.claims if view.may_see(one)]
    withheld = [one.claim for one in record.claims if one not in kept]
    shown = record if view.sees_all() else view.reduced(kept, _saw_before(store, record, principal))
    sentences = [one.claim for one in shown.claims if one.verdict != DROPPED] if shown.decision == ANSWERED else []
    complete = not withheld and shown.decision == record.decision
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

    def _reads_deliveries(self) -> bool:
        return all(self._readable(one.source_id) for one in self.record.deliveries)

    def may_see(self, claim: ClaimRow) -> bool:
        """Tell whether a sentence may be seen; one without a citation may repeat anything that was delivered."""
        sources = {one.source_id for one in self.record.citations if one.claim == claim.claim}
        return all(map(self._readable, sources)) if sources else self._reads_deliveries()

    def sees_all(self) -> bool:
        """Tell whether no row of the record names a source that may not be read."""
        rows = (*self.record.candidates, *self.record.deliveries, *self.record.citations)
        return all(map(self._readable, {one.source_id for one in rows}))

    def reduced(self, kept: list[ClaimRow], saw_before: bool) -> AnswerRecord:
        """Return the record without what may not be seen, or a refusal where no supported sentence is left."""
        record = self.record
        candidates = tuple(one for one in record.candidates if self._readable(one.source_id))
        deliveries = tuple(one for one in record.deliveries if self._readable(one.source_id))
        if record.decision == REFUSED and (self.principal.name == record.principal or self._reads_deliveries()):
            return dataclasses.replace(
                record,
                gates=_without_counts(record.gates),
                candidates=candidates,
                deliveries=deliveries,
                claims=tuple(kept),
            )
        if not any(one.verdict == "supported" for one in kept):
            return self._withheld(saw_before)
        numbers = {one.claim for one in kept}
        companies = {one.company for one in deliveries}
        pairs = [
            dataclasses.replace(one, covered=one.covered and (one.company is None or one.company in companies))
            for one in record.plan_pairs
        ]
        return dataclasses.replace(
            record,
            answer="\n".join(one.sentence for one in kept if one.verdict != DROPPED),
            plan_pairs=tuple(pairs),
            gates=_without_counts(record.gates),
            claims=tuple(kept),
            citations=tuple(one for one in record.citations if one.claim in numbers),
            derivations=tuple(one for one in record.derivations if one.claim in numbers),
            candidates=candidates,
            deliveries=deliveries,
        )

    def _withheld(self, saw_before: bool) -> AnswerRecord:
        pairs = self.record.plan_pairs
        if saw_before:
            refusal = Refusal("ACCESS.withdrawn", "Access to what this answer rests on was withdrawn.")
        else:
            refusal = scope_refusal([Pair(one.company, one.period) for one in pairs] or [Pair(None, None)])
        return dataclasses.replace(
            self.record,
            decision=REFUSED,
            refusal_code=refusal.code,
            refusal_reason=refusal.reason,
            missing=refusal.missing,
            answer="",
            prompt_sha256=None,
            timings_ms=(),
            plan_pairs=tuple(dataclasses.replace(one, covered=False) for one in pairs),
            gates=(),
            claims=(),
            citations=(),
            derivations=(),
            candidates=(),
            deliveries=(),
        )
