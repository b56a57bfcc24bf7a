"""Numbers in text: value, unit, scale and printed precision, so that `$2.1 billion` and `2,130` in millions compare."""

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

_SCALES = {
    "trillion": 12,
    "billion": 9,
    "billions": 9,
    "bn": 9,
    "b": 9,
    "million": 6,
    "millions": 6,
    "mn": 6,
    "mm": 6,
    "m": 6,
    "thousand": 3,
    "thousands": 3,
    "k": 3,
    "hundred": 2,
}
_CURRENCIES = {"$": "USD", "usd": "USD", "us$": "USD", "€": "EUR", "eur": "EUR", "£": "GBP", "gbp": "GBP", "¥": "CNY"}
_NUMBER = re.compile(
    r"(?P<open>\()?\s?(?P<minus>[-−–])?\s?(?P<currency>US\$|USD\s|EUR\s|[$€£¥])?\s?(?P<open2>\()?(?P<minus2>[-−])?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"(?P<close>\))?"
    r"(?P<scale>[ -]?(?:trillion|billions?|millions?|thousands?|hundred|bn|mn|mm)(?!\w)|[bmk](?!\w))?"
    r"(?:\s?(?P<unit>%|percentage[ -]points?|percent|per cent|basis[ -]points?|bps|points?|pts|times|x(?!\w)|days?"
    r"|(?:dollars?|cents?|USD)?\s?(?:per|a|/)\s?(?:diluted |common |ordinary )?share|cents?|dollars?|USD))?",
    re.IGNORECASE,
)
_WORD_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip


@dataclass(frozen=True)
class Amount:
    """A number as printed at `[start, end)`: `value` in base units, `step` the weight of its last printed digit.

    `unit` is a currency code, `percent`, `points`, `bps`, `per_share`, `days`, `times` or None.
    """

    value: Decimal
    step: Decimal
    unit: str | None
    start: int
    end: int
    printed: str
    scaled: bool = False

    @property
    def year_like(self) -> bool:
        """Tell whether this is a bare number between 1900 and 2100, which is most likely a year."""
        return self.unit is None and not self.scaled and "," not in self.printed and 1900 <= self.value <= 2100


def _unit(currency: str | None, unit: str | None) -> str | None:
    unit = (unit or "").casefold().strip()
    if unit in ("%", "percent", "per cent"):
        return "percent"
    if unit.startswith("percentage"):
        return "points"
    if unit.startswith(("basis", "bps")):
        return "bps"
    if unit.startswith("point") or unit == "pts":
        return "points"
    if unit in ("x", "times"):
        return "times"
    if unit.startswith("day"):
        return "days"
    if "share" in unit:
        code = _CURRENCIES.get((currency or "$").casefold().strip(), "USD")
        return "per_share" if code == "USD" else f"{code}/share"
    if currency:
        return _CURRENCIES.get(currency.casefold().strip(), "USD")
    if unit.startswith(("dollar", "usd")):
        return "USD"
    return "cents" if unit.startswith("cent") else None


def amounts(text: str) -> list[Amount]:
    """Return the numbers of `text` in order. Digits inside a word (`Q3`, `10-K`, `FY2022`) are no numbers."""
    found = []
    for match in _NUMBER.finditer(text):
        first, last = match.start("digits"), match.end("digits")
        if first and (
            text[first - 1].isalpha() or (text[first - 1] in "-/." and first > 1 and text[first - 2].isalnum())
        ):
            continue
        if last < len(text) and (text[last].isalpha() and not match["scale"] and not match["unit"]):
            continue
        if last + 1 < len(text) and text[last] in "-/" and text[last + 1].isalpha() and not match["scale"]:
            continue
        try:
            value = Decimal(match["digits"].replace(",", ""))
        except InvalidOperation:
            continue
        decimals = len(match["digits"].partition(".")[2])
        scale = _SCALES.get((match["scale"] or "").strip(" -").casefold(), 0)
        unit = _unit(match["currency"], match["unit"])
        negative = bool(match["minus2"]) or (bool(match["minus"]) and not _is_range(text, match.start("minus")))
        if (match["open"] or match["open2"]) and match["close"] and _accounting(match["digits"], unit):
            negative = True
        if unit == "cents":
            unit, scale = "USD", scale - 2
        start = match.start() + len(match.group()) - len(match.group().lstrip())
        factor = Decimal(10) ** scale
        found.append(
            Amount(
                (-value if negative else value) * factor,
                Decimal(10) ** -decimals * factor,
                unit,
                start,
                match.end(),
                match.group().strip(),
                bool(match["scale"]),
            )
        )
    return found


def _is_range(text: str, minus: int) -> bool:
    """Tell whether the dash at `minus` joins two numbers or words (`5-7`, `5 - 7`) and is no sign (`was -3.7`)."""
    before = text[minus - 1 : minus]
    if not before:
        return False
    spaced = before.isspace() and text[minus + 1 : minus + 2].isspace()
    return before.isalnum() or before in ("%", ")") or spaced


def _accounting(digits: str, unit: str | None) -> bool:
    """Tell whether a number in parentheses is negative: `(1,234)` and `(0.5)%` are, `(1)` and `(2022)` are notes."""
    return unit is not None or "," in digits or "." in digits or len(digits) == 3


def states_figure(text: str) -> bool:
    """Tell whether a text states a figure: a number with unit, scale, separator or decimals, not only a date."""
    return any(one.unit or one.scaled or "," in one.printed or "." in one.printed for one in amounts(text))


_DATE = re.compile(
    r"\b(?:(?:19|20)\d\d|(?:January|February|March|April|May|June|July|August|September|October|November|December)\s\d{1,2}"
    r"|(?:first|second|third|fourth)\s(?:fiscal\s)?quarter)\b"
)


def names_date(text: str) -> bool:
    """Tell whether a text names a year, a day or a quarter."""
    return _DATE.search(text) is not None


_COMPATIBLE = {
    "points": {"points", "percent", "bps"},
    "percent": {"percent", "points"},
    "bps": {"bps", "points"},
    "per_share": {"per_share", "USD"},
    "EUR/share": {"EUR/share", "EUR"},
    "GBP/share": {"GBP/share", "GBP"},
    "CNY/share": {"CNY/share", "CNY"},
}


def units_agree(one: str | None, other: str | None) -> bool:
    """Tell whether two units may name the same quantity; an unstated unit agrees with none but itself."""
    if one == other:
        return True
    return other in _COMPATIBLE.get(one or "", ()) or one in _COMPATIBLE.get(other or "", ())


def same_value(one: Amount, other: Amount) -> bool:
    """Tell whether two numbers are equal at the precision of the one that is printed more coarsely.

    `$2.1 billion` equals `2,130` in millions: 2.13 billion rounds to 2.1. Signs must agree.
    """
    left, right = one.value, other.value
    step, other_step = one.step, other.step
    if {one.unit, other.unit} == {"points", "bps"} or {one.unit, other.unit} == {"percent", "bps"}:
        factor = Decimal("0.01")
        if one.unit == "bps":
            left, step = left * factor, step * factor
        else:
            right, other_step = right * factor, other_step * factor
    coarse = max(step, other_step)
    if step == other_step:
        return left == right
    return abs(left - right) * 2 <= coarse
