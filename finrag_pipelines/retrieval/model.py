"""The vocabulary of retrieval: plan, candidate, trace, response. Plain records, ready for JSON."""

from dataclasses import dataclass, field

from finrag_pipelines.chunking.model import Fragment


@dataclass(frozen=True, order=True)
class Pair:
    """One exact (company, period) that a question asks for; `period` is None where it names a company alone, and
    `company` where it names a period alone; both are None where it names neither."""

    company: str | None
    period: str | None


@dataclass(frozen=True)
class Plan:
    """What a question asks for, as read from its words and the catalog, before anything is searched.

    `unknown_companies` are names that look like companies and are in no catalog entry; `ambiguous` aliases name more
    than one. `expansions` maps each lexicon hit to the terms that were added. `comparison` tells that several pairs
    are to be set side by side. `dates` are days and months (`2023-05-26`, `2023-05`) that are no fiscal periods;
    `concepts` the lexicon's metrics that it asks about, `statements` those that it
    names or that show these metrics; `notes` are sentences for people. `lexicon` is the digest of
    the lexicon that was applied.
    """

    question: str
    pairs: tuple[Pair, ...] = ()
    companies: tuple[str, ...] = ()
    periods: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    ranking_query: str = ""
    expansions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    unknown_companies: tuple[str, ...] = ()
    ambiguous: tuple[str, ...] = ()
    comparison: bool = False
    notes: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    lexicon: str = ""


@dataclass(frozen=True)
class Candidate:
    """A fragment that was found, with its place in each channel (rank from 1; None where the channel missed it).

    `contributing` names the channels, sorted. `pair` is the pair of the plan that it was found for. `duplicates`
    counts the fragments of the same source that say nearly the same and were collapsed into it.

    `score` is Σ weight / (60 + rank) over the channels (1 for words; for vectors 1, or inside a company's scope of a
    hybrid search less), times `prior`: the product of the factors that `priors` names
    (`filing_period`, `date`, `section`; `no_section` and `other_section` for texts without items, which sections
    cannot tell apart; `restated` for what a later amendment restates, `restates` for the amendment). A
    score orders the candidates of one pair; it is no measure of whether they answer.
    """

    rank: int
    score: float
    fragment: Fragment
    contributing: tuple[str, ...]
    pair: Pair | None = None
    lexical_rank: int | None = None
    lexical_score: float | None = None
    vector_rank: int | None = None
    vector_score: float | None = None
    rerank_score: float | None = None
    duplicates: int = 0
    priors: tuple[str, ...] = ()
    prior: float = 1.0


@dataclass(frozen=True)
class Trace:
    """How a response came about: everything needed to see whether the right corpus was searched.

    `amendments` are the sources that restate others in view: (amendment, what it restates).
    """

    plan: Plan
    filters: dict[str, list[str]]
    candidate_count: int
    index_version: str
    mode: str
    repairs: tuple[Pair, ...] = ()
    notes: tuple[str, ...] = ()
    amendments: tuple[tuple[str, str], ...] = ()
    timings_ms: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SearchResponse:
    """Ranked, authorised candidates, best first, and the trace."""

    results: tuple[Candidate, ...]
    trace: Trace
