"""The first gates: may a question be asked at all, and can documents of this kind hold its answer?

The rules are data (evidence_types.json, question_rules.json). They read the whole question: a cue counts together with
the others and is outweighed by a context in which documents do speak of it.
"""

import json
import re
from functools import cache
from importlib import resources
from typing import Any

from finrag_pipelines.answering.question import measures_named, ratio_named
from finrag_pipelines.answering.words import Phrases, content_stems, normal, words
from finrag_pipelines.evidence.records import Refusal
from finrag_pipelines.storage import digest

_YEAR = re.compile(r"\b(?:fy\s?)?(20\d\d|19\d\d)\b")


@cache
def _rules(name: str) -> dict[str, Any]:
    return json.loads(resources.files("finrag_pipelines.answering").joinpath(f"{name}.json").read_text("utf-8"))


@cache
def _phrases(name: str, cue: str) -> Phrases:
    rules = _rules(name)
    return Phrases([one for one in rules.get("cues", rules)[cue] if not one.startswith("@")])


def rule_digests() -> tuple[str, ...]:
    """Return `name=sha256` of the rule sets of these gates."""
    return tuple(f"{name}={digest(_rules(name))}" for name in ("evidence_types", "question_rules"))


def _present(cue: str, folded: str, newest_year: int | None) -> str | None:
    if "@future_year" in _rules("evidence_types")["cues"][cue]:
        years = [int(one) for one in _YEAR.findall(folded)]
        late = [one for one in years if newest_year is not None and one > newest_year + 1]
        return str(max(late)) if late else None
    return _phrases("evidence_types", cue).first(folded)


def evidence_type(question: str, newest_year: int | None) -> tuple[Refusal | None, str]:
    """Decide whether documents can hold the answer. `newest_year` is the latest year that the corpus reports.

    Returns the refusal, or None, and which cues decided.
    """
    folded = normal(question)
    for rule in _rules("evidence_types")["rules"]:
        cues = [_present(cue, folded, newest_year) for cue in rule["all"]]
        if not all(cues):
            continue
        context = [hit for cue in rule["none"] if (hit := _present(cue, folded, newest_year))]
        if not context:
            matched = ", ".join(sorted({one for one in cues if one}))
            return Refusal(rule["code"], rule["reason"], (rule["missing"],)), f"matched: {matched}"
    return None, ""


def question_class(question: str, names_scope: bool) -> tuple[Refusal | None, str]:
    """Decide whether the question can be worked on. `names_scope` tells that it names a company, period or document."""
    folded = normal(question)
    found = words(question)
    letters = sum(one.isalpha() for one in question)
    if not found or letters < 2:
        reason = "The question says nothing; ask for a company, a period and a topic."
        return Refusal("QUESTION.underspecified", reason), ""
    if hit := _phrases("question_rules", "unsafe").first(folded):
        return Refusal("QUESTION.unsafe", "This asks for something that must not be helped with."), f"matched: {hit}"
    request, act = (_phrases("question_rules", cue).first(folded) for cue in ("unsafe_request", "unsafe_act"))
    if request and act and not _phrases("question_rules", "documented").first(folded):
        reason = "This asks for help with something that harms others or breaks the law."
        return Refusal("QUESTION.unsafe", reason), f"matched: {request}, {act}"
    if hit := _phrases("question_rules", "modality").first(folded):
        reason = "This asks for a picture, sound or creative text; answers here are cited sentences from documents."
        return Refusal("QUESTION.unsupported_modality", reason), f"matched: {hit}"
    hit = _phrases("question_rules", "impossible_attribute").first(folded)
    if hit and (measures_named(folded) or ratio_named(folded)):
        reason = "This asks of a figure what only a thing or a person has."
        return Refusal("QUESTION.nonsensical", reason), f"matched: {hit}"
    if _nonsensical(found):
        return Refusal("QUESTION.nonsensical", "No question could be read from these words."), ""
    topic = content_stems(question)
    pronouns = set(_rules("question_rules")["pronouns"])
    vague = set(map(normal, _rules("question_rules")["vague"]))
    bare = folded.strip(" ?.!")
    if not names_scope and (bare in vague or not [one for one in topic if one not in pronouns] or len(found) < 2):
        reason = "The question names no company, period or topic; say whose figure or statement is asked for."
        return Refusal("QUESTION.underspecified", reason, ("company", "topic")), ""
    return None, ""


def _nonsensical(found: list[str]) -> bool:
    """Tell whether most words cannot be words: no vowel in Latin letters, or one word over and over."""
    latin = [one for one in found if one.isascii() and one.isalpha() and len(one) > 3]
    broken = [one for one in latin if not set(one) & set("aeiouy") or re.search(r"[bcdfghjklmnpqrstvwxz]{6}", one)]
    if latin and len(broken) * 2 > len(latin):
        return True
    return len(found) >= 6 and len(set(found)) <= len(found) // 4
