"""The vocabulary of embedding: what an embedder is. Each kind has a module of its own; opening.py picks one."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

Progress = Callable[[int], None]
"""Called now and then with the number of texts that were embedded since the last call."""


class EmbeddingError(Exception):
    """A model cannot be opened, or is not the one that was pinned. The message says what to do next."""


class Embedder(Protocol):
    """Turns texts into vectors of unit length. The bits of a vector depend on its text and on the model alone, not
    on the texts beside it and not on the number of threads; between machines they may differ in the last place."""

    @property
    def name(self) -> str:
        """A short name for people: `minilm-bf16`, `hashing`, a model's name."""
        ...

    @property
    def model_digest(self) -> str:
        """64 hex digits that stand for everything the vectors depend on: weights, tokenizer, precision."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        ...

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Return a float32 array of shape (len(texts), dimensions), row i for text i."""
        ...
