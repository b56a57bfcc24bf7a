"""Lines of a page with their geometry: the common ground of PDF pages and plain-text pages.

`x` runs to the right, `y` upwards, in points for PDFs and in characters for plain text.
"""

import re
from functools import lru_cache
from typing import NamedTuple


class Word(NamedTuple):
    """A run of non-space characters of a line: `[start, end)` within the line, and where it stands.

    `raised` words stand above the line: footnote marks, not figures.
    """

    start: int
    end: int
    x0: float
    x1: float
    raised: bool = False


class Line(NamedTuple):
    """One printed line. `space` is the width of an ordinary space here; `words` is empty where nobody needs it."""

    text: str
    page: int
    x0: float
    x1: float
    y: float
    size: float
    bold: bool
    space: float
    words: tuple[Word, ...] = ()


WORD = re.compile(r"\S+")
ITEM_HEADING = re.compile(
    r"\s*(?:part\s+[ivx]+\b|items?\s+(?:no\.?\s*)?\d{1,2}[a-c]?\b|第[一二三四五六七八九十]+[节章])", re.I
)
_SENTENCE_END = re.compile(r"(?<!U\.S)(?<!Inc)(?<!Corp)(?<!\bCo)(?<!Ltd)(?<!\bNo)(?<!vs)[.!?。！？;；][\"”’)]*\s*$")
_WORDY = re.compile(r"[^\W\d_]{2,}")


def ends_sentence(text: str) -> bool:
    """Say whether a text ends where a sentence ends, abbreviations like `U.S.` and `Inc.` apart."""
    return _SENTENCE_END.search(text[-16:]) is not None


def is_sentence_like(line: Line) -> bool:
    """Say whether a line reads like running prose: many words, most of them in lower case."""
    return _prose(line.text)


@lru_cache(maxsize=4096)
def _prose(text: str) -> bool:
    words = _WORDY.findall(text)
    if len(words) < 8:
        return False
    return sum(word[0].islower() for word in words) >= 0.55 * len(words)
