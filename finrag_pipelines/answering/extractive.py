"""The generator that makes nothing up: it picks and orders sentences and table rows, and computes what it can cite."""

from collections.abc import Sequence
from dataclasses import dataclass

from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.measured import Measured
from finrag_pipelines.answering.model import AnswerConfig, Draft, Support
from finrag_pipelines.answering.question import Ask
from finrag_pipelines.answering.wording import attribution, figure_sentence, quoted
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
        for measured in one.measured:
            drafts.append(_measured_draft(measured, documents))
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


def _measured_draft(measured: Measured, documents: Documents) -> Draft:
    if measured.computed is None:
        return Draft(figure_sentence(measured.supports[0], documents), measured.supports[:1])
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
