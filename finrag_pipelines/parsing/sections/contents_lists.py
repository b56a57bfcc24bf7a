"""Candidates seen together: which are entries of a contents list, which come again on each page as a header."""

import re
from collections import Counter
from dataclasses import replace

from finrag_pipelines.parsing.model import ElementKind, Layout
from finrag_pipelines.parsing.sections.candidates import ACCEPTABLE, HEADER_PENALTY, Candidate, Marks, lowered
from finrag_pipelines.parsing.sections.title_match import letters, line_span

_PAGE_NUMBER = re.compile(
    r"[\s.·…_|\-–—)]{0,200}?(?:pages?\s{1,5})?"
    r"((?:[A-Z]-)?\d{1,3}(?:\s?[-–,]\s?\d{1,3}){0,8}|[ivxlc]{1,6}|\*|\([a-z]\))[\s|*]{0,20}(?=\n|$)",
    re.IGNORECASE,
)
_LINE_NUMBER = re.compile(r"\d{1,3}[ \t]*$")
_EMPTY_BODY = re.compile(r"\b(?:none|not applicable|n/a|reserved|omitted|not required)\b", re.IGNORECASE)
_NO_TEXT = re.compile(r"\b(?:table of contents|pages?|part\s+[iv]{1,3})\b", re.IGNORECASE)
# "Item 3. Legal Proceedings. See Note 12" ends in a number and is no entry.
_REFERS = re.compile(
    r"\b(?:see|refer|notes?|incorporated|included|information|exhibit|section)\b|\.\s+[A-Z]", re.IGNORECASE
)
_NEAR = 3_000  # characters between neighbours in a contents list, entries of an item's own contents included


def mark_contents(layout: Layout, candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
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
                result[i] = replace(lowered(candidates[i], 7.0, "contents list"), page_text=pages[i], contents=True)
    for i, candidate in enumerate(result):
        if not candidate.contents and empty[i]:
            result[i] = lowered(candidate, 0.75, "nothing follows")
    return tuple(
        c if c.contents or not marked.hold(c.start) else replace(lowered(c, 7.0, "contents list"), contents=True)
        for c in result
    )


def _is_clear(candidate: Candidate) -> bool:
    return candidate.has_title and not candidate.doubts


def _page_at_line_end(text: str, candidate: Candidate, following: int) -> str | None:
    """Read the page of an entry whose title is worded otherwise, or that has entries of its own, at its line's end."""
    line_end = min(line_span(text, candidate.end)[1], following)
    line = text[candidate.end : line_end]
    found = _LINE_NUMBER.search(line)
    return found.group().strip() if found and len(line) < 120 and not _REFERS.search(line) else None


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


def mark_repeated(text: str, candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Lower the later ones of equal lines, and all of those without a title that come on many pages."""
    lines = [letters(text[c.start : line_span(text, c.start)[1]][:120]) + letters(c.title)[:40] for c in candidates]
    counts = Counter(line for line, c in zip(lines, candidates, strict=True) if not c.contents)
    seen: Counter[str] = Counter()
    result = []
    for line, candidate in zip(lines, candidates, strict=True):
        if not candidate.contents:
            if counts[line] >= 3 and not candidate.has_title:
                candidate = lowered(candidate, 4.0, "repeated page header")
            elif seen[line]:
                candidate = lowered(candidate, 1.0, "repeated line")
            seen[line] += not candidate.doubts
        result.append(candidate)
    return tuple(result)


def trust_only_headers(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Take the first of the page headers that name an item for its heading where nothing else does."""
    good = {c.key for c in candidates if max(c.scores, default=0.0) >= ACCEPTABLE}
    result = []
    for candidate in candidates:
        doubts = set(candidate.doubts)
        only_header = "page header" in doubts and doubts <= {"page header", "repeated line"}
        if only_header and candidate.has_title and candidate.key not in good:
            good.add(candidate.key)
            candidate = replace(candidate, scores=tuple(s + HEADER_PENALTY for s in candidate.scores))
        result.append(candidate)
    return tuple(result)
