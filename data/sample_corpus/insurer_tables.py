"""The tables of an insurer's 10-Q, made from its figures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .insurer_figures import ISSUERS, QUARTERS, Column, column
from .layout import Row, Table, register

_LINES = {  # kind -> labels of earned premiums, other revenues, benefits, expenses, other expenses
    "pc": (
        "Net premiums earned",
        "Fees and other revenues",
        "Losses and loss adjustment expenses",
        "Policy acquisition costs and other underwriting expenses",
        "Interest and other expenses",
    ),
    "health": (
        "Premiums",
        "Products, services and fees",
        "Medical costs",
        "Operating costs",
        "Cost of products sold, depreciation and interest",
    ),
    "life": (
        "Premiums",
        "Universal life and investment-type product policy fees and other",
        "Policyholder benefits and claims",
        "Other operating expenses",
        "Interest credited to policyholder account balances",
    ),
}
DURATIONS = ("Q0", "Q1", "Y0", "Y1")


def _headings(quarter: str) -> tuple[str, ...]:
    end, _, _, _, span, ytd = QUARTERS[quarter]
    day = end.removesuffix(", 2024")
    return tuple(f"{s} ended {day}, {year}" for s in (span.capitalize(), ytd.capitalize()) for year in (2024, 2023))


_ASSETS = (  # line, share of the year's revenue, XBRL name
    ("Fixed maturities, at fair value", 1.05, "AvailableForSaleSecuritiesDebtSecurities"),
    ("Short-term and other investments", 0.16, "OtherInvestments"),
    ("Cash and cash equivalents", 0.06, "CashAndCashEquivalentsAtCarryingValue"),
    ("Premiums and other receivables", 0.27, "PremiumsReceivableAtCarryingValue"),
    ("Other assets", 0.31, "OtherAssets"),
)
_LIABILITIES = (  # line, share of total assets, XBRL name
    ("Reserves for claims and future policy benefits", 0.52, "LiabilityForClaimsAndClaimsAdjustmentExpense"),
    ("Unearned premiums", 0.12, "UnearnedPremiums"),
    ("Debt", 0.08, "DebtLongtermAndShorttermCombinedAmount"),
    ("Other liabilities", 0.09, "OtherLiabilities"),
)


def _dollars(label: str, values: Iterable[float], concept: str = "", sign: bool = False, total: bool = False) -> Row:
    return Row(label, tuple(values), "usd", sign, total, concept)


def _income(kind: str, columns: Sequence[Column]) -> tuple[Row, ...]:
    earned, other, benefits, expenses, others = _LINES[kind]

    def line(label: str, field: str, concept: str, sign: bool = False, total: bool = False, unit: str = "usd") -> Row:
        return Row(label, tuple(getattr(c, field) for c in columns), unit, sign, total, concept)

    before_tax = "IncomeLossFromContinuingOperationsBeforeIncomeTaxes"
    shares = "WeightedAverageNumberOfDilutedSharesOutstanding"
    return (
        Row("Revenues", head=True),
        line(earned, "earned", "PremiumsEarnedNet", True),
        line("Net investment income", "investment", "NetInvestmentIncome"),
        line("Net gains (losses) on securities", "gains", "GainLossOnInvestments"),
        line(other, "other_revenue", "OtherIncome"),
        line("Total revenues", "revenue", "Revenues", True, True),
        Row("Expenses", head=True),
        line(benefits, "benefits", "PolicyholderBenefitsAndClaimsIncurredNet"),
        line(expenses, "expenses", "OperatingExpenses"),
        line(others, "other_expenses", "OtherExpenses"),
        line("Income before income taxes", "before_tax", before_tax, total=True),
        line("Provision for income taxes", "tax", "IncomeTaxExpenseBenefit"),
        line("Net income", "net", "NetIncomeLoss", True, True),
        line("Diluted earnings per share", "per_share", "EarningsPerShareDiluted", True, unit="pershare"),
        line("Average diluted shares outstanding", "shares", shares, unit="shares"),
    )


@dataclass(frozen=True)
class Position:
    """A balance sheet in millions of dollars: end of the quarter, and of the year before. Equity is what is left."""

    assets: tuple[tuple[int, int], ...]
    liabilities: tuple[tuple[int, int], ...]


def position(company: str, quarter: str) -> Position:
    """Return the balance sheet of a filing; filings of one year agree on its beginning."""
    revenue = column(company, "2024Q3", "Y0").revenue
    level = {"2024Q2": 0.98, "2024Q3": 1.0}[quarter]
    assets = tuple(
        (round(revenue * share * level), round(revenue * share * (0.93 + 0.01 * n)))
        for n, (_, share, _) in enumerate(_ASSETS)
    )
    now, then = (sum(values[i] for values in assets) for i in (0, 1))
    return Position(assets, tuple((round(now * share), round(then * share * 1.01)) for _, share, _ in _LIABILITIES))


def _balance(at: Position) -> tuple[Row, ...]:
    held, due = ([sum(values[i] for values in side) for i in (0, 1)] for side in (at.assets, at.liabilities))
    assets, owed = zip(_ASSETS, at.assets, strict=True), zip(_LIABILITIES, at.liabilities, strict=True)
    return (
        *(_dollars(name, values, concept, n == 0) for n, ((name, _, concept), values) in enumerate(assets)),
        _dollars("Total assets", held, "Assets", True, True),
        *(_dollars(name, values, concept, n == 0) for n, ((name, _, concept), values) in enumerate(owed)),
        _dollars("Total liabilities", due, "Liabilities", False, True),
        _dollars("Total shareholders' equity", (held[0] - due[0], held[1] - due[1]), "StockholdersEquity", True, True),
    )


def _cash(year: Sequence[Column], at: Position) -> tuple[Row, ...]:
    """Cash flows; what is invested is what the balance sheet leaves over."""
    net = [c.net for c in year]
    reserves = [round(c.revenue * 0.11) for c in year]
    operating = [n + r for n, r in zip(net, reserves, strict=True)]
    dividends = [-round(n * 0.09) for n in net]
    increase = [at.assets[2][0] - at.assets[2][1], round(operating[1] * 0.05)]
    purchases = [i - o - d for i, o, d in zip(increase, operating, dividends, strict=True)]
    cash = "CashCashEquivalentsPeriodIncreaseDecrease"
    changed, provided = "IncreaseDecreaseInInsuranceLiabilities", "NetCashProvidedByUsedInOperatingActivities"
    return (
        _dollars("Net income", net, "NetIncomeLoss", True),
        _dollars("Change in reserves, unearned premiums and other", reserves, changed),
        _dollars("Net cash provided by operating activities", operating, provided, total=True),
        _dollars(
            "Purchases of investments, net of sales and maturities", purchases, "PaymentsForProceedsFromInvestments"
        ),
        _dollars("Dividends paid and share repurchases", dividends, "PaymentsOfDividends"),
        _dollars("Increase in cash and cash equivalents", increase, cash, True, True),
    )


def _reserves(year: Sequence[Column], at: Position) -> tuple[Row, ...]:
    """From the balance sheet of the year before to that of the period, beside the movements of the prior year."""
    end, opening = at.liabilities[0]
    incurred = [c.benefits for c in year]
    prior = [-round(i * 0.004) for i in incurred]
    closing = [end, opening - round(incurred[1] * 0.02)]
    beginning = [opening, closing[1] - round(incurred[1] * 0.06)]
    paid = [c - b - i for c, b, i in zip(closing, beginning, incurred, strict=True)]
    return (
        _dollars("Balance, beginning of year", beginning, sign=True),
        _dollars("Incurred related to current year", (i - p for i, p in zip(incurred, prior, strict=True))),
        _dollars("Incurred related to prior years", prior),
        _dollars("Total incurred", incurred, total=True),
        _dollars("Paid", paid),
        _dollars("Balance, end of period", closing, "", True, True),
    )


def _ratio(kind: str, columns: Sequence[Column]) -> tuple[float, ...]:
    """The headline ratio in percent: combined for property-casualty, else benefits to premiums."""
    return tuple(round(c.benefit_ratio + (c.expense_ratio if kind == "pc" else 0), 1) for c in columns)


def _ratios(kind: str, name: str, columns: Sequence[Column]) -> tuple[Row, ...]:
    headline = Row(name, _ratio(kind, columns), "percent", total=True)
    expense = tuple(c.expense_ratio for c in columns)
    if kind != "pc":
        return (headline, Row("Operating cost ratio", expense, "percent"))
    return (
        _dollars("Net premiums written", (c.written for c in columns), "PremiumsWrittenNet", True),
        Row("Loss and loss adjustment expense ratio", tuple(c.benefit_ratio for c in columns), "percent"),
        Row("Underwriting expense ratio", expense, "percent"),
        headline,
    )


def _segments(company: str, columns: Sequence[Column]) -> tuple[Row, ...]:
    issuer = ISSUERS[company]
    rows = [Row("Premiums earned", head=True)]
    rest = [c.earned for c in columns]
    for number, (name, share, _) in enumerate(issuer.segments):
        values = rest if number == len(issuer.segments) - 1 else [round(c.earned * share) for c in columns]
        rest = [r - v for r, v in zip(rest, values, strict=True)]
        rows.append(_dollars(name, values, sign=number == 0))
    rows.append(_dollars("Total", (c.earned for c in columns), "PremiumsEarnedNet", True, True))
    rows.append(Row(f"{issuer.ratio_name} by segment", head=True))
    whole = _ratio(issuer.kind, columns)
    rows += [Row(name, tuple(round(r + points, 1) for r in whole), "percent") for name, _, points in issuer.segments]
    return tuple(rows)


def insurer_tables(company: str, quarter: str) -> dict[str, Table]:
    """Every table of a filing, by the name under which the template asks for it."""
    issuer = ISSUERS[company]
    columns = [column(company, quarter, key) for key in DURATIONS]
    heads, year, at = _headings(quarter), columns[2:], position(company, quarter)
    ends = (QUARTERS[quarter][0], "December 31, 2023")
    units, shares = "(In millions)", "(In millions, except per share amounts)"

    def of_year(caption: str, rows: tuple[Row, ...]) -> Table:
        return Table(caption, units, heads[2:], rows, DURATIONS[2:])

    def of_both(caption: str, units: str, rows: tuple[Row, ...]) -> Table:
        return Table(caption, units, heads, rows, DURATIONS)

    return {
        "income": of_both("Consolidated Statements of Income (Unaudited)", shares, _income(issuer.kind, columns)),
        "balance": Table("Consolidated Balance Sheets (Unaudited)", units, ends, _balance(at), ("I0", "I1")),
        "cash": of_year("Consolidated Statements of Cash Flows (Unaudited)", _cash(year, at)),
        "reserves": of_year("Activity in Reserves", _reserves(year, at)),
        "ratios": of_both(
            "Selected Operating Measures", "(Dollars in millions)", _ratios(issuer.kind, issuer.ratio_name, columns)
        ),
        "segments": of_both("Segment Results", "(Dollars in millions)", _segments(company, columns)),
        "cover": register(issuer.state, issuer.irs, f"{issuer.street}, {issuer.city}", issuer.zip),
        "securities": Table(
            "",
            "",
            ("Trading Symbol", "Name of each exchange on which registered"),
            (Row(issuer.title_of_class, (company, "New York Stock Exchange"), "text"),),
        ),
    }
