"""Reasons to prefer one authorised candidate over another that both channels like as much. They filter nothing."""

from finrag_pipelines.indexing.period_codes import period_code
from finrag_pipelines.indexing.shard import Shard
from finrag_pipelines.retrieval.model import Pair, Plan

FILING_PERIOD = 1.25


def priors_of(shard: Shard, row: int, plan: Plan, pair: Pair) -> tuple[float, tuple[str, ...]]:
    """Return the factor for the score of a row, and the names of the reasons."""
    factor, reasons = 1.0, []
    entry = shard.entry_of(row)
    if pair.period and entry.period and _same(entry.period, pair.period):
        factor *= FILING_PERIOD
        reasons.append("filing_period")
    return factor, tuple(reasons)


def _same(filing: str, asked: str) -> bool:
    """Tell whether a filing's period is the one asked for, the fourth quarter and its year taken as one."""
    one, other = period_code(filing), period_code(asked)
    if one is None or other is None:
        return False
    return one == other or (one // 10 == other // 10 and {one % 10, other % 10} <= {0, 4})
