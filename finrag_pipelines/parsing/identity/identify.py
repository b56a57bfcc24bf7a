"""Who issued a document, what it is, and for which period: told by the document itself, each finding with its basis.

Sources are asked in this order: inline-XBRL facts of the dei taxonomy, the EDGAR header, the cover, the opening of
calls, releases, notices and memos. A file name only ever warns. Fiscal labels are the issuer's own.
"""

import re
from dataclasses import replace
from datetime import date

from finrag_pipelines.catalog.calendars import calendar_for, load_calendars, parse_year_end
from finrag_pipelines.catalog.companies import (
    company_id_for,
    load_companies,
    normal_cik,
    normal_ticker,
    repair_encoding,
)
from finrag_pipelines.catalog.identity import Finding, Identity
from finrag_pipelines.catalog.period_mentions import parse_date
from finrag_pipelines.parsing.identity import openings
from finrag_pipelines.parsing.identity.amendment import read_amendment
from finrag_pipelines.parsing.identity.cover import Cover, name_in_body, read_cover
from finrag_pipelines.parsing.identity.file_name import name_warnings
from finrag_pipelines.parsing.identity.fiscal_label import StatedFocus, annual_report_end, fiscal_label
from finrag_pipelines.parsing.identity.forms import canonical_form, is_annual, is_quarterly
from finrag_pipelines.parsing.identity.notes import Notes
from finrag_pipelines.parsing.identity.refusal import refusal_reason
from finrag_pipelines.parsing.identity.spoken_period import end_of_spoken, period_of_call, period_of_release
from finrag_pipelines.parsing.model import Kind, Layout

__all__ = ["completed", "identify", "refusal_reason"]

_OPENED_BY_TEXT = frozenset({"transcript", "press_release", "memo", "fund_announcement", "annual_report"})
_FUND_FORMS = ("485", "497", "N-")


def identify(layout: Layout, name: str = "") -> Identity:
    """Return the identity of a document. What it does not tell is in `unknown`, with the reason; where it contradicts
    itself or its file name, `warnings` says so."""
    notes = Notes()
    dei = _dei(layout)
    header = _header(layout)
    _from_dei(notes, dei)
    _from_header(notes, header)
    _from_cover(notes, read_cover(layout.text))
    form = _form(notes, layout)
    if form is not None and (form in _OPENED_BY_TEXT or _is_release(form)):
        _from_opening(notes, layout, form)
    _company(notes, layout)
    _period(notes, layout, dei, header)
    return _finished(notes, layout, name)


def completed(identity: Identity, layout: Layout, fiscal_year_end: str | None = None) -> Identity:
    """Return `identity`, with what was stated of it in place, together with what follows from that: what an amendment
    does, and the fiscal label where only a period's end is known. `fiscal_year_end` (`0930`) is the issuer's, where it
    is stated."""
    identity = replace(identity, amendment=read_amendment(layout.text, identity.form, _amendment_description(layout)))
    periodic = is_annual(identity.form) or is_quarterly(identity.form)
    if identity.period or not identity.period_end or not periodic:
        return identity
    stated = StatedFocus(year_end=fiscal_year_end)
    day = date.fromisoformat(identity.period_end)
    labelled = fiscal_label(layout.text, day, is_quarterly(identity.form), identity.company, stated)
    basis = "stated period end and fiscal year end" if fiscal_year_end else "stated period end and fiscal calendar"
    return replace(
        identity,
        period=labelled.label,
        findings=(*identity.findings, Finding("period", labelled.label, basis)),
        unknown={name: reason for name, reason in identity.unknown.items() if name != "period"},
        warnings=(*identity.warnings, *([labelled.doubt] if labelled.doubt else [])),
    )


def _amendment_description(layout: Layout) -> str | None:
    return next((fact.value for fact in layout.facts if fact.concept == "dei:AmendmentDescription"), None)


# --- what the container says -----------------------------------------------------------------------------------------


def _dei(layout: Layout) -> dict[str, tuple[str, str | None]]:
    """Return the dei facts: the value and the end of its context, by name. A fact without dimensions counts first."""
    facts: dict[str, tuple[str, str | None]] = {}
    plain = [f for f in layout.facts if f.concept.startswith("dei:")]
    for fact in sorted(plain, key=lambda f: bool(f.dimensions)):
        value = " ".join(fact.value.split())
        if value and value not in ("—", "-", "–"):
            facts.setdefault(fact.concept.removeprefix("dei:"), (value, fact.period_end))
    return facts


def _from_dei(notes: Notes, dei: dict[str, tuple[str, str | None]]) -> None:
    def value(name: str) -> str | None:
        return dei[name][0] if name in dei else None

    form = value("DocumentType")
    if form:
        form = canonical_form(form)
        amended = (value("AmendmentFlag") or "").lower() == "true"
        notes.note("form", form + "/A" if amended and not form.endswith("/A") else form, "dei")
    notes.note("company_name", value("EntityRegistrantName"), "dei")
    notes.note("cik", normal_cik(value("EntityCentralIndexKey")), "dei")
    symbol = normal_ticker(value("TradingSymbol"))
    notes.note("symbol", symbol, "dei")
    if "DocumentPeriodEndDate" in dei:
        stated, context_end = dei["DocumentPeriodEndDate"]
        day = parse_date(stated) or (parse_date(context_end) if context_end else None)
        notes.note("period_end" if _has_fiscal_period(notes) else "reported", day, "dei")


_HEADER_NAMES = {
    "form": ("conformedsubmissiontype", "submissiontype", "formtype", "form", "type"),
    "name": ("companyconformedname", "conformedname", "companyname", "company", "filername"),
    "cik": ("centralindexkey", "cik"),
    "period": ("conformedperiodofreport", "periodofreport", "period"),
    "filed": ("filedasofdate", "filingdate", "filed", "fileddate"),
    "accession": ("accessionnumber", "accession", "accessionno"),
    "year_end": ("fiscalyearend",),
}


def _header(layout: Layout) -> dict[str, str]:
    """Return the fields of the EDGAR header as far as the reader found one, under short names."""
    squashed = {re.sub(r"[^a-z]", "", key.lower()): value.strip() for key, value in layout.metadata.items() if value}
    found: dict[str, str] = {}
    if layout.kind is not Kind.SUBMISSION:
        return found
    for name, spellings in _HEADER_NAMES.items():
        value = next((squashed[s] for s in spellings if s in squashed), None)
        if value:
            found[name] = value
    return found


def _from_header(notes: Notes, header: dict[str, str]) -> None:
    if form := header.get("form"):
        notes.note("form", _header_form(form), "sgml_header")
    notes.note("company_name", header.get("name"), "sgml_header")
    notes.note("cik", normal_cik(header.get("cik")), "sgml_header")
    day = _compact(header.get("period"))
    notes.note("period_end" if _has_fiscal_period(notes) else "reported", day, "sgml_header")
    notes.note("filed", _compact(header.get("filed")), "sgml_header")
    notes.note("accession", _accession(header.get("accession")), "sgml_header")


def _header_form(form: str) -> str:
    exhibit = re.fullmatch(r"EX-(\d{1,2}(?:\.\d{1,2})?)", form.strip(), re.IGNORECASE)
    return f"8-K EX-{exhibit[1]}" if exhibit and exhibit[1].startswith("99") else canonical_form(form)


def _compact(text: str | None) -> date | None:
    digits = re.sub(r"\D", "", text or "")
    try:
        return date(int(digits[:4]), int(digits[4:6]), int(digits[6:8])) if len(digits) == 8 else parse_date(text or "")
    except ValueError:
        return None


def _accession(text: str | None) -> str | None:
    match = re.search(r"\d{10}-\d{2}-\d{6}", text or "")
    return match[0] if match else None


# --- what the text says ----------------------------------------------------------------------------------------------


def _from_cover(notes: Notes, cover: Cover | None) -> None:
    if cover is None:
        return
    if notes.get("form") and cover.form == f"{notes.get('form')}/A":
        notes.warnings.append(f"the cover says {cover.form}, the tagged form is {notes.get('form')}: the cover counts")
        notes.withdraw("form")
    notes.note("form", cover.form, "cover")
    notes.note("company_name", cover.registrant, "cover")
    notes.note("symbol", cover.symbol, "cover")
    if _has_fiscal_period(notes):
        notes.note("period_end", cover.period_end, "cover")
    notes.note("reported", cover.reported, "cover")
    if cover.event:
        notes.event_dates = (cover.event.isoformat(),)
        notes.findings.append(Finding("event_dates", cover.event.isoformat(), "cover"))


def _has_fiscal_period(notes: Notes) -> bool:
    return is_annual(notes.get("form")) or is_quarterly(notes.get("form"))


def _is_release(form: str | None) -> bool:
    return form == "press_release" or (form or "").startswith("8-K EX-99")


def _form(notes: Notes, layout: Layout) -> str | None:
    """Decide the form of a document that has no cover: by its kind, then by how it opens."""
    if notes.get("form"):
        return notes.get("form")
    text = layout.text
    exhibit = openings.exhibit_number(text)
    if layout.kind is Kind.JSON_TRANSCRIPT:
        notes.note("form", "transcript", "kind: speakers and their words")
    elif layout.kind is Kind.EMAIL:
        notes.note("form", "memo", "kind: mail")
    elif exhibit and exhibit.startswith("99"):
        notes.note("form", "8-K EX-99.1" if exhibit in ("99", "99.1") else f"8-K EX-{exhibit}", "opening")
    elif openings.is_memo(text):
        notes.note("form", "memo", "opening")
    elif openings.is_fund_notice(text):
        notes.note("form", "fund_announcement", "opening")
    elif openings.annual_report_year(text):
        notes.note("form", "annual_report", "opening")
    elif openings.is_call(text):
        notes.note("form", "transcript", "opening")
    elif openings.is_release(text):
        notes.note("form", "press_release", "opening")
    elif layout.kind is Kind.DOCX:
        notes.note("form", "memo", "kind: document of an office")
    else:
        notes.unknown["form"] = "no cover of a filing, and it opens like no call, release, notice or memo"
    return notes.get("form")


def _from_opening(notes: Notes, layout: Layout, form: str) -> None:
    text = layout.text
    named: openings.Named | None = None
    if form == "transcript":
        named = _json_company(layout) or openings.call_company(text)
        day = _metadata_date(layout) or openings.first_date(repair_encoding(text[:1500]))
        notes.note("filed", day, "opening: date of the call")
        _events(notes, day)
    elif form == "memo":
        _memo(notes, layout)
    elif form == "fund_announcement":
        named = openings.fund_name(text)
        day = _metadata_date(layout) or openings.dated_line(text)
        notes.note("filed", day, "opening: date of the announcement")
        _events(notes, day)
    elif form == "annual_report":
        named = openings.legal_name(text[:3000])
    else:
        named = openings.release_company(text)
        day = openings.first_date(" ".join(text[:3000].split()))
        notes.note("filed", day, "opening: date of the release")
        _events(notes, day)
    if named:
        notes.note("company_name", named.name, named.basis)
        notes.note("symbol", named.ticker, named.basis)
    title = layout.metadata.get("title") or layout.metadata.get("subject") or openings.title_line(text)
    notes.note("title", title, "opening")


def _events(notes: Notes, day: date | None) -> None:
    if day and not notes.event_dates:
        notes.event_dates = (day.isoformat(),)


def _json_company(layout: Layout) -> openings.Named | None:
    meta = {key.lower(): value for key, value in layout.metadata.items()}
    name = meta.get("company") or meta.get("company_name")
    ticker = meta.get("ticker") or meta.get("symbol")
    if name or ticker:
        return openings.Named(name or ticker or "", ticker, "metadata")
    return None


def _metadata_date(layout: Layout) -> date | None:
    meta = {key.lower(): value for key, value in layout.metadata.items()}
    for key in ("conference_date", "event_date", "call_date", "date", "event.conference_date"):
        if key in meta:
            return parse_date(meta[key][:10]) or parse_date(meta[key])
    return None


def _memo(notes: Notes, layout: Layout) -> None:
    lines = openings.memo_lines(layout.text)
    meta = {key.lower(): value for key, value in layout.metadata.items()}
    author = lines.get("from") or lines.get("author") or lines.get("prepared by")
    notes.note("author", author, "memo head")
    notes.note("author", meta.get("from") or meta.get("author") or meta.get("creator"), "metadata")
    subject = lines.get("re") or lines.get("subject") or meta.get("subject") or meta.get("title")
    notes.note("title", subject, "memo head")
    day = openings.first_date(lines.get("date", "")) or openings.first_date(meta.get("date", ""))
    notes.note("filed", day or openings.first_date(layout.text[:1500]), "memo head")
    _events(notes, notes.day("filed"))
    about = " ".join([lines.get("subjects", ""), subject or ""])
    in_subject = openings.companies_in_order(about)
    in_body = [c.id for c, count in openings.mentioned_companies(layout.text) if count >= 2]
    notes.subjects = tuple(dict.fromkeys([*in_subject, *in_body]))
    if notes.subjects:
        notes.findings.append(Finding("subjects", ", ".join(notes.subjects), "memo: companies that it names"))
        company = load_companies().get(notes.subjects[0])
        notes.note("company_name", company.name if company else None, "memo: the company that it is about")


def _company(notes: Notes, layout: Layout) -> None:
    """Decide the company id from name, CIK and symbol; a name that stands on the cover as a picture is sought in the
    body, and a call that names nobody at its opening is given to the one known company that it keeps naming."""
    form = notes.get("form")
    if not notes.get("company_name") and not notes.get("cik") and form and form != "memo":
        if form == "transcript":
            ranked = openings.mentioned_companies(layout.text)
            if ranked and ranked[0][1] >= 3 and (len(ranked) == 1 or ranked[0][1] >= 2 * ranked[1][1]):
                notes.note(
                    "company_name", ranked[0][0].name, f"mentions: named {ranked[0][1]} times, no other as often"
                )
                notes.warnings.append(f"the call does not say whose it is; {ranked[0][0].name} is named most")
        elif form not in ("fund_announcement",):
            found = name_in_body(layout.text)
            if found:
                notes.note("company_name", *found)
    if (form or "").startswith(_FUND_FORMS):  # one symbol per share class: none of them names the trust
        notes.values.pop("symbol", None)
    company = company_id_for(notes.get("company_name"), notes.get("cik"), notes.get("symbol"))
    if company is None:
        notes.unknown["company"] = (
            "the document names no company that can be recognised" if form else "no company stands where one would"
        )
        return
    known = load_companies().get(company)
    basis = next((f.basis for f in notes.findings if f.name in ("company_name", "cik", "symbol")), "cover")
    notes.note("company", company, basis)
    if known:
        notes.note("cik", known.cik, "company table")


# --- the fiscal period -----------------------------------------------------------------------------------------------


def _period(notes: Notes, layout: Layout, dei: dict[str, tuple[str, str | None]], header: dict[str, str]) -> None:
    form, company = notes.get("form"), notes.get("company")

    def fact(name: str) -> str | None:
        return dei[name][0] if name in dei else None

    year_end = fact("CurrentFiscalYearEndDate") or header.get("year_end")
    if is_annual(form) or is_quarterly(form):
        if form == "annual_report":
            notes.note("period_end", annual_report_end(layout.text, company), "opening: year of the report")
        day = notes.day("period_end")
        if day is None:
            notes.unknown["period"] = notes.unknown["period_end"] = "the cover states no date on which the period ended"
            return
        stated = StatedFocus(fact("DocumentFiscalYearFocus"), fact("DocumentFiscalPeriodFocus"), year_end)
        labelled = fiscal_label(layout.text, day, is_quarterly(form), company, stated)
        notes.note("period", labelled.label, labelled.basis)
        if labelled.doubt:
            notes.warnings.append(labelled.doubt)
    elif form == "transcript" or _is_release(form):
        _spoken(notes, layout, year_end)
    else:
        notes.unknown["period"] = f"a document of this kind ({form or 'unknown'}) reports no fiscal period of its own"


def _spoken(notes: Notes, layout: Layout, year_end: str | None) -> None:
    company, day = notes.get("company"), notes.day("filed")
    calendar = calendar_for(company, year_end)
    if notes.get("form") == "transcript":
        spoken = period_of_call(layout.text, _stated_quarter(layout), day, calendar)
        reason = "no quarter with a year stands at the opening, and no date from which it would follow"
    else:
        spoken = period_of_release(layout.text, day, calendar)
        reason = "the release reports no results of a fiscal period"
    if spoken is None:
        notes.unknown["period"] = reason
        return
    notes.note("period", spoken.label, spoken.basis)
    if spoken.doubt:
        notes.warnings.append(spoken.doubt)
    known = company in load_calendars() or parse_year_end(year_end) is not None
    notes.note("period_end", end_of_spoken(spoken, day, calendar, known), "calendar, or inferred from the date")


def _stated_quarter(layout: Layout) -> str:
    """Return what a transcript's container says of its quarter, as people write it; empty where it says nothing."""
    meta = {re.sub(r"^.*[._]", "", key.lower()): value for key, value in layout.metadata.items()}
    digit = re.search(r"[1-4]", meta.get("quarter", ""))
    year = re.fullmatch(r"20\d\d", meta.get("year", ""))
    return f"Q{digit[0]} {year[0]}" if digit and year else ""


def _finished(notes: Notes, layout: Layout, name: str) -> Identity:
    get = notes.get
    for missing, reason in (
        ("cik", "the document states none, and the company is in no table"),
        ("period_end", "no end of a period is stated"),
        ("filed", _why_not_filed(layout)),
        ("accession", "the document carries no EDGAR header"),
    ):
        if not get(missing):
            notes.unknown.setdefault(missing, reason)
    if get("form") and not get("period"):
        notes.unknown.setdefault("period", "not stated")
    if not get("company") and not get("form"):
        notes.unknown.setdefault("company", "the document names no company that can be recognised")
    company = load_companies().get(get("company"))
    stated_name = repair_encoding(get("company_name") or "") or None
    unknown = {field_name: reason for field_name, reason in sorted(notes.unknown.items()) if not get(field_name)}
    if notes.day("reported") and not notes.event_dates:
        notes.event_dates = (notes.values["reported"],)
    identity = Identity(
        company=get("company"),
        company_name=company.name if company else stated_name,
        cik=get("cik"),
        form=get("form"),
        period=get("period"),
        period_end=get("period_end"),
        filed=get("filed"),
        accession=get("accession"),
        title=get("title"),
        author=get("author"),
        subjects=notes.subjects,
        event_dates=notes.event_dates,
        findings=tuple(notes.findings),
        unknown=unknown,
        warnings=tuple(notes.warnings),
    )
    if not name:
        return identity
    more = name_warnings(name, identity, calendar_for(identity.company))
    return replace(identity, warnings=(*identity.warnings, *more))


_SIGNED = re.compile(r"\b(?:Date|Dated):?\s{0,3}((?:[A-Z][a-z]{2,8})\.? \d{1,2}, 20\d\d)")


def _why_not_filed(layout: Layout) -> str:
    signed = _SIGNED.search(" ".join(layout.text[-6000:].split()))
    if signed:
        return f"the document states only the date of its signature, {signed[1]}"
    return "the document does not state when it was filed"
