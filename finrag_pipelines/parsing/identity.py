"""Who issued a document, what it is, and for which period: told by the document itself, each finding with its basis.

Sources are asked in this order: inline-XBRL facts of the dei taxonomy, the EDGAR header, the cover, the opening of
calls, releases, notices and memos. A file name only ever warns. A fiscal label is the issuer's own: see `_fiscal_label`.
"""

import re
from dataclasses import dataclass, field
from datetime import date, timedelta

from finrag_pipelines.catalog.calendars import (
    FiscalCalendar,
    calendar_for,
    ending_at,
    labels_reported,
    load_calendars,
    locate,
    other_reading,
    parse_year_end,
    period_end_of,
    period_for,
)
from finrag_pipelines.catalog.companies import (
    company_id_for,
    load_companies,
    normal_cik,
    normal_ticker,
    repair_encoding,
)
from finrag_pipelines.catalog.identity import Finding, Identity
from finrag_pipelines.catalog.period_mentions import count_word, parse_date, parse_periods_in_text
from finrag_pipelines.catalog.periods import FiscalPeriod, parse_label
from finrag_pipelines.parsing import openings
from finrag_pipelines.parsing.cover import COVER_CHARACTERS, canonical_form, name_in_body, read_cover
from finrag_pipelines.parsing.model import Kind, Layout

ANNUAL_FORMS = frozenset({"10-K", "10-K405", "10-KSB", "10-KT", "20-F", "40-F", "annual_report"})
QUARTERLY_FORMS = frozenset({"10-Q", "10-QSB", "10-QT"})
UNSUPPORTED_FORMS = frozenset({"3", "4", "5", "144"})
_FUND_FORMS = ("485", "497", "N-")
_NEEDS_PERIOD = ANNUAL_FORMS | QUARTERLY_FORMS | {"transcript"}
_EVIDENCE_CHARACTERS = 400_000


@dataclass
class _Notes:
    """The identity in the making: the first source that states a field decides it."""

    values: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    subjects: tuple[str, ...] = ()
    event_dates: tuple[str, ...] = ()

    def note(self, name: str, value: str | date | None, basis: str) -> None:
        if value is None or value == "":
            return
        text = value.isoformat() if isinstance(value, date) else value
        if name not in self.values:
            self.values[name] = text
            self.findings.append(Finding(name, text, basis))

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def day(self, name: str) -> date | None:
        value = self.values.get(name)
        return date.fromisoformat(value) if value else None


def identify(layout: Layout, name: str = "") -> Identity:
    """Return the identity of a document. What it does not tell is in `unknown`, with the reason; where it contradicts
    itself or its file name, `warnings` says so."""
    notes = _Notes()
    dei = _dei(layout)
    header = _header(layout)
    cover = read_cover(layout.text)
    _from_dei(notes, dei)
    _from_header(notes, header)
    if cover is not None:
        if notes.get("form") and cover.form and cover.form == f"{notes.get('form')}/A":
            notes.warnings.append(f"the cover says {cover.form}, the tagged form is {notes.get('form')}: the cover counts")
            notes.values.pop("form")
            notes.findings = [f for f in notes.findings if f.name != "form"]
        notes.note("form", cover.form, "cover")
        notes.note("company_name", cover.registrant, "cover")
        notes.note("symbol", cover.symbol, "cover")
        notes.note("period_end", cover.period_end, "cover")
        if cover.event:
            notes.event_dates = (cover.event.isoformat(),)
            notes.findings.append(Finding("event_dates", cover.event.isoformat(), "cover"))
        notes.note("reported", cover.reported, "cover")
    form = _form(notes, layout)
    if form in ("transcript", "press_release", "memo", "fund_announcement", "annual_report", "8-K EX-99.1"):
        _from_opening(notes, layout, form)
    _company(notes, layout)
    _period(notes, layout, dei, header)
    return _finished(notes, layout, name)


def refusal_reason(identity: Identity, layout: Layout) -> tuple[str, str] | None:
    """Return (code, message) where a document must stay out of the corpus, else None.

    Codes: http_error_page, form_not_supported, form_unknown, company_unknown, period_unknown (only for forms that
    report a period: 10-K, 10-Q, annual reports, transcripts).
    """
    error = _error_page(layout.text)
    if error:
        return "http_error_page", f"this is a server's answer ({error}), not a document: fetch the document again"
    base = (identity.form or "").removesuffix("/A")
    if base in UNSUPPORTED_FORMS:
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
    if base in _NEEDS_PERIOD and identity.period is None:
        return "period_unknown", _ask(f"the fiscal period of this {identity.form} cannot be told", identity, ("period",))
    return None


def _ask(what: str, identity: Identity, fields: tuple[str, ...]) -> str:
    reasons = "; ".join(identity.unknown[f] for f in fields if f in identity.unknown)
    return f"{what}{': ' + reasons if reasons else ''}; state {' and '.join(fields)} in a sidecar or by a flag"


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


def _from_dei(notes: _Notes, dei: dict[str, tuple[str, str | None]]) -> None:
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
        if (notes.get("form") or "").startswith("8-K"):
            notes.note("reported", day, "dei")
        else:
            notes.note("period_end", day, "dei")


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


def _from_header(notes: _Notes, header: dict[str, str]) -> None:
    if form := header.get("form"):
        notes.note("form", _header_form(form), "sgml_header")
    notes.note("company_name", header.get("name"), "sgml_header")
    notes.note("cik", normal_cik(header.get("cik")), "sgml_header")
    day = _compact(header.get("period"))
    if (notes.get("form") or "").removesuffix("/A") in ANNUAL_FORMS | QUARTERLY_FORMS:
        notes.note("period_end", day, "sgml_header")
    else:
        notes.note("reported", day, "sgml_header")
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


def _form(notes: _Notes, layout: Layout) -> str | None:
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


def _from_opening(notes: _Notes, layout: Layout, form: str) -> None:
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


def _events(notes: _Notes, day: date | None) -> None:
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


def _memo(notes: _Notes, layout: Layout) -> None:
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


def _company(notes: _Notes, layout: Layout) -> None:
    """Decide the company id from name, CIK and symbol; a name that stands on the cover as a picture is sought in the
    body, and a call that names nobody at its opening is given to the one known company that it keeps naming."""
    form = notes.get("form")
    if not notes.get("company_name") and not notes.get("cik") and form and form != "memo":
        if form == "transcript":
            ranked = openings.mentioned_companies(layout.text)
            if ranked and ranked[0][1] >= 3 and (len(ranked) == 1 or ranked[0][1] >= 2 * ranked[1][1]):
                notes.note("company_name", ranked[0][0].name, f"mentions: named {ranked[0][1]} times, no other as often")
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


def _period(notes: _Notes, layout: Layout, dei: dict[str, tuple[str, str | None]], header: dict[str, str]) -> None:
    form = (notes.get("form") or "").removesuffix("/A")
    company = notes.get("company")
    stated_year_end = dei["CurrentFiscalYearEndDate"][0] if "CurrentFiscalYearEndDate" in dei else header.get("year_end")
    calendar = calendar_for(company, stated_year_end)
    if form in ANNUAL_FORMS | QUARTERLY_FORMS:
        day = notes.day("period_end")
        if day is None and form == "annual_report":
            day = _annual_report_end(layout, calendar)
            notes.note("period_end", day, "opening: year of the report")
        if day is None:
            notes.unknown["period"] = notes.unknown["period_end"] = "the cover states no date on which the period ended"
            return
        known = company in load_calendars() or parse_year_end(stated_year_end) is not None
        label = _fiscal_label(notes, layout, dei, calendar, day, form in QUARTERLY_FORMS, known)
        notes.note("period", label.label, label_basis(notes))
    elif form in ("transcript", "press_release") or form.startswith("8-K EX-99"):
        _spoken_period(notes, layout, calendar, company in load_calendars() or bool(stated_year_end), form)
    else:
        notes.unknown["period"] = f"a document of this kind ({form or 'unknown'}) reports no fiscal period of its own"


def label_basis(notes: _Notes) -> str:
    """Return on what the fiscal label rests, as `_fiscal_label` noted it."""
    return notes.values.pop("label_basis", "cover")


def _fiscal_label(
    notes: _Notes,
    layout: Layout,
    dei: dict[str, tuple[str, str | None]],
    calendar: FiscalCalendar,
    day: date,
    quarterly: bool,
    known: bool,
) -> FiscalPeriod:
    """Return the period that ends on `day` under the label that the issuer itself uses.

    The calendar of a known issuer decides, checked against the dei focus: where they differ, the label that the text
    uses more often wins, and a warning says so. For other issuers the dei focus decides if the period's end allows it;
    else the quarter follows from the stated year end or from the longest year to date in the statements, and the year
    from the text where the fiscal year ends in January or February, which issuers name in two ways.
    """
    focus = _dei_focus(dei, quarterly, day)
    if not known:
        calendar = _calendar_from_text(layout.text, day, quarterly)
    own = period_for(calendar, day, "quarter" if quarterly else "year", nearest=True)
    if own is None:  # an annual period that ends off the stated year end: a changed fiscal year
        own = FiscalPeriod(day.year if day.day > 14 or day.month > 1 else day.year - 1, end=day)
    if quarterly and own.quarter == 4 and focus is None:
        notes.warnings.append(f"a quarterly report whose period ends with the fiscal year, {day}: the calendar is doubtful")
    in_table = notes.get("company") in load_calendars()
    if focus is None:
        if not in_table:
            own = _named_year(layout.text, own, calendar)
        notes.values["label_basis"] = "cover and fiscal calendar"
        return FiscalPeriod(own.year, own.quarter, end=day)
    if (focus.year, focus.quarter) == (own.year, own.quarter):
        notes.values["label_basis"] = "dei, as the fiscal calendar has it"
        return FiscalPeriod(focus.year, focus.quarter, end=day)
    if not in_table:
        plausible = focus.quarter == own.quarter or not known
        if plausible:
            notes.values["label_basis"] = "dei"
            return FiscalPeriod(focus.year, focus.quarter, end=day)
    mine, theirs = _label_mentions(layout.text, own), _label_mentions(layout.text, focus)
    chosen = focus if theirs > mine else own
    notes.values["label_basis"] = "text: the label that it uses" if chosen is focus else "fiscal calendar"
    notes.warnings.append(
        f"the dei focus says {focus.label}, the fiscal calendar {own.label} for a period that ends on {day}: "
        f"{chosen.label} counts, named {max(mine, theirs) if chosen is focus else mine} times in the text"
    )
    return FiscalPeriod(chosen.year, chosen.quarter, end=day)


def _dei_focus(dei: dict[str, tuple[str, str | None]], quarterly: bool, day: date) -> FiscalPeriod | None:
    """Return the period that DocumentFiscalYearFocus and DocumentFiscalPeriodFocus state, if the end allows it."""
    year = dei["DocumentFiscalYearFocus"][0] if "DocumentFiscalYearFocus" in dei else ""
    period = dei["DocumentFiscalPeriodFocus"][0].upper() if "DocumentFiscalPeriodFocus" in dei else ""
    if not re.fullmatch(r"(?:19|20)\d\d", year) or abs(int(year) - day.year) > 1:
        return None
    if quarterly:
        return FiscalPeriod(int(year), int(period[1])) if re.fullmatch(r"Q[1-3]", period) else None
    return FiscalPeriod(int(year)) if period in ("FY", "Q4", "") else None


_YEAR_TO_DATE = re.compile(
    r"\b(?P<count>three|six|nine|\d{1,2}|twelve|thirteen|sixteen|twenty[- ]?(?:four|five|six|seven|eight)|thirty[- ]?(?:six|nine)|forty)"
    r"[- ](?P<unit>months?|weeks?)(?: periods?)?[- ](?:then )?(?:ended|ending)\b",
    re.IGNORECASE,
)


def _calendar_from_text(text: str, day: date, quarterly: bool) -> FiscalCalendar:
    """Return the calendar that the statements imply: a year ends with an annual period; a quarter's place in its year
    follows from the longest year to date that the report shows."""
    if not quarterly:
        return ending_at(day.month, day.day)
    longest = 0
    for match in _YEAR_TO_DATE.finditer(" ".join(text[:_EVIDENCE_CHARACTERS].split())):
        count = count_word(match["count"].replace(" ", "-")) or 0
        months = count if match["unit"].lower().startswith("month") else round(count / 4.33)
        if months in (3, 4, 5, 6, 7, 9, 10):
            longest = max(longest, {4: 3, 5: 6, 7: 6, 10: 9}.get(months, months))
    if not longest:
        return calendar_for()
    rough = day + timedelta(days=round(30.44 * (12 - longest)))
    return ending_at(rough.month, rough.day)


def _label_mentions(text: str, period: FiscalPeriod) -> int:
    """Count how often the text uses a label: fiscal 2023, fiscal year 2023, third quarter of 2022."""
    ordinal = {1: "first", 2: "second", 3: "third", 4: "fourth"}.get(period.quarter or 0)
    pattern = rf"\b(?:fiscal(?: year)?|fy) ?{period.year}\b"
    if ordinal:
        pattern += rf"|\b{ordinal}[- ]quarters? (?:of )?(?:fiscal )?(?:year )?{period.year}\b"
    return len(re.findall(pattern, " ".join(text[:_EVIDENCE_CHARACTERS].split()), re.IGNORECASE))


def _named_year(text: str, period: FiscalPeriod, calendar: FiscalCalendar) -> FiscalPeriod:
    """Return the period under the year by which the text names it, where its fiscal year ends early in a calendar year
    and issuers differ."""
    if calendar.month not in (1, 2):
        return period
    earlier = FiscalPeriod(period.year - 1, period.quarter, end=period.end)
    return earlier if _label_mentions(text, earlier) > _label_mentions(text, period) else period


def _annual_report_end(layout: Layout, calendar: FiscalCalendar) -> date | None:
    year = openings.annual_report_year(layout.text)
    stated = re.search(
        r"(?:years?|fiscal year) ended (?:on )?([A-Za-z]{3,9}\.? \d{1,2})\b", " ".join(layout.text[:COVER_CHARACTERS].split())
    )
    if year is None:
        return None
    month_day = parse_year_end(stated[1]) if stated else None
    return ending_at(*month_day).year_end(year) if month_day else calendar.year_end(year)


def _spoken_period(notes: _Notes, layout: Layout, calendar: FiscalCalendar, known: bool, form: str) -> None:
    """Decide the period of a call or release: the first quarter that its opening names with a year; where the year is
    missing, the report dates or the date of the event give it; where no quarter is named, the last one that had ended."""
    opening = repair_encoding(layout.text[: openings.OPENING_CHARACTERS])
    if form == "transcript":
        opening = _metadata_quarter(layout) + opening
    day = notes.day("filed")
    mentions = parse_periods_in_text(" ".join(opening[:2500].split()), calendar)
    quarter = next((m for m in mentions if m.duration == "quarter"), None)
    ordinal, year, doubt = openings.call_quarter(layout.text)
    if form != "transcript":
        ordinal = _first_ordinal(opening[:600])
        year, doubt = None, None
    if doubt:
        notes.warnings.append(doubt)
        label, basis = f"{year}Q{ordinal}", "text: the reports that the call lists"
    elif ordinal and form != "transcript":
        fitting = next((m for m in mentions if m.duration == "quarter" and parse_label(m.label).quarter == ordinal), None)
        if fitting:
            quarter, label, basis = fitting, fitting.label, "opening"
        else:
            label, basis = _quarter_before(calendar, day, ordinal, known), "opening and date"
    elif quarter:
        label, basis = quarter.label, "opening"
    elif ordinal:
        label = f"{year}Q{ordinal}" if year else _quarter_before(calendar, day, ordinal, known)
        basis = "opening and the reports that the call lists" if year else "opening and date of the call"
        if label is None:
            guess = _spoken_year(layout.text)
            label, basis = (f"{guess}Q{ordinal}", "opening, and the years that the call speaks of") if guess else (None, "")
            if guess:
                notes.warnings.append(f"the call gives no date; its year, {guess}, is inferred from the years it speaks of")
    elif form == "transcript" and day:
        label, basis = _quarter_before(calendar, day, None, known), "date of the call: the last quarter that had ended"
        if label:
            notes.warnings.append(f"the call names no quarter; {label} had ended last before it")
    else:
        year_mention = next((m for m in mentions if m.duration in ("year", "ytd") and m.explicit), None)
        label, basis = (year_mention.label, "opening") if year_mention and form == "transcript" else (None, "")
    if label is None:
        notes.unknown["period"] = (
            "no quarter with a year stands at the opening, and no date from which it would follow"
            if form == "transcript"
            else "the release reports no results of a fiscal period"
        )
        return
    notes.note("period", label, basis)
    end = next((m.period_end for m in mentions if m.label == label and m.period_end), None)
    if end is None:
        end = period_end_of(calendar, label) if known or day is None else _end_before(day, calendar, label)
    notes.note("period_end", end, "fiscal calendar" if known else "stated, or inferred from the date")


def _first_ordinal(opening: str) -> int | None:
    match = re.search(r"\b(first|second|third|fourth)[- ](?:fiscal )?quarter\b", opening, re.IGNORECASE)
    return {"first": 1, "second": 2, "third": 3, "fourth": 4}[match[1].lower()] if match else None


def _metadata_quarter(layout: Layout) -> str:
    """Return what a transcript's container says of its quarter, in words that the mention reader knows."""
    meta = {re.sub(r"^.*[._]", "", key.lower()): value for key, value in layout.metadata.items()}
    quarter, year = meta.get("quarter", ""), meta.get("year", "")
    digit = re.search(r"[1-4]", quarter)
    return f"Q{digit[0]} {year}\n" if digit and re.fullmatch(r"20\d\d", year) else ""


def _quarter_before(calendar: FiscalCalendar, day: date | None, quarter: int | None, known: bool) -> str | None:
    """Return the label of the last quarter (of that number, if given) that ended at least 5 days before `day`."""
    if day is None:
        return None
    for back in range(5, 400):
        at = locate(calendar, day - timedelta(days=back), 0)
        if at and (quarter is None or at[1] == quarter):
            return f"{calendar.label_year(at[0])}Q{at[1]}"
    return None


def _end_before(day: date, calendar: FiscalCalendar, label: str) -> date:
    """Return the end of the quarter that a call on `day` discusses, for an issuer whose calendar is unknown: as the
    calendar year has it if that lies shortly before the call, else the last end of a calendar quarter."""
    plain = period_end_of(calendar, label)
    if timedelta(days=5) <= day - plain <= timedelta(days=120):
        return plain
    quarter_end = locate(calendar_for(), day - timedelta(days=50), 50)
    return quarter_end[2] if quarter_end and quarter_end[2] < day else plain


_THIS_YEAR = re.compile(
    r"\b(?:rest|remainder|balance|majority|most|part|start|beginning|first half|first quarter|first nine months) of "
    r"(?:fiscal |the year )?(20[0-4]\d)\b",
    re.IGNORECASE,
)
_NEXT_YEAR = re.compile(
    r"\b(?:look(?:ing)? (?:ahead |forward |out )?(?:in)?to(?:wards?)?|head(?:ing)? into|going into|go into|considerations (?:for|on)|"
    r"thoughts (?:for|on|about)|regarding|enter(?:ing)?|preview (?:of|for)|roll off in) (?:fiscal )?(20[0-4]\d)\b",
    re.IGNORECASE,
)


def _spoken_year(text: str) -> int | None:
    """Return the year in which a call without a date speaks: the one in whose rest or first half it places itself, if
    what it looks ahead to is the year after, each said more than once and never otherwise. Else None."""
    flat = " ".join(text[:_EVIDENCE_CHARACTERS].split())
    now, ahead = _THIS_YEAR.findall(flat), _NEXT_YEAR.findall(flat)
    if len(now) < 2 or len(ahead) < 2 or len(set(now)) > 1 or len(set(ahead)) > 1:
        return None
    return int(now[0]) if int(ahead[0]) == int(now[0]) + 1 else None


# --- pages of errors, names of files ---------------------------------------------------------------------------------

_ERRORS = (
    (re.compile(r"undeclared automated tool", re.IGNORECASE), "SEC: undeclared automated tool, status 403"),
    (re.compile(r"request rate threshold exceeded|exceeded the SEC['’]s? (?:Traffic|request)", re.IGNORECASE), "SEC: too many requests"),
    (re.compile(r"\b(?:HTTP (?:Status|Error) ?[-:]?|error|status code) ?[45]\d\d\b", re.IGNORECASE), "an HTTP error"),
    (
        re.compile(r"\b(?:40[0134]|410|429|50[0234])\b[ :|–—-]{0,4}(?:page )?(?:not found|forbidden|unauthorized|bad gateway|service unavailable|"
                   r"internal server error|gone|too many requests|error|gateway time-?out|bad request)", re.IGNORECASE),
        "an HTTP error",
    ),
    (re.compile(r"\b(?:page|file|resource|document) (?:you (?:are looking for|requested) )?(?:was |is |could |can)?(?:not be |not )(?:found|available)\b", re.IGNORECASE), "page not found"),
    (re.compile(r"page is temporarily unavailable|undergoing maintenance", re.IGNORECASE), "temporarily unavailable, status 503"),
    (re.compile(r"EDGAR Search Results|Company Information:|No matching Ticker|Series and Class/Contracts|Home \| EDGAR Search Home|SEC Accession No\..{0,200}Document Format Files", re.IGNORECASE), "an EDGAR search or index page"),
    (re.compile(r"\b(?:access denied|service (?:is )?(?:temporarily )?unavailable|bad gateway)\b", re.IGNORECASE), "access denied or service unavailable"),
    (re.compile(r"<Code>\w{0,40}(?:NoSuchKey|AccessDenied)", re.IGNORECASE), "NoSuchKey or AccessDenied"),
    (re.compile(r"\bno matching (?:ciks?|companies)\b", re.IGNORECASE), "an empty search result"),
)  # fmt: skip


def _error_page(text: str) -> str | None:
    """Return which error a short page reports, or None. A real document is long, or has a cover."""
    if len(text) > 20_000 or _has_cover_words(text):
        return None
    head = " ".join(text[:3000].split())
    return next((what for pattern, what in _ERRORS if pattern.search(head)), None)


def _has_cover_words(text: str) -> bool:
    return bool(re.search(r"exact name of|earnings call|for the (?:fiscal|quarterly)", text[:8000], re.IGNORECASE))


_NAME_FORM = re.compile(r"(?<![A-Za-z0-9])(10-?K|10-?Q|8-?K|20-?F|6-?K)(-?A)?(?![A-Za-z0-9])", re.IGNORECASE)
_NAME_QUARTER = re.compile(r"(20\d\d)[-_ ]?Q([1-4])|Q([1-4])[-_ ]?(20\d\d)|(?<![0-9])([1-4])Q(20\d\d)|FY(\d\d)Q([1-4])", re.IGNORECASE)
_NAME_YEAR = re.compile(r"FY[-_ ]?(20\d\d)|(?<!\d)(20\d\d)(?=[-_ ]10-?K)", re.IGNORECASE)


def _name_warnings(name: str, identity: Identity, calendar: FiscalCalendar) -> list[str]:
    """Return what a file name says otherwise than the document: form, company, period."""
    stem = re.sub(r"\.[A-Za-z0-9]{1,5}$", "", re.split(r"[/\\]", name)[-1])
    warnings: list[str] = []
    form = _NAME_FORM.search(stem)
    if form and identity.form:
        said = canonical_form(form[1])
        base = identity.form.removesuffix("/A").split()[0]
        if said != base and not (said == "10-K" and base in ANNUAL_FORMS):
            warnings.append(f"the file name says {said}, the document is a {_spelled(identity.form)}")
    table = load_companies()
    for token in re.split(r"[_\s.]+", stem)[:2]:
        company = table.by_ticker(token.split("-")[0]) if re.fullmatch(r"[A-Za-z]{2,5}(-\w+)?", token) else table.by_name(token)
        if company and identity.company and company.id != identity.company and not re.match(r"(?i)\d|form|ex\b", token):
            warnings.append(f"the file name says {company.id}, the document is by {identity.company_name or identity.company}")
            break
        if company:
            break
    said_period = _name_period(stem)
    if said_period and identity.period and said_period != identity.period and not _same_period(said_period, identity.period):
        other = other_reading(calendar, identity.period)
        why = " (the year counted by its end instead of the issuer's way)" if other == said_period else ""
        warnings.append(f"the file name says {said_period}{why}, the document reports {identity.period}")
    return warnings


def _spelled(form: str) -> str:
    return f"Form {form}" if form[0].isdigit() else form


def _name_period(stem: str) -> str | None:
    quarter = _NAME_QUARTER.search(stem)
    if quarter:
        groups = [g for g in quarter.groups() if g]
        year = next((g for g in groups if len(g) == 4), None) or f"20{next(g for g in groups if len(g) == 2)}"
        return f"{year}Q{next(g for g in groups if len(g) == 1)}"
    year = _NAME_YEAR.search(stem)
    return f"FY{next(g for g in year.groups() if g)}" if year else None


def _same_period(a: str, b: str) -> bool:
    return b in labels_reported(parse_label(a)) or a in labels_reported(parse_label(b))


def _finished(notes: _Notes, layout: Layout, name: str) -> Identity:
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
    more = _name_warnings(name, identity, calendar_for(identity.company)) if name else []
    return identity if not more else Identity(**{**identity.__dict__, "warnings": (*identity.warnings, *more)})


_SIGNED = re.compile(r"\b(?:Date|Dated):?\s{0,3}((?:[A-Z][a-z]{2,8})\.? \d{1,2}, 20\d\d)")


def _why_not_filed(layout: Layout) -> str:
    signed = _SIGNED.search(" ".join(layout.text[-6000:].split()))
    if signed:
        return f"the document states only the date of its signature, {signed[1]}"
    return "the document does not state when it was filed"
