"""A run of questions: each answered, all recorded whole, and only then returned to be shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from finrag_pipelines.answering.answer import answer_question
from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.model import AnswerConfig
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.evidence.records import AnswerRecord
from finrag_pipelines.evidence.write import write_answers
from finrag_pipelines.storage import Store

if TYPE_CHECKING:
    from finrag_pipelines.embedding.model import Embedder


@dataclass(frozen=True)
class AnswerSettings:
    """Who asks, of which corpus, and how. Empty values mean all that is known and the current index version."""

    principal: str = "public"
    as_of: str | None = None
    index_version: str | None = None
    mode: str = "hybrid"
    partial: str = "refuse"
    generator: str = "extractive"
    model: str = ""
    base_url: str = ""


def answer_and_record(
    store: Store,
    embedder: "Embedder | None",
    run_id: str,
    questions: Sequence[str],
    settings: AnswerSettings | None = None,
) -> tuple[AnswerRecord, ...]:
    """Answer the questions in order, write their records as one file, and return them. Nothing is shown before."""
    from finrag_pipelines.retrieval.search import open_index

    settings = settings or AnswerSettings()
    catalog = read_catalog(store)
    documents = Documents(store, catalog)
    principal = catalog.principal(settings.principal)
    index = open_index(store, settings.index_version, embedder=embedder)
    config = AnswerConfig(
        mode=settings.mode,
        partial=settings.partial,
        generator=settings.generator,
        model=settings.model,
        base_url=settings.base_url,
    )
    many = len(questions) > 1
    made = [
        answer_question(index, store, text, principal, config, settings.as_of, documents, one_of_many=many)
        for text in questions
    ]
    return write_answers(store, run_id, made)
