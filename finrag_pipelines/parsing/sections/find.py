"""Sections of a document: a filing's items, chosen among candidate headings by their order, or else its titles."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from finrag_pipelines.parsing.model import FURNITURE, ElementKind, Heading, Layout, Section
from finrag_pipelines.parsing.sections.back_matter import after_signatures, back_matter, find_signatures
from finrag_pipelines.parsing.sections.candidates import ACCEPTABLE, Candidate
from finrag_pipelines.parsing.sections.cross_reference import place_by_contents, resolve_index
from finrag_pipelines.parsing.sections.headings import find_candidates
from finrag_pipelines.parsing.sections.item_schemes import Item, Scheme, scheme_for
from finrag_pipelines.parsing.sections.pointers import find_pointer
from finrag_pipelines.parsing.sections.title_headings import title_candidates
from finrag_pipelines.parsing.sections.title_match import letters

_TITLE_LENGTH = 60
_FEW = 4  # item headings, below which a report is taken to have none
_INDEX = 8  # items of a list that may stand for them
_LEFT_OUT = re.compile(
    r"\b(?:none|not\s+(?:applicable|required)|n/a|reserved|removed|omitted|no\s+\w+)\b", re.IGNORECASE
)
_PART_LINE = re.compile(r"^[ \t#*]{0,60}part\s{1,3}(?:IV|I{1,3})\b.{0,60}$", re.IGNORECASE | re.MULTILINE)
_FORM_ON_COVER = re.compile(
    r"^\W{0,9}form\s{1,3}(10-?K(?:405|SB)?|10-?Q(?:SB)?|8-?K|20-?F)(?:/A)?\b", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True)
class _Choice:
    """A heading that was chosen, the item it opens, and why it may be doubted."""

    candidate: Candidate
    item: Item
    score: float
    flags: tuple[str, ...] = ()


def find_sections(layout: Layout, form: str | None) -> tuple[tuple[Section, ...], tuple[Heading, ...]]:
    """Return the sections of a document in order and every candidate heading with the reason of its verdict.

    Sections do not overlap and cover the text. `Cover` comes before the first heading, `Signatures` after the last
    item. Where one heading opens several items, the first of them has the text, and each further one is an empty
    section at the heading whose pointer is the first. Forms without items get a section for each title.
    """
    scheme = scheme_for(form or _form_on_cover(layout.text))
    if scheme is not None:
        sections, headings = _item_sections(layout, scheme, complete=not (form or "").upper().endswith("/A"))
        if any(s.key not in ("Cover", "Signatures") for s in sections):
            return sections, headings
        titled, _ = _title_sections(layout)
        first = replace(titled[0], flags=(*titled[0].flags, "no_items_found")) if titled else None
        return ((first, *titled[1:]) if first else ()), headings
    return _title_sections(layout)


def _form_on_cover(text: str) -> str | None:
    found = _FORM_ON_COVER.search(text, 0, 6_000)
    return re.sub(r"^(10|8|20)-?", r"\1-", found.group(1).upper()) if found else None


def _item_sections(layout: Layout, scheme: Scheme, complete: bool) -> tuple[tuple[Section, ...], tuple[Heading, ...]]:
    numbered = find_candidates(layout, scheme)
    entries = [c for c in numbered if c.contents and c.items]
    listed = {c.key for c in entries}
    firm = [c for c in numbered if c.at_line_start]
    choices = _best_order(firm)
    index, leads = ((), ()), 0
    if len(choices) < _FEW and len(listed) >= _INDEX:
        index = resolve_index(layout, scheme, numbered)
        leads = sum(h.accepted and h.reason.startswith("cross reference") for h in index[1])
    if leads >= _FEW:
        return index
    found = {c.key for c in firm if not c.contents and c.has_title and max(c.scores) >= 3.0}
    wanted = [i for i in scheme.items if i.key not in found and (i.key in listed or (i.expected and len(found) < 5))]
    titled = title_candidates(layout, wanted, entries) if wanted else ()
    pool = tuple(sorted((*firm, *titled), key=lambda c: (c.start, not c.numbered)))
    choices = _best_order(pool)
    choices = _add_out_of_order(choices, pool)
    choices = _add_from_inside_lines(layout.text, choices, numbered, _wanted_items(scheme, choices, listed))
    if len(choices) < max(_FEW, leads) and index[0]:
        return index
    made = place_by_contents(layout, numbered, _wanted_items(scheme, choices, listed)) if choices else ()
    by_page = tuple(_Choice(c, item, ACCEPTABLE, flags) for item, c, flags in made if not _taken(c.start, choices))
    choices = tuple(sorted((*choices, *by_page), key=lambda c: c.candidate.start))
    titled = (*titled, *(c.candidate for c in by_page))
    if not choices:
        return (), _verdicts(numbered, titled, ())
    last = choices[-1].candidate.end
    end = min(find_signatures(layout.text, last), *(at for _, at in layout.joined if at > last), len(layout.text))
    sections = _cut(layout, scheme, choices, end, listed if complete else set(), complete)
    return sections, _verdicts(numbered, titled, choices)


def _wanted_items(scheme: Scheme, choices: Sequence[_Choice], listed: set[str]) -> tuple[Item, ...]:
    """Return the items that are not among `choices` although the contents list or the form says that they exist."""
    have = _covered(choices)
    return tuple(i for i in scheme.items if i.key not in have and (i.expected or i.key in listed))


def _taken(start: int, choices: Sequence[_Choice]) -> bool:
    return any(choice.candidate.start == start for choice in choices)


def _covered(choices: Iterable[_Choice]) -> set[str]:
    return {item.key for choice in choices for item in _opened(choice)}


def _opened(choice: _Choice) -> tuple[Item, ...]:
    """The items that a heading opens: the chosen one, and those after it in "Items 1 and 2"."""
    return (choice.item, *(i for i in choice.candidate.further if i.part == choice.item.part))


def _best_order(pool: Sequence[Candidate]) -> tuple[_Choice, ...]:
    """Choose the headings with the highest total score among all ways to pick them in the order of the form.

    One pass in text order: for each rank the best chain that ends there is kept, so the cost is candidates times items.
    """
    best: dict[int, tuple[float, tuple[_Choice, ...]]] = {}
    for candidate in pool:
        updates = []
        for item, score in zip(candidate.items, candidate.scores, strict=False):
            if score < ACCEPTABLE:
                continue
            before = max(
                ((total, chain) for rank, (total, chain) in best.items() if rank < item.rank),
                key=lambda pair: pair[0],
                default=(0.0, ()),
            )
            choice = _Choice(candidate, item, score)
            total = before[0] + score
            if item.rank not in best or total > best[item.rank][0]:
                updates.append((item.rank, (total, (*before[1], choice))))
        for rank, chain in updates:
            if rank not in best or chain[0] > best[rank][0]:
                best[rank] = chain
    return max(best.values(), key=lambda pair: pair[0], default=(0.0, ()))[1]


def _add_out_of_order(choices: tuple[_Choice, ...], pool: Sequence[Candidate]) -> tuple[_Choice, ...]:
    """Add items whose only convincing heading stands outside the form's order, flagged so."""
    have = _covered(choices)
    added: dict[str, _Choice] = {}
    for candidate in pool:
        if not candidate.numbered or candidate.contents or candidate.doubts or not candidate.has_title:
            continue
        score, item = max(zip(candidate.scores, candidate.items, strict=False), key=lambda pair: pair[0])
        if score >= 5.5 and item.key not in have and (item.key not in added or score > added[item.key].score):
            added[item.key] = _Choice(candidate, item, score, ("out_of_order",))
    return tuple(sorted((*choices, *added.values()), key=lambda c: c.candidate.start))


def _add_from_inside_lines(
    text: str, choices: tuple[_Choice, ...], numbered: Sequence[Candidate], missing: Sequence[Item]
) -> tuple[_Choice, ...]:
    """Add missing items whose heading was glued to the line before it, where it stands between its neighbours."""
    added = list(choices)
    for item in missing:
        low = max((c.candidate.end for c in choices if c.item.rank < item.rank), default=0)
        later = [c.candidate.start for c in choices if c.item.rank > item.rank and c.candidate.start > low]
        high = min(later) if later else find_signatures(text, low)
        for candidate in numbered:
            if candidate.at_line_start or candidate.doubts or item not in candidate.items:
                continue
            score = candidate.scores[candidate.items.index(item)]
            if low <= candidate.start < high and score >= 4.2:
                added.append(_Choice(candidate, item, score, ("inside_line",)))
                break
    return tuple(sorted(added, key=lambda c: c.candidate.start))


def _cut(
    layout: Layout, scheme: Scheme, choices: Sequence[_Choice], end: int, listed: set[str], complete: bool
) -> tuple[Section, ...]:
    text = layout.text
    sections: list[Section] = []
    own = {choice.item.key for choice in choices}
    missing = _missing(scheme, choices, listed) if complete else {}
    if choices[0].candidate.start > 0:
        sections.append(Section("Cover", "Cover", 0, choices[0].candidate.start, flags=missing.get("", ())))
    ends = [c.candidate.start for c in choices[1:]] + [end]
    for choice, section_end in zip(choices, ends, strict=True):
        candidate = choice.candidate
        cuts = back_matter(layout, candidate.end, section_end) if choice.item.number == "16" else []
        stop = cuts[0][0] if cuts else section_end
        body = text[candidate.end : stop]
        flags = list(choice.flags)
        if candidate.number_differs:
            flags.append("heading_number_differs")
        if not candidate.numbered:
            flags.append("number_missing")
        if choice.score < 3.0:
            flags.append("weak_heading")
        pointer = None if _is_exhibits(choice.item) else find_pointer(_without_part_line(body), choice.item.number)
        flags += _size_flags(choice.item, body, pointer)
        flags += missing.get(choice.item.key, ())
        title = candidate.title or choice.item.titles[0]
        for other in (i for i in _opened(choice)[1:] if i.key not in own):
            sections.append(Section(other.key, title, candidate.start, candidate.start, pointer=choice.item.key))
        sections.append(Section(choice.item.key, title, candidate.start, stop, pointer, tuple(flags)))
        for i, (at, key) in enumerate(cuts):
            sections.append(Section(key, key, at, cuts[i + 1][0] if i + 1 < len(cuts) else section_end))
    sections = _share_pointers(sections)
    if end < len(text):
        sections += after_signatures(layout, end)
    return tuple(sections)


def _missing(scheme: Scheme, choices: Sequence[_Choice], listed: set[str]) -> dict[str, tuple[str, ...]]:
    """Say of each item that should be there and is not found, as a flag under the key of the item before it (empty for
    the cover). What a contents list leaves out is not expected."""
    have = _covered(choices)
    numbers = {i.number for i in scheme.items if i.key in have}
    flags: dict[str, tuple[str, ...]] = {}
    for item in scheme.items:
        expected = (item.expected or item.expected_with in numbers) and len(listed) <= _FEW
        if item.key not in have and (expected or item.key in listed):
            before = max((c.item for c in choices if c.item.rank < item.rank), key=lambda i: i.rank, default=None)
            host = before.key if before else ""
            flags[host] = (*flags.get(host, ()), f"missing_expected:{item.key}")
    return flags


def _share_pointers(sections: list[Section]) -> list[Section]:
    """Give the pointer of an item to the empty items right before it: one sentence answers for all of them."""
    shared: list[Section] = []
    following: Section | None = None
    for section in reversed(sections):
        if following is not None and "empty" in section.flags and following.pointer and section.pointer is None:
            section = replace(section, pointer=following.pointer)
        shared.append(section)
        following = section
    return shared[::-1]


def _size_flags(item: Item, body: str, pointer: str | None) -> list[str]:
    said = letters(_without_part_line(body[:5_000]))
    if not said and item.smallest:
        return ["empty"]
    if len(body) > item.largest:
        return ["absurd_size"]
    if len(said) < item.smallest and pointer is None and not _LEFT_OUT.search(body):
        return ["absurd_size"]
    return []


def _is_exhibits(item: Item) -> bool:
    """Lists of exhibits refer to other filings throughout, and are no pointers for that."""
    return item.titles[0].startswith("Exhibits")


def _without_part_line(body: str) -> str:
    """Drop what an item's body takes along of the next part: the part's line and a preamble to its items."""
    last = max((m.start() for m in _PART_LINE.finditer(body)), default=0)
    return body[:last] if last else body


def _verdicts(
    numbered: Sequence[Candidate], titled: Sequence[Candidate], choices: Sequence[_Choice]
) -> tuple[Heading, ...]:
    chosen = {id(c.candidate): c for c in choices}
    keys = _covered(choices)
    headings = []
    for candidate in sorted((*numbered, *titled), key=lambda c: (c.start, c.end)):
        choice = chosen.get(id(candidate))
        if choice is not None:
            reason = "; ".join((f"score {choice.score:.1f}", *choice.flags, *candidate.doubts))
            headings.append(Heading(choice.item.key, candidate.start, candidate.end, True, reason))
        elif candidate.at_line_start:
            if candidate.doubts:
                reason = "; ".join(candidate.doubts)
            elif not candidate.items:
                reason = "no such item in this form"
            elif candidate.key in keys:
                reason = "a better heading for this item was found"
            else:
                reason = "outside the order of the items"
            headings.append(Heading(candidate.key, candidate.start, candidate.end, False, reason))
    return tuple(headings)


def _title_sections(layout: Layout) -> tuple[tuple[Section, ...], tuple[Heading, ...]]:
    """A section from each title to the next. Titles that follow each other without a text between open one section."""
    elements = [e for e in layout.elements if e.kind not in FURNITURE and layout.text[e.start : e.end].strip()]
    starts: list[tuple[int, int]] = []
    previous: ElementKind | None = None
    for element in elements:
        if element.kind is ElementKind.TITLE and previous is not ElementKind.TITLE:
            starts.append((element.start, element.end))
        previous = element.kind
    if not layout.text:
        return (), ()
    bounds = [start for start, _ in starts] + [len(layout.text)]
    sections = [Section("Cover", "Cover", 0, bounds[0])] if bounds[0] > 0 else []
    headings = []
    for (start, end), stop in zip(starts, bounds[1:], strict=True):
        title = " ".join(layout.text[start:end].split())
        sections.append(Section(title[:_TITLE_LENGTH].strip(), title[:200], start, stop))
        headings.append(Heading(sections[-1].key, start, end, True, "title"))
    return tuple(sections), tuple(headings)
