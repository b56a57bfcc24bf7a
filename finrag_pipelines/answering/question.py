"""What a question asks for beside its scope: the kind of answer, the measures it names, and its topic."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import resources
from itertools import takewhile
from typing import Any

from finrag_pipelines.answering.words import Phrases, content_stems, flat, normal, phrases, stem, word_list, words
from finrag_pipelines.retrieval.model import Plan
from finrag_pipelines.storage import digest


@dataclass(frozen=True)
class Measure:
    """A line item: its name for people, the statement it stands in, and the row labels and concepts that mean it."""

    key: str
    name: str
    statement: str
    labels: tuple[str, ...]
    concepts: tuple[str, ...]


@dataclass(frozen=True)
class Ratio:
    """A computed measure: formula over line items, and its unit (percent, ratio, days or money)."""

    key: str
    name: str
    unit: str
    formula: str
    otherwise: str | None = None


@dataclass(frozen=True)
class Ask:
    """What kind of answer a question wants.

    `kind` is one of amount, ratio, reason, change, statement, list, yes_no, when, who, what. `over_time` is growth,
    compound, mean, difference or None. `topic` holds the stems that evidence must be about, `optional` those that
    the lexicon added, `qualifiers` what the topic says beside a named measure (`underlying`, `General
    Insurance`). `share_of` is (part, whole) where a percentage of one line item in another is
    wanted; `part` is the segment, product or region that a figure is wanted of; `speakers` the people whose words
    are wanted; `direction` is `up` or `down` where the question says that something rose or fell; `across_companies`
    tells that no company is named because several are meant.
    """

    kind: str
    question: str
    measures: tuple[str, ...] = ()
    ratio: str | None = None
    over_time: str | None = None
    topic: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    wants_analyst: bool = False
    attributed: bool = False
    wants_change: bool = False
    wants_reason: bool = False
    wants_figure: bool = False
    qualifiers: tuple[str, ...] = ()
    superlative: bool = False
    share_of: tuple[str, str] | None = None
    part: str = ""
    speakers: tuple[str, ...] = ()
    direction: str = ""
    across_companies: bool = False


@cache
def _table(name: str) -> dict[str, Any]:
    return json.loads(resources.files("finrag_pipelines.answering").joinpath(f"{name}.json").read_text("utf-8"))


def rule_digests() -> tuple[str, ...]:
    """Return `name=sha256` of the tables of measures and ratios."""
    return tuple(f"{name}={digest(_table(name))}" for name in ("measures", "ratios"))


@cache
def measures() -> dict[str, Measure]:
    """Return the table of line items by key."""
    return {
        key: Measure(key, row["name"], row["statement"], tuple(row["labels"]), tuple(row["concepts"]))
        for key, row in _table("measures")["measures"].items()
    }


@cache
def ratios() -> dict[str, Ratio]:
    """Return the table of computed measures by key."""
    return {
        key: Ratio(key, row["name"], row["unit"], row["formula"], row.get("otherwise"))
        for key, row in _table("ratios")["ratios"].items()
    }


@cache
def _asks(table: str, key: str) -> Phrases:
    return Phrases(_table(table)[table][key]["asks"])


@cache
def _over_time(key: str) -> Phrases:
    return Phrases(_table("ratios")["over_time"][key])


def asks_analyst(question: str) -> bool:
    """Tell whether a question asks about what an analyst said."""
    return bool(_ANALYST.first(normal(question)))


_DEFINITION = re.compile(
    r"(?i:(?:^|(?<=[.?!]))\s*(?:please\s+)?(?:define|calculate|compute)\b[^.?!]*(?:\bas\b|\busing\b)[^?!]*?[.?!](?=\s|$))"
    r"|[A-Z][^.?!]{0,80}\bis defined as\b[^?!]*?[.?!](?=\s|$)|\b\w+ here is defined as\b[^?!]*?[.?!](?=\s|$)"
)
_INSTRUCTION = re.compile(
    r"\b(?:answer in|round your|round answer|round to|state answer|please |respond to the question"
    r"|approach the question|provide a response|give a response|calculate what was asked|compute or extract"
    r"|address the question|base your judg)[^.?!]*[.?!]?",
    re.IGNORECASE,
)
_REASON = phrases("asks_reason")
_CHANGE = phrases("asks_change")
_STATEMENT = phrases("asks_statement")
_AMOUNT = phrases("asks_amount")
_VARIANTS = frozenset(word_list("variant_words"))
VARIANT_STEMS = frozenset(map(stem, _VARIANTS))
_SUPERLATIVE = phrases("superlatives")
_WHAT_CHANGED = Phrases(
    [
        "what changed",
        "what exactly changed",
        "what has changed",
        "what have changed",
        "what was changed",
        "which changes",
    ]
)
_ANALYST = phrases("asks_analyst")
_DEFINES = phrases("asks_definition")
_YES_NO = frozenset(word_list("yes_no_openers"))


LONGEST_QUESTION = 4_000


def core(question: str) -> str:
    """Return the question without the definitions and instructions that came with it."""
    question = question[:LONGEST_QUESTION]
    bare = _INSTRUCTION.sub(" ", _DEFINITION.sub(" ", question))
    return bare if content_stems(bare) else question


def read_question(question: str, plan: Plan, section_titles: Iterable[str] = ()) -> Ask:
    """Read what kind of answer is wanted. The scope is the plan's; here it is only taken out of the topic.

    `section_titles` are those of the sections that the plan asks for: they name a place, not a topic.
    """
    bare = core(question)
    folded, whole = normal(bare), normal(question)
    for name in sorted(word_list("statement_names"), key=len, reverse=True):
        folded = folded.replace(name, " ")
    scope = _scope_stems(plan)
    ratio = _longest("ratios", ratios(), folded) or _longest("ratios", ratios(), whole)
    named = measures_named(folded)
    over_time = next(
        (key for key in ("compound", "mean", "growth", "difference") if _over_time(key).first(folded)), None
    )
    first = (words(bare) or [""])[0]
    if first in _YES_NO and over_time is None and (named or ratio) and _direction(folded, ratio, named):
        over_time = "difference" if ratio else "growth"
    reason = bool(_REASON.first(folded))
    kind = _kind(folded, first, reason, ratio, named, over_time)
    if kind == "ratio" and not ratio and over_time is None:
        # The growth of a percentage says little: the periods of a stated ratio are set side by side.
        stated = all(key.endswith("_ratio") for key in named)
        kind, over_time = ("amount", None) if stated else ("ratio", "growth")
    ranked = set(content_stems(plan.ranking_query))
    share = None if ratio else _share(folded, named)
    if share:
        kind, over_time = "ratio" if kind not in ("reason", "yes_no") else kind, over_time
    empty = _EMPTY - _OFFICES if kind == "who" else _EMPTY  # "Who is the CFO?" asks for whom an office belongs to
    topic = [one for one in content_stems(folded) if one not in scope and one not in empty]
    topic = [one for one in topic if not ranked or one in ranked or "-" in one or "&" in one]
    topic = [one for one in topic if not (one.isdigit() and len(one) < 3)]
    place = {one for title in section_titles for one in content_stems(title)}
    topic = [one for one in topic if one not in place] or topic
    phrase = _phrase_stems(ratio, named)
    added = [one for _, terms in plan.expansions for term in terms for one in content_stems(term)]
    return Ask(
        kind=kind,
        question=question,
        measures=named,
        ratio=ratio,
        over_time=over_time,
        topic=tuple(dict.fromkeys(topic)),
        optional=tuple(one for one in dict.fromkeys(added) if one not in topic and one not in scope),
        wants_analyst=bool(_ANALYST.first(folded)) or "analyst" in plan.roles,
        attributed=bool(_STATEMENT.first(folded)),
        wants_change=bool(_CHANGE.first(folded)) or over_time in ("growth", "difference"),
        wants_reason=reason,
        wants_figure=bool(ratio or named) and bool(_AMOUNT.first(folded) or first == "what"),
        qualifiers=_qualifiers(folded, ratio, named, scope) if phrase else (),
        superlative=bool(_SUPERLATIVE.first(folded)) and "to the best of" not in folded,
        share_of=share,
        direction=_direction(folded, ratio, named),
        across_companies=bool(_ACROSS.first(folded)),
    )


def asks_office(ask: Ask) -> bool:
    """Tell whether a question asks about an office, such as that of the chief financial officer."""
    return bool(_OFFICES.intersection(ask.topic))


def with_speakers(ask: Ask, speakers: Iterable[str]) -> Ask:
    """Return what is asked with the people that the question names, as far as they spoke; their names are no topic."""
    folded = f" {flat(ask.question.replace(chr(8217) + 's', '').replace(chr(39) + 's', ''))} "
    found = tuple(sorted({one for one in speakers if _names(one, folded)}))
    names = {stem for one in found for stem in content_stems(one)}
    return replace(ask, speakers=found, topic=tuple(one for one in ask.topic if one not in names)) if found else ask


def _names(speaker: str, folded: str) -> bool:
    """Tell whether a text names a speaker: first and last name, or the last name as a name (`Ms. Griffith`)."""
    found = flat(speaker).split()
    if len(found) < 2:
        return False
    if f" {found[-1]} " not in folded:
        return False
    return f" {found[0]} " in folded or any(f" {title} {found[-1]} " in folded for title in ("mr", "ms", "mrs", "dr"))


_EMPTY = frozenset(map(stem, word_list("empty_topic_words")))
_OFFICES = frozenset(map(stem, word_list("offices")))


def _phrase_stems(ratio: str | None, named: tuple[str, ...]) -> set[str]:
    """Return the stems of all names of the measures that a question names."""
    rows = [_table("ratios")["ratios"][ratio]] if ratio else []
    rows += [_table("measures")["measures"][key] for key in named]
    return {one for row in rows for ask in (*row["asks"], *row.get("labels", ())) for one in content_stems(ask)}


@cache
def measure_phrases(ratio: str | None, named: tuple[str, ...]) -> Phrases | None:
    """Return the spellings under which a passage may speak of the named measures; None where none is named."""
    rows = [_table("ratios")["ratios"][ratio]] if ratio else []
    rows += [_table("measures")["measures"][key] for key in named]
    listed = [one for row in rows for one in (*row["asks"], *row.get("labels", ()))]
    return Phrases(listed) if listed else None


def _scope_stems(plan: Plan) -> set[str]:
    from finrag_pipelines.catalog.companies import load_companies, name_words

    found: set[str] = set()
    for company in plan.companies:
        found.add(company.casefold())
        known = load_companies().get(company)
        if known:
            for name in (known.name, *known.aliases, *known.tickers, *known.former_names):
                found |= set(content_stems(name)) | {stem(one) for one in name_words(name)}
    for period in plan.periods:
        found |= {period.casefold(), *re.findall(r"\d{4}", period)}
    found |= {f"q{n}" for n in range(1, 5)} | {"fy", "first", "second", "third", "fourth", "annual", "calendar"}
    found |= {str(year) for year in range(1990, 2051)} | {f"fy{year}" for year in range(1990, 2051)}
    return found


def _qualifiers(folded: str, ratio: str | None, named: tuple[str, ...], scope: set[str]) -> tuple[str, ...]:
    """Return the stems that narrow a named measure: the words right before its name (`underlying`, `General
    Insurance`), and what is asked to have an effect on it."""
    names = measure_phrases(ratio, named)
    hit = names.first(folded) if names else None
    text = f" {flat(folded)} "
    place = text.find(f" {hit} ") if hit else -1
    if place < 0:
        return ()
    found = [stem(one) for one in text.split() if one in _VARIANTS and f" {one} " not in f" {hit} "]
    before, after = text[:place].split(), text[place + len(hit or "") + 2 :].split()
    if after and after[0] in _ANOTHER_ITEM:  # a goodwill impairment is no goodwill
        found.append(stem(after[0]))
    if after and after[0] == "from":  # revenue from a thing is a part of it
        source = takewhile(lambda word: word not in _ENDS_SOURCE, after[1:])
        parts = [one for word in source for one in content_stems(word) if "-" not in one and not one.isdigit()]
        own = _phrase_stems(ratio, named)  # … from the cash flow statement (EBITDA)
        found += [one for one in parts if one not in scope and one not in _EMPTY and one not in own]
    if cause := _EFFECT_OF.search(" ".join(before)):  # "the effects of X on the measure": not the measure alone
        found += [one for one in content_stems(cause[1]) if one not in scope and "-" not in one]
        return tuple(sorted(set(found)))
    tail = before[-4:]
    place = tail.index("on") if "on" in tail else 0
    if place and tail[place - 1] in _EFFECTS and all(not (set(content_stems(one)) - scope) for one in tail[place:]):
        before = before[: len(before) - len(tail) + place]  # "the effect of X on the measure": X narrows it
        while before and (stem(before[-1]) in _EMPTY or not content_stems(before[-1])):
            before.pop()
    for word in reversed(before):
        parts = content_stems(word)
        if not parts or any(one in scope or one.isdigit() for one in parts):
            break
        found += [one for one in parts if one not in _EMPTY and "-" not in one]
    return tuple(sorted(set(found)))


_ACROSS = phrases("across_companies")
_ROSE = phrases("rose_verbs")
_FELL = phrases("fell_verbs")
_BETTER = phrases("better_verbs")
_WORSE = phrases("worse_verbs")
_LOWER_IS_BETTER = frozenset(word_list("lower_is_better"))


def _direction(folded: str, ratio: str | None, named: tuple[str, ...]) -> str:
    """Return whether a question says that something rose (`up`) or fell (`down`); empty where it says both or none.

    A cost, debt or combined ratio improves when it falls.
    """
    rose, fell = bool(_ROSE.first(folded)), bool(_FELL.first(folded))
    better, worse = bool(_BETTER.first(folded)), bool(_WORSE.first(folded))
    if {ratio, *named} & _LOWER_IS_BETTER:
        better, worse = worse, better
    rose, fell = rose or better, fell or worse
    return "" if rose == fell else "up" if rose else "down"


_ENDS_SOURCE = frozenset(["at", "between", "during", "for", "in", "over", "through", "to", "until", "year", "years"])
_ANOTHER_ITEM = frozenset(word_list("another_item"))
_EFFECTS = frozenset(
    ["effect", "effects", "impact", "impacts", "influence", "pressure", "headwind", "headwinds", "burden", "drag"]
)
_EFFECT_OF = re.compile(rf"\b(?:{'|'.join(sorted(_EFFECTS))}) of (.{{1,60}}) on(?: the| its| their)?$")


_SHARE = re.compile(r"\b(?:percent|percentage|share|proportion|%)\s+of\b")


def _share(folded: str, named: tuple[str, ...]) -> tuple[str, str] | None:
    """Return (part, whole) for `X as a percentage of Y` or `what percentage of Y came from X`, or None."""
    match = _SHARE.search(folded)
    if not match or len(named) != 2:
        return None
    text = flat(folded[match.end() :])
    places = {key: at for key in named if (at := _place(text, key)) is not None}
    if not places:
        return None
    whole = min(places, key=lambda key: (places[key], key))
    (part,) = set(named) - {whole}
    return part, whole


def _place(text: str, key: str) -> int | None:
    hit = _asks("measures", key).first(text)
    return f" {text} ".find(f" {flat(hit)} ") if hit else None


def ratio_named(folded: str) -> str | None:
    """Return the computed measure that a text names, or None."""
    return _longest("ratios", ratios(), folded)


def _longest(table: str, rows: dict, folded: str) -> str | None:
    hits = [(len(hit), key) for key in rows if (hit := _asks(table, key).first(folded))]
    return max(hits)[1] if hits else None


@lru_cache(maxsize=16384)
def measures_named(folded: str) -> tuple[str, ...]:
    """Return the measures that are named, the longest phrase first; a phrase inside a longer one is none."""
    hits = sorted(((hit, key) for key in measures() if (hit := _asks("measures", key).first(folded))), key=_by_length)
    kept: list[tuple[str, str]] = []
    for hit, key in hits:
        if not any(hit in longer and hit != longer for longer, _ in kept):
            kept.append((hit, key))
    return tuple(key for _, key in kept)


def _by_length(hit: tuple[str, str]) -> tuple[int, str]:
    return -len(hit[0]), hit[1]


def _kind(
    folded: str, first: str, reason: bool, ratio: str | None, named: tuple[str, ...], over_time: str | None
) -> str:
    if reason and not _WHAT_CHANGED.first(folded):
        return "reason"
    if _WHAT_CHANGED.first(folded):
        return "change"
    if first in _YES_NO:
        return "yes_no"
    if _DEFINES.first(folded):
        return "definition"
    if _STATEMENT.first(folded):
        return "change" if _CHANGE.first(folded) and not named else "statement"
    if ratio:
        return "ratio"
    if named and _CHANGE.first(folded):
        return "ratio"
    if named and (over_time or _AMOUNT.first(folded) or first == "what" or len(folded.split()) <= 10):
        return "ratio" if over_time else "amount"
    if "how much" in folded or "how many" in folded or "what percent" in folded:
        return "amount"
    if first == "when" or "what date" in folded or "on which date" in folded:
        return "when"
    if first == "who" or folded.startswith("which person"):
        return "who"
    if _CHANGE.first(folded):
        return "change"
    if first in ("which", "list", "name") or folded.startswith(("what are", "what were")):
        return "list"
    return "what"
