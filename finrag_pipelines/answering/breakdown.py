"""Figures of a part of a company (a segment, product or region), and the highest or lowest of several parts.

The parts are not a list that is kept here: they are what the company's own tables have as rows and columns.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from finrag_pipelines.answering.documents import Figure, is_whole, label_key, without_notes
from finrag_pipelines.answering.question import Ask, Measure, measure_phrases, measures_named
from finrag_pipelines.answering.words import STOP_WORDS, Phrases, content_stems, flat, normal, phrases, stem, word_list

LONGEST_PART = 7
_GENERIC = frozenset(word_list("generic_words")) | frozenset(word_list("header_words")) | STOP_WORDS
_EMPTY = frozenset(map(stem, word_list("empty_topic_words")))
_WHOLE = phrases("whole_company_parts")
_COMPARISON_COLUMNS = phrases("comparison_columns")
_OTHER_SCOPE = phrases("other_scope")
_DIMENSIONS = {key: (phrases(f"{key}_questions"), phrases(f"{key}_tables")) for key in ("segment", "region", "product")}
LEAST = Phrases(["lowest", "smallest", "least", "worst", "weakest"])


@dataclass(frozen=True)
class PartFigure:
    """A figure of a part, `part` folded and `name` as printed; `fit` is higher where label and place say measure and
    part and nothing else."""

    figure: Figure
    part: str
    fit: float
    name: str


def header_key(header: str) -> str:
    """Return what a column header says beside periods, units and the whole company."""
    kept = [one for one in label_key(header).split() if one not in _HEADER_WORDS and not any(map(str.isdigit, one))]
    return " ".join(kept)


_HEADER_WORDS = frozenset(word_list("header_words"))


@lru_cache(maxsize=64)
def part_names(figures: tuple[Figure, ...]) -> frozenset[str]:
    """Return the folded names of rows, paths and columns that can be parts: neither line items nor plain words."""
    keys: set[str] = set()
    for one in figures:
        keys |= {one.key, header_key(one.header), *(label_key(step) for step in one.path)}
    return frozenset(key for key in keys if _can_be_part(key))


_HOME = frozenset({"united states", "united states of america", "u s", "us", "usa"})


def _can_be_part(key: str) -> bool:
    found = key.split()
    if not found or len(found) > LONGEST_PART or any(map(str.isdigit, key)) or measures_named(key):
        return False
    return key in _HOME or any(one not in _GENERIC and stem(one) not in _EMPTY and len(one) > 1 for one in found)


def parts_asked(question: str, ask: Ask, names: frozenset[str], own: frozenset[str]) -> tuple[str, ...]:
    """Return the parts that a question names, longest first: written as a name, or right before the measure.

    `own` are the folded words of the company's names: they name no part of it.
    """
    spoken = measure_phrases(ask.ratio, ask.measures)
    tokens = [(match.group(), label_key(match.group())) for match in re.finditer(r"[^\s,;:?!()\"“”]+", question)]
    folded = [re.sub(r" ?s$", "", key) if raw.endswith(("'s", "’s")) else key for raw, key in tokens]
    taken = [False] * len(tokens)
    if spoken and (hit := spoken.first(normal(question))):
        _take(folded, taken, label_key(hit).split())
    found: list[str] = []
    for length in range(min(LONGEST_PART, len(tokens)), 0, -1):
        for start in range(len(tokens) - length + 1):
            if any(taken[start : start + length]):
                continue
            span = folded[start : start + length]
            joined = " ".join(one for one in span if one)
            named = any(char.isupper() for raw, _ in tokens[start : start + length] for char in raw)
            key = joined if joined in names else _initials(tokens[start : start + length], names)
            narrows = length > 1 and set(content_stems(joined)) <= set(ask.qualifiers)
            if not key or set(joined.split()) <= own or not (narrows or (named and start)):
                continue
            found.append(key)
            taken[start : start + length] = [True] * length
    return tuple(found)


def printed(question: str, part: str) -> str:
    """Return a part as the question writes it."""
    pattern = r"[\W_]+".join(map(re.escape, part.split()))
    match = re.search(rf"\b{pattern}\b", question, re.IGNORECASE)
    return match.group() if match else part.upper()


def _take(folded: Sequence[str], taken: list[bool], words: Sequence[str]) -> None:
    for start in range(len(folded) - len(words) + 1):
        if list(folded[start : start + len(words)]) == list(words):
            taken[start : start + len(words)] = [True] * len(words)
            return


def _initials(tokens: Sequence[tuple[str, str]], names: frozenset[str]) -> str | None:
    """Return the abbreviation under which a table may have a name of several capitalised words, or None."""
    pieces = [piece for raw, _ in tokens for piece in re.split(r"[-\s]", raw.removesuffix("'s").removesuffix("’s"))]
    if len(pieces) < 3 or not all(one[:1].isupper() for one in pieces):
        return None
    short = "".join(one[0] for one in pieces).casefold()
    return short if short in names else None


def figures_of_part(figures: Iterable[Figure], part: str, ask: Ask, measure: Measure | None) -> list[PartFigure]:
    """Return the figures of a part that state the measure, best first; for percent only a ratio is a measure."""
    found = []
    for one in figures:
        where = _place_of(one, part)
        if where and (fit := _measure_fit(one, where, ask, measure)) > 0:
            found.append(PartFigure(one, part, fit, part))
    return sorted(found, key=lambda one: (-one.fit, one.figure.row_start, one.figure.column))


def _place_of(figure: Figure, part: str) -> str | None:
    if figure.key == part:
        return "label"
    if any(label_key(step) == part for step in figure.path):
        return None if _WHOLE.first(figure.key) else "path"  # a total below the last part is no row of that part
    column = header_key(figure.header)
    return "header" if column == part or column.endswith(f" {part}") else None


def _measure_fit(figure: Figure, where: str, ask: Ask, measure: Measure | None) -> float:
    """Return how surely a figure is that of the measure: what is nearest to the number says what it is."""
    wants_share = ask.ratio is not None or bool(measure and measure.statement == "any")
    if (figure.unit == "percent") != wants_share and (figure.unit == "percent" or ask.ratio is not None):
        return 0.0
    if _COMPARISON_COLUMNS.first(normal(f"{figure.header} . {' . '.join(figure.path)}")) or _OTHER_SCOPE.first(
        normal(f"{figure.header} {figure.caption}")
    ):
        return 0.0
    if figure.unit == "USD/share":
        return 0.0
    texts = [("label", figure.key), *(("path", label_key(one)) for one in reversed(figure.path))]
    texts += [("header", header_key(figure.header)), ("caption", label_key(figure.caption))]
    spoken = measure_phrases(ask.ratio, ask.measures)
    if spoken is None:
        return 0.0
    for place, text in texts:
        if place == where or not text:
            continue
        if place == "path" and where == "label" and not measures_named(text) and not spoken.first(text):
            continue
        hit = spoken.first(text)
        if hit:
            whole = place != "caption" and _tidy(text) in (hit, f"total {hit}", f"{hit} loss")
            named = _single(text, hit)
            return {"label": 1.0, "path": 0.95, "header": 0.9, "caption": 0.85}[place] + 0.1 * whole - 0.2 * (not named)
        if measures_named(text) and place != "caption":
            return 0.0  # another line item of the same part
    local = (figure.concept or "").rpartition(":")[2]
    if where == "label" and measure and local in measure.concepts and not ask.ratio:
        return 0.8
    return 0.0


def _tidy(text: str) -> str:
    return flat(text)


def _single(text: str, hit: str) -> bool:
    """Tell whether a caption names no other line item than the one that was found in it."""
    rest = f" {flat(text)} ".replace(f" {flat(hit)} ", " ")
    return not measures_named(rest)


@dataclass(frozen=True)
class Ranking:
    """The parts of one table with their figures, and the words that name the dimension."""

    figures: tuple[PartFigure, ...]


def rankings(figures: Sequence[Figure], ask: Ask, measure: Measure | None) -> list[Ranking]:
    """Return the groups of parts that can be ranked by the measure, best first: rows or columns of one table."""
    groups: dict[tuple, list[PartFigure]] = {}
    for one in figures:
        if one.statement in ("balance", "cash_flow"):
            continue
        column = header_key(one.header)
        label = without_notes(one.label).rstrip(":")
        places: list[tuple[str, str, str, tuple]] = [
            ("label", one.key, label, (one.table_start, "rows", tuple(one.path), one.header))
        ]
        if column:
            group = (one.table_start, "columns", one.key, tuple(one.path))
            places.append(("header", column, header_text(one.header), group))
        if one.path and measures_named(one.key):
            step = one.path[-1].rstrip(":")
            places.append(("path", label_key(step), step, (one.table_start, "paths", one.key, one.header)))
        for where, part, name, group in places:
            if not _can_be_part(part) or _WHOLE.first(part) or _COMPARISON_COLUMNS.first(part):
                continue
            if (fit := _measure_fit(one, where, ask, measure)) > 0:
                groups.setdefault(group, []).append(PartFigure(one, part, fit, name))
    groups |= _by_caption(figures, ask, measure)
    wanted = _dimension(normal(ask.question))
    found = []
    for group, members in groups.items():
        distinct = {one.part: one for one in reversed(members)}
        if len(distinct) < 2 or len(distinct) != len(members) or sum(1 for one in members if one.figure.value) < 2:
            continue
        about = normal(" ".join((members[0].figure.caption, members[0].figure.header, *members[0].figure.path)))
        fit = min(one.fit for one in members) + (0.1 if group[1] == "captions" else _dimension_fit(wanted, about))
        if fit > 0.5:
            found.append((-fit, group[0], Ranking(tuple(members))))
    return [one for _, _, one in sorted(found, key=lambda one: one[:2])]


def _by_caption(figures: Sequence[Figure], ask: Ask, measure: Measure | None) -> dict[tuple, list[PartFigure]]:
    """Group equal rows of sibling tables, whose captions differ in the part: `Results of … were as follows`."""
    rows: dict[tuple[str, str], list[Figure]] = {}
    for one in figures:
        if (
            one.caption
            and is_whole(one)
            and measures_named(one.key)
            and _measure_fit(one, "caption", ask, measure) >= 1.0
        ):
            rows.setdefault((one.key, one.header), []).append(one)
    groups: dict[tuple, list[PartFigure]] = {}
    for (key, header), members in rows.items():
        for first in members:
            siblings = [(one, part) for one in members if (part := _differing(first.caption, one.caption))]
            if not siblings:
                continue
            own = _differing(siblings[0][0].caption, first.caption)
            named = [(first, own), *siblings]
            found = [PartFigure(one, label_key(part), 1.0, part) for one, part in named]
            if all(_can_be_part(one.part) for one in found):
                groups.setdefault((first.table_start, "captions", key, header), found)
            break
    return groups


def _differing(one: str, other: str) -> str:
    """Return the words of `other` where two captions that begin and end alike differ; empty where they do not."""
    left, right = one.split(), other.split()
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    while end and (right[len(right) - end][:1].isupper() or right[len(right) - end] == "&"):
        end -= 1  # the name goes on: `Business Insurance`
    alike = start + end
    return " ".join(right[start : len(right) - end]) if start and alike >= 3 and start + end < len(right) else ""


def header_text(header: str) -> str:
    """Return the words of a column header that name a part, as printed, a repeated one once."""
    kept = [
        one
        for one in header.split()
        if not any(map(str.isdigit, one)) and (label_key(one) not in _HEADER_WORDS or one == "&")
    ]
    return " ".join(one for at, one in enumerate(kept) if not at or one != kept[at - 1])


def _dimension(folded: str) -> str | None:
    return next((key for key, (asked, _) in _DIMENSIONS.items() if asked.first(folded)), None)


def _dimension_fit(wanted: str | None, about: str) -> float:
    if wanted is None:
        return 0.0
    if _DIMENSIONS[wanted][1].first(about):
        return 0.3
    return -1.0


def narrowing_stems(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the stems of the parts that a question names."""
    return tuple(sorted({one for part in parts for one in content_stems(part)}))
