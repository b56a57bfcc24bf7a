"""The filings and calls of Coca-Cola, PepsiCo and Mondelez as PDFs."""

from pathlib import Path

from .layout import HERE, MARK, NOTICE, blocks, fill, sections
from .pdf import Frontmatter, write_pdf
from .staple_figures import BRIDGE, CALLS, COLUMNS, FILINGS, NAMES, Filing, cash_columns, operating_cash, positions
from .staple_tables import staple_tables

_BY_REFERENCE = (
    "Portions of the Definitive Proxy Statement for the 2026 annual meeting are incorporated by reference in Part III."
)


def _billions(millions: float) -> str:
    return f"${millions / 1000:.1f} billion" if millions >= 1000 else f"${millions:,.0f} million"


def _facts(company: str, filing: Filing) -> dict[str, str]:
    names = NAMES[company]
    now, prior = filing.main
    revenue, revenue_prior = COLUMNS[company][now][0], COLUMNS[company][prior][0]
    parts = BRIDGE[company][now]
    base = COLUMNS[company]["FY2025"][0]
    annual = filing.form == "10-K"
    cash = [key for key, _ in cash_columns(filing)]
    return (
        names
        | sections(HERE / "narratives" / f"{company}.txt")
        | {
            "notice": NOTICE,
            "form": filing.form,
            "report_kind": "ANNUAL" if annual else "QUARTERLY",
            "period_kind": "fiscal year" if annual else "quarterly period",
            "period_end": filing.period_end,
            "filed_long": filing.filed,
            "span": filing.span,
            "ytd_span": filing.ytd_span,
            "address_line": f"{names['street']}, {names['city']} {names['zip']}",
            "holders_date": filing.filed,
            "cover_tail": f"The number of shares of {names['par']} outstanding as of {filing.filed} was "
            f"{names['shares']}. " + (_BY_REFERENCE if annual else ""),
            "revenue": f"${revenue:,.0f} million",
            "revenue_prior": f"${revenue_prior:,.0f} million",
            "growth": f"{100 * (revenue / revenue_prior - 1):.1f} percent",
            "organic": f"Organic revenue, a non-GAAP measure, changed by {parts[0] + parts[1]:.1f} percent.",
            "operating_cash": f"${operating_cash(company, cash[0]):,} million",
            "operating_cash_prior": f"${operating_cash(company, cash[1]):,} million",
            "capex": f"${base * 0.042:,.0f} million",
            "credit_lines": _billions(base * 0.12),
            "debt_total": _billions(sum(positions(company, filing)[0].liabilities[1:3])),
            "debt_short": _billions(positions(company, filing)[0].liabilities[1]),
            "hedge_notional": _billions(base * 0.021),
            "sensitivity_commodity": _billions(base * 0.0019),
            "sensitivity_fx": _billions(base * 0.0071),
            "sensitivity_rates": _billions(base * 0.0012),
            "tax_rate": f"{COLUMNS[company][now][5]:.1f} percent",
            "tax_rate_prior": f"{COLUMNS[company][prior][5]:.1f} percent",
        }
    )


def _write_filing(folder: Path, company: str, filing: Filing) -> None:
    facts = _facts(company, filing)
    tables = staple_tables(company, filing)
    templates = HERE / "templates"
    cover = fill((templates / "cover.txt").read_text(encoding="utf-8"), facts, filing.period)
    body = fill((templates / f"{filing.form}.txt").read_text(encoding="utf-8"), facts, filing.period)
    name = f"{company}_{filing.form}_{filing.period}"
    kind = "Annual Report" if filing.form == "10-K" else "Quarterly Report"
    front = Frontmatter(
        f"{facts['name']} Form {filing.form}",
        facts["name"],
        blocks(cover, tables),
        f"{facts['name']}",
        f"Form {filing.form} {kind} - {filing.period_end}",
    )
    write_pdf(folder / f"{name}.pdf", front, blocks(body, tables))


def _write_call(folder: Path, company: str) -> None:
    facts = NAMES[company]
    markup = (HERE / "narratives" / f"{company}_call.txt").read_text(encoding="utf-8")
    cast, _, text = markup.partition("\n\n")
    speakers = dict(line.split(": ", 1) for line in cast.splitlines())
    name = f"{company}_transcript_2026Q1"
    title = f"{facts['name']} ({facts['ticker']}) Q1 2026 Earnings Call Transcript"
    people = [f"- {s}" for key, s in speakers.items() if key != "OP"]
    inside = [p for p in people if "Analyst" not in p]
    cover = "\n\n".join(
        [
            f"~ {NOTICE}",
            f"# {title}",
            f"^ {facts['name']} (Ticker: {facts['ticker']})",
            f"^ First Quarter 2026 Earnings Conference Call, {CALLS[company]}",
            "### CORPORATE PARTICIPANTS",
            *inside,
            "### CONFERENCE CALL PARTICIPANTS",
            *[p for p in people if p not in inside],
            "~ This transcript contains forward-looking statements that involve risks and uncertainties.",
        ]
    )
    front = Frontmatter(
        title, facts["name"], blocks(cover, {}), f"{facts['name']} Q1 2026 Earnings Call", MARK, False, "Page"
    )
    write_pdf(folder / f"{name}.pdf", front, blocks(fill(text, facts), {}, speakers))


def write_staples(folder: Path) -> None:
    """Write the twelve PDFs of the three companies."""
    for company, filings in FILINGS.items():
        for filing in filings:
            _write_filing(folder, company, filing)
        _write_call(folder, company)
