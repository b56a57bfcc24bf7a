"""The document model that the renderers share, and the small markup in which templates and narratives are written.

Markup, one block per paragraph: `# ` part, `## ` item, `### ` subheading, `- ` bullet, `! ` bold and `^ ` plain
centered line, `~ ` small print, `@page`, `@table NAME`, `@speaker KEY`; everything else is a paragraph. `{key}` is
replaced by a fact or by the narrative section `key.PERIOD`, else `key`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
MARK = "SYNTHETIC SAMPLE"
NOTICE = (
    "SYNTHETIC SAMPLE: this document was written for software tests. It is not a filing or statement of the company "
    "named in it, its people and figures are invented, and nothing in it may be relied on."
)
_SECTION = re.compile(r"^\[([^\]\n]+)\]$", re.MULTILINE)
_FIELD = re.compile(r"\{([A-Za-z0-9_]+)\}")
_KINDS = {"# ": "part", "## ": "item", "### ": "sub", "- ": "bullet", "! ": "bold", "^ ": "center", "~ ": "small"}


@dataclass(frozen=True)
class Row:
    """A line of a table. `values` are numbers, None for an empty cell, or text printed as it stands.

    `unit` is `usd`, `shares`, `pershare`, `percent` or `number`; `sign` puts the dollar sign beside the
    figures and `total` rules them off. `concept` is the XBRL name. `head` rows carry only a label.
    """

    label: str
    values: tuple[float | str | None, ...] = ()
    unit: str = "usd"
    sign: bool = False
    total: bool = False
    concept: str = ""
    head: bool = False


@dataclass(frozen=True)
class Table:
    """A financial table: what it shows, its units, its columns with the context of each, and its rows."""

    caption: str
    units: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    contexts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Block:
    """One block of a document: `kind` of the markup, its text, and the table or speaker it names."""

    kind: str
    text: str = ""
    table: Table | None = None


def register(state: str, tax_number: str, address: str, postal_code: str) -> Table:
    """The block of a cover page that says where the registrant is incorporated and where its offices are."""
    rows = (
        Row(state, (tax_number,), "text"),
        Row("(State or other jurisdiction of incorporation)", ("(I.R.S. Employer Identification No.)",), "text"),
        Row(address, (postal_code,), "text"),
        Row("(Address of principal executive offices)", ("(Zip Code)",), "text"),
    )
    return Table("", "", ("",), rows)


def figure(value: float | str | None, unit: str) -> str:
    """Print a figure as filings do: thousands separated, negatives in parentheses, zero as a dash."""
    if value is None or isinstance(value, str):
        return value or ""
    places = {"pershare": 2, "percent": 1}.get(unit, 0)
    if round(abs(value), places) == 0:
        return "—"
    text = f"{abs(value):,.{places}f}"
    return f"({text})" if value < 0 else text


def sections(path: Path) -> dict[str, str]:
    """Read a narrative file: text under each `[key]` line."""
    parts = _SECTION.split(path.read_text(encoding="utf-8"))
    return {key: text.strip() for key, text in zip(parts[1::2], parts[2::2], strict=True)}


def fill(template: str, facts: Mapping[str, str], period: str = "") -> str:
    """Replace every `{key}` of a template, also inside what was filled in. Raises KeyError for an unknown key."""

    def value(match: re.Match[str]) -> str:
        key = match[1]
        text = facts.get(f"{key}.{period}", facts.get(key))
        if text is None:
            raise KeyError(f"no fact or narrative named {key!r} for period {period!r}")
        return fill(text, facts, period)

    return _FIELD.sub(value, template)


def blocks(markup: str, tables: Mapping[str, Table], speakers: Mapping[str, str] | None = None) -> list[Block]:
    """Turn filled markup into blocks. Raises KeyError for a table or speaker that is not given."""
    found = []
    for paragraph in re.split(r"\n[ \t]*\n", markup.strip()):
        text = " ".join(paragraph.split())
        if text == "@page":
            found.append(Block("page"))
        elif text.startswith("@table "):
            found.append(Block("table", table=tables[text[7:]]))
        elif text.startswith("@speaker "):
            found.append(Block("speaker", (speakers or {})[text[9:]]))
        else:
            mark = next((m for m in _KINDS if text.startswith(m)), "")
            found.append(Block(_KINDS.get(mark, "text"), text[len(mark) :]))
    return found
