"""Proof, later, that what was erased is gone: by the hashes that stay, and by words that somebody still has.

No words and no hashes of short passages are kept: from hashes of overlapping passages a text can be guessed word by
word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from finrag_pipelines.catalog.catalog import Erasure
from finrag_pipelines.lifecycle.erase import search_for, traces
from finrag_pipelines.lifecycle.passages import Passages
from finrag_pipelines.lifecycle.search import Hit, Searched
from finrag_pipelines.parsing.parse import parse
from finrag_pipelines.storage import Store


@dataclass(frozen=True)
class Verification:
    """What is left of erased documents: `traces` by their hashes and ids, hits of the search in `searched`."""

    erasures: tuple[Erasure, ...]
    traces: tuple[Hit, ...]
    searched: Searched

    @property
    def is_clean(self) -> bool:
        """Tell whether every erasure is done and nothing is left."""
        return all(one.is_done for one in self.erasures) and not (self.traces or self.searched.hits)


def stated_passages(files: Sequence[Path], texts: Sequence[str]) -> Passages:
    """Return what to search for: passages of the files, read as documents and not kept, and the texts as they are.

    Raises UnreadableError for a file that is no document.
    """
    read = [parse(path.read_bytes(), path.name).text for path in files]
    return Passages(Passages.sampled(read).runs | Passages.stated(texts).runs)


def verify_erasures(store: Store, erasures: Sequence[Erasure], passages: Passages) -> Verification:
    """Look for traces of erased documents by their hashes, and search every byte of the store for their bytes and for
    `passages`, less what documents that stay say too."""
    contents = frozenset().union(*(one.contents for one in erasures))
    return Verification(tuple(erasures), traces(store, erasures), search_for(store, contents, passages))
