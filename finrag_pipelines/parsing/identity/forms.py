"""Forms of documents: how EDGAR writes them, which report a fiscal period, which are no evidence."""

import re

UNSUPPORTED_FORMS = frozenset({"3", "4", "5", "144"})


def canonical_form(form: str) -> str:
    """Return a form as EDGAR writes it: `10K` → `10-K`, `10-q/a` → `10-Q/A`, `10KSB` → `10-KSB`."""
    text = re.sub(r"[‐‑–—]", "-", " ".join(form.upper().split()))
    text = re.sub(r" ?/ ?", "/", text)
    text = re.sub(r"^(10|20|40|8|6|11)[- ]?([KQF])", r"\1-\2", text)
    return re.sub(r"^([SFN])[- ]?(\d)", r"\1-\2", text)


def base_form(form: str | None) -> str:
    """Return a form without its amendment mark; empty for None."""
    return (form or "").removesuffix("/A")


def is_annual(form: str | None) -> bool:
    """Tell whether a form reports a fiscal year: 10-K and its variants (10-K405), 20-F, 40-F, annual reports."""
    base = base_form(form)
    return base.startswith(("10-K", "20-F", "40-F")) or base == "annual_report"


def is_quarterly(form: str | None) -> bool:
    """Tell whether a form reports a fiscal quarter: 10-Q and its variants."""
    return base_form(form).startswith("10-Q")


def reports_period(form: str | None) -> bool:
    """Tell whether a document of this form is of no use without its fiscal period."""
    return is_annual(form) or is_quarterly(form) or form == "transcript"
