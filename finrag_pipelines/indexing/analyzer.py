"""How text becomes terms: one analyzer for what is indexed and for what is asked, so that both always agree.

Lower case, plural endings folded, stop words gone, numbers kept as one term each, CJK text as bigrams.
"""

import re
from functools import lru_cache
from itertools import pairwise

ANALYZER = "finrag-analyzer-1"

_STOP_WORDS = """
a about all also am an and any are as at be been being but by can could did do does each for from had has have he her
his how i if in into is it its just may me more most my of on or our she should show so some such tell than that the
their them then there these they this those to was we were what when where which who whom whose why will with would
you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

# Letters joined by & stay together (R&D, P&L, D&A); a number keeps its decimals and loses its thousands separators.
_TOKEN = re.compile(
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+"
    r"|[^\W\d_]+(?:&[^\W\d_]+)+"
    r"|[^\W_]+"
)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_APOSTROPHE = re.compile(r"['’](?:s|S)?(?![^\W_])|(?<=[^\W\d_])['’](?=[^\W\d_])")
_LONGEST_TERM = 64


@lru_cache(maxsize=200_000)
def _fold(word: str) -> str:
    """Fold a plural ending as Harman's S-stemmer does ("How effective is suffixing?", JASIS 1991)."""
    if len(word) <= 3 or not word.endswith("s"):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    if word.endswith(("us", "ss")):
        return word
    return word[:-1]


def _cjk_terms(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


def terms(text: str) -> list[str]:
    """Return the terms of `text` in order, stop words left out."""
    found: list[str] = []
    for match in _TOKEN.finditer(_APOSTROPHE.sub("", text).lower()):
        token = match.group()
        if token[0].isdigit():
            token = token.replace(",", "")
        if token in STOP_WORDS:
            continue
        if token.isascii():
            found.append(_fold(token)[:_LONGEST_TERM])
            continue
        position = 0
        for run in _CJK.finditer(token):
            if run.start() > position:
                found.append(token[position : run.start()][:_LONGEST_TERM])
            found.extend(_cjk_terms(run.group()))
            position = run.end()
        if position < len(token):
            found.append(_fold(token[position:])[:_LONGEST_TERM])
    return found


def phrases(words: list[str]) -> list[str]:
    """Return the bigrams and trigrams of a sequence of terms, their words joined by `_`, bigrams first."""
    bigrams = [f"{a}_{b}" for a, b in pairwise(words)]
    trigrams = [f"{a}_{b}_{c}" for a, b, c in zip(words, words[1:], words[2:], strict=False)]
    return bigrams + trigrams
