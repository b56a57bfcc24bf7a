"""Gold evidence: a quote is looked up in the stored text, and becomes ranges, pages and fragments.

A set names source and quote only, so another parser or chunking does not break it; a quote that stands nowhere is said.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from finrag_pipelines.catalog.catalog import Catalog, read_catalog
from finrag_pipelines.chunking.files import read_fragments
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.evaluation.sets import EvalSet, Gold
from finrag_pipelines.parsing.model import ParsedDocument
from finrag_pipelines.parsing.representation_store import read_representation
from finrag_pipelines.storage import Store

LOCATED = "located"
NOT_INGESTED = "not_ingested"
NOT_PARSED = "not_parsed"
NOT_FOUND = "quote_not_found"
_SAME = str.maketrans("‘’‚‛“”„‟′″‐‑‒–—―−", "''''" + '""""' + "'" + '"' + "-------")
LEAST_SHARE = 0.5
"""A fragment holds a quote when it has at least this share of it (or more of it than any other fragment has)."""


@dataclass(frozen=True)
class LocatedGold:
    """Where gold evidence stands: `status` is located, or why not; `ranges` are code points of the representation.

    `by_page` tells that the quote itself was not found and its page stands for it.
    """

    gold: Gold
    status: str
    representation_id: str | None = None
    ranges: tuple[tuple[int, int], ...] = ()
    pages: tuple[int, ...] = ()
    by_page: bool = False

    @property
    def problem(self) -> str | None:
        """What is wrong, in words, or None."""
        source = self.gold.source_id
        return {
            LOCATED: None,
            NOT_INGESTED: f"source {source} is not in the store; ingest it, or correct the name",
            NOT_PARSED: f"source {source} has no parsed text; see `finrag sources`",
            NOT_FOUND: f"quote stands nowhere in the text of {source}: {self.gold.quote[:60]!r}",
        }[self.status]


class FoldedText:
    """A text without white space and typographic variants, and the way back to its offsets."""

    def __init__(self, text: str) -> None:
        kept: list[str] = []
        places: list[int] = []
        for place, character in enumerate(text):
            if character.isspace():
                continue
            for one in character if character.isascii() else unicodedata.normalize("NFKC", character):
                if not one.isspace() and unicodedata.category(one) != "Cf":
                    kept.append(one)
                    places.append(place)
        self.text = "".join(kept).translate(_SAME)
        self._places = places

    def find_all(self, quote: str) -> tuple[tuple[int, int], ...]:
        """Return every range `[start, end)` of the original text that reads like `quote`."""
        wanted = FoldedText(quote).text
        found: list[tuple[int, int]] = []
        at = self.text.find(wanted) if wanted else -1
        while at >= 0:
            found.append((self._places[at], self._places[at + len(wanted) - 1] + 1))
            at = self.text.find(wanted, at + len(wanted))
        return tuple(found)


class GoldResolver:
    """Looks gold evidence up in a store. Texts are read and folded once each."""

    def __init__(self, store: Store, catalog: Catalog | None = None) -> None:
        self.store = store
        self.catalog = catalog or read_catalog(store)
        self._folded: dict[str, tuple[ParsedDocument, FoldedText]] = {}
        self._fragments: dict[str, tuple[Fragment, ...]] = {}

    def locate(self, gold: Gold) -> LocatedGold:
        """Return where gold evidence stands in the current version of its source."""
        source = self.catalog.sources.get(gold.source_id)
        if source is None:
            return LocatedGold(gold, NOT_INGESTED)
        if source.current is None or source.current.representation_id is None:
            return LocatedGold(gold, NOT_PARSED)
        representation_id = source.current.representation_id
        if representation_id not in self._folded:
            document = read_representation(self.store, representation_id)
            self._folded[representation_id] = document, FoldedText(document.text)
        document, folded = self._folded[representation_id]
        ranges = folded.find_all(gold.quote)
        by_page = False
        if not ranges and gold.page_index is not None and gold.page_index < len(document.pages):
            page, by_page = document.pages[gold.page_index], True
            ranges = ((page.start, page.end),)
        if not ranges:
            return LocatedGold(gold, NOT_FOUND, representation_id)
        pages = sorted({index for start, _ in ranges if (index := page_at(document, start)) is not None})
        return LocatedGold(gold, LOCATED, representation_id, ranges, tuple(pages), by_page)

    def fragments_of(self, source_id: str, representation_id: str, path: str | None = None) -> tuple[Fragment, ...]:
        """Return the fragments of a representation: those in `path` of the store, else the newest that were cut."""
        key = path or representation_id
        if key not in self._fragments:
            folder = self.store.path("fragments", source_id)
            paths = [self.store.path(path)] if path else sorted(folder.glob("*.parquet"))
            cut = [read_fragments(one) for one in paths if one.exists()]
            self._fragments[key] = next((f for f in cut if f and f[0].representation_id == representation_id), ())
        return self._fragments[key]


def page_at(document: ParsedDocument, offset: int) -> int | None:
    """Return the zero-based page that an offset lies on; None for a document without pages."""
    return next((page.index for page in reversed(document.pages) if page.start <= offset), None)


def holding(located: LocatedGold, fragments: Sequence[Fragment]) -> tuple[Fragment, ...]:
    """Return the fragments that hold the gold evidence: half of it or more, or else the largest part of it."""
    found: list[Fragment] = []
    for start, end in located.ranges:
        shares = [(max(0, min(end, f.end) - max(start, f.start)) / max(1, end - start), f) for f in fragments]
        if located.by_page:  # every fragment that begins on the page or lies across its start
            found += [one for share, one in shares if share > 0]
            continue
        most = max((share for share, _ in shares), default=0.0)
        found += [one for share, one in shares if share > 0 and share >= min(LEAST_SHARE, most)]
    unique = {one.fragment_id: one for one in found if one.representation_id == located.representation_id}
    return tuple(unique[key] for key in sorted(unique))


def unresolved(eval_set: EvalSet, resolver: GoldResolver) -> tuple[str, ...]:
    """Return every gold quote of a set that cannot be located, as `set.jsonl:line: what is wrong`."""
    return tuple(
        f"{eval_set.name}.jsonl:{question.line}: {problem}"
        for question in eval_set.questions
        for gold in question.gold
        if (problem := resolver.locate(gold).problem)
    )


def overlap(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Return how many code points two ranges share."""
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def merged(ranges: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return ranges sorted, those that touch put together."""
    ordered = sorted(ranges)
    if not ordered:
        return ()
    out = [ordered[0]]
    for _, (start, end) in pairwise(ordered):
        if start <= out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], end)
        else:
            out.append((start, end))
    return tuple(out)
