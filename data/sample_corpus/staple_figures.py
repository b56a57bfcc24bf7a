"""Coca-Cola, PepsiCo and Mondelez: cover facts, invented figures and real fiscal calendars."""

import json
from dataclasses import dataclass

from .layout import HERE

NAMES: dict[str, dict[str, str]] = json.loads((HERE / "facts" / "staples.json").read_text(encoding="utf-8"))

# company -> column -> revenue, gross margin %, selling and administrative, other charges, net interest, tax rate %,
# shares. Dollars and diluted shares in millions.
COLUMNS: dict[str, dict[str, tuple[float, ...]]] = {
    "KO": {
        "2026Q1": (11463, 63.3, 3352, 74, 210, 18.4, 4312), "2025Q1": (11129, 62.6, 3310, 73, 205, 18.9, 4317),
        "2025Q3": (12447, 61.5, 3512, 215, 208, 18.2, 4314), "2024Q3": (11854, 60.7, 3401, 1012, 198, 20.1, 4325),
        "2025Q3YTD": (36227, 62.1, 10184, 402, 620, 18.5, 4315),
        "2024Q3YTD": (35517, 61.4, 10410, 4019, 588, 18.7, 4323),
        "FY2025": (48002, 61.4, 14120, 903, 826, 18.3, 4314), "FY2024": (47061, 61.1, 14582, 4163, 790, 18.6, 4320),
        "FY2023": (45754, 59.5, 13972, 1951, 720, 17.4, 4339),
    },
    "PEP": {
        "2026Q1": (18313, 54.2, 7342, 0, 232, 19.8, 1371), "2025Q1": (17919, 55.7, 7398, 0, 221, 20.1, 1376),
        "2025Q3": (23949, 53.9, 9340, 12, 258, 20.6, 1372), "2024Q3": (23319, 54.8, 8907, 0, 236, 20.9, 1379),
        "2025Q3YTD": (64518, 54.6, 25701, 1890, 742, 21.3, 1374), "2024Q3YTD": (64070, 55.2, 25202, 0, 698, 20.4, 1381),
        "FY2025": (92864, 54.2, 37106, 1995, 1088, 21.0, 1373), "FY2024": (91854, 54.8, 37190, 14, 1010, 19.4, 1380),
        "FY2023": (91471, 54.2, 36677, 927, 819, 19.8, 1383),
    },
    "MDLZ": {
        "2026Q1": (9639, 28.5, 1902, 41, 92, 24.1, 1292), "2025Q1": (9313, 26.1, 1711, 38, 88, 25.2, 1300),
        "2025Q3": (9747, 26.8, 1842, 27, 90, 23.9, 1297), "2024Q3": (9204, 32.6, 1812, 36, 79, 24.6, 1344),
        "2025Q3YTD": (27508, 28.5, 5310, 104, 266, 24.4, 1299), "2024Q3YTD": (26837, 38.6, 5527, 207, 221, 24.8, 1350),
        "FY2025": (37862, 28.4, 7402, 166, 352, 24.2, 1298), "FY2024": (36441, 39.1, 7439, 306, 287, 24.0, 1347),
        "FY2023": (36016, 38.2, 8002, 151, 310, 26.1, 1370),
    },
}  # fmt: skip

# company -> column -> price and mix, volume, currency, acquisitions and divestitures: points of revenue growth.
BRIDGE = {
    "KO": {"2026Q1": (4, 2, 1, -4), "2025Q3": (6, 1, -1, -1), "2025Q3YTD": (7, 0, -2, -3), "FY2025": (6, 0, -2, -2)},
    "PEP": {"2026Q1": (1.0, 0.0, 1.2, 0.0), "2025Q3": (4.0, -2.8, -0.5, 2.0), "2025Q3YTD": (3.0, -1.8, -1.5, 1.0),
            "FY2025": (3.0, -1.5, -1.0, 0.6)},
    "MDLZ": {"2026Q1": (3.6, -2.2, 2.1, 0.0), "2025Q3": (8.0, -4.6, 2.5, 0.0), "2025Q3YTD": (7.1, -3.6, -1.0, 0.0),
             "FY2025": (7.0, -3.7, 0.6, 0.0)},
}  # fmt: skip

# company -> segment -> share of revenue, operating margin relative to the whole; the last segment takes the rest.
SEGMENTS = {
    "KO": {"Europe, Middle East and Africa": (0.22, 1.7), "Latin America": (0.13, 1.9), "North America": (0.40, 0.95),
           "Asia Pacific": (0.11, 1.3), "Global Ventures": (0.06, 0.4), "Bottling Investments": (0.08, 0.3)},
    "PEP": {"PepsiCo Foods North America": (0.30, 1.5), "PepsiCo Beverages North America": (0.31, 0.8),
            "International Beverages Franchise": (0.05, 2.0), "Europe, Middle East and Africa": (0.18, 0.8),
            "Latin America Foods": (0.11, 1.2), "Asia Pacific Foods": (0.05, 0.8)},
    "MDLZ": {"Latin America": (0.13, 0.9), "AMEA": (0.20, 1.1), "Europe": (0.38, 0.9), "North America": (0.29, 1.4)},
}  # fmt: skip


@dataclass(frozen=True)
class Filing:
    """One filing: form, fiscal label, end of its period, when it was filed, and its columns with their headings."""

    form: str
    period: str
    period_end: str
    prior_end: str
    filed: str
    span: str
    ytd_span: str
    columns: tuple[tuple[str, str], ...]

    @property
    def main(self) -> tuple[str, str]:
        """The column of the filing's own period, and that of the prior year beside it."""
        return self.columns[0][0], self.columns[1][0]


def _quarter1(end: str, prior: str, year_end: str, filed: str, span: str) -> Filing:
    columns = (("2026Q1", f"{span.capitalize()} ended {end}"), ("2025Q1", f"{span.capitalize()} ended {prior}"))
    return Filing("10-Q", "2026Q1", end, year_end, filed, span, span, columns)


def _quarter3(end: str, prior: str, year_end: str, filed: str, span: str, ytd: str) -> Filing:
    quarter, year = span.capitalize(), ytd.capitalize()
    columns = (
        ("2025Q3", f"{quarter} ended {end}"),
        ("2024Q3", f"{quarter} ended {prior}"),
        ("2025Q3YTD", f"{year} ended {end}"),
        ("2024Q3YTD", f"{year} ended {prior}"),
    )
    return Filing("10-Q", "2025Q3", end, year_end, filed, span, ytd, columns)


def _year(end: str, prior: str, before: str, filed: str) -> Filing:
    columns = (("FY2025", f"Year ended {end}"), ("FY2024", f"Year ended {prior}"), ("FY2023", f"Year ended {before}"))
    return Filing("10-K", "FY2025", end, prior, filed, "year", "year", columns)


FILINGS = {
    "KO": (
        _quarter3("September 26, 2025", "September 27, 2024", "December 31, 2024", "October 22, 2025", "three months",
                  "nine months"),
        _year("December 31, 2025", "December 31, 2024", "December 31, 2023", "February 19, 2026"),
        _quarter1("March 27, 2026", "March 28, 2025", "December 31, 2025", "April 29, 2026", "three months"),
    ),
    "PEP": (
        _quarter3("September 6, 2025", "September 7, 2024", "December 28, 2024", "October 9, 2025", "12 weeks",
                  "36 weeks"),
        _year("December 27, 2025", "December 28, 2024", "December 30, 2023", "February 3, 2026"),
        _quarter1("March 21, 2026", "March 22, 2025", "December 27, 2025", "April 16, 2026", "12 weeks"),
    ),
    "MDLZ": (
        _quarter3("September 30, 2025", "September 30, 2024", "December 31, 2024", "October 28, 2025", "three months",
                  "nine months"),
        _year("December 31, 2025", "December 31, 2024", "December 31, 2023", "February 4, 2026"),
        _quarter1("March 31, 2026", "March 31, 2025", "December 31, 2025", "April 28, 2026", "three months"),
    ),
}  # fmt: skip

CALLS = {
    "KO": "April 28, 2026, 8:30 a.m. ET",
    "PEP": "April 16, 2026, 8:15 a.m. ET",
    "MDLZ": "April 28, 2026, 5:00 p.m. ET",
}


@dataclass(frozen=True)
class Income:
    """An income statement, dollars and diluted shares in millions."""

    revenue: int
    cost: int
    gross: int
    administrative: int
    other: int
    operating: int
    interest: int
    before_tax: int
    tax: int
    net: int
    shares: int


def income(company: str, column: str) -> Income:
    """Derive the statement of a column from what COLUMNS states."""
    revenue, margin, administrative, other, interest, rate, shares = COLUMNS[company][column]
    gross = round(revenue * margin / 100)
    operating = round(gross - administrative - other)
    before_tax = round(operating - interest)
    tax = round(before_tax * rate / 100)
    return Income(
        round(revenue),
        round(revenue - gross),
        gross,
        round(administrative),
        round(other),
        operating,
        round(interest),
        before_tax,
        tax,
        before_tax - tax,
        round(shares),
    )


def cash_columns(filing: Filing) -> tuple[tuple[str, str], ...]:
    """Return the columns of the cash flow statement, which is by year to date."""
    return filing.columns[2:] if filing.period == "2025Q3" else filing.columns


def operating_cash(company: str, column: str) -> int:
    """Net cash provided by operating activities, millions of dollars."""
    return round(income(company, column).net + COLUMNS[company][column][0] * 0.035)


# The lines of the balance sheet as shares of a year's revenue, and liabilities as shares of total assets.
_ASSET_SHARES = (0.21, 0.11, 0.08, 0.06, 0.30, 0.36, 0.26, 0.28)
_YEAR_END, _QUARTER_END = (0.21, 0.07, 0.34, 0.13), (0.22, 0.06, 0.33, 0.13)
# period -> the year whose revenue it is measured by, the level against that, and the liability shares.
_LEVELS = {
    "FY2024": ("FY2024", 1.0, _YEAR_END),
    "2025Q3": ("FY2024", 1.014, _QUARTER_END),
    "FY2025": ("FY2025", 1.0, _YEAR_END),
    "2026Q1": ("FY2025", 1.009, _QUARTER_END),
}
_YEAR_BEFORE = {"2025Q3": "FY2024", "FY2025": "FY2024", "2026Q1": "FY2025"}


@dataclass(frozen=True)
class Position:
    """A balance sheet in millions of dollars: assets (cash first, inventories third), liabilities (payables, short and
    long debt, other); equity is the difference.
    """

    assets: tuple[int, ...]
    liabilities: tuple[int, ...]


def positions(company: str, filing: Filing) -> tuple[Position, Position]:
    """Return the balance sheet at the end of a filing's period, and that of the fiscal year end before."""

    def at(period: str) -> Position:
        year, level, owed = _LEVELS[period]
        assets = tuple(round(COLUMNS[company][year][0] * share * level) for share in _ASSET_SHARES)
        return Position(assets, tuple(round(sum(assets) * share) for share in owed))

    return at(filing.period), at(_YEAR_BEFORE[filing.period])
