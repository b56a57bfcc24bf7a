"""Documents as EDGAR-style inline XBRL: hidden header, tagged figures, split currency cells, linked contents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from .layout import MARK, Block, Row, Table, figure

_FONT = "font-family:'Times New Roman',serif;font-size:10pt"
_NAMESPACES = (
    'xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL" '
    'xmlns:xbrli="http://www.xbrl.org/2003/instance" xmlns:dei="http://xbrl.sec.gov/dei/2024" '
    'xmlns:us-gaap="http://fasb.org/us-gaap/2024" xmlns:link="http://www.xbrl.org/2003/linkbase" '
    'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:iso4217="http://www.xbrl.org/2003/iso4217" '
    'xmlns:ixt="http://www.xbrl.org/inlineXBRL/transformation/2020-02-12" xml:lang="en-US"'
)
_UNITS = (
    '<xbrli:unit id="usd"><xbrli:measure>iso4217:USD</xbrli:measure></xbrli:unit>'
    '<xbrli:unit id="shares"><xbrli:measure>xbrli:shares</xbrli:measure></xbrli:unit>'
    '<xbrli:unit id="number"><xbrli:measure>xbrli:pure</xbrli:measure></xbrli:unit>'
    '<xbrli:unit id="usdPerShare"><xbrli:divide><xbrli:unitNumerator><xbrli:measure>iso4217:USD</xbrli:measure>'
    "</xbrli:unitNumerator><xbrli:unitDenominator><xbrli:measure>xbrli:shares</xbrli:measure></xbrli:unitDenominator>"
    "</xbrli:divide></xbrli:unit>"
)
_SCALES = {
    "usd": ("usd", 6, "-6"),
    "shares": ("shares", 6, "-5"),
    "pershare": ("usdPerShare", 0, "2"),
    "percent": ("number", -2, "3"),
    "number": ("number", 0, "0"),
}
_SPECIAL = {
    "part": "text-align:center;font-weight:700;margin-top:12pt",
    "item": "font-weight:700;margin-top:10pt",
    "sub": "font-weight:700;font-style:italic;margin-top:6pt",
    "bold": "text-align:center;font-weight:700;margin-top:4pt",
    "center": "text-align:center;margin-top:4pt",
    "small": "font-size:8pt;margin-top:4pt",
    "bullet": "padding-left:18pt;margin-top:4pt",
    "text": "text-align:justify;margin-top:6pt",
}


@dataclass(frozen=True)
class Context:
    """An XBRL context: an instant when `start` is empty, else a duration; ISO dates."""

    key: str
    start: str
    end: str


@dataclass(frozen=True)
class Submission:
    """What the header of an inline filing says: names, dei facts (hidden and on the cover) and contexts."""

    title: str
    cik: str
    schema: str
    hidden: Mapping[str, str]
    cover: Mapping[str, str]
    contexts: tuple[Context, ...]
    running_head: str


class _Facts:
    """Numbers the facts of a document and writes their tags."""

    def __init__(self, submission: Submission) -> None:
        self.ids = {c.key: f"c-{n}" for n, c in enumerate(submission.contexts, start=1)}
        self.count = 0

    def text(self, name: str, value: str) -> str:
        """Tag a fact of the cover or header; a count of shares is the one number among them."""
        self.count += 1
        if name == "EntityCommonStockSharesOutstanding":
            return (
                f'<ix:nonFraction unitRef="shares" contextRef="{self.ids["I0"]}" decimals="INF" name="dei:{name}"'
                f' format="ixt:num-dot-decimal" scale="0" id="f-{self.count}">{value}</ix:nonFraction>'
            )
        form = ' format="ixt:date-monthname-day-year-en"' if name == "DocumentPeriodEndDate" else ""
        return f'<ix:nonNumeric contextRef="c-1" name="dei:{name}"{form} id="f-{self.count}">{value}</ix:nonNumeric>'

    def number(self, row: Row, value: float, context: str, shown: str) -> str:
        self.count += 1
        unit, scale, decimals = _SCALES[row.unit]
        sign = ' sign="-"' if value < 0 else ""
        return (
            f'<ix:nonFraction unitRef="{unit}" contextRef="{self.ids[context]}" decimals="{decimals}"'
            f' name="us-gaap:{row.concept}"'
            f' format="ixt:num-dot-decimal" scale="{scale}"{sign} id="f-{self.count}">{shown}</ix:nonFraction>'
        )


def _header(submission: Submission, facts: _Facts) -> str:
    contexts = []
    for context in submission.contexts:
        period = (
            f"<xbrli:startDate>{context.start}</xbrli:startDate><xbrli:endDate>{context.end}</xbrli:endDate>"
            if context.start
            else f"<xbrli:instant>{context.end}</xbrli:instant>"
        )
        contexts.append(
            f'<xbrli:context id="{facts.ids[context.key]}"><xbrli:entity>'
            f'<xbrli:identifier scheme="http://www.sec.gov/CIK">{submission.cik}</xbrli:identifier></xbrli:entity>'
            f"<xbrli:period>{period}</xbrli:period></xbrli:context>"
        )
    hidden = "".join(facts.text(name, value) for name, value in submission.hidden.items())
    return (
        f'<div style="display:none"><ix:header><ix:hidden>{hidden}</ix:hidden><ix:references xml:lang="en-US">'
        f'<link:schemaRef xlink:type="simple" xlink:href="{submission.schema}.xsd"></link:schemaRef></ix:references>'
        f"<ix:resources>{''.join(contexts)}{_UNITS}</ix:resources></ix:header></div>\n"
    )


def _cells(row: Row, value: float | str | None, context: str, facts: _Facts) -> str:
    if value is None or isinstance(value, str):
        return f'<td colspan="3" style="text-align:right;padding:0 1pt"><span>{escape(value or "")}</span></td>'
    shown = figure(value, row.unit)
    digits = shown.strip("()")
    if row.concept and context and digits != "—":
        digits = facts.number(row, value, context, digits)
    close = ")" if shown.endswith(")") else ""
    close += "%" if row.unit == "percent" else ""
    dollar = "$" if row.sign else ""
    opening = "(" if shown.startswith("(") else ""
    if dollar:
        return (
            f'<td style="padding-left:4pt">{dollar}</td><td style="text-align:right">{opening}{digits}</td>'
            f"<td>{close or '&#160;'}</td>"
        )
    return f'<td colspan="2" style="text-align:right">{opening}{digits}</td><td>{close or "&#160;"}</td>'


def _table(table: Table, facts: _Facts) -> str:
    lines = []
    if any(table.columns):
        heads = "".join(
            f'<td colspan="3" style="text-align:center;font-weight:700;border-bottom:1pt solid #000;padding:0 2pt">'
            f"{escape(c)}</td>"
            for c in table.columns
        )
        lines.append(f"<tr><td></td>{heads}</tr>")
    contexts = table.contexts or ("",) * len(table.columns)
    for number, row in enumerate(table.rows):
        weight = "font-weight:700;" if row.total or row.head else ""
        shade = "background-color:#cceeff;" if number % 2 == 0 else ""
        rule = "border-top:1pt solid #000;" if row.total else ""
        values = row.values or (None,) * len(table.columns)
        cells = "".join(_cells(row, v, c, facts) for v, c in zip(values, contexts, strict=True))
        lines.append(
            f'<tr style="{shade}{weight}{rule}"><td style="text-align:left;padding:1pt">{escape(row.label)}</td>'
            f"{cells}</tr>"
        )
    caption = f'<div style="text-align:center;font-weight:700;margin-top:8pt">{escape(table.caption)}</div>'
    units = f'<div style="text-align:center;font-style:italic">{escape(table.units)}</div>'
    head = (caption if table.caption else "") + (units if table.units else "")
    return head + '<table style="border-collapse:collapse;width:100%">' + "\n".join(lines) + "</table>"


def _anchor(block: Block, page: int) -> str:
    return f"p{page}_" + "".join(c for c in block.text.lower() if c.isalnum())[:40]


def _block(block: Block, page: int, facts: _Facts, cover: dict[str, str]) -> str:
    """Write a block; the facts of the cover that occur in it are tagged, each once, and taken out of `cover`."""
    if block.table is not None:
        return _table(block.table, facts)
    text = escape(block.text, quote=False)
    for name in [n for n, value in cover.items() if escape(value, quote=False) in text]:
        shown = escape(cover.pop(name), quote=False)
        text = text.replace(shown, facts.text(name, shown), 1)
    bullet = "&#8226; " if block.kind == "bullet" else ""
    anchor = f'<div id="{_anchor(block, page)}"></div>' if block.kind in ("part", "item") and page else ""
    return f'{anchor}<div style="{_SPECIAL[block.kind]}"><span>{bullet}{text}</span></div>'


def _pages(body: Sequence[Block]) -> list[list[Block]]:
    pages: list[list[Block]] = [[]]
    for block in body:
        if block.kind == "page":
            pages.append([])
        else:
            pages[-1].append(block)
    return pages


def write_ixbrl(path: Path, submission: Submission, cover: Sequence[Block], body: Sequence[Block]) -> None:
    """Write a filing; the cover carries no page number, the contents list is page 1, the body starts on page 2."""
    facts = _Facts(submission)
    header = _header(submission, facts)
    mark = f'<div style="text-align:center;font-weight:700;font-size:8pt">{MARK} &#8212; figures are invented</div>'

    def foot(label: str) -> str:
        return (
            f'<div style="height:28pt"><div style="text-align:center"><span>{label}</span></div></div>'
            '<hr style="page-break-after:always"/>\n'
        )

    on_cover = dict(submission.cover)
    parts = [mark, "\n".join(_block(b, 0, facts, on_cover) for b in cover), foot("&#160;")]
    if on_cover:
        raise ValueError(f"{path.name}: the cover does not show {sorted(on_cover)}; put them into the template")
    pages = _pages(body)
    rows = []
    for number, page in enumerate(pages, start=2):
        for block in page:
            if block.kind in ("part", "item"):
                link = f'<a href="#{_anchor(block, number)}">{escape(block.text, quote=False)}</a>'
                rows.append(
                    f'<tr><td>{link}</td><td style="text-align:right">'
                    f'<a href="#{_anchor(block, number)}">{number}</a></td></tr>'
                )
    parts.append(
        f'{mark}<div id="toc" style="text-align:center;font-weight:700">TABLE OF CONTENTS</div>'
        '<table style="width:100%"><tr><td></td><td style="text-align:right">Page</td></tr>'
        f"{''.join(rows)}</table>" + foot("1")
    )
    back = (
        '<div><a href="#toc">Table of Contents</a></div>'
        f'<div style="text-align:right">{escape(submission.running_head)}</div>'
    )
    for number, page in enumerate(pages, start=2):
        parts.append(mark + back + "\n".join(_block(b, number, facts, {}) for b in page) + foot(str(number)))
    path.write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<html {_NAMESPACES}><head>'
        '<meta http-equiv="Content-Type" content="text/html; charset=utf-8"/>'
        f'<title>{submission.schema}</title></head><body style="{_FONT}">{header}{"".join(parts)}</body></html>\n',
        encoding="utf-8",
        newline="\n",
    )
