"""Candidates for headings without a number: lines that are an item's title and nothing else."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from finrag_pipelines.parsing.model import ElementKind, Layout, Page
from finrag_pipelines.parsing.sections.candidates import Candidate, Marks
from finrag_pipelines.parsing.sections.item_schemes import Item
from finrag_pipelines.parsing.sections.title_match import letters

_SHORTEST = 8  # letters; below it a title ("General") is a word that any heading may be
_LONGEST_LINE = 200


def title_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and letters of each line that is short enough to be a title."""
    start = 0
    for line in text.split("\n"):
        if _SHORTEST <= len(line) <= _LONGEST_LINE and (wording := letters(line)):
            indent = len(line) - len(line.lstrip(" \t\xa0#*_|>•"))
            yield start + indent, start + len(line.rstrip()), wording
        start += len(line) + 1


def wordings(item: Item, entries: Sequence[Candidate]) -> frozenset[str]:
    """Return the letters of an item's titles, those of the document's own contents list included."""
    own = (letters(e.title.rstrip(" 0123456789.-–,")) for e in entries if e.key == item.key)
    return frozenset(w for w in (*map(letters, item.titles), *own) if len(w) >= _SHORTEST)


def page_of_label(pages: Sequence[Page], label: str | None) -> Page | None:
    """Return the page that bears `label`, or None. Of several it is the last: earlier ones are front matter."""
    return next((p for p in reversed(pages) if label is not None and p.label == label), None)


def title_candidates(layout: Layout, items: Sequence[Item], entries: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return the lines that consist of the title of one of `items`; what the contents list or a link points to counts
    more. `entries` are the candidates that lie in a contents list."""
    by_wording: dict[str, list[Item]] = {}
    for item in items:
        for wording in sorted(wordings(item, entries)):
            by_wording.setdefault(wording, []).append(item)
    listed = {e.key: e.page_text for e in entries}
    furniture = Marks(
        layout, frozenset({ElementKind.HEADER, ElementKind.FOOTER, ElementKind.CONTENTS, ElementKind.PAGE_NUMBER})
    )
    titles = Marks(layout, frozenset({ElementKind.TITLE}))
    anchors = sorted(offset for _, offset in layout.anchors)
    entry_ends = [0, *(e.end for e in sorted(entries, key=lambda e: e.start))]
    entry_starts = sorted(e.start for e in entries)
    seen: dict[str, int] = {}
    found: list[Candidate] = []
    for start, end, wording in title_lines(layout.text):
        if wording not in by_wording or furniture.hold(start):
            continue
        if start < entry_ends[bisect_right(entry_starts, start)]:
            continue  # a contents entry whose number stands on the line above
        seen[wording] = seen.get(wording, 0) + 1
        base = 2.0 + titles.hold(start) + 0.5 * layout.text[start:end].isupper() - 0.5 * (seen[wording] > 1)
        near = bisect_right(anchors, start + 5)
        if near and start - anchors[near - 1] <= 100:
            base += 1.0
        scores = []
        for item in by_wording[wording]:
            page = page_of_label(layout.pages, listed.get(item.key))
            scores.append(base + (1.5 if page is not None and page.start <= start < page.end else 0.0))
        found.append(
            Candidate(
                items=tuple(by_wording[wording]),
                scores=tuple(scores),
                start=start,
                end=end,
                title=" ".join(layout.text[start:end].split()),
                numbers=(by_wording[wording][0].number,),
                numbered=False,
                has_title=True,
            )
        )
    return tuple(found)
