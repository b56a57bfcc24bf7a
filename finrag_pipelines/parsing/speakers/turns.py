"""Who speaks where in the transcript of a call: labels, participants lists and the operator's introductions.

Names, titles and roles are in participants.py, JSON in transcript_json.py. A text without labels stays one turn of an
unknown speaker: nobody is guessed from what is said.
"""

import difflib
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from finrag_pipelines.parsing.model import FURNITURE, ElementKind, Layout, Turn
from finrag_pipelines.parsing.readers.transcript_json import read_json_transcript
from finrag_pipelines.parsing.speakers.participants import (
    ANALYST,
    COMPANY,
    Participant,
    find_person,
    folded,
    has_title,
    is_company,
    is_operator,
    looks_like_name,
    name_words,
    pattern,
    role_of,
    same_person,
    split_credentials,
    tables,
    unidentified_role,
    with_credentials,
)

__all__ = ["find_turns", "is_transcript", "read_json_transcript"]

PREPARED, QUESTIONS, UNKNOWN = "prepared_remarks", "questions", "unknown"

_HEAD = 300
_OPENING = 8_000
_LABEL = 200
_PREFIX = re.compile(r"[\s*#>_]*(?:[\[(]?\d{1,2}:\d{2}(?::\d{2})?[\])]?\s*)?(?:<?[QA]\s*[-–—]\s*|<)?")
# A label and its words on one line: `Name: …`, `Name（…）：`, `Name (00:12:30) …`.
_INLINE = re.compile(
    rf"([^:：\n]{{2,{_LABEL}}}?)(?:>?\s?[:：](?:[\s*]+|$)|\s+[\[(]\d{{1,2}}:\d{{2}}(?::\d{{2}})?[\])]:?\s*)"
)
_SEPARATOR = re.compile(r"\s*--+\s*|\s+[-–—|]\s+|\s*—\s*|,\s+|\s+(?=\()")
_OPEN_END = re.compile(r"(?:,|&|\bof|\band)$")
_NAME = r"[A-ZÀ-Þ][\w'’.\-]*(?:\s+(?:[A-ZÀ-Þ][\w'’.\-]*|van|von|de|der|den|du|del|di|da|la|le)){0,4}"
_ENDS_WITH_NAME = re.compile(rf"(?<=[.?!\]”\"])(?<!\b[A-Z]\.)\s+([A-ZÀ-Þ][\w'’.\-]*\s{_NAME})$")
_MENTIONED = re.compile(
    rf"(?:\b(?!the\b)[a-z]+|\b(?:Mr|Mrs|Ms|Dr)\.|\bOfficer|\bPresident|\b[CM][EFD]O|\bRelations),?\s+({_NAME})"
)
_INTRODUCED = re.compile(
    rf"\b(?:from|is|with|to|have|ask|request|invite|welcome|Mr|Ms|Mrs|Dr)\.?\s+(?:the\s+line\s+of\s+|(?:Mr|Ms|Mrs|Dr)\.?\s+)*({_NAME}),?\s+(?:with|from|of|at|representing)\s+"
    r"((?:[A-Z]\.\s?)*[^.,;?!\n]{2,70}(?:\.[A-Z][^.,;?!\n]{0,40})*)"
)
_HANDS_OVER = re.compile(
    r"\b(?:turn|hand|pass)(?:ing)?\b[^.?!\n]{0,80}\bto\s+([^.?!\n]{3,80})|\bintroduce\s+([^.?!\n]{3,80})"
)
_OPERATES = re.compile(
    r"\b(?:call is being recorded|welcome (?:everyone )?to the|listen[- ]only|press star|operator instructions"
    r"|next question (?:comes|is)|first question (?:comes|is)|ready to take questions"
    r"|conference (?:call )?is being recorded|this concludes|you may (?:now )?disconnect)",
    re.IGNORECASE,
)


_HEADINGS = (
    r"(?:(?:Company|Corporate|Conference Call|Call) Participants"
    r"|Question[- ]and[- ]Answer(?: Session)?|Questions (?:and|&) Answers)"
)
_HEADED = re.compile(rf"\s+(?:{_HEADINGS})$")
_SPOKEN = re.compile(
    r"\bthank(?:s| you)(?: all| everyone)? for joining"
    r"|\bgood (?:morning|afternoon|evening|day),? (?:and|ladies|everyone)"
    r"|\b(?:turn|hand) (?:the call|it|things|you)? ?(?:back )?over to\b|\boperator, we(?:'re| are)\b"
    r"|逐字稿|各位.{0,12}大家好",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Line:
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class _Label:
    """A line that begins with a speaker: where it starts, where the words start, and what it says of the speaker."""

    line: int
    start: int
    speech: int
    name: str
    credentials: str
    inline: bool


def is_transcript(layout: Layout) -> bool:
    """Tell whether a document is the transcript of a call: it has speakers, or people speak in it as in a call."""
    if any(element.kind is ElementKind.TURN for element in layout.elements):
        return True
    if not _SPOKEN.search(layout.text):
        return False
    return bool(_OPERATES.search(layout.text)) or len(find_turns(layout)) > 1


def find_turns(layout: Layout) -> tuple[Turn, ...]:
    """Return the turns of a call in order. A turn begins at the line that names its speaker (or at the heading above
    it) and ends where the next one begins; titles, participants lists and legal notices around the call are no turn."""
    lines = _lines(layout)
    if not lines:
        return ()
    head = _head(lines)
    roster, listed = _roster(lines, head)
    labels = _labels(layout, lines, roster, listed, head)
    parted = _parted(
        lines, {person.name for person in roster} | {label.name for label in labels}, _spoken_names(layout.text, head)
    )
    if len(parted) > len(lines):
        lines = parted
        roster, listed = _roster(lines, head)
        labels = _labels(layout, lines, roster, listed, head)
    labels = _unswapped(labels, layout.text)
    if len(labels) < 2:
        return (Turn("Unknown speaker", lines[0].start, lines[-1].end, part=UNKNOWN),)
    turns = _cut(layout.text, lines, labels, listed)
    return _with_people(turns, labels, roster, layout.text, head)


def _lines(layout: Layout) -> list[_Line]:
    """Return the lines that are neither blank nor furniture."""
    hidden = sorted((e.start, e.end) for e in layout.elements if e.kind in FURNITURE)
    lines: list[_Line] = []
    position = at = 0
    for raw in layout.text.split("\n"):
        start, position = position, position + len(raw) + 1
        while at < len(hidden) and hidden[at][1] <= start:
            at += 1
        if raw.strip() and not (at < len(hidden) and hidden[at][0] <= start < hidden[at][1]):
            lines.append(_Line(start + len(raw) - len(raw.lstrip()), start + len(raw.rstrip()), raw.strip()))
    return lines


def _parted(lines: Sequence[_Line], names: set[str], mentioned: set[str]) -> list[_Line]:
    """Return the lines, cut before a label or heading that a reader took for the wrapped end of a paragraph: a known
    name or a heading at the end of a line, a known name or capitals before a colon within it."""
    known = sorted({"Operator", "OPERATOR", *names, *(name.upper() for name in names)}, key=lambda n: (-len(n), n))
    told = "|".join(re.escape(name) for name in known if len(name) > 3)
    at_end = re.compile(rf"(?<=[.?!\]”\"])\s+(?:{told}|{_HEADINGS})$")
    capitals = r"[A-Z][A-Z.'’\- ]{3,40}(?:, [^:a-z]{2,160})?"
    inside = re.compile(rf"(?<=[.?!\]”\"])(?<!\b[A-Z]\.)\s+(?:(?:{told})(?:,[^.:?!]{{1,160}})?|{capitals}):\s")
    parted: list[_Line] = []
    for index, line in enumerate(lines):
        if _heading(line.text):
            parted.append(line)
            continue
        cuts = {match.start() for match in inside.finditer(line.text) if _named(match[0].strip()[:-1])}
        named = _ENDS_WITH_NAME.search(line.text)
        if named and named[1] not in mentioned:
            named = None
        if match := at_end.search(line.text) or named or (_HEADED.search(line.text) if index < 12 else None):
            cuts.add(match.start())
        start = 0
        for stop in [*sorted(cuts), len(line.text)]:
            piece = line.text[start:stop]
            first = line.start + start + len(piece) - len(piece.lstrip())
            parted.append(_Line(first, first + len(piece.strip()), piece.strip()))
            start = stop
    return parted


def _head(lines: Sequence[_Line]) -> str:
    """Return the first lines, which name the company: those above any heading, list or speech."""
    head: list[str] = []
    for line in lines[:12]:
        if _heading(line.text) or is_operator(line.text.rstrip(":")) or len(line.text) > _HEAD:
            break
        head.append(line.text)
    return "\n".join(head)[:_HEAD]


def _heading(text: str) -> str | None:
    """Return which heading a line is: company, analyst, mixed, prepared or question; None for any other line."""
    if len(text) > 60:
        return None
    bare = folded(text).rstrip(": ").strip("[]* ")
    for kind in ("company", "analyst", "mixed", "prepared", "question"):
        if bare in tables()[f"{kind}_headings"]:
            return kind
    return None


def _roster(lines: Sequence[_Line], head: str) -> tuple[list[Participant], set[int]]:
    """Return the people of the participants lists, and the indexes of the lines that these lists fill."""
    people: list[Participant] = []
    listed: set[int] = set()
    index = 0
    while index < len(lines):
        heading = _heading(lines[index].text)
        if heading not in ("company", "analyst", "mixed"):
            index += 1
            continue
        listed.add(index)
        block = _list_block(lines, index + 1)
        side = {"company": COMPANY, "analyst": ANALYST}.get(heading)
        texts = [re.sub(r"^[\s•●▪*\-–]+", "", line.text) for line in block]
        used, found = _entries(texts, side, head, {name_words(person.name) for person in people})
        people.extend(person for person in found if find_person(person.name, people) is None)
        listed.update(range(index + 1, index + 1 + used))
        index += 1 + used
    return people, listed


def _list_block(lines: Sequence[_Line], start: int) -> list[_Line]:
    """Return the lines from `start` that could be entries of a list: short, no heading, no speaker of words."""
    block: list[_Line] = []
    for line in lines[start : start + 120]:
        if _heading(line.text) or is_operator(line.text.split(":")[0]) or len(line.text) > _LABEL:
            break
        block.append(line)
    return block


def _entries(
    texts: Sequence[str], side: str | None, head: str, seen: set[tuple[str, ...]]
) -> tuple[int, list[Participant]]:
    """Return how many lines are the list, and its people. One line a person (`Name - Title`, `Name, Title`), or the
    name on one line and title or firm on the next ones. A name that was `seen` already is a speaker of the call."""
    splits = [_split_name(text) for text in texts]
    one_line = 2 * sum(bool(credentials) and looks_like_name(name) for name, credentials in splits) > len(texts)
    people: list[Participant] = []
    for position, (text, (name, credentials)) in enumerate(zip(texts, splits, strict=True)):
        entry = looks_like_name(name) and (bool(credentials) or looks_like_name(text))
        last = people[-1] if people else None
        if one_line and not entry and not (last and _goes_on(last, text)):
            return position, people
        if not one_line:
            # A firm may look like a name: below an analyst without a firm it is one.
            entry = looks_like_name(text) and not (last and side == ANALYST and not last.firm)
            entry = entry and not (last and _OPEN_END.search(f"{last.title or ''}{last.firm or ''}"))
        if entry:
            if name_words(name) in seen:
                return position, people
            seen.add(name_words(name))
            person = Participant(_cased(name), side=side)
            own, others = _run_together(credentials, head)
            people.append(with_credentials(person, own, head) if own else person)
            if others:
                people.extend(_entries([others], side, head, seen)[1])
        elif last is None:
            return position, people
        else:
            stated = " ".join(part for part in (last.title, last.firm, text) if part)
            bare = replace(last, title=None, firm=None)
            plain_firm = side == ANALYST and not has_title(stated)
            people[-1] = replace(bare, firm=stated) if plain_firm else with_credentials(bare, stated, head)
    titled = [p if p.side or side or not p.title else replace(p, side=COMPANY) for p in people]
    return len(texts), titled


def _goes_on(person: Participant, text: str) -> bool:
    """Tell whether a line goes on with the title or firm of the person above it."""
    if _OPEN_END.search(f"{person.title or ''}{person.firm or ''}"):
        return True
    return len(text) <= 60 and bool(has_title(text) or pattern("firm_pattern").search(text))


def _run_together(credentials: str, head: str) -> tuple[str, str]:
    """Cut credentials where the company's name is followed by the next person's: two entries on one line."""
    for match in re.finditer(r"\s+", credentials):
        before, after = credentials[: match.start()], credentials[match.end() :]
        firm = split_credentials(before)[-1:]
        if firm and is_company(firm[0], head):
            name, rest = _split_name(after)
            if rest and looks_like_name(name) and not is_company(name, head):
                return before, after
    return credentials, ""


def _split_name(text: str) -> tuple[str, str]:
    """Return name and credentials of a label or an entry of a list."""
    match = _SEPARATOR.search(text)
    while match and folded(text[match.end() :]).split()[:1] in ([s] for s in tables()["name_suffixes"]):
        match = _SEPARATOR.search(text, match.end())
    if not match:
        return text.strip(" *_:"), ""
    credentials = text[match.end() :].strip(" *_:")
    if credentials.startswith("("):
        credentials = credentials.strip("() ")
    return text[: match.start()].strip(" *_:"), credentials


def _cased(name: str) -> str:
    """Return a name in capitals with only its initials capital; any other name as it is."""
    return name.title() if name.isupper() and len(name) > 4 else name


def _candidate(lines: Sequence[_Line], index: int) -> _Label | None:
    """Return the label that a line begins with by its form, or None. A label may have begun on the line above."""
    at = lines[index]
    above = lines[index - 1] if index else None
    if above and len(above.text) <= 120 and above.text.isupper() and not re.search(r"[.?!:]$", above.text):
        inline = re.match(rf"([^:\n]{{2,{_LABEL}}}?):\s+", at.text)
        found = _named(f"{above.text} {inline[1]}") if inline and inline[1].isupper() else None
        if inline and found and found[1]:
            return _Label(index - 1, above.start, at.start + inline.end(), *found, inline=True)
    prefix = _PREFIX.match(at.text)
    skipped = prefix.end() if prefix else 0
    body = at.text[skipped:]
    inline = re.match(
        rf"([^:：\n]{{2,{_LABEL}}}?)(?:>?\s?[:：](?:[\s*]+|$)|\s+[\[(]\d{{1,2}}:\d{{2}}(?::\d{{2}})?[\])]:?\s*)", body
    )
    if inline and (found := _named(inline[1])):
        words = at.start + skipped + inline.end()
        return _Label(index, at.start, words, *found, inline=words < at.end)
    bare = body.rstrip(" *_>")
    if (
        len(bare) <= 160
        and (not re.search(r"[.?!;,]$", bare) or re.search(r"\b(?:Inc|Co|Ltd|Corp|Jr|Sr|LLP|L\.P|N\.A)\.$", bare))
        and (found := _named(bare))
    ):
        return _Label(index, at.start, at.end, *found, inline=False)
    return None


def _named(label: str) -> tuple[str, str] | None:
    label = re.sub(r"\s*\{[^{}]{0,80}\}", "", label).strip(" *_[]<>")
    if is_operator(label) or unidentified_role(label):
        return label, ""
    name, credentials = _split_name(label)
    if looks_like_name(name) and not _heading(name):
        return name, credentials
    return None


def _labels(
    layout: Layout, lines: Sequence[_Line], roster: Sequence[Participant], listed: set[int], head: str
) -> list[_Label]:
    """Return the lines that name a speaker. Where a reader marked them, those; else the lines of the prevailing form
    whose name is known: from a list, from the operator, from a title beside it, or from being there again and again."""
    marked = {element.start for element in layout.elements if element.kind is ElementKind.TURN}
    if marked:
        found: list[_Label] = []
        for index, line in enumerate(lines):
            if line.start in marked:
                name, credentials = _split_name(line.text)
                found.append(_Label(index, line.start, line.end, name, credentials, inline=False))
        return found
    candidates = [
        label
        for index, line in enumerate(lines)
        if index not in listed and not _heading(line.text) and (label := _candidate(lines, index))
    ]
    introduced = {name_words(match[1])[-1:] for match in _INTRODUCED.finditer(layout.text)}
    introduced |= {name_words(name)[-1:] for name in _spoken_names(layout.text, head)}
    often = Counter((label.inline, name_words(label.name)) for label in candidates)
    known = [label for label in candidates if _is_known(label, roster, introduced, often)]
    forms = Counter(label.inline for label in known)
    if not forms:
        return []
    prevailing = forms[True] > forms[False]
    kept: list[_Label] = []
    for label in known:
        # Directly below a label stands the speaker's title or firm, unless it is a known name itself.
        below = bool(kept) and not label.inline and kept[-1].line == label.line - 1
        if below and not is_operator(label.name) and find_person(label.name, roster) is None:
            continue
        if label.inline == prevailing or is_operator(label.name):
            kept.append(label)
    return kept


def _spoken_names(text: str, head: str) -> set[str]:
    """Return the names of people whom somebody mentions within a sentence: "and our CFO, Pavel Marchetti"."""
    found: set[str] = set()
    for match in _MENTIONED.finditer(text):
        name = match[1].rstrip(".,'’")
        if " " in name and looks_like_name(name) and not is_company(name, head):
            found.add(name)
    return found


def _is_known(
    label: _Label,
    roster: Sequence[Participant],
    introduced: set[tuple[str, ...]],
    often: Counter[tuple[bool, tuple[str, ...]]],
) -> bool:
    if is_operator(label.name) or unidentified_role(label.name):
        return True
    words = name_words(label.name)
    if any(same_person(person.name, label.name) for person in roster):
        return True
    if words[-1:] in introduced:
        return True
    if len(words) < 2 and not re.fullmatch(r"[㐀-鿿]{2,4}", label.name):
        return False
    if label.credentials and (has_title(label.credentials) or pattern("analyst").search(label.credentials)):
        return True
    return often[(label.inline, words)] > 1


def _cut(text: str, lines: Sequence[_Line], labels: Sequence[_Label], listed: set[int]) -> list[Turn]:
    """Return the turns by their labels, with their part of the call and not yet their people."""
    starts: list[int] = []
    parts: list[str] = []
    part = PREPARED
    for label in labels:
        start, above = label.start, label.line - 1
        while (
            above >= 0 and above not in listed and (heading := _heading(lines[above].text)) in ("prepared", "question")
        ):
            part = QUESTIONS if heading == "question" else part
            start, above = lines[above].start, above - 1
        starts.append(start)
        parts.append(part)
    if QUESTIONS not in parts:
        parts = _parts_by_words(text, labels, parts)
    turns: list[Turn] = []
    last = _last_line(lines, labels[-1], listed)
    ends = [line.end for line in lines]
    for position, label in enumerate(labels):
        border = starts[position + 1] if position + 1 < len(labels) else lines[last].end
        # Where the next one begins on a new page, running lines stand between: the turn ends with its own last line.
        end = ends[bisect_right(ends, border) - 1] if border >= ends[0] else border
        if turns and starts[position] < turns[-1].end:
            continue
        turns.append(Turn(label.name, starts[position], max(end, label.speech), part=parts[position]))
    return turns


def _parts_by_words(text: str, labels: Sequence[_Label], parts: list[str]) -> list[str]:
    """Return the parts where no heading parts them: questions begin when the operator introduces the first one."""
    ends = [label.start for label in labels[1:]] + [len(text)]
    for position, (label, end) in enumerate(zip(labels, ends, strict=True)):
        if is_operator(label.name) and _introduced(text[label.speech : end], PREPARED):
            return parts[:position] + [QUESTIONS] * (len(parts) - position)
    return parts


def _introduced(said: str, part: str) -> tuple[str, str] | None:
    """Return name and firm of who is introduced for a question; in the prepared remarks only with that very word."""
    found = None
    for match in _INTRODUCED.finditer(said):
        if part == QUESTIONS or "question" in said[max(0, match.start() - 160) : match.end()].lower():
            firm = re.split(r"\s+(?:to|please|has|whose|who|your|is|go|for)\b", match[2])[0]
            found = match[1], firm.strip().removeprefix("the ")
    return found


def _last_line(lines: Sequence[_Line], label: _Label, listed: set[int]) -> int:
    """Return the last line of the last turn: before a closing list of participants or a legal notice."""
    for index in range(label.line + 1, len(lines)):
        text = lines[index].text
        if index in listed or _heading(text) or text.lower().startswith(tuple(tables()["end_marks"])):
            return index - 1
    return len(lines) - 1


def _with_people(
    turns: list[Turn], labels: Sequence[_Label], roster: Sequence[Participant], text: str, head: str
) -> tuple[Turn, ...]:
    """Say of each turn who speaks: the lists first, then the label, the line below it, what is said of people in the
    opening, and the operator's introductions."""
    ordered = sorted(labels, key=lambda label: label.start)
    starts = [label.start for label in ordered]
    people = list(roster)
    speakers: list[str | None] = []  # the participant's name; None for the operator and unidentified speakers
    for turn in turns:
        label = ordered[bisect_left(starts, turn.start)]
        speakers.append(_enrol(people, label, text[label.speech : turn.end], head))
    _learn_titles(people, text, head)
    _learn_analysts(people, turns, speakers, text, head)
    _learn_sides(people, turns, speakers)
    named = {person.name: person for person in people}
    finished: list[Turn] = []
    roles = _roles(people, turns, speakers, head)
    for turn, speaker in zip(turns, speakers, strict=True):
        if speaker is None:
            role = "operator" if is_operator(turn.speaker) else unidentified_role(turn.speaker) or "unknown"
            name = _cased(turn.speaker).capitalize() if role == "operator" else turn.speaker
            finished.append(replace(turn, speaker=name, role=role))
        else:
            person = named[speaker]
            finished.append(replace(turn, speaker=speaker, role=roles[speaker], title=person.title, firm=person.firm))
    return tuple(finished)


def _roles(
    people: Sequence[Participant], turns: Sequence[Turn], speakers: Sequence[str | None], head: str
) -> dict[str, str]:
    """Return the role of each participant by name. Where several hold one office by their titles and just one of them
    spoke in the prepared remarks, the others lead a part of the company."""
    roles = {person.name: role_of(person, head) for person in people}
    prepared = {s for s, turn in zip(speakers, turns, strict=True) if s and turn.part == PREPARED}
    for office in ("chief_executive", "chief_financial_officer"):
        holders = [person for person in people if roles[person.name] == office]
        opening = [person for person in holders if person.name in prepared]
        if len(holders) > 1 and len(opening) == 1:
            for person in holders:
                if person not in opening and not re.search(r"\bco-", person.title or "", re.IGNORECASE):
                    roles[person.name] = "executive"
    return roles


def _enrol(people: list[Participant], label: _Label, words: str, head: str) -> str | None:
    """Return the participant that a label names, entered or completed in `people`."""
    if is_operator(label.name) or unidentified_role(label.name):
        return None
    person = find_person(label.name, people)
    if person is None:
        person = Participant(_cased(label.name))
        people.append(person)
    at = people.index(person)
    stated = label.credentials
    if not stated and not label.inline:
        below = words.lstrip("\n").split("\n", 1)[0].strip()
        if len(below) <= 120 and not re.search(r"[.?!]$", below) and _describes(below, person):
            stated = below
    if stated:
        person = people[at] = with_credentials(person, stated, head)
    return person.name


def _describes(line: str, person: Participant) -> bool:
    """Tell whether the line below a label is the speaker's title or firm and not the first words."""
    known = folded(f"{person.title or ''} {person.firm or ''}")
    return bool(line) and (folded(line) in known or (has_title(line) and len(line.split()) <= 14 and "'" not in line))


def _learn_titles(people: list[Participant], text: str, head: str) -> None:
    """Take titles from how people are introduced in the opening: "James Quincey, our Chief Executive Officer"."""
    opening = text[:_OPENING]
    for sentence in re.split(r"(?<=[a-z)][.?!])\s|\n", opening):
        found = sorted(_mentions(sentence, people))
        if not found:
            continue
        before = _title_before(sentence[: found[0][0]])
        for position, (start, end, at) in enumerate(found):
            left = found[position - 1][1] if position else 0
            right = found[position + 1][0] if position + 1 < len(found) else len(sentence)
            title = _title_before(sentence[left:start]) if before else _title_after(sentence[end:right])
            title = _without_company(title, head)
            person = people[at]
            if title and not person.title and person.side != ANALYST:
                people[at] = replace(with_credentials(replace(person, side=COMPANY), title, head), side=COMPANY)


def _mentions(sentence: str, people: Sequence[Participant]) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and index of each participant named in full in `sentence`."""
    for at, person in enumerate(people):
        last = person.name.split()[-1].strip(".,")
        if len(last) < 2 or last not in sentence:
            continue
        for match in re.finditer(rf"([A-Z][\w'’.\-]*\s+)(?:[A-Z]\.\s+)?{re.escape(last)}\b", sentence):
            if same_person(match[0], person.name) or name_words(match[0])[-1:] == name_words(person.name)[-1:]:
                yield match.start(), match.end(), at
                break


def _title_after(rest: str) -> str | None:
    match = re.match(r",\s+(?:(?:is|who is)\s+)?(?:our|the|its|[A-Z][\w&.\-]*['’]s)?\s*([^.;:()]{2,100})", rest)
    if not match:
        return None
    title = re.split(
        r"[;]|,?\s+(?:who|will|please|and (?:will|then|he|she|they))\b|,?\s+and\s+(?=(?:[A-Z][\w.]*\s+){2,3},)"
        r"|,?\s+and\s*$",
        match[1],
    )[0]
    title = title.strip(" ,")
    return title if has_title(title) and not title.lower().startswith("and ") else None


def _title_before(rest: str) -> str | None:
    match = re.search(r"((?:[A-Z][\w&'’.\-]*|of|and|the|for|&|,|\s){2,100})$", rest)
    if not match:
        return None
    title = re.sub(r"^.*?['’]s\s+", "", match[1].strip(" ,"))
    title = re.sub(r"^(?:and|the|of|for|&|,|\s)+", "", title).strip(" ,")
    title = re.sub(r",?\s*\b(?:Mr|Ms|Mrs|Dr)\.?$", "", title).strip(" ,")
    return title if has_title(title) and len(title) < 90 else None


def _without_company(title: str | None, head: str) -> str | None:
    """Return a title without the company's name in front: "Apple CEO"."""
    words = (title or "").split()
    while len(words) > 1 and not has_title(words[0]) and is_company(words[0], head):
        words = words[1:]
    return " ".join(words) or None


def _learn_analysts(
    people: list[Participant], turns: Sequence[Turn], speakers: Sequence[str | None], text: str, head: str
) -> None:
    """Take analysts and their firms from the operator's introductions: the next who speaks, if the name agrees and the
    company does not employ them."""
    position_of = {person.name: at for at, person in enumerate(people)}
    for position, turn in enumerate(turns):
        introduced = _introduced(text[turn.start : turn.end], turn.part) if is_operator(turn.speaker) else None
        if introduced is None:
            continue
        name, firm = introduced
        for speaker in speakers[position + 1 : position + 4]:
            if speaker is None or people[position_of[speaker]].side == COMPANY:
                continue
            at = position_of[speaker]
            if is_company(firm, head):
                people[at] = replace(people[at], side=COMPANY)
            elif _agree(name, speaker) and not has_title(firm):
                people[at] = replace(people[at], side=ANALYST, firm=people[at].firm or firm)
            break


def _agree(introduced: str, speaker: str) -> bool:
    """Tell whether the operator, who may spell badly, means this speaker."""
    a, b = name_words(introduced), name_words(speaker)
    if not a or not b:
        return False
    if a[-1] == b[-1] or (len(b) == 1 and b[0] in a) or (len(a) == 1 and a[0] in b):
        return True
    return difflib.SequenceMatcher(None, " ".join(a), " ".join(b)).ratio() >= 0.6


def _learn_sides(people: list[Participant], turns: Sequence[Turn], speakers: Sequence[str | None]) -> None:
    """Count who speaks in the prepared remarks, and who holds a title without being an analyst, to the company."""
    prepared = {s for s, turn in zip(speakers, turns, strict=True) if s and turn.part == PREPARED}
    for at, person in enumerate(people):
        if person.side is None and (person.name in prepared or person.title):
            people[at] = replace(person, side=COMPANY)


def _unswapped(labels: list[_Label], text: str) -> list[_Label]:
    """Put right the first two labels of a call where a provider mixed them up: who hands over to somebody is not that
    person, and who does not speak like an operator is none.

    They change places in the whole call, because such providers number voices and name each number once.
    """
    if len(labels) < 3:
        return labels
    first, second, third = labels[:3]
    said, answered = text[first.speech : second.start], text[second.speech : third.start]
    handed = [match[1] or match[2] for match in _HANDS_OVER.finditer(said)]
    given_name = name_words(first.name)[:1]
    mixed_up = (
        not is_operator(first.name)
        and is_operator(second.name)
        and any(set(given_name) <= set(folded(words).split()) for words in handed)
        and _OPERATES.search(said)
        and not _OPERATES.search(answered[:300])
    )
    if not mixed_up:
        return labels
    places = {first.name: second, second.name: first}
    return [
        replace(label, name=places[label.name].name, credentials=places[label.name].credentials)
        if label.name in places
        else label
        for label in labels
    ]
