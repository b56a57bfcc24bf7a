"""Reports without item headings: an index ("Form 10-K Cross Reference Index") says on which pages each item stands."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from finrag_pipelines.parsing.model import ElementKind, Heading, Layout, Section
from finrag_pipelines.parsing.sections.candidates import ACCEPTABLE, Candidate, Marks
from finrag_pipelines.parsing.sections.item_schemes import Item, Scheme
from finrag_pipelines.parsing.sections.pointers import find_pointer
from finrag_pipelines.parsing.sections.title_headings import page_of_label, wordings
from finrag_pipelines.parsing.sections.title_match import letters, line_span

INDEX_KEY = "Cross Reference Index"
_SPAN = r"(?:F-)?\d{1,3}(?:\s?[-–]\s?\d{1,3})?"
# The pages of a row end its line; a footnote may follow them ("82, (a)").
_PAGES = re.compile(rf"(?<![\w.,$-])({_SPAN}(?:,\s?{_SPAN}){{0,9}})(?:,?\s?\([a-z]\))?[ \t|*]{{0,9}}$", re.MULTILINE)
_RANGE = re.compile(r"(\d{1,3})(?:\s?[-–]\s?(\d{1,3}))?")
_PLACED_BY_PAGE = 600_000  # items that may be as long as this begin a page, so that the page alone can place them
_FOOTNOTE_MARK = re.compile(r"\(([a-z]|\d)\)\s*$|^\(([a-z]|\d)\)\W*$")
_RUN_IN = re.compile(r"[.:]\s|\s[-–—]\s")
_FEWEST_ROWS = 8  # of an index that is worth having although none of its rows leads anywhere
_ROW_LIMIT = 600  # characters of a row that are read


@dataclass(frozen=True)
class _Row:
    item: Item
    candidate: Candidate
    end: int
    page: str | None
    ranges: tuple[tuple[int, int], ...]
    pages: str
    footnote: str | None


def resolve_index(
    layout: Layout, scheme: Scheme, candidates: Sequence[Candidate]
) -> tuple[tuple[Section, ...], tuple[Heading, ...]]:
    """Map the rows of an index to the report's own headings, by title on the page that the row names, else by page.

    A row whose item stands nowhere else ("Not applicable", "incorporated by reference") is itself the item's section,
    with the target as its pointer. Returns nothing where too few rows are there.
    """
    rows = _rows(layout, candidates)
    if not rows:
        return (), ()
    first, last = rows[0].candidate.start, rows[-1].end
    located: dict[int, tuple[_Row, int, tuple[str, ...]]] = {}
    headings: list[Heading] = []
    unlocated: list[_Row] = []
    for row in rows:
        place = _locate(layout, row, (first, last))
        if place is not None and place[2] == "page" and _within_another(row, rows):
            place = None
        if place is None or place[0] in located:
            unlocated.append(row)
            headings.append(Heading(row.item.key, row.candidate.start, row.candidate.end, True, "row of the index"))
            continue
        start, end, reason = place
        flags = ("number_missing",) if reason != "page" else ("number_missing", "located_by_page")
        if len(row.ranges) > 1:
            flags = (*flags, f"more_on_pages:{row.pages.split(',', 1)[1].strip()}")
        located[start] = (row, end, flags)
        headings.append(
            Heading(row.item.key, row.candidate.start, row.candidate.end, False, "row of the index: resolved")
        )
        headings.append(Heading(row.item.key, start, end, True, f"cross reference index: {reason}"))
    if not located and len(rows) < _FEWEST_ROWS:
        return (), ()
    cuts: list[tuple[int, str, str, str | None, tuple[str, ...]]] = []
    for start, (row, end, flags) in located.items():
        title = " ".join(layout.text[start:end].split())[:200] or row.item.titles[0]
        cuts.append((start, row.item.key, title, None, flags))
    cuts.append((first, INDEX_KEY, "Cross Reference Index", None, ()))
    for row in unlocated:
        cuts.append(
            (row.candidate.start, row.item.key, row.candidate.title, _row_pointer(layout, row, last), ("index_row",))
        )
        if row.end < last:
            cuts.append((row.end, INDEX_KEY, "Cross Reference Index", None, ()))
    cuts.append((last, INDEX_KEY + " notes", "Cross Reference Index", None, ()))
    signatures = re.compile(r"^\W{0,5}signatures?\W{0,5}$", re.IGNORECASE | re.MULTILINE).search(layout.text, last)
    if signatures:
        cuts.append((signatures.start(), "Signatures", "Signatures", None, ()))
    by_start: dict[int, tuple[int, str, str, str | None, tuple[str, ...]]] = {}
    for cut in cuts:  # an item's own row or heading goes before the index around it
        if cut[0] not in by_start or by_start[cut[0]][1].startswith(INDEX_KEY):
            by_start[cut[0]] = cut
    if 0 not in by_start:
        by_start[0] = (0, "Cover", "Cover", None, ())
    ordered = sorted(by_start.values())
    ends = [cut[0] for cut in ordered[1:]] + [len(layout.text)]
    sections = tuple(
        Section(key, title, start, end, pointer, flags)
        for (start, key, title, pointer, flags), end in zip(ordered, ends, strict=True)
    )
    return sections, tuple(sorted(headings, key=lambda h: (h.start, h.end, h.key)))


def place_by_contents(
    layout: Layout, candidates: Sequence[Candidate], missing: Sequence[Item]
) -> tuple[tuple[Item, Candidate, tuple[str, ...]], ...]:
    """Place `missing` items by the page that the contents list gives: at their title there, or, for items that begin
    a page, at its start. Each comes with a candidate made for the place and the flags that say how it was found."""
    wanted = {item.key for item in missing}
    rows = [row for row in _rows(layout, candidates) if row.item.key in wanted]
    placed = []
    for row in rows:
        place = _locate(layout, row, (0, row.end))
        if place is None or (place[2] == "page" and row.item.largest < _PLACED_BY_PAGE):
            continue
        start, end, reason = place
        title = " ".join(layout.text[start:end].split())[:200] or row.item.titles[0]
        made = Candidate((row.item,), (ACCEPTABLE,), start, end, title, (row.item.number,), numbered=False)
        placed.append((row.item, made, () if reason != "page" else ("located_by_page",)))
    return tuple(placed)


def _rows(layout: Layout, candidates: Sequence[Candidate]) -> list[_Row]:
    """The rows of the index: the last contents entry of each item, if there are enough of them close together."""
    entries = [c for c in candidates if c.contents and c.items and c.at_line_start]
    latest = {entry.key: entry for entry in entries}
    ordered = sorted(latest.values(), key=lambda c: c.start)
    rows = []
    for i, entry in enumerate(ordered):
        end = ordered[i + 1].start if i + 1 < len(ordered) else line_span(layout.text, entry.end)[1] + 1
        end = min(end, len(layout.text))
        told = layout.text[entry.end : min(end, entry.end + _ROW_LIMIT)]
        pages = _PAGES.search(told)
        printed = " ".join(pages.group(1).split()) if pages else ""
        ranges = tuple((int(m.group(1)), int(m.group(2) or m.group(1))) for m in _RANGE.finditer(printed))
        mark = next((m for line in told.split("\n") if (m := _FOOTNOTE_MARK.search(line.strip()))), None)
        rows.append(
            _Row(
                next(item for item in entry.items if item.key == entry.key),
                entry,
                end,
                re.split(r"\s?[-–,]\s?(?=\d)", printed.removeprefix("F-"))[0] if printed else None,
                ranges,
                printed,
                (mark.group(1) or mark.group(2)) if mark else None,
            )
        )
    return rows


def _locate(layout: Layout, row: _Row, index: tuple[int, int]) -> tuple[int, int, str] | None:
    """Find a row's item: at its title on the row's page, else at the page's start. Where no pages are numbered, only
    a line that is all title, or a title in capitals, is trusted."""
    page = page_of_label(layout.pages, row.page)
    numbered = any(p.label is not None for p in layout.pages)
    if page is None and (numbered or row.page is None):
        return None
    item = row.item if page else replace(row.item, titles=row.item.titles[:1])
    titles = wordings(item, [row.candidate])
    contents = Marks(layout, frozenset({ElementKind.CONTENTS, ElementKind.HEADER}))
    start, stop = (page.start, page.end) if page else (0, len(layout.text))
    found: list[tuple[bool, int, int]] = []
    for line in layout.text[start:stop].split("\n"):
        wording = letters(line[:200])
        inside = index[0] <= start < index[1] or contents.hold(start)
        if not inside and any(wording.startswith(title) for title in titles) and line.lstrip()[:1].isupper():
            heading = _RUN_IN.split(line.strip(), maxsplit=1)[0]
            indent = start + len(line) - len(line.lstrip())
            if page or heading.isupper() or wording in titles:
                found.append((not heading.isupper(), indent, indent + len(heading)))
        start += len(line) + 1
    if found:  # capitals before a paragraph that happens to begin with the same words
        _, start, end = min(found)
        return start, end, "title on the page" if page else "title"
    return (page.start, page.start, "page") if page else None


def _within_another(row: _Row, rows: Sequence[_Row]) -> bool:
    """Say whether the row's first page lies inside another item's pages: a cut at that page would split that item."""
    if not row.ranges:
        return False
    first = row.ranges[0][0]
    return any(low < first <= high for other in rows if other is not row for low, high in other.ranges[:1])


def _row_pointer(layout: Layout, row: _Row, index_end: int) -> str | None:
    if row.footnote is not None:
        note = re.compile(rf"^\W{{0,3}}\({re.escape(row.footnote)}\)(.{{1,600}})", re.MULTILINE).search(
            layout.text, index_end - 1
        )
        if note:
            return find_pointer(note.group(1)) or "note of the index"
    if row.page is None:
        return None
    return f"page {row.pages}" if row.pages == row.page else f"pages {row.pages}"
