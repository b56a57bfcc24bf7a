"""A small corpus of hand-made fragments, built into a real index: what the tests of indexing and retrieval share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from finrag_pipelines.chunking.files import write_fragments
from finrag_pipelines.chunking.model import Fragment, fragment_id
from finrag_pipelines.embedding.hashing import HashingEmbedder
from finrag_pipelines.indexing.build import build_index, fragment_set_id
from finrag_pipelines.indexing.manifest import Manifest, ManifestEntry
from finrag_pipelines.indexing.publication import publish
from finrag_pipelines.storage import Store, sha256_text

EMBEDDER = HashingEmbedder(64)


@dataclass(frozen=True)
class Passage:
    """A text of a document with where it stands and what it reports."""

    text: str
    section: str | None = None
    periods: tuple[str, ...] = ()
    speaker: str | None = None
    role: str | None = None
    page: int | None = None
    kind: str = "native_text"


@dataclass(frozen=True)
class Document:
    """A document to be indexed."""

    source_id: str
    passages: tuple[Passage, ...]
    company: str | None = None
    name: str | None = None
    form: str | None = None
    period: str | None = None
    filed: str | None = None
    labels: tuple[str, ...] = ("public",)
    subjects: tuple[str, ...] = ()
    event_dates: tuple[str, ...] = ()
    title: str | None = None
    version: int = 1


def fragments_of(document: Document) -> tuple[Fragment, ...]:
    """Make the fragments of a document, one a passage."""
    content = sha256_text(f"{document.source_id} {document.version}" + "".join(p.text for p in document.passages))
    found, start = [], 0
    for passage in document.passages:
        end = start + len(passage.text)
        parts = (document.name, document.form, document.period, passage.section, passage.speaker)
        found.append(
            Fragment(
                fragment_id=fragment_id(document.source_id, content, content, start, end),
                source_id=document.source_id,
                version=document.version,
                content_sha256=content,
                representation_id=content,
                representation_type=passage.kind,
                start=start,
                end=end,
                text=passage.text,
                context=" · ".join(part for part in parts if part),
                company=document.company or "",
                form=document.form or "",
                period=document.period,
                filed=document.filed,
                periods=passage.periods or ((document.period,) if document.period else ()),
                section=passage.section,
                section_title=None,
                speaker=passage.speaker,
                role=passage.role,
                firm=None,
                part=None,
                page_index=passage.page,
                page_label=None,
                tokens=len(passage.text.split()),
            )
        )
        start = end + 1
    return tuple(found)


def entry_of(store: Store, document: Document) -> ManifestEntry:
    """Write a document's fragments into the store and return its manifest entry."""
    fragments = fragments_of(document)
    name = fragment_set_id(fragments)
    path = f"fragments/{document.source_id}/{name}.parquet"
    write_fragments(store.path(path), fragments)
    return ManifestEntry(
        source_id=document.source_id,
        version=document.version,
        content_sha256=fragments[0].content_sha256,
        representation_id=fragments[0].representation_id,
        fragment_set_id=name,
        fragments_path=path,
        labels=document.labels,
        company=document.company,
        company_name=document.name,
        form=document.form,
        period=document.period,
        filed=document.filed,
        title=document.title,
        subjects=document.subjects,
        event_dates=document.event_dates,
    )


def build(store: Store, documents: Sequence[Document], embedder: HashingEmbedder = EMBEDDER) -> str:
    """Build and publish the index over `documents`; return its version."""
    version = build_index(store, Manifest(tuple(entry_of(store, d) for d in documents)), embedder)
    publish(store, version)
    return version


def revised(document: Document, text: str) -> Document:
    """Return the next version of a document, its first passage replaced."""
    first = replace(document.passages[0], text=text)
    return replace(document, passages=(first, *document.passages[1:]), version=document.version + 1)


def _quarterly(company: str, name: str, period: str, filed: str, *passages: Passage) -> Document:
    return Document(f"{company}_10-Q_{period}", passages, company, name, "10-Q", period, filed)


MEMO_TEXT = "Our view on beverage margins: Coca-Cola pricing power outruns commodity costs; add to the position."

CORPUS: tuple[Document, ...] = (
    _quarterly(
        "PGR",
        "The Progressive Corporation",
        "2024Q3",
        "2024-11-04",
        Passage("The combined ratio for the third quarter was 89.0, against 92.4 a year before.", "Part I Item 2"),
        Passage("Net premiums written grew 25 percent in personal lines.", "Part I Item 2"),
        Passage("Legal matters are described in the notes to the statements.", "Part II Item 1"),
    ),
    _quarterly(
        "PGR",
        "The Progressive Corporation",
        "2024Q2",
        "2024-08-05",
        Passage("The combined ratio for the second quarter was 91.9, which is near our target.", "Part I Item 2"),
    ),
    _quarterly(
        "ALL",
        "The Allstate Corporation",
        "2024Q3",
        "2024-10-30",
        Passage("Across all segments the combined ratio was 96.4; all states approved all rates.", "Part I Item 2"),
        Passage("Catastrophe losses were 1.7 billion for all property lines.", "Part I Item 2"),
    ),
    _quarterly(
        "KO",
        "The Coca-Cola Company",
        "2026Q1",
        "2026-04-28",
        Passage("Higher commodity costs for sweeteners and aluminium weighed on gross margin.", "Part I Item 2"),
        Passage("Unit case volume rose 2 percent.", "Part I Item 2"),
    ),
    _quarterly(
        "KO",
        "The Coca-Cola Company",
        "2025Q3",
        "2025-10-21",
        Passage("Commodity costs were moderate in the quarter.", "Part I Item 2"),
    ),
    _quarterly(
        "PEP",
        "PepsiCo, Inc.",
        "2026Q1",
        "2026-04-16",
        Passage("Input costs rose with commodity inflation in potatoes and oils.", "Part I Item 2"),
    ),
    _quarterly(
        "PEP",
        "PepsiCo, Inc.",
        "2025Q3",
        "2025-10-09",
        Passage("Commodity inflation eased while productivity savings grew.", "Part I Item 2"),
    ),
    _quarterly(
        "MDLZ",
        "Mondelez International, Inc.",
        "2026Q1",
        "2026-04-29",
        Passage("Cocoa was the largest commodity cost pressure in the first quarter.", "Part I Item 2"),
    ),
    Document(
        "KO_10-K_FY2025",
        (
            Passage("Risks: water scarcity and sugar taxes may reduce demand.", "Item 1A"),
            Passage("Purchases of property, plant and equipment 2,064 1,852", "Item 8", ("FY2025", "FY2024"), page=60),
            Passage("Dividends of $0.51 were declared in the second quarter.", "Item 5", ("2025Q2", "FY2025")),
        ),
        "KO",
        "The Coca-Cola Company",
        "10-K",
        "FY2025",
        "2026-02-20",
    ),
    Document(
        "PEP_transcript_2026Q1",
        (
            Passage(
                "Commodity costs and tariffs pressed our margin.",
                speaker="Steve Schmitt",
                role="chief_financial_officer",
            ),
            Passage("What is the outlook for commodity costs?", speaker="Dara Mohsenian", role="analyst"),
        ),
        "PEP",
        "PepsiCo, Inc.",
        "transcript",
        "2026Q1",
        "2026-04-16",
    ),
    Document(
        "memo_beverages",
        (Passage(MEMO_TEXT),),
        None,
        None,
        "memo",
        None,
        "2026-05-02",
        labels=("research",),
        subjects=("KO", "PEP"),
        title="Beverage margins",
    ),
    Document(
        "fund_2026-03-12",
        (Passage("The fund will distribute 0.12 per unit; record date March 12, 2026.", kind="native_text"),),
        "harbour-income-fund",
        "Harbour Income Fund",
        "fund_announcement",
        None,
        "2026-03-02",
        event_dates=("2026-03-12",),
        title="Distribution",
    ),
)
"""Peers that talk alike, two periods each, one restricted memo and a fund notice."""
