"""Unit and scale of a figure that carries no tag: what its column, its label and the units line say, nearest first."""

import re

from finrag_pipelines.parsing.tables.grid_cells import GridLine, number_of
from finrag_pipelines.parsing.tables.grid_columns import Columns, units_in
from finrag_pipelines.parsing.tables.values import Units, cell_unit, currency_of, parse_units

# `Cash dividends declared ($0.07 per share)` is an amount: its parenthesis only explains it.
_PRICED = re.compile(r"\([^()]{0,80}[$£€][^()]{0,80}\)")
_SIGNED = re.compile(r"[$£€¥₹]\)?$|\((?:in )?(?:US|C|A|HK)?[$£€¥₹]|\b(?:RMB|USD|CNY|EUR|GBP|CAD)\)?$")
_PARENTHESES = re.compile(r"\([^()]{2,240}\)")
_QUANTITY = re.compile(r"\d[\d.,]*\s?%")
_SHARE_COLUMN = re.compile(
    r"\b(?:number(?: of)?|shares|units|awards|options|rsus|psus)"
    r"(?: (?:granted|outstanding|vested|purchased|repurchased|issued))*$",
    re.I,
)
_PRICE = re.compile(
    r"\b(?:exercise|grant|strike|market|purchase|conversion) price\b|\baverage (?:grant|exercise) ?price\b"
    r"|\bgrant[- ]date (?:fair )?value\b|\bfair value of stock options on\b|\baverage (?:grant[- ]date )?fair value\b",
    re.I,
)
_AGGREGATE = re.compile(r"\b(?:total|aggregate|unrecognized|intrinsic)\b", re.I)
_DILUTION = re.compile(
    r"\bdiluti(?:ve|on)\b.{0,40}\b(?:securities|options|awards|equivalents|plans?|stock|shares)\b", re.I
)


def unit_of_figure(
    text: str, label: str, heading: str, path: tuple[str, ...], units: Units | None, mark: str | None, money: str | None
) -> tuple[str | None, int]:
    """Return unit and scale of the figure printed as `text`.

    `mark` is what the figures of its column show (a currency, `percent`, or None), `money` the currency that any
    column of the table shows.
    """
    label = _PRICED.sub("", label)
    own = units_in(heading)
    header_units = parse_units(own) if own else None
    heading = _QUANTITY.sub("", _PARENTHESES.sub(lambda match: "" if units_in(match[0]) else match[0], heading)).strip()
    signed = currency_of(text) is not None
    if not signed and "%" not in text and mark in (None, "percent"):
        if mark is None and (_SHARE_COLUMN.search(_PARENTHESES.sub("", heading).strip()) or _DILUTION.search(label)):
            return "shares", _share_scale(header_units, units)
        if mark == "percent":
            unit, scale = cell_unit(text, label, heading, units, path, None)
            return (unit, scale) if unit == "shares" or (unit and "/" in unit) else ("percent", 0)
    if not signed and _DILUTION.search(label) and not _AGGREGATE.search(label):
        return "shares", _share_scale(header_units, units)
    if "%" not in text and _is_price(label, heading) and (signed or mark not in (None, "percent")):
        return f"{currency_of(text) or mark}/share", 0
    unit, scale = cell_unit(text, label, heading, units, path, mark if mark != "percent" else None)
    if unit is None and mark is None and money and units is not None:
        unit, scale = cell_unit(text, label, heading, units, path, money)
    if header_units is not None and unit is not None and len(unit) == 3:
        scale = header_units.scale
    return unit, scale


def _share_scale(header_units: Units | None, units: Units | None) -> int:
    """Return the scale of share counts: that of the column, else that of the table unless shares are excepted."""
    if header_units is not None:
        return header_units.scale or header_units.share_scale or 0
    if units is None or "shares" in units.excepted:
        return (units.share_scale or 0) if units else 0
    return units.share_scale if units.share_scale is not None else units.scale


def _is_price(label: str, heading: str) -> bool:
    return bool(_PRICE.search(label) or _PRICE.search(heading)) and not (
        _AGGREGATE.search(label) or _AGGREGATE.search(heading)
    )


def column_marks(lines: list[GridLine], columns: Columns) -> list[str | None]:
    """Return for each column the currency that its figures show, or `percent` where they show only percent signs.

    Statements print the sign on the first and the last figure of a column, and mean it for those between.
    """
    marks: list[str | None] = [None] * len(columns)
    for line in lines:
        for cell in line.values:
            column = columns.of(cell)
            if line.is_header:
                if cell.end - cell.start <= columns.width(column) + 2 and _SIGNED.search(cell.text):
                    marks[column] = currency_of(cell.text)
                continue
            if number_of(cell.text) is None:
                continue
            if (currency := currency_of(cell.text)) and marks[column] in (None, "percent"):
                marks[column] = currency
            elif "%" in cell.text and marks[column] is None:
                marks[column] = "percent"
    return marks
