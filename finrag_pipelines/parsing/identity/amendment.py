"""What an amended filing says of itself: does it restate what it amends, or add to it? Read from its explanatory note.

Where the document does not say, the effect is `unknown`; nothing is guessed from what it contains.
"""

import re

from finrag_pipelines.catalog.identity import ADDS, RESTATES, UNKNOWN, Amendment
from finrag_pipelines.parsing.identity.cover import flat

_WITHIN = 80_000  # characters from the start in which the note is looked for
_NOTE_CHARACTERS = 4_000
_NOTE = re.compile(
    r"\bexplanatory (?:note|statement|paragraph)\b|\b(?:sole )?purpose of this amendment\b", re.IGNORECASE
)
_SPEAKS_OF_IT = re.compile(r"\bamend(?:ment|s|ed|ing)?\b|\b10-[KQ]/A\b", re.IGNORECASE)
_NUMBER = re.compile(r"\bamendment ?(?:no|number|#)\.? ?(\d{1,2}|one|two|three|four|five)\b", re.IGNORECASE)
_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
# What a note says it does not do must not be taken for what it does.
_DENIAL = re.compile(
    r"\b(?:do|does|did|has|have|is|are|was|were|will) not\b|\bno (?:other |attempt|part|changes?)\b|\bunchanged\b"
    r"|\bexcept (?:as|for|to)\b|\bother than\b|\bcontinues? to speak\b",
    re.IGNORECASE,
)
_RESTATEMENT = re.compile(
    r"\brestat(?:e|es|ed|ing|ement|ements) (?:of )?(?:(?:our|the|its|certain|of|previously|issued|reported|filed|"
    r"consolidated|condensed|unaudited|audited|interim|annual|quarterly|company['’]?s?|and|related) ?){0,9}"
    r"(?:financial|results|balance|statements?|information|amounts|periods?|quarters?|items?|part)"
    r"|\bstatements?\b[^.]{0,120}\b(?:have been|has been|were|are being|as|being) restated"
    r"|\b(?:reflects?|effects?|result of|includes?)\b[^.]{0,60}\brestatements?\b"
    r"|\bshould (?:no longer|not) be relied (?:up)?on\b|\bnon-?reliance\b",
    re.IGNORECASE,
)
_ENTIRE = re.compile(
    r"\b(?:amend(?:s|ed|ing)? and (?:restat|replac)\w+|replac\w+|supersed\w+|restat\w+|re-?fil\w+)\b[^.]{0,160}"
    r"\b(?:in (?:its|their) entirety|entire(?:ty)?|complete|as a whole|in full)\b",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:correct|revis|amend|replac|clarif|updat|modif)\w*\b[^.]{0,160}?"
    r"\b(?:items? \d{1,2}[abc]?|errors?|typographical|clerical|misstat\w+|inadvertent\w*|omission)\b",
    re.IGNORECASE,
)
_ITEMS = re.compile(r"\bitems? (\d{1,2}[abc]?)\b", re.IGNORECASE)
_PART_III = re.compile(r"\bpart iii\b", re.IGNORECASE)
_PROVIDES = re.compile(
    r"\b(?:includ|provid|furnish|disclos|fil|add|suppl|complet|contain|set(?:ting)? forth)\w*\b", re.IGNORECASE
)
_EXHIBITS = re.compile(
    r"\b(?:furnish|fil|includ|provid|add|attach|amend|correct|replac|submit)\w*\b[^.]{0,160}"
    r"\b(?:exhibits?|xbrl|consents?|certifications?|interactive data|auditor['’]s? reports?)\b",
    re.IGNORECASE,
)
_SOLELY = re.compile(r"\b(?:sole(?:ly)?|only|exclusively)\b", re.IGNORECASE)


def read_amendment(text: str, form: str | None, description: str | None = None) -> Amendment | None:
    """Return what an amended filing says of its effect, or None for a form that is no amendment.

    `description` is the dei fact AmendmentDescription, where the document states one.
    """
    if not (form or "").endswith("/A"):
        return None
    head = flat(text[:_WITHIN])
    number = _number(head[:12_000])
    for said, basis in ((_note(head), "explanatory note"), (description, "dei")):
        if said:
            effect, scope = _effect(said)
            if effect != UNKNOWN:
                return Amendment(effect, scope, number, basis)
    reason = "its explanatory note does not say" if _note(head) else "it has no explanatory note"
    return Amendment(UNKNOWN, "", number, reason)


def _number(head: str) -> int | None:
    found = _NUMBER.search(head)
    if not found:
        return None
    return _WORDS.get(found[1].lower()) or int(found[1])


def _note(head: str) -> str | None:
    """Return the note; a heading in a list of contents, after which nothing is said of an amendment, is none."""
    for match in _NOTE.finditer(head):
        note = head[match.start() : match.start() + _NOTE_CHARACTERS]
        if _SPEAKS_OF_IT.search(note[len(match[0]) : 700]):
            return note
    return None


def _effect(note: str) -> tuple[str, str]:
    """Return effect and scope. What is restated counts before what is added: a note often says both."""
    said = [one for one in re.split(r"(?<=[.;])\s+(?=[A-Z(“\"])", note) if one]
    asserted = [one for one in said if not _DENIAL.search(one)]
    whole = " ".join(asserted)
    if any(_RESTATEMENT.search(one) for one in asserted):
        return RESTATES, "financial statements and what rests on them"
    if any(_ENTIRE.search(one) for one in asserted):
        return RESTATES, "the whole filing"
    if any(_PART_III.search(one) and _PROVIDES.search(one) for one in asserted):
        return ADDS, "Part III"
    # The purpose stands in one sentence, often with what it leaves alone: "solely to file Exhibit 31 …, does not …".
    if any(_EXHIBITS.search(one) and _SOLELY.search(one) for one in said[:12]):
        return ADDS, "exhibits only"
    if correcting := [one for one in asserted if _CORRECTION.search(one)]:
        items = sorted({f"Item {one.upper()}" for one in _ITEMS.findall(correcting[0])})
        return RESTATES, ", ".join(items) or "corrections"
    if _EXHIBITS.search(whole):
        return ADDS, "exhibits only"
    return UNKNOWN, ""
