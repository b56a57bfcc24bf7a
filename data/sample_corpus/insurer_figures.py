"""Seven insurers and managed-care companies: cover facts and invented figures."""

import json
from dataclasses import dataclass

from .layout import HERE


@dataclass(frozen=True)
class Issuer:
    """The cover facts of an issuer.

    `kind` is `pc`, `health` or `life` and sets the lines of its statements. A segment is its name, its share of
    premiums, and by how many points its ratio differs from that of the whole.
    """

    name: str
    kind: str
    cik: str
    state: str
    irs: str
    file_number: str
    street: str
    city: str
    zip: str
    phone: str
    title_of_class: str
    shares: str
    cfo: str
    ratio_name: str
    segments: list[tuple[str, float, float]]


ISSUERS = {
    company: Issuer(**facts)
    for company, facts in json.loads((HERE / "facts" / "insurers.json").read_text(encoding="utf-8")).items()
}

# (company, quarter) -> column -> premiums written, premiums earned, other revenues, net investment income, net gains,
# benefit ratio %, expense ratio % (of premiums for property-casualty, else of revenues), other expenses, tax %, shares.
# `Q` is the quarter, `Y` the year to date; 0 is 2024 and 1 is 2023. Dollars and diluted shares in millions.
COLUMNS: dict[tuple[str, str], dict[str, tuple[float, ...]]] = {
    ("PGR", "2024Q3"): {"Q0": (19456, 18297, 342, 738, 268, 68.6, 20.8, 151, 20.4, 587.4),
                        "Q1": (15590, 14894, 290, 498, -149, 74.1, 18.3, 138, 20.9, 587.2),
                        "Y0": (56311, 51988, 955, 2029, 470, 69.1, 20.1, 436, 20.5, 587.5),
                        "Y1": (46231, 42966, 811, 1356, -8, 79.1, 18.1, 401, 20.7, 587.3)},
    ("PGR", "2024Q2"): {"Q0": (17903, 17209, 318, 671, -43, 71.6, 20.3, 146, 20.5, 587.5),
                        "Q1": (15143, 14482, 271, 442, 78, 82.5, 17.9, 134, 20.3, 587.1),
                        "Y0": (36855, 33691, 613, 1291, 202, 69.4, 19.7, 285, 20.5, 587.5),
                        "Y1": (30641, 28072, 521, 858, 141, 81.8, 17.9, 263, 20.6, 587.3)},
    ("ALL", "2024Q3"): {"Q0": (14712, 13694, 931, 783, 243, 74.6, 21.8, 612, 21.1, 267.9),
                        "Q1": (13304, 12270, 871, 689, -86, 82.4, 21.0, 584, 21.0, 264.4),
                        "Y0": (41940, 39933, 2711, 2259, 86, 75.3, 21.5, 1790, 21.2, 267.6),
                        "Y1": (37731, 36130, 2508, 1874, -223, 89.5, 20.9, 1702, 21.0, 264.0)},
    ("TRV", "2024Q3"): {"Q0": (11317, 10704, 236, 904, 55, 64.6, 28.6, 112, 19.6, 229.9),
                        "Q1": (10493, 9718, 221, 769, -65, 72.8, 28.2, 104, 14.9, 231.4),
                        "Y0": (32619, 31074, 694, 2635, 11, 67.1, 28.6, 331, 18.9, 230.8),
                        "Y1": (30206, 28054, 650, 2144, -94, 72.3, 28.3, 309, 14.2, 233.2)},
    ("AIG", "2024Q3"): {"Q0": (6380, 5946, 14, 897, -167, 62.3, 30.3, 441, 22.4, 651.0),
                        "Q1": (6462, 6419, 11, 756, -78, 59.8, 30.7, 478, 22.1, 722.0),
                        "Y0": (17826, 17503, 40, 2605, -402, 60.9, 30.8, 1329, 22.9, 668.4),
                        "Y1": (20937, 18873, 33, 2231, -230, 60.2, 30.9, 1421, 22.3, 731.5)},
    ("UNH", "2024Q3"): {"Q0": (0, 77442, 21900, 1478, 0, 85.2, 13.2, 13100, 21.4, 931),
                        "Q1": (0, 72339, 19022, 1000, 0, 82.3, 15.0, 10900, 22.3, 938),
                        "Y0": (0, 231855, 65200, 4100, 0, 85.0, 13.5, 38900, 22.0, 931),
                        "Y1": (0, 217309, 55900, 3000, 0, 82.4, 14.9, 32600, 22.1, 940)},
    ("CI", "2024Q3"): {"Q0": (0, 11700, 51990, 280, -12, 82.8, 5.7, 48800, 18.7, 281.2),
                       "Q1": (0, 11050, 37960, 270, -31, 80.5, 7.2, 35900, 19.4, 296.8),
                       "Y0": (0, 35100, 146200, 850, -40, 81.6, 6.0, 137400, 18.9, 285.0),
                       "Y1": (0, 33000, 110100, 800, -66, 81.4, 7.3, 102900, 19.6, 298.1)},
    ("MET", "2024Q3"): {"Q0": (0, 10500, 1900, 5227, -77, 97.0, 17.5, 2400, 24.1, 700.4),
                        "Q1": (0, 10100, 1850, 4823, -927, 98.0, 17.9, 2300, 25.6, 755.5),
                        "Y0": (0, 33600, 5600, 15700, -750, 97.5, 17.6, 7300, 24.4, 713.2),
                        "Y1": (0, 34200, 5400, 14400, -2700, 98.4, 17.8, 6900, 25.1, 766.0)},
}  # fmt: skip

QUARTERS = {  # quarter -> end, first day of the quarter, ISO end, filed, share date, span and year-to-date span
    "2024Q2": ("June 30, 2024", "04-01", "06-30", "July 30, 2024", "three months", "six months"),
    "2024Q3": ("September 30, 2024", "07-01", "09-30", "November 1, 2024", "three months", "nine months"),
}


@dataclass(frozen=True)
class Column:
    """The figures of one period, in millions; ratios in percent."""

    written: int
    earned: int
    other_revenue: int
    investment: int
    gains: int
    revenue: int
    benefits: int
    expenses: int
    other_expenses: int
    before_tax: int
    tax: int
    net: int
    shares: float
    benefit_ratio: float
    expense_ratio: float

    @property
    def per_share(self) -> float:
        """Diluted earnings per share, dollars."""
        return self.net / self.shares


def column(company: str, quarter: str, key: str) -> Column:
    """Derive the figures of `key` (see COLUMNS) from what is stated there."""
    written, earned, other, investment, gains, benefit, expense, others, rate, shares = COLUMNS[company, quarter][key]
    revenue = earned + other + investment + gains
    benefits = round(earned * benefit / 100)
    expenses = round((earned if ISSUERS[company].kind == "pc" else revenue) * expense / 100)
    before_tax = round(revenue - benefits - expenses - others)
    tax = round(before_tax * rate / 100)
    return Column(
        round(written),
        round(earned),
        round(other),
        round(investment),
        round(gains),
        round(revenue),
        benefits,
        expenses,
        round(others),
        before_tax,
        tax,
        before_tax - tax,
        shares,
        benefit,
        expense,
    )
