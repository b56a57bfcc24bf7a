"""Measures of one answer against gold evidence and reference: citations, coverage, numbers, and whether it is wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

from finrag_pipelines.answering.model import ANSWERED
from finrag_pipelines.answering.numbers import Amount, amounts, same_value, units_agree
from finrag_pipelines.evaluation.gold import LocatedGold, overlap
from finrag_pipelines.evaluation.sets import Question
from finrag_pipelines.evidence.records import AnswerRecord, CitationRow

FIGURE_TAG = "figure"
UNANSWERABLE = "answered_unanswerable"
UNCITED_PAIR = "pair_without_citation"
OTHER_FIGURE = "figure_not_in_answer"


@dataclass(frozen=True)
class CitationScore:
    """`precision`: share of citations that touch gold evidence. `recall`: share of gold evidence that is cited.

    Gold evidence names passages that suffice, not all that do: precision is a lower bound.
    """

    precision: float | None
    recall: float | None


def touches(citation: CitationRow, gold: LocatedGold) -> bool:
    """Tell whether a citation's range shares text with gold evidence."""
    same = citation.representation_id == gold.representation_id
    return same and any(overlap(span, (citation.start, citation.end)) for span in gold.ranges)


def citation_score(citations: Sequence[CitationRow], gold: Sequence[LocatedGold]) -> CitationScore:
    """Score citations against located gold evidence; None where there is nothing to divide by."""
    right = sum(any(touches(one, passage) for passage in gold) for one in citations)
    cited = sum(any(touches(one, passage) for one in citations) for passage in gold)
    return CitationScore(
        right / len(citations) if citations else None,
        cited / len(gold) if gold else None,
    )


def reference_numbers(text: str) -> list[Amount]:
    """Return the numbers of a reference answer that mean a quantity: years, days and bare small counts are none."""
    return [
        one
        for one in amounts(text)
        if not one.year_like and (one.unit or one.scaled or "," in one.printed or "." in one.printed)
    ]


def stated(number: Amount, answer: Sequence[Amount]) -> bool:
    """Tell whether an answer states a number: equal at the coarser precision, and units that may name the same.

    A number without a unit on either side matches by value alone: tables state their units elsewhere.
    """
    return any(
        same_value(number, one) and (number.unit is None or one.unit is None or units_agree(number.unit, one.unit))
        for one in answer
    )


def numeric_match(reference: str, answer: str) -> float | None:
    """Return the share of the reference's numbers that the answer states; None where the reference has none."""
    wanted = reference_numbers(reference)
    given = amounts(answer)
    return sum(stated(one, given) for one in wanted) / len(wanted) if wanted else None


def pairs_cited(question: Question, record: AnswerRecord, reported: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the required pairs that no citation belongs to, as `KO/2026Q1`, sorted.

    `reported` gives for each cited fragment the periods that it reports beside its filing's.
    """
    missing = []
    for company, period in question.pairs:
        if not any(
            (company is None or one.company == company)
            and (period is None or one.period == period or period in reported.get(one.fragment_id, ()))
            for one in record.citations
        ):
            missing.append("/".join(filter(None, (company, period))))
    return sorted(missing)


def wrong_answer(question: Question, record: AnswerRecord, reported: dict[str, tuple[str, ...]]) -> str | None:
    """Return why an answer does not hold, or None: for a refusal and for what these checks find no fault with.

    Wrong is what answers an unanswerable question, leaves a required company or period without a citation, or, where
    a figure was asked for, states none of the reference's. Nothing here judges prose: this is a lower bound.
    """
    if record.decision != ANSWERED:
        return None
    if not question.answerable:
        return UNANSWERABLE
    if missing := pairs_cited(question, record, reported):
        return f"{UNCITED_PAIR}: {', '.join(missing)}"
    if FIGURE_TAG in question.tags and numeric_match(question.reference_answer, record.answer) == 0.0:
        return OTHER_FIGURE
    return None
