"""The tables of a consumer company's 10-Q or 10-K, made from its figures."""

from .layout import Row, Table, register
from .staple_figures import BRIDGE, COLUMNS, NAMES, SEGMENTS, Filing, cash_columns, income, operating_cash, positions

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


_ASSETS = (
    "Cash and cash equivalents",
    "Trade accounts receivable, net",
    "Inventories",
    "Prepaid expenses and other",
    "Property, plant and equipment, net",
    "Goodwill",
    "Trademarks with indefinite lives",
    "Other noncurrent assets",
)
_LIABILITIES = (
    "Accounts payable and accrued expenses",
    "Loans and notes payable",
    "Long-term debt",
    "Other liabilities",
)


def _balance_table(company: str, filing: Filing) -> Table:
    both = positions(company, filing)
    held, owed = ([sum(p.assets) for p in both], [sum(p.liabilities) for p in both])
    rows = (
        *(Row(name, tuple(p.assets[i] for p in both), sign=i == 0) for i, name in enumerate(_ASSETS)),
        Row("Total Assets", tuple(held), sign=True, total=True),
        *(Row(name, tuple(p.liabilities[i] for p in both), sign=i == 0) for i, name in enumerate(_LIABILITIES)),
        Row("Total Liabilities", tuple(owed), total=True),
        Row("Total Equity", tuple(h - o for h, o in zip(held, owed, strict=True))),
        Row("Total Liabilities and Equity", tuple(held), sign=True, total=True),
    )
    kind = _kind(filing, "Consolidated Balance Sheets")
    return Table(kind, "(In millions)", (filing.period_end, filing.prior_end), rows)


def _cash_table(company: str, filing: Filing) -> Table:
    columns = cash_columns(filing)
    net = [income(company, key).net for key, _ in columns]
    revenue = [COLUMNS[company][key][0] for key, _ in columns]
    operating = [operating_cash(company, key) for key, _ in columns]
    capital = [-round(r * 0.042) for r in revenue]
    dividends = [-round(n * 0.68) for n in net]
    debt = [round(r * 0.011) for r in revenue]
    now, then = (p.assets[0] for p in positions(company, filing))
    increase = [now - then, *(round(r * 0.004) for r in revenue[1:])]
    spent = [sum(parts) for parts in zip(operating, capital, debt, dividends, strict=True)]
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
        Row("Purchases of stock and other", tuple(i - s for i, s in zip(increase, spent, strict=True))),
        Row("Net increase in cash and cash equivalents", tuple(increase), sign=True, total=True),
    )
    kind = _kind(filing, "Consolidated Statements of Cash Flows")
    return Table(kind, "(In millions)", tuple(h for _, h in columns), rows)


def _segment_shares(company: str, column: int) -> list[float]:
    """Shares of revenue by segment; they shift a little from one column to the next, so that growth differs."""
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
    both = positions(company, filing)
    stock, owed = [p.assets[2] for p in both], [p.liabilities[2] for p in both]
    raw = [round(stock[0] * 0.46), round(stock[1] * 0.45)]
    finished = [round(stock[0] * 0.49), round(stock[1] * 0.51)]
    dollar, euro = [round(o * 0.6) for o in owed], [round(owed[0] * 0.3), round(owed[1] * 0.29)]
    scale = {"KO": 68.4, "PEP": 147.2, "MDLZ": 60.9}[company]
    months = ("First fiscal month", "Second fiscal month", "Third fiscal month")
    bought = [round(base * f) for f in (0.011, 0.008, 0.014)]
    now, before = (income(company, key) for key in filing.main)
    return {
        "inventories": Table(
            "Inventories",
            "(In millions)",
            ends,
            (
                Row("Raw materials and packaging", tuple(raw), sign=True),
                Row("Finished goods", tuple(finished)),
                Row("Other", tuple(s - r - f for s, r, f in zip(stock, raw, finished, strict=True))),
                Row("Total inventories", tuple(stock), sign=True, total=True),
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
                Row("U.S. dollar notes due 2027-2064", tuple(dollar), sign=True),
                Row("Euro notes due 2027-2052", tuple(euro)),
                Row(
                    "Other, including fair value adjustments",
                    tuple(o - d - e for o, d, e in zip(owed, dollar, euro, strict=True)),
                ),
                Row("Total long-term debt", tuple(owed), sign=True, total=True),
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
