"""Range checks of numbers: values of other types, and numbers beyond those of floats."""

import pytest

from dissensus.errors import InvalidInput
from dissensus.schema.numbers import check_number, check_share, check_weights, check_whole, parse_digits


@pytest.mark.parametrize("value", [10**400, -(10**400), True, False, float("nan"), float("inf"), "1", None])
def test_other_values_are_no_numbers(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"^width is .*; give a number.$"):
        check_number("width", value)


def test_bounds_are_named() -> None:
    check_number("width", 10**300, 0)
    check_number("width", 0, 0, 1)
    check_number("width", 1, 0, 1)
    with pytest.raises(InvalidInput, match=r"width is -1; give a number from 0.$"):
        check_number("width", -1, 0)
    with pytest.raises(InvalidInput, match=r"width is 2; give a number from 0 up to 1.$"):
        check_number("width", 2, 0, 1)


@pytest.mark.parametrize("value", [0, 6, 2.0, True, "2", None])
def test_a_whole_number_is_an_integer_within_its_bounds(value: object) -> None:
    check_whole("seats", 1, 1, 5)
    check_whole("seats", 5, 1, 5)
    with pytest.raises(InvalidInput, match=rf"^seats is {value!r}; give a whole number from 1 to 5\.$"):
        check_whole("seats", value, 1, 5)


def test_a_share_is_from_0_to_1() -> None:
    check_share("rest", 0)
    check_share("rest", 1)
    for value in (-0.001, 1.001):
        with pytest.raises(InvalidInput, match=rf"^rest is {value}; give a number from 0 up to 1\.$"):
            check_share("rest", value)


def test_weights_have_a_positive_finite_sum() -> None:
    check_weights("raters", [0, 2.5])
    with pytest.raises(InvalidInput, match=r"^A weight of raters is -1; give a number from 0\.$"):
        check_weights("raters", [2, -1])
    with pytest.raises(InvalidInput, match="at least one must be above 0"):
        check_weights("raters", [0, 0])
    with pytest.raises(InvalidInput, match="whose sum is too large"):
        check_weights("raters", [1e308, 1e308])


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", " 1", "1234567890", "١", "²"])
def test_only_few_ascii_digits_are_a_number(text: str) -> None:
    assert parse_digits(text) is None
    assert parse_digits("0" * 8 + "7") == 7
