"""Which embedder a configuration names."""

import os
from functools import cache

from finrag_pipelines.embedding.hashing import HashingEmbedder
from finrag_pipelines.embedding.minilm import MiniLMEmbedder
from finrag_pipelines.embedding.model import Embedder
from finrag_pipelines.embedding.sentence_transformer import SentenceTransformerEmbedder

EMBEDDER_VARIABLE = "FINRAG_EMBEDDER"
DEFAULT = "minilm"


def open_embedder(spec: str | None = None) -> Embedder:
    """Return the embedder that `spec`, or else FINRAG_EMBEDDER, names; one object a process for each.

    `minilm` (the default: bf16 where the processor has it, else fp32), `minilm:fp32`, `minilm:bf16`, `hashing`, or a
    sentence-transformers model by folder or name. Raises EmbeddingError where there is no such model.
    """
    return _open(spec or os.environ.get(EMBEDDER_VARIABLE) or DEFAULT)


@cache
def _open(spec: str) -> Embedder:
    match spec:
        case "minilm":
            return MiniLMEmbedder()
        case "minilm:fp32":
            return MiniLMEmbedder("fp32")
        case "minilm:bf16":
            return MiniLMEmbedder("bf16")
        case "hashing":
            return HashingEmbedder()
        case _:
            return SentenceTransformerEmbedder(spec)
