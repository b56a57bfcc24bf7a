"""Words of a question that say where to look: forms, sections, speaker roles; data in scope_words.json."""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from finrag_pipelines.indexing.analyzer import terms

_FILE = Path(__file__).with_name("scope_words.json")
_ITEM = re.compile(r"\b(?:(part\s+i{1,2})[\s,]{1,3})?item\s+(\d{1,2}[a-c]?)\b", re.IGNORECASE)
_TEN_Q_ITEMS = ("Part I Item {}", "Part II Item {}")


@dataclass(frozen=True)
class ScopeWord:
    """A place in the question that names a form, a section or a role: range and what it asks for."""

    start: int
    end: int
    values: tuple[str, ...]


@dataclass(frozen=True)
class ScopeWords:
    """The compiled patterns. `filler` are terms that speak of the answer and not of its subject."""

    forms: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]
    sections: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]
    roles: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]
    filler: frozenset[str]

    def find_forms(self, question: str) -> list[ScopeWord]:
        """Return the forms that a question names."""
        return _find(self.forms, question)

    def find_sections(self, question: str) -> list[ScopeWord]:
        """Return the sections that a question names, by title or as "Item 7"."""
        found = _find(self.sections, question)
        for match in _ITEM.finditer(question):
            item = f"Item {match[2].upper()}"
            if match[1]:
                part = "Part II" if match[1].lower().endswith("ii") else "Part I"
                found.append(ScopeWord(match.start(), match.end(), (f"{part} {item}",)))
            else:
                found.append(ScopeWord(match.start(), match.end(), (item, f"Part I {item}", f"Part II {item}")))
        return found

    def find_roles(self, question: str) -> list[ScopeWord]:
        """Return the speakers' roles that a question asks for: a role counts only where it speaks or asks."""
        return _find(self.roles, question)


def _find(patterns: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...], text: str) -> list[ScopeWord]:
    found = [ScopeWord(m.start("what"), m.end("what"), values) for p, values in patterns for m in p.finditer(text)]
    kept: list[ScopeWord] = []
    for word in sorted(found, key=lambda w: (w.start, -w.end)):
        if not kept or word.start >= kept[-1].end:
            kept.append(word)
    return kept


@lru_cache(maxsize=1)
def load_scope_words() -> ScopeWords:
    """Return the patterns in scope_words.json."""
    value = json.loads(_FILE.read_bytes())

    def compiled(rows: list, template: str) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
        (kind,) = {key for row in rows for key in row} - {"pattern"}
        return tuple(
            (re.compile(template.format(f"(?P<what>{row['pattern']})"), re.IGNORECASE), tuple(row[kind]))
            for row in rows
        )

    speech = value["speech"]
    return ScopeWords(
        compiled(value["forms"], r"(?<![\w-]){}(?![\w-])"),
        compiled(value["sections"], r"(?<![\w-]){}(?![\w-])"),
        compiled(
            value["roles"],
            r"(?:according\s+to\s+(?:the\s+)?(?:\w+\s+)?|questions?\s+(?:from|by)\s+(?:the\s+)?)?"
            rf"(?<![\w-]){{}}(?:['’]?s?)?(?:\s+[\w'’&.-]+){{{{0,4}}}}?\s+(?:{speech})(?![\w-])",
        ),
        frozenset(terms(value["filler"])),
    )
