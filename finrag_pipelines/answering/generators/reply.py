"""Reading a model's reply: strict JSON, ids that were delivered, and sentences tied to passages they may rest on."""

import dataclasses
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from finrag_pipelines.answering.generators.model import GenerationRequest, GeneratorError, positions
from finrag_pipelines.answering.generators.passages import Passages, asserts, rests_on
from finrag_pipelines.answering.injection import prompt_rules
from finrag_pipelines.answering.model import Delivered, Draft
from finrag_pipelines.answering.question import measures
from finrag_pipelines.answering.words import content_stems, sentences, words

_LONGEST_REPLY = 100_000
_MARKED = re.compile(r"[\[(](?:S\d{1,3})(?:, ?S\d{1,3}){0,8}[\])]|^S\d{1,3}:")
_LIKE_A_MARK = re.compile(
    r"\bS ?\d{1,3}\b|[\[【［]\s*\S{0,3}\d{1,3}[^\]】］]{0,12}[\]】］]|\b[Ss]ources? \d{1,3}\b", re.IGNORECASE
)
_ID = re.compile(r"S\d{1,3}")
_NUMBER_WORDS = frozenset(prompt_rules()["number_words"])


def read_reply(text: str, request: GenerationRequest, delivered: Sequence[Delivered]) -> tuple[tuple[Draft, ...], bool]:
    """Return the drafted sentences, and whether the model declined. Raises GeneratorError for any other form.

    An id that is not exactly that of a delivered source stays unresolved, and so does a mark inside the text that is
    none of the ids listed for it: such a sentence falls.
    """
    declined, stated = _parsed(text)
    if declined or not stated:
        return (), True
    known = positions(delivered)
    passages = Passages(request.pairs, request.documents)
    drafts: dict[tuple[str, tuple[str, ...]], Draft] = {}
    for sentence, ids in stated:
        for one in _single_sentences(sentence):
            draft = _draft(one, ids, known, passages)
            if draft.supports and not draft.objection and not _speaks_to(request, draft):
                draft = dataclasses.replace(draft, objection="does not speak of what was asked")
            if draft.text:
                drafts.setdefault((draft.text, ids), draft)
    return tuple(drafts.values()), False


def _parsed(text: str) -> tuple[bool, list[tuple[str, tuple[str, ...]]]]:
    try:
        if len(text) > _LONGEST_REPLY:
            raise ValueError("too long")
        content = json.loads(text, object_pairs_hook=_without_repeats)
        declined = content["declined"]
        stated = [_sentence(one) for one in content["sentences"]]
        if not isinstance(declined, bool):
            raise TypeError("declined")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        message = (
            f"the model's reply is not the JSON that was asked for ({type(error).__name__}); nothing of it is used"
        )
        raise GeneratorError("bad_reply", message) from None
    return declined, stated


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("repeated field")
    return dict(pairs)


def _sentence(one: Any) -> tuple[str, tuple[str, ...]]:
    text, ids = one["text"], one["sources"]
    if not isinstance(text, str) or not isinstance(ids, list) or not all(isinstance(name, str) for name in ids):
        raise TypeError("sentence")
    return text, tuple(dict.fromkeys(ids))


def _single_sentences(text: str) -> list[str]:
    """Split what a model wrote as one, so that each sentence is checked by itself."""
    text = " ".join(text.split())
    return [text[start:end] for start, end in sentences(text)]


def _draft(text: str, ids: tuple[str, ...], known: Mapping[str, Delivered], passages: Passages) -> Draft:
    resolved = [known[one] for one in ids if one in known]
    text, unresolved = _without_marks(text, ids, resolved)
    unresolved += tuple(sorted(one for one in ids if one not in known))
    supports = tuple(support for one in resolved for support in passages.of(text, one))
    objection = _disguised(text) or _numbers_in_words(text, resolved)
    if supports:
        objection = objection or passages.objection(text, resolved) or passages.beyond(text, supports)
        objection = objection or ("" if asserts(text) else "asserts nothing")
    if resolved and not supports:
        objection = objection or "rests on text that speaks to the reader of the prompt"
    lead = passages.lead(text, supports) if supports else ""
    return Draft(text, supports, unresolved=unresolved, lead=lead, objection=objection)


def _without_marks(text: str, ids: tuple[str, ...], resolved: Sequence[Delivered]) -> tuple[str, tuple[str, ...]]:
    """Take out marks that repeat listed ids; whatever else looks like a mark and is no text of a source is returned."""
    unresolved: list[str] = []

    def drop(match: re.Match[str]) -> str:
        unresolved.extend(one for one in _ID.findall(match.group()) if one not in ids)
        return " "

    text = " ".join(_MARKED.sub(drop, text).split())
    text = re.sub(r" (?=[.,;:!?])", "", text)
    sources = " ".join(one.fragment.text for one in resolved)
    unresolved += [one for one in _LIKE_A_MARK.findall(text) if one not in sources]
    return text, tuple(sorted(set(unresolved)))


def _speaks_to(request: GenerationRequest, draft: Draft) -> bool:
    """Tell whether a sentence shares a word with the topic of the question, or rests on what was found for it."""
    ask = request.ask
    named = " ".join(measures()[one].name for one in ask.measures)
    topic = {*ask.topic, *ask.optional, *ask.qualifiers, *content_stems(named)}
    if not topic or topic.intersection(content_stems(draft.text)):
        return True
    return any(rests_on(draft, one) for one in request.findings)


def _disguised(text: str) -> str:
    """Object to characters that hide something, and to digits that are none of 0 to 9."""
    for char in text:
        kind = unicodedata.category(char)
        if kind in ("Cc", "Cf", "Co", "Cn", "Cs") or (kind in ("Nd", "Nl", "No") and not char.isascii()):
            return "holds characters that hide or disguise text"
    return ""


def _numbers_in_words(text: str, resolved: Sequence[Delivered]) -> str:
    """Object to numbers in words that no source has in words: the claim checks compare digits."""
    stated = {part for word in words(text) for part in word.split("-")} & _NUMBER_WORDS
    known = {part for one in resolved for word in words(one.fragment.text) for part in word.split("-")}
    missing = sorted(stated - known)
    return f"the number {missing[0]} stands in no cited passage" if missing else ""
