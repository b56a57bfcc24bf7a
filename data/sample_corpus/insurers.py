"""The 10-Qs of seven insurers and managed-care companies as inline XBRL."""

from pathlib import Path

from .insurer_figures import COLUMNS, ISSUERS, QUARTERS, column
from .insurer_tables import insurer_tables, position
from .ixbrl import Context, Submission, write_ixbrl
from .layout import HERE, NOTICE, blocks, fill, sections


def _write(folder: Path, company: str, quarter: str) -> None:
    issuer = ISSUERS[company]
    end, first, last, filed, span, ytd = QUARTERS[quarter]
    year_to_date = column(company, quarter, "Y0")
    facts = (
        sections(HERE / "narratives" / "insurers_shared.txt")
        | sections(HERE / "narratives" / f"{company}.txt")
        | {
            "notice": NOTICE,
            "name": issuer.name,
            "form": "10-Q",
            "report_kind": "QUARTERLY",
            "period_kind": "quarterly period",
            "period_end": end,
            "file_number": issuer.file_number,
            "phone": issuer.phone,
            "filed_long": filed,
            "span": span,
            "ytd_span": ytd,
            "cfo": issuer.cfo,
            "debt": f"${position(company, quarter).liabilities[2][0]:,} million",
            "operating_cash": f"${year_to_date.net + round(year_to_date.revenue * 0.11):,} million",
            "cover_tail": f"The number of shares of {issuer.title_of_class} outstanding as of {filed} was "
            f"{issuer.shares}.",
        }
    )
    tables = insurer_tables(company, quarter)
    contexts = (
        Context("Y0", "2024-01-01", f"2024-{last}"),
        Context("Q0", f"2024-{first}", f"2024-{last}"),
        Context("Q1", f"2023-{first}", f"2023-{last}"),
        Context("Y1", "2023-01-01", f"2023-{last}"),
        Context("I0", "", f"2024-{last}"),
        Context("I1", "", "2023-12-31"),
    )
    hidden = {
        "EntityCentralIndexKey": issuer.cik,
        "AmendmentFlag": "false",
        "CurrentFiscalYearEndDate": "--12-31",
        "DocumentFiscalYearFocus": "2024",
        "DocumentFiscalPeriodFocus": quarter[-2:],
        "TradingSymbol": company,
    }
    on_cover = {
        "DocumentType": "10-Q",
        "DocumentPeriodEndDate": end,
        "EntityRegistrantName": issuer.name,
        "EntityFileNumber": issuer.file_number,
        "EntityCommonStockSharesOutstanding": issuer.shares,
    }
    schema = f"{company.lower()}-2024{last.replace('-', '')}"
    submission = Submission(issuer.name, issuer.cik, schema, hidden, on_cover, contexts, issuer.name)
    templates = HERE / "templates"
    cover = fill((templates / "cover.txt").read_text(encoding="utf-8"), facts, quarter)
    body = fill((templates / "insurer_10-Q.txt").read_text(encoding="utf-8"), facts, quarter)
    write_ixbrl(folder / f"{company}_10-Q_{quarter}.htm", submission, blocks(cover, tables), blocks(body, tables))


def write_insurers(folder: Path) -> None:
    """Write the eight 10-Qs."""
    for company, quarter in sorted(COLUMNS):
        _write(folder, company, quarter)
