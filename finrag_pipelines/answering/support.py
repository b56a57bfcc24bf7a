"""Finding the passages that bear an answer: sentences that are about the topic, table rows that hold the figure.

Both the sufficiency gate and the extractive generator stand on this, so that what passes the gate can be said.
"""

import re
from collections.abc import Sequence

from finrag_pipelines.answering.documents import Documents, Figure, is_whole
from finrag_pipelines.answering.mentions import DOWN, UP, periods_in
from finrag_pipelines.answering.model import Delivered, Support
from finrag_pipelines.answering.numbers import amounts, states_figure
from finrag_pipelines.answering.question import Ask, Measure, measure_phrases
from finrag_pipelines.answering.words import Phrases, content_stems, normal, phrases, sentences, stem, word_list
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.parsing.model import ElementKind
from finrag_pipelines.retrieval.lexicon import load_lexicon
from finrag_pipelines.retrieval.model import Pair, Plan

CAUSES = phrases("causes")
CORRECTION = phrases("correction")
DEFINITIONS = phrases("definitions")
NOT_DISCLOSED = phrases("not_disclosed")
COMPARED = phrases("asks_change")
SUPERLATIVES = phrases("superlatives")
_BOILERPLATE = phrases("boilerplate")
_GENERIC = frozenset(map(stem, word_list("generic_words")))
_CHANGE_STEMS = frozenset(map(stem, word_list("change_words")))
MAX_QUOTE = 700


def weight(one: str) -> float:
    """Return how much a topic stem counts: a word that half of all filings use counts little."""
    return 0.55 if one in _GENERIC else 1.0


class Topic:
    """The stems of a question's topic, with lexicon synonyms and alternatives joined by `or`."""

    def __init__(self, ask: Ask, plan: Plan) -> None:
        self.stems = tuple(one for one in ask.topic if not {"-", "/", "."} & set(one))
        self._changes = not self.stems and ask.wants_change  # "What changed in 2023?" has no other topic
        self._synonyms = [
            (frozenset(content_stems(name)), wordings)
            for concept in map(load_lexicon().concept, dict.fromkeys(hit for hit, _ in plan.expansions))
            if (wordings := [frozenset(content_stems(term)) for term in concept.terms if content_stems(term)])
            for name in (concept.name, *(alias for alias in concept.aliases if _is_acronym(alias, concept.name)))
        ]
        self._own = known = frozenset(self.stems)
        parts = re.split(r"\bor\b", normal(ask.question))
        groups = [tuple(one for one in dict.fromkeys(content_stems(part)) if one in known) for part in parts]
        self._alternatives = [one for one in groups if one] if len([one for one in groups if one]) > 1 else []

    @property
    def has_alternatives(self) -> bool:
        """Tell whether the question joins topics by `or`."""
        return bool(self._alternatives)

    def synonyms_of(self, found: frozenset[str]) -> frozenset[str]:
        """Return the topic's stems that a text with these stems says in other words. What a measure is computed from
        is no other word for it."""
        hits = (hit for hit, terms in self._synonyms if any(term <= found for term in terms))
        return frozenset(one for hit in hits if hit <= self._own for one in hit)

    def coverage(self, found: frozenset[str]) -> float:
        """Return the weighted share, 0 to 1, of the topic that a passage with these stems is about."""
        if not self.stems:
            return 0.8 if self._changes and found & _CHANGE_STEMS else 0.0
        matched = (set(self.stems) & found) | self.synonyms_of(found)
        for term, _ in self._synonyms:
            # `share` and `value` alone say nothing of book value per share.
            if term <= self._own and not term <= matched:
                matched -= term
        whole = _share(matched, self.stems)
        return max([whole, *(0.9 * _share(matched, one) for one in self._alternatives)])


def _is_acronym(alias: str, name: str) -> bool:
    """Tell whether an alias is made of the first letters of a name. Other aliases help to find what may be about the
    topic (`annual meeting` for votes), and say no more than that."""
    return alias == "".join(word[0] for word in name.split())


def _share(matched: set[str], wanted: Sequence[str]) -> float:
    return sum(weight(one) for one in wanted if one in matched) / sum(weight(one) for one in wanted)


def bears(pair: Pair, delivered: Delivered) -> bool:
    """Tell whether a delivered fragment belongs to a pair: company equal, period filed or reported."""
    fragment = delivered.fragment
    if pair.company is not None and fragment.company != pair.company:
        return False
    return pair.period is None or pair.period == fragment.period or pair.period in fragment.periods


def passage_supports(
    ask: Ask, plan: Plan, pair: Pair, delivered: Sequence[Delivered], documents: Documents
) -> list[Support]:
    """Return the passages of the pair's fragments that are about the topic, best first.

    A passage is a sentence, with those that follow it in its paragraph where they go on about it.
    """
    topic = Topic(ask, plan)
    named = measure_phrases(ask.ratio, ask.measures)
    found: list[Support] = []
    for one in delivered:
        if not bears(pair, one) or one.fragment.is_pointer or _wrong_voice(ask, one):
            continue
        if ask.speakers and one.fragment.speaker not in ask.speakers:
            continue
        found += _passages_of(ask, topic, named, pair, one, documents)
    return sorted(found, key=lambda one: (-one.score, one.delivered.position, one.start))


def _wrong_voice(ask: Ask, delivered: Delivered) -> bool:
    """Tell whether the words are those of an operator or, unless analysts are asked about, of an analyst."""
    role = delivered.fragment.role
    if role == "analyst":
        return not ask.wants_analyst
    return role == "operator"


_PROSE = frozenset({ElementKind.PARAGRAPH, ElementKind.LIST_ITEM, ElementKind.TURN})


def _paragraphs(fragment: Fragment, documents: Documents) -> list[tuple[int, int]]:
    """Return the ranges, in the representation, of a fragment's prose: no titles, tables or furniture."""
    elements = documents.elements(fragment.representation_id)
    found = []
    for element in elements:
        start, end = max(element.start, fragment.start), min(element.end, fragment.end)
        if start < end and element.kind in _PROSE:
            found.append((start, end))
    return found


def _passages_of(
    ask: Ask, topic: Topic, named: Phrases | None, pair: Pair, one: Delivered, documents: Documents
) -> list[Support]:
    fragment = one.fragment
    title = frozenset(content_stems(fragment.section_title or ""))
    headed = topic.coverage(title) >= 0.5
    around = topic.coverage(frozenset(content_stems(f"{fragment.section_title or ''} {fragment.text}")))
    if around < 0.3:
        return []
    found = []
    for first, last in _paragraphs(fragment, documents):
        text = fragment.text[first - fragment.start : last - fragment.start]
        ranges = list(sentences(text))
        for place, (start, end) in enumerate(ranges):
            quote = text[start:end]
            if not _can_be_said(quote, fragment.role == "analyst"):
                continue
            coverage = topic.coverage(frozenset(content_stems(quote)))
            if headed:  # the heading names the topic; the sentences under it need not repeat it
                coverage = max(coverage, 0.7 * topic.coverage(frozenset(content_stems(quote)) | title))
            if coverage <= 0 or (named is not None and named.first(normal(quote)) is None):
                continue
            lead = CAUSES.first(normal(quote)) is not None
            score = coverage + 0.3 * around + _fit(ask, pair, one, quote, lead)
            end = _extended(ask, topic, text, ranges, place)
            quote = text[start:end]
            reason = CAUSES.first(normal(quote)) is not None
            found.append(Support(one, first + start, first + end, quote, round(score, 6), coverage, None, reason, pair))
    return found


def _can_be_said(quote: str, is_question: bool) -> bool:
    """Tell whether a sentence states something: no heading, pointer or question (but that of an analyst)."""
    folded = normal(quote)
    if len(quote) > MAX_QUOTE or len(folded.split()) < 4 or quote.endswith(":"):
        return False
    if not quote.endswith((".", "!", "。", '"', "”", ")", ";")) and not (is_question and quote.endswith("?")):
        return False
    if not (quote[0].isupper() or quote[0].isdigit() or quote[0] in _OPENERS or not quote[0].isascii()):
        return False  # the tail of a sentence, an item of an enumeration, or a line without sentences
    if quote[0] in _NOTE_MARKS or _NOTE_NUMBER.match(quote):
        return False
    return _BOILERPLATE.first(folded) is None and not folded.startswith(("see ", "refer to "))


_OPENERS = "\"'“‘([$€£¥"
_NOTE_MARKS = "¹²³⁴⁵⁶⁷⁸⁹⁰*†‡§"
_NOTE_NUMBER = re.compile(r"\((?:[a-z]|\d{1,2})\)\s")


def _extended(ask: Ask, topic: Topic, text: str, ranges: Sequence[tuple[int, int]], place: int) -> int:
    """Return where a passage ends: it goes on while the next sentences carry the detail of what the first announces."""
    start, end = ranges[place]
    if ask.kind in ("amount", "ratio", "yes_no", "when"):
        return end
    for following in ranges[place + 1 : place + (4 if ask.wants_reason else 3)]:
        piece = text[following[0] : following[1]]
        if following[1] - start > LONGEST_PASSAGE or not _can_be_said(piece, False):
            break
        detail = any(not number.year_like for number in amounts(piece)) or CAUSES.first(normal(piece)) is not None
        if not detail and topic.coverage(frozenset(content_stems(piece))) == 0:
            break
        end = following[1]
    return end


LONGEST_PASSAGE = 480


def _fit(ask: Ask, pair: Pair, one: Delivered, quote: str, reason: bool) -> float:
    """Score what makes a sentence a better answer of this kind, beside its topic."""
    fragment = one.fragment
    folded = normal(quote)
    score = 0.25 / one.position**0.5
    if ask.wants_reason and reason:
        score += 0.35
    if ask.attributed and fragment.speaker and fragment.role not in ("analyst", "operator"):
        score += 0.2
    if pair.period and fragment.period == pair.period:
        score += 0.4
    if pair.period:
        stated = periods_in(quote, fragment.company)
        score += 0.2 if pair.period in stated else -0.3 if stated else 0.0
    if states_figure(quote):
        score += 0.1
    if ask.wants_change and (UP.first(folded) or DOWN.first(folded) or COMPARED.first(folded)):
        score += 0.15
    if CORRECTION.first(folded):
        score += 0.2
    if DEFINITIONS.first(folded) and ask.kind != "definition":
        score -= 0.4
    if (fragment.section_title or "").casefold().startswith("risk factors") and "risk" not in normal(ask.question):
        score -= 0.25
    return score


def not_disclosed(
    ask: Ask, plan: Plan, pair: Pair, delivered: Sequence[Delivered], documents: Documents
) -> Support | None:
    """Return the sentence in which the company says that it does not report what is asked for, or None."""
    for one in passage_supports(ask, plan, pair, delivered, documents):
        if one.coverage >= 0.8 and NOT_DISCLOSED.first(normal(one.quote)):
            return one
    return None


def row_supports(
    ask: Ask, plan: Plan, pair: Pair, delivered: Sequence[Delivered], documents: Documents, measure: Measure | None
) -> list[Support]:
    """Return the table rows of the pair's fragments that hold the figure, best first, one cell each."""
    topic = Topic(ask, plan)
    found: list[Support] = []
    for one in delivered:
        if not bears(pair, one):
            continue
        for figure in documents.figures_in(one.fragment):
            if pair.period and not period_agrees(figure, pair.period):
                continue
            fit = label_fit(figure, measure) - unqualified(figure, ask) if measure else _topic_fit(figure, topic)
            if fit > 0:
                found.append(row_support(figure, one, documents, fit, pair))
    return sorted(found, key=lambda one: (-one.score, one.delivered.position, one.start, _column(one)))


def _column(one: Support) -> int:
    return one.figure.column if one.figure else 0


def row_support(figure: Figure, one: Delivered, documents: Documents, fit: float, pair: Pair | None) -> Support:
    """Return the support that a figure gives: its whole row is the quote."""
    quote = documents.text(one.fragment.representation_id, figure.row_start, figure.row_end)
    own = 0.05 if pair and pair.period and one.fragment.period == pair.period else 0.0
    score = fit + own + 0.02 / one.position
    return Support(one, figure.row_start, figure.row_end, quote, round(score, 6), fit, figure, False, pair)


def period_agrees(figure: Figure, period: str) -> bool:
    """Tell whether a figure is stated for a period: its own label; a year-end balance serves the year and its Q4."""
    if figure.period == period:
        return period.endswith("YTD") or figure.duration != "ytd"
    if figure.period is None or figure.duration != "instant":
        return False
    return year_end_labels(figure.period) == year_end_labels(period)


def year_end_labels(period: str) -> str:
    """Return a year and its last quarter under one name, since a balance at the end of both is the same."""
    return f"FY{period[:4]}" if period.endswith("Q4") else period


def unqualified(figure: Figure, ask: Ask) -> float:
    """Return a penalty for what the question says beside the measure (`underlying`, `General Insurance`) and the row,
    its path, column and caption do not."""
    said = f"{figure.label} {' '.join(figure.path)} {figure.header} {figure.caption}"
    stems = set(content_stems(said))
    lacking = sum(weight(one) for one in ask.qualifiers if one not in stems)
    return 1.0 if lacking >= 1.0 else 0.0


def exact_label_fit(figure: Figure, ask: Ask, plan: Plan) -> float:
    """Return 1 where a row's label says the topic of the question and nothing else, on a column of the whole."""
    label = {one for one in content_stems(figure.label) if "-" not in one}
    return float(bool(label) and label == set(Topic(ask, plan).stems) and is_whole(figure))


CONCEPT_ONLY = 0.87


def label_fit(figure: Figure, measure: Measure) -> float:
    """Return how well a row's label names a line item: 0, or up to about 1.5 for the consolidated statement."""
    fit = 0.0
    if not _is_kind(figure, measure):
        return 0.0
    local = (figure.concept or "").rpartition(":")[2]
    if local and local in measure.concepts:
        fit = CONCEPT_ONLY  # a part of the line item may carry its concept
    for place, label in enumerate(measure.labels):
        if figure.key == label:
            fit = max(fit, 1.0 - 0.005 * place)
            break
        if figure.key.startswith(f"{label} ") and _tail_is_harmless(figure.key[len(label) + 1 :]):
            fit = max(fit, 0.9 - 0.005 * place)
    if fit and figure.statement is not None:
        fit += {measure.statement: 0.5, "any": 0.2}.get(figure.statement if measure.statement != "any" else "any", 0.0)
    if fit and figure.unit == "USD" and not figure.units and figure.step == 1:
        fit -= 0.2  # no scale is stated: dollars, thousands or millions
    if fit and not is_whole(figure):
        fit -= 0.4  # the column of a segment or an adjustment
    return max(fit, 0.0)


def _is_kind(figure: Figure, measure: Measure) -> bool:
    """Tell whether a figure can be the line item at all: per share only for earnings per share, and what belongs to
    other owners is not the company's."""
    per_share = (figure.unit or "").endswith("/share")
    if per_share != measure.key.startswith("eps"):
        return False
    if figure.unit == "percent" and measure.statement != "any":
        return False  # a share of revenue is not the line item
    others = "attributable to" in figure.key and "noncontrolling" in figure.key.split("attributable to", 1)[1]
    return not others


_HARMLESS = frozenset(word_list("harmless_label_words"))


def _tail_is_harmless(tail: str) -> bool:
    """Tell whether what follows a known label only qualifies it: `attributable to PepsiCo`, `less allowance of 5`."""
    rest = [one for one in tail.split() if one not in _HARMLESS and not one.isdigit()]
    return tail.startswith("attributable to") or not rest


def _topic_fit(figure: Figure, topic: Topic) -> float:
    """Return how well a row's label and path are the topic, where no line item is known: exact labels win."""
    label = [one for one in content_stems(figure.label) if "-" not in one]
    if not label or not topic.stems:
        return 0.0
    own = set(label)
    wide = own | {one for step in figure.path for one in content_stems(step)} | set(content_stems(figure.caption))
    recall = topic.coverage(frozenset(wide))
    precision = len(own & set(topic.stems)) / len(own)
    if topic.coverage(frozenset(own)) < 0.5 or recall < 0.75 or precision < 0.5:
        return 0.0
    extra = len({one for step in figure.path for one in content_stems(step)} - set(topic.stems))
    return recall * (0.5 + 0.5 * precision) - 0.03 * min(extra, 5)
