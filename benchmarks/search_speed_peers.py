"""The peers of search_speed.py, timed in an environment that holds them and nothing of this project.

Reads a folder with corpus.json (texts, terms, questions, question_terms), vectors.npy and queries.npy; prints one JSON
object of median milliseconds a question. The queries' vectors are given, so no peer embeds anything.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

TOP = 10
CANDIDATES = 100
ASKED = 10  # questions; the peers are slow, and differ little from question to question


def median_ms(search: Callable[[int], object], questions: int) -> float:
    """Return the median over the questions of a search, each asked once before."""
    times = []
    for position in range(questions):
        search(position)
        start = time.perf_counter()
        search(position)
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def time_rank_bm25(documents: Sequence[list[str]], queries: Sequence[list[str]]) -> float:
    """rank_bm25's BM25Okapi: scores of all documents, and the best of them."""
    from rank_bm25 import BM25Okapi

    model = BM25Okapi(documents)
    numbers = np.arange(len(documents))
    return median_ms(lambda q: model.get_top_n(queries[q], numbers, CANDIDATES), len(queries))


def time_bm25s(documents: Sequence[list[str]], queries: Sequence[list[str]]) -> float:
    """bm25s, with its scores computed when the index is made."""
    import bm25s

    model = bm25s.BM25()
    model.index(list(documents), show_progress=False)
    return median_ms(lambda q: model.retrieve([queries[q]], k=CANDIDATES, show_progress=False), len(queries))


def time_langchain(
    texts: list[str], vectors: np.ndarray, questions: list[str], queries: np.ndarray
) -> tuple[float, float]:
    """LangChain's EnsembleRetriever over its BM25Retriever (rank_bm25) and Chroma, and Chroma's share of it."""
    import chromadb
    from chromadb.config import Settings
    from langchain_chroma import Chroma
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_core.embeddings import Embeddings

    class Given(Embeddings):
        def __init__(self) -> None:
            self.known = dict(zip(questions, queries.tolist(), strict=True))

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise AssertionError("documents come with their vectors")

        def embed_query(self, text: str) -> list[float]:
            return self.known[text]

    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    store = Chroma(client=client, collection_name="speed", embedding_function=Given())
    for start in range(0, len(texts), 5000):
        end = min(start + 5000, len(texts))
        store._collection.add(
            ids=[str(n) for n in range(start, end)], documents=texts[start:end], embeddings=vectors[start:end]
        )
    words = BM25Retriever.from_texts(texts)
    words.k = TOP
    nearest = store.as_retriever(search_kwargs={"k": TOP})
    ensemble = EnsembleRetriever(retrievers=[words, nearest], weights=[0.5, 0.5])
    return (
        median_ms(lambda q: ensemble.invoke(questions[q]), len(questions)),
        median_ms(lambda q: nearest.invoke(questions[q]), len(questions)),
    )


def main() -> int:
    folder = Path(sys.argv[1])
    corpus = json.loads((folder / "corpus.json").read_text())
    vectors, queries = np.load(folder / "vectors.npy"), np.load(folder / "queries.npy")
    asked, queries = corpus["questions"][:ASKED], queries[:ASKED]
    found: dict[str, float] = {}

    def note(name: str, ms: float) -> None:
        found[name] = ms
        print(f"{name}: {ms:.1f} ms", file=sys.stderr, flush=True)

    note("rank_bm25", time_rank_bm25(corpus["terms"], corpus["question_terms"][:ASKED]))
    note("bm25s", time_bm25s(corpus["terms"], corpus["question_terms"][:ASKED]))
    whole, chroma = time_langchain(corpus["texts"], vectors, asked, queries)
    note("LangChain ensemble", whole)
    note("of it Chroma", chroma)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
