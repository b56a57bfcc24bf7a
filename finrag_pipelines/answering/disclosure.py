"""Showing an answer: access is read again at that moment, sentence by sentence, and what was shown is recorded.

An answer that was right to give may not be right to show later, or to somebody else.
"""

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime

from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.model import ANSWERED, REFUSED
from finrag_pipelines.catalog.access import Principal
from finrag_pipelines.evidence.records import AnswerRecord, ClaimRow, DisclosureRow
from finrag_pipelines.evidence.write import write_disclosure
from finrag_pipelines.storage import Store

SHOWN, PARTLY, WITHHELD = "shown", "partly withheld", "withheld"


def disclose(store: Store, record: AnswerRecord, principal: Principal, recorded: bool = True) -> AnswerRecord:
    """Return what of an answer `principal` may see now, and record that it was shown or withheld.

    Sentences whose sources are no longer readable are left out. Where nothing is left, the one who asked is told that
    access was withdrawn; anybody else, as if the sources were not there. `recorded` False leaves no record of it.
    """
    documents = Documents(store)
    kept = [one for one in record.claims if _may_see(record, one, documents, principal)]
    withheld = tuple(one.claim for one in record.claims if one not in kept)
    shown = record if not withheld else _reduced(record, kept, principal)
    outcome = SHOWN if not withheld else PARTLY if shown.decision == ANSWERED else WITHHELD
    if recorded:
        row = DisclosureRow(
            answer_id=record.answer_id,
            principal=principal.name,
            policy_epoch=documents.policy_epoch,
            shown_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            outcome=outcome,
            segments=sum(one.verdict != "dropped" for one in kept) if shown.decision == ANSWERED else 0,
            withheld=",".join(map(str, withheld)),
        )
        write_disclosure(store, row)
    return shown


def stream(store: Store, record: AnswerRecord, principal: Principal) -> Iterator[str]:
    """Yield the sentences of an answer, reading access again before each: a revocation stops the very next one."""
    for claim in record.claims:
        if claim.verdict != "dropped" and _may_see(record, claim, Documents(store), principal):
            yield claim.sentence


def _may_see(record: AnswerRecord, claim: ClaimRow, documents: Documents, principal: Principal) -> bool:
    sources = {one.source_id for one in record.citations if one.claim == claim.claim}
    return all(documents.may_read(principal, one) for one in sources)


def _reduced(record: AnswerRecord, kept: list[ClaimRow], principal: Principal) -> AnswerRecord:
    """Return the record with only these claims, or a refusal where no supported one is left."""
    numbers = {one.claim for one in kept}
    supported = [one for one in kept if one.verdict == "supported"]
    if supported:
        return dataclasses.replace(
            record,
            answer="\n".join(one.sentence for one in kept if one.verdict != "dropped"),
            claims=tuple(kept),
            citations=tuple(one for one in record.citations if one.claim in numbers),
            derivations=tuple(one for one in record.derivations if one.claim in numbers),
            candidates=(),
            deliveries=(),
        )
    asked_before = principal.name == record.principal
    code = "ACCESS.withdrawn" if asked_before else "SCOPE.uncovered"
    names = tuple(
        sorted({"/".join(part for part in (one.company, one.period) if part) for one in record.plan_pairs} - {""})
    )
    said = "Access to what this answer rests on was withdrawn." if asked_before else ""
    return dataclasses.replace(
        record,
        decision=REFUSED,
        refusal_code=code,
        refusal_reason=said or f"The retrieved evidence does not cover: {', '.join(names) or 'anything'}.",
        missing=() if asked_before else names,
        answer="",
        claims=(),
        citations=(),
        derivations=(),
        candidates=(),
        deliveries=(),
    )
