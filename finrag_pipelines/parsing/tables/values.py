"""Numbers and units as filings print them: what a table cell says, and what the line above the table says about it.

Shared by all readers of tables. Where a number stands is the readers' matter.
"""

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import NamedTuple

_CURRENCIES = {
    "US$": "USD", "U.S.$": "USD", "C$": "CAD", "CA$": "CAD", "A$": "AUD", "AU$": "AUD", "HK$": "HKD", "NT$": "TWD",
    "S$": "SGD", "R$": "BRL", "NZ$": "NZD", "$": "USD", "£": "GBP", "€": "EUR", "¥": "JPY", "₹": "INR", "₩": "KRW",
    "Rs.": "INR", "Rs": "INR", "RMB": "CNY", "CNY": "CNY", "USD": "USD", "EUR": "EUR", "GBP": "GBP", "JPY": "JPY",
    "CHF": "CHF", "CAD": "CAD", "AUD": "AUD", "INR": "INR", "HKD": "HKD", "人民币": "CNY", "SEK": "SEK", "NOK": "NOK",
    "DKK": "DKK", "KRW": "KRW", "BRL": "BRL", "MXN": "MXN", "NIS": "ILS", "ILS": "ILS", "Ps.": "MXN",
}  # fmt: skip
_CURRENCY_WORDS = (
    (re.compile(r"\bu\.?\s?s\.? dollars?\b|\bunited states dollars?\b", re.I), "USD"),
    (re.compile(r"\bcanadian dollars?\b", re.I), "CAD"),
    (re.compile(r"\baustralian dollars?\b", re.I), "AUD"),
    (re.compile(r"\bhong kong dollars?\b", re.I), "HKD"),
    (re.compile(r"\bdollars?\b", re.I), "USD"),
    (re.compile(r"\beuros?\b", re.I), "EUR"),
    (re.compile(r"\bpounds? sterling\b|\bsterling\b", re.I), "GBP"),
    (re.compile(r"\b(?:japanese )?yen\b", re.I), "JPY"),
    (re.compile(r"\brenminbi\b|\byuan\b|人民币", re.I), "CNY"),
    (re.compile(r"\brupees?\b", re.I), "INR"),
    (re.compile(r"\bswiss francs?\b", re.I), "CHF"),
)
_SIGN = "|".join(re.escape(sign) for sign in sorted(_CURRENCIES, key=len, reverse=True))
_CURRENCY = re.compile(rf"(?<![A-Za-z])(?:{_SIGN})(?:(?<![A-Za-z])|(?![A-Za-z]))")

_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−﹣－─", "-") | {" ": " "})
_FULLWIDTH = str.maketrans({chr(0xFF01 + i): chr(0x21 + i) for i in range(94)})
_NOTES = re.compile(
    r"(?:[*†‡§¶#¹²³⁰⁴⁵⁶⁷⁸⁹]+|\s*\[\w{1,2}\]|(?<=[\d)%])\s*\((?:[a-z]|\d{1,2}|i{1,3}|iv|vi{0,3})\))+$", re.I
)
_SIMPLE = re.compile(r"\$?\s?(\()?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?%?(?(1)\))%?")
_ZERO = re.compile(r"-{1,3}|(?:nil|none)", re.I)
_PLAIN = re.compile(r"(?:\d{1,3}(?:,\d{2,3})*,\d{3}|\d+)(?:\.\d*)?|\.\d+")
_CONTINENTAL = re.compile(r"\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}(?:\.\d{3})+,\d+")
_SPACED = re.compile(r"\d{1,3}(?: \d{3})+(?:[.,]\d+)?")
_FRACTION = re.compile(r"(?:(\d+)[ -]+)?(\d{1,2})/(2|4|8|16|32|64)")
_VULGAR = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8"}
_PERCENT = re.compile(r"\s*(?:%|percent|per cent|pts?\.?|ppts?|pp|bps?|basis points|points?)$", re.I)
_WORD_SCALE = re.compile(r"\s*\b(thousand|million|billion|trillion|mm|bn|m|b|k)\.?$", re.I)

_SCALES = {
    "hundred": 2, "thousand": 3, "000": 3, "million": 6, "billion": 9, "trillion": 12, "lakh": 5, "crore": 7, "lac": 5,
    "mm": 6, "m": 6, "mn": 6, "bn": 9, "b": 9, "k": 3, "mil": 6,
    "千": 3, "万": 4, "萬": 4, "百万": 6, "百萬": 6, "千万": 7, "亿": 8, "億": 8,
}  # fmt: skip


def parse_number(text: str) -> Decimal | None:
    """Return the number that a cell prints, its sign applied, before any scale; None where it prints no number.

    Parentheses and a trailing minus are negative, a lone dash is zero, currency signs, percent signs and footnote marks
    are passed over. `(1)` alone is -1: whether it is a footnote mark is known only where the column is known.
    """
    amount = parse_amount(text)
    return None if amount is None or amount[1] else amount[0]


def parse_amount(text: str) -> tuple[Decimal, int] | None:
    """Return the number of a cell like `$12.5 billion` with the power of ten that its own words state (else 0)."""
    if len(text) > 60:
        return None
    if simple := _SIMPLE.fullmatch(text):  # most of the cells of most filings
        number = Decimal(simple[2].replace(",", ""))
        return (-number if simple[1] and number else number), 0
    raw = text.strip()
    if not raw.isascii():
        for sign, fraction in _VULGAR.items():
            raw = raw.replace(sign, f" {fraction}")
    # Superscripts are marks, not digits: they go before full-width forms are folded.
    raw = _NOTES.sub("", raw.strip()).strip().translate(_FULLWIDTH).translate(_DASHES)
    raw, signs = _CURRENCY.subn("", raw)
    raw = raw.strip()
    if not raw or (signs > 1 and len(raw) < 2):
        return None
    scale = 0
    if (match := _WORD_SCALE.search(raw)) and match.start() and raw[match.start() - 1] in "0123456789).":
        scale = _SCALES[match[1].lower()]
        raw = raw[: match.start()]
    return None if (number := _signed(raw)) is None else (number, scale)


def _signed(raw: str) -> Decimal | None:
    """A number with its sign, in any of the ways in which a sign is printed."""
    raw = _PERCENT.sub("", raw).strip()
    negative = False
    if raw.startswith("("):
        inner = raw[1:].removesuffix(")")
        # A split cell leaves the closing parenthesis to its neighbour.
        inner, negative = inner.strip(), True
    elif raw.endswith(")") and len(raw) > 4 and "(" not in raw:
        inner, negative = raw[:-1].strip(), True
    else:
        inner = raw
    inner = _PERCENT.sub("", inner).strip()
    if _ZERO.fullmatch(inner):
        return Decimal(0)
    if inner.startswith("-") and len(inner) > 1:
        inner, negative = inner[1:].strip(), True
    elif inner.endswith("-") and len(inner) > 1:
        inner, negative = inner[:-1].strip(), True
    elif inner.startswith("+"):
        inner = inner[1:].strip()
    number = _magnitude(inner)
    return None if number is None else -number if negative and number else number


def _magnitude(raw: str) -> Decimal | None:
    """Digits with their grouping."""
    if _PLAIN.fullmatch(raw):
        literal = raw.replace(",", "").rstrip(".") if raw.endswith(".") else raw.replace(",", "")
    elif _CONTINENTAL.fullmatch(raw):
        literal = raw.replace(".", "").replace(",", ".")
    elif _SPACED.fullmatch(raw):
        literal = raw.replace(" ", "").replace(",", ".")
    elif match := _FRACTION.fullmatch(raw):
        return Decimal(match[1] or 0) + Decimal(match[2]) / Decimal(match[3])
    else:
        return None
    try:
        return Decimal(literal)
    except InvalidOperation:
        return None


@lru_cache(maxsize=8192)
def currency_of(text: str) -> str | None:
    """Return the ISO code of the first currency sign or currency word in `text`, or None. `$` alone is USD."""
    if match := _CURRENCY.search(text):
        return _CURRENCIES[match[0]]
    return next((code for pattern, code in _CURRENCY_WORDS if pattern.search(text)), None)


@dataclass(frozen=True)
class Units:
    """What a units line states: `scale` is a power of ten (6 for millions), `currency` an ISO code or None.

    `excepted` names what the scale does not apply to: `per_share`, `shares`, `percent`, `ratios`, `other`.
    `share_scale` is the scale of share counts where it is stated apart. `percent` says that the figures are
    percentages. `text` is the part of the line that states all this.
    """

    scale: int = 0
    currency: str | None = None
    excepted: tuple[str, ...] = ()
    share_scale: int | None = None
    percent: bool = False
    text: str = ""


_SCALE_WORD = r"(hundreds?|thousands?|millions?|billions?|trillions?|lakhs?|crores?|000'?s?)"
_SIGNS = r"(?:US|U\.S\.|C|CA|A|HK|NT|S|NZ|R)?[$£€¥₹]"
_UNIT_PATTERNS = (
    # "in millions", "amounts expressed in thousands of U.S. dollars", "$ in billions", "in $ millions"
    re.compile(rf"\b(?:in|of)\s+(?:{_SIGNS}\s?|(?:[a-z.]+\s+)?dollars,? in )?(?:RMB|USD|EUR|GBP|CHF|INR|Rs\.?)?\s?{_SCALE_WORD}\b", re.I),  # noqa: E501
    re.compile(rf"{_SIGNS}\s?[\(\s]?(000'?s?|millions?|billions?|thousands?|mm|mn|bn|m|b|k|crores?|lakhs?)\b(?!\w)", re.I),  # noqa: E501
    re.compile(r"\b(?:RMB|HKD|USD|EUR|GBP|CHF|CNY|INR|NT\$)\s?[’'`]?\s?(000'?s?|millions?|billions?|thousands?|mn|bn|m|crores?|lakhs?)\b", re.I),  # noqa: E501
    re.compile(r"(?<![\d,.$])\(?\$?\s?[’'`]?(000)[’'`]?s?(?:\s+omitted\b|\s*\)|\s*$)", re.I),
    re.compile(r"\b(thousands|millions|billions)(?: of (?:u\.?s\.? )?(?:dollars|euros?|shares|yen|pounds))\b", re.I),
    re.compile(r"^\W*(thousands|millions|billions)\W*$|^\W*(?:dollars? )?(thousands|millions|billions)(?=,? except)", re.I),  # noqa: E501
    re.compile(r"(百万|百萬|千万|千|万|萬|亿|億)(?:元|美元|人民币|港元|股)"),
)  # fmt: skip
_MAY_STATE = re.compile(
    r"000|thousand|million|billion|trillion|hundred|lakh|crore|percent|%|dollars|\bm\b|mm\b|mn\b|bn\b|[£€$¥₹]\s?[mbk]\b|[元股]",
    re.I,
)
_PLAIN_UNIT = re.compile(r"单位[:：]?\s?(?:人民币)?元|\bin (?:whole )?(?:u\.?s\.? )?dollars\b|\bactual dollars\b", re.I)
_SHARES_APART = (
    re.compile(rf"(?:shares?|share (?:amounts|data|information|counts))[^.;()]{{0,60}}?\b(?:in|reflected in)\s+{_SCALE_WORD}", re.I),  # noqa: E501
    re.compile(rf"\b{_SCALE_WORD} of shares\b", re.I),
)  # fmt: skip
_EXCEPT = re.compile(r"\b(?:except|excluding|other than|unless)\b(.*)", re.I | re.S)
_NOTED = re.compile(
    r",?\s*\b(?:unless|except (?:as|where))\s+(?:otherwise\s+)?(?:noted|stated|indicated|specified|disclosed)(?:\s+otherwise)?\b,?",  # noqa: E501
    re.I,
)
_PER_SHARE = re.compile(r"\bper[\s-]+(?:[a-z]+[\s-]+){0,3}?(?:shares?|unit|ads|ordinary)\b|\bper-?share\b|每股", re.I)
_SHARES = re.compile(r"(?<!per )(?<!per-)\bshares?\b(?!\s*(?:amounts?|data|information)?\s*per\b)", re.I)
_PERCENT_WORD = re.compile(r"%|\bpercent(?:ages?)?\b|\bper cent\b", re.I)
_IN_PERCENT = re.compile(r"^\W*(?:in |as a )?(?:percent(?:ages?)?|%)(?: of [a-z ]{3,40})?\W*$", re.I)


def _power(word: str) -> int:
    word = word.lower().strip("'’` ")
    if word.startswith("000"):
        return 3
    return _SCALES.get(word) or _SCALES.get(word.removesuffix("s"), 0)


@lru_cache(maxsize=8192)
def parse_units(text: str) -> Units | None:
    """Return what a line like `(in millions, except per share data)` states, or None where it states no units.

    The caller decides whether a line can be a units line at all: prose such as "costs in millions" states units too.
    """
    if not _MAY_STATE.search(text):
        return None
    whole = text
    text, noted = _NOTED.subn("", text)  # what it leaves open is said where it is noted, and is no exception here
    excepted_part = match[1] if (match := _EXCEPT.search(text)) else ""
    main = text[: match.start()] if match else text
    scale, found = None, None
    for pattern in _UNIT_PATTERNS:
        if hit := pattern.search(main):
            scale, found = _power(next(group for group in hit.groups() if group)), hit
            break
    percent = bool(_IN_PERCENT.match(text.strip()))
    if scale is None and match and (hit := _UNIT_PATTERNS[5].search(text)):
        scale, found = _power(hit[1] or hit[2]), hit
    if scale is None and (hit := _PLAIN_UNIT.search(text)):
        scale, found = 0, hit
    if scale is None and not percent:
        return None
    share_scale = None
    for pattern in _SHARES_APART:
        if hit := pattern.search(excepted_part or text):
            share_scale = _power(hit[1])
            break
    only_shares = found is not None and share_scale is not None and not excepted_part and found.start() >= _first(text)
    excepted = []
    if _PER_SHARE.search(excepted_part) or re.search(r"\bper\b", excepted_part, re.I):
        excepted.append("per_share")
    bare = _PER_SHARE.sub(" ", excepted_part)
    if _SHARES.search(bare):
        excepted.append("shares")
    if _PERCENT_WORD.search(excepted_part):
        excepted.append("percent")
    if re.search(r"\bratios?\b", excepted_part, re.I):
        excepted.append("ratios")
    if (excepted_part or noted) and not excepted:
        excepted.append("other")
    return Units(
        scale=0 if only_shares else scale or 0,
        currency=currency_of(text),
        excepted=tuple(excepted),
        share_scale=share_scale,
        percent=percent and scale is None,
        text=whole.strip(),
    )


def _first(text: str) -> int:
    """Where the words `shares in thousands` begin, when nothing but shares is scaled by the line."""
    match = re.match(r"\W*(?:weighted[- ]average )?shares\b", text, re.I)
    return 0 if match else len(text)


_SHARE_COUNT = re.compile(
    r"\bshares?\s+(?:used in|outstanding|issued|authorized|repurchased|purchased|used|granted|vested|awarded|forfeited)\b"  # noqa: E501
    r"|\b(?:number|weighted[- ]average(?: number)?(?: of)?|average|total|dilutive|diluted|basic|outstanding|treasury)"
    r"[a-z ,-]{0,40}\bshares\b(?!.{0,30}\b(?:cost|value|price|amount)\b)",
    re.I,
)
_CAPITAL = re.compile(r"\b(?:par value|at cost|common stock|preferred stock|common shares|treasury)\b", re.I)
# What it is per may stand in a line of its own; per annum, per day and per ounce is something else.
_EPS = re.compile(
    r"\beps\b|\b(?:earnings|income|loss|dividends?(?: declared| paid)?) per"
    r"(?:\W*$|\s+(?:common|basic|diluted|class|limited|adr|depositary)\b)",
    re.I,
)
_YEARS = re.compile(
    r"\((?:in )?years\)|\bin years\b|\blife remaining\b|\b(?:remaining|contractual|useful|lease) (?:life|lives|term)\b",
    re.I,
)
_PERCENT_HEADER = re.compile(
    r"%|\bpercent(?:age)?s?\b|\bper cent\b|\b(?:interest|tax|growth|discount|coupon) rate\b", re.I
)
_PERCENT_LABEL = re.compile(
    r"^\W*(?:%|percent(?:age)?\b)|(?:%|\bpercent(?:age)?|\bper cent)\W*$|\bas an? (?:%|percent)", re.I
)


def cell_unit(
    raw: str, label: str, header: str, units: Units | None, path: tuple[str, ...] = (), currency: str | None = None
) -> tuple[str | None, int]:
    """Return unit and scale of one value from its own text, its label and path, its column header and the units line.

    Units are `USD`, `USD/share`, `shares`, `percent`, … or None. `currency` is the one that the table's signs show.
    The nearest statement wins: the cell's own signs, then the label, then the labels above, then the header.
    """
    units = units or Units()
    money = currency_of(raw) or units.currency or currency
    if _PERCENT_WORD.search(raw) or re.search(r"\d\s*(?:bps|pts|pp)\b", raw, re.I):
        return "percent", 0
    signed = currency_of(raw) is not None
    own: int | None = None
    for place, words in enumerate((label, *reversed(path), header)):
        said = _said(words)
        if not signed and said.shares and not (place == 0 and said.capital):
            if said.scale:
                return "shares", said.scale
            if units.share_scale is not None:
                return "shares", units.share_scale
            return "shares", 0 if "shares" in units.excepted else units.scale
        if said.per_share:
            return f"{money or 'USD'}/share", 0
        if not signed and said.percent:
            return "percent", 0
        own = said.scale if own is None else own
    if not signed and len(raw) < 7 and (_said(label).years or _said(header).years):
        return "years", 0
    if not signed and (ratio := _ratio_unit(raw, label, header, path)) is not None:
        return ratio or None, 0
    if not signed and (units.percent or "%" in header or ("." in raw and _PERCENT_HEADER.search(header))):
        return "percent", 0
    return money, units.scale if own is None else own


_RATIO = re.compile(r"\b(?:ratios?|margins?|percentages?|percent|rates?|yield)\W*(?:\(\w{1,2}\)\W*)*$", re.I)


def _ratio_unit(raw: str, label: str, header: str, path: tuple[str, ...]) -> str | None:
    """Return `percent`, or an empty unit for a plain number, where a row is a ratio by its name or its parent's: the
    units line of the table (`in millions`) is not said of it. None for every other row."""
    name = next((words for words in (label, *path[-1:]) if _RATIO.search(words)), None)
    digits = re.sub(r"[^\d.]", "", raw)
    if name is None or not re.fullmatch(r"\d{1,3}(?:\.\d+)?", digits) or float(digits) > 300:
        return None
    if "." not in digits and re.search(r"\b(?:margins?|yield)\W*$", name, re.I):  # `Gross margin 245` is an amount
        return None
    small = float(digits) < 3 and re.search(r"\bratios?\W*$", name, re.I)
    return "" if small or re.search(r"\bchange\b", header, re.I) else "percent"


class _Said(NamedTuple):
    """What the words of a label or header say about the unit of the figures that they name."""

    shares: bool
    capital: bool
    per_share: bool
    percent: bool
    years: bool
    scale: int | None


@lru_cache(maxsize=8192)
def _said(words: str) -> _Said:
    return _Said(
        shares=_SHARE_COUNT.search(words) is not None,
        capital=_CAPITAL.search(words) is not None,
        per_share=_PER_SHARE.search(words) is not None or _EPS.search(words) is not None,
        percent=_PERCENT_LABEL.search(words) is not None,
        years=_YEARS.search(words) is not None,
        scale=_own_scale(words),
    )


def _own_scale(words: str) -> int | None:
    """The scale that a label states for its own row: `Shares used (in thousands):`."""
    if "(" not in words and not words.startswith("$"):
        return None
    stated = parse_units(words)
    return None if stated is None or stated.percent else stated.share_scale or stated.scale
