"""Range checks of numbers: values of other types, and numbers beyond those of floats."""

import pytest

from dissensus.errors import InvalidInput
from dissensus.schema.numbers import check_number, check_weights, parse_digits


@pytest.mark.parametrize("value", [10**400, -(10**400), True, False, float("nan"), float("inf"), "1", None])
def test_other_values_are_no_numbers(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"^width is .*; give a number.$"):
        check_number("width", value)


def test_bounds_are_named() -> None:
    check_number("width", 10**300, 0)
    with pytest.raises(InvalidInput, match=r"width is -1; give a number from 0.$"):
        check_number("width", -1, 0)
    with pytest.raises(InvalidInput, match=r"width is 2; give a number from 0 up to 1.$"):
        check_number("width", 2, 0, 1)


def test_weights_have_a_positive_finite_sum() -> None:
    check_weights("raters", [0, 2.5])
    with pytest.raises(InvalidInput, match="at least one must be above 0"):
        check_weights("raters", [0, 0])
    with pytest.raises(InvalidInput, match="whose sum is too large"):
        check_weights("raters", [1e308, 1e308])


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", " 1", "1234567890", "١", "²"])
def test_only_few_ascii_digits_are_a_number(text: str) -> None:
    assert parse_digits(text) is None
    assert parse_digits("0" * 8 + "7") == 7
