"""The context line of a fragment: who, what and when, section path or speaker, and what a cut table needs repeated."""

import re

from finrag_pipelines.catalog.identity import Identity
from finrag_pipelines.chunking.tokens import TokenCounter
from finrag_pipelines.parsing.model import Section, Table, Turn

SEPARATOR = " · "
_TICKER = re.compile(r"[A-Z][A-Z0-9.\-]{0,6}")
_ROLES = {
    "chief_executive": "chief executive",
    "chief_financial_officer": "chief financial officer",
    "executive": "executive",
    "investor_relations": "investor relations",
    "analyst": "analyst",
    "operator": "operator",
}


def clip(text: str, limit: int, counter: TokenCounter) -> str:
    """Return `text` on one line, cut at a word so that it has at most `limit` tokens."""
    words = text.split()
    counts = counter.of_words(words)
    if sum(counts) <= limit:
        return " ".join(words)
    kept = 0
    for count in counts:
        limit -= count
        if limit < 0:
            break
        kept += 1
    return " ".join(words[:kept])


def issuer(identity: Identity) -> str:
    """Return company name and ticker, as far as known: `The Coca-Cola Company (KO)`."""
    name, company = identity.company_name, identity.company
    ticker = company if company and _TICKER.fullmatch(company) and not company.startswith("CIK") else None
    if name and ticker and ticker != name:
        return f"{name} ({ticker})"
    return name or company or ""


def document_line(identity: Identity, counter: TokenCounter) -> str:
    """Return the part that all fragments of a document share: issuer, form, period, or else its title."""
    parts = [clip(issuer(identity), 24, counter), identity.form or "", identity.period or ""]
    if identity.title and (not identity.company or not identity.period):
        parts.append(clip(identity.title, 24, counter))
    return SEPARATOR.join(part for part in parts if part)


def section_line(section: Section | None, counter: TokenCounter) -> str:
    """Return key and title of a section, the key not said twice."""
    if section is None:
        return ""
    title = " ".join(section.title.split())
    if title.lower().startswith(section.key.lower()):
        return clip(title, 24, counter)
    return clip(f"{section.key} {title}".strip(), 24, counter)


def turn_line(turn: Turn | None, counter: TokenCounter) -> str:
    """Return speaker with title or role and firm, and the part of the call."""
    if turn is None or turn.part == "unknown":  # words without speaker marks say nothing of who speaks
        return ""
    parts = [turn.speaker, turn.title or _ROLES.get(turn.role, ""), turn.firm or ""]
    speaker = ", ".join(dict.fromkeys(part for part in parts if part))
    return SEPARATOR.join(part for part in (clip(speaker, 28, counter), turn.part.replace("_", " ")) if part)


class TableLines:
    """The part of the context that a table adds, for a fragment that starts at any of its rows.

    A fragment that starts on or above the first header row has the header in its text; one that starts below gets it
    in its context, with the labels that its first row is indented under.
    """

    def __init__(self, table: Table, text: str, counter: TokenCounter) -> None:
        self.periods = frozenset(cell.period for row in table.rows for cell in row.cells if cell.period)
        self._rows, self._counter = table.rows, counter
        self._caption = clip(table.caption, 32, counter)
        self._units = clip(table.units, 16, counter)
        self._first_header = next((at for at, row in enumerate(table.rows) if row.is_header), None)
        self._headers: list[str] = []  # for each row, the header rows above it
        above: list[str] = []
        fresh = True
        for row in table.rows:
            line = " ".join(text[row.start : row.end].split())
            if row.is_header:
                above = [*above, line] if not fresh else [line]
            fresh = not row.is_header
            said = [part for part in above if part not in (table.caption, self._caption) and part != "(Unaudited)"]
            self._headers.append(" / ".join(said))
        opening = table.rows[self._first_header or 0].end if table.rows else table.end
        self._opening = " ".join(text[table.start : opening].split())

    def at(self, row: int | None) -> str:
        """Return caption, units, header and labels above for a fragment that starts at this row (None: above all)."""
        if row is None or (self._first_header is not None and row <= self._first_header):
            return SEPARATOR.join(part for part in (self._caption, self._units) if part and part not in self._opening)
        header = self._headers[row]
        if not header:
            header = " | ".join(dict.fromkeys(cell.header for cell in self._rows[row].cells if cell.header))
        units = "" if self._units in header else self._units
        labels = " > ".join(self._rows[row].path)
        parts = [self._caption, units, clip(header, 56, self._counter), clip(labels, 20, self._counter)]
        return SEPARATOR.join(part for part in parts if part)
