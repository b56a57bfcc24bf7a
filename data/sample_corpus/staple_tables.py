"""The tables of a consumer company's 10-Q or 10-K, made from its figures."""

from .layout import Row, Table, register
from .staple_figures import BRIDGE, COLUMNS, NAMES, SEGMENTS, Filing, cash_columns, income, operating_cash

_LABELS = {  # company: (revenue, cost, bottom line)
    "KO": (
        "Net Operating Revenues",
        "Cost of goods sold",
        "Net Income Attributable to Shareowners of The Coca-Cola Company",
    ),
    "PEP": ("Net Revenue", "Cost of sales", "Net Income Attributable to PepsiCo"),
    "MDLZ": ("Net revenues", "Cost of sales", "Net earnings attributable to Mondelez International"),
}


def _kind(filing: Filing, statement: str) -> str:
    return f"Condensed {statement}" if filing.form == "10-Q" else statement


def _income_table(company: str, filing: Filing) -> Table:
    revenue, cost, bottom = _LABELS[company]
    statements = [income(company, key) for key, _ in filing.columns]
    lines = (
        (revenue, "revenue", "usd", True, False, 1),
        (cost, "cost", "usd", False, False, 1),
        ("Gross Profit", "gross", "usd", False, True, 1),
        ("Selling, general and administrative expenses", "administrative", "usd", False, False, 1),
        ("Other operating charges", "other", "usd", False, False, 1),
        ("Operating Income", "operating", "usd", False, True, 1),
        ("Net interest expense and other", "interest", "usd", False, False, -1),
        ("Income before income taxes", "before_tax", "usd", False, True, 1),
        ("Provision for income taxes", "tax", "usd", False, False, 1),
        (bottom, "net", "usd", True, True, 1),
    )
    rows = [
        Row(label, tuple(sign * getattr(s, field) for s in statements), unit, dollars, total)
        for label, field, unit, dollars, total, sign in lines
    ]
    rows.append(Row("Diluted net income per share", tuple(s.net / s.shares for s in statements), "pershare", True))
    rows.append(Row("Average shares outstanding, assuming dilution", tuple(s.shares for s in statements), "shares"))
    kind = _kind(filing, "Consolidated Statements of Income")
    return Table(kind, "(In millions except per share data)", tuple(h for _, h in filing.columns), tuple(rows))


def _balance_table(company: str, filing: Filing) -> Table:
    year = "FY2025" if filing.period != "2025Q3" else "FY2024"
    base = COLUMNS[company]["FY2025"][0]
    before = COLUMNS[company]["FY2024"][0] if year == "FY2024" or filing.form == "10-K" else base
    names = (
        "Cash and cash equivalents",
        "Trade accounts receivable, net",
        "Inventories",
        "Prepaid expenses and other",
        "Property, plant and equipment, net",
        "Goodwill",
        "Trademarks with indefinite lives",
        "Other noncurrent assets",
    )
    shares = (0.21, 0.11, 0.08, 0.06, 0.30, 0.36, 0.26, 0.28)
    now = [round(base * s * 1.02) for s in shares]
    then = [round(before * s) for s in shares]
    debts = ("Accounts payable and accrued expenses", "Loans and notes payable", "Long-term debt", "Other liabilities")
    owed_now = [round(sum(now) * s) for s in (0.22, 0.06, 0.33, 0.13)]
    owed_then = [round(sum(then) * s) for s in (0.21, 0.07, 0.34, 0.13)]
    rows = [Row(n, (a, b), sign=i == 0) for i, (n, a, b) in enumerate(zip(names, now, then, strict=True))]
    rows.append(Row("Total Assets", (sum(now), sum(then)), sign=True, total=True))
    rows += [Row(n, (a, b), sign=i == 0) for i, (n, a, b) in enumerate(zip(debts, owed_now, owed_then, strict=True))]
    rows.append(Row("Total Liabilities", (sum(owed_now), sum(owed_then)), total=True))
    rows.append(Row("Total Equity", (sum(now) - sum(owed_now), sum(then) - sum(owed_then))))
    rows.append(Row("Total Liabilities and Equity", (sum(now), sum(then)), sign=True, total=True))
    kind = _kind(filing, "Consolidated Balance Sheets")
    return Table(kind, "(In millions)", (filing.period_end, filing.prior_end), tuple(rows))


def _cash_table(company: str, filing: Filing) -> Table:
    columns = cash_columns(filing)
    net = [income(company, key).net for key, _ in columns]
    revenue = [COLUMNS[company][key][0] for key, _ in columns]
    operating = [operating_cash(company, key) for key, _ in columns]
    capital = [-round(r * 0.042) for r in revenue]
    dividends = [-round(n * 0.68) for n in net]
    debt = [round(r * 0.011) for r in revenue]
    rows = (
        Row("Operating Activities", head=True),
        Row("Consolidated net income", tuple(net), sign=True),
        Row("Depreciation and amortization", tuple(round(r * 0.033) for r in revenue)),
        Row(
            "Net change in operating assets and liabilities",
            tuple(o - n - round(r * 0.033) for o, n, r in zip(operating, net, revenue, strict=True)),
        ),
        Row("Net Cash Provided by Operating Activities", tuple(operating), total=True),
        Row("Investing Activities", head=True),
        Row("Purchases of property, plant and equipment", tuple(capital)),
        Row("Financing Activities", head=True),
        Row("Issuances of debt, net of payments", tuple(debt)),
        Row("Dividends", tuple(dividends)),
        Row(
            "Net increase in cash and cash equivalents",
            tuple(map(sum, zip(operating, capital, debt, dividends, strict=True))),
            sign=True,
            total=True,
        ),
    )
    kind = _kind(filing, "Consolidated Statements of Cash Flows")
    return Table(kind, "(In millions)", tuple(h for _, h in columns), rows)


def _segment_shares(company: str, column: int) -> list[float]:
    """Shares of revenue, which shift between the segments from one column to the next: odd ones gain, even ones lose."""
    return [
        share * (1 + 0.013 * column * (number % 3 - 1)) for number, (share, _) in enumerate(SEGMENTS[company].values())
    ]


def _segment_table(company: str, filing: Filing) -> Table:
    columns = filing.columns[:2]
    statements = [income(company, key) for key, _ in columns]
    revenue, earned = [], []
    for number, statement in enumerate(statements):
        shares = _segment_shares(company, number)
        parts = [round(statement.revenue * share) for share in shares]
        parts[-1] = statement.revenue - sum(parts[:-1])
        revenue.append(parts)
        weights = [weight for _, weight in SEGMENTS[company].values()]
        profits = [round(statement.operating * share * weight) for share, weight in zip(shares, weights, strict=True)]
        earned.append([*profits, statement.operating - sum(profits)])
    names = list(SEGMENTS[company])
    rows = (
        Row("Net revenue", head=True),
        *(Row(name, tuple(r[i] for r in revenue), sign=i == 0) for i, name in enumerate(names)),
        Row("Total net revenue", tuple(s.revenue for s in statements), sign=True, total=True),
        Row("Operating income", head=True),
        *(Row(name, tuple(e[i] for e in earned)) for i, name in enumerate([*names, "Corporate unallocated"])),
        Row("Total operating income", tuple(s.operating for s in statements), sign=True, total=True),
    )
    return Table("Segment Information", "(In millions)", tuple(h for _, h in columns), rows)


def _bridge_table(company: str, filing: Filing) -> Table:
    columns = [(key, head) for key, head in filing.columns if key in BRIDGE[company]]
    parts = [BRIDGE[company][key] for key, _ in columns]
    names = (
        "Price, product and geographic mix",
        "Volume",
        "Foreign currency exchange rates",
        "Acquisitions and divestitures",
    )
    rows = [Row(name, tuple(float(p[i]) for p in parts), "percent") for i, name in enumerate(names)]
    rows.append(
        Row("Net revenue growth as reported (GAAP)", tuple(float(sum(p)) for p in parts), "percent", total=True)
    )
    rows.append(
        Row("Organic revenue growth (non-GAAP)", tuple(float(p[0] + p[1]) for p in parts), "percent", total=True)
    )
    return Table(
        "Components of Net Revenue Growth",
        "(Percentage points, compared with the prior-year period)",
        tuple(h for _, h in columns),
        tuple(rows),
    )


def _small_tables(company: str, filing: Filing) -> dict[str, Table]:
    base = COLUMNS[company]["FY2025"][0]
    ends = (filing.period_end, filing.prior_end)
    raw, finished = (round(base * 0.08 * s) for s in (0.46, 0.49))
    stock = round(base * 0.08 * 1.02)
    scale = {"KO": 68.4, "PEP": 147.2, "MDLZ": 60.9}[company]
    months = ("First fiscal month", "Second fiscal month", "Third fiscal month")
    bought = [round(base * f) for f in (0.011, 0.008, 0.014)]
    debt_now, debt_then = round(base * 0.55), round(base * 0.57)
    now, before = (income(company, key) for key in filing.main)
    return {
        "inventories": Table(
            "Inventories",
            "(In millions)",
            ends,
            (
                Row("Raw materials and packaging", (raw, round(raw * 0.97)), sign=True),
                Row("Finished goods", (finished, round(finished * 1.02))),
                Row("Other", (stock - raw - finished, stock - raw - finished - 9)),
                Row(
                    "Total inventories",
                    (stock, round(raw * 0.97) + round(finished * 1.02) + stock - raw - finished - 9),
                    sign=True,
                    total=True,
                ),
            ),
        ),
        "buybacks": Table(
            "Issuer Purchases of Equity Securities",
            "(Shares in thousands; quarter ended with this report)",
            ("Total shares purchased", "Average price paid per share", "Dollar value still available (in millions)"),
            tuple(
                Row(m, (b, f"$ {scale + d:.2f}", f"$ {6200 - 140 * i:,}"), "shares")
                for i, (m, b, d) in enumerate(zip(months, bought, (0.0, 1.15, -0.62), strict=True))
            ),
        ),
        "debt": Table(
            "Long-Term Debt",
            "(In millions)",
            ends,
            (
                Row("U.S. dollar notes due 2027-2064", (round(debt_now * 0.6), round(debt_then * 0.6)), sign=True),
                Row("Euro notes due 2027-2052", (round(debt_now * 0.3), round(debt_then * 0.3))),
                Row(
                    "Other, including fair value adjustments",
                    (
                        debt_now - round(debt_now * 0.6) - round(debt_now * 0.3),
                        debt_then - round(debt_then * 0.6) - round(debt_then * 0.3),
                    ),
                ),
                Row("Total long-term debt", (debt_now, debt_then), sign=True, total=True),
            ),
        ),
        "tax": Table(
            "Provision for Income Taxes",
            "(In millions)",
            ("2025", "2024"),
            (
                Row("United States", (round(now.tax * 0.38), round(before.tax * 0.38)), sign=True),
                Row("International", (now.tax - round(now.tax * 0.38), before.tax - round(before.tax * 0.38))),
                Row("Total", (now.tax, before.tax), sign=True, total=True),
            ),
        ),
    }


def staple_tables(company: str, filing: Filing) -> dict[str, Table]:
    """Every table of a filing, by the name under which the template asks for it."""
    names = NAMES[company]
    exchange = names["exchange"].removeprefix("the ")
    return _small_tables(company, filing) | {
        "income": _income_table(company, filing),
        "balance": _balance_table(company, filing),
        "cash": _cash_table(company, filing),
        "segments": _segment_table(company, filing),
        "bridge": _bridge_table(company, filing),
        "cover": register(names["state"], names["irs"], f"{names['street']}, {names['city']}", names["zip"]),
        "securities": Table(
            "",
            "",
            ("Trading Symbol", "Name of each exchange on which registered"),
            (Row(names["par"], (names["ticker"], exchange), "text"),),
        ),
    }
