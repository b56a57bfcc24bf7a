"""Numbers and units as filings print them."""

from decimal import Decimal

import pytest

from finrag_pipelines.parsing.tables.values import cell_unit, currency_of, parse_amount, parse_number, parse_units


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("1,234", "1234"),
        ("(1,234)", "-1234"),
        ("(1,234", "-1234"),
        ("$ (0.84)", "-0.84"),
        ("$(1,234)", "-1234"),
        ("1,234-", "-1234"),
        ("−12.5", "-12.5"),
        ("—", "0"),
        ("$ —", "0"),
        ("--", "0"),
        ("—%", "0"),
        ("12.5%", "12.5"),
        ("(3)%", "-3"),
        ("(.42)", "-0.42"),
        ("1,234 (a)", "1234"),
        ("(1,234)(2)", "-1234"),
        ("1,234¹", "1234"),
        ("1,234*", "1234"),
        ("RMB 1,000", "1000"),
        ("１，２３４", "1234"),
        ("12,34,567", "1234567"),
        ("1.234.567,89", "1234567.89"),
        ("45 3/8", "45.375"),
        ("12½", "12.5"),
        ("50 bps", "50"),
    ],
)
def test_a_printed_number_has_its_value_and_its_sign(printed: str, value: str) -> None:
    assert parse_number(printed) == Decimal(value)


@pytest.mark.parametrize("printed", ["", "N/A", "NM", "12/31/2025", "Item 7", "1,23", "2025-2027", "3.5.1", "$"])
def test_what_is_no_number_has_no_value(printed: str) -> None:
    assert parse_number(printed) is None


def test_an_amount_in_words_keeps_its_scale_apart() -> None:
    assert parse_amount("$12.5 billion") == (Decimal("12.5"), 9)
    assert parse_number("$12.5 billion") is None


def test_hostile_digits_end_quickly() -> None:
    assert parse_number("1," * 100_000) is None
    assert parse_units("(in " * 2_000 + "millions)") is not None


@pytest.mark.parametrize(
    ("line", "scale", "currency", "excepted", "share_scale"),
    [
        ("(in millions, except per share data)", 6, None, ("per_share",), None),
        ("(Dollars in thousands)", 3, "USD", (), None),
        ("$ in billions", 9, "USD", (), None),
        ("£m", 6, "GBP", (), None),
        ("€ million", 6, "EUR", (), None),
        ("RMB'000", 3, "CNY", (), None),
        ("单位：千元", 3, None, (), None),
        ("(Rs. in crore)", 7, "INR", (), None),
        ("(000's omitted)", 3, None, (), None),
        ("THOUSANDS, EXCEPT PER SHARE DATA", 3, None, ("per_share",), None),
        (
            "(In millions, except number of shares which are reflected in thousands and per share amounts)",
            6,
            None,
            ("per_share", "shares"),
            3,
        ),
        ("(Shares in thousands)", 0, None, (), 3),
    ],
)
def test_a_units_line_states_scale_currency_and_exceptions(
    line: str, scale: int, currency: str | None, excepted: tuple[str, ...], share_scale: int | None
) -> None:
    units = parse_units(line)
    assert units is not None
    assert (units.scale, units.currency, units.excepted, units.share_scale) == (scale, currency, excepted, share_scale)


def test_a_line_without_units_states_none() -> None:
    assert parse_units("(Unaudited)") is None
    assert parse_units("2025 2024 2023") is None


def test_the_nearest_statement_decides_the_unit_of_a_cell() -> None:
    millions = parse_units("(In millions, except per share data)")
    assert cell_unit("1.23", "Basic", "2025", millions, ("Earnings per share:",), "USD") == ("USD/share", 0)
    assert cell_unit("783", "Basic", "2025", millions, ("Shares used in per share calculation",)) == ("shares", 6)
    assert cell_unit("5.3 %", "Net sales", "Change", millions, (), "USD") == ("percent", 0)
    assert cell_unit("5", "Net sales", "% Change", millions, (), "USD") == ("percent", 0)
    assert cell_unit("1,080", "Gross margin", "2025", millions, (), "USD") == ("USD", 6)
    assert cell_unit("245", "Gross margin", "2025", millions, (), "USD") == ("USD", 6)
    assert cell_unit("92.5", "Combined ratio", "2025", millions, (), "USD") == ("percent", 0)
    assert cell_unit("92.5", "Excluding catastrophes", "2025", millions, ("Combined ratio (1)",)) == ("percent", 0)
    assert cell_unit("(0.8)", "Loss ratio", "Change", millions, (), "USD") == (None, 0)
    assert cell_unit("1.35", "Current ratio", "2025", millions, (), "USD") == (None, 0)
    assert cell_unit("$ 61", "Impairments under the adjusted rate", "2025", millions) == ("USD", 6)
    thousands = ("Shares used in computing earnings per share (in thousands):",)
    assert cell_unit("162,172", "Basic", "2000", millions, thousands) == ("shares", 3)


def test_par_value_in_a_label_does_not_make_money_shares() -> None:
    label = "Common stock, par value $0.01; 1,500 shares authorized, shares issued: 806 shares"
    assert cell_unit("8", label, "2015", parse_units("(In millions)"), (), "USD") == ("USD", 6)


def test_currency_signs_and_words_have_codes() -> None:
    assert currency_of("$ 4") == "USD"
    assert currency_of("HK$ 4") == "HKD"
    assert currency_of("millions of euros") == "EUR"
    assert currency_of("4") is None


@pytest.mark.parametrize(
    ("text", "scale", "excepted"),
    [
        ("unless otherwise noted, dollars in millions", 6, ("other",)),
        ("(unless otherwise indicated, in thousands, except per share amounts)", 3, ("per_share",)),
        ("(Dollars in millions, unless otherwise stated)", 6, ("other",)),
    ],
)
def test_what_stands_behind_unless_otherwise_noted_still_states_units(
    text: str, scale: int, excepted: tuple[str, ...]
) -> None:
    units = parse_units(text)
    assert units is not None
    assert (units.scale, units.excepted) == (scale, excepted)


def test_income_per_annum_is_no_amount_per_share() -> None:
    units = parse_units("(in millions)")
    assert cell_unit("12", "Investment income per annum", "2023", units, currency="USD") == ("USD", 6)
    assert cell_unit("1.20", "Net income per common share", "2023", units, currency="USD") == ("USD/share", 0)
