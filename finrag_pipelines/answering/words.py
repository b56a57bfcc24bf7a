"""Words and sentences: how text is cut, folded and stemmed before rules look at it, in linear time."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources

from finrag_pipelines.storage import digest


@cache
def _lists() -> dict[str, list[str]]:
    return json.loads(resources.files("finrag_pipelines.answering").joinpath("word_lists.json").read_text("utf-8"))


def word_list(name: str) -> list[str]:
    """Return a list of words or phrases of word_lists.json."""
    return _lists()[name]


def rule_digest() -> str:
    """Return `name=sha256` of the word lists."""
    return f"word_lists={digest(_lists())}"


_WORD = re.compile(r"[^\W_]+(?:[.'’&/-][^\W_]+)*")
_BREAK = re.compile(r"[.!?。！？][\"'”’)\]]{0,3}(?=\s|$)|[。！？]|\n\s*\n")
_ABBREVIATIONS = frozenset(word_list("abbreviations"))
STOP_WORDS = frozenset(word_list("stop_words"))


def normal(text: str) -> str:
    """Fold case, typographic quotes and dashes and runs of white space, so that a phrase can be looked for."""
    text = text.translate(_FOLD).casefold()
    return " ".join(text.split())


_FOLD = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "\u00a0": " "})


def stem(word: str) -> str:
    """Return a crude stem: enough to match `prices`, `pricing` and `priced`; never longer than the word."""
    word = word.casefold()
    if word.endswith("'s"):
        word = word[:-2]
    if len(word) <= 3 or not word.isalpha():
        return word
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + replacement
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


_ENDINGS = (
    ("ifications", "ify"),
    ("ification", "ify"),
    ("ities", "ity"),
    ("ments", "ment"),
    ("ation", "at"),
    ("ations", "at"),
    ("ying", "y"),
    ("ings", ""),
    ("ing", ""),
    ("ies", "y"),
    ("ied", "y"),
    ("sses", "ss"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("xes", "x"),
    ("ed", ""),
    ("ly", ""),
    ("s", ""),
)


def words(text: str) -> list[str]:
    """Return the words of `text`, case folded."""
    return [match.group().casefold() for match in _WORD.finditer(text.translate(_FOLD))]


def content_stems(text: str) -> list[str]:
    """Return the stems of the words of `text` that are no stop words, in order; hyphenated words also in parts."""
    found: list[str] = []
    for word in words(text):
        parts = re.split("[-/]", word)
        if all(len(one) > 1 and one.isalpha() for one in word.split(".")):
            parts = re.split("[-/.]", word)  # a dotted name, but no abbreviation or decimal
        parts = parts if len(parts) == 1 else [word, *parts]
        found += [stem(part) for part in parts if part not in STOP_WORDS and (len(part) > 1 or part.isdigit())]
    return found


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the sentences of `text`, trimmed. Abbreviations and decimals do not end one."""
    start = 0
    for match in _BREAK.finditer(text):
        if match.group().startswith("."):
            before = text[max(start, match.start() - 12) : match.start()].split()
            last = before[-1].strip("(\"'“‘").casefold() if before else ""
            if last in _ABBREVIATIONS or (len(last) == 1 and last.isalpha()):
                following = text[match.end() : match.end() + 2].strip()
                if len(last) == 1 or not following[:1].isupper() or last in ("mr", "ms", "mrs", "dr", "no", "st"):
                    continue
        yield from _trimmed(text, start, match.end())
        start = match.end()
    yield from _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    lead = len(piece) - len(piece.lstrip(" \t\n\r\f\v\u00a0•·▪◦●–-"))
    tail = len(piece.rstrip())
    if tail > lead:
        yield start + lead, start + tail


class Phrases:
    """Phrases, looked for as whole words. `*` stands for one to four words, `fy*` for the rest of a word."""

    def __init__(self, listed: Iterable[str]) -> None:
        listed = tuple(listed)
        self._plain = sorted({flat(one) for one in listed if "*" not in one}, key=lambda one: (-len(one), one))
        self._patterns = [re.compile(_pattern(one)) for one in listed if "*" in one]

    def first(self, folded: str) -> str | None:
        """Return the phrase found in `folded` text (see `normal`), the longest first, or None."""
        text = f" {flat(folded)} "
        hits = [one for one in self._plain if f" {one} " in text][:1]
        hits += [match.group().strip() for one in self._patterns if (match := one.search(text))]
        return max(hits, key=lambda one: (len(one), one), default=None)


@cache
def phrases(name: str) -> Phrases:
    """Return the phrases of a list of word_lists.json."""
    return Phrases(word_list(name))


def flat(phrase: str) -> str:
    """Return a phrase as it is compared: folded, words parted by one blank, no punctuation."""
    return " ".join(_NO_PHRASE.sub(" ", normal(phrase)).split())


_NO_PHRASE = re.compile(r"[^\w&/-]+")


def _pattern(phrase: str) -> str:
    steps = []
    for word in flat(phrase.replace("*", " STAR " if " * " in phrase else "STAR")).split():
        if word == "star":
            steps.append(r"(?:\S+ ){1,4}?")
        elif word.endswith("star"):
            steps.append(re.escape(word[:-4]) + r"\S* ")
        else:
            steps.append(re.escape(word) + " ")
    return "(?<= )" + "".join(steps)
