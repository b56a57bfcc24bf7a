from datetime import date

import pytest

from finrag_pipelines.indexing.manifest import ManifestEntry
from finrag_pipelines.retrieval.catalog_view import CatalogView
from finrag_pipelines.retrieval.lexicon import load_lexicon
from finrag_pipelines.retrieval.model import Pair
from finrag_pipelines.retrieval.question import LONGEST_QUESTION, plan_question


def entry(company: str | None, form: str, period: str | None, filed: str | None = None, **more) -> ManifestEntry:
    name = f"{company}_{form}_{period}_{filed}"
    return ManifestEntry(name, 1, "0", "0", name, "", ("public",), company, None, form, period, None, filed, **more)


def view_of(*entries: ManifestEntry) -> CatalogView:
    reported: dict[str, set[str]] = {}
    for each in entries:
        if each.period:
            labels = reported.setdefault(each.company or "", set())
            labels.add(each.period)
            if each.period.startswith("FY"):
                labels |= {f"{each.period[2:]}Q4", f"FY{int(each.period[2:]) - 1}"}
    return CatalogView(entries, {company: frozenset(labels) for company, labels in reported.items()})


VIEW = view_of(
    *(entry(c, "10-Q", "2025Q3", "2025-10-20") for c in ("KO", "PEP", "MDLZ")),
    *(entry(c, "10-K", "FY2025", "2026-02-20") for c in ("KO", "PEP", "MDLZ")),
    *(entry(c, "10-Q", "2026Q1", "2026-04-28") for c in ("KO", "PEP", "MDLZ")),
    *(entry(c, "10-Q", "2024Q3", "2024-11-01") for c in ("PGR", "ALL", "UNH", "AIG", "MET", "CI", "TRV")),
    entry("PGR", "10-Q", "2024Q2", "2024-08-01"),
    entry("JNJ", "10-K", "FY2024", "2025-02-13"),
    entry("AXP", "10-K", "FY2024", "2025-02-07"),
    entry("XYZ", "10-K", "FY2020", "2021-02-23"),
    entry("NVDA", "10-K", "FY2024", "2024-02-21"),
    entry("FL", "10-Q", "2022Q3", "2022-12-07"),
)


@pytest.mark.parametrize(
    ("question", "companies"),
    [
        ("What drove Coca-Cola's margins?", ("KO",)),
        ("What drove the Coca Cola company’s margins?", ("KO",)),
        ("KO margins", ("KO",)),
        ("Is it ok to ask for a ko?", ()),
        ("Progressive combined ratio Q3 2024", ("PGR",)),
        ("progressive tax rates", ()),
        ("all combined ratio Q3 2024", ()),
        ("All combined ratio Q3 2024", ()),
        ("ALL combined ratio Q3 2024", ("ALL",)),
        ("WHAT ARE ALL COMBINED RATIOS", ()),
        ("Has the target been met?", ()),
        ("MET adjusted earnings", ("MET",)),
        ("CI and UNH medical care ratio", ("CI", "UNH")),
        ("ci medical care ratio", ()),
        ("pep and mdlz in Q1 2026", ("MDLZ", "PEP")),
        ("J&J's litigation", ("JNJ",)),
        ("AMEX billed business", ("AXP",)),
        ("American Express billed business", ("AXP",)),
        ("American revenue", ()),
        ("What is FY2020 revenue for Block (formerly known as Square)?", ("XYZ",)),
        ("block trades and square feet", ()),
        ("Mondelēz cocoa costs", ("MDLZ",)),
        ("Travelers' catastrophe losses and Cigna’s costs", ("CI", "TRV")),
        ("What does the 10-K say in Item 1A about class A shares?", ()),
    ],
)
def test_companies_are_named_by_aliases_with_word_boundaries_and_case_rules(
    question: str, companies: tuple[str, ...]
) -> None:
    plan = plan_question(question, VIEW)
    assert plan.companies == companies
    assert not plan.ambiguous
    assert not plan.unknown_companies


@pytest.mark.parametrize(
    ("question", "pairs"),
    [
        ("KO in Q1 2026 and PEP in Q3 2025", {("KO", "2026Q1"), ("PEP", "2025Q3")}),
        ("KO, PEP and MDLZ in Q1 2026", {("KO", "2026Q1"), ("PEP", "2026Q1"), ("MDLZ", "2026Q1")}),
        ("How did KO's costs change from Q3 2025 to Q1 2026?", {("KO", "2025Q3"), ("KO", "2026Q1")}),
        ("In Q1 2026 KO and in Q3 2025 PEP", {("KO", "2026Q1"), ("PEP", "2025Q3")}),
        ("In Q1 2026, how did KO compare with PEP?", {("KO", "2026Q1"), ("PEP", "2026Q1")}),
        ("How did KO's Q1 2026 margin compare with PEP's?", {("KO", "2026Q1"), ("PEP", "2026Q1")}),
        ("KO in Q1 2026 and Q3 2025, PEP in Q1 2026", {("KO", "2026Q1"), ("KO", "2025Q3"), ("PEP", "2026Q1")}),
        ("KO and PEP in Q3 2025 versus MDLZ in Q1 2026", {("KO", "2025Q3"), ("PEP", "2025Q3"), ("MDLZ", "2026Q1")}),
        ("combined ratio Q3 2024", {(None, "2024Q3")}),
        ("What are KO's risks?", {("KO", None)}),
        ("What are the risks?", {(None, None)}),
    ],
)
def test_pairs_are_exact(question: str, pairs: set[tuple[str | None, str | None]]) -> None:
    plan = plan_question(question, VIEW)
    assert set(plan.pairs) == {Pair(*pair) for pair in pairs}
    assert len(plan.pairs) == len(pairs)


@pytest.mark.parametrize(
    ("words", "label"),
    [
        ("Q1 2026", "2026Q1"),
        ("2026Q1", "2026Q1"),
        ("Q1'26", "2026Q1"),
        ("1Q26", "2026Q1"),
        ("the first quarter of 2026", "2026Q1"),
        ("the three months ended March 27, 2026", "2026Q1"),
        ("FY25", "FY2025"),
        ("fiscal 2025", "FY2025"),
        ("2025", "FY2025"),
        ("the 2025 annual report", "FY2025"),
        ("year-end 2025", "FY2025"),
        ("the last quarter", "2026Q1"),
        ("the most recent quarter", "2026Q1"),
        ("the latest fiscal year", "FY2025"),
        ("its latest 10-K", "FY2025"),
        ("its latest 10-Q", "2026Q1"),
    ],
)
def test_a_period_is_understood_however_it_is_written(words: str, label: str) -> None:
    plan = plan_question(f"What did KO say about pricing in {words}?", VIEW)
    assert plan.pairs == (Pair("KO", label),)
    assert plan.ranking_query == "pricing"


@pytest.mark.parametrize(
    ("as_of", "label"), [("2026-05-01", "2026Q1"), ("2026-03-01", "2025Q4"), ("2025-11-01", "2025Q3")]
)
def test_last_quarter_is_the_newest_one_known_on_the_day_that_is_asked_for(as_of: str, label: str) -> None:
    plan = plan_question("How did KO do in the last quarter?", VIEW, date.fromisoformat(as_of))
    assert plan.pairs == (Pair("KO", label),)


def test_both_readings_of_a_fiscal_period_are_shown_where_they_differ() -> None:
    plan = plan_question("NVDA revenue in FY2024", VIEW)
    assert plan.pairs == (Pair("NVDA", "FY2024"),)
    assert any("FY2023" in note for note in plan.notes)


def test_the_other_count_is_searched_where_only_that_is_reported() -> None:
    plan = plan_question("Foot Locker inventories in Q3 2022", VIEW)
    assert plan.pairs == (Pair("FL", "2022Q3"),)


@pytest.mark.parametrize(
    ("question", "unknown"),
    [
        ("What is Tesla's revenue?", ("Tesla",)),
        ("How did TSLA do in Q1 2026?", ("TSLA",)),
        ("Compare KO with Tesla in Q1 2026", ("Tesla",)),
        ("What did Coca-Cola Consolidated pay?", ("Coca-Cola Consolidated",)),
        ("What are EPS, ROA and CAGR?", ()),
    ],
)
def test_a_company_outside_the_catalog_is_named_as_unknown(question: str, unknown: tuple[str, ...]) -> None:
    plan = plan_question(question, VIEW)
    assert plan.unknown_companies == unknown
    assert not any(pair.company is None for pair in plan.pairs) or not unknown


def test_an_alias_of_two_companies_of_the_catalog_resolves_to_none_and_is_said() -> None:
    view = view_of(
        ManifestEntry("a", 1, "0", "0", "a", "", ("public",), "CIK0000000007", "Zenith Corp", "10-K", "FY2024"),
        ManifestEntry("b", 1, "0", "0", "b", "", ("public",), "CIK0000000008", "Zenith Inc", "10-K", "FY2024"),
    )
    plan = plan_question("What is Zenith's revenue?", view)
    assert plan.companies == ()
    assert plan.ambiguous == ("Zenith",)
    assert any("CIK0000000007, CIK0000000008" in note for note in plan.notes)


def test_a_company_that_no_table_holds_is_found_by_the_name_its_documents_state() -> None:
    view = view_of(
        ManifestEntry("a", 1, "0", "0", "a", "", ("public",), "CIK0000000007", "Quuxly Holdings Ltd", "10-K", "FY2024")
    )
    assert plan_question("What is Quuxly's revenue?", view).companies == ("CIK0000000007",)


def test_a_counterpart_is_a_word_of_the_question_and_no_filter() -> None:
    plan = plan_question("How much of its sales did PepsiCo make to Cigna in 2025?", VIEW)
    assert plan.companies == ("PEP",)
    assert "cigna" in plan.ranking_query.split()
    assert plan.notes


@pytest.mark.parametrize(
    ("question", "forms", "sections", "roles"),
    [
        ("What does KO's 10-K say on water?", ("10-K",), (), ()),
        ("risk factors of KO", (), ("Item 1A",), ()),
        (
            "What is in Item 7 of the annual report?",
            ("10-K", "20-F", "40-F"),
            ("Item 7", "Part I Item 7", "Part II Item 7"),
            (),
        ),
        ("What did the CFO of PepsiCo say on margins?", (), (), ("chief_financial_officer",)),
        ("What did analysts ask on the earnings call?", ("transcript",), (), ("analyst",)),
        ("Does Foot Locker's new CEO have experience?", (), (), ()),
        ("What does the memo conclude?", ("memo",), (), ()),
    ],
)
def test_forms_sections_and_speakers_are_read(
    question: str, forms: tuple[str, ...], sections: tuple[str, ...], roles: tuple[str, ...]
) -> None:
    plan = plan_question(question, VIEW)
    assert (plan.forms, plan.sections, plan.roles) == (forms, sections, roles)


def test_a_metric_is_expanded_to_the_wording_of_filings_and_to_the_statement_that_shows_it() -> None:
    plan = plan_question("What was KO's capex in FY2025?", VIEW)
    assert plan.concepts == ("capital expenditures",)
    assert "purchases of property, plant and equipment" in dict(plan.expansions)["capital expenditures"]
    assert plan.statements == ("cash_flow",)
    assert plan.lexicon == load_lexicon().sha256


def test_a_ratio_is_expanded_to_its_components() -> None:
    plan = plan_question("working capital ratio of KO in FY2025", VIEW)
    added = dict(plan.expansions)["current ratio"]
    assert {"total current assets", "total current liabilities"} <= set(added)
    assert plan.statements == ("balance_sheet",)


def test_a_statement_s_name_is_no_metric() -> None:
    plan = plan_question("cash flow statement of KO in FY2025", VIEW)
    assert plan.statements == ("cash_flow",)
    assert "cash and cash equivalents" not in plan.concepts


def test_days_that_end_no_period_are_kept_as_dates() -> None:
    plan = plan_question("What did PEP decide on May 3, 2023 and in June 2024?", VIEW)
    assert plan.dates == ("2023-05-03", "2024-06")
    assert plan.periods == ()


@pytest.mark.parametrize(
    "question",
    [
        "",
        "   ",
        "?",
        "x" * 10_000,
        "'; DROP TABLE fragments; --",
        '"KO AND (PEP OR',
        "field:* ^2 ~3 [a TO b]",
        "🙂🙂",
        "\x00",
    ],
)
def test_any_text_becomes_a_plan(question: str) -> None:
    plan = plan_question(question, VIEW)
    assert len(plan.ranking_query) <= LONGEST_QUESTION
    assert bool(plan.notes) == (len(question) > LONGEST_QUESTION)


def test_the_lexicon_names_only_components_and_statements_that_it_holds() -> None:
    lexicon = load_lexicon()
    names = {concept.name for concept in lexicon.concepts}
    assert len(names) == len(lexicon.concepts) >= 150
    for concept in lexicon.concepts:
        assert set(concept.components) <= names
        assert all(lexicon.statement(name) for name in concept.statements)


HELD = frozenset(
    {"revenue", "sales", "grew", "gross", "margin", "memo", "sprite", "research", "coca", "cola", "pepsico"}
)


@pytest.mark.parametrize(
    ("question", "unknown"),
    [
        ("What was Zebronics' gross margin in FY2025?", ("Zebronics",)),
        ("Does Zebronics Holdings Inc. pay a dividend?", ("Zebronics Holdings Inc",)),
        ("Compare PepsiCo and Quorlix revenue in Q1 2026", ("Quorlix",)),
        ("What did Coca-Cola say about Quorlix in Q1 2026?", ()),  # a brand or an event, as far as we know
        ("Summarise the margins of KO", ()),
        ("What Was The Gross Margin Of Zebronics", ()),  # in title case a capital says nothing
        ("What did Sprite sales do in March 2026?", ()),
        ("what was zebronics' margin", ()),
    ],
)
def test_a_name_that_no_readable_document_holds_is_an_unknown_company(question: str, unknown: tuple[str, ...]) -> None:
    view = CatalogView(VIEW.documents, VIEW.reported, HELD.__contains__)
    assert plan_question(question, view).unknown_companies == unknown


def test_a_memo_about_a_company_is_its_authors() -> None:
    memo = entry("RESEARCH", "memo", None, "2026-05-06", subjects=("PEP", "MDLZ"))
    view = view_of(*VIEW.documents, memo)
    plan = plan_question("What does the memo of May 6, 2026 expect PepsiCo's price cuts to cost?", view)
    assert plan.pairs == (Pair("RESEARCH", None),)
    assert "pepsico" in plan.ranking_query.split()
    assert any("RESEARCH" in note for note in plan.notes)
    assert plan_question("What did PepsiCo say in the 10-Q for Q1 2026?", view).pairs == (Pair("PEP", "2026Q1"),)
    assert plan_question("What does the memo say about KO?", view).pairs == (Pair("KO", None),)


@pytest.mark.parametrize(
    ("question", "periods"),
    [
        ("PGR combined ratio in 2100Q1", ("2100Q1",)),
        ("PGR combined ratio in fiscal 3024", ("FY3024",)),
        ("KO revenue 9999Q4", ("9999Q4",)),
        ("KO revenue in the third quarter of 1824", ("FY1824",)),
        ("PGR combined ratio Q3 2024 and Q3 2124", ("2024Q3", "2124Q3")),
        ("PGR combined ratio in the last two quarters", ("2024Q2", "2024Q3")),
        ("PGR combined ratio in the previous quarter", ("2024Q2",)),
        ("PGR combined ratio 3 quarters ago", ("2023Q4",)),
        ("KO revenue 2 years ago", ("FY2023",)),
        ("PGR combined ratio in Q3 2024 against the prior year", ("2024Q3",)),
    ],
)
def test_a_period_that_nobody_reports_is_asked_for_and_not_dropped(question: str, periods: tuple[str, ...]) -> None:
    assert plan_question(question, VIEW).periods == periods
