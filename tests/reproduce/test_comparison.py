"""Criterion for a published value to count as reproduced."""

import pytest
from reproduce.comparison import Printed, Row, Section, count_line, grid, table


def verdict(published: str, computed: str | int | float) -> str:
    return Row("x", published, computed).verdict


@pytest.mark.parametrize(
    ("published", "computed"),
    [
        ("43,050", 43_050),
        (".166", 0.16649),
        ("1.052", 1.0515),
        ("34 %", 0.34),
        ("7 %", 0.0665),
        ("22.0 %", 0.2204),
        ("> 60 %", 0.601),
        ("≤ 5", 5),
        ("60–70", "60–70"),
    ],
)
def test_equal_to_the_last_printed_digit(published: str, computed: str | int | float) -> None:
    assert verdict(published, computed) == "reproduced"


@pytest.mark.parametrize(
    ("published", "computed"), [(".166", 0.1669), (".166", 0.165), ("7 %", 0.0642), ("120", 120.9)]
)
def test_a_number_may_be_off_by_one_unit_of_the_last_digit(published: str, computed: float) -> None:
    assert verdict(published, computed) == "to rounding"


@pytest.mark.parametrize(
    ("published", "computed"),
    [
        (".166", 0.1683),
        ("7 %", 0.0599),
        ("57", 56),
        ("16", 24),
        ("> 60 %", 0.6),
        ("> 2,500,000", 2_419_272),
        ("≤ 5", 7),
        ("60–70", "69–76"),
        ("above", "below"),
    ],
)
def test_any_other_value_differs(published: str, computed: str | int | float) -> None:
    assert verdict(published, computed) == "differs"


def test_a_count_is_not_off_by_one() -> None:
    assert verdict("57", 56) == "differs"
    assert verdict("57", 56.0) == "to rounding"


def test_the_printed_comparison() -> None:
    assert Printed.of("43,050") == Printed(43_050, 0, False, "")
    assert Printed.of(".166") == Printed(0.166, 3, False, "")
    assert Printed.of("> 40 %") == Printed(40, 0, True, ">")
    with pytest.raises(ValueError, match="'about ten' is not a printed number"):
        Printed.of("about ten")


def test_a_computed_value_is_shown_with_the_digits_of_the_published_one() -> None:
    rows = [Row("", ".166", 0.1664), Row("", "0.17", 0.1664), Row("", "34 %", 0.3401), Row("", "9", 12_345)]
    assert [row.display for row in rows] == [".166", "0.17", "34.0 %", "12,345"]


ROWS = (
    Row("One", "1", 1),
    Row("Two", "2", 3, "counted twice"),
    Row("Three", ".3", 0.38),
    Row("Four", "4", 5, "counted twice"),
)


def test_a_section_marks_and_explains_differences() -> None:
    lines = list(Section("Numbers", ROWS, "All of them.").lines())
    assert lines == [
        "### Numbers\n",
        "All of them.\n",
        "| What | Published | Computed | Verdict |",
        "|---|--:|--:|---|",
        "| One | 1 | 1 | reproduced |",
        "| Two | 2 | 3 | **differs** |",
        "| Three | .3 | .4 | **to rounding** |",
        "| Four | 4 | 5 | **differs** |",
        "",
        "- **Two**, **Four**: counted twice",
        "",
    ]


def test_counts_of_verdicts() -> None:
    assert count_line(ROWS) == (
        "**1 of 4 published values are reproduced.** Off by no more than one unit of the last printed digit: 1. "
        "Different: 2.\n"
    )


def test_a_grid_has_both_values_in_a_cell() -> None:
    assert list(grid("Group", ("a", "b"), {"x": ROWS[:2]})) == [
        "| Group | a | b |",
        "|---|--:|--:|",
        "| x | 1 / 1 | 2 / **3** |",
        "",
    ]


def test_a_table_aligns_columns_to_the_right() -> None:
    assert list(table(("a", "b"), [("1", "2")], right=[1])) == ["| a | b |", "|---|--:|", "| 1 | 2 |"]
