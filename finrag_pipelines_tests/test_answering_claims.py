"""The claim checks: fabrications made on purpose are caught, true sentences in other words pass."""

import re
from dataclasses import replace
from decimal import Decimal

import pytest

from finrag_pipelines.answering.answer import company_names
from finrag_pipelines.answering.claims import DROPPED, SUPPORTED, ClaimChecker
from finrag_pipelines.answering.extractive import generate
from finrag_pipelines.answering.formulas import evaluate
from finrag_pipelines.answering.gates import choose_deliveries
from finrag_pipelines.answering.model import AnswerConfig, Delivered, Draft, Support
from finrag_pipelines.answering.numbers import amounts, same_value, units_agree
from finrag_pipelines.answering.question import read_question
from finrag_pipelines.answering.statements import StatementFinder
from finrag_pipelines.answering.sufficiency import Evidence
from finrag_pipelines.catalog.access import PUBLIC_PRINCIPAL
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines_tests.answering_store import sample_documents, sample_index


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("$2.1 billion", "2100000000", "USD"),
        ("2,130", "2130", None),
        ("$(1,561)", "-1561", "USD"),
        ("(0.5)%", "-0.5", "percent"),
        ("150 basis points", "150", "bps"),
        ("2.1 percentage points", "2.1", "points"),
        ("$.55 per share", "0.55", "per_share"),
        ("€3.4 million", "3400000", "EUR"),
        ("12.5x", "12.5", "times"),
        ("-4.2%", "-4.2", "percent"),
    ],
)
def test_numbers_are_read_with_unit_scale_and_sign(text: str, value: str, unit: str | None) -> None:
    (found,) = amounts(text)
    assert (found.value, found.unit) == (Decimal(value), unit)


def test_labels_forms_and_quarters_are_no_numbers() -> None:
    assert amounts("The 10-K for FY2022 and the 10-Q of Q3, 8-K, COVID-19") == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("$2.1 billion", "$2,130 million", True),
        ("$2.2 billion", "$2,130 million", False),
        ("$2,130 million", "$2,130 thousand", False),
        ("5%", "5.4%", True),
        ("5.0%", "5.4%", False),
        ("-5%", "5%", False),
    ],
)
def test_numbers_are_equal_at_the_precision_of_the_coarser(one: str, other: str, same: bool) -> None:
    left, right = amounts(one)[0], amounts(other)[0]
    assert (same_value(left, right) and units_agree(left.unit, right.unit)) is same


def test_a_formula_is_only_arithmetic_over_line_items() -> None:
    with pytest.raises(ValueError, match="uses something else"):
        evaluate("__import__('os').system('true')", lambda key, period: None, "FY2022")
    with pytest.raises(ValueError, match="uses something else"):
        evaluate("revenue ** 99999999", lambda key, period: None, "FY2022")


def _fragments() -> list[Fragment]:
    found: list[Fragment] = []
    for shard in sample_index().shards:
        if PUBLIC_PRINCIPAL.may_read(shard.key.labels):
            found += [shard.fragment(row) for row in range(shard.count)]
    return found


def _checker() -> ClaimChecker:
    speakers = sorted({one.speaker for one in _fragments() if one.speaker})
    return ClaimChecker(sample_documents(), company_names(sample_index(), PUBLIC_PRINCIPAL), speakers)


def _support(source_id: str, words: str) -> Support:
    """The sentence of a source that holds `words`, as a support."""
    for fragment in _fragments():
        place = " ".join(fragment.text.split()).find(words)
        if fragment.source_id == source_id and place >= 0:
            pattern = re.compile(r"\s+".join(map(re.escape, words.split())))
            match = pattern.search(fragment.text)
            assert match is not None
            start, end = match.span()
            return Support(
                Delivered(1, fragment), fragment.start + start, fragment.start + end, fragment.text[start:end], 1.0, 1.0
            )
    raise AssertionError(f"{source_id} does not hold {words!r}")


KO_COSTS = (
    "KO_transcript_2026Q1",
    "Commodities were a headwind of about 1 percent to cost of goods sold in the quarter, with pressure in aluminum "
    "and orange juice and relief in sweeteners.",
)
MDLZ_COCOA = ("MDLZ_transcript_2026Q1", "Cocoa remains our largest input-cost pressure.")
PEP_COSTS = ("PEP_transcript_2026Q1", "Commodity costs rose 5 percent in the quarter.")
PEP_MARGIN = ("PEP_transcript_2026Q1", "Gross margin declined 150 basis points to 54.2 percent.")
PEP_TARIFFS = ("PEP_transcript_2026Q1", "Tariff-related costs were 128 million dollars in the quarter.")
PGR_RATIO = (
    "PGR_10-Q_2024Q3",
    "Our companywide combined ratio was 89.4 for the third quarter of 2024, compared with 92.4 for the third "
    "quarter of 2023",
)
PGR_PREMIUMS = (
    "PGR_10-Q_2024Q3",
    "Net premiums written grew 25 percent to $19,456 million in the third quarter of 2024",
)
UNH_RATIO = (
    "UNH_10-Q_2024Q3",
    "The medical care ratio was 85.2 percent in the third quarter of 2024, compared with 82.3 percent in the third "
    "quarter of 2023.",
)
ANALYST = (
    "KO_transcript_2026Q1",
    "Scanner data suggest that your volumes in North America were down about 4 percent in the quarter.",
)

TRUE = [
    (KO_COSTS, 'Desmond Achterberg, chief financial officer of Coca-Cola: "{quote}"'),
    (KO_COSTS, "Coca-Cola's chief financial officer said commodities were a headwind of about 1 percent in 2026Q1."),
    (KO_COSTS, "In Q1 2026 Coca-Cola saw pressure in aluminum and orange juice and relief in sweeteners."),
    (KO_COSTS, "At Coca-Cola, commodities were a headwind of 1% to cost of goods sold in the first quarter of 2026."),
    (KO_COSTS, "Coca-Cola felt pressure in aluminum and orange juice, with relief in sweeteners."),
    (MDLZ_COCOA, "Mondelez said that cocoa remains its largest input-cost pressure in Q1 2026."),
    (MDLZ_COCOA, "Cocoa is still the largest input-cost pressure of Mondelez."),
    (MDLZ_COCOA, 'Lukas Brandvold, chief financial officer of Mondelez (earnings call 2026Q1): "{quote}"'),
    (MDLZ_COCOA, "According to CFO Lukas Brandvold, cocoa remains the largest input-cost pressure for Mondelez."),
    (PEP_COSTS, "PepsiCo's commodity costs rose 5 percent in Q1 2026."),
    (PEP_COSTS, "Commodity costs at PepsiCo increased by 5% in the first quarter of 2026."),
    (PEP_COSTS, "In 2026Q1, commodity costs of PepsiCo were up 5 percent."),
    (PEP_COSTS, "Ingrid Thackeray of PepsiCo said commodity costs rose 5% in the quarter."),
    (PEP_MARGIN, "PepsiCo's gross margin declined 150 basis points to 54.2%."),
    (PEP_MARGIN, "Gross margin of PepsiCo fell by 1.5 percentage points to 54.2 percent in Q1 2026."),
    (PEP_MARGIN, "PepsiCo reported that gross margin was down 150 bps, to 54.2 percent."),
    (PEP_MARGIN, "PepsiCo's CFO said that gross margin declined 150 basis points to 54.2 percent."),
    (PEP_TARIFFS, "Tariff-related costs of PepsiCo were $128 million in Q1 2026."),
    (PEP_TARIFFS, "PepsiCo put its tariff-related costs at $0.128 billion in the quarter."),
    (PEP_TARIFFS, "PepsiCo had tariff-related costs of 128 million dollars in 2026Q1."),
    (PGR_RATIO, "Progressive's companywide combined ratio was 89.4 for 2024Q3."),
    (PGR_RATIO, "Progressive's combined ratio was 89.4 in Q3 2024, compared with 92.4 in Q3 2023."),
    (PGR_RATIO, "For the third quarter of 2024 Progressive had a companywide combined ratio of 89.4."),
    (PGR_RATIO, "The combined ratio of Progressive came to 89.4 in the third quarter of 2024 (10-Q 2024Q3)."),
    (PGR_PREMIUMS, "Progressive's net premiums written grew 25% to $19,456 million in Q3 2024."),
    (PGR_PREMIUMS, "Net premiums written at Progressive rose 25 percent to $19.5 billion in the third quarter."),
    (PGR_PREMIUMS, "In 2024Q3 Progressive's net premiums written increased by 25 percent, to $19.46 billion."),
    (UNH_RATIO, "UnitedHealth's medical care ratio was 85.2% in Q3 2024, against 82.3% in Q3 2023."),
    (UNH_RATIO, "The medical care ratio of UnitedHealth Group was 85.2 percent in the third quarter of 2024."),
    (UNH_RATIO, "UnitedHealth: medical care ratio of 85.2 percent for 2024Q3, compared with 82.3 percent for 2023Q3."),
    (ANALYST, 'Harold Vinterberg, analyst of Northgate Securities (earnings call 2026Q1): "{quote}"'),
    (ANALYST, "An analyst suggested that Coca-Cola volumes in North America were down about 4 percent in the quarter."),
]

OPENINGS = ["", "In short: ", "On this point, "]


def _drafts(openings: list[str]) -> list[Draft]:
    drafts = []
    for opening in openings:
        for key, text in TRUE:
            support = _support(*key)
            quote = " ".join(support.quote.split())
            drafts.append(Draft(opening + text.replace("{quote}", quote), (support,)))
    return drafts


def test_true_sentences_pass_in_other_words() -> None:
    checker = _checker()
    drafts = _drafts(OPENINGS)
    rejected = [(one.text, verdict.reason) for one in drafts if (verdict := checker.check(one)).verdict != SUPPORTED]
    assert len(drafts) >= 60
    assert len(rejected) <= 3, rejected


COMPANIES = ["Coca-Cola", "Mondelez", "PepsiCo", "Progressive", "UnitedHealth"]
SPEAKERS = ["Desmond Achterberg", "Lukas Brandvold", "Ingrid Thackeray", "Marta Lindqvist"]
PERIODS = ["Q1 2026", "2026Q1", "first quarter of 2026", "Q3 2024", "2024Q3", "third quarter of 2024"]


def _swapped(text: str, known: list[str]) -> list[str]:
    return [
        text.replace(one, other, 1)
        for one in known
        if one in text
        for other in known
        if other != one and other not in text
    ]


def _mutations(draft: Draft) -> list[tuple[str, Draft]]:
    """Every mutation of a true sentence that makes it false, with the name of its operator."""
    text = draft.text
    found = [("wrong company", one) for one in _swapped(text, COMPANIES)]
    found += [("wrong speaker", one) for one in _swapped(text, SPEAKERS)]
    for number in amounts(text):
        if not number.year_like:
            digits = re.search(r"\d[\d,.]*\d|\d", number.printed)
            assert digits is not None
            first = digits.group()[0]
            changed = str((int(first) + 3) % 9 + 1) + digits.group()[1:]
            if changed != digits.group():
                found.append(("wrong number", text.replace(digits.group(), changed, 1)))
    units = [
        (" million", " billion"), (" million", " thousand"), (" billion", " million"), ("%", " basis points"),
        (" percent", " million"), (" basis points", " percent"), ("$", "€"), ("%", " times"),
    ]  # fmt: skip
    found += [("wrong unit", text.replace(one, other, 1)) for one, other in units if one in text]
    for one in PERIODS:
        if one in text:
            wrong = one.replace("2026", "2025").replace("2024", "2022")
            found.append(("wrong period", text.replace(one, wrong)))
            other = one.replace("Q1", "Q2").replace("Q3", "Q1").replace("first", "fourth").replace("third", "first")
            found.append(("wrong quarter", text.replace(one, other)))
    opposites = [
        ("rose", "fell"), ("increased", "decreased"), ("grew", "declined"), ("declined", "rose"), ("fell", "rose"),
        (" up ", " down "), (" down ", " up "), ("was", "was not"), ("were", "were not"), ("remains", "is no longer"),
    ]  # fmt: skip
    found += [("turned", text.replace(one, other, 1)) for one, other in opposites if one in text]
    if '"' in text:
        swaps = ((" in ", " outside "), ("pressure", "relief"))
        found += [("changed quote", text.replace(one, other, 1)) for one, other in swaps]
    found = [(name, one) for name, one in found if one != text]
    made = [(name, replace(draft, text=one)) for name, one in found]
    made.append(("uncited", replace(draft, supports=())))
    made.append(("invented citation", replace(draft, unresolved=("S99",))))
    other = _support(*(MDLZ_COCOA if "Mondelez" not in text else PGR_RATIO))
    made.append(("another passage", replace(draft, supports=(other,))))
    return made


def test_mutations_of_true_sentences_are_all_caught() -> None:
    checker = _checker()
    made = [one for draft in _drafts([""]) for one in _mutations(draft)]
    passed = [(name, one.text) for name, one in made if checker.check(one).verdict != DROPPED]
    assert len(made) >= 200
    assert passed == []


def test_a_mondelez_passage_does_not_bear_a_sentence_about_coca_cola() -> None:
    fabricated = "Coca-Cola said that cocoa remains its largest input-cost pressure."
    verdict = _checker().check(Draft(fabricated, (_support(*MDLZ_COCOA),)))
    assert (verdict.verdict, verdict.code) == (DROPPED, "CLAIM.unsupported")
    assert "another company's" in verdict.reason


def test_an_analysts_words_are_no_statement_of_the_company() -> None:
    text = "Coca-Cola said that its volumes in North America were down about 4 percent in the quarter."
    verdict = _checker().check(Draft(text, (_support(*ANALYST),)))
    assert verdict.verdict == DROPPED and "analyst" in verdict.reason


def _made(text: str, company: str = "KO") -> Support:
    """A support over a passage that stands in no document of the sample."""
    known = _support(*KO_COSTS)
    fragment = replace(
        known.delivered.fragment,
        text=text,
        company=company,
        speaker=None,
        role=None,
        form="10-Q",
        section="Part I Item 2",
    )
    return Support(Delivered(1, fragment), 10**9, 10**9 + len(text), text, 1.0, 1.0)


@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        (
            "Management evaluated whether there is substantial doubt about the ability of the company to continue.",
            "There is substantial doubt about the ability of Coca-Cola to continue.",
        ),
        ("Higher tariffs could reduce our margin.", "Higher tariffs reduced the margin of Coca-Cola."),
        ("We did not record an impairment of goodwill.", "Coca-Cola recorded an impairment of goodwill."),
        ("Our volume in Mexico declined.", "The volume of Coca-Cola in Mexico increased."),
    ],
)
def test_what_a_passage_leaves_open_or_denies_is_not_asserted(passage: str, claim: str) -> None:
    assert _checker().check(Draft(claim, (_made(passage),))).verdict == DROPPED


def test_a_computed_number_must_follow_from_its_cited_operands() -> None:
    ladder = _computed_draft()
    checker = _checker()
    assert checker.check(ladder).verdict == SUPPORTED
    computed = ladder.computed
    assert computed is not None
    first = computed.operands[0]
    wrong = [
        replace(ladder, text=ladder.text.replace("8.7%", "9.7%")),
        replace(ladder, text=ladder.text.replace("$17,903 million", "$17,903 billion")),
        replace(ladder, text=ladder.text.replace("Progressive", "Allstate")),
        replace(ladder, computed=replace(computed, result="0.5")),
        replace(ladder, computed=replace(computed, operands=(replace(first, value="1"), *computed.operands[1:]))),
        replace(ladder, computed=replace(computed, operands=computed.operands[1:])),
        replace(ladder, supports=()),
    ]
    assert [checker.check(one).verdict for one in wrong] == [DROPPED] * len(wrong)


def _computed_draft() -> Draft:
    """The draft of a growth rate, as the extractive generator makes it from the sample."""
    index, documents = sample_index(), sample_documents()
    question = "How did Progressive's net premiums written change from Q2 2024 to Q3 2024?"
    response = index.search(question, PUBLIC_PRINCIPAL, k=24, mode="lexical")
    plan = response.trace.plan
    asked = read_question(question, plan)
    delivered = choose_deliveries(response.results, plan.pairs, 6000)
    finder = StatementFinder(index.store, documents, index.catalog_view(PUBLIC_PRINCIPAL).documents)
    findings = Evidence(asked, plan, delivered, documents, finder).findings(plan.pairs)
    (draft,) = generate(asked, plan, findings, documents, AnswerConfig())
    return draft
