"""How much a line reads like the title of an item: by words in order, and by letters where words are glued together."""

import re
from dataclasses import dataclass
from functools import cache

WORD = re.compile(r"[^\W_]+(?:['’`][^\W_]+)?")
# Words that carry nothing of a title's meaning; they may be missing or different.
_LIGHT = frozenset(
    [
        "a",
        "an",
        "and",
        "any",
        "by",
        "for",
        "from",
        "in",
        "its",
        "of",
        "on",
        "or",
        "our",
        "registrant",
        "s",
        "the",
        "that",
        "this",
        "to",
        "upon",
        "with",
    ]
)
# Any item may be left out in these words instead of its title.
_LEFT_OUT = frozenset({"reserved", "removed", "omitted", "intentionally", "none", "not"})
_LONGEST_LINE = 2_000
_REACH = 2  # words that may stand between two of the title's


@dataclass(frozen=True)
class TitleMatch:
    """`similarity` from 0 to 1: the share of the title's words found in order; `end` is the offset after the last."""

    similarity: float
    end: int


def line_span(text: str, offset: int) -> tuple[int, int]:
    """Return start and end of the line around `offset`; of a line longer than any heading, only what is near."""
    low, high = max(0, offset - _LONGEST_LINE), min(len(text), offset + _LONGEST_LINE)
    start = text.rfind("\n", low, offset) + 1
    end = text.find("\n", offset, high)
    return start or low, high if end < 0 else end


def letters(text: str) -> str:
    """Return the letters and digits of `text`, lower-cased: what remains of a heading under any spacing."""
    return "".join(c for c in text.lower() if c.isalnum())


@cache
def _weighty(title: str) -> tuple[str, ...]:
    return tuple(w for w in (_plain(m.group()) for m in WORD.finditer(title)) if w not in _LIGHT)


def _plain(word: str) -> str:
    word = word.lower().replace("’", "'").replace("`", "'").removesuffix("'s").removesuffix("'")
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word


def match_title(text: str, start: int, titles: tuple[str, ...], limit: int = 320) -> TitleMatch:
    """Compare what stands at `start` with the wordings in `titles` and return the best match.

    At most `limit` characters are looked at. Where nothing matches, the similarity is 0 and the end is `start`.
    """
    words = [(_plain(m.group()), m.end()) for m in WORD.finditer(text, start, min(len(text), start + limit))]
    best = TitleMatch(0.0, start)
    if not words:
        return best
    window = text[start : start + limit]
    matches = [m for title in titles for m in (_by_words(words, start, title), _by_letters(window, start, title))]
    if matches:
        similarity = max(m.similarity for m in matches)
        end = max(m.end for m in matches if m.similarity == similarity)
        # A shorter wording may match as well as a longer one, which says how far a line that goes on is still title.
        if any(c.isalnum() for c in text[end : line_span(text, end)[1]]):
            end = max(m.end for m in matches if m.similarity >= 0.6 * similarity)
        best = TitleMatch(similarity, _over_light_words(text, end))
    if best.similarity < 0.5 and words[0][0] in _LEFT_OUT:
        return TitleMatch(0.6, words[0][1])
    return best


def _over_light_words(text: str, end: int) -> int:
    """Move `end` to the end of its line where only words without weight follow ("… Officers of Registrant")."""
    rest = list(WORD.finditer(text, end, min(line_span(text, end)[1], end + 100)))
    if rest and len(rest) <= 4 and all(_plain(m.group()) in _LIGHT for m in rest):
        return rest[-1].end()
    return end


def _by_words(words: list[tuple[str, int]], start: int, title: str) -> TitleMatch:
    wanted = _weighty(title)
    position, found, end, misses = 0, 0, start, 0
    for word, word_end in words:
        if position == len(wanted) or misses > _REACH:
            break
        if word in _LIGHT:
            continue
        try:
            ahead = wanted.index(word, position)
        except ValueError:
            misses += 1
            if not found and misses >= min(3, len(wanted)):
                break
            continue
        if ahead - position > 4:
            misses += 1
            continue
        position, found, end, misses = ahead + 1, found + 1, word_end, 0
    return TitleMatch(found / len(wanted), end) if found else TitleMatch(0.0, start)


def _by_letters(window: str, start: int, title: str) -> TitleMatch:
    wanted = letters(title)
    position = 0
    for offset, character in enumerate(window):
        if not character.isalnum():
            continue
        if character.lower() != wanted[position]:
            break
        position += 1
        if position == len(wanted):
            return TitleMatch(1.0, start + offset + 1)
    return TitleMatch(0.0, start)
