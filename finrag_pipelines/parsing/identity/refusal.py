"""Why a document must stay out of the corpus: an error page, a form that is no evidence, an unknown identity."""

import re

from finrag_pipelines.catalog.identity import Identity
from finrag_pipelines.parsing.identity.forms import UNSUPPORTED_FORMS, base_form, reports_period
from finrag_pipelines.parsing.model import Layout

# What a page of a server says instead of the document, and what that means.
_ERRORS = tuple(
    (re.compile(pattern, re.IGNORECASE), meaning)
    for pattern, meaning in (
        (r"undeclared automated tool", "SEC: undeclared automated tool, status 403"),
        (
            r"request rate threshold exceeded|exceeded the SEC['’]s? (?:traffic|request)",
            "SEC: too many requests, status 403 or 429",
        ),
        (r"\b(?:HTTP (?:Status|Error) ?[-:]?|error|status code) ?[45]\d\d\b", "an HTTP error"),
        (
            r"\b(?:40[0134]|410|429|50[0234])\b[ :|–—-]{0,4}(?:page )?(?:not found|forbidden|unauthorized|bad gateway"
            r"|service unavailable|internal server error|gone|too many requests|error|gateway time-?out|bad request)",
            "an HTTP error",
        ),
        (
            r"\b(?:page|file|resource|document) (?:you (?:are looking for|requested) )?(?:was |is |could |can)?"
            r"(?:not be |not )(?:found|available)\b",
            "page not found",
        ),
        (r"page is temporarily unavailable|undergoing maintenance", "temporarily unavailable, status 503"),
        (
            r"EDGAR Search Results|Company Information:|No matching Ticker|Series and Class/Contracts"
            r"|Home \| EDGAR Search Home|SEC Accession No\..{0,1000}Document Format Files|EDGAR Filing Documents for"
            r"|\A<SEC-DOCUMENT>\S{1,40}-index\.html?",
            "an EDGAR search or index page",
        ),
        (
            r"\b(?:access denied|service (?:is )?(?:temporarily )?unavailable|bad gateway)\b",
            "access denied or service unavailable",
        ),
        (r"<Code>\w{0,40}(?:NoSuchKey|AccessDenied)", "NoSuchKey or AccessDenied"),
        (r"\bno matching (?:ciks?|companies)\b", "an empty search result"),
    )
)


def _error_page(text: str) -> str | None:
    """Return which error a short page reports, or None. A real document is long, or has a cover."""
    if len(text) > 20_000 or _has_cover_words(text):
        return None
    head = " ".join(text[:3000].split())
    return next((what for pattern, what in _ERRORS if pattern.search(head)), None)


def _has_cover_words(text: str) -> bool:
    return bool(re.search(r"exact name of|earnings call|for the (?:fiscal|quarterly)", text[:8000], re.IGNORECASE))


def refusal_reason(identity: Identity, layout: Layout) -> tuple[str, str] | None:
    """Return (code, message) where a document must stay out of the corpus, else None.

    Codes: http_error_page, form_not_supported, form_unknown, company_unknown, period_unknown (only for forms that
    report a period: 10-K, 10-Q, annual reports, transcripts).
    """
    error = _error_page(layout.text)
    if error:
        return "http_error_page", f"this is a server's answer ({error}), not a document: fetch the document again"
    if base_form(identity.form) in UNSUPPORTED_FORMS:
        return (
            "form_not_supported",
            f"this is a Form {identity.form} (ownership report), which is no evidence for questions about filings: "
            "leave it out, or hand in the filing that was meant",
        )
    if identity.company is None and identity.form is None:
        return "company_unknown", _ask("neither company nor form can be told", identity, ("company", "form"))
    if identity.form is None:
        return "form_unknown", _ask("the kind of document cannot be told", identity, ("form",))
    if identity.company is None:
        return "company_unknown", _ask("the company cannot be told", identity, ("company",))
    if reports_period(identity.form) and identity.period is None:
        return "period_unknown", _ask(
            f"the fiscal period of this {identity.form} cannot be told", identity, ("period",)
        )
    return None


def _ask(what: str, identity: Identity, fields: tuple[str, ...]) -> str:
    reasons = "; ".join(identity.unknown[f] for f in fields if f in identity.unknown)
    return f"{what}{': ' + reasons if reasons else ''}; state {' and '.join(fields)} in a sidecar or by a flag"
