"""What a page carries beside its text: running headers and footers, page numbers, contents lists."""

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from finrag_pipelines.parsing.model import ElementKind
from finrag_pipelines.parsing.readers.lines import ITEM_HEADING, Line, is_sentence_like
from finrag_pipelines.parsing.tables.line_tables import trailing_values

_EDGE = 4  # lines looked at from either end of a page
_NUMBER_AT_END = re.compile(r"^\s*\d{1,4}\b|\b(?:[A-Z]{1,2}-)?\d{1,4}\s*$")
_ALONE = re.compile(
    r"\W*(?:page\s+)?(?:(?P<prefix>[A-Z]{1,3})\s?[-–—.]\s?)?(?P<number>\d{1,4}|[ivxlc]{1,7})(?:\s+of\s+\d{1,4})?\W*",
    re.I,
)
_CHINESE_PAGE = re.compile(r"\W*第?\s*(?P<number>\d{1,4})\s*页?(?:\s*[/,，共]+\s*\d{1,4}\s*页?)?\W*")
_LAST = re.compile(
    r"(?:^|[\s|·•—–-])(?:page\s+)?(?:(?P<prefix>[A-Z]{1,3})-)?(?P<number>\d{1,4})(?:\s+of\s+\d{1,4})?\s*$", re.I
)
_FIRST = re.compile(r"^\s*(?:page\s+)?(?P<number>\d{1,4})(?=\s|\||$)", re.I)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_LEADER = re.compile(
    r"(?:\.\s?){4,}\s*(?:[A-Z]{1,2}-)?(?:\d{1,4}|[ivxlc]{1,6})?\s*$|…{2,}\s*\d{0,4}\s*$|·{4,}\s*\d{0,4}\s*$|_{6,}\s*\d{1,4}\s*$",
    re.I,
)
_ENTRY = re.compile(r"(?P<label>\S.*?)[\s.…·_]+(?:[A-Z]{1,2}[-–])?(?P<number>\d{1,3})(?:\s*[-–,]\s*\d{1,3})*\s*$")
_CONTENTS = re.compile(
    r"\s*(?:table of contents|contents|index(?: to .{3,80})?|page(?: no\.?| number)?s?|目\s*录|form 10-[kq] cross.?reference index)\s*$",  # noqa: E501
    re.I,
)


_HEADS = re.compile(
    r"\bstatements? of (?:[a-z']+ ){0,3}(?:operations|income|earnings|cash|equity|financial|comprehensive)\b|\bbalance sheets?\b|"  # noqa: E501
    r"\b(?:years?|months?|quarters?|weeks?|periods?) ended\b|^\W*(?:in |\$ in |dollars in |amounts in )?(?:millions|thousands|billions)\b"  # noqa: E501
    r"|\((?:in|\$|dollars|amounts)[^()]*(?:millions|thousands|billions)|\b(?:19|20)\d\d\s+(?:19|20)\d\d\b"
    r"|^\W*(?:january|february|march|april|may|june|july|august|september|october|november|december)\s+\d{1,2},?\W*(?:20\d\d\W*)?$",
    re.I,
)


@dataclass(frozen=True)
class Furniture:
    """For each page the kind of each line that is furniture (None for text), and the label printed on it."""

    kinds: tuple[tuple[ElementKind | None, ...], ...]
    labels: tuple[str | None, ...]


def find_furniture(pages: Sequence[Sequence[Line]]) -> Furniture:
    """Find the furniture of a document from what its pages have in common."""
    kinds: list[list[ElementKind | None]] = [[None] * len(lines) for lines in pages]
    edges = [_edges(lines) for lines in pages]
    labels = _label_pages(pages, edges, kinds)
    _mark_running(pages, edges, kinds)
    for index, lines in enumerate(pages):
        _mark_contents(lines, kinds[index], len(pages))
    return Furniture(tuple(tuple(page) for page in kinds), tuple(labels))


def _edges(lines: Sequence[Line]) -> tuple[list[int], list[int]]:
    """The lines nearest to the top and to the bottom of a page, from the edge inwards."""
    ordered = sorted((i for i, line in enumerate(lines) if line.text.strip()), key=lambda i: (-lines[i].y, lines[i].x0))
    if not ordered:
        return [], []
    top, bottom = lines[ordered[0]].y, lines[ordered[-1]].y
    reach = max(0.2 * (top - bottom), 3 * lines[ordered[0]].size)
    return (
        [i for i in ordered[:_EDGE] if lines[i].y >= top - reach],
        [i for i in ordered[: -_EDGE - 1 : -1] if lines[i].y <= bottom + reach],
    )


def _roman(text: str) -> int | None:
    total = 0
    values = [_ROMAN[ch] for ch in text.lower()]
    for value, following in zip(values, [*values[1:], 0], strict=True):
        total += -value if value < following else value
    return total or None


@dataclass(frozen=True)
class _Candidate:
    """A number that may be a page's label: where it stands, what it says, and how far it is from the page's index."""

    line: int
    edge: int
    style: str
    label: str
    offset: int
    alone: bool
    page: int


def _candidates(lines: Sequence[Line], edges: tuple[list[int], list[int]], index: int) -> list[_Candidate]:
    found: list[_Candidate] = []
    for edge, positions in ((1, edges[1]), (0, edges[0])):
        for i in positions:
            text = lines[i].text.strip()
            if len(text) > 160:
                continue
            match = _ALONE.fullmatch(text) or _CHINESE_PAGE.fullmatch(text)
            if match:
                number, prefix = match["number"], (match.groupdict().get("prefix") or "").upper()
                value = int(number) if number.isdigit() else _roman(number)
                if value is None or (not number.isdigit() and prefix):
                    continue
                style = prefix or ("roman" if not number.isdigit() else "")
                label = f"{prefix}-{number}" if prefix else number
                found.append(_Candidate(i, edge, style, label, value - index, True, index))
                continue
            if len(text) > 120 or is_sentence_like(lines[i]):
                continue
            if match := _LAST.search(text):
                prefix = (match["prefix"] or "").upper()
                label = f"{prefix}-{match['number']}" if prefix else match["number"]
                found.append(_Candidate(i, edge, f"last{prefix}", label, int(match["number"]) - index, False, index))
            if match := _FIRST.match(text):
                found.append(_Candidate(i, edge, "first", match["number"], int(match["number"]) - index, False, index))
    return found


def _label_pages(
    pages: Sequence[Sequence[Line]],
    edges: Sequence[tuple[list[int], list[int]]],
    kinds: list[list[ElementKind | None]],
) -> list[str | None]:
    """Find each page's printed label: the number that keeps step with the pages around it."""
    candidates = [_candidates(lines, edges[index], index) for index, lines in enumerate(pages)]
    steps = Counter(
        (c.edge, c.style, c.offset)
        for found in candidates
        for c in {(c.edge, c.style, c.offset): c for c in found}.values()
    )
    needed = 1 if len(pages) == 1 else 2 if len(pages) < 8 else 3
    labels: list[str | None] = []
    chosen: list[_Candidate | None] = []
    for found in candidates:
        good = [c for c in found if steps[c.edge, c.style, c.offset] >= (needed if c.alone else max(needed, 2))]
        if not good:
            chosen.append(None)
            continue
        best = max(good, key=lambda c: (c.alone, steps[c.edge, c.style, c.offset], c.edge))
        chosen.append(best)
    for index, found in enumerate(candidates):
        # A number of its own between two numbered pages: a page without a number shifted the count.
        before = next((c for c in reversed(chosen[max(0, index - 3) : index]) if c), None)
        after = next((c for c in chosen[index + 1 : index + 4] if c), None)
        if chosen[index] is None and before and after and before.style == after.style:
            low, high = (before.offset + before.page, after.offset + after.page)
            fits = [c for c in found if c.alone and c.style == before.style and low < c.offset + index < high]
            chosen[index] = fits[0] if fits else None
    for index, best in enumerate(chosen):
        labels.append(best.label if best else None)
        if best is None:
            continue
        if best.alone:
            kinds[index][best.line] = ElementKind.PAGE_NUMBER
        else:
            kinds[index][best.line] = ElementKind.FOOTER if best.edge else ElementKind.HEADER
    return labels


def _key(line: Line) -> str:
    return " ".join(_NUMBER_AT_END.sub("#", line.text).lower().split())


def _mark_running(
    pages: Sequence[Sequence[Line]],
    edges: Sequence[tuple[list[int], list[int]]],
    kinds: list[list[ElementKind | None]],
) -> None:
    """Mark lines at the edges of pages that come back on other pages."""
    if len(pages) < 2:
        return
    seen: Counter[tuple[int, str]] = Counter()
    for index, lines in enumerate(pages):
        for edge in (0, 1):
            seen.update({(edge, _key(lines[i])) for i in edges[index][edge]})
    needed = min(len(pages), 3)
    met: set[str] = set()
    for index, lines in enumerate(pages):
        for edge, kind in ((0, ElementKind.HEADER), (1, ElementKind.FOOTER)):
            for i in edges[index][edge]:
                if kinds[index][i] is not None:
                    continue
                key = _key(lines[i])
                if _HEADS.search(lines[i].text) or len(trailing_values(lines[i])) > 1:
                    break  # a table that goes on over pages
                if seen[edge, key] < needed or len(key) > 160 or not any(ch.isalpha() for ch in key):
                    break
                # The first of several equal item headings is the heading itself.
                if ITEM_HEADING.match(lines[i].text) and key not in met:
                    met.add(key)
                    break
                kinds[index][i] = kind


def _mark_contents(lines: Sequence[Line], kinds: list[ElementKind | None], pages: int) -> None:
    """Mark a contents list: lines that end in dot leaders or in page numbers that never go down."""
    entries: list[tuple[int, int | None]] = []
    leaders = items = 0
    titled = None
    for i, line in enumerate(lines):
        text = line.text
        if kinds[i] is not None or len(text) > 220:
            continue
        if titled is None and _CONTENTS.match(text):
            titled = i
        if (".." in text or ". ." in text or "…" in text or "··" in text or "__" in text) and _LEADER.search(text):
            match = _ENTRY.match(text)
            leaders += 1
            items += ITEM_HEADING.match(text) is not None
            entries.append((i, int(match["number"]) if match else None))
        elif (
            (match := _ENTRY.match(text))
            and any(ch.isalpha() for ch in match["label"])
            and int(match["number"]) <= pages + 60
        ) and (not line.words or _apart(line)):
            entries.append((i, int(match["number"])))
            items += ITEM_HEADING.match(text) is not None
    if len(entries) < 4:
        return
    numbers = [number for _, number in entries if number is not None]
    rising = sum(b >= a for a, b in itertools.pairwise(numbers))
    orderly = len(numbers) > 3 and rising >= 0.85 * (len(numbers) - 1) and max(numbers) > numbers[0]
    listed = leaders >= 4 and leaders >= 0.6 * len(entries) and orderly
    named = items >= 4 or (titled is not None and titled <= entries[0][0])
    # A list without a title: one whole number a line, never falling, and hardly anything else on the page.
    strict = (
        len(numbers) >= 8
        and rising == len(numbers) - 1
        and len(set(numbers)) >= 5
        and len(entries) >= 0.6 * sum(kind is None for kind in kinds)
    )
    if not (listed or (orderly and named) or strict):
        return
    first = entries[0][0]
    if titled is not None and titled < first and first - titled <= 8:
        first = titled
    last = entries[-1][0]
    for i in range(first, last + 1):
        if kinds[i] is None and (not is_sentence_like(lines[i]) or len(lines[i].text) < 120):
            kinds[i] = ElementKind.CONTENTS


def _apart(line: Line) -> bool:
    """Say whether the number at the end of a line stands apart from its words."""
    return len(line.words) > 1 and line.words[-1].x0 - line.words[-2].x1 > 1.75 * line.space
