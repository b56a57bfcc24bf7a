"""How facts are put in words: who says it, where, which period, and numbers as people write them."""

from decimal import ROUND_HALF_UP, Decimal

from finrag_pipelines.answering.breakdown import header_key, header_text
from finrag_pipelines.answering.documents import Documents, Figure, label_key, without_notes
from finrag_pipelines.answering.model import Support
from finrag_pipelines.answering.words import normal
from finrag_pipelines.chunking.model import Fragment

ROLES = {
    "chief_executive": "chief executive officer",
    "chief_financial_officer": "chief financial officer",
    "executive": "executive",
    "investor_relations": "investor relations",
    "analyst": "analyst",
}
_FORMS = {"transcript": "earnings call", "memo": "memo", "fund_announcement": "fund announcement"}
_SCALE_WORDS = {3: "thousand", 6: "million", 9: "billion", 12: "trillion"}
_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£"}


def quoted(text: str) -> str:
    """Return a quote as shown: white space runs as one blank, in double quotation marks, inner ones made single."""
    return '"' + " ".join(text.split()).replace('"', "'") + '"'


def document_name(fragment: Fragment) -> str:
    """Return how a document is called in a sentence: `10-Q 2026Q1`, `earnings call 2026Q1`, `fund announcement`."""
    form = _FORMS.get(fragment.form, fragment.form)
    if fragment.period:
        return f"{form} {fragment.period}"
    return f"{form} of {fragment.filed}" if fragment.filed else form


def attribution(fragment: Fragment, documents: Documents) -> str:
    """Return who says it and where: `PepsiCo (10-K FY2025, Item 7)`, `Ann Lee, executive of PepsiCo (…)`."""
    company = documents.company_name(fragment.company) if fragment.company else ""
    if fragment.speaker:
        role = ROLES.get(fragment.role or "")
        of = f" of {fragment.firm or company}" if role == "analyst" else f" of {company}"
        who = f"{fragment.speaker}, {role}{of}" if role else f"{fragment.speaker} ({company})"
        return f"{who} ({document_name(fragment)})"
    where = document_name(fragment) + (f", {fragment.section}" if fragment.section else "")
    return f"{company} ({where})" if company else where[:1].upper() + where[1:]


def figure_text(figure: Figure) -> str:
    """Return a table figure as people write it: `$1,234 million`, `89.0%`, `$2.03 per share`, `(1.5) points`."""
    scale = 0
    if figure.unit in (*_SYMBOLS, None, "shares"):
        # The scale that the table was printed in: the smallest whose unit the last printed digit does not exceed.
        scale = next((one for one in (0, 3, 6, 9, 12) if Decimal(10) ** one >= figure.step), 12)
    decimals = max(0, scale - figure.step.adjusted())
    return unit_text(figure.value / Decimal(10) ** scale, figure.unit, decimals, scale)


def unit_text(value: Decimal, unit: str | None, decimals: int, scale: int = 0) -> str:
    """Return `value` (already divided by the scale) with sign, separators, scale word and unit."""
    rounded = value.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)
    sign = "-" if rounded < 0 else ""
    digits = f"{abs(rounded):,.{decimals}f}"
    words = f" {_SCALE_WORDS[scale]}" if scale else ""
    if unit == "percent":
        return f"{sign}{digits}%"
    if unit in ("USD/share", "per_share"):
        return f"{sign}${digits} per share"
    if unit in _SYMBOLS:
        return f"{sign}{_SYMBOLS[unit]}{digits}{words}"
    if unit in (None, "ratio"):
        return f"{sign}{digits}{words}"
    return f"{sign}{digits}{words} {unit}"


def figure_sentence(support: Support, documents: Documents, what: str = "") -> str:
    """Return the sentence that states a table row: whose, where, label, column of a part, value with unit, period.

    `what` names the measure where the row itself does not.
    """
    figure = support.figure
    assert figure is not None
    label = without_notes(figure.label).rstrip(":")
    total = figure.key.startswith(("total ", "net cash", "cash provided", "net income", "net earnings"))
    step = figure.path[-1].rstrip(":") if figure.path and not total else ""
    under = f" ({step})" if step and label_key(step) != figure.key else ""
    column = header_text(figure.header) if header_key(figure.header) else ""
    if column and normal(column) not in normal(under):
        under += f", {column}"
    if what:
        under += f", {what}"
    period = figure.period or support.delivered.fragment.period or ""
    when = f" for {period}" if period else ""
    if figure.duration == "instant" and figure.period_end:
        when = f" at {figure.period_end} ({period})" if period else f" at {figure.period_end}"
    elif figure.duration == "ytd" and period:
        when = f" for {period}, year to date" if not period.endswith("YTD") else f" for {period}"
    under += "," if column or what else ""
    return f"{attribution(support.delivered.fragment, documents)}: {label}{under} of {figure_text(figure)}{when}."
