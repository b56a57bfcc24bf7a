"""Transcripts as JSON, whatever their provider calls the fields: speakers and their words become text and elements."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from finrag_pipelines.parsing.model import Element, ElementKind, Kind, Layout, UnreadableError
from finrag_pipelines.parsing.readers.limits import Deadline
from finrag_pipelines.parsing.readers.mojibake import repair_mojibake

_SPEAKER_KEYS = ("speaker_name", "speaker", "name", "participant")
_SPEECH_KEYS = ("text", "speech", "content", "transcript", "remarks", "paragraphs")
_NAME_MAPS = re.compile(r"speaker_?name|name_?map|speaker_?map", re.IGNORECASE)
_ROSTER_KEYS = re.compile(r"^(?:call_?|company_?|conference_?)*(?:participants|executives|analysts)$", re.IGNORECASE)
_PART_KEYS = ((re.compile(r"prepared|presentation|opening", re.IGNORECASE), "Prepared remarks"),
              (re.compile(r"q_?(?:and|n|&)?_?a\b|question", re.IGNORECASE), "Questions and answers"))  # fmt: skip
_FACTS = {
    "company": ("company", "company_name", "companyname", "issuer"),
    "ticker": ("ticker", "symbol"),
    "year": ("year", "fiscal_year", "fiscalyear"),
    "quarter": ("quarter", "fiscal_quarter", "fiscalquarter", "period"),
    "date": ("conference_date", "date", "event_date", "datetime", "call_date"),
    "title": ("title", "headline", "event_title"),
}
_MAX_DEPTH = 8
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class _Speech:
    speaker: str
    credentials: str
    text: str


class _Writer:
    """Puts the canonical text together, line by line."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.elements: list[Element] = []
        self._position = 0

    def line(self, kind: ElementKind, text: str) -> None:
        # JSON can state half of a surrogate pair, which no encoding can hold.
        text = _SURROGATE.sub("\ufffd", repair_mojibake(text)).replace("\x00", "")
        text = " ".join(text.split())
        if text:
            self.elements.append(Element(kind, self._position, self._position + len(text)))
            self.parts.append(text)
            self._position += len(text) + 1


def read_json_transcript(content: bytes, deadline: Deadline | None = None) -> Layout:
    """Return the layout of a transcript in JSON. A TURN element holds the line that names a speaker; the words follow
    as paragraphs. Raises UnreadableError `json_broken`, `json_no_transcript` or `time_budget`."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableError("json_broken", f"This JSON does not parse ({error}); fetch the file again.") from error
    writer = _Writer()
    metadata = _facts(document)
    names = _name_map(document, 0)
    opening = [metadata[key] for key in ("title", "company", "ticker") if key in metadata]
    if "quarter" in metadata or "year" in metadata:
        quarter = metadata.get("quarter", "")
        opening.append(f"{'Q' + quarter if quarter.isdigit() else quarter} {metadata.get('year', '')}".strip())
    if "date" in metadata:
        opening.append(metadata["date"][:10])
    writer.line(ElementKind.TITLE, " · ".join(opening))
    for heading, roster in _rosters(document):
        writer.line(ElementKind.TITLE, heading)
        for entry in roster:
            writer.line(ElementKind.LIST_ITEM, entry)
    spoken = 0
    for heading, speeches in _parts(document, names, 0):
        writer.line(ElementKind.TITLE, heading)
        for speech in speeches:
            spoken += 1
            if deadline:
                deadline.check(f"turn {spoken}")
            label = speech.speaker + (f" -- {speech.credentials}" if speech.credentials else "")
            writer.line(ElementKind.TURN, label)
            for paragraph in speech.text.split("\n"):
                writer.line(ElementKind.PARAGRAPH, paragraph)
    if not spoken:
        raise UnreadableError(
            "json_no_transcript",
            "This JSON holds no list of speakers and their words; hand in records with `speaker` and `text`.",
        )
    return Layout("\n".join(writer.parts), Kind.JSON_TRANSCRIPT, tuple(writer.elements), metadata=metadata)


def _text(value: Any) -> str:
    """Return a string, or the strings of a list one a line; else nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return ""


def _speech(record: Any, names: dict[str, tuple[str, str]]) -> _Speech | None:
    """Return what a record says and who says it; None for any other record."""
    if not isinstance(record, dict):
        return None
    lower = {str(key).lower(): value for key, value in record.items()}
    text = next((_text(lower[key]) for key in _SPEECH_KEYS if _text(lower.get(key)).strip()), "")
    who = next((lower[key] for key in _SPEAKER_KEYS if key in lower), None)
    if isinstance(who, dict):
        inner = {str(key).lower(): value for key, value in who.items()}
        lower, who = {**inner, **{k: v for k, v in lower.items() if k not in inner}}, inner.get("name")
    if not text or not isinstance(who, str | int):
        return None
    name, credentials = names.get(str(who), (str(who).strip(), ""))
    stated = [_text(lower.get(key)) for key in ("title", "role", "company", "firm", "affiliation")]
    return _Speech(name or "Unknown speaker", credentials or " -- ".join(part for part in stated if part), text)


def _parts(value: Any, names: dict[str, tuple[str, str]], depth: int) -> Iterator[tuple[str, list[_Speech]]]:
    """Yield (heading, speeches) for each list of speeches, in the order of the file, prepared remarks first."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        speeches = [speech for record in value if (speech := _speech(record, names))]
        if len(speeches) > 1 or (speeches and len(value) == 1):
            yield "", speeches
            return
        for item in value:
            yield from _parts(item, names, depth + 1)
    elif isinstance(value, dict):
        found: list[tuple[int, str, list[_Speech]]] = []
        for key, item in value.items():
            if _NAME_MAPS.search(key):
                continue
            place = next((i for i, (matcher, _) in enumerate(_PART_KEYS) if matcher.search(key)), None)
            for heading, speeches in _parts(item, names, depth + 1):
                found.append((place or 0, heading or (_PART_KEYS[place][1] if place is not None else ""), speeches))
        if not found:
            whole = next((_text(value[key]) for key in _SPEECH_KEYS if _text(value.get(key)).strip()), "")
            if whole and depth <= 2:
                found = [(0, "", _labelled(whole))]
        for _, heading, speeches in sorted(found, key=lambda part: part[0]):
            yield heading, speeches


def _labelled(text: str) -> list[_Speech]:
    """Return the speeches of a text whose lines begin with `Name: `; one of nobody's where none does."""
    pieces = re.split(r"(?m)^([A-Z][^:\n]{1,80}):[ \t]+", text)
    if len(pieces) < 5:
        return [_Speech("Unknown speaker", "", text)]
    opening = [_Speech("Unknown speaker", "", pieces[0])] if pieces[0].strip() else []
    return opening + [_Speech(name, "", words) for name, words in zip(pieces[1::2], pieces[2::2], strict=True)]


def _name_map(value: Any, depth: int) -> dict[str, tuple[str, str]]:
    """Return id -> (name, credentials) where the file maps its speaker ids to people."""
    found: dict[str, tuple[str, str]] = {}
    if depth > _MAX_DEPTH or not isinstance(value, dict):
        return found
    for key, item in value.items():
        if _NAME_MAPS.search(key) and isinstance(item, dict):
            for speaker, person in item.items():
                if isinstance(person, dict) and isinstance(person.get("name"), str):
                    found[speaker] = (person["name"], _text(person.get("title")))
                elif isinstance(person, str):
                    found[speaker] = (person, "")
        else:
            found.update(_name_map(item, depth + 1))
    return found


def _rosters(value: Any) -> Iterator[tuple[str, list[str]]]:
    """Yield (heading, entries) for each list of participants."""
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if not (_ROSTER_KEYS.match(key) and isinstance(item, list)):
            continue
        entries: list[str] = []
        for entry in item:
            if isinstance(entry, str):
                entries.append(re.sub(r"\s*--\s*", " -- ", entry))
            elif isinstance(entry, dict) and isinstance(entry.get("name"), str):
                stated = [_text(entry.get(name)) for name in ("title", "role", "company", "firm", "affiliation")]
                entries.append(" -- ".join(part for part in (entry["name"], *stated) if part))
        if entries:
            yield {"executives": "Executives", "analysts": "Analysts"}.get(key.lower(), "Call participants"), entries


def _facts(value: Any) -> dict[str, str]:
    """Return what the file says of company, period and date, from its top and from one level below."""
    found: dict[str, str] = {}
    levels = [value[0] if isinstance(value, list) and value else value]
    if isinstance(levels[0], dict):
        levels += [item for item in levels[0].values() if isinstance(item, dict)]
    for level in levels:
        if not isinstance(level, dict):
            continue
        lower = {str(key).lower(): item for key, item in level.items()}
        for fact, keys in _FACTS.items():
            stated = next((lower[key] for key in keys if isinstance(lower.get(key), str | int)), None)
            if stated is not None and fact not in found and len(str(stated)) < 300:
                found[fact] = _SURROGATE.sub("\ufffd", str(stated))
    return found
