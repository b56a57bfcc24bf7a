"""What the search for headings passes on: candidates with their scores and doubts, and ranges of kinds of elements."""

from bisect import bisect_right
from dataclasses import dataclass, replace

from finrag_pipelines.parsing.model import ElementKind, Layout
from finrag_pipelines.parsing.sections.item_schemes import Item

ACCEPTABLE = 1.5  # below this score a candidate is no heading, whatever its neighbours are
HEADER_PENALTY = 6.0


@dataclass(frozen=True)
class Candidate:
    """A place that names one item or several. `score` rates it per item it could open; `doubts` are the reasons that
    speak against it. `title` is what is printed after the number; `end` the end of the heading. `page_text` is what a
    contents entry gives as its page. `number_differs` says that the title is that of another item."""

    items: tuple[Item, ...]
    scores: tuple[float, ...]
    start: int
    end: int
    title: str
    numbers: tuple[str, ...]
    further: tuple[Item, ...] = ()
    doubts: tuple[str, ...] = ()
    at_line_start: bool = True
    numbered: bool = True
    has_title: bool = False
    page_text: str | None = None
    contents: bool = False
    number_differs: bool = False

    @property
    def key(self) -> str:
        """The key of the item that it most likely opens, or the number as printed where the form has no such item."""
        if not self.items:
            return f"Item {self.numbers[0]}"
        return self.items[max(range(len(self.items)), key=lambda i: (self.scores[i], -i))].key


def lowered(candidate: Candidate, penalty: float, reason: str) -> Candidate:
    """Return the candidate with every score lower by `penalty` and `reason` among its doubts."""
    scores = tuple(score - penalty for score in candidate.scores)
    return replace(candidate, scores=scores, doubts=(*candidate.doubts, reason))


class Marks:
    """The ranges of a layout's elements of some kinds, to be asked whether an offset lies in one."""

    def __init__(self, layout: Layout, kinds: frozenset[ElementKind]) -> None:
        spans = sorted((e.start, e.end) for e in layout.elements if e.kind in kinds)
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def hold(self, offset: int) -> bool:
        """Say whether `offset` lies in one of the ranges."""
        i = bisect_right(self._starts, offset) - 1
        return i >= 0 and offset < self._ends[i]
