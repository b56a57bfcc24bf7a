"""The company table: one company, however its name is written; ids for companies that it does not hold."""

import pytest

from finrag_pipelines.catalog.companies import (
    Company,
    CompanyTable,
    company_id_for,
    load_companies,
    name_key,
    normal_cik,
    normal_ticker,
    repair_encoding,
)


@pytest.mark.parametrize(
    ("written", "company"),
    [
        ("COCA COLA CO", "KO"),
        ("The Coca-Cola Company", "KO"),
        ("The Coca-Cola Company and Subsidiaries", "KO"),
        ("UNITEDHEALTH GROUP INC", "UNH"),
        ("United Health Group", "UNH"),
        ("PROGRESSIVE CORP/OH/", "PGR"),
        ("BANK OF AMERICA CORP /DE/", "BAC"),
        ("LILLY ELI & CO", "LLY"),
        ("SCHWAB CHARLES CORP", "SCHW"),
        ("Mondelēz International, Inc.", "MDLZ"),
        ("MondelÄ“z International, Inc.", "MDLZ"),
        ("J&J", "JNJ"),
        ("AMEX", "AXP"),
        ("Square, Inc.", "XYZ"),
        ("Activision", "ATVI"),
        ("Travelers Companies,\u00a0Inc.", "TRV"),
        ("NIKE, Inc .", "NKE"),
        ("Facebook, Inc.", "META"),
        ("AIG", "AIG"),
        ("Wells Fargo & Company/MN", "WFC"),
    ],
)
def test_a_company_is_found_under_every_spelling_of_its_name(written: str, company: str) -> None:
    found = load_companies().by_name(written)
    assert found is not None
    assert found.id == company


@pytest.mark.parametrize(
    "written", ["Coca-Cola Europacific Partners plc", "Apple Hospitality REIT, Inc.", "Co", "", "Inc."]
)
def test_a_name_with_other_words_is_another_company(written: str) -> None:
    found = load_companies().by_name(written)
    assert found is None or found.id not in ("KO", "AAPL")


def test_a_short_name_in_common_does_not_merge_two_companies() -> None:
    assert company_id_for("Prudential plc") == "prudential"
    assert company_id_for("Prudential plc", "0001116578") == "CIK0001116578"
    assert company_id_for("Prudential Financial, Inc.") == "PRU"
    assert company_id_for("Walt Disney Co", "0001001039") == "DIS"


def test_the_bottler_is_not_the_brand_owner() -> None:
    assert company_id_for("Coca-Cola Consolidated, Inc.") == "COKE"


def test_ids_ciks_and_names_in_the_table_name_one_company_each() -> None:
    table = load_companies()
    assert len(table.companies) > 300
    assert len({c.id for c in table.companies}) == len(table.companies)
    ciks = [c.cik for c in table.companies if c.cik]
    assert len(set(ciks)) == len(ciks)
    assert all(cik == normal_cik(cik) for cik in ciks)
    for company in table.companies:
        assert table.by_name(company.name) == company, company
        assert table.by_ticker(company.id) == company, company


@pytest.mark.parametrize(
    "company",
    ["KO", "PEP", "MDLZ", "PGR", "ALL", "UNH", "AIG", "MET", "CI", "TRV", "AAPL", "MSFT", "BRK-B", "JPM", "GE", "WMT"],
)
def test_large_issuers_are_known_with_their_cik(company: str) -> None:
    found = load_companies().get(company)
    assert found is not None
    assert found.cik


def test_an_alias_that_two_companies_share_names_neither() -> None:
    table = CompanyTable(
        (Company("A", "Alpha Inc.", aliases=("Shared",)), Company("B", "Beta Inc.", aliases=("Shared",)))
    )
    assert table.by_name("Shared") is None
    assert table.by_name("Beta").id == "B"  # type: ignore[union-attr]


def test_an_unknown_company_gets_its_ticker_else_its_cik_else_a_slug() -> None:
    assert company_id_for("Acme Rockets, Inc.", "0009999999", "acmr") == "ACMR"
    assert company_id_for("Acme Rockets, Inc.", 9999999) == "CIK0009999999"
    assert company_id_for("Acme Rockets, Inc.") == "acme-rockets"
    assert company_id_for("宁德时代新能源科技股份有限公司") == "宁德时代新能源科技股份有限公司"
    assert company_id_for(None) is None
    assert company_id_for("Inc.", None, "N/A") is not None


def test_a_ticker_that_moved_does_not_overrule_the_name_or_the_cik() -> None:
    assert company_id_for("Acme Rockets, Inc.", "0009999999", "KO") == "CIK0009999999"
    assert company_id_for("The Coca-Cola Company", None, "XYZ") == "KO"


def test_a_table_grows_by_the_companies_that_the_catalog_met() -> None:
    met = Company("swiggy", "Swiggy Limited", aliases=("Swiggy",))
    table = load_companies().extended_by([met, met, Company("KO", "Impostor Inc.")])
    assert table.by_name("SWIGGY LTD") == met
    assert table.get("KO") == load_companies().get("KO")


def test_tickers_that_are_words_are_marked() -> None:
    table = load_companies()
    assert all(table.is_ordinary_word(word) for word in ("ALL", "met", "CI", "Target", "Block"))
    assert not table.is_ordinary_word("PepsiCo")


def test_small_spellings_are_normal() -> None:
    assert normal_cik("21344") == "0000021344"
    assert normal_cik("0") is None
    assert normal_ticker("brk.b") == "BRK-B"
    assert normal_ticker("N/A") is None
    assert normal_ticker("Common Stock") is None
    assert name_key("The Estée Lauder Companies Inc.") == name_key("ESTEE LAUDER COMPANIES INC")
    assert repair_encoding("EstÃ©e Lauder") == "Estée Lauder"
    assert repair_encoding("Estée Lauder") == "Estée Lauder"
