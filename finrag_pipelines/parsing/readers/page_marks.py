"""Pages of a document without page boxes: where they break, which number is printed on them, and what is furniture."""

import re
from dataclasses import dataclass
from itertools import pairwise

_ONE = r"(?:\d{1,4}|[A-Z]{1,2}-\d{1,3})"
_NUMBER = re.compile(
    rf"^[-–—\s]*(?:page\s+)?({_ONE}|[ivxlc]{{1,7}}|[A-Z]-[ivx]{{1,5}})(?:\s+of\s+{_ONE})?[-–—\s]*$|^第\s?(\d{{1,4}})\s?页",
    re.I,
)
_TAIL_NUMBER = re.compile(rf"(?:^|[|\s•·–—-])({_ONE})(?:\s+of\s+{_ONE})?\s*$")
_HEAD_NUMBER = re.compile(rf"^\s*({_ONE})(?=[|\s•·–—-]+\D)")
_BACK = re.compile(
    r"^(?:back to (?:top|contents)|(?:return to )?(?:table of contents|index|contents)|quicklinks.*|目录)$", re.I
)
_DIGITS = re.compile(r"\d+")
_EDGE = 3


@dataclass(slots=True)
class Line:
    """A block as page marks see it: its text, whether it could be a running line, what it is found to be."""

    text: str
    page: int
    running: bool
    linked: bool = False
    strong: bool = False
    role: str = ""  # "", header, footer, page_number


def find_breaks(lines: list[Line], certain: set[int], possible: set[int]) -> set[int]:
    """Return the positions before which a page begins.

    `certain` holds the breaks that the markup states; where there are fewer than two, a run of printed page numbers
    that counts upwards gives them, each page ending at the rule (`possible`) after its number, or with the number.
    """
    if len(certain) >= 2:
        return certain
    numbers = [
        (index, int(match[1] or match[2]))
        for index, line in enumerate(lines)
        if line.running and (match := _NUMBER.match(line.text)) and (match[1] or match[2]).isdigit()
    ]
    chain = _longest_count(numbers)
    if len(chain) < 4:
        return certain
    breaks = set(certain)
    for index in chain:
        after = next((place for place in (index + 1, index + 2) if place in possible), None)
        before = index in possible
        breaks.add(index if before and after is None else after or index + 1)
    return {place for place in breaks if 0 < place < len(lines)}


def _longest_count(numbers: list[tuple[int, int]]) -> list[int]:
    """Return the positions of the longest run in which each number is one or two more than the one before it."""
    best: dict[int, tuple[int, int | None]] = {}
    latest: dict[int, int] = {}
    for index, number in numbers:
        options = [
            (best[latest[number - step]][0], latest[number - step]) for step in (1, 2) if number - step in latest
        ]
        length, before = max(options, default=(0, None), key=lambda option: option[0])
        if number not in latest or length + 1 >= best[latest[number]][0]:
            best[index] = (length + 1, before)
            latest[number] = index
    if not best:
        return []
    place: int | None = max(best, key=lambda index: best[index][0])
    chain = []
    while place is not None:
        chain.append(place)
        place = best[place][1]
    return sorted(chain)


def mark(lines: list[Line], page_count: int) -> list[str | None]:
    """Give each running line its role and return the printed label of each page."""
    pages: list[list[int]] = [[] for _ in range(page_count)]
    for index, line in enumerate(lines):
        pages[line.page].append(index)
    edges = [(place[:_EDGE], place[-_EDGE:] if len(place) > 1 else []) for place in pages]
    labels: list[str | None] = [None] * page_count
    if page_count > 1:
        _mark_repeated(lines, edges)
        labels = [_label(lines, top, bottom) for top, bottom in edges]
        _drop_strays(lines, labels, pages)
    at_edge = {index for top, bottom in edges for index in (*top, *bottom)} if page_count > 1 else set()
    for index, line in enumerate(lines):
        if not line.role and (
            line.text.startswith("QuickLinks") or (line.linked and index in at_edge and is_back_link(line.text))
        ):
            line.role = "header"
    return labels


def is_back_link(text: str) -> bool:
    """Say whether a link's words lead back to the contents, as at the head of every page."""
    return bool(_BACK.match(text.strip()))


def _shape(text: str) -> str:
    return _DIGITS.sub("#", " ".join(text.split()).lower())


def _mark_repeated(lines: list[Line], edges: list[tuple[list[int], list[int]]]) -> None:
    """Mark the lines that stand at the edge of a fifth of the pages, at least of three; a heading is kept once."""
    for side, role in ((0, "header"), (1, "footer")):
        seen: dict[str, list[int]] = {}
        for edge in edges:
            for index in edge[side]:
                if lines[index].running and not _NUMBER.match(lines[index].text):
                    seen.setdefault(_shape(lines[index].text), []).append(index)
        for shape, found in seen.items():
            if len({lines[index].page for index in found}) < max(3, 0.2 * len(edges)) or not shape.strip("# "):
                continue
            keep = found[0] if role == "header" and lines[found[0]].strong and not lines[found[0]].linked else None
            for index in found:
                if index != keep and not lines[index].role:
                    lines[index].role = role


def _label(lines: list[Line], top: list[int], bottom: list[int]) -> str | None:
    """Return the number printed at the foot of a page, or else at its head."""
    for places in (list(reversed(bottom)), top):
        for index in places:
            line = lines[index]
            if line.running and (match := _NUMBER.match(line.text)):
                line.role = "page_number"
                return match[1] or match[2]
            if line.role in ("header", "footer") and (
                match := _TAIL_NUMBER.search(line.text) or _HEAD_NUMBER.match(line.text)
            ):
                return match[1]
    return None


def _drop_strays(lines: list[Line], labels: list[str | None], pages: list[list[int]]) -> None:
    """Give back as text a lone number that fits neither the page before nor the page after it."""
    known = [(page, int(label)) for page, label in enumerate(labels) if label and label.isdigit()]
    fits = {
        page
        for (page, number), (later, next_number) in pairwise(known)
        if next_number - number == later - page
        for page in (page, later)
    }
    if len(fits) < 2:
        return
    for page, _ in known:
        if page not in fits:
            labels[page] = None
            for index in pages[page]:
                if lines[index].role == "page_number":
                    lines[index].role = ""
