"""Does the evidence hold what was asked for? Per kind of question: the figure, the cause, both sides of a change.

This is decided on the passages that can be quoted, not on a score: a fragment about the right subject without the
figure, the cause or the period does not pass.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from finrag_pipelines.answering.breakdown import header_key, narrowing_stems, parts_asked, printed
from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.extractive import Findings
from finrag_pipelines.answering.gates import covers, pair_text
from finrag_pipelines.answering.injection import is_addressed
from finrag_pipelines.answering.measured import Measured, compute, ranked
from finrag_pipelines.answering.mentions import DOWN, OFFICE, UP, lists_names, names_officer
from finrag_pipelines.answering.model import Delivered, Support
from finrag_pipelines.answering.numbers import amounts, names_date, states_figure
from finrag_pipelines.answering.question import (
    VARIANT_STEMS,
    Ask,
    Measure,
    asks_office,
    core,
    measures,
    measures_named,
    ratios,
)
from finrag_pipelines.answering.statements import ENOUGH, StatementFinder
from finrag_pipelines.answering.support import (
    CORRECTION,
    DEFINITIONS,
    NOT_DISCLOSED,
    SUPERLATIVES,
    Topic,
    bears,
    exact_label_fit,
    not_disclosed,
    passage_supports,
    row_support,
    row_supports,
    unqualified,
    weight,
)
from finrag_pipelines.answering.words import Phrases, content_stems, normal, phrases, stem
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.evidence.records import Refusal
from finrag_pipelines.retrieval.model import Pair, Plan

LEAST_COVERAGE = 0.5
SHORT_TOPIC = 2
LEAST_REASON_COVERAGE = 0.4
LEAST_COVERAGE_UNSCOPED = 0.7
"""Where a question names neither company nor period, only its topic ties a passage to it."""


class Evidence:
    """The delivered fragments of one question; fragments that a look-up locates are delivered as well."""

    def __init__(
        self, ask: Ask, plan: Plan, delivered: Sequence[Delivered], documents: Documents, finder: StatementFinder | None
    ) -> None:
        self.ask = ask
        self.plan = plan
        self.documents = documents
        self.delivered = list(delivered)
        self.located: list[Delivered] = []
        self._finder = finder
        self._known_parts: dict[Pair, tuple[str, ...]] = {}

    def row(self, key: str, pair: Pair, period: str, preferred: str | None = None) -> Support | None:
        """Return the row that states a line item for a company and period, from deliveries or by look-up."""
        measure = measures()[key]
        exact = Pair(pair.company, period)
        if self._finder is not None and pair.company and (parts := self._parts(pair)):
            return self._row_of_part(parts, measure, exact)
        if self._finder is not None and pair.company:
            located = self._finder.find(measure, pair.company, period, preferred)
            if located is not None:
                one = self._deliver(located.fragment, exact)
                return row_support(located.figure, one, self.documents, located.fit, exact)
        rows = row_supports(self.ask, self.plan, exact, self.delivered, self.documents, measure)
        rows = [one for one in rows if one.coverage >= ENOUGH]
        values = {one.figure.value for one in rows if one.figure and one.coverage == rows[0].coverage}
        return rows[0] if len(values) == 1 else None

    def _parts(self, pair: Pair) -> tuple[str, ...]:
        """Return the segments, products or regions of a company that the question names, as its tables call them."""
        if self._finder is None or not pair.company or not (self.ask.measures or self.ask.ratio):
            return ()
        if pair not in self._known_parts:
            names = self._finder.part_names(pair.company, pair.period)
            companies = sorted({pair.company, *self.plan.companies})
            own = frozenset(one for company in companies for one in self.documents.company_words(company))
            self._known_parts[pair] = parts_asked(core(self.ask.question), self.ask, names, own)
        return self._known_parts[pair]

    def _row_of_part(self, parts: Sequence[str], measure: Measure | None, pair: Pair) -> Support | None:
        assert self._finder is not None and pair.company
        period = pair.period or self._finder.newest(pair.company)
        located = self._finder.find_part(self.ask, parts, measure, pair.company, period or "")
        if located is None:
            return None
        return row_support(located.figure, self._deliver(located.fragment, pair), self.documents, located.fit, pair)

    @staticmethod
    def _unsaid(row: Support, name: str) -> str:
        """Return the name of the measure where neither the label nor the path of the row names one."""
        figure = row.figure
        if figure is None or figure.path:
            return ""
        return "" if measures_named(figure.key) or measures_named(header_key(figure.header)) else name

    def _ranked(self, pair: Pair) -> Findings | None:
        """Return which part of a company is highest or lowest, or None where no table sets its parts side by side."""
        if self._finder is not None and pair.company:
            pair = Pair(pair.company, pair.period or self._finder.newest(pair.company))
        rows = self._side_by_side(pair)
        return Findings(pair, (ranked(self.ask, pair, rows, self.documents),)) if rows else None

    def _side_by_side(self, pair: Pair) -> list[tuple[str, Support]]:
        """Return the parts of a company that one table sets side by side, each with its row; empty where none does."""
        ask = self.ask
        if self._finder is None or not pair.company or not (ask.ratio or len(ask.measures) == 1):
            return []
        period = pair.period or self._finder.newest(pair.company) or ""
        measure = measures()[ask.measures[0]] if ask.measures else None
        return [
            (part, row_support(one.figure, self._deliver(one.fragment, pair), self.documents, one.fit, pair))
            for part, one in self._finder.find_ranking(ask, measure, pair.company, period)
        ]

    def _by_part(self, pair: Pair) -> tuple[Measured, ...]:
        """Return the line item of every part that one table sets side by side; empty where none does."""
        plain = self.ask.measures and not (self.ask.over_time or self._parts(pair) or self._unmet_qualifiers(pair))
        rows = self._side_by_side(pair) if plain else []
        return tuple(Measured((row,), what=self._unsaid(row, measures()[self.ask.measures[0]].name)) for _, row in rows)

    def _compared(self, pairs: Sequence[Pair]) -> list[Findings] | None:
        """Return which of several companies has more of a line item, or None where that is not asked or not stated."""
        ask, companies = self.ask, {one.company for one in pairs}
        which = normal(ask.question).startswith(("which", "who", "what company")) and COMPARATIVES.first(
            normal(ask.question)
        )
        if not (which or ask.superlative) or len(companies) < 2 or len(ask.measures) != 1 or None in companies:
            return None
        if len({one.period for one in pairs}) != 1 or len(pairs) != len(companies):
            return None
        rows = [(one, self.row(ask.measures[0], one, one.period)) for one in pairs if one.period]
        stated = [(self.documents.company_name(one.company), row) for one, row in rows if row is not None]
        if len(stated) < len(pairs):
            return None
        measured = ranked(ask, Pair(None, pairs[0].period), stated, self.documents)
        return [Findings(pair, (measured,)) for pair in pairs]

    def _deliver(self, fragment: Fragment, pair: Pair) -> Delivered:
        for one in self.delivered:
            if one.fragment.fragment_id == fragment.fragment_id:
                return one
        made = Delivered(len(self.delivered) + 1, fragment, pair)
        self.delivered.append(made)
        self.located.append(made)
        return made

    def findings(self, pairs: Sequence[Pair]) -> list[Findings]:
        """Return what the evidence holds for each pair; a computed measure stands with the last pair of its company."""
        if compared := self._compared(pairs):
            return compared
        if self.ask.superlative and len({one.company for one in pairs}) == 1:
            found = [self._ranked(pair) for pair in pairs]
            if all(found):
                return [one for one in found if one]
        if self._computes() and (computed := self._over_companies(pairs)):
            return computed
        return [self._for_pair(pair) for pair in pairs]

    def _computes(self) -> bool:
        ask = self.ask
        if ask.superlative and len(ask.measures) > 1:
            return True
        return ask.kind in ("ratio", "yes_no") and bool(ask.ratio or ask.share_of or (ask.measures and ask.over_time))

    def _over_companies(self, pairs: Sequence[Pair]) -> list[Findings] | None:
        """Return the computed or stated measure of each company, or None where passages have to answer."""
        found: list[Findings] = []
        for company in dict.fromkeys(pair.company for pair in pairs):
            periods = sorted({one.period for one in pairs if one.company == company and one.period})
            each = self.ask.wants_change or (self.ask.ratio and not SPANS.first(normal(self.ask.question)))
            if self.ask.over_time is None and each and len(periods) > 1:
                found += [self._ratio_of(Pair(company, one), [one]) for one in periods]
            else:
                found.append(self._ratio_of(Pair(company, periods[-1] if periods else None), periods))
        if all(one.measured for one in found) or self.ask.superlative:
            return found  # which is highest cannot be told from a part of them
        passages = [self._told(pair) if self.ask.ratio else self._for_pair(pair) for pair in pairs]
        if self.ask.kind == "yes_no" or all(one.measured or one.passages for one in passages):
            return passages
        return found

    def _ratio_of(self, pair: Pair, periods: list[str]) -> Findings:
        stated = self._stated_row(pair) if self.ask.over_time is None else None
        return stated or self._computed(pair, periods)

    def _told(self, pair: Pair) -> Findings:
        """Return the passages that state a ratio in words; its line items alone would not answer."""
        passages = self._passages(pair, with_number=True)
        missing = () if passages else (f"{pair_text(pair)}: {self._wanted()}",)
        return Findings(pair, passages=passages[:2], missing=missing)

    def _stated_row(self, pair: Pair) -> Findings | None:
        """Return a ratio that a table states itself, under its own name, or None."""
        if parts := self._parts(pair):
            row = self._row_of_part(parts, None, pair)
            name = ratios()[self.ask.ratio].name if self.ask.ratio else ""
            return Findings(pair, (Measured((row,), what=self._unsaid(row, name)),)) if row else None
        rows = row_supports(self.ask, self.plan, pair, self.delivered, self.documents, None)
        rows = [one for one in rows if one.coverage >= 0.9 and one.figure and one.figure.unit in ("percent", None)]
        return Findings(pair, (Measured(tuple(rows[:1])),)) if rows else None

    def _computed(self, pair: Pair, periods: list[str]) -> Findings:
        if not pair.company:
            return Findings(pair, missing=("the company",))
        if self._unmet_qualifiers(pair):
            return Findings(pair, missing=(f"{pair_text(pair)}: {self._wanted()}",))

        def find_row(key: str, period: str) -> Support | None:
            return self.row(key, pair, period, periods[-1])

        ask = replace(self.ask, part=", ".join(printed(self.ask.question, one) for one in self._parts(pair)))
        computed, missing = compute(ask, pair, periods, find_row, self.documents)
        return Findings(pair, tuple(computed), missing=tuple(f"{pair_text(pair)}: {one}" for one in missing))

    def false_presupposition(self, pairs: Sequence[Pair]) -> Refusal | None:
        """Return the refusal of a `why` whose premise the figures contradict: it asks why something fell that rose."""
        ask = self.ask
        if not (ask.kind == "reason" and ask.direction) or not (ask.ratio or len(ask.measures) == 1) or ask.qualifiers:
            return None
        for pair in pairs:
            if not (pair.company and pair.period) or self._parts(pair):
                continue
            change = replace(ask, over_time="difference")

            def find_row(key: str, period: str, pair: Pair = pair) -> Support | None:
                return self.row(key, pair, period, pair.period)

            found, _ = compute(change, pair, [pair.period], find_row, self.documents)
            computed = found[0].computed if found else None
            if computed is None or any(Decimal(one.value) <= 0 for one in computed.operands):
                continue
            difference = Decimal(computed.result)
            if difference and (difference > 0) != (ask.direction == "up"):
                went = "rose" if difference > 0 else "fell"
                reason = (
                    f"The question presupposes the opposite of what the figures show: it {went}. {found[0].sentence}"
                )
                return Refusal("QUESTION.false_presupposition", reason, (computed.name,))
        return None

    def _unmet_qualifiers(self, pair: Pair) -> bool:
        """Tell whether the question wants a variant of a measure (`adjusted`, a segment) that no formula here makes."""
        parts = self._parts(pair)
        named = narrowing_stems(parts)
        open_ones = [one for one in self.ask.qualifiers if one not in named and (one in VARIANT_STEMS or not parts)]
        return sum(weight(one) for one in open_ones) >= 1.0

    def _for_pair(self, pair: Pair) -> Findings:
        ask = self.ask
        if BY_PART.first(normal(ask.question)) and (parts := self._by_part(pair)):
            return Findings(pair, parts)
        if ask.kind in ("amount", "ratio"):
            return self._amount(pair)
        if ask.kind == "definition":
            defining = tuple(
                one for one in self._passages(pair, with_number=False) if DEFINITIONS.first(normal(one.quote))
            )
            return Findings(pair, passages=defining, missing=() if defining else (f"{pair_text(pair)}: a definition",))
        asks_what = normal(ask.question).startswith("what")
        if asks_what and ask.kind in ("what", "list") and (row := self._labelled(pair)):
            return Findings(pair, (Measured((row,)),))
        stated = self._rows(pair)[0] if ask.kind == "yes_no" and ask.measures and not ask.wants_change else []
        if stated:
            return Findings(pair, tuple(stated))
        passages = self._passages(pair, with_number=False)
        if not passages and ask.kind in ("what", "list", "yes_no", "change"):
            return self._amount(pair)
        if not passages:
            return Findings(pair, missing=(f"{pair_text(pair)}: {self._wanted()}",))
        return Findings(pair, passages=passages)

    def _rows(self, pair: Pair) -> tuple[list[Measured], list[str]]:
        """Return the rows of the named line items for a pair, and what is missing of them."""
        found: list[Measured] = []
        missing: list[str] = []
        for key in self.ask.measures[:4]:
            row = self.row(key, pair, pair.period) if pair.period else self._undated(key, pair)
            part = bool(self._parts(pair))
            if row is not None and not _row_is_of_kind(self.ask, row):
                row = None
            if row is not None and (part or not (row.figure and unqualified(row.figure, self.ask))):
                found.append(Measured((row,), what=self._unsaid(row, measures()[key].name) if part else ""))
            else:
                missing.append(f"{pair_text(pair)}: {measures()[key].name}")
        return found, missing

    def _amount(self, pair: Pair) -> Findings:
        found, missing = self._rows(pair)
        if found:
            return Findings(pair, tuple(found), missing=tuple(missing))
        row = None if self._parts(pair) else self._labelled(pair)  # the whole is no answer to what is asked of a part
        row = row if row is not None and _row_is_of_kind(self.ask, row) else None
        if row is None:
            rows = row_supports(self.ask, self.plan, pair, self.delivered, self.documents, None)
            if self.ask.measures:  # of a known line item only its own rows count, and those that say the topic whole
                beside = GROWTH if self.ask.over_time else frozenset()
                rows = [one for one in rows if one.figure and _stems(one.figure.label) - beside == set(self.ask.topic)]
            row = next((one for one in rows if _row_is_of_kind(self.ask, one)), None)
        if row is not None:
            name = measures()[self.ask.measures[0]].name if self.ask.measures else ""
            return Findings(pair, (Measured((row,), what=self._unsaid(row, name)),))
        passages = self._passages(pair, with_number=True)
        if self.ask.measures and not self.ask.wants_change:
            passages = tuple(one for one in passages if states_level(one.quote))
        for part in self._parts(pair):
            passages = tuple(one for one in passages if set(content_stems(part)) <= set(content_stems(one.quote)))
        if passages:
            return Findings(pair, passages=passages[:2])
        return Findings(pair, missing=tuple(missing) or (f"{pair_text(pair)}: {self._wanted()}",))

    def _labelled(self, pair: Pair) -> Support | None:
        """Return the row of the pair's documents whose label is the topic itself, word for word, or None."""
        if self._finder is None or not pair.company or not pair.period:
            return None
        located = self._finder.find_label(
            lambda one: exact_label_fit(one, self.ask, self.plan), pair.company, pair.period
        )
        if located is None:
            return None
        return row_support(located.figure, self._deliver(located.fragment, pair), self.documents, located.fit, pair)

    def _undated(self, key: str, pair: Pair) -> Support | None:
        """Return the row of the newest period among the deliveries, where the question names no period."""
        if parts := self._parts(pair):
            return self._row_of_part(parts, measures()[key], pair)
        newest = self._finder.newest(pair.company) if self._finder and pair.company else None
        if newest and (row := self.row(key, pair, newest)):
            return row
        rows = row_supports(self.ask, self.plan, pair, self.delivered, self.documents, measures()[key])
        dated = [one for one in rows if one.score >= ENOUGH and one.figure and one.figure.period_end]
        return max(dated, key=lambda one: ((one.figure and one.figure.period_end) or "", one.score), default=None)

    def _passages(self, pair: Pair, with_number: bool) -> tuple[Support, ...]:
        ask = self.ask
        supports = passage_supports(ask, self.plan, pair, self.delivered, self.documents)
        if self._speaks_of_nothing(pair):
            return ()
        least = LEAST_REASON_COVERAGE if ask.wants_reason else LEAST_COVERAGE
        if pair == Pair(None, None):
            least = LEAST_COVERAGE_UNSCOPED
        kept = [one for one in supports if one.coverage >= least and not NOT_DISCLOSED.first(normal(one.quote))]
        kept = [one for one in kept if not is_addressed(one.delivered.fragment, one.start, one.end)]
        if with_number:
            kept = [one for one in kept if states_figure(one.quote) and right_kind(ask, one.quote)]
        variants = VARIANT_STEMS.intersection(ask.qualifiers)  # the combined ratio is not the underlying one
        kept = [one for one in kept if variants <= set(content_stems(one.quote))]
        if ask.kind == "when":
            kept = [one for one in kept if one.coverage >= LEAST_COVERAGE_UNSCOPED and names_date(one.quote)]
        if ask.kind == "who" and asks_office(ask):
            kept = [one for one in kept if names_officer(one.quote)]
            newest = max((_year_of(one.delivered.fragment) for one in kept), default="")
            if not pair.period:  # who holds an office now is told by the newest documents that say so
                kept = [one for one in kept if _year_of(one.delivered.fragment) == newest]
        if ask.kind == "reason":
            kept = [one for one in kept if one.reason and not _says_the_opposite(ask, one.quote)]
        kept = _without_corrected(kept)
        if ask.superlative:  # only a passage that ranks says what is highest; others leave it to the reader
            ranks = next((group for group in SUPERLATIVE_GROUPS if group.first(normal(ask.question))), SUPERLATIVES)
            kept = [one for one in kept if ranks.first(normal(one.quote))]
        if OFFICE.first(normal(ask.question)) and ask.kind in ("yes_no", "what", "when"):
            kept = [one for one in kept if OFFICE.first(normal(one.quote))]
        if ask.kind == "list" and NAMED_THINGS.first(normal(ask.question)):
            kept = [one for one in kept if lists_names(one.quote)]
        if ask.wants_analyst:
            return _both_voices(kept)
        return tuple(kept)

    def _speaks_of_nothing(self, pair: Pair) -> bool:
        """Tell whether a topic of few words has one that stands nowhere in the deliveries: `launch into orbit`."""
        topic = Topic(self.ask, self.plan)
        telling = [one for one in topic.stems if weight(one) == 1.0]
        if not 1 < len(topic.stems) <= SHORT_TOPIC or not telling or topic.has_alternatives:
            return False
        texts = [one.fragment.text for one in self.delivered if bears(pair, one)]
        known = frozenset(one for text in texts for one in content_stems(text))
        roots = {one[:5] for one in known}  # `American` and `America` are one word here
        return any(one[:5] not in roots and one not in topic.synonyms_of(known) for one in telling)

    def _wanted(self) -> str:
        """Return what is missing, in words."""
        if self.ask.ratio:
            return ratios()[self.ask.ratio].name
        if self.ask.measures:
            return measures()[self.ask.measures[0]].name
        what = {
            "reason": "a stated reason",
            "amount": "a figure",
            "when": "a date",
            "change": "what changed",
            "definition": "a definition",
        }
        return what.get(self.ask.kind, "a statement on the topic")

    def undisclosed(self, pairs: Sequence[Pair]) -> tuple[Pair, ...]:
        """Return the pairs for which the company says that it does not report what is asked for."""
        return tuple(
            pair
            for pair in pairs
            if not_disclosed(self.ask, self.plan, pair, self.delivered, self.documents) is not None
        )


def _stems(text: str) -> set[str]:
    return {one for one in content_stems(text) if "-" not in one}


_CHANGED_BY = re.compile(
    r"\b(?:increas|decreas|declin|grew|grow|rose|fell|drop|improv|reduc|higher|lower|up|down)\w*(?:\s(?:by|of|was|were))?"
    r"(?:\s(?:approximately|about|nearly|over))?\s[$€£]?\s?$",
    re.IGNORECASE,
)


def states_level(quote: str) -> bool:
    """Tell whether a passage with amounts of money has one beside those by which something changed."""
    numbers = [one for one in amounts(quote) if one.unit in CURRENCIES]
    return not numbers or any(not _CHANGED_BY.search(quote[: one.start]) for one in numbers)


def _year_of(fragment: Fragment) -> str:
    """Return the year of a document: of its period, else of its filing; empty where neither is known."""
    return next(iter(re.findall(r"\d{4}", f"{fragment.period or ''} {fragment.filed or ''}")), "")


def _says_the_opposite(ask: Ask, quote: str) -> bool:
    """Tell whether a passage speaks of a rise alone where the question asks why something fell, or the other way."""
    up, down = UP.first(normal(quote)) is not None, DOWN.first(normal(quote)) is not None
    return up != down and ask.direction == ("down" if up else "up")


# What a number counts stands right behind it: not what it is measured per, nor in what it stands.
_BORDER = re.compile(r"[,;(:]|\b(?:per|in|at|for|with|on|from|to|by|which|that|each)\b", re.IGNORECASE)


def _row_is_of_kind(ask: Ask, row: Support) -> bool:
    """Tell whether a cell is of the kind that is asked for: a percentage where one is, and for `how much` no count of
    shares and no number without a unit."""
    folded, figure = normal(ask.question), row.figure
    if figure is None or ask.ratio or ask.over_time:
        return True
    if PERCENT.first(folded):
        return figure.unit == "percent"
    if ask.measures and figure.unit == "percent" and not PERCENTAGES.first(folded):
        return False
    if "how much" in folded and "%" not in folded:
        return figure.unit is not None and (figure.unit != "shares" or "shares" in folded)
    return True


def right_kind(ask: Ask, quote: str) -> bool:
    """Tell whether a passage has a number of the kind that is asked for: money for `how much … spend`, a count of the
    things themselves for `how many`."""
    folded = normal(ask.question)
    numbers = [one for one in amounts(quote) if not one.year_like]
    if MONEY.first(folded) and "percent" not in folded and "%" not in folded:
        return any(one.scaled or one.unit in CURRENCIES for one in numbers)
    counted = re.search(r"\bhow many (\w+)", folded)
    if counted and counted[1] not in ("percentage", "percent", "basis", "points", "times"):
        near = [_BORDER.split(quote[one.end : one.end + 120], maxsplit=1)[0] for one in numbers if one.unit is None]
        wanted = {stem(counted[1])} | (PEOPLE if stem(counted[1]) in PEOPLE else frozenset())
        return any(wanted.intersection(content_stems(after)[:8]) for after in near)
    return True


BY_PART = phrases("by_part")
PEOPLE = frozenset(map(stem, ("associates", "employees", "people", "persons", "staff", "workers")))
GROWTH = frozenset(map(stem, ("change", "decline", "decrease", "growth", "increase")))
SPANS = Phrases(["average", "between", "defined", "define", "calculate", "calculated", "formula", "using"])
NAMED_THINGS = phrases("named_things")
SUPERLATIVE_GROUPS = (phrases("size_superlatives"), phrases("least_superlatives"))
PERCENT = phrases("asks_percent")
PERCENTAGES = Phrases(["percent", "percentage", "rate", "ratio", "margin", "share of", "proportion", "%"])
COMPARATIVES = phrases("comparatives")
MONEY = phrases("asks_money")
CURRENCIES = frozenset(("USD", "EUR", "GBP", "CNY"))


def _without_corrected(passages: Sequence[Support]) -> list[Support]:
    """Leave out what a later document of the same issuer corrects: an older passage with a number that it names."""
    corrections = [one for one in passages if CORRECTION.first(normal(one.quote))]

    def corrected(one: Support) -> bool:
        fragment, numbers = one.delivered.fragment, {number.value for number in amounts(one.quote)}
        return any(
            other.delivered.fragment.company == fragment.company
            and (other.delivered.fragment.filed or "") > (fragment.filed or "9")
            and numbers & {number.value for number in amounts(other.quote) if not number.year_like and number.unit}
            for other in corrections
        )

    return [one for one in passages if not corrected(one)]


def _both_voices(passages: Sequence[Support]) -> tuple[Support, ...]:
    """Put the best passage of the company's side and of an analyst first, where both are asked about."""
    sides = [
        [one for one in passages if (one.delivered.fragment.role == "analyst") is analyst] for analyst in (False, True)
    ]
    first = [side[0] for side in sides if side]
    return (*first, *(one for one in passages if one not in first))


def refuse_undisclosed(pairs: Sequence[Pair]) -> Refusal:
    """Return the refusal for what a company says that it does not report."""
    names = tuple(sorted(map(pair_text, pairs)))
    reason = f"The documents say that this is not reported: {', '.join(names)}."
    return Refusal("EVIDENCE_TYPE.not_disclosed", reason, names)


def insufficient(findings: Sequence[Findings]) -> tuple[tuple[Pair, ...], Refusal | None]:
    """Return the pairs for which the evidence does not suffice, and the refusal that names what is missing."""
    lacking = tuple(one.pair for one in findings if not one.measured and not one.passages)
    if not lacking:
        return (), None
    missing = tuple(sorted({text for one in findings if one.pair in lacking for text in one.missing}))
    reason = f"Passages on the subject were found, but they do not state: {'; '.join(missing)}."
    return lacking, Refusal("EVIDENCE.insufficient", reason, missing)


def covered_pairs(pairs: Sequence[Pair], delivered: Sequence[Delivered]) -> frozenset[Pair]:
    """Return the pairs that some delivered fragment belongs to."""
    return frozenset(pair for pair in pairs if any(covers(pair, one.fragment) for one in delivered))
