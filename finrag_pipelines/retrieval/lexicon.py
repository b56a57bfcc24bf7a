"""The finance lexicon: what a metric, ratio or statement is called in filings, as data in lexicon.json."""

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from finrag_pipelines.indexing.analyzer import terms
from finrag_pipelines.storage import sha256_bytes

_FILE = Path(__file__).with_name("lexicon.json")


@dataclass(frozen=True)
class Concept:
    """A metric or ratio: the names that people use, the wording of filings, and the statements that show it.

    `components` are the names of the metrics that a ratio is computed from, `sections` the keys of those sections in
    which filings usually speak of it.
    """

    name: str
    aliases: tuple[str, ...]
    terms: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()


@dataclass(frozen=True)
class Statement:
    """A financial statement: its key, what people call it, its titles in filings, and lines that only it has."""

    name: str
    aliases: tuple[str, ...]
    titles: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class LexiconHit:
    """A concept that a text names, and the words that named it."""

    concept: Concept
    words: tuple[str, ...]


@dataclass(frozen=True)
class Lexicon:
    """All concepts and statements. `acronyms` are capitals that mean a measure before they mean a ticker."""

    concepts: tuple[Concept, ...]
    statements: tuple[Statement, ...]
    acronyms: frozenset[str]
    sha256: str

    @cached_property
    def _by_words(self) -> dict[tuple[str, ...], Concept | None]:
        found: dict[tuple[str, ...], Concept | None] = {}
        for concept in self.concepts:
            for name in (concept.name, *concept.aliases):
                found.setdefault(tuple(terms(name)), concept)
        # "cash flow statement" names a statement, not cash: the words of a statement's name are no metric.
        for statement in self.statements:
            for alias in statement.aliases:
                found.setdefault(tuple(terms(alias)), None)
        found.pop((), None)
        return found

    @cached_property
    def _by_name(self) -> dict[str, Concept]:
        return {concept.name: concept for concept in self.concepts}

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._by_words))

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Every term that a name, wording, title or line of the lexicon holds."""
        texts = [text for c in self.concepts for text in (c.name, *c.aliases, *c.terms)]
        texts += [text for s in self.statements for text in (*s.aliases, *s.titles, *s.lines)]
        return frozenset(term for text in texts for term in terms(text))

    def concept(self, name: str) -> Concept:
        """Return the concept called `name`. Raises KeyError for a name that is not in the lexicon."""
        return self._by_name[name]

    def statement(self, name: str) -> Statement:
        """Return the statement with this key. Raises KeyError where there is none."""
        return next(statement for statement in self.statements if statement.name == name)

    def find(self, words: list[str]) -> list[LexiconHit]:
        """Return the concepts that a sequence of index terms names, longest first from the left, each once."""
        found: dict[str, LexiconHit] = {}
        position = 0
        while position < len(words):
            for length in range(min(self._longest, len(words) - position), 0, -1):
                span = tuple(words[position : position + length])
                if span in self._by_words:
                    concept = self._by_words[span]
                    if concept:
                        found.setdefault(concept.name, LexiconHit(concept, span))
                    position += length
                    break
            else:
                position += 1
        return list(found.values())

    def find_statements(self, words: list[str]) -> list[Statement]:
        """Return the statements that a sequence of index terms names, in the lexicon's order."""
        text = f" {' '.join(words)} "
        return [s for s in self.statements if any(f" {' '.join(terms(alias))} " in text for alias in s.aliases)]


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """Return the lexicon in lexicon.json."""
    content = _FILE.read_bytes()
    value = json.loads(content)
    concepts = tuple(
        Concept(
            row["name"],
            tuple(row.get("aliases", ())),
            tuple(row.get("terms", ())),
            tuple(row.get("statements", ())),
            tuple(row.get("components", ())),
            tuple(row.get("sections", ())),
        )
        for row in (*value["metrics"], *value["ratios"])
    )
    statements = tuple(
        Statement(row["name"], tuple(row["aliases"]), tuple(row["titles"]), tuple(row["lines"]))
        for row in value["statements"]
    )
    return Lexicon(concepts, statements, frozenset(value["acronyms"]), sha256_bytes(content))
