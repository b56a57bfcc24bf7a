"""The words of documents that are to go, and how they are known again: runs of words that stand in no other document.

Texts and bytes are compared as lower-case runs of ASCII letters and digits, so that markup, line breaks, escapes of
JSON and other alphabets between them make no difference.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

_WORD = re.compile(rb"[a-z0-9]+")
_ESCAPE = re.compile(rb"\\u[0-9a-f]{4}|\\[nrt]")
RUN = 8  # words in a row that count as a repetition
_SAMPLES = 200  # runs of one document that bytes are searched for
_RARE = 5  # letters of a word that is worth asking whether it is the document's own


def words_of(content: bytes) -> list[bytes]:
    """Return the words of bytes, in order."""
    return _WORD.findall(_ESCAPE.sub(b" ", content.lower()))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Passages:
    """Runs of words to search for. A short text is one run of all its words."""

    runs: frozenset[tuple[bytes, ...]]

    @staticmethod
    def sampled(texts: Iterable[str]) -> "Passages":
        """Return up to 200 runs of each text, spread evenly over it."""
        runs = set()
        for text in texts:
            words = words_of(_encoded(text))
            last = max(0, len(words) - RUN)
            starts = range(0, last + 1, max(1, last // _SAMPLES))
            runs |= {tuple(words[start : start + RUN]) for start in starts if words}
        return Passages(frozenset(runs))

    @staticmethod
    def stated(texts: Iterable[str]) -> "Passages":
        """Return each text as one run of all its words, however few they are."""
        return Passages(frozenset(tuple(words) for text in texts if (words := words_of(_encoded(text)))))

    def found_in(self, content: bytes) -> frozenset[tuple[bytes, ...]]:
        """Return the runs that stand in some bytes."""
        if not self.runs:
            return frozenset()
        words = words_of(content)
        return frozenset(
            run
            for place, word in enumerate(words)
            for run in self._by_first.get(word, ())
            if tuple(words[place : place + len(run)]) == run
        )

    @cached_property
    def _by_first(self) -> dict[bytes, list[tuple[bytes, ...]]]:
        found: dict[bytes, list[tuple[bytes, ...]]] = {}
        for run in self.runs:
            found.setdefault(run[0], []).append(run)
        return found

    def without(self, runs: Collection[tuple[bytes, ...]]) -> "Passages":
        """Return the passages without some runs."""
        return Passages(self.runs - frozenset(runs)) if runs else self


class OwnWords:
    """What only certain documents say: all runs of eight words, and all words, of their texts, less those of others.

    `others` gives the texts of all other documents; it is gone through when it is first needed.
    """

    def __init__(self, texts: Iterable[str], candidates: Iterable[str], others: Iterable[bytes]) -> None:
        """Look for what `candidates`, short texts, share with `texts` and with none of `others`."""
        runs: set[tuple[bytes, ...]] = set()
        words: set[bytes] = set()
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


def _runs(words: list[bytes]) -> Iterator[tuple[bytes, ...]]:
    return (tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1))
