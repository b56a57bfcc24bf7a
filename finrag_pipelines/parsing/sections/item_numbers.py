"""The numbers of items as printed: `7A`, `7.a`, `4(a)`, `2.02`, `1 and 2`, `10, 11, 12 and 13`, `1114(b)(2)`."""

import re

from finrag_pipelines.parsing.sections.item_schemes import Scheme

# "I TEM" is what small capitals become. No run in these patterns is unbounded, so that none can backtrack far.
ITEM = re.compile(r"\b(?:i ?tems?|i t e m(?: s)?)(?![a-z’'])", re.IGNORECASE)
_REG_AB = r"\d{4}(?:\([a-z]\)(?:\(\d\))?)?"
_PLAIN = r"(?:\d{1,2}\.\d\d|\d{1,2}|X|I{1,3}|IV|VI{0,3}|IX)"
_SUFFIX = r"(?: ?\.? ?\(?[A-K]\)?(?![\w’'])|\.?[A-K](?![\w’']))?"
_ONE = rf"({_REG_AB}|{_PLAIN}{_SUFFIX})(?![0-9A-Za-z])(?: ?\(T\))?"
_NUMBER = re.compile(rf"\s{{0,30}}(?:no\.?|number|#)?\s{{0,30}}{_ONE}", re.IGNORECASE)
# Some PDFs give a line of small type as single letters: "I t e m 1 6 . F o r m".
_SPACED_NUMBER = re.compile(r" ?(\d ?\d?(?: ?[A-K](?! ?[a-z]))?) ?\.", re.IGNORECASE)
_LINK = r"(?:,\s{0,9}(?:and\s)?|and\s|&|/|through\s|to\s)"
_MORE = re.compile(rf"\s{{0,9}}\.?\s{{0,9}}({_LINK})\s{{0,9}}(?:i ?tems?\s{{1,9}})?{_ONE}", re.IGNORECASE)
_ROMAN = {"I": "1", "II": "2", "III": "3", "IV": "4", "V": "5", "VI": "6", "VII": "7", "VIII": "8", "IX": "9"}
_MOST = 9  # items that one heading may open


def canonical_number(printed: str) -> str:
    """Return an item's number in one spelling: `7.a` -> `7A`, `4(a)` -> `4A`, `IV` -> `4`; `2.02` stays."""
    number = printed.upper().replace(" ", "")
    if re.fullmatch(r"\d+\.\d\d", number):
        return number
    if number[:4].isdigit():
        return number.lower()  # Regulation AB: `1114(b)(2)`
    number = number.replace(".", "").replace("(", "").replace(")", "")
    return _ROMAN.get(number, number)


def read_numbers(text: str, word: re.Match[str], scheme: Scheme) -> tuple[list[str], int] | None:
    """Return the numbers after `word`, a match of ITEM, and the offset after the last; None where no number follows."""
    pattern = _SPACED_NUMBER if word.group().lower().startswith("i t ") else _NUMBER
    found = pattern.match(text, word.end())
    if found is None:
        return None
    numbers, end = [canonical_number(found.group(1))], found.end()
    while len(numbers) < _MOST and (more := _MORE.match(text, end)):
        following = canonical_number(more.group(2))
        if more.group(1).lower().strip() in ("through", "to"):
            numbers += _between(numbers[-1], following, scheme)
        numbers.append(following)
        end = more.end()
    return numbers, end


def _between(first: str, last: str, scheme: Scheme) -> list[str]:
    numbers = [item.number for item in scheme.items]
    if first in numbers and last in numbers and numbers.index(first) < numbers.index(last):
        return numbers[numbers.index(first) + 1 : numbers.index(last)]
    return []
