"""An answer in the words of two standards: W3C Web Annotations (JSON-LD) and OpenLineage run events.

Both take a record as it may be shown, and hold nothing that it does not.
"""

import uuid
from datetime import datetime, timedelta
from typing import Any

from finrag_pipelines.evidence.passages import passage_at
from finrag_pipelines.evidence.records import ERASED, AnswerRecord, CitationRow
from finrag_pipelines.parsing.model import Kind, ParsedDocument
from finrag_pipelines.parsing.representation_store import read_representation
from finrag_pipelines.storage import Store, StoreError

_AROUND = 48  # characters of prefix and suffix
_NAMESPACE = "finrag"
_PRODUCER = "urn:finrag:finrag-pipelines"
_PDF_FRAGMENTS = "http://tools.ietf.org/rfc/rfc3778"
_SPEC = "https://openlineage.io/spec"


def web_annotations(store: Store, record: AnswerRecord) -> dict[str, Any]:
    """Return the citations as an annotation collection: each annotates a passage with the sentence that it bears.

    The target is the canonical text, named by its representation, selected by position (code points) and by quote. For
    a PDF a second target is the received file, selected by page (counted from 1, see RFC 3778) and within it by quote.
    """
    sentences = {one.claim: one.sentence for one in record.claims}
    documents: dict[str, ParsedDocument | None] = {}
    items = []
    for number, one in enumerate(record.citations, start=1):
        if one.representation_id not in documents:
            documents[one.representation_id] = _document(store, one.representation_id)
        items.append(_annotation(record, number, one, sentences[one.claim], documents[one.representation_id]))
    collection = f"urn:finrag:answer:{record.answer_id}"
    first: dict[str, Any] = {"id": f"{collection}#page", "type": "AnnotationPage", "partOf": collection, "items": items}
    return {
        "@context": "http://www.w3.org/ns/anno.jsonld",
        "id": collection,
        "type": "AnnotationCollection",
        "label": record.question,
        "creator": {"type": "Software", "name": "finrag_pipelines"},
        "created": _utc(record.asked_at),
        "total": len(items),
        "first": {**first, "startIndex": 0},
    }


def _document(store: Store, representation_id: str) -> ParsedDocument | None:
    try:
        return read_representation(store, representation_id)
    except StoreError:
        return None  # the quote stands in the record; only its surroundings are lacking


def _annotation(
    record: AnswerRecord, number: int, citation: CitationRow, sentence: str, document: ParsedDocument | None
) -> dict[str, Any]:
    quote: dict[str, Any] = {"type": "TextQuoteSelector", "exact": citation.quote}
    if document is not None and citation.quote != ERASED:
        around = passage_at(document, citation.start, citation.end, _AROUND, furniture=True)
        quote |= {"prefix": around.before, "suffix": around.after}
    target: dict[str, Any] = {
        "type": "SpecificResource",
        "source": {
            "id": f"urn:finrag:representation:{citation.representation_id}",
            "type": "Text",
            "format": "text/plain",
            "label": f"{citation.source_id} version {citation.version}",
        },
        "selector": [
            {"type": "TextPositionSelector", "start": citation.start, "end": citation.end},
            quote,
        ],
    }
    targets = [target]
    if document is not None and document.kind is Kind.PDF and citation.page_index is not None:
        page = {
            "type": "FragmentSelector",
            "conformsTo": _PDF_FRAGMENTS,
            "value": f"page={citation.page_index + 1}",
            "refinedBy": {"type": "TextQuoteSelector", "exact": citation.quote},
        }
        source = {"id": f"urn:sha256:{citation.content_sha256}", "type": "Text", "format": "application/pdf"}
        targets.append({"type": "SpecificResource", "source": source, "selector": page})
    return {
        "id": f"urn:finrag:answer:{record.answer_id}#citation-{number}",
        "type": "Annotation",
        "motivation": "describing",
        "body": {"type": "TextualBody", "value": sentence, "format": "text/plain", "language": "en"},
        "target": targets if len(targets) > 1 else target,
    }


def lineage_events(record: AnswerRecord, record_hash: str) -> tuple[dict[str, Any], ...]:
    """Return the START and COMPLETE events of one answer: document versions and index version in, the answer out.

    The run id is a UUID made from the answer id; the Dagster run is its parent, where the record was made by one.
    """
    asked = datetime.fromisoformat(record.asked_at)
    started = asked - timedelta(milliseconds=dict(record.timings_ms).get("total", 0.0))
    run: dict[str, Any] = {"runId": str(uuid.uuid5(uuid.NAMESPACE_URL, f"urn:finrag:answer:{record.answer_id}"))}
    if parent := _uuid(record.run_id):
        job = {"namespace": _NAMESPACE, "name": "answer_questions"}
        run["facets"] = {"parent": _facet("1-0-1/ParentRunFacet", run={"runId": parent}, job=job)}
    job_type = _facet("2-0-3/JobTypeJobFacet", processingType="BATCH", integration="FINRAG", jobType="QUERY")
    versions = sorted({(one.source_id, one.version, one.content_sha256) for one in record.deliveries})
    shared = {
        "run": run,
        "job": {"namespace": _NAMESPACE, "name": "answer_questions.answer", "facets": {"jobType": job_type}},
        "inputs": [
            _dataset("index", record.index_version),
            *(_dataset(f"documents/{source}/{version}", sha256) for source, version, sha256 in versions),
        ],
        "producer": _PRODUCER,
        "schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
    }
    outputs = [_dataset(f"answers/{record.answer_id}", record_hash)]
    return (
        {"eventType": "START", "eventTime": _utc(started.isoformat()), **shared, "outputs": []},
        {"eventType": "COMPLETE", "eventTime": _utc(record.asked_at), **shared, "outputs": outputs},
    )


def _uuid(text: str) -> str | None:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def _utc(moment: str) -> str:
    return datetime.fromisoformat(moment).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _dataset(name: str, version: str) -> dict[str, Any]:
    facet = _facet("1-0-1/DatasetVersionDatasetFacet", datasetVersion=version)
    return {"namespace": _NAMESPACE, "name": name, "facets": {"version": facet}}


def _facet(schema: str, **fields: Any) -> dict[str, Any]:
    name = schema.partition("/")[2]
    return {"_producer": _PRODUCER, "_schemaURL": f"{_SPEC}/facets/{schema}.json#/$defs/{name}", **fields}
