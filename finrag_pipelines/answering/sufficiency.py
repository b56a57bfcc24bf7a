"""Does the evidence hold what was asked for? Per kind of question: the figure, the cause, both sides of a change.

This is decided on the passages that can be quoted, not on a score: a fragment about the right subject without the
figure, the cause or the period does not pass.
"""

from collections.abc import Sequence

from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.extractive import Findings
from finrag_pipelines.answering.gates import covers, pair_text
from finrag_pipelines.answering.measured import Measured, compute
from finrag_pipelines.answering.model import Delivered, Support
from finrag_pipelines.answering.numbers import amounts, states_figure
from finrag_pipelines.answering.question import Ask, measures, ratios
from finrag_pipelines.answering.statements import ENOUGH, StatementFinder
from finrag_pipelines.answering.support import (
    CORRECTION,
    NOT_DISCLOSED,
    SUPERLATIVES,
    exact_label_fit,
    not_disclosed,
    passage_supports,
    row_support,
    row_supports,
    unqualified,
    weight,
)
from finrag_pipelines.answering.words import normal
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.evidence.records import Refusal
from finrag_pipelines.retrieval.model import Pair, Plan

LEAST_COVERAGE = 0.5
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

    def row(self, key: str, pair: Pair, period: str, preferred: str | None = None) -> Support | None:
        """Return the row that states a line item for a company and period, from deliveries or by look-up."""
        measure = measures()[key]
        exact = Pair(pair.company, period)
        if self._finder is not None and pair.company:
            located = self._finder.find(measure, pair.company, period, preferred)
            if located is not None:
                one = self._deliver(located.fragment, exact)
                return row_support(located.figure, one, self.documents, located.fit, exact)
        rows = row_supports(self.ask, self.plan, exact, self.delivered, self.documents, measure)
        rows = [one for one in rows if one.coverage >= ENOUGH]
        values = {one.figure.value for one in rows if one.figure and one.coverage == rows[0].coverage}
        return rows[0] if len(values) == 1 else None

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
        if self._computes() and (computed := self._over_companies(pairs)):
            return computed
        return [self._for_pair(pair) for pair in pairs]

    def _computes(self) -> bool:
        ask = self.ask
        if ask.superlative and len(ask.measures) > 1:
            return True
        return ask.kind in ("ratio", "yes_no") and bool(ask.ratio or (ask.measures and ask.over_time))

    def _over_companies(self, pairs: Sequence[Pair]) -> list[Findings] | None:
        """Return the computed or stated measure of each company, or None where passages have to answer."""
        found: list[Findings] = []
        for company in dict.fromkeys(pair.company for pair in pairs):
            periods = sorted({one.period for one in pairs if one.company == company and one.period})
            if self.ask.over_time is None and self.ask.wants_change and len(periods) > 1:
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
        rows = row_supports(self.ask, self.plan, pair, self.delivered, self.documents, None)
        rows = [one for one in rows if one.coverage >= 0.9 and one.figure and one.figure.unit in ("percent", None)]
        return Findings(pair, (Measured(tuple(rows[:1])),)) if rows else None

    def _computed(self, pair: Pair, periods: list[str]) -> Findings:
        if not pair.company:
            return Findings(pair, missing=("the company",))
        if self._unmet_qualifiers():
            return Findings(pair, missing=(f"{pair_text(pair)}: {self._wanted()}",))

        def find_row(key: str, period: str) -> Support | None:
            return self.row(key, pair, period, periods[-1])

        computed, missing = compute(self.ask, pair, periods, find_row, self.documents)
        return Findings(pair, tuple(computed), missing=tuple(f"{pair_text(pair)}: {one}" for one in missing))

    def _unmet_qualifiers(self) -> bool:
        """Tell whether the question wants a variant of a measure (`adjusted`, a segment) that no formula here makes."""
        return sum(weight(one) for one in self.ask.qualifiers) >= 1.0

    def _for_pair(self, pair: Pair) -> Findings:
        ask = self.ask
        if ask.kind in ("amount", "ratio"):
            return self._amount(pair)
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
            if row is not None and not (row.figure and unqualified(row.figure, self.ask)):
                found.append(Measured((row,)))
            else:
                missing.append(f"{pair_text(pair)}: {measures()[key].name}")
        return found, missing

    def _amount(self, pair: Pair) -> Findings:
        found, missing = self._rows(pair)
        if found:
            return Findings(pair, tuple(found), missing=tuple(missing))
        rows = row_supports(self.ask, self.plan, pair, self.delivered, self.documents, None)
        row = self._labelled(pair) or (rows[0] if rows else None)
        if row is not None:
            return Findings(pair, (Measured((row,)),))
        passages = self._passages(pair, with_number=True)
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
        rows = row_supports(self.ask, self.plan, pair, self.delivered, self.documents, measures()[key])
        dated = [one for one in rows if one.score >= ENOUGH and one.figure and one.figure.period_end]
        return max(dated, key=lambda one: ((one.figure and one.figure.period_end) or "", one.score), default=None)

    def _passages(self, pair: Pair, with_number: bool) -> tuple[Support, ...]:
        ask = self.ask
        supports = passage_supports(ask, self.plan, pair, self.delivered, self.documents)
        least = LEAST_REASON_COVERAGE if ask.wants_reason else LEAST_COVERAGE
        if pair == Pair(None, None):
            least = LEAST_COVERAGE_UNSCOPED
        kept = [one for one in supports if one.coverage >= least and not NOT_DISCLOSED.first(normal(one.quote))]
        if with_number:
            kept = [one for one in kept if states_figure(one.quote)]
        if ask.kind == "reason":
            kept = [one for one in kept if one.reason]
        kept = _without_corrected(kept)
        if ask.superlative:  # only a passage that ranks says what is highest; others leave it to the reader
            kept = [one for one in kept if SUPERLATIVES.first(normal(one.quote))]
        if ask.wants_analyst:
            return _both_voices(kept)
        return tuple(kept)

    def _wanted(self) -> str:
        """Return what is missing, in words."""
        if self.ask.ratio:
            return ratios()[self.ask.ratio].name
        if self.ask.measures:
            return measures()[self.ask.measures[0]].name
        what = {"reason": "a stated reason", "amount": "a figure", "when": "a date", "change": "what changed"}
        return what.get(self.ask.kind, "a statement on the topic")

    def undisclosed(self, pairs: Sequence[Pair]) -> tuple[Pair, ...]:
        """Return the pairs for which the company says that it does not report what is asked for."""
        return tuple(
            pair
            for pair in pairs
            if not_disclosed(self.ask, self.plan, pair, self.delivered, self.documents) is not None
        )


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
