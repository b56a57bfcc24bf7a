"""Which companies a question names: aliases with word boundaries, in two passes, with case rules for words.

An alias counts only where it names one company of the catalog; what names several resolves to none. A name that no
readable document holds at all is that of somebody unknown.
"""

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from finrag_pipelines.catalog.companies import Company, name_words
from finrag_pipelines.catalog.period_mentions import MONTHS
from finrag_pipelines.indexing.analyzer import STOP_WORDS
from finrag_pipelines.retrieval.catalog_view import CatalogView
from finrag_pipelines.retrieval.lexicon import load_lexicon

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|&")
_TICKER_CUE = re.compile(r"(?:\$|\b(?:ticker|symbol|nyse|nasdaq)\s*:?\s*)$", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’][sS]?$")
_BREAKS = frozenset(',;:()?!"“”/|\n')
JOINED = re.compile(
    r"^(?:['’][sS]?)?[\s,;/&]*(?:and|or|vs\.?|versus|with|to|against|than|compared\s+(?:to|with)|as\s+well\s+as)?"
    r"[\s,;/&]*(?:(?:the|its)\s+)?$",
    re.IGNORECASE,
)
"""What joins two names to a list."""
_GENERIC_TAILS = frozenset(
    ["group", "holding", "holdings", "international", "financial", "resorts", "wholesale", "companies"]
)


@dataclass(frozen=True)
class CompanyMention:
    """A place in the question that names a company: its range, the text, and the candidates' ids, sorted.

    `known` tells that the candidates are of the catalog.
    """

    start: int
    end: int
    text: str
    companies: tuple[str, ...]
    known: bool


@dataclass(frozen=True)
class _Word:
    start: int
    end: int
    text: str
    joined: str
    base: str


def _normal(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in folded if not unicodedata.combining(c))


def _words(question: str) -> list[_Word]:
    found = []
    for match in _WORD.finditer(question):
        text = match.group()
        if text == "&":
            found.append(_Word(match.start(), match.end(), text, "and", "and"))
            continue
        plain = text.replace("’", "'")
        base = plain[:-2] if plain[-2:].lower() == "'s" else plain
        found.append(
            _Word(match.start(), match.end(), text, _normal(plain.replace("'", "")), _normal(base.replace("'", "")))
        )
    return found


def _names(company: Company) -> set[tuple[str, ...]]:
    """Return the spellings of a company's names as sequences of words, tickers left out."""
    names = {name_words(name) for name in (company.name, *company.aliases, *company.former_names)}
    for words in tuple(names):
        if len(words) > 2 and words[-1] in _GENERIC_TAILS:
            names.add(words[:-1])
    return {words for words in names if words and len("".join(words)) > 1}


@dataclass(frozen=True)
class _Aliases:
    names: dict[tuple[str, ...], frozenset[str]]
    tickers: dict[str, frozenset[str]]
    longest: int


def _aliases(companies: tuple[Company, ...]) -> _Aliases:
    names: dict[tuple[str, ...], set[str]] = defaultdict(set)
    tickers: dict[str, set[str]] = defaultdict(set)
    for company in companies:
        for words in _names(company):
            names[words].add(company.id)
        for ticker in {company.id, *company.tickers}:
            if re.fullmatch(r"[A-Z]{1,5}(?:[.\-][A-Z]{1,2})?", ticker):
                tickers[ticker].add(company.id)
    return _Aliases(
        {words: frozenset(ids) for words, ids in names.items()},
        {ticker: frozenset(ids) for ticker, ids in tickers.items()},
        max((len(words) for words in names), default=1),
    )


def _first_words(companies: tuple[Company, ...], catalog: frozenset[str]) -> dict[tuple[str, ...], frozenset[str]]:
    """Return the first words of names of catalog companies that begin no other known company's name."""
    starts: dict[str, set[str]] = defaultdict(set)
    for company in companies:
        for words in _names(company):
            starts[words[0]].add(company.id)
    common = load_lexicon().vocabulary | STOP_WORDS
    return {
        (word,): frozenset(ids)
        for word, ids in starts.items()
        if len(ids) == 1 and ids <= catalog and len(word) >= 4 and not word.isdigit() and word not in common
    }


class CompanyFinder:
    """Finds the companies of a catalog view in questions, and companies that are known but not in it."""

    def __init__(self, view: CatalogView) -> None:
        self._view = view
        self._table = view.table
        self._catalog = view.company_ids
        self._all = _aliases(self._table.companies)
        self._first = _first_words(self._table.companies, self._catalog)
        self._acronyms = load_lexicon().acronyms
        self._vocabulary = load_lexicon().vocabulary

    def find(self, question: str) -> list[CompanyMention]:
        """Return the mentions in order; where two readings overlap, the longest from the left stands."""
        words = _words(question)
        has_lower = any(c.islower() for c in question)
        found: list[CompanyMention] = []
        position = 0
        while position < len(words):
            mention, length = self._longest_at(question, words, position, has_lower)
            if mention:
                found.append(mention)
            position += length
        return sorted([*found, *self._strangers(question, words, found)], key=lambda mention: mention.start)

    def _strangers(self, question: str, words: list[_Word], found: list[CompanyMention]) -> list[CompanyMention]:
        """Return runs of words written as names, one of which at least stands in no readable document.

        In a question written in title case, and for the first word of a sentence, a capital says nothing. Beside a
        company that is known a name may be that of a brand or an event, unless it stands in a list with it.
        """
        titled = any(word.text[:1].isupper() and word.base in STOP_WORDS for word in words[1:])
        if self._view.holds is None or titled:
            return []
        taken = [(mention.start, mention.end) for mention in found]
        strangers, run = [], list[_Word]()
        for position, word in enumerate(words):
            gap = question[words[position - 1].end : word.start] if position else ""
            opens = not position or bool(set(gap) & set(".?!:\n"))
            is_name = (
                word.text[:1].isupper()
                and (not opens or bool(_POSSESSIVE.search(word.text)))
                and not any(start < word.end and word.start < end for start, end in taken)
            )
            if run and (not is_name or gap != " " or _POSSESSIVE.search(run[-1].text)):
                strangers.extend(self._stranger(question, run))
                run = []
            if is_name:
                run.append(word)
        strangers.extend(self._stranger(question, run) if run else ())
        known = [mention for mention in found if mention.known]
        return [one for one in strangers if not known or any(_are_listed(question, one, other) for other in known)]

    def _stranger(self, question: str, run: list[_Word]) -> list[CompanyMention]:
        assert self._view.holds is not None
        if not any(self._could_name(word) and not self._view.holds(word.base) for word in run):
            return []
        start, end = run[0].start, run[-1].end
        text = _POSSESSIVE.sub("", question[start:end])
        return [CompanyMention(start, end, text, (text,), False)]

    def _could_name(self, word: _Word) -> bool:
        known = STOP_WORDS | self._vocabulary
        return (
            len(word.base) > 2
            and word.base.isalpha()
            and word.base not in known
            and word.base[:3] not in MONTHS
            and word.base.upper() not in self._acronyms
            and not self._table.is_ordinary_word(word.base)
        )

    def _longest_at(
        self, question: str, words: list[_Word], position: int, has_lower: bool
    ) -> tuple[CompanyMention | None, int]:
        for length in range(min(self._all.longest, len(words) - position), 0, -1):
            span = words[position : position + length]
            gaps = (question[a.end : b.start] for a, b in pairwise(span))
            if any(_BREAKS.intersection(gap) or len(gap) > 3 for gap in gaps):
                continue
            head = tuple(word.joined for word in span[:-1])
            for last in dict.fromkeys((span[-1].joined, span[-1].base)):
                ids = self._all.names.get((*head, last))
                if ids and self._name_counts(span, ids, has_lower):
                    return self._mention(question, span, ids), length
        ids = self._ticker_at(question, words, position, has_lower) or self._first_word_at(words[position])
        return (self._mention(question, words[position : position + 1], ids), 1) if ids else (None, 1)

    def _first_word_at(self, word: _Word) -> frozenset[str] | None:
        """A first word counts alone where it is written as a name."""
        if not word.text[:1].isupper() or self._table.is_ordinary_word(word.base):
            return None
        return self._first.get((word.joined,)) or self._first.get((word.base,))

    def _name_counts(self, span: list[_Word], ids: frozenset[str], has_lower: bool) -> bool:
        if len(span) > 1:
            return bool(ids & self._catalog) or any(word.text[:1].isupper() for word in span)
        word = span[0]
        if self._table.is_ordinary_word(word.base) or word.base in STOP_WORDS or not ids & self._catalog:
            if word.text.isupper() and word.base in STOP_WORDS:
                return has_lower
            return word.text[:1].isupper() and (has_lower or bool(ids & self._catalog))
        return True

    def _ticker_at(self, question: str, words: list[_Word], position: int, has_lower: bool) -> frozenset[str] | None:
        word = words[position]
        text = _POSSESSIVE.sub("", word.text)
        ids = self._all.tickers.get(text.upper())
        if not ids:
            return None
        before = question[: word.start]
        if _TICKER_CUE.search(before):
            return ids
        if before[-1:] in ("&", "-", "/", ".") or question[word.end : word.end + 1] in ("&", "-"):
            return None
        in_catalog = bool(ids & self._catalog)
        capitals = text.isupper()
        ordinary = self._table.is_ordinary_word(text) or text.casefold() in STOP_WORDS or len(text) < 3
        if text.upper() in self._acronyms and not in_catalog:
            return None
        if len(text) == 1:
            return ids if in_catalog and capitals and position == 0 and text not in ("A", "I") else None
        if ordinary:
            return ids if capitals and has_lower else None
        return ids if capitals or in_catalog else None

    def _mention(self, question: str, span: list[_Word], ids: frozenset[str]) -> CompanyMention:
        known = ids & self._catalog
        start, end = span[0].start, span[-1].end
        text = _POSSESSIVE.sub("", question[start:end])
        return CompanyMention(start, end, text, tuple(sorted(known or ids)), bool(known))


def _are_listed(question: str, one: CompanyMention, other: CompanyMention) -> bool:
    first, second = sorted((one, other), key=lambda mention: mention.start)
    return bool(JOINED.match(question[first.end : second.start]))


@lru_cache(maxsize=32)
def company_finder(view: CatalogView) -> CompanyFinder:
    """Return the finder of a view, made once."""
    return CompanyFinder(view)
