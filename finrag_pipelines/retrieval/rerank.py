"""Reordering of authorised candidates by a cross-encoder, where one is configured. It adds and removes nothing."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

DEPTH = 50
_BATCH = 10


class Reranker(Protocol):
    """Scores texts against a question; higher is better, and only the order counts."""

    @property
    def name(self) -> str:
        """What the trace calls it."""
        ...

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one raw score (a logit) a text."""
        ...


@dataclass(frozen=True)
class CrossEncoderReranker:
    """A sentence-transformers CrossEncoder by folder or name, never fetched from a hub unless `allow_download`.

    Its sigmoid is left off, because it saturates where the logits still tell passages apart.
    """

    model: str
    max_length: int = 256
    allow_download: bool = False

    @property
    def name(self) -> str:
        """The folder or name of the model."""
        return self.model

    @cached_property
    def _encoder(self) -> Any:
        from sentence_transformers import CrossEncoder
        from torch.nn import Identity

        return CrossEncoder(
            self.model,
            max_length=self.max_length,
            local_files_only=not self.allow_download,
            activation_fn=Identity(),
            device="cpu",
        )

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the logits of (question, text), each pair on its own so that its neighbours do not change its bits."""
        pairs = [[(question, text)] for text in texts]
        return [float(self._encoder.predict(pair, show_progress_bar=False).reshape(-1)[0]) for pair in pairs]


@dataclass
class Reranked:
    """The scores of the first texts of a list, and why there are none or why they end early."""

    scores: list[float] = field(default_factory=list)
    note: str | None = None


def rerank(reranker: Reranker | None, question: str, texts: Sequence[str], seconds: float) -> Reranked:
    """Score `texts`, all of them or none: where the reranker is absent, fails, or needs more than `seconds`, the note
    says so, and the order of fusion stands."""
    if reranker is None:
        return Reranked(note="No reranker is configured; the order of rank fusion stands.")
    found: list[float] = []
    end = time.monotonic() + seconds
    try:
        for start in range(0, len(texts), _BATCH):
            if time.monotonic() > end:
                note = f"The reranker {reranker.name} took more than {seconds:.0f} s; the order of rank fusion stands."
                return Reranked(note=note)
            found.extend(reranker.scores(question, texts[start : start + _BATCH]))
    except Exception as error:  # a model of somebody else's may raise anything; search must go on without it
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        return Reranked(note=f"The reranker {reranker.name} failed ({reason}); the order of rank fusion stands.")
    return Reranked(found)
