"""Amounts as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import InvalidInput
from dissensus.schema.money import DIGITS, MOST, in_major, in_minor

CURRENCIES = ["GBP", "USD", *DIGITS]


@given(currency=st.sampled_from(CURRENCIES), minor=st.integers(1, MOST))
def test_what_is_written_is_read(currency: str, minor: int) -> None:
    assert in_minor(currency, str(in_major(currency, minor))) == minor


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
        str(2**63),
        "9" * 5000,
        "1,5",
        "1.234",
        "1.",
        ".5",
        "NaN",
    ],
)
def test_what_is_no_amount_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"is no amount in GBP\. Write one above 0 .* such as 6\.50\."):
        in_minor("GBP", text)


def test_a_currency_without_minor_units_has_no_point() -> None:
    assert in_minor("JPY", "650") == 650
    with pytest.raises(InvalidInput, match=r"such as 6\."):
        in_minor("JPY", "6.50")
    assert in_minor("BHD", "1.005") == 1005
