"""The words of documents that are to go, and how they are known again: runs of words that stand in no other document.

Texts and bytes are compared as case-folded runs of letters and digits of any alphabet, a character of Chinese, Japanese
or Korean as a word of its own, so that markup, line breaks and escapes of JSON between them make no difference. The
term sequences of the index hold no words but terms, without stop words: they are compared in that form.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from finrag_pipelines.indexing.analyzer import terms

Run = tuple[str, ...]

_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
_ESCAPED = re.compile(r"(?:\\u[0-9a-f]{4})+")
_BREAK = re.compile(r"\\[nrt]")
RUN = 8  # words, or terms, in a row that count as a repetition
_LEAST_TERMS = 6  # of a passage that is searched for as terms: fewer stand in any document
_SAMPLES = 200  # runs of one document that bytes are searched for
_RARE = 5  # letters of a word that is worth asking whether it is the document's own


def words_of(content: bytes) -> list[str]:
    """Return the words of bytes, in order; what is no UTF-8 separates words."""
    text = content.decode("utf-8", "replace").casefold()
    if "\\" in text:
        text = _BREAK.sub(" ", _ESCAPED.sub(_unescaped, text).casefold())
    return _WORD.findall(text)


def _unescaped(match: re.Match[str]) -> str:
    return bytes.fromhex(match.group().replace("\\u", "")).decode("utf-16-be", "replace")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Passages:
    """What to search for: runs of words, and sequences of terms as the index has them."""

    runs: frozenset[Run] = frozenset()
    sequences: frozenset[Run] = frozenset()

    @staticmethod
    def sampled(texts: Iterable[str]) -> "Passages":
        """Return up to 200 runs and sequences of each text, spread evenly over it. A short text is one run of all its
        words."""
        found = Passages()
        for text in texts:
            sequences = {one for one in _spread(terms(text)) if len(one) >= _LEAST_TERMS}
            found |= Passages(frozenset(_spread(words_of(_encoded(text)))), frozenset(sequences))
        return found

    @staticmethod
    def stated(texts: Iterable[str]) -> "Passages":
        """Return each text as one run of all its words, however few they are."""
        found = Passages()
        for text in texts:
            runs = (tuple(words_of(_encoded(text))), tuple(terms(text)))
            found |= Passages(*(frozenset({run} if run else ()) for run in runs))
        return found

    def __or__(self, other: "Passages") -> "Passages":
        return Passages(self.runs | other.runs, self.sequences | other.sequences)

    def __len__(self) -> int:
        return len(self.runs) + len(self.sequences)

    def overlaps(self, other: "Passages") -> bool:
        """Tell whether there is a passage in both."""
        return not (self.runs.isdisjoint(other.runs) and self.sequences.isdisjoint(other.sequences))

    def found_in(self, content: bytes) -> frozenset[Run]:
        """Return the runs of words that stand in some bytes."""
        return _standing(words_of(content), self._runs_by_first) if self.runs else frozenset()

    @cached_property
    def _runs_by_first(self) -> Mapping[str, list[Run]]:
        return _by_first(self.runs)

    @cached_property
    def _sequences_by_first(self) -> Mapping[str, list[Run]]:
        return _by_first(self.sequences)

    def without_those_in(self, content: bytes) -> "Passages":
        """Return the passages that do not stand in a text, neither its words nor its terms."""
        runs, sequences = self.found_in(content), frozenset[Run]()
        if self.sequences:
            sequences = _standing(terms(content.decode("utf-8", "replace")), self._sequences_by_first)
        return Passages(self.runs - runs, self.sequences - sequences) if runs or sequences else self


def _spread(words: list[str]) -> Iterator[Run]:
    last = max(0, len(words) - RUN)
    starts = range(0, last + 1, max(1, last // _SAMPLES))
    return (tuple(words[start : start + RUN]) for start in starts if words)


def _by_first(runs: Collection[Run]) -> Mapping[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run[0], []).append(run)
    return found


def _standing(words: list[str], by_first: Mapping[str, list[Run]]) -> frozenset[Run]:
    return frozenset(
        run
        for place, word in enumerate(words)
        for run in by_first.get(word, ())
        if tuple(words[place : place + len(run)]) == run
    )


class OwnWords:
    """What only certain documents say: all runs of eight words, and all words, of their texts, less those of others.

    `others` gives the texts of all other documents; it is gone through when it is first needed.
    """

    def __init__(self, texts: Iterable[str], candidates: Iterable[str], others: Iterable[bytes]) -> None:
        """Look for what `candidates`, short texts, share with `texts` and with none of `others`."""
        runs: set[Run] = set()
        words: set[str] = set()
        for text in texts:
            found = words_of(_encoded(text))
            words |= set(found)
            runs |= set(_runs(found))
        asked = [words_of(_encoded(text)) for text in candidates]
        self.runs = {run for one in asked for run in _runs(one)} & runs
        self.words = {word for one in asked for word in one if len(word) >= _RARE} & words
        for content in others if self.runs or self.words else ():
            found = words_of(content)
            self.words -= set(found)
            if self.runs:
                self.runs -= set(_runs(found))

    def repeated_by(self, text: str) -> bool:
        """Tell whether a text repeats eight words in a row."""
        return any(run in self.runs for run in _runs(words_of(_encoded(text))))

    def named_by(self, text: str) -> bool:
        """Tell whether a text holds a word that no other document has."""
        return not self.words.isdisjoint(words_of(_encoded(text)))


def _runs(words: list[str]) -> Iterator[Run]:
    return (tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1))
