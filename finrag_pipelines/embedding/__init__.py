"""From text to vectors, by a model pinned by digest."""

from finrag_pipelines.embedding.model import Embedder, EmbeddingError, Progress
from finrag_pipelines.embedding.opening import open_embedder
from finrag_pipelines.embedding.vectors import FragmentVectors, embed_fragments

__all__ = ["Embedder", "EmbeddingError", "FragmentVectors", "Progress", "embed_fragments", "open_embedder"]
