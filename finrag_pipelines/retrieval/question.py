"""From a question to a plan: which companies, periods, forms, sections and speakers it names, and what is left to rank.

Deterministic and without a model. A question is only ever matched against patterns, never parsed as a query language.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import groupby

from finrag_pipelines.catalog.calendars import calendar_for, other_reading
from finrag_pipelines.indexing.analyzer import terms
from finrag_pipelines.retrieval.catalog_view import CatalogView
from finrag_pipelines.retrieval.company_mentions import JOINED, CompanyMention, company_finder
from finrag_pipelines.retrieval.lexicon import Lexicon, LexiconHit, load_lexicon
from finrag_pipelines.retrieval.model import Pair, Plan
from finrag_pipelines.retrieval.period_scope import PeriodScope, find_dates, find_periods
from finrag_pipelines.retrieval.scope import UNDATED, form_matches
from finrag_pipelines.retrieval.scope_words import ScopeWord, load_scope_words

LONGEST_QUESTION = 4_000
_COMPARISON = re.compile(
    r"\b(?:compar(?:e|ed|ing|ison)|versus|vs\.?|differ(?:s|ed|ence|ences)?|each|respectively|both|relative\s+to|"
    r"change[ds]?|from\b.{1,80}\bto\b|between\b.{1,80}\band\b|higher|lower|growth|trend)\b",
    re.IGNORECASE,
)
_COUNTERPART = re.compile(r"\b(?:from|on|upon|by|to|with|through|via|at)\s+(?:the\s+)?$", re.IGNORECASE)


def plan_question(question: str, view: CatalogView, as_of: date | None = None) -> Plan:
    """Read a question against what the principal may know of the corpus.

    `as_of` is the day on which "latest" and "last quarter" are meant; without it they mean the newest documents. An
    overlong question is read up to LONGEST_QUESTION characters, which the plan's notes say. A question that names
    unknown companies only has no pairs: nothing is searched in their place.
    """
    notes: list[str] = []
    text = question
    if len(text) > LONGEST_QUESTION:
        text = text[:LONGEST_QUESTION]
        notes.append(f"The question has {len(question)} characters; the first {LONGEST_QUESTION} were read.")
    mentions = company_finder(view).find(text)
    known, unknown, ambiguous = _sort_mentions(text, mentions, notes)
    asked: list[str | None] = [*dict.fromkeys(c for m in known for c in m.companies)] or [None]
    found_periods = {company: find_periods(text, view, company, as_of) for company in asked}
    pairs = _pairs(text, known, found_periods)
    pairs = [_as_reported(pair, view, notes) for pair in pairs]
    words = load_scope_words()
    forms, sections, roles = words.find_forms(text), words.find_sections(text), words.find_roles(text)
    written_by = _authors_of(pairs, _values(forms), view)
    if written_by:
        pairs = [author for pair in pairs for author in written_by.get(pair.company, [pair])]
        for subject, authors in written_by.items():
            notes.append(f"{subject} is the subject of the documents asked for, which {_names(authors)} issued.")
    known_spans = [m for m in known if m.companies[0] not in written_by]
    periods = [scope for scopes in found_periods.values() for scope in scopes]
    dates = find_dates(text, periods)
    scoped = (*known_spans, *periods, *forms, *roles)
    spans = [(m.start, m.end) for m in scoped] + [(start, end) for start, end, _ in dates]
    rest = _without(text, spans)
    lexicon = load_lexicon()
    hits = lexicon.find(terms(rest))
    statements = tuple(s.name for s in lexicon.find_statements(terms(rest)))
    if not statements:
        statements = tuple(dict.fromkeys(name for hit in hits for name in hit.concept.statements))
    ranking = [word for word in terms(rest) if word not in words.filler]
    if not ranking:
        ranking = [word for word in terms(text) if word not in words.filler]
    if unknown:
        notes.append(f"No document here is of {', '.join(dict.fromkeys(m.text for m in unknown))}.")
        if not known:
            pairs = []
    return Plan(
        question=question,
        pairs=tuple(dict.fromkeys(pairs)),
        companies=tuple(sorted({c for m in known for c in m.companies})),
        periods=tuple(sorted({pair.period for pair in pairs if pair.period})),
        forms=_values(forms),
        sections=_values(sections),
        roles=_values(roles),
        statements=statements,
        ranking_query=" ".join(ranking),
        expansions=_expansions(lexicon, hits),
        unknown_companies=tuple(dict.fromkeys(m.text for m in unknown)),
        ambiguous=tuple(dict.fromkeys(m.text for m in ambiguous)),
        comparison=len(set(pairs)) > 1 or bool(_COMPARISON.search(text)),
        notes=tuple(dict.fromkeys(notes)),
        dates=tuple(dict.fromkeys(value for _, _, value in dates)),
        concepts=tuple(hit.concept.name for hit in hits),
        lexicon=lexicon.sha256,
    )


def _values(found: Sequence[ScopeWord]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for word in found for value in word.values))


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """Return `text` with the given ranges blanked out."""
    characters = list(text)
    for start, end in spans:
        characters[start:end] = " " * (end - start)
    return "".join(characters)


def _sort_mentions(
    text: str, mentions: list[CompanyMention], notes: list[str]
) -> tuple[list[CompanyMention], list[CompanyMention], list[CompanyMention]]:
    """Part the mentions into known, unknown and ambiguous ones.

    A company that only stands in relation to the one asked about ("sales to Walmart") is none of them: it stays a
    word of the ranking query.
    """
    known = [m for m in mentions if m.known and len(m.companies) == 1]
    ambiguous = [m for m in mentions if m.known and len(m.companies) > 1]
    unknown = [m for m in mentions if not m.known]
    certain = {m.companies[0] for m in known}
    for mention in ambiguous:
        notes.append(f"“{mention.text}” may mean {', '.join(mention.companies)}; no company was taken from it.")
    if known:
        comparing = bool(_COMPARISON.search(text))
        counterparts = []
        for mention in (*known[1:], *unknown):
            if mention.start < known[0].start or mention.companies[0] == known[0].companies[0]:
                continue
            if not comparing and _COUNTERPART.search(text[: mention.start]) and not _is_listed(text, mentions, mention):
                counterparts.append(mention)
        for mention in counterparts:
            notes.append(f"“{mention.text}” was read as a word of the question, not as the company asked about.")
        known = [m for m in known if m not in counterparts]
        unknown = [m for m in unknown if m not in counterparts and m.companies[0] not in certain]
    return known, unknown, ambiguous


def _is_listed(text: str, mentions: list[CompanyMention], mention: CompanyMention) -> bool:
    """Tell whether a mention is joined to the one before it by a comma or a conjunction."""
    before = [m for m in mentions if m.end <= mention.start]
    return bool(before) and bool(JOINED.match(text[before[-1].end : mention.start]))


def _pairs(text: str, known: list[CompanyMention], periods: dict[str | None, list[PeriodScope]]) -> list[Pair]:
    """Join companies and periods as the question does.

    Lists of companies and lists of periods alternate; each list of companies takes the periods that follow it, or
    precede it where the question starts with a period; one without periods of its own takes those named last.
    """
    if not known:
        labels = [scope.label for scope in periods.get(None, [])]
        return [Pair(None, label) for label in dict.fromkeys(labels)] or [Pair(None, None)]
    places = sorted({(scope.start, scope.end) for scopes in periods.values() for scope in scopes})
    events = sorted(
        [(m.start, "company", index) for index, m in enumerate(known)]
        + [(start, "period", index) for index, (start, _) in enumerate(places)]
    )
    groups = [(kind, [event[2] for event in group]) for kind, group in groupby(events, key=lambda event: event[1])]
    company_groups = [position for position, (kind, _) in enumerate(groups) if kind == "company"]
    period_groups = [position for position, (kind, _) in enumerate(groups) if kind == "period"]
    pairs: list[Pair] = []
    for position in company_groups:
        taken = _period_groups_for(position, groups, company_groups, period_groups)
        for index in groups[position][1]:
            company = known[index].companies[0]
            wanted = {places[place] for group in taken for place in groups[group][1]}
            labels = [scope.label for scope in periods[company] if (scope.start, scope.end) in wanted]
            pairs.extend(Pair(company, label) for label in dict.fromkeys(labels))
            if not labels:
                pairs.append(Pair(company, None))
    dated = {pair.company for pair in pairs if pair.period}
    return [pair for pair in dict.fromkeys(pairs) if pair.period or pair.company not in dated]


def _period_groups_for(
    position: int, groups: list[tuple[str, list[int]]], company_groups: list[int], period_groups: list[int]
) -> list[int]:
    if len({index for group in company_groups for index in groups[group][1]}) == 1 or len(period_groups) <= 1:
        return period_groups
    if len(company_groups) == 1:
        return period_groups
    starts_with_period = period_groups[0] < company_groups[0]
    ends_with_period = period_groups[-1] > company_groups[-1]
    if starts_with_period and not ends_with_period:
        return [max(group for group in period_groups if group < position)]
    later = [group for group in period_groups if group > position]
    earlier = [group for group in period_groups if group < position]
    return [later[0]] if later else [earlier[-1]]


def _as_reported(pair: Pair, view: CatalogView, notes: list[str]) -> Pair:
    """Say where fiscal and calendar readings differ, and take the other one where only that is reported."""
    if pair.period is None:
        return pair
    reported = view.periods_of(pair.company)
    try:
        other = other_reading(calendar_for(pair.company), pair.period) if pair.company else None
    except (ValueError, OverflowError):  # a year of which there is no calendar
        other = None
    if other:
        notes.append(
            f"{pair.period} is read as {pair.company} counts its fiscal periods; by the other count it is {other}."
        )
    if pair.period not in reported and other and other in reported and calendar_for(pair.company).label == "starts":
        notes.append(f"No document of {pair.company} reports {pair.period}; {other} was searched.")
        return replace(pair, period=other)
    if pair.period not in reported:
        notes.append(f"No document{f' of {pair.company}' if pair.company else ''} reports {pair.period}.")
    return pair


def _authors_of(pairs: Sequence[Pair], forms: tuple[str, ...], view: CatalogView) -> dict[str | None, list[Pair]]:
    """Return, for each company that issued no memo or announcement but is the subject of some, the pairs of those who
    issued them, where the question asks for such documents: what they say is theirs, not their subject's."""
    found: dict[str | None, list[Pair]] = {}
    if not forms or not UNDATED.issuperset(forms):
        return found
    wanted = [entry for entry in view.documents if form_matches(entry.form, forms)]
    for company in dict.fromkeys(pair.company for pair in pairs if pair.company):
        if any(entry.company == company for entry in wanted):
            continue
        authors = sorted({entry.company for entry in wanted if entry.company and view.concerns(entry, company)})
        if authors:
            found[company] = [Pair(author, None) for author in authors]
    return found


def _names(pairs: Sequence[Pair]) -> str:
    return ", ".join(pair.company or "" for pair in pairs)


def _expansions(lexicon: Lexicon, hits: list[LexiconHit]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what each concept of the question adds: its wording in filings, and that of its components."""
    found = []
    for hit in hits:
        added = [*hit.concept.terms]
        for name in hit.concept.components:
            component = lexicon.concept(name)
            added.extend(component.terms or (component.name,))
        if added:
            found.append((hit.concept.name, tuple(dict.fromkeys(added))))
    return tuple(found)
