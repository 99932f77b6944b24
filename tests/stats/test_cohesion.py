"""Negentropy and plurality size."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy
from tests.oracles import cohesion as oracle
from tests.reference import published
from tests.stats.compare import assert_equal_outcomes, assert_same, close, outcome
from tests.strategies import Counts, complete_tables, quick, tables

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.cohesion import negentropy, plurality_size
from dissensus.stats.result import Estimate


def test_published() -> None:
    counts = np.array(published.GRASP_TOY.counts_x)
    assert round(negentropy(counts).estimate, 10) == published.GRASP_TOY.values["negentropy"]
    assert round(plurality_size(counts).estimate, 10) == published.GRASP_TOY.values["plurality_size"]


@quick
@given(tables())
def test_oracles(counts: Counts) -> None:
    table = counts.tolist()
    rated = counts.sum(axis=1) > 0
    for result in (
        assert_same(lambda: negentropy(counts), lambda: oracle.negentropy(table)),
        assert_same(lambda: plurality_size(counts), lambda: oracle.plurality_size(table)),
        assert_same(lambda: negentropy(counts, correction="miller-madow"), lambda: oracle.miller_madow(table)),
    ):
        if result is not None:
            assert (result.n_items, result.n_dropped) == (rated.sum(), (~rated).sum())
            assert result.n_ratings == counts.sum()


@quick
@given(tables(), st.integers(1, 5))
def test_rarefied_is_the_mean_over_every_subset(counts: Counts, size: int) -> None:
    result = assert_same(lambda: negentropy(counts, rarefy_to=size), lambda: oracle.rarefied(counts.tolist(), size))
    if result is not None:
        assert result.n_items == (counts.sum(axis=1) >= size).sum()
        assert result.n_dropped == (counts.sum(axis=1) < size).sum()


def test_scipy() -> None:
    counts = np.random.default_rng(0).multinomial(11, [0.5, 0.3, 0.2, 0.0], size=20)
    expected = math.log(4) - entropy(counts / 11, axis=1).mean()
    assert negentropy(counts).estimate == close(float(expected))


@quick
@given(data=st.data())
def test_names_order_and_unrated_items_do_not_matter(data: st.DataObject) -> None:
    counts = data.draw(tables())
    items = data.draw(st.permutations(range(counts.shape[0])))
    categories = data.draw(st.permutations(range(counts.shape[1])))
    reordered = np.pad(counts[items][:, categories], ((0, 2), (0, 0)))
    assert_equal_outcomes(lambda: negentropy(reordered), lambda: negentropy(counts))
    assert_equal_outcomes(lambda: plurality_size(reordered), lambda: plurality_size(counts))
    if outcome(lambda: plurality_size(counts)) is not None:
        assert plurality_size(reordered).n_dropped == plurality_size(counts).n_dropped + 2


def test_ties_are_counted() -> None:
    counts = np.array([[2, 2, 0], [3, 1, 0], [1, 1, 1], [0, 0, 0], [0, 0, 4]])
    assert plurality_size(counts).ties == 2


@quick
@given(tables().filter(lambda counts: bool(counts.any())), st.integers(2, 5))
def test_shares_are_all_that_counts(counts: Counts, times: int) -> None:
    """Both are plug-in statistics: the same shares from more raters give the same value."""
    assert negentropy(times * counts).estimate == close(negentropy(counts).estimate)
    assert plurality_size(times * counts).estimate == close(plurality_size(counts).estimate)


@quick
@given(tables().filter(lambda counts: bool(counts.any())))
def test_ranges(counts: Counts) -> None:
    n_categories = counts.shape[1]
    rounding = 1e-12  # of a sum of logarithms; nothing is clipped
    assert -rounding <= negentropy(counts).estimate <= math.log(n_categories) + rounding
    assert 1 / n_categories - rounding <= plurality_size(counts).estimate <= 1


@pytest.mark.parametrize("n_categories", [2, 3, 7])
def test_the_ends_of_the_range(n_categories: int) -> None:
    split = np.full((2, n_categories), 3)
    one_voice = np.zeros((2, n_categories), dtype=np.int64)
    one_voice[:, 1] = 4
    assert negentropy(split).estimate == close(0.0)
    assert plurality_size(split).estimate == close(1 / n_categories)
    assert negentropy(one_voice).estimate == close(math.log(n_categories))
    assert plurality_size(one_voice).estimate == 1.0


@quick
@given(tables().filter(lambda counts: bool(counts.any())))
def test_a_sample_of_one_always_agrees_with_itself(counts: Counts) -> None:
    assert negentropy(counts, rarefy_to=1).estimate == close(math.log(counts.shape[1]))


@quick
@given(complete_tables(n_raters=4))
def test_fewer_raters_look_more_agreed(counts: Counts) -> None:
    """Bias that rarefaction removes: expected plug-in entropy grows with the sample (Jensen)."""
    by_size = [negentropy(counts, rarefy_to=size).estimate for size in (1, 2, 3, 4)]
    assert all(small >= large - 1e-12 for small, large in pairwise(by_size))
    assert by_size[-1] == close(negentropy(counts).estimate)


def test_rarefying_large_counts_does_not_overflow() -> None:
    """Binomials of a thousand raters exceed floats; the expected entropy of two of them does not."""
    counts = np.array([[600, 400]])
    differ = 2 * 600 * 400 / (1000 * 999)
    result = negentropy(counts, rarefy_to=2).estimate
    # logarithms of factorials near 6000 have relative errors near 1e-12
    assert result == pytest.approx(math.log(2) * (1 - differ), abs=1e-9)


def test_the_correction_lowers_negentropy_by_half_the_extra_categories_per_rating() -> None:
    counts = np.array([[3, 1, 0], [2, 1, 1], [4, 0, 0]])
    gap = negentropy(counts).estimate - negentropy(counts, correction="miller-madow").estimate
    assert gap == close((1 / 8 + 2 / 8 + 0) / 3)


@pytest.mark.parametrize("statistic", [negentropy, plurality_size])
@pytest.mark.parametrize(
    "counts", [pytest.param([[0, 0]], id="nobody rated"), pytest.param(np.zeros((0, 2), int), id="no items")]
)
def test_undefined(statistic: Callable[[Counts], Estimate], counts: list[list[int]]) -> None:
    with pytest.raises(UndefinedEstimate, match="no item has"):
        statistic(np.array(counts))


def test_no_item_has_enough_raters_to_rarefy() -> None:
    with pytest.raises(UndefinedEstimate, match="5"):
        negentropy(np.array([[2, 1], [1, 2]]), rarefy_to=5)


@pytest.mark.parametrize("statistic", [negentropy, plurality_size])
@pytest.mark.parametrize(
    ("counts", "message"),
    [
        pytest.param([[1, -1]], "cannot be negative", id="negative"),
        pytest.param([1, 2], "has 1 dimensions", id="one dimension"),
        pytest.param([[1.5, 2.0]], "whole numbers of raters", id="not integer"),
    ],
)
def test_malformed_counts(statistic: Callable[[Counts], Estimate], counts: list[list[float]], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        statistic(np.array(counts))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"correction": "jackknife"}, "correction is 'jackknife'"),
        ({"rarefy_to": 0}, "rarefy_to is 0; give a whole number"),
        ({"rarefy_to": -3}, "rarefy_to is -3; give a whole number"),
        ({"correction": "miller-madow", "rarefy_to": 2}, "not both"),
    ],
    ids=str,
)
def test_malformed_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        negentropy(np.array([[2, 1]]), **options)  # type: ignore[arg-type]
