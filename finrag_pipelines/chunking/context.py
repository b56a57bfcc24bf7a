"""The context line of a fragment: who, what and when, section path or speaker, and what a cut table needs repeated."""

import re

from finrag_pipelines.catalog.identity import Identity
from finrag_pipelines.chunking.tokens import TokenCounter
from finrag_pipelines.parsing.model import Row, Section, Table, Turn

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
    kept = 0
    for count in counter.counts(words):
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
    if turn is None:
        return ""
    parts = [turn.speaker, turn.title or _ROLES.get(turn.role, ""), turn.firm or ""]
    speaker = ", ".join(dict.fromkeys(part for part in parts if part))
    return SEPARATOR.join(part for part in (clip(speaker, 28, counter), turn.part.replace("_", " ")) if part)


def table_line(table: Table, row: int | None, text: str, counter: TokenCounter) -> str:
    """Return caption, units, column headers and the labels above, for a fragment that starts at `row` of `table`.

    `text` is the canonical text. What the fragment itself begins with is not repeated: a fragment that starts above
    or on the header gets caption and units alone.
    """
    parts = [clip(table.caption, 32, counter), clip(table.units, 16, counter)]
    headers = [position for position, line in enumerate(table.rows) if line.is_header]
    if row is not None and (not headers or row > headers[0]):
        parts.append(clip(_column_headers(table, row, text), 56, counter))
        parts.append(clip(" > ".join(table.rows[row].path), 20, counter))
    return SEPARATOR.join(dict.fromkeys(part for part in parts if part))


def _column_headers(table: Table, row: int, text: str) -> str:
    """Return the header rows above `row` as printed, or else the headers that its cells carry."""
    above: list[Row] = []
    for line in reversed(table.rows[:row]):
        if line.is_header:
            above.append(line)
        elif above:
            break
    if above:
        return " / ".join(" ".join(text[line.start : line.end].split()) for line in reversed(above))
    return " | ".join(dict.fromkeys(cell.header for cell in table.rows[row].cells if cell.header))
