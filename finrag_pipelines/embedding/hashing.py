"""An embedder without a model: hashed words and nine concepts of finance. For tests and tiny machines."""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from finrag_pipelines.embedding.model import Progress
from finrag_pipelines.storage import digest

_CONCEPTS = Path(__file__).with_name("concepts.json")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_\u3400-\u9fff]+(?:['’][^\W\d_]+)?|[\u3400-\u9fff]")
_CONCEPT_WEIGHT = 2.0


class HashingEmbedder:
    """Each word falls on one of `dimensions - 9` places with a sign, weighted by the root of its count; each of nine
    concepts (profitability, growth, decline, revenue, cash flow, debt, insurance ratios, claims, capital) has a place
    of its own, weighted by the root of its number of matches, so that repetition does not dominate."""

    name = "hashing"

    def __init__(self, dimensions: int = 256) -> None:
        self._concepts: dict[str, list[str]] = json.loads(_CONCEPTS.read_text("utf-8"))
        if dimensions <= len(self._concepts):
            raise ValueError(f"dimensions must exceed the {len(self._concepts)} concepts, and are {dimensions}")
        self.dimensions = dimensions
        self._places: dict[str, int] = {}
        self._longest = max(phrase.count(" ") + 1 for phrases in self._concepts.values() for phrase in phrases)
        for place, phrases in enumerate(self._concepts.values()):
            for phrase in phrases:
                self._places[" ".join(_TOKEN.findall(phrase))] = dimensions - len(self._concepts) + place

    @property
    def model_digest(self) -> str:
        """Stands for the rule, the concepts and the dimensions."""
        return digest(["finrag-hashing/1", self.dimensions, _CONCEPT_WEIGHT, self._concepts])

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Return one vector a text; a text without words has the zero vector."""
        matrix = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            matrix[row] = self._vector(text)
        if progress is not None and texts:
            progress(len(texts))
        return matrix

    def _vector(self, text: str) -> list[float]:
        words = _TOKEN.findall(text.lower())
        vector = [0.0] * self.dimensions
        buckets = self.dimensions - len(self._concepts)
        for word, count in sorted(Counter(words).items()):
            value = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
            vector[value % buckets] += math.sqrt(count) * (1 if value >> 63 else -1)
        matches: Counter[int] = Counter()
        for size in range(1, self._longest + 1):
            for start in range(len(words) - size + 1):
                place = self._places.get(" ".join(words[start : start + size]))
                if place is not None:
                    matches[place] += 1
        for place, count in matches.items():
            vector[place] = _CONCEPT_WEIGHT * math.sqrt(count)
        length = math.sqrt(math.fsum(value * value for value in vector))
        return [value / length for value in vector] if length else vector
