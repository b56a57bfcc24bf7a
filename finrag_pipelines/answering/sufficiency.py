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
from finrag_pipelines.answering.numbers import amounts
from finrag_pipelines.answering.question import Ask, measures, ratios
from finrag_pipelines.answering.statements import ENOUGH, StatementFinder
from finrag_pipelines.answering.support import passage_supports, row_support, row_supports
from finrag_pipelines.evidence.records import Refusal
from finrag_pipelines.retrieval.model import Pair, Plan

LEAST_COVERAGE = 0.5
LEAST_REASON_COVERAGE = 0.4


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
        if self._finder is not None and pair.company and measure.statement != "any":
            located = self._finder.find(measure, pair.company, period, preferred)
            if located is not None:
                one = self._deliver(located.fragment, exact)
                return row_support(located.figure, one, self.documents, located.fit, exact)
        rows = row_supports(self.ask, self.plan, exact, self.delivered, self.documents, measure)
        if rows and rows[0].score >= ENOUGH:
            return rows[0]
        if self._finder is not None and pair.company:
            located = self._finder.find(measure, pair.company, period, preferred)
            if located is not None:
                one = self._deliver(located.fragment, exact)
                return row_support(located.figure, one, self.documents, located.fit, exact)
        return None

    def _deliver(self, fragment, pair: Pair) -> Delivered:
        for one in self.delivered:
            if one.fragment.fragment_id == fragment.fragment_id:
                return one
        made = Delivered(len(self.delivered) + 1, fragment, pair)
        self.delivered.append(made)
        self.located.append(made)
        return made

    def findings(self, pairs: Sequence[Pair]) -> list[Findings]:
        """Return what the evidence holds for each pair; a computed measure stands with the last pair of its company."""
        found: list[Findings] = []
        if self._computes():
            for company in dict.fromkeys(pair.company for pair in pairs):
                periods = sorted({one.period for one in pairs if one.company == company and one.period})
                found.append(self._computed(Pair(company, periods[-1] if periods else None), periods))
            if all(one.measured for one in found):
                return found
            if self.ask.kind == "ratio":
                stated = [self._stated(one.pair) for one in found]
                if all(one is not None for one in stated):
                    return [one for one in stated if one is not None]
                return found
            found = []
        return [self._for_pair(pair) for pair in pairs]

    def _computes(self) -> bool:
        ask = self.ask
        return bool(ask.ratio) or (bool(ask.measures) and ask.over_time is not None and ask.kind in ("ratio", "yes_no"))

    def _computed(self, pair: Pair, periods: list[str]) -> Findings:
        if not pair.company:
            return Findings(pair, missing=("the company",))

        def find_row(key: str, period: str) -> Support | None:
            return self.row(key, pair, period, periods[-1])

        computed, missing = compute(self.ask, pair, periods, find_row, self.documents)
        names = tuple(measures()[one].name if one in measures() else one for one in missing)
        return Findings(pair, tuple(computed), missing=tuple(f"{pair_text(pair)}: {one}" for one in names))

    def _stated(self, pair: Pair) -> Findings | None:
        """Return a ratio that the documents state themselves, by its own name, or None."""
        rows = row_supports(self.ask, self.plan, pair, self.delivered, self.documents, None)
        passages = self._passages(pair, with_number=True)
        if rows:
            return Findings(pair, (Measured(rows[:1]),))
        return Findings(pair, passages=passages) if passages else None

    def _for_pair(self, pair: Pair) -> Findings:
        ask = self.ask
        if ask.kind in ("amount", "ratio"):
            return self._amount(pair)
        passages = self._passages(pair, with_number=False)
        if not passages and ask.kind in ("what", "list", "yes_no", "change"):
            return self._amount(pair)
        if not passages:
            return Findings(pair, missing=(f"{pair_text(pair)}: {self._wanted()}",))
        return Findings(pair, passages=passages, missing=self._unsaid(pair, passages))

    def _amount(self, pair: Pair) -> Findings:
        found: list[Measured] = []
        missing: list[str] = []
        for key in self.ask.measures[:3]:
            row = self.row(key, pair, pair.period) if pair.period else self._undated(key, pair)
            if row is not None:
                found.append(Measured((row,)))
            else:
                missing.append(f"{pair_text(pair)}: {measures()[key].name}")
        if found:
            return Findings(pair, tuple(found), missing=tuple(missing))
        rows = row_supports(self.ask, self.plan, pair, self.delivered, self.documents, None)
        if rows:
            return Findings(pair, (Measured((rows[0],)),))
        passages = self._passages(pair, with_number=True)
        if passages:
            return Findings(pair, passages=passages[:2])
        return Findings(pair, missing=tuple(missing) or (f"{pair_text(pair)}: {self._wanted()}",))

    def _undated(self, key: str, pair: Pair) -> Support | None:
        """Return the row of the newest period among the deliveries, where the question names no period."""
        rows = row_supports(self.ask, self.plan, pair, self.delivered, self.documents, measures()[key])
        rows = [one for one in rows if one.score >= ENOUGH and one.figure and one.figure.period]
        return max(rows, key=lambda one: (one.figure.period_end or "", one.score), default=None) if rows else None

    def _passages(self, pair: Pair, with_number: bool) -> tuple[Support, ...]:
        ask = self.ask
        supports = passage_supports(ask, self.plan, pair, self.delivered)
        least = LEAST_REASON_COVERAGE if ask.wants_reason else LEAST_COVERAGE
        kept = [one for one in supports if one.coverage >= least]
        if with_number:
            kept = [one for one in kept if any(not number.year_like for number in amounts(one.quote))]
        if ask.wants_reason and kept:
            reasons = [one for one in kept if one.reason]
            kept = reasons and [*reasons, *(one for one in kept if not one.reason)]
        return tuple(kept)

    def _wanted(self) -> str:
        """Return what is missing, in the words of the question's topic."""
        if self.ask.ratio:
            return ratios()[self.ask.ratio].name
        if self.ask.measures:
            return measures()[self.ask.measures[0]].name
        what = {"reason": "a stated reason", "amount": "a figure", "when": "a date", "change": "what changed"}
        return what.get(self.ask.kind, "a statement on the topic")

    def _unsaid(self, pair: Pair, passages: Sequence[Support]) -> tuple[str, ...]:
        return ()


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
