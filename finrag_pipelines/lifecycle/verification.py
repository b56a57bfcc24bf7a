"""Proof, later, that what was erased is gone: by the hashes that stay, and by words that somebody still has.

No words and no hashes of short passages are kept: from hashes of overlapping passages a text can be guessed word by
word.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from finrag_pipelines.catalog.catalog import Erasure
from finrag_pipelines.lifecycle.erase import search_for, traces
from finrag_pipelines.lifecycle.passages import Passages
from finrag_pipelines.lifecycle.search import Hit, Searched
from finrag_pipelines.parsing.parse import read_layout
from finrag_pipelines.storage import Store


@dataclass(frozen=True)
class Verification:
    """What is left of erased documents: `traces` by their hashes and ids, hits of the search in `searched`."""

    erasures: tuple[Erasure, ...]
    traces: tuple[Hit, ...]
    searched: Searched

    @property
    def is_clean(self) -> bool:
        """Tell whether every erasure is done, nothing is left, and every text could be searched for."""
        found = self.traces or self.searched.hits or self.searched.untold
        return all(one.is_done for one in self.erasures) and not found


def stated_passages(files: Sequence[Path], texts: Sequence[str]) -> dict[str, Passages]:
    """Return what to search for, by the name of each: passages of the files, of which only the text is read and nothing
    kept, and the texts as they are.

    Raises UnreadableError for a file that is no document, and ValueError for a text without words.
    """
    found = {str(path): Passages.sampled([read_layout(path.read_bytes()).text]) for path in files}
    for text in texts:
        found[f"“{text}”"] = Passages.stated([text])
        if not found[f"“{text}”"]:
            raise ValueError(f"{text!r} has no words to search for")
    return found


def verify_erasures(store: Store, erasures: Sequence[Erasure], passages: Mapping[str, Passages]) -> Verification:
    """Look for traces of erased documents by their hashes, and search every byte of the store for their bytes and for
    `passages`, less what documents that stay say too."""
    contents = frozenset().union(*(one.contents for one in erasures))
    return Verification(tuple(erasures), traces(store, erasures), search_for(store, contents, passages))
