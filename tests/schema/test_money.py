"""Amounts of money."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import InvalidInput
from dissensus.schema.money import DIGITS, MAX_AMOUNT, check_currency, parse_minor_units, to_major_units

CURRENCIES = ["GBP", "USD", *DIGITS]


@given(currency=st.sampled_from(CURRENCIES), minor=st.integers(1, MAX_AMOUNT))
def test_amounts_survive_formatting(currency: str, minor: int) -> None:
    assert parse_minor_units(currency, str(to_major_units(currency, minor))) == minor


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "0",
        "0.00",
        "-1",
        "+1",
        "1e9",
        "٣",
        "³",
        "<b>",
        "21474836.48",
        str(2**63),
        "9" * 5000,
        "1,5",
        "1.234",
        "1.",
        ".5",
        "NaN",
    ],
)
def test_an_invalid_amount_is_rejected_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"is not an amount in GBP\. Write one above 0 .* such as 6\.50\."):
        parse_minor_units("GBP", text)


def test_a_currency_without_minor_units_has_no_point() -> None:
    assert parse_minor_units("JPY", "650") == 650
    with pytest.raises(InvalidInput, match=r"such as 6\."):
        parse_minor_units("JPY", "6.50")
    assert parse_minor_units("BHD", "1.005") == 1005


def test_the_largest_amount_is_the_largest_integer_of_databases() -> None:
    assert parse_minor_units("GBP", "21474836.47") == MAX_AMOUNT == 2**31 - 1
    assert parse_minor_units("GBP", "0.01") == 1


@pytest.mark.parametrize("currency", ["", "gbp", "GB", "GBPS", "G P", "£", "ÄÖÜ", "GBP\n"])
def test_a_currency_has_three_capitals(currency: str) -> None:
    check_currency("GBP")
    with pytest.raises(InvalidInput, match=r"is not a currency code\. Give three letters, such as 'GBP'"):
        check_currency(currency)
