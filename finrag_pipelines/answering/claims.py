"""The claim checks: is each sentence borne out by its own citations? Deterministic, and the same for every generator.

Numbers with unit and scale, periods, companies, documents, speakers, quotes, direction, negation and hedges are
compared with the text and the metadata of the passages that the sentence cites, never with those of its neighbours.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from finrag_pipelines.answering import mentions
from finrag_pipelines.answering.documents import Documents, Figure
from finrag_pipelines.answering.measured import HIGHEST, LOWEST, recomputed
from finrag_pipelines.answering.model import Draft, Support
from finrag_pipelines.answering.numbers import Amount, amounts, same_value, units_agree
from finrag_pipelines.answering.wording import ROLES, document_name
from finrag_pipelines.answering.words import content_stems, normal, sentences, stem, word_list

_TEMPLATE = frozenset(map(stem, word_list("template_words")))
SUPPORTED = "supported"
REMARK = "remark"
DROPPED = "dropped"


@dataclass(frozen=True)
class Verdict:
    """Whether a sentence is borne out: `supported`, `remark` or `dropped`, with the code of the failing check."""

    verdict: str
    code: str | None = None
    reason: str = ""


def _fails(code: str, reason: str) -> Verdict:
    return Verdict(DROPPED, code, reason)


class ClaimChecker:
    """Checks sentences of one answer against the passages they cite."""

    def __init__(self, documents: Documents, names: mentions.CompanyNames, speakers: Sequence[str] = ()) -> None:
        self._documents = documents
        self._names = names
        self._speakers = frozenset(speakers)

    def check(self, draft: Draft) -> Verdict:
        """Return the verdict on one sentence."""
        if draft.unresolved:
            return _fails("CITATION.unresolved", f"cites {', '.join(draft.unresolved)}, which was not delivered")
        if draft.remark:
            return Verdict(REMARK)
        if draft.objection:
            return _fails("CLAIM.unsupported", draft.objection)
        if not draft.supports:
            return _fails("CITATION.unresolved", "has no citation")
        bare = mentions.outside_quotes(draft.text)
        for check in (self._quotes, self._speaker, self._entity, self._document, self._hedge, self._direction):
            if verdict := check(draft, bare):
                return verdict
        return (
            self._numbers(draft, bare) or self._periods(draft, bare) or self._content(draft, bare) or Verdict(SUPPORTED)
        )

    def _quotes(self, draft: Draft, bare: str) -> Verdict | None:
        """A quoted passage stands, word for word, in a cited passage."""
        cited = [normal(one.quote).replace('"', "'") for one in draft.supports]
        for quote in mentions.quotes_in(draft.text):
            if not any(normal(quote).replace('"', "'") in one for one in cited):
                return _fails("CLAIM.unsupported", "a quoted passage does not stand in the cited text")
        return None

    def _speaker(self, draft: Draft, bare: str) -> Verdict | None:
        """Who is named as speaking is who spoke; what an analyst asked is no statement of the company."""
        roles = mentions.roles_in(bare)
        folded = normal(bare)
        cited = {one.delivered.fragment.speaker for one in draft.supports if one.delivered.fragment.speaker}
        for fragment in (one.delivered.fragment for one in draft.supports):
            if fragment.role == "analyst" and mentions.ANALYST.first(folded) is None:
                return _fails("CLAIM.unsupported", "rests on an analyst's words and does not say so")
            if fragment.role == "operator":
                return _fails("CLAIM.unsupported", "rests on the operator's words")
        spoken = {one.delivered.fragment.role for one in draft.supports if one.delivered.fragment.role}
        text = normal(" ".join(one.quote for one in draft.supports))
        for role in sorted(roles - spoken):
            if normal(ROLES.get(role, role)) not in text and not (mentions.roles_in(text) & {role}):
                return _fails("CLAIM.unsupported", "names another role than that of the cited speaker")
        for name in sorted(self._speakers - cited):
            if _names_person(folded, name) and not _names_person(text, name):
                return _fails("CLAIM.unsupported", "names another speaker than the cited one")
        return None

    def _entity(self, draft: Draft, bare: str) -> Verdict | None:
        """Companies that are named issued a cited passage, or are named in it."""
        allowed: set[str] = set()
        for one in draft.supports:
            allowed.add(one.delivered.fragment.company)
            allowed |= self._names.find(one.quote)
            allowed |= self._names.find(one.delivered.fragment.firm or "")
        firms = {company for one in draft.supports for company in self._names.find(one.delivered.fragment.firm or "")}
        named = (
            self._names.find(_without_place(bare, draft.supports)) - firms
        )  # the firm of an analyst is not what the sentence is about
        if wrong := sorted(named - allowed):
            return _fails("CLAIM.unsupported", f"speaks of {', '.join(wrong)}; the cited passage is another company's")
        issuers = {one.delivered.fragment.company for one in draft.supports if one.delivered.fragment.company}
        if (
            named
            and issuers
            and not named & issuers
            and not any(one.delivered.fragment.form == "memo" for one in draft.supports)
        ):
            return _fails("CLAIM.unsupported", "does not speak of the company whose passage it cites")
        return None

    def _document(self, draft: Draft, bare: str) -> Verdict | None:
        """A form or item that is named is that of a cited passage, or named in it."""
        text = " ".join(one.quote for one in draft.supports)
        forms = {one.delivered.fragment.form.upper() for one in draft.supports} | mentions.forms_in(text)
        if wrong := sorted(one for one in mentions.forms_in(bare) if not any(form.startswith(one) for form in forms)):
            return _fails("CLAIM.unsupported", f"names a {wrong[0]}; the cited passage stands in another document")
        sections = " ".join(one.delivered.fragment.section or "" for one in draft.supports)
        known = mentions.items_in(f"{sections} {text}")
        for part, item in sorted(mentions.items_in(bare)):
            if not any(item == other and part in ("", place) for place, other in known):
                return _fails("CLAIM.unsupported", f"names Item {item}; the cited passage stands elsewhere")
        return None

    def _hedge(self, draft: Draft, bare: str) -> Verdict | None:
        """What a passage leaves open is not asserted: `whether there is substantial doubt`."""
        claim = normal(bare)
        stems = set(content_stems(bare))
        if mentions.quotes_in(draft.text) or draft.computed or not stems:
            return None
        best = _closest(draft.supports, stems)
        if best is None:
            return None
        source = normal(best)
        if mentions.WHETHER.first(source) and not mentions.WHETHER.first(claim):
            after = source[source.find(mentions.WHETHER.first(source) or "") :]
            if _share(set(content_stems(after)), stems) > 0.3:
                return _fails("CLAIM.unsupported", "asserts what the passage leaves open")
        if mentions.HEDGE.first(source) and not mentions.HEDGE.first(claim) and _all_hedged(source):
            return _fails("CLAIM.unsupported", "states as fact what the passage calls possible")
        if bool(mentions.NEGATION.first(source)) != bool(mentions.NEGATION.first(claim)):
            return _fails("CLAIM.unsupported", "a negation was added or lost")
        return None

    def _direction(self, draft: Draft, bare: str) -> Verdict | None:
        """What rose did not fall."""
        if draft.computed:
            return None
        claim = normal(bare)
        up, down = bool(mentions.UP.first(claim)), bool(mentions.DOWN.first(claim))
        if up == down:
            return None
        best = _closest(draft.supports, set(content_stems(bare)))
        source = normal(best or "")
        rose, fell = bool(mentions.UP.first(source)), bool(mentions.DOWN.first(source))
        if rose != fell and up != rose:
            return _fails("CLAIM.unsupported", "turns a rise into a fall, or the reverse")
        return None

    def _numbers(self, draft: Draft, bare: str) -> Verdict | None:
        """Every number stands in a cited passage with unit and scale, for a period that the sentence names."""
        if draft.computed:
            return self._computed(draft, bare)
        text = _without_metadata(bare, draft.supports)
        stated = mentions.periods_in(
            _without_document(bare, draft.supports), draft.supports[0].delivered.fragment.company
        )
        for number in _claimed(text):
            matches = [period for one in draft.supports for period in self._matches(number, one)]
            if not matches:
                return _fails("CLAIM.unsupported", f"the number {number.printed.strip()} stands in no cited passage")
            bound = {one for one in matches if one is not None}
            if bound and stated and None not in matches and not _same_periods(bound, stated):
                reason = f"the number {number.printed.strip()} is stated for {', '.join(sorted(bound))}"
                return _fails("CLAIM.unsupported", reason)
        return None

    def _matches(self, number: Amount, support: Support) -> list[str | None]:
        """Return the periods for which a passage states a number; None for one that prose states without a column."""
        figures = self._figures(support)
        found: list[str | None] = []
        for figure in figures:
            cell = _figure_amount(figure)
            if _unit_fits(number.unit, figure) and (same_value(number, cell) or _same_magnitude(number, cell, figure)):
                found.append(figure.period)
        if not figures:
            for other in amounts(support.quote):
                if _prose_units_agree(number, other) and same_value(number, other):
                    found.append(None)
        return found

    def _figures(self, support: Support) -> tuple[Figure, ...]:
        return tuple(
            one
            for one in self._documents.figures_in(support.delivered.fragment)
            if one.row_start >= support.start and one.row_end <= support.end
        )

    def _computed(self, draft: Draft, bare: str) -> Verdict | None:
        """A computed number is recomputed by its generator; here each operand must stand where it is cited."""
        computed = draft.computed
        assert computed is not None
        for operand in computed.operands:
            figures = self._figures(operand.support)
            figures = [one for one in figures if one.value == Decimal(operand.value)]
            figure = operand.support.figure
            if figures and figure and computed.formula in (HIGHEST, LOWEST):
                issuer = self._documents.company_name(operand.support.delivered.fragment.company)
                known = set(content_stems(f"{operand.support.quote} {issuer}")) | _stems_of_place(figure)
                figures = figures if set(content_stems(operand.name)) <= known else []
            if not figures:
                return _fails("CLAIM.unsupported", f"the operand {operand.name} does not stand in its citation")
        if not recomputed(computed):
            return _fails("CLAIM.unsupported", "the computed number does not follow from its operands")
        allowed = [
            *amounts(computed.shown),
            *(_figure_amount(one.support.figure) for one in computed.operands if one.support.figure),
        ]
        text = bare.replace(computed.formula, " ").replace(computed.name, " ")
        if f"{computed.name} was {computed.shown}" not in bare or computed.formula not in bare:
            return _fails("CLAIM.unsupported", "the sentence does not state the computed number")
        for number in _claimed(_PERIOD_WORDS.sub(" ", text)):
            if not any(same_value(number, one) and number.unit == one.unit for one in allowed):
                return _fails("CLAIM.unsupported", f"the number {number.printed.strip()} is no operand and no result")
        return None

    def _periods(self, draft: Draft, bare: str) -> Verdict | None:
        """Every period that is named is that of a cited passage, of a cited column, or named in the passage."""
        company = draft.supports[0].delivered.fragment.company
        allowed: set[str] = set()
        for one in draft.supports:
            fragment = one.delivered.fragment
            allowed |= {fragment.period} if fragment.period else set()
            allowed |= mentions.periods_in(one.quote, fragment.company)
            allowed |= {figure.period for figure in self._figures(one) if figure.period}
            if fragment.filed:
                allowed |= mentions.periods_in(fragment.filed, fragment.company)
        for one in sorted(mentions.periods_in(_without_place(bare, draft.supports), company)):
            if not _same_periods({one}, allowed):
                return _fails("CLAIM.unsupported", f"names {one}; the cited passage speaks of another period")
        return None

    def _content(self, draft: Draft, bare: str) -> Verdict | None:
        """The words of the sentence that are no template come from the cited passage or its place."""
        if draft.computed or mentions.quotes_in(draft.text):
            return None
        stems = set(content_stems(_without_metadata(bare, draft.supports)))
        known: set[str] = set()
        for one in draft.supports:
            fragment = one.delivered.fragment
            known |= set(content_stems(f"{one.quote} {fragment.context} {fragment.section_title or ''}"))
            if one.figure:  # what a cell says stands in its column and above its table, too
                known |= _stems_of_place(one.figure)
            known |= set(content_stems(f"{self._documents.company_name(fragment.company)} {fragment.speaker or ''}"))
        wanted = {one for one in stems - _TEMPLATE if not any(char.isdigit() for char in one)}
        if wanted and _share(known, wanted) < 0.6:
            return _fails("CLAIM.unsupported", "says what the cited passage does not say")
        return None


def _stems_of_place(figure: Figure) -> set[str]:
    """Return the stems of what a cell says beside its row: column, caption, path, and the concept it is tagged with."""
    concept = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", (figure.concept or "").rpartition(":")[2])
    return set(content_stems(f"{figure.header} {figure.caption} {' '.join(figure.path)} {concept}"))


def _names_person(folded: str, name: str) -> bool:
    last = normal(name).split()[-1:] or [""]
    return len(last[0]) > 2 and f" {last[0]} " in f" {' '.join(folded.replace(',', ' ').replace('.', ' ').split())} "


def _closest(supports: Sequence[Support], stems: set[str]) -> str | None:
    """Return the sentence of the cited passages that shares most words with the claim."""
    pieces = [one.quote[start:end] for one in supports for start, end in sentences(one.quote)]
    return max(pieces, key=lambda one: (len(stems & set(content_stems(one))), -len(one)), default=None)


def _share(known: set[str], wanted: set[str]) -> float:
    return len(wanted & known) / len(wanted)


def _all_hedged(folded: str) -> bool:
    clauses = [one for one in folded.replace(";", ",").split(",") if len(one.split()) > 3]
    return bool(clauses) and all(mentions.HEDGE.first(one) for one in clauses)


def _claimed(text: str) -> list[Amount]:
    """Return the numbers that a sentence claims: years and list numbers are no figures."""
    return [one for one in amounts(text) if not one.year_like]


def _without_document(text: str, supports: Sequence[Support]) -> str:
    """Take the names of the cited documents out of a sentence, so that what remains is the statement."""
    for one in supports:
        text = text.replace(document_name(one.delivered.fragment), " ")
    return text


def _without_place(text: str, supports: Sequence[Support]) -> str:
    """Take the sections that the cited passages stand in out of a sentence; a heading may name other periods."""
    for one in supports:
        for known in (one.delivered.fragment.section, one.delivered.fragment.section_title):
            if known and len(known) > 3:
                text = text.replace(known, " ")
    return text


def _without_metadata(text: str, supports: Sequence[Support]) -> str:
    """Take document names, sections, labels, period spellings and dates of the cited passages out of a sentence."""
    text = _without_document(text, supports)
    for one in supports:
        fragment = one.delivered.fragment
        figure = one.figure
        extra = (
            (figure.label.rstrip(":"), *(step.rstrip(":") for step in figure.path), figure.period_end) if figure else ()
        )
        for known in (fragment.section, fragment.section_title, fragment.filed, *extra):
            if known and len(known) > 3:
                text = text.replace(known, " ")
    return _PERIOD_WORDS.sub(" ", text)


_PERIOD_WORDS = re.compile(
    r"\b(?:FY\s?\d{2,4}|\d{4}Q[1-4](?:YTD)?|Q[1-4][ -]?(?:FY)?\s?(?:\d{4}|'\d{2})?|[1-4]Q\d{2,4}"
    r"|\d{4}-\d{2}-\d{2}|(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"\s\d{1,2}(?:,\s?\d{4})?|(?:three|six|nine|twelve|\d{1,2})[ -](?:months?|weeks?)|10-[KQ]|8-K"
    r"|(?:Part\s+[IV]+,?\s+)?Item\s+\d{1,2}[A-C]?)\b",
    re.IGNORECASE,
)


def _figure_amount(figure: Figure) -> Amount:
    return Amount(figure.value, figure.step, _unit_name(figure.unit), 0, 0, figure.printed, True)


def _unit_name(unit: str | None) -> str | None:
    return "per_share" if unit == "USD/share" else unit


def _unit_fits(unit: str | None, figure: Figure) -> bool:
    cell = _unit_name(figure.unit)
    if cell is None:
        return unit != "percent" or "%" in f"{figure.header}{figure.label}{figure.units}{figure.caption}"
    if unit is None:
        return cell != "percent" and not cell.endswith(("_share", "/share"))
    return units_agree(unit, cell)


def _same_magnitude(number: Amount, cell: Amount, figure: Figure) -> bool:
    """A decrease or an outflow is printed in parentheses and told without a sign."""
    if number.value < 0 or cell.value >= 0:
        return False
    return same_value(number, Amount(-cell.value, cell.step, cell.unit, 0, 0, "", True)) and bool(
        re.search(
            r"paid|purchase|used|repayment|decrease|decline|expenditure|spending|loss|cost|expense|change", figure.key
        )
    )


def _prose_units_agree(number: Amount, other: Amount) -> bool:
    if number.unit is None and other.unit not in ("percent", "points", "bps"):
        return other.unit is None or number.scaled
    return units_agree(number.unit, other.unit)


def _same_periods(named: set[str], allowed: set[str]) -> bool:
    """Tell whether a named period is an allowed one: equal, a year to date of the quarter, or a year-end."""
    wide = set(allowed)
    for one in allowed:
        wide.add(one.removesuffix("YTD"))
        if one.endswith("Q4"):
            wide.add(f"FY{one[:4]}")
        if one.startswith("FY"):
            wide.add(f"{one[2:]}Q4")
    return bool(named & wide)
