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
    for one in findings:
        for measured in one.measured:
            drafts.append(_measured_draft(measured, documents))
        limit = config.max_sentences if not several else max(1, config.max_sentences - 1)
        if one.measured and ask.kind in ("amount", "ratio"):
            limit = 0
        drafts += [_passage_draft(support, documents) for support in _chosen(one.passages, limit)]
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


def _chosen(passages: Sequence[Support], limit: int) -> list[Support]:
    """Take the best passages that do not repeat each other; one far behind the best is left out."""
    chosen: list[Support] = []
    said: set[str] = set()
    for one in passages:
        key = " ".join(one.quote.casefold().split())
        if len(chosen) >= limit or (chosen and one.score < 0.6 * chosen[0].score):
            break
        if key not in said:
            said.add(key)
            chosen.append(one)
    return chosen


def _distinct(drafts: Sequence[Draft]) -> list[Draft]:
    seen: set[str] = set()
    return [one for one in drafts if not (one.text in seen or seen.add(one.text))]
