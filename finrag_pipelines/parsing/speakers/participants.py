"""Who takes part in a call: names that are one person's, titles, firms and roles. Tables are in speaker_roles.json."""

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

COMPANY, ANALYST = "company", "analyst"

_SEPARATORS = re.compile(r"\s*--+\s*|\s+[-–—|]\s+|\s*[—]\s*")
_CORPORATE = frozenset(
    ("the", "inc", "incorporated", "corp", "corporation", "co", "company", "ltd", "limited", "llc", "llp", "lp", "plc")
)


@cache
def tables() -> dict[str, Any]:
    """Return the tables of speaker_roles.json."""
    return json.loads(Path(__file__).with_name("speaker_roles.json").read_text("utf-8"))


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of that name in the tables, ignoring case."""
    return re.compile(tables()[name], re.IGNORECASE)


@dataclass(frozen=True)
class Participant:
    """Somebody in a call, as far as known; `side` is company, analyst or None."""

    name: str
    title: str | None = None
    firm: str | None = None
    side: str | None = None


def folded(text: str) -> str:
    """Return `text` in lower case, without accents, quotes and points, blanks single."""
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(ch for ch in plain if not unicodedata.combining(ch)).lower()
    return " ".join(re.sub(r"[.,'’‘\"“”*#()\[\]<>]", " ", plain).replace("-", " ").split())


@cache
def name_words(name: str) -> tuple[str, ...]:
    """Return the words that tell people apart: no honorifics, suffixes or middle initials."""
    skip = {*tables()["honorifics"], *tables()["name_suffixes"]}
    words = [word for word in folded(name).split() if word not in skip]
    if len(words) > 2:
        words = [words[0], *(word for word in words[1:-1] if len(word) > 1), words[-1]]
    return tuple(words)


def same_person(one: str, other: str) -> bool:
    """Tell whether two names are surely one person's: equal last names, and first names that are equal, or of which one
    is the other's beginning, initial or nickname. Jason Wang is not Jessie Wang."""
    a, b = name_words(one), name_words(other)
    if not a or not b:
        return False
    if a == b:
        return True
    if len(a) == 1 or len(b) == 1 or a[-1] != b[-1]:
        return False
    return any(_same_first(x, y) for x in a[:-1] for y in b[:-1])


def _same_first(one: str, other: str) -> bool:
    nicknames = tables()["nicknames"]
    return one.startswith(other) or other.startswith(one) or nicknames.get(one, one) == nicknames.get(other, other)


def find_person(name: str, people: Iterable[Participant]) -> Participant | None:
    """Return the one participant that `name` means; None where there is none, or more than one."""
    people = list(people)
    exact = [person for person in people if name_words(person.name) == name_words(name)]
    if exact:
        return exact[0]
    alike = [person for person in people if same_person(person.name, name)]
    return alike[0] if len(alike) == 1 else None


def is_operator(name: str) -> bool:
    """Tell whether a label is that of the operator."""
    return folded(name) in tables()["operators"]


def unidentified_role(name: str) -> str | None:
    """Return the role of a label such as `Unidentified Analyst` or `Speaker 3`; None for the name of a person."""
    label = re.sub(r"\s*\d+$", "", folded(name))
    if re.fullmatch(r"(?:spk|speaker)[ _]?\d+", folded(name)):
        return "unknown"
    return tables()["unidentified"].get(label)


def looks_like_name(text: str) -> bool:
    """Tell whether `text` could be a person's name by its form: capitalized words, none of them a common one."""
    if re.fullmatch(r"[㐀-鿿]{2,4}", text):
        return True
    words = text.split()
    if not 1 <= len(words) <= 6 or len(text) > 60 or has_title(text) or pattern("firm_pattern").search(text):
        return False
    common, particles = tables()["not_names"], tables()["particles"]
    for word in words:
        bare = word.strip(".,'’()\"“”").lower()
        if bare in common and not (len(bare) == 1 and word.endswith(".")):
            return False
        if not re.fullmatch(r"[(\"“]?[^\W\d_a-z][\w'’.-]*[)\"”]?,?", word) and bare not in particles:
            return False
    return not words[0].islower()


def split_credentials(text: str) -> list[str]:
    """Return the parts of what stands behind a name: `Bank of America -- Analyst` in two."""
    return [part.strip(" ,;:") for part in _SEPARATORS.split(text) if part.strip(" ,;:")]


def has_title(text: str) -> bool:
    """Tell whether `text` holds a word of a title."""
    return bool(pattern("title_pattern").search(text))


def is_company(text: str, head: str) -> bool:
    """Tell whether `text` names the company that the head of the document names."""
    words = [word for word in folded(text).replace("&", " ").split() if word not in _CORPORATE and word != "and"]
    return bool(words) and set(words) <= set(folded(head).replace("&", " ").replace(":", " ").split())


def with_credentials(person: Participant, text: str, head: str) -> Participant:
    """Return `person` with the title and firm that `text` states behind the name. `head` names the company."""
    title: list[str] = []
    firm: list[str] = []
    for part in split_credentials(text):
        if match := re.fullmatch(r"(.{2,60}?)[,\s]+(analyst)", part, re.IGNORECASE):
            titled = has_title(match[1]) or folded(match[1]).endswith(("equity research", "research"))
            (title if titled else firm).append(part if titled else match[1])
            if not titled:
                title.append(match[2])
            continue
        pieces = [piece.strip() for piece in part.split(",") if piece.strip()]
        if not any(has_title(piece) for piece in pieces):
            firm.append(part)
            continue
        first = next(i for i, piece in enumerate(pieces) if has_title(piece))
        last = max(i for i, piece in enumerate(pieces) if has_title(piece))
        tail = pieces[last + 1 :]
        firm.extend([", ".join(pieces[:first])] if first else [])
        if tail and person.side == COMPANY and not is_company(", ".join(tail), head):
            title.append(", ".join(pieces[first:]))
            continue
        title.append(", ".join(pieces[first : last + 1]))
        firm.extend([", ".join(tail)] if tail else [])
    stated = replace(
        person,
        title=person.title or "; ".join(title) or None,
        firm=person.firm or ", ".join(firm) or None,
    )
    if stated.side is None and pattern("analyst").search(text):
        return replace(stated, side=ANALYST)
    if stated.side is None and stated.firm and is_company(stated.firm, head):
        return replace(stated, side=COMPANY)
    return stated


def role_of(person: Participant, head: str) -> str:
    """Return the role of a participant by side and title; `unknown` where neither tells it."""
    title = person.title or ""
    if person.side == ANALYST or (pattern("analyst").search(title) and person.side != COMPANY):
        return "analyst"
    for role in ("chief_executive", "chief_financial_officer"):
        if _holds_office(title, role, head):
            return role
    if pattern("investor_relations").search(title):
        return "investor_relations"
    return "executive" if person.side == COMPANY else "unknown"


def _holds_office(title: str, office: str, head: str) -> bool:
    """Tell whether `title` names the office for the whole company, and not for a part of it or in the past."""
    for match in pattern(office).finditer(title):
        if pattern("not_in_office").search(title[: match.start()]):
            continue
        rest = re.match(r"\s*(?:,|;|of|for|at|[-–—])\s*(?:the\s+)?([^,;]+)", title[match.end() :])
        if not rest or pattern("office_goes_on").match(rest[1]) or is_company(rest[1], head):
            return True
    return False
