"""Fiscal periods: their labels and ends. How an issuer's year is cut lives in calendars.py."""

import re
from dataclasses import dataclass
from datetime import date

_LABEL = re.compile(r"^(?:FY(?P<year>\d{4})|(?P<qyear>\d{4})Q(?P<quarter>[1-4])(?P<ytd>YTD)?)$")


@dataclass(frozen=True, order=True)
class FiscalPeriod:
    """A fiscal year (`FY2025`), quarter (`2025Q3`) or year to date (`2025Q3YTD`), by the issuer's own count.

    `quarter` is None for a year. `end` is the last day of the period where it is known.
    """

    year: int
    quarter: int | None = None
    ytd: bool = False
    end: date | None = None

    @property
    def label(self) -> str:
        """The stable spelling used in ids, filters and records."""
        if self.quarter is None:
            return f"FY{self.year}"
        return f"{self.year}Q{self.quarter}{'YTD' if self.ytd else ''}"


def parse_label(label: str) -> FiscalPeriod:
    """Return the period spelled `label`. Raises ValueError for any other spelling."""
    match = _LABEL.match(label)
    if not match:
        raise ValueError(f"{label!r} is no period label; write FY2025, 2025Q3 or 2025Q3YTD")
    if match["year"]:
        return FiscalPeriod(int(match["year"]))
    return FiscalPeriod(int(match["qyear"]), int(match["quarter"]), bool(match["ytd"]))
