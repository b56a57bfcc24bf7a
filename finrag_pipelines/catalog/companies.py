"""Companies: names, tickers, CIKs, short and former names, as data in companies.json.

The table is a convenience, never a precondition: a company that it does not hold gets a stable id of its own.
"""

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

_TABLE = Path(__file__).with_name("companies.json")

_STATE_SUFFIX = re.compile(r"\s*[/\\][a-z. ]{1,12}[/\\]?\s*$")
_NON_WORD = re.compile(r"[^\w]+")
_LEGAL_FORMS = frozenset(
    [
        "inc",
        "incorporated",
        "corp",
        "corporation",
        "co",
        "company",
        "cos",
        "companies",
        "plc",
        "ltd",
        "limited",
        "llc",
        "lp",
        "llp",
        "nv",
        "n",
        "v",
        "sa",
        "s",
        "a",
        "ag",
        "se",
        "spa",
        "the",
        "and",
        "of",
        "de",
        "in",
        "its",
        "pte",
        "pty",
        "gmbh",
        "kk",
        "bhd",
    ]
)
_LEGAL_TAIL = frozenset(
    [
        "inc",
        "incorporated",
        "corp",
        "corporation",
        "co",
        "company",
        "cos",
        "companies",
        "plc",
        "ltd",
        "limited",
        "llc",
        "lp",
        "llp",
        "nv",
        "sa",
        "ag",
        "se",
        "spa",
        "the",
        "pte",
        "pty",
        "gmbh",
    ]
)


@dataclass(frozen=True)
class Company:
    """An issuer. `id` is its main ticker where one is known; `aliases` are short names that people use,
    `former_names` names that it once had. `kind` is `issuer` or `fund`. `cik` has ten digits or is None."""

    id: str
    name: str
    cik: str | None = None
    tickers: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    former_names: tuple[str, ...] = ()
    kind: str = "issuer"


def repair_encoding(text: str) -> str:
    """Undo UTF-8 that was read as Latin-1 or Windows-1252 ("EstÃ©e" → "Estée"); other text comes back unchanged."""
    if not any(mark in text for mark in ("Ã", "â", "Ä", "Å")):
        return text
    for codec in ("cp1252", "latin-1"):
        try:
            return text.encode(codec).decode("utf-8")
        except (UnicodeEncodeError, UnicodeDecodeError):
            continue
    return text


def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a company name that tell it apart: no case, accents, punctuation or legal form."""
    text = unicodedata.normalize("NFKD", repair_encoding(name)).casefold()
    text = "".join(c for c in text if not unicodedata.combining(c))
    text = _STATE_SUFFIX.sub("", text.replace("’", "'").replace("'", "").replace("&", " and "))
    words = [w for w in _NON_WORD.sub(" ", text.replace("_", " ")).split() if w]
    if words[:1] == ["the"] and len(words) > 1:
        words = words[1:]
    if words[-1:] == ["subsidiaries"] and len(words) > 2:
        words = words[: -3 if words[-2] == "consolidated" and len(words) > 3 else -1]
    while len(words) > 1 and (words[-1] in _LEGAL_TAIL or (words[-1] == "and" and len(words) > 2)):
        words = words[:-1]
    return tuple(words)


def name_key(name: str) -> str:
    """Return the key under which two spellings of one company name are equal ("United Health Group", "UNITEDHEALTH
    GROUP INC" → `unitedhealthgroup`). Empty for a name without letters."""
    return "".join(name_words(name))


def normal_cik(cik: str | int | None) -> str | None:
    """Return a CIK as ten digits, or None where there is none."""
    digits = re.sub(r"\D", "", str(cik or ""))
    return digits.zfill(10) if digits and len(digits) <= 10 and int(digits) else None


def normal_ticker(ticker: str | None) -> str | None:
    """Return a ticker in capitals with `-` before a share class, or None where the text is no ticker."""
    text = (ticker or "").strip().upper().replace(".", "-").replace("/", "-").replace(" ", "-")
    return text if re.fullmatch(r"[A-Z][A-Z0-9]{0,5}(-[A-Z]{1,2})?", text) and text not in _NO_TICKER else None


_NO_TICKER = frozenset({"NONE", "NA", "N-A", "NULL", "NIL"})


@dataclass(frozen=True)
class CompanyTable:
    """The known companies, to be looked up by id, CIK, ticker or name."""

    companies: tuple[Company, ...]
    ordinary_words: frozenset[str] = frozenset()
    _by_id: dict[str, Company] = field(init=False, repr=False, compare=False)
    _by_cik: dict[str, Company] = field(init=False, repr=False, compare=False)
    _by_ticker: dict[str, Company] = field(init=False, repr=False, compare=False)
    _by_name: dict[str, Company | None] = field(init=False, repr=False, compare=False)
    _by_alias: dict[str, Company | None] = field(init=False, repr=False, compare=False)
    _by_words: dict[frozenset[str], Company | None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name: dict[str, Company | None] = {}
        by_alias: dict[str, Company | None] = {}
        by_words: dict[frozenset[str], Company | None] = {}
        for company in self.companies:
            for name in (company.name, *company.former_names):
                _claim(by_name, name_key(name), company)
                if len(name_words(name)) > 1:
                    _claim(by_words, frozenset(w for w in name_words(name) if w not in _LEGAL_FORMS), company)
            for alias in company.aliases:
                _claim(by_alias, name_key(alias), company)
        object.__setattr__(self, "_by_id", {c.id: c for c in self.companies})
        object.__setattr__(self, "_by_cik", {c.cik: c for c in self.companies if c.cik})
        tickers = {t: c for c in self.companies for raw in c.tickers if (t := normal_ticker(raw))}
        object.__setattr__(self, "_by_ticker", tickers)
        object.__setattr__(self, "_by_name", by_name)
        object.__setattr__(self, "_by_alias", by_alias)
        object.__setattr__(self, "_by_words", by_words)

    def get(self, company_id: str | None) -> Company | None:
        """Return the company with this id, or None."""
        return self._by_id.get(company_id or "")

    def by_cik(self, cik: str | int | None) -> Company | None:
        """Return the company with this CIK, or None."""
        return self._by_cik.get(normal_cik(cik) or "")

    def by_ticker(self, ticker: str | None) -> Company | None:
        """Return the company that has, or had, this ticker, or None. Tickers move: a name or CIK counts for more."""
        return self._by_ticker.get(normal_ticker(ticker) or "")

    def by_name(self, name: str | None) -> Company | None:
        """Return the company with this full, former or short name in any spelling, or None where none or several
        have it. Words around the name are not tolerated: "Coca-Cola Consolidated" is not The Coca-Cola Company."""
        key = name_key(name or "")
        if not key:
            return None
        if key in self._by_name:
            return self._by_name[key]
        alias = self._by_alias.get(key)
        if key in self._by_alias:
            return None if alias is None or _foreign_to(name or "", alias) else alias
        as_ticker = (name or "").strip(" .")
        if len(as_ticker) >= 3 and as_ticker.isupper() and as_ticker in self._by_ticker:
            return self._by_ticker[as_ticker]
        words = frozenset(w for w in name_words(name or "") if w not in _LEGAL_FORMS)
        return self._by_words.get(words) if len(words) > 1 else None

    def match(self, name: str | None = None, cik: str | None = None, ticker: str | None = None) -> Company | None:
        """Return the known company that these facts name: CIK first, then name, then a ticker that no name denies."""
        ten = normal_cik(cik)
        found = self.by_cik(ten)
        if found is None:
            found = self.by_name(name)
            if found and ten and found.cik not in (None, ten) and name_key(name or "") not in self._by_name:
                found = None  # only a short name in common, and a CIK that denies it
        if found or not ticker:
            return found
        by_ticker = self.by_ticker(ticker)
        if by_ticker is None or (name and not _shares_word(name, by_ticker)):
            return None
        if ten and by_ticker.cik and ten != by_ticker.cik:
            return None
        return by_ticker

    def is_ordinary_word(self, alias: str) -> bool:
        """Tell whether an alias or ticker is also a word of the language, so that it counts only as it is written:
        a ticker in capitals, a name with a capital initial."""
        return alias.casefold() in self.ordinary_words

    def extended_by(self, companies: Iterable[Company]) -> "CompanyTable":
        """Return a table that also holds `companies`, e.g. those that the catalog met; known ids stay as they are."""
        new = sorted((c for c in companies if c.id not in self._by_id), key=lambda c: c.id)
        return CompanyTable((*self.companies, *{c.id: c for c in new}.values()), self.ordinary_words)


def _claim(table: dict, key: str | frozenset[str], company: Company) -> None:
    """Enter a name; where two companies have it, it names neither."""
    if not key:
        return
    held = table.setdefault(key, company)
    if held is not None and held.id != company.id:
        table[key] = None


_FOREIGN_FORMS = frozenset({"plc", "ltd", "limited", "ag", "sa", "se", "nv", "kgaa", "spa", "ab", "asa"})


def _foreign_to(name: str, company: Company) -> bool:
    """Tell whether a name ends in a legal form that the company with this short name does not have (Prudential plc)."""
    words = re.sub(r"[^a-z ]", "", name.casefold()).split()
    return bool(words) and words[-1] in _FOREIGN_FORMS and words[-1] not in company.name.casefold().split()


def _shares_word(name: str, company: Company) -> bool:
    mine = {w for w in name_words(name) if w not in _LEGAL_FORMS}
    theirs = {w for n in (company.name, *company.aliases, *company.former_names) for w in name_words(n)}
    return bool(mine & (theirs - _LEGAL_FORMS))


@lru_cache(maxsize=1)
def load_companies() -> CompanyTable:
    """Return the table in companies.json."""
    content = json.loads(_TABLE.read_text(encoding="utf-8"))
    companies = tuple(
        Company(
            id=row["id"],
            name=row["name"],
            cik=row.get("cik"),
            tickers=tuple(row.get("tickers", ())),
            aliases=tuple(row.get("aliases", ())),
            former_names=tuple(row.get("former_names", ())),
            kind=row.get("kind", "issuer"),
        )
        for row in content["companies"]
    )
    return CompanyTable(companies, frozenset(content["ordinary_words"]))


def company_id_for(name: str | None = None, cik: str | int | None = None, ticker: str | None = None) -> str | None:
    """Return the stable id of a company: the main ticker of a known one, else the ticker that the document states,
    else `CIK0001234567`, else a slug of the name; None where nothing is known."""
    ten = normal_cik(cik)
    known = load_companies().match(name, ten, ticker)
    if known:
        return known.id
    own_ticker = normal_ticker(ticker)
    if own_ticker and load_companies().by_ticker(own_ticker) is None:
        return own_ticker
    if ten:
        return f"CIK{ten}"
    return "-".join(name_words(name))[:60].rstrip("-") or None if name else None
