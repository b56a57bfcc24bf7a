"""What a sentence claims beside its words: companies, periods, forms, sections, roles, direction and hedges."""

import re
from collections.abc import Iterable
from functools import lru_cache

from finrag_pipelines.answering.words import Phrases, normal, phrases, sentences, word_list
from finrag_pipelines.catalog.calendars import FiscalCalendar, calendar_for
from finrag_pipelines.catalog.companies import Company, load_companies, name_words
from finrag_pipelines.catalog.period_mentions import parse_periods_in_text

_TOKEN = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*|&")
_FORM = re.compile(r"\b(10-[KQ](?:/A)?|8-K|20-F|40-F|6-K)\b", re.IGNORECASE)
_ITEM = re.compile(r"\b(?:part\s+(?P<part>iv|i{1,3})\b,?\s*)?item\s+(?P<item>\d{1,2}[a-c]?)\b", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“]([^\"“”]{2,})[\"”]")
_MARKER = re.compile(r"\s*\[\d{1,3}\]")

UP = phrases("up")
DOWN = phrases("down")
NEGATION = phrases("negation")
HEDGE = phrases("hedges")
WHETHER = phrases("left_open")
ANALYST = phrases("analyst_marks")
_ROLE_WORDS = {
    "chief_executive": Phrases(["chief executive", "chief executive officer", "ceo"]),
    "chief_financial_officer": Phrases(["chief financial officer", "chief financial", "cfo", "finance chief"]),
    "analyst": Phrases(["analyst"]),
    "operator": Phrases(["operator"]),
    "investor_relations": Phrases(["investor relations"]),
}


_NAME = r"[A-Z][^\W\d_]+(?:['’-][^\W\d_]+)?"
_PERSON = re.compile(rf"\b{_NAME}(?:\s[A-Z]\.)*(?:\s(?:(?:[Dd]e|[Dd]el|[Dd]er|[Dd]i|[Ll]a|[Vv]an|[Vv]on)\s)*{_NAME})+")
OFFICE = phrases("office_titles")
_NO_NAME = frozenset(word_list("never_a_surname"))


def names_officer(text: str) -> bool:
    """Tell whether a sentence of the text holds an office and the name of a person: two words or more that are written
    as a name, none of them a word of titles, offices or bodies."""
    return any(
        OFFICE.first(normal(text[start:end])) is not None
        and any(_NO_NAME.isdisjoint(match[0].casefold().split()) for match in _PERSON.finditer(text, start, end))
        for start, end in sentences(text)
    )


_LISTED = re.compile(rf"(?P<first>{_NAME}(?:\s{_NAME})*)(?:,\s(?:and\s)?|;\s(?:and\s)?|\sand\s)(?:the\s)?{_NAME}")


def lists_names(text: str) -> bool:
    """Tell whether a text sets two names at least side by side: `Pet and International`, `Adidas, Puma`."""
    return _LISTED.search(text) is not None


def quotes_in(sentence: str) -> list[str]:
    """Return the passages of a sentence that stand in double quotation marks."""
    return [match[1] for match in _QUOTED.finditer(sentence)]


def outside_quotes(sentence: str) -> str:
    """Return the sentence without its quoted passages and citation markers."""
    return _MARKER.sub("", _QUOTED.sub(" ", sentence))


def forms_in(text: str) -> set[str]:
    """Return the SEC forms that are named."""
    return {match[1].upper() for match in _FORM.finditer(text)}


def items_in(text: str) -> set[tuple[str, str]]:
    """Return the filing items that are named, as (part or empty, item), upper case."""
    return {((match["part"] or "").upper(), match["item"].upper()) for match in _ITEM.finditer(text)}


def roles_in(text: str) -> set[str]:
    """Return the speaker roles that are named."""
    folded = normal(text)
    return {role for role, phrases in _ROLE_WORDS.items() if phrases.first(folded)}


def periods_in(text: str, company: str | None) -> set[str]:
    """Return the labels of the fiscal periods that a text names, by the company's own calendar."""
    calendar: FiscalCalendar = calendar_for(company)
    return {one.label for one in parse_periods_in_text(text, calendar) if one.label}


class CompanyNames:
    """The names of companies, to be found in sentences: those of the table and those that the catalog met."""

    def __init__(self, companies: Iterable[Company]) -> None:
        self._by_words: dict[tuple[str, ...], str | None] = {}
        table = load_companies().extended_by(companies)
        self._ordinary = table.ordinary_words
        for company in table.companies:
            names = {name_words(name) for name in (company.name, *company.aliases)} | {
                (ticker.casefold(),) for ticker in company.tickers
            }
            for name in names:
                if name and self._by_words.setdefault(name, company.id) != company.id:
                    self._by_words[name] = None
        self._longest = max(map(len, self._by_words), default=0)

    def find(self, text: str) -> set[str]:
        """Return the ids of the companies that a text names. A name that is a plain word counts when capitalised, a
        ticker when it is written in capitals."""
        tokens = [(match.group(), _fold(match.group())) for match in _TOKEN.finditer(text)]
        found: set[str] = set()
        position = 0
        while position < len(tokens):
            step = 1
            for length in range(min(self._longest, len(tokens) - position), 0, -1):
                span = tokens[position : position + length]
                parts = [part for _, folded in span for part in folded]
                company = self._by_words.get(tuple(parts))
                if company and self._counts(span):
                    found.add(company)
                    step = length
                    break
            position += step
        return found

    def _counts(self, span: list[tuple[str, tuple[str, ...]]]) -> bool:
        raw = span[0][0]
        if len(span) > 1 or len(span[0][1]) > 1:
            return any(one[:1].isupper() for one, _ in span)
        word = "".join(span[0][1])
        if word in self._ordinary and len(word) <= 4:
            return raw.isupper() and len(raw) > 1
        if len(word) <= 5 and raw.isupper():
            return len(raw) > 1
        return raw[:1].isupper() and len(word) > 3


@lru_cache(maxsize=4096)
def _fold(token: str) -> tuple[str, ...]:
    if token == "&":
        return ("and",)
    return name_words(token[:-2] if token[-2:] in ("'s", "’s") else token)
