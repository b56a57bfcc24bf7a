"""What a file name says otherwise than the document that it names. A name never decides anything."""

import re

from finrag_pipelines.catalog.calendars import FiscalCalendar, labels_reported, other_reading
from finrag_pipelines.catalog.companies import load_companies
from finrag_pipelines.catalog.identity import Identity
from finrag_pipelines.catalog.periods import parse_label
from finrag_pipelines.parsing.identity.forms import base_form, canonical_form, is_annual

_NAME_FORM = re.compile(r"(?<![A-Za-z0-9])(10-?K|10-?Q|8-?K|20-?F|6-?K)(-?A)?(?![A-Za-z0-9])", re.IGNORECASE)
_NAME_QUARTER = re.compile(
    r"(20\d\d)[-_ ]?Q([1-4])|Q([1-4])[-_ ]?(20\d\d)|(?<![0-9])([1-4])Q(20\d\d)|FY(\d\d)Q([1-4])", re.IGNORECASE
)
_NAME_YEAR = re.compile(r"FY[-_ ]?(20\d\d)|(?<!\d)(20\d\d)(?=[-_ ]10-?K)", re.IGNORECASE)


def name_warnings(name: str, identity: Identity, calendar: FiscalCalendar) -> tuple[str, ...]:
    """Return what a file name says otherwise than the document: form, company, period."""
    stem = re.sub(r"\.[A-Za-z0-9]{1,5}$", "", re.split(r"[/\\]", name)[-1])
    warnings: list[str] = []
    form = _NAME_FORM.search(stem)
    if form and identity.form:
        said = canonical_form(form[1])
        if said != base_form(identity.form).split()[0] and not (said == "10-K" and is_annual(identity.form)):
            warnings.append(f"the file name says {said}, the document is a {_spelled(identity.form)}")
    table = load_companies()
    for token in re.split(r"[_\s.]+", stem)[:2]:
        company = (
            table.by_ticker(token.split("-")[0])
            if re.fullmatch(r"[A-Za-z]{2,5}(-\w+)?", token)
            else table.by_name(token)
        )
        if company and identity.company and company.id != identity.company and not re.match(r"(?i)\d|form|ex\b", token):
            warnings.append(
                f"the file name says {company.id}, the document is by {identity.company_name or identity.company}"
            )
            break
        if company:
            break
    said_period = _name_period(stem)
    if (
        said_period
        and identity.period
        and said_period != identity.period
        and not _same_period(said_period, identity.period)
    ):
        other = other_reading(calendar, identity.period)
        why = " (the year counted by its end instead of the issuer's way)" if other == said_period else ""
        warnings.append(f"the file name says {said_period}{why}, the document reports {identity.period}")
    return tuple(warnings)


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
