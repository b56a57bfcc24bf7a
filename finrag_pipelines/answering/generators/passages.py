"""Which passages of a cited fragment bear a model's sentence: sentences and table rows, never the whole fragment."""

from collections.abc import Iterable, Sequence

from finrag_pipelines.answering.documents import Documents, Figure
from finrag_pipelines.answering.extractive import Findings
from finrag_pipelines.answering.injection import is_addressed, prompt_rules
from finrag_pipelines.answering.model import Delivered, Draft, Support
from finrag_pipelines.answering.numbers import Amount, amounts, same_value
from finrag_pipelines.answering.support import bears
from finrag_pipelines.answering.wording import attribution
from finrag_pipelines.answering.words import content_stems, normal, sentences, stem, word_list
from finrag_pipelines.retrieval.model import Pair

_MOST = 3
_NEUTRAL = frozenset(
    stem(word)
    for listed in (*map(word_list, ("template_words", "up", "down")), prompt_rules()["neutral_words"])
    for phrase in listed
    for word in phrase.split()
)
Range = tuple[int, int]


class Passages:
    """Finds the passages of delivered fragments that a sentence can rest on."""

    def __init__(self, pairs: Sequence[Pair], documents: Documents) -> None:
        self._pairs, self._documents = pairs, documents

    def of(self, sentence: str, one: Delivered) -> tuple[Support, ...]:
        """Return the nearest passage and, for numbers that it does not hold, the nearest that do.

        Text that speaks to the reader of a prompt is no passage; a fragment of nothing else gives none.
        """
        wanted, numbers = _stems(sentence), _claimed(sentence)
        left = self._ranges(one)
        chosen: list[Range] = []
        while left and len(chosen) < _MOST and (numbers or not chosen):
            best = max(left, key=lambda place: self._nearness(place, one, wanted, numbers))
            stated = self._stated(one, best)
            if chosen and not _shared(numbers, stated):
                break
            chosen.append(best)
            left.remove(best)
            numbers = [number for number in numbers if not _shared([number], stated)]
        chosen += self._beside(chosen, left, one, wanted)
        pair = next((pair for pair in self._pairs if bears(pair, one)), None)
        return tuple(
            Support(one, start, end, _text(one, (start, end)), 0.0, 0.0, None, False, pair) for start, end in chosen
        )

    def objection(self, sentence: str, cited: Sequence[Delivered]) -> str:
        """Object to a number taken from beside what the sentence speaks of, while the passage on that has another."""
        wanted = _stems(sentence)
        for number in _claimed(sentence):
            places = [(one, place) for one in cited for place in self._ranges(one)]
            holding = [_overlap(*at, wanted) for at in places if _shared([number], self._stated(*at))]
            if holding and any(_overlap(*at, wanted) > max(holding) and self._stated(*at) for at in places):
                return f"takes {number.printed.strip()} from beside the passage that it speaks of"
        return ""

    def beyond(self, sentence: str, supports: Sequence[Support]) -> str:
        """Object to words that neither the cited passages nor the names of their place have: a model adds nothing."""
        known = set(_NEUTRAL)
        for one in supports:
            fragment = one.delivered.fragment
            place = f"{fragment.context} {fragment.section_title or ''} {fragment.speaker or ''} {fragment.firm or ''}"
            known |= _stems(f"{one.quote} {place} {attribution(fragment, self._documents)}")
        return "says more than the cited passage" if _stems(sentence) - known else ""

    def lead(self, sentence: str, supports: Sequence[Support]) -> str:
        """Return who says it and where, to stand before a sentence that names no company: `We` is nobody's name."""
        fragment = supports[0].delivered.fragment
        named = self._documents.company_name(fragment.company) if fragment.company else ""
        if not fragment.company or normal(named) in normal(sentence):
            return ""
        return f"{attribution(fragment, self._documents)}: "

    def _beside(
        self, chosen: Sequence[Range], left: Sequence[Range], one: Delivered, wanted: frozenset[str]
    ) -> list[Range]:
        """Return the neighbour of the nearest passage that says more of the sentence: two may be told in one."""
        said = frozenset().union(*(_stems(_text(one, place)) for place in chosen))
        more = wanted - said - _NEUTRAL
        places = sorted([*chosen[:1], *left])
        at = places.index(chosen[0]) if chosen else 0
        near = [place for place in places[max(0, at - 1) : at + 2] if place not in chosen]
        best = max(near, key=lambda place: (_overlap(one, place, more), -place[0]), default=None)
        return [best] if best and len(chosen) < _MOST and _overlap(one, best, more) > 0 else []

    def _ranges(self, one: Delivered) -> list[Range]:
        fragment = one.fragment
        rows = sorted({(figure.row_start, figure.row_end) for figure in self._documents.figures_in(fragment)})
        prose = [(fragment.start + start, fragment.start + end) for start, end in sentences(fragment.text)]
        inside = [place for place in prose if not any(_meet(place, row) for row in rows)]
        return [place for place in (*inside, *rows) if not is_addressed(fragment, *place)]

    def _nearness(
        self, place: Range, one: Delivered, wanted: frozenset[str], numbers: Sequence[Amount]
    ) -> tuple[int, int, int]:
        same = _shared(numbers, self._stated(one, place))
        return 2 * same + _overlap(one, place, wanted), place[0] - place[1], -place[0]

    def _stated(self, one: Delivered, place: Range) -> list[Amount]:
        """Return the numbers of a passage: those of its cells, in base units, and those of its text."""
        cells = [
            Amount(figure.value, figure.step, figure.unit, 0, 0, figure.printed)
            for figure in self._documents.figures_in(one.fragment)
            if (figure.row_start, figure.row_end) == place
        ]
        return [*cells, *_claimed(_text(one, place))]


def asserts(sentence: str) -> bool:
    """Tell whether a sentence says anything: two words that are more than its frame, or one and a number."""
    return len(_stems(sentence) - _NEUTRAL) + bool(_claimed(sentence)) >= 2


def rests_on(draft: Draft, finding: Findings) -> bool:
    """Tell whether a sentence gives what was found for a pair: the figure's value, or words of a passage found."""
    figures = [one.figure for measured in finding.measured for one in measured.supports if one.figure]
    if figures:
        return any(states_value(draft.text, one) for one in figures)
    return any(
        one.delivered.fragment.fragment_id == other.delivered.fragment.fragment_id
        and _meet((one.start, one.end), (other.start, other.end))
        for one in draft.supports
        for other in finding.passages
    )


def states_value(sentence: str, figure: Figure) -> bool:
    """Tell whether a sentence states the value of a table figure."""
    cell = Amount(figure.value, figure.step, figure.unit, 0, 0, figure.printed)
    return _shared([cell], _claimed(sentence)) > 0


def _text(one: Delivered, place: Range) -> str:
    return one.fragment.text[place[0] - one.fragment.start : place[1] - one.fragment.start]


def _meet(one: Range, other: Range) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _stems(text: str) -> frozenset[str]:
    return frozenset(one for one in content_stems(text) if not any(char.isdigit() for char in one))


def _overlap(one: Delivered, place: Range, wanted: frozenset[str]) -> int:
    return len(wanted & _stems(_text(one, place)))


def _claimed(text: str) -> list[Amount]:
    return [number for number in amounts(text) if not number.year_like]


def _shared(numbers: Iterable[Amount], stated: Sequence[Amount]) -> int:
    """Return how many of the numbers are among those stated, by value; a decrease may be told without its sign."""
    return sum(any(same_value(one, other) or same_value(_negated(one), other) for other in stated) for one in numbers)


def _negated(one: Amount) -> Amount:
    return Amount(-one.value, one.step, one.unit, one.start, one.end, one.printed, one.scaled)
