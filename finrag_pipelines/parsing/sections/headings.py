"""Candidates for item headings: where a text says "Item 7", what follows, and what speaks for and against a heading."""

import re
from bisect import bisect_right
from dataclasses import dataclass

from finrag_pipelines.parsing.model import ElementKind, Layout
from finrag_pipelines.parsing.sections.candidates import HEADER_PENALTY, Candidate, Marks
from finrag_pipelines.parsing.sections.contents_lists import mark_contents, mark_repeated, trust_only_headers
from finrag_pipelines.parsing.sections.item_numbers import ITEM, canonical_number, read_numbers
from finrag_pipelines.parsing.sections.item_schemes import Item, Scheme
from finrag_pipelines.parsing.sections.title_match import letters, line_span, match_title

_PART = re.compile(r"\bp ?art\s{1,9}(IV|I{1,3}|[1-4])\b", re.IGNORECASE)
_PART_PREFIX = re.compile(r"p ?art\s{1,9}(IV|I{1,3}|[1-4])[\s,.:;–—-]{0,9}", re.IGNORECASE)
_SEPARATOR = re.compile(
    r"[\s.:;\-–—‑|)\]*_#•·]{0,80}(?:of\s{1,3}reg(?:ulation|\.)?\s{1,3}AB\b[\s.:,\-–—]{0,9})?", re.IGNORECASE
)
_MARKUP = " \t\xa0\u200b#*_>|•·–—-†"
_QUOTES = "\"“”'‘’«("
_LEADING_ON = re.compile(
    r"(?:\b(?:in|see|and|or|under|of|the|to|this|our|with|by|at|from|both|also|part\s[iv]{1,3})|[,(“\"‘—–-])$",
    re.IGNORECASE,
)
_SENTENCE_ON = re.compile(r"[ ,;]{0,3}(?:[a-z]|[”\"’]|“)")
_GOES_ON = re.compile(
    r"\W{0,4}(?:[”\"’]|(?:of|in|to|for|on|above|below|under|as|is|are|was|were|which|that|herein|included|contained)\b)",
    re.IGNORECASE,
)
_LISTED_ON = re.compile(r"[”\"’]?\s?(?:;\s?(?:and|or)?|,\s?(?:and|or))\s{0,3}$", re.IGNORECASE)
_CONTINUED = re.compile(r"\W{0,8}continued\b|\W{0,8}cont[’'.]?d\b", re.IGNORECASE)

_BARE_NUMBER = re.compile(r"^[ \t]{0,60}(\d{1,2}[A-C]?)\.?[ \t]{1,20}(?=[A-Z])", re.MULTILINE)

_WHOLE_TITLE = 0.8  # similarity below which a mention inside a line is none that could be a heading
_FEW = 5  # titled item headings, below which other spellings are tried


@dataclass(frozen=True)
class PartLine:
    """A line that opens a part of the form."""

    start: int
    part: str


def part_lines(layout: Layout) -> tuple[PartLine, ...]:
    """Return the lines that name a part of the form (`PART II - OTHER INFORMATION`) and little else, in order."""
    found: list[PartLine] = []
    for match in _PART.finditer(layout.text):
        start, end = line_span(layout.text, match.start())
        if end - match.end() > 60 or match.start() - start > 60:
            continue
        before = layout.text[start : match.start()].strip(_MARKUP)
        after = layout.text[match.end() : end].strip()
        if not before and (not after or not after[0].islower()) and not after.startswith((",", "”", '"')):
            number = match.group(1).upper()
            found.append(PartLine(start, {"1": "I", "2": "II", "3": "III", "4": "IV"}.get(number, number)))
    return tuple(found)


def find_candidates(layout: Layout, scheme: Scheme) -> tuple[Candidate, ...]:
    """Return every place where a line begins with an item's number, in order, scored for each item it could open;
    places inside a line follow the same way with `at_line_start` false, where they carry the item's whole title."""
    text = layout.text
    headers = Marks(layout, frozenset({ElementKind.HEADER, ElementKind.FOOTER, ElementKind.PAGE_NUMBER}))
    titles = Marks(layout, frozenset({ElementKind.TITLE}))
    parts = part_lines(layout)
    part_starts = [line.start for line in parts]
    anchors = sorted(offset for _, offset in layout.anchors)
    found: list[Candidate] = []
    taken = 0
    for match in ITEM.finditer(text):
        if match.start() < taken:
            continue
        seen = _read(text, match, scheme)
        if seen is None:
            continue
        if seen.at_line_start:
            taken = seen.number_end
        bonus, doubts = _place(text, seen, headers)
        if titles.hold(seen.start):
            bonus += 1.0
        near = bisect_right(anchors, seen.start + 5)
        if near and seen.start - anchors[near - 1] <= 300:
            bonus += 0.5
        at = bisect_right(part_starts, seen.start) - 1
        part = _PART_PREFIX.match(text, seen.start)
        current = part.group(1).upper() if part else parts[at].part if at >= 0 else ""
        found.append(_scored(seen, bonus, doubts, current if scheme.parts_in_key else ""))
    if sum(c.at_line_start and c.has_title for c in found) < _FEW:
        found += _without_the_word(layout, scheme, headers)
        found.sort(key=lambda c: c.start)
    lines = tuple(c for c in found if c.at_line_start)
    inside = [c for c in found if not c.at_line_start]
    marked = trust_only_headers(mark_repeated(text, mark_contents(layout, lines)))
    return tuple(sorted((*marked, *inside), key=lambda c: c.start))


def _without_the_word(layout: Layout, scheme: Scheme, headers: Marks) -> list[Candidate]:
    """Candidates for lines like `1A. Risk Factors` in a document that hardly uses the word "Item"."""
    found = []
    for match in _BARE_NUMBER.finditer(layout.text):
        items = scheme.numbered(canonical_number(match.group(1)))
        matches = [match_title(layout.text, match.end(), item.titles) for item in items]
        best = max(matches, key=lambda m: m.similarity, default=None)
        if best is None or best.similarity < 0.8 or headers.hold(match.start(1)):
            continue
        line_end = line_span(layout.text, best.end)[1]
        found.append(
            Candidate(
                items=items,
                scores=tuple(4.0 * m.similarity for m in matches),
                start=match.start(1),
                end=best.end,
                title=" ".join(layout.text[match.end() : max(best.end, min(line_end, best.end + 60))].split()),
                numbers=(canonical_number(match.group(1)),),
                doubts=("without the word Item",),
                has_title=True,
            )
        )
    return found


@dataclass(frozen=True)
class _Seen:
    start: int
    end: int
    number_end: int
    numbers: tuple[str, ...]
    items: tuple[Item, ...]
    further: tuple[Item, ...]
    similarities: tuple[float, ...]
    differs: bool
    at_line_start: bool
    quoted: bool
    rest: str
    title: str


def _after_separator(text: str, offset: int) -> int:
    found = _SEPARATOR.match(text, offset)
    return found.end() if found else offset


def _read(text: str, match: re.Match[str], scheme: Scheme) -> _Seen | None:
    """Read one mention: its numbers, the title after them, and whether a line begins here. None where it is no item."""
    read = read_numbers(text, match, scheme)
    if read is None:
        return None
    numbers, end = read
    items = scheme.numbered(numbers[0])
    if not items and len(numbers[0]) > 3:
        return None
    line_start = line_span(text, match.start())[0]
    before = text[max(line_start, match.start() - 80) : match.start()]
    lead = before.strip(_MARKUP)
    bare = lead.lstrip(_QUOTES)
    prefix = _PART_PREFIX.fullmatch(bare) if bare else None
    at_line_start = match.start() - line_start < 80 and (not bare or prefix is not None)
    title_start = _after_separator(text, end)
    separator = text[end:title_start]
    if (again := ITEM.match(text, title_start)) and (repeated := read_numbers(text, again, scheme)):
        if "\n" in separator or repeated[0] != numbers:
            title_start = end  # another item follows: this is a header line that lists the page's items
        else:
            title_start = max(_after_separator(text, repeated[1]), title_start)
    matches = [match_title(text, title_start, item.titles if title_start > end else ()) for item in items]
    similarities = tuple(m.similarity for m in matches)
    if not at_line_start and max(similarities, default=0.0) < _WHOLE_TITLE:
        return None
    best = max(matches, key=lambda m: m.similarity, default=None)
    title_end = best.end if best and best.similarity >= 0.3 else title_start
    differs = bool(items) and max(similarities) < 0.5 and _names_another(text, title_start, scheme, numbers[0])
    line_end = line_span(text, max(title_end, end))[1]
    if title_end == title_start:  # nothing known: what stands on the line is the title
        title_end = end if "\n" in separator else min(line_end, title_start + 120)
        line_end = line_span(text, title_end)[1]
    rest = text[title_end : min(line_end, title_end + 200)]
    if not letters(rest) or (len(rest) <= 60 and not rest.strip().startswith(("“", '"'))):
        printed_title = text[title_start : max(line_end, title_start)] if title_end > title_start else ""
    else:
        printed_title = text[title_start:title_end]
    start = match.start() - len(before.lstrip(_MARKUP)) if at_line_start else match.start()
    return _Seen(
        start=start,
        end=title_end,
        number_end=end,
        numbers=tuple(numbers),
        items=items,
        further=tuple(item for n in dict.fromkeys(numbers[1:]) for item in scheme.numbered(n)),
        similarities=similarities,
        differs=differs,
        at_line_start=at_line_start,
        quoted=bool(lead) and lead[0] in _QUOTES,
        rest=rest,
        title=" ".join(printed_title.split())[:200].strip(" .|*_"),
    )


def _names_another(text: str, title_start: int, scheme: Scheme, number: str) -> bool:
    titles = tuple(t for item in scheme.items if item.number != number for t in item.titles[:2] if len(t) > 10)
    return match_title(text, title_start, titles).similarity >= 0.85


def _place(text: str, seen: _Seen, headers: Marks) -> tuple[float, tuple[str, ...]]:
    """Rate where a mention stands: what precedes it and what follows its title. Negative marks come with a reason."""
    score, doubts = 0.0, []
    similarity = max(seen.similarities, default=0.0)
    after_number = text[seen.number_end : seen.number_end + 3]
    clean = not letters(seen.rest)
    if headers.hold(seen.start):
        score -= HEADER_PENALTY
        doubts.append("page header")
    if seen.quoted:
        score -= 4.0
        doubts.append("quoted")
    if clean and similarity >= 0.5:
        score += 1.0
    if text[seen.start : seen.end].isupper():
        score += 0.5
    if _LISTED_ON.match(seen.rest):
        score -= 3.0
        doubts.append("inline mention: one of a list")
    if seen.at_line_start and seen.title and len(seen.title) <= 120 and clean and similarity < 0.5:
        score += 1.5  # a line of its own with a title that nobody foresaw
    if _CONTINUED.match(seen.rest):
        score -= 2.0
        doubts.append("continuation")
    elif not clean and _SENTENCE_ON.match(seen.rest):
        if len(seen.rest) > 60 or similarity < 0.6 or _GOES_ON.match(seen.rest):
            score -= 3.5
            doubts.append("inline mention: the sentence goes on")
        else:
            score -= 0.5
    if similarity < 0.3 and re.match(r"[ ,;]{0,2}[a-z]", after_number.replace("\n", " ")) and "\n" not in after_number:
        score -= 4.0
        doubts.append("inline mention: no title")
    if after_number.startswith((",", ")", "”", '"', "’", ";")) and not (clean and similarity >= 0.5):
        score -= 4.0
        doubts.append("inline mention: punctuation after the number")
    previous = text[max(0, seen.start - 200) : seen.start].rstrip(" \t\xa0#*_>|")
    if seen.at_line_start:
        previous = previous[:-1] if previous.endswith("\n") else previous
    previous_line = previous.rsplit("\n", 1)[-1].rstrip()
    if _PART_PREFIX.fullmatch(previous_line):
        pass  # "PART II" on the line above is the usual place
    elif previous_line and _LEADING_ON.search(previous_line):
        score -= 3.5
        doubts.append("inline mention: the sentence before leads on")
    elif len(previous_line) > 60 and previous_line[-1].islower() and not previous_line.isupper():
        score -= 0.75
    return score, tuple(doubts)


def _scored(seen: _Seen, bonus: float, doubts: tuple[str, ...], part: str) -> Candidate:
    scores = []
    for item, similarity in zip(seen.items, seen.similarities, strict=True):
        score = 1.0 + 4.0 * similarity + bonus
        if similarity < 0.3 and seen.title:
            score -= 1.0
        if part:
            score += 1.5 if item.part == part else -1.5
        scores.append(score)
    return Candidate(
        items=seen.items,
        scores=tuple(scores),
        start=seen.start,
        end=seen.end,
        title=seen.title,
        numbers=seen.numbers,
        further=seen.further,
        doubts=doubts,
        at_line_start=seen.at_line_start,
        has_title=max(seen.similarities, default=0.0) >= 0.5,
        number_differs=seen.differs,
    )
