"""A store of some sample documents, built once for the tests of answering, with real engines and no model."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from finrag_pipelines import pipeline
from finrag_pipelines.answering.answer import answer_question
from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.model import AnswerConfig
from finrag_pipelines.catalog.access import PUBLIC_PRINCIPAL, Principal
from finrag_pipelines.catalog.catalog import define_principal, read_catalog
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.evidence import AnswerRecord
from finrag_pipelines.ingestion.folder import read_principals
from finrag_pipelines.ingestion.receive import receive_file
from finrag_pipelines.retrieval.search import Index, open_index
from finrag_pipelines.storage import Store

SAMPLE = Path(__file__).resolve().parents[1] / "data" / "sample"
FILES = (
    "KO_transcript_2026Q1.pdf",
    "KO_10-Q_2026Q1.pdf",
    "PEP_transcript_2026Q1.pdf",
    "PEP_10-Q_2026Q1.pdf",
    "MDLZ_transcript_2026Q1.pdf",
    "PGR_10-Q_2024Q2.htm",
    "PGR_10-Q_2024Q3.htm",
    "UNH_10-Q_2024Q3.htm",
    "HARBORLIGHT_announcement_2022-03-18.txt",
    "HARBORLIGHT_announcement_2023-06-15.htm",
    "HARBORLIGHT_announcement_2023-09-29.txt",
    "RESEARCH_memo_2026-05-06.docx",
)


@cache
def sample_store() -> Store:
    """A store with a dozen sample documents, published. Shared: tests must not change it."""
    folder = tempfile.mkdtemp(prefix="finrag-answering-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    store = Store(Path(folder))
    embedder = open_embedder("hashing")
    for name, groups in read_principals(SAMPLE).items():
        define_principal(store, name, groups)
    for name in FILES:
        receive_file(store, SAMPLE / name)
    for source_id in sorted(read_catalog(store).sources):
        pipeline.register(store, source_id)
        pipeline.represent(store, source_id)
        pipeline.fragment(store, source_id)
        pipeline.embed(store, source_id, embedder)
    pipeline.build_manifest(store)
    pipeline.publish_index(store, embedder)
    return store


@cache
def sample_index() -> Index:
    """The published index of the sample store."""
    return open_index(sample_store(), embedder=open_embedder("hashing"))


@cache
def sample_documents() -> Documents:
    """The documents of the sample store."""
    return Documents(sample_store())


def ask(
    question: str,
    principal: Principal = PUBLIC_PRINCIPAL,
    config: AnswerConfig | None = None,
    one_of_many: bool = False,
) -> AnswerRecord:
    """Answer a question from the sample store."""
    index, store, documents = sample_index(), sample_store(), sample_documents()
    return answer_question(index, store, question, principal, config, None, documents, one_of_many=one_of_many)
