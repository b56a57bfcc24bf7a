"""The page and the exports of an answer: self-contained, escaped, and true to the stored passages."""

import dataclasses
import html
import json
import re
from pathlib import Path

import pytest

from finrag_pipelines.evidence import (
    AnswerRecord,
    CitationRow,
    ClaimRow,
    DeliveryRow,
    DisclosureRow,
    GateRow,
    verify,
    write_answers,
)
from finrag_pipelines.evidence.export import lineage_events, web_annotations
from finrag_pipelines.evidence.page import Showing, evidence_page
from finrag_pipelines.evidence.passages import passage_at
from finrag_pipelines.evidence.picture import Span, draw_marked
from finrag_pipelines.evidence.write import find_answer
from finrag_pipelines.parsing.model import ParsedDocument
from finrag_pipelines.parsing.parse import Overrides, parse
from finrag_pipelines.parsing.representation_store import write_representation
from finrag_pipelines.storage import Store, sha256_text

SPOKEN = "Commodities were a headwind of about 1 percent"
HOSTILE = b"<html><body><p>Costs rose &lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;fell&quot;.</p></body></html>"


def citing(
    store: Store, content: bytes, name: str, quote_start: str, length: int
) -> tuple[AnswerRecord, ParsedDocument]:
    """A record whose one sentence cites `length` characters of a parsed document, from where `quote_start` stands."""
    document = parse(content, name, Overrides(company="KO", form="memo"))
    sha256 = store.put_object(content)
    representation = write_representation(store, sha256, document)
    start = document.text.index(quote_start)
    end = start + length
    quote = document.text[start:end]
    page = next((one.index for one in reversed(document.pages) if one.start <= start), None)
    record = AnswerRecord(
        decision="answered",
        principal="public",
        index_version="v1",
        question="What weighed on <margins>?",
        answer=f'"{quote}" [1]',
        timings_ms=(("total", 250.0),),
        gates=(
            GateRow(1, "scope", "deterministic", True, None, "asked: KO/2026Q1"),
            GateRow(2, "retrieval_score", "deterministic", None, None, "", 0.04),
        ),
        deliveries=(DeliveryRow(1, "f1", "S", 1, representation, sha256, start, end, sha256_text(quote), 20, "KO"),),
        claims=(ClaimRow(1, "supported", "", f'"{quote}" [1]'),),
        citations=(
            CitationRow(
                claim=1,
                marker=1,
                fragment_id="f1",
                source_id="S",
                version=1,
                company="KO",
                form="transcript",
                period="2026Q1",
                section=None,
                speaker="Desmond Achterberg",
                role="chief_financial_officer",
                page_index=page,
                page_label=document.pages[page].label if page is not None else None,
                start=start,
                end=end,
                representation_id=representation,
                representation_type="native_text",
                content_sha256=sha256,
                quote_sha256=sha256_text(quote),
                quote=quote,
            ),
        ),
        rule_digests=("access=0",),
    )
    return write_answers(store, "run-a", [record])[0], document


@pytest.fixture
def spoken(store: Store, sample: Path) -> tuple[AnswerRecord, ParsedDocument]:
    """An answer that cites a PDF of the sample corpus."""
    path = sample / "KO_transcript_2026Q1.pdf"
    return citing(store, path.read_bytes(), path.name, SPOKEN, 118)


def page_of(store: Store, record: AnswerRecord) -> str:
    disclosure = DisclosureRow(record.answer_id, "public", 1, "2026-01-01T00:00:00+00:00", "shown", 1)
    return evidence_page(store, record, Showing(find_answer(store, record.answer_id), disclosure, 7, verify(store)))


def test_the_page_shows_the_quote_in_context_and_needs_nothing_from_elsewhere(
    store: Store, spoken: tuple[AnswerRecord, ParsedDocument]
) -> None:
    record, document = spoken
    page = page_of(store, record)
    quote = record.citations[0].quote
    marked = re.findall(r"<mark>(.*?)</mark>", page, re.DOTALL)
    assert [" ".join(html.unescape(one).split()) for one in marked] == [" ".join(quote.split())]
    assert "Gross profit margin was" in page  # what stands before the quote
    assert "SYNTHETIC SAMPLE" in document.text and "SYNTHETIC SAMPLE" not in page.split("</style>")[1]  # furniture
    assert not re.search(r'(?:src|href)="(?!data:|#)|url\(|@import|<script|<link', page)
    assert "Nothing differs" in page and "Disclosure 7" in page
    assert find_answer(store, record.answer_id).record_hash in page
    assert page.count("data:image/png;base64,") == 2 and len(page) < 400_000


def test_text_of_documents_is_shown_and_never_obeyed(store: Store) -> None:
    record, _ = citing(store, HOSTILE, "a.html", "Costs rose", 39)
    record = dataclasses.replace(record, question="What of <b>\u202ecosts</b>?")
    page = page_of(store, record)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page and "<script" not in page
    assert "&lt;b&gt;\ufffdcosts&lt;/b&gt;" in page


def test_the_page_says_what_differs(store: Store, spoken: tuple[AnswerRecord, ParsedDocument]) -> None:
    record, _ = spoken
    store.path("objects", record.citations[0].content_sha256).write_bytes(b"other bytes")
    page = page_of(store, record)
    assert "Not as recorded" in page and "no longer has the bytes" in page and "Nothing differs" not in page


def test_a_quote_from_a_table_is_shown_as_its_row_among_its_neighbours(sample: Path) -> None:
    path = sample / "PGR_10-Q_2024Q3.htm"
    document = parse(path.read_bytes(), path.name)
    table, row = next(
        (table, row) for table in document.tables for row in table.rows if row.label == "Underwriting expense ratio"
    )
    shown = passage_at(document, row.start, row.end).table
    assert shown is not None and shown.caption == table.caption
    assert [one.label for one in shown.rows if one.quoted] == ["Underwriting expense ratio"]
    assert len(shown.columns) == len(shown.rows[0].cells) == 4 and len(shown.rows) > 1


def test_the_picture_of_a_page_is_marked_where_the_quote_stands_and_nowhere_else(
    store: Store, spoken: tuple[AnswerRecord, ParsedDocument]
) -> None:
    import io

    from PIL import Image

    record, document = spoken
    one = record.citations[0]
    assert one.page_index is not None
    content = store.get_object(one.content_sha256)
    span = Span(one.start, one.end, 1)
    picture = draw_marked(content, document, one.page_index, [span])
    assert picture == draw_marked(content, document, one.page_index, [span])
    image = Image.open(io.BytesIO(picture.whole)).convert("RGB")
    pixels = image.tobytes()
    heights = {at // (3 * image.width) for at in range(0, len(pixels), 3) if pixels[at] - pixels[at + 2] > 120}
    assert heights and max(heights) - min(heights) < image.height / 6  # two lines of text
    assert picture.detail is not None and len(picture.detail) < len(picture.whole)
    assert draw_marked(content, document, 0, [span]).detail is None  # the quote is on another page


def test_annotations_select_the_passage_by_position_quote_and_page(
    store: Store, spoken: tuple[AnswerRecord, ParsedDocument]
) -> None:
    record, document = spoken
    collection = json.loads(json.dumps(web_annotations(store, record)))
    assert collection["@context"] == "http://www.w3.org/ns/anno.jsonld" and collection["total"] == 1
    (annotation,) = collection["first"]["items"]
    text, pdf = annotation["target"]
    position, quote = text["selector"]
    assert document.text[position["start"] : position["end"]] == quote["exact"] == record.citations[0].quote
    around = document.text[: position["start"]], document.text[position["end"] :]
    assert around[0].endswith(quote["prefix"]) and around[1].startswith(quote["suffix"]) and quote["prefix"]
    assert pdf["selector"]["value"] == f"page={record.citations[0].page_index + 1}"  # type: ignore[operator]
    assert pdf["source"]["id"] == f"urn:sha256:{record.citations[0].content_sha256}"
    assert annotation["body"]["value"] == record.claims[0].sentence


def test_a_text_without_pages_has_one_target(store: Store) -> None:
    record, _ = citing(store, HOSTILE, "a.html", "Costs rose", 10)
    (annotation,) = web_annotations(store, record)["first"]["items"]
    assert annotation["target"]["selector"][0]["type"] == "TextPositionSelector"


def test_lineage_leads_from_document_and_index_versions_to_the_answer(
    store: Store, spoken: tuple[AnswerRecord, ParsedDocument]
) -> None:
    record, _ = spoken
    start, complete = lineage_events(record, "hash")
    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert start["eventTime"] < complete["eventTime"] and complete["eventTime"].endswith("Z")
    assert start["run"]["runId"] == complete["run"]["runId"]
    versions = {one["name"]: one["facets"]["version"]["datasetVersion"] for one in complete["inputs"]}
    assert versions == {"index": "v1", "documents/S/1": record.deliveries[0].content_sha256}
    assert complete["outputs"][0]["facets"]["version"]["datasetVersion"] == "hash" and start["outputs"] == []
    for facet in (complete["job"]["facets"]["jobType"], complete["inputs"][0]["facets"]["version"]):
        assert facet["_schemaURL"].startswith("https://openlineage.io/spec/facets/") and facet["_producer"]


def test_a_run_of_dagster_is_the_parent_of_the_answer(
    store: Store, spoken: tuple[AnswerRecord, ParsedDocument]
) -> None:
    record, _ = spoken
    assert "facets" not in lineage_events(record, "hash")[0]["run"]
    run_id = "21c259d9-0934-4765-9ea8-412371b8fe81"
    parent = lineage_events(dataclasses.replace(record, run_id=run_id), "hash")[0]["run"]["facets"]["parent"]
    assert (parent["run"]["runId"], parent["job"]["name"]) == (run_id, "answer_questions")
