"""Periods as integers: what the filters of both engines compare."""

from finrag_pipelines.catalog.periods import FiscalPeriod, parse_label
from finrag_pipelines.chunking.model import Fragment

_YEAR, _YTD = 0, 4


def period_code(label: str) -> int | None:
    """Return the integer of a period label (FY2022 → 20220, 2022Q3 → 20223, 2022Q3YTD → 20227), or None for others."""
    try:
        period = parse_label(label)
    except ValueError:
        return None
    if period.quarter is None:
        return period.year * 10 + _YEAR
    return period.year * 10 + period.quarter + (_YTD if period.ytd else 0)


def code_label(code: int) -> str:
    """Return the label of a period code."""
    year, kind = divmod(code, 10)
    if kind == _YEAR:
        return FiscalPeriod(year).label
    return FiscalPeriod(year, kind - _YTD if kind > _YTD else kind, ytd=kind > _YTD).label


def period_codes(fragment: Fragment) -> frozenset[int]:
    """Return the codes of all periods that a fragment reports: those in its text, and that of its filing.

    An annual filing also reports the fourth quarter, and a filing of the fourth quarter the year.
    """
    codes = {code for label in fragment.periods if (code := period_code(label)) is not None}
    own = period_code(fragment.period) if fragment.period else None
    if own is not None:
        codes.add(own)
        year, kind = divmod(own, 10)
        if kind == _YEAR:
            codes.add(year * 10 + 4)
        elif kind == 4:
            codes.add(year * 10 + _YEAR)
    return frozenset(codes)
