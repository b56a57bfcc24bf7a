"""Candidates for item headings: where a text says "Item 7", what follows, and what speaks for and against a heading."""

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, replace

from finrag_pipelines.parsing.item_schemes import Item, Scheme
from finrag_pipelines.parsing.model import ElementKind, Layout
from finrag_pipelines.parsing.title_match import letters, line_span, match_title

# "I TEM" is what small capitals become; no run in this module's patterns is unbounded, so that none can backtrack far.
_ITEM = re.compile(r"\b(?:i ?tems?|i t e m(?: s)?)(?![a-z’'])", re.IGNORECASE)
_REG_AB = r"\d{4}(?:\([a-z]\)(?:\(\d\))?)?"
_PLAIN = r"(?:\d{1,2}\.\d\d|\d{1,2}|X|I{1,3}|IV|VI{0,3}|IX)"
_SUFFIX = r"(?: ?\.? ?\(?[A-K]\)?(?![\w’'])|\.?[A-K](?![\w’']))?"
_ONE = rf"({_REG_AB}|{_PLAIN}{_SUFFIX})(?![0-9A-Za-z])(?: ?\(T\))?"
_NUMBER = re.compile(rf"\s{{0,30}}(?:no\.?|number|#)?\s{{0,30}}{_ONE}", re.IGNORECASE)
# Some PDFs give a line of small type as single letters: "I t e m 1 6 . F o r m".
_SPACED_NUMBER = re.compile(r" ?(\d ?\d?(?: ?[A-K](?! ?[a-z]))?) ?\.", re.IGNORECASE)
_LINK = r"(?:,\s{0,9}(?:and\s)?|and\s|&|/|through\s|to\s)"
_MORE = re.compile(rf"\s{{0,9}}\.?\s{{0,9}}({_LINK})\s{{0,9}}(?:i ?tems?\s{{1,9}})?{_ONE}", re.IGNORECASE)
_PART = re.compile(r"\bp ?art\s{1,9}(IV|I{1,3}|[1-4])\b", re.IGNORECASE)
_PART_PREFIX = re.compile(r"p ?art\s{1,9}(IV|I{1,3}|[1-4])[\s,.:;–—-]{0,9}", re.IGNORECASE)
_SEPARATOR = re.compile(
    r"[\s.:;\-–—‑|)\]*_#•·]{0,80}(?:of\s{1,3}reg(?:ulation|\.)?\s{1,3}AB\b[\s.:,\-–—]{0,9})?", re.IGNORECASE
)
_MARKUP = " \t\xa0\u200b#*_>|•·–—-†"
_QUOTES = "\"“”'‘’«("
_PAGE_NUMBER = re.compile(
    r"[\s.·…_|\-–—)]{0,200}?(?:pages?\s{1,5})?"
    r"((?:[A-Z]-)?\d{1,3}(?:\s?[-–,]\s?\d{1,3}){0,8}|[ivxlc]{1,6}|\*|\([a-z]\))[\s|*]{0,20}(?=\n|$)",
    re.IGNORECASE,
)
_LINE_NUMBER = re.compile(r"\d{1,3}[ \t]*$")
_EMPTY_BODY = re.compile(r"\b(?:none|not applicable|n/a|reserved|omitted|not required)\b", re.IGNORECASE)
_NO_TEXT = re.compile(r"\b(?:table of contents|pages?|part\s+[iv]{1,3})\b", re.IGNORECASE)
_LEADING_ON = re.compile(
    r"(?:\b(?:in|see|and|or|under|of|the|to|this|our|with|by|at|from|both|also|part\s[iv]{1,3})|[,(“\"‘—–-])$",
    re.IGNORECASE,
)
_SENTENCE_ON = re.compile(r"[ ,;]{0,3}(?:[a-z]|[”\"’]|“)")
_GOES_ON = re.compile(
    r"\W{0,4}(?:[”\"’]|(?:of|in|to|for|on|above|below|under|as|is|are|was|were|which|that|herein|included|contained)\b)",
    re.IGNORECASE,
)
_CONTINUED = re.compile(r"\W{0,8}continued\b|\W{0,8}cont[’'.]?d\b", re.IGNORECASE)

_BARE_NUMBER = re.compile(r"^[ \t]{0,60}(\d{1,2}[A-C]?)\.?[ \t]{1,20}(?=[A-Z])", re.MULTILINE)

_WHOLE_TITLE = 0.8  # similarity below which a mention inside a line is none that could be a heading
_FEW = 5  # titled item headings, below which other spellings are tried
_HEADER_PENALTY = 6.0
_NEAR = 3_000  # characters between neighbours in a contents list, entries of an item's own contents included
_ROMAN = {"I": "1", "II": "2", "III": "3", "IV": "4", "V": "5", "VI": "6", "VII": "7", "VIII": "8", "IX": "9"}
ACCEPTABLE = 1.5  # below this score a candidate is no heading, whatever its neighbours are


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


@dataclass(frozen=True)
class PartLine:
    """A line that opens a part of the form."""

    start: int
    part: str


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
    for match in _ITEM.finditer(text):
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
    marked = _trust_only_headers(_mark_repeated(text, _mark_contents(layout, lines)))
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


def _trust_only_headers(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Take the first of the page headers that name an item for its heading where nothing else does."""
    good = {c.key for c in candidates if max(c.scores, default=0.0) >= ACCEPTABLE}
    result = []
    for candidate in candidates:
        doubts = set(candidate.doubts)
        only_header = "page header" in doubts and doubts <= {"page header", "repeated line"}
        if only_header and candidate.has_title and candidate.key not in good:
            good.add(candidate.key)
            candidate = replace(candidate, scores=tuple(s + _HEADER_PENALTY for s in candidate.scores))
        result.append(candidate)
    return tuple(result)


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


def canonical_number(printed: str) -> str:
    """Return an item's number in one spelling: `7.a` -> `7A`, `4(a)` -> `4A`, `IV` -> `4`; `2.02` stays."""
    number = printed.upper().replace(" ", "")
    if re.fullmatch(r"\d+\.\d\d", number):
        return number
    if number[:4].isdigit():
        return number.lower()  # Regulation AB: `1114(b)(2)`
    number = number.replace(".", "").replace("(", "").replace(")", "")
    return _ROMAN.get(number, number)


def _read(text: str, match: re.Match[str], scheme: Scheme) -> _Seen | None:
    """Read one mention: its numbers, the title after them, and whether a line begins here. None where it is no item."""
    number = (_SPACED_NUMBER if match.group().lower().startswith("i t ") else _NUMBER).match(text, match.end())
    if number is None:
        return None
    numbers = [canonical_number(number.group(1))]
    end = number.end()
    while len(numbers) < 9 and (more := _MORE.match(text, end)):
        following = canonical_number(more.group(2))
        if more.group(1).lower().strip() in ("through", "to"):
            numbers += _between(numbers[-1], following, scheme)
        numbers.append(following)
        end = more.end()
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
    if (again := _ITEM.match(text, title_start)) and (number := _NUMBER.match(text, again.end())):
        if "\n" in separator or canonical_number(number.group(1)) != numbers[0]:
            title_start = end  # another item follows: this is a header line that lists the page's items
        else:
            title_start = max(_after_separator(text, number.end()), title_start)
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


def _between(first: str, last: str, scheme: Scheme) -> list[str]:
    numbers = [item.number for item in scheme.items]
    if first in numbers and last in numbers and numbers.index(first) < numbers.index(last):
        return numbers[numbers.index(first) + 1 : numbers.index(last)]
    return []


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
        score -= _HEADER_PENALTY
        doubts.append("page header")
    if seen.quoted:
        score -= 4.0
        doubts.append("quoted")
    if clean and similarity >= 0.5:
        score += 1.0
    if text[seen.start : seen.end].isupper():
        score += 0.5
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


def _mark_contents(layout: Layout, candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Mark the candidates that are entries of a contents list: close together, with page numbers or nothing between."""
    text = layout.text
    marked = Marks(layout, frozenset({ElementKind.CONTENTS}))
    ends = [*(c.start for c in candidates[1:]), len(text)][: len(candidates)]
    pages: list[str | None] = []
    empty: list[bool] = []
    left_out: list[bool] = []
    for candidate, following in zip(candidates, ends, strict=True):
        body = text[candidate.end : min(following, candidate.end + _NEAR)]
        page = _PAGE_NUMBER.match(body)
        pages.append(page.group(1) if page else _page_at_line_end(text, candidate, following))
        rest = _NO_TEXT.sub(" ", body)
        left_out.append(_EMPTY_BODY.search(body.split("\n", 1)[0]) is not None)
        empty.append(sum(c.isalpha() for c in rest) < 40 and not _EMPTY_BODY.search(rest) and following < len(text))
    result = list(candidates)
    clear = Counter(c.key for c in candidates if _is_clear(c))
    for run in _runs(candidates):
        last = max((i for i in run if pages[i] or empty[i] or left_out[i]), default=None)
        if last is None:
            continue
        entries = [i for i in run if i <= last]
        with_page = sum(pages[i] is not None for i in entries)
        blank = sum(empty[i] for i in entries)
        inside = Counter(candidates[i].key for i in run if _is_clear(candidates[i]))
        repeated = sum(clear[candidates[i].key] > inside[candidates[i].key] for i in entries)
        listed = with_page >= 3 and with_page >= 0.4 * sum(not left_out[i] for i in entries)
        # Titles without pages are a list only where the items come again: an asset-backed issuer omits a whole part.
        if listed or (len(entries) >= 5 and blank >= 0.8 * len(entries) and repeated >= 0.5 * len(entries)):
            for i in entries:
                result[i] = replace(_worse(candidates[i], 7.0, "contents list"), page_text=pages[i], contents=True)
    return tuple(
        c if c.contents or not marked.hold(c.start) else replace(_worse(c, 7.0, "contents list"), contents=True)
        for c in result
    )


def _is_clear(candidate: Candidate) -> bool:
    return candidate.has_title and not candidate.doubts


def _page_at_line_end(text: str, candidate: Candidate, following: int) -> str | None:
    """Read the page of an entry whose title is worded otherwise, or that has entries of its own, at its line's end."""
    line_end = min(line_span(text, candidate.end)[1], following)
    line = text[candidate.end : line_end]
    found = _LINE_NUMBER.search(line)
    return found.group().strip() if found and len(line) < 200 else None


def _runs(candidates: tuple[Candidate, ...]) -> list[list[int]]:
    """Split the candidates where they lie far apart or where an item comes a second time."""
    runs: list[list[int]] = []
    seen: set[str] = set()
    for i, candidate in enumerate(candidates):
        near = i > 0 and candidate.start - candidates[i - 1].end < _NEAR
        if not near or candidate.key in seen or not runs:
            runs.append([])
            seen = set()
        runs[-1].append(i)
        seen.add(candidate.key)
    return runs


def _mark_repeated(text: str, candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Lower the later ones of equal lines, and all of those without a title that come on many pages."""
    lines = [letters(text[c.start : line_span(text, c.start)[1]][:120]) + letters(c.title)[:40] for c in candidates]
    counts = Counter(line for line, c in zip(lines, candidates, strict=True) if not c.contents)
    seen: Counter[str] = Counter()
    result = []
    for line, candidate in zip(lines, candidates, strict=True):
        if not candidate.contents:
            seen[line] += 1
            if counts[line] >= 3 and not candidate.has_title:
                candidate = _worse(candidate, 4.0, "repeated page header")
            elif seen[line] > 1:
                candidate = _worse(candidate, 1.0, "repeated line")
        result.append(candidate)
    return tuple(result)


def _worse(candidate: Candidate, penalty: float, reason: str) -> Candidate:
    scores = tuple(score - penalty for score in candidate.scores)
    return replace(candidate, scores=scores, doubts=(*candidate.doubts, reason))
