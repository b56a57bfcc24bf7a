"""Where sentences end, in English and Chinese, among abbreviations, decimals and initials. Positions only."""

import json
import re
from functools import cache
from pathlib import Path

_CLOSERS = "\"'”’»)]}"
_BREAK = re.compile(
    rf"[.!?][{re.escape(_CLOSERS)}]*(?=\s)"  # Western: a mark, then white space
    rf"|[。！？；…][”’」』）》{re.escape(_CLOSERS)}]*"  # Chinese: the mark alone
    r"|\n[ \t]*\n"  # a blank line
    r"|\n(?=[ \t]*[•●▪◦‣·*\-–—][ \t])"  # a bullet on a new line
)
_WORDED = re.compile(r"[^\W_]")
_LAST_WORD = re.compile(r"[^\s(\[\"“‘]{1,40}$")
_NEXT_WORD = re.compile(r"\s+([\"“‘'(\[]*)(\S{1,40})")


@cache
def _lexicon() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    tables = json.loads(Path(__file__).with_name("abbreviations.json").read_text("utf-8"))
    return frozenset(tables["never_final"]), frozenset(tables["sometimes_final"]), frozenset(tables["starters"])


def _ends_sentence(text: str, mark: int, after: int) -> bool:
    """Tell whether the Western mark at `mark`, whose closers end at `after`, ends a sentence."""
    following = _NEXT_WORD.match(text, after)
    if not following:
        return True
    opener, word = following.groups()
    if word[0].islower() and not opener:
        return False
    if text[mark] != "." or after > mark + 1:
        return True
    never, sometimes, starters = _lexicon()
    last = _LAST_WORD.search(text, max(0, mark - 40), mark)
    before = last.group().lower() if last else ""
    if before in never:
        return before == "no" and word.lower().strip(",.") in starters
    if before in sometimes:
        return word.lower().strip(",.;:") in starters
    if len(before) == 1 and before.isalpha():  # an initial: "James B. Smith"
        return word.lower().strip(",.;:") in starters and before != "i"
    if not (before.isdigit() and len(before) < 3 and last):
        return True
    ahead = text[max(0, last.start() - 4) : last.start()].rstrip()
    return bool(ahead) and ahead[-1] not in ".!?:;"  # "2." behind a sentence numbers the next one


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the ranges of the sentences of `text` in order, white space around them left out.

    Every character that is not white space lies in exactly one range. A line break alone ends nothing, because
    lines are wrapped in PDFs and plain text.
    """
    found: list[tuple[int, int]] = []
    start = looked = 0
    for match in _BREAK.finditer(text):
        mark = match.start()
        if text[mark] in ".!?":
            if not _WORDED.search(text, looked, mark):  # ". . . ." is no row of sentences
                looked = mark
                continue
            if not _ends_sentence(text, mark, match.end()):
                continue
        _append(found, text, start, match.end())
        start = looked = match.end()
    _append(found, text, start, len(text))
    return found


def _append(found: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        first = start + len(piece) - len(piece.lstrip())
        found.append((first, first + len(stripped)))
