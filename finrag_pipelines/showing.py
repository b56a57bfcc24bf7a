"""Every way in which a recorded answer is shown: access is read again first, and the showing is recorded."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from finrag_pipelines.answering.disclosure import SHOWN, Shown, disclose, show, stream
from finrag_pipelines.answering.model import to_json
from finrag_pipelines.answering.stability import Stability, stability
from finrag_pipelines.catalog.access import Principal
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.evidence.export import lineage_events, web_annotations
from finrag_pipelines.evidence.page import Showing, evidence_page
from finrag_pipelines.evidence.records import CHILDREN, AnswerRecord, unseal
from finrag_pipelines.evidence.verify import verify
from finrag_pipelines.evidence.write import find_answer, read_run
from finrag_pipelines.storage import Store, canonical_json

if TYPE_CHECKING:
    from finrag_pipelines.retrieval.model import SearchResponse
    from finrag_pipelines.retrieval.search import Index

Format = Literal["w3c", "openlineage"]
_ROWS = ("citations.", "deliveries.", "claims.", "derivations.")


def answers_of_run(store: Store, run_id: str, principal: Principal) -> list[dict[str, Any]]:
    """Return what `principal` may see of the answers of a run, in the order asked, as `finrag ask --json` prints it."""
    return [to_json(disclose(store, record, principal, channel="ask")) for record in _records(store, run_id)]


def first_of_run(store: Store, run_id: str, principal: Principal) -> tuple[dict[str, Any], Stability]:
    """Return what may be seen of the first answer of a run that asked one question many times, and how stable it is."""
    records = _records(store, run_id)
    return to_json(disclose(store, records[0], principal, channel="ask")), stability(records)


def segments_of_run(store: Store, run_id: str, principal: Principal) -> Iterator[dict[str, Any]]:
    """Yield the one answer of a run sentence by sentence, access read before each, then what is left to say: the
    answer without its sentences, refused where none could be shown."""
    record = _records(store, run_id)[0]
    shown = 0
    for segment in stream(store, record, principal):
        shown += 1
        citations = [one for one in to_json(record)["citations"] if one["claim"] == segment.claim]
        yield {"claim": segment.claim, "sentence": segment.sentence, "citations": citations}
    last = record
    if not shown:
        last = disclose(store, record, principal, channel="stream")
    described = to_json(last)
    kept = ("answer_id", "question", "decision", "refusal", "index_version", "generator")
    yield {"segments": shown, **{name: described[name] for name in kept}}


def _records(store: Store, run_id: str) -> list[AnswerRecord]:
    return [unseal(sealed) for sealed in read_run(store, run_id)]


def reader_of(store: Store, record: AnswerRecord, principal: str) -> Principal:
    """Return the principal to whom an answer is shown: the one named, or else the one who asked."""
    return read_catalog(store).principal(principal or record.principal)


def evidence_of(store: Store, answer_id: str, principal: str = "") -> dict[str, Any]:
    """Return everything behind an answer that may be seen: the record, the rows under it, its place in the chain."""
    sealed = find_answer(store, answer_id)
    record = unseal(sealed)
    shown = asdict(disclose(store, record, reader_of(store, record, principal)))
    children = {name: shown.pop(name) for name in CHILDREN}
    chain = {
        "sequence": sealed.sequence,
        "record_hash": sealed.record_hash,
        "previous_hash": sealed.previous_hash,
    }
    return {"answer": {**shown, **chain}, **children}


def searched(
    store: Store, index: "Index", question: str, principal: Principal, k: int, mode: str, as_of: str | None
) -> "SearchResponse":
    """Search, and search again where the rules changed before the response could be shown."""
    while True:
        epoch = read_catalog(store).policy_epoch
        response = index.search(question, principal, k=k, mode=mode, as_of=as_of)
        if read_catalog(store).policy_epoch == epoch:
            return response


def _shown_now(store: Store, answer_id: str, principal: str, channel: str, write: Callable[[Shown], bytes]) -> bytes:
    """Return what `write` makes of an answer as it may be shown, made again where the rules changed meanwhile."""
    while True:
        sealed = find_answer(store, answer_id)
        record = unseal(sealed)
        shown = show(store, record, reader_of(store, record, principal), channel)
        content = write(shown)
        if read_catalog(store).policy_epoch == shown.disclosure.policy_epoch:
            return content


def write_page(store: Store, answer_id: str, path: Path, principal: str = "") -> None:
    """Write the evidence page of an answer to `path`, as the principal may see it."""
    differences = verify(store, answer_id)

    def page(shown: Shown) -> bytes:
        sealed = find_answer(store, answer_id)
        # A row that is withheld is not named by what is wrong with it either.
        told = [one for one in differences if shown.disclosure.outcome == SHOWN or not one.where.startswith(_ROWS)]
        showing = Showing(sealed, shown.disclosure, shown.sequence, told)
        return evidence_page(store, shown.record, showing).encode("utf-8", "replace")

    path.write_bytes(_shown_now(store, answer_id, principal, "html", page))


def write_export(store: Store, answer_id: str, form: Format, path: Path, principal: str = "") -> None:
    """Write an answer as W3C annotations or as OpenLineage events (one JSON object a line)."""

    def export(shown: Shown) -> bytes:
        record = shown.record
        whole = find_answer(store, answer_id)
        objects = [web_annotations(store, record)] if form == "w3c" else lineage_events(record, whole.record_hash)
        return b"".join(canonical_json(one) + b"\n" for one in objects)

    path.write_bytes(_shown_now(store, answer_id, principal, form, export))
