"""Counts of answers, from long columns and from matrices."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.strategies import matrices, quick

from dissensus.errors import InvalidInput
from dissensus.stats import counts
from dissensus.stats.agreement import krippendorff_alpha
from dissensus.stats.counts import count_answers, count_matrix


def test_counts_answers_of_items() -> None:
    counts = count_answers(np.array([0, 0, 0, 2]), np.array([1, 1, 0, 2]))
    assert counts.tolist() == [[1, 2, 0], [0, 0, 0], [0, 0, 1]]
    assert np.issubdtype(counts.dtype, np.integer)


def test_missing_answers_are_not_counted_but_their_item_is_kept() -> None:
    counts = count_answers(np.array([0, 1, 2]), np.array([1, 0, -1]))
    assert counts.tolist() == [[0, 1], [1, 0], [0, 0]]


def test_unused_items_and_categories_have_zero_counts() -> None:
    counts = count_answers(np.array([0]), np.array([0]), n_items=2, n_categories=3)
    assert counts.tolist() == [[1, 0, 0], [0, 0, 0]]


def test_nothing_given_is_an_empty_table() -> None:
    empty = np.array([], dtype=np.int64)
    assert count_answers(empty, empty, n_items=2, n_categories=3).tolist() == [[0, 0, 0], [0, 0, 0]]


@quick
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 3)), min_size=1, max_size=20))
def test_every_cell_counts_its_ratings(pairs: list[tuple[int, int]]) -> None:
    items, answers = (np.array(column) for column in zip(*pairs, strict=True))
    counts = count_answers(items, answers, n_items=5, n_categories=4)
    for item in range(5):
        for answer in range(4):
            assert counts[item, answer] == pairs.count((item, answer))


def test_the_compiled_loop_counts_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    items, answers = rng.integers(9, size=500).astype(np.int8), rng.integers(-1, 4, size=500)
    tables = []
    for limit in (500, 0):
        monkeypatch.setattr(counts, "_FEW", limit)
        monkeypatch.setattr(counts, "_COMPILED", "a module that is not loaded")
        tables.append(count_answers(items, answers, n_items=70, n_categories=4))
    np.testing.assert_array_equal(tables[0], tables[1])
    assert tables[0].dtype == tables[1].dtype


@pytest.mark.parametrize("item_type", [np.uint64, np.int8])
@pytest.mark.parametrize("answer_type", [np.uint64, np.int64, np.uint8])
def test_codes_of_any_integer_type(
    monkeypatch: pytest.MonkeyPatch, item_type: type[np.integer[Any]], answer_type: type[np.integer[Any]]
) -> None:
    monkeypatch.setattr(counts, "_COMPILED", "a module that is not loaded")
    table = count_answers(np.array([100, 0, 0], item_type), np.array([3, 1, 1], answer_type))
    assert (table.shape, table[100, 3], table[0, 1], table.sum()) == ((101, 4), 1, 2, 3)


@quick
@given(matrices())
def test_matrix_and_long_form_agree(matrix: NDArray[np.int64]) -> None:
    items = np.broadcast_to(np.arange(matrix.shape[1]), matrix.shape)
    long = count_answers(items.ravel(), matrix.ravel(), n_items=matrix.shape[1], n_categories=4)
    np.testing.assert_array_equal(count_matrix(matrix, n_categories=4), long)
    with_nan = np.where(matrix < 0, np.nan, matrix.astype(float))
    np.testing.assert_array_equal(count_matrix(with_nan, n_categories=4), long)


@quick
@given(matrices())
def test_order_of_raters_does_not_matter(matrix: NDArray[np.int64]) -> None:
    backwards = np.flip(matrix, axis=0)
    np.testing.assert_array_equal(count_matrix(matrix, n_categories=4), count_matrix(backwards, n_categories=4))


@pytest.mark.parametrize(
    ("items", "answers", "options", "message"),
    [
        pytest.param([0, 1], [0], {}, "each rating needs one of each", id="lengths differ"),
        pytest.param([-1], [0], {}, "negative code", id="negative item"),
        pytest.param([0.5], [0], {}, "items must hold whole numbers", id="item is not an integer"),
        pytest.param([0], [0.5], {}, "answers must hold whole numbers", id="answer is not an integer"),
        pytest.param([0.0], [np.inf], {}, "infinite code", id="infinite answer"),
        pytest.param([np.nan], [0.0], {}, "items must hold whole numbers", id="item is missing"),
        pytest.param([2], [0], {"n_items": 2}, "item code 2 is outside", id="item beyond n_items"),
        pytest.param([0], [3], {"n_categories": 3}, "answer code 3 is outside", id="answer beyond n_categories"),
        pytest.param([[0]], [[0]], {}, "has 2 dimensions", id="two dimensions"),
    ],
)
def test_malformed_long_input(items: list[float], answers: list[float], options: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        count_answers(np.array(items), np.array(answers), **options)


@pytest.mark.parametrize(
    ("matrix", "options", "message"),
    [
        pytest.param([0, 1], {}, "has 1 dimensions", id="one dimension"),
        pytest.param([[0, 0.5]], {}, "whole numbers as codes", id="code is not an integer"),
        pytest.param([[0, np.inf]], {}, "infinite code", id="infinite code"),
        pytest.param([[0, 3]], {"n_categories": 3}, "answer code 3 is outside", id="code beyond n_categories"),
    ],
)
def test_malformed_matrix(matrix: list[list[float]], options: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        count_matrix(np.array(matrix), **options)


def test_answers_that_begin_at_one_have_no_category_zero() -> None:
    assert count_matrix([[1, 5], [2, 5]]).tolist() == [[1, 1, 0, 0, 0], [0, 0, 0, 0, 2]]
    assert count_matrix([[1, 5], [2, 5]], n_categories=6).shape == (2, 6)
    assert count_matrix([[0, 5], [2, 5]]).shape == (2, 6)


def test_categories_of_a_matrix_may_be_anything() -> None:
    matrix = np.array([["rude", "fine", None], ["rude", "rude", float("nan")]], dtype=object)
    assert count_matrix(matrix, categories=["fine", "mixed", "rude"]).tolist() == [[0, 0, 2], [1, 0, 1], [0, 0, 0]]
    assert count_matrix([[-5, 5]], categories=range(-5, 6)).shape == (2, 11)


def test_a_pivot_of_a_table_is_counted() -> None:
    long = pd.DataFrame({"item": ["a", "a", "b"], "rater": ["x", "y", "x"], "rating": [1, 3, 2]})
    matrix = long.pivot(index="rater", columns="item", values="rating")
    assert count_matrix(matrix).tolist() == [[1, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize(
    ("matrix", "options", "message"),
    [
        ([["a", "b"]], {}, r"not numbers\. List them in order: categories="),
        ([["a", "b"]], {"categories": ["a"]}, "holds 'b', and the categories are"),
        ([["a"]], {"categories": ["a", "a"]}, "name each possible answer once"),
        ([[1]], {"categories": [1], "n_categories": 1}, "give one of them"),
    ],
)
def test_unlisted_answers_of_a_matrix_are_refused(matrix: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        count_matrix(matrix, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("ratings", [[[1.0, float("nan")], [2.0, 2.0]], [["a", "b"]], [[0.5, 1.0]]])
def test_ratings_that_are_taken_for_counts_point_to_count_matrix(ratings: object) -> None:
    with pytest.raises(InvalidInput, match=r"count the answers first: count_matrix\(ratings\)"):
        krippendorff_alpha(ratings)  # type: ignore[arg-type]


def test_missing_answers_of_a_matrix_may_stand_beside_text() -> None:
    frame = pd.DataFrame([["Yes", "No"], ["No", None]], dtype="string")
    text: tuple[Any, ...] = ([["Yes", "No"], ["No", float("nan")]], [["Yes", "No"], ["No", None]], frame)
    for matrix in text:
        assert count_matrix(matrix, categories=["No", "Yes"]).tolist() == [[1, 1], [1, 0]]
    assert count_matrix(pd.DataFrame([[1, 0], [0, None]], dtype="Int64")).tolist() == [[1, 1], [1, 0]]


def test_categories_of_several_types_stay_as_they_are() -> None:
    mixed: list[Any] = [1, "1"]
    assert count_matrix([mixed, mixed[::-1]], categories=mixed).tolist() == [[1, 1], [1, 1]]
    numbers = np.array([[np.float64(2), np.float64(1)]], dtype=object)
    assert count_matrix(numbers, categories=[1, 2]).tolist() == [[0, 1], [1, 0]]


def test_counts_whose_squares_would_overflow_are_refused() -> None:
    with pytest.raises(InvalidInput, match="2,147,483,647 raters of an item can be counted"):
        krippendorff_alpha([[4e9, 1e9], [1e9, 4e9]])
