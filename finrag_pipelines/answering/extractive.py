"""The generator that makes nothing up: it picks and orders sentences and table rows, and computes what it can cite."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.measured import HIGHEST, LOWEST, Measured
from finrag_pipelines.answering.mentions import DOWN, NEGATION, UP
from finrag_pipelines.answering.model import AnswerConfig, Draft, Support
from finrag_pipelines.answering.numbers import amounts
from finrag_pipelines.answering.question import Ask
from finrag_pipelines.answering.wording import attribution, figure_sentence, quoted
from finrag_pipelines.answering.words import Phrases, normal, phrases
from finrag_pipelines.retrieval.model import Pair, Plan

NAME = "extractive"
VERSION = "1"


@dataclass(frozen=True)
class Findings:
    """What the delivered evidence holds for one pair: figures, computed numbers, passages, and what was not found."""

    pair: Pair
    measured: tuple[Measured, ...] = ()
    passages: tuple[Support, ...] = ()
    missing: tuple[str, ...] = ()


def generate(
    ask: Ask, plan: Plan, findings: Sequence[Findings], documents: Documents, config: AnswerConfig
) -> list[Draft]:
    """Return the sentences of an answer, pair by pair in the plan's order, and a remark on what remains unknown."""
    drafts: list[Draft] = []
    several = len(findings) > 1
    taken: list[Support] = []
    for one in findings:
        for place, measured in enumerate(one.measured):
            draft = _measured_draft(measured, documents)
            lead = verdict(ask, measured) if ask.kind == "yes_no" and place == 0 else ""
            drafts.append(replace(draft, lead=lead) if lead else draft)
        limit = _limit(ask, config, several)
        if one.measured and not ask.wants_reason:
            limit = 0
        chosen = _chosen(one.passages, limit, taken)
        taken += chosen
        drafts += [_passage_draft(support, documents) for support in chosen]
    drafts = _distinct(drafts)
    missing = sorted({text for one in findings for text in one.missing})
    if missing and drafts:
        drafts.append(Draft(f"Not found in the evidence that was read: {'; '.join(missing)}.", remark=True))
    return drafts


def verdict(ask: Ask, measured: Measured) -> str:
    """Return `Yes. ` or `No. ` where the figure itself decides the question: its direction, sign or a threshold."""
    folded = normal(ask.question.partition("?")[0])
    computed = measured.computed
    if NEGATION.first(folded):
        return ""
    if computed is not None and computed.formula in (HIGHEST, LOWEST):
        return ""
    value = Decimal(computed.result) if computed else measured.supports[0].figure and measured.supports[0].figure.value
    if value is None:
        return ""
    over_time = computed is not None and computed.over_time in ("growth", "difference", "compound")
    if over_time and ask.direction:
        return _yes((value > 0) == (ask.direction == "up")) if value else _yes(False)
    if over_time:
        return ""
    stated = [one for one in amounts(ask.question) if not one.year_like and (one.unit or one.scaled)]
    above, below = ABOVE.first(folded), BELOW.first(folded)
    if len(stated) == 1 and bool(above) != bool(below):
        limit = stated[0].value / 100 if computed and stated[0].unit == "percent" else stated[0].value
        return _yes(abs(value) > limit if above else abs(value) < limit)
    signs = [one for one in ("positive", "negative") if f" {one} " in f" {folded} "]
    if len(signs) == 1:
        return _yes((value > 0) == (signs[0] == "positive"))
    if value and PROFIT.first(folded):
        return _yes(value > 0)
    if value and LOSS.first(folded):
        return _yes(value < 0)
    if computed is None and value and EXISTENCE.first(folded) and not (UP.first(folded) or DOWN.first(folded)):
        return "Yes. "
    return ""


def _yes(holds: bool) -> str:
    return "Yes. " if holds else "No. "


ABOVE = phrases("above_threshold")
BELOW = phrases("below_threshold")
EXISTENCE = phrases("existence_verbs")
PROFIT = Phrases(["make a profit", "made a profit", "turn a profit", "turned a profit", "profitable"])
LOSS = Phrases(["make a loss", "made a loss", "make a net loss", "loss-making"])


def _measured_draft(measured: Measured, documents: Documents) -> Draft:
    if measured.computed is None:
        return Draft(figure_sentence(measured.supports[0], documents, measured.what), measured.supports[:1])
    return Draft(measured.sentence, measured.supports, measured.computed)


def _passage_draft(support: Support, documents: Documents) -> Draft:
    return Draft(f"{attribution(support.delivered.fragment, documents)}: {quoted(support.quote)}", (support,))


def _limit(ask: Ask, config: AnswerConfig, several: bool) -> int:
    """Return how many passages a pair gets: more where a list or a change is asked for, fewer where pairs compare."""
    if ask.kind in ("list", "change") and not several:
        return config.max_sentences + 2
    return max(1, config.max_sentences - 1) if several else config.max_sentences


def _chosen(passages: Sequence[Support], limit: int, taken: Sequence[Support]) -> list[Support]:
    """Take the best passages that do not overlap or repeat each other; one far behind the best is left out."""
    chosen: list[Support] = []
    for one in passages:
        if len(chosen) >= limit or (chosen and one.score < 0.55 * chosen[0].score):
            break
        if not any(_overlap(one, other) for other in (*chosen, *taken)):
            chosen.append(one)
    if not chosen and passages and limit:
        return [passages[0]]  # two pairs share their only passage
    return chosen


def _overlap(one: Support, other: Support) -> bool:
    same = one.delivered.fragment.representation_id == other.delivered.fragment.representation_id
    if same and one.start < other.end and other.start < one.end:
        return True
    return " ".join(one.quote.casefold().split()) == " ".join(other.quote.casefold().split())


def _distinct(drafts: Sequence[Draft]) -> list[Draft]:
    seen: set[str] = set()
    return [one for one in drafts if not (one.text in seen or seen.add(one.text))]
