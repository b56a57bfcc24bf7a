"""The identity of a document: who issued it, what it is, and for which period. How it is read is parsing's matter."""

from dataclasses import dataclass, field
from typing import Any

GONE = "[erased]"
"""What stands in the catalog where a name or a message was erased."""


@dataclass(frozen=True)
class Finding:
    """One fact of an identity with its basis: `dei`, `cover`, `opening`, `sgml_header`, `sidecar`, …"""

    name: str
    value: str
    basis: str


@dataclass(frozen=True)
class Amendment:
    """What an amended filing (10-K/A, 10-Q/A, …) says of itself, as far as it does.

    `effect` is `restates` (its text stands in place of what it amends), `adds` (Part III, exhibits), or `unknown`;
    `scope` says in a few words what it is about; `number` is that of "Amendment No. 2"; `basis` is where it stands.
    """

    effect: str
    scope: str = ""
    number: int | None = None
    basis: str = ""


RESTATES, ADDS, UNKNOWN = "restates", "adds", "unknown"


@dataclass(frozen=True)
class Identity:
    """Who issued a document, what it is, and for which period, as far as the document itself says.

    `company` is the company id (a ticker where one is known, else `CIK…`, else a slug of the name). `form` is the
    SEC form with amendment (`10-K`, `10-Q/A`, `8-K EX-99.1`) or `transcript`, `memo`, `fund_announcement`.
    `period` is a fiscal label; `period_end`, `filed` and `event_dates` are ISO dates. `amendment` is None for what is
    no amendment. `unknown` maps each field that could not be told to the reason.
    """

    company: str | None = None
    company_name: str | None = None
    cik: str | None = None
    form: str | None = None
    period: str | None = None
    period_end: str | None = None
    filed: str | None = None
    accession: str | None = None
    title: str | None = None
    author: str | None = None
    subjects: tuple[str, ...] = ()
    event_dates: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    unknown: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    amendment: Amendment | None = None


def left_of(identity: Identity) -> Identity:
    """Return what stays of an identity after an erasure: what the source id is made of and dates, no words of the
    document."""
    return Identity(
        company=identity.company,
        form=identity.form,
        period=identity.period,
        period_end=identity.period_end,
        filed=identity.filed,
        accession=identity.accession,
    )


def identity_from_record(record: dict[str, Any]) -> Identity:
    """Rebuild an identity from its `dataclasses.asdict` form, as it comes back from JSON."""
    lists = {name: tuple(record[name]) for name in ("subjects", "event_dates", "warnings")}
    amendment = Amendment(**record["amendment"]) if record.get("amendment") else None
    findings = tuple(Finding(**finding) for finding in record["findings"])
    return Identity(**{**record, **lists, "findings": findings, "amendment": amendment})
