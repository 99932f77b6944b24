"""Alpha over many distinct numeric values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import rankdata
from tests.reference import published
from tests.stats.compare import assert_equal_outcomes
from tests.strategies import Counts, Floats, quick, tables, values_for

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.agreement import NO_PAIR, ONE_CATEGORY, krippendorff_alpha, krippendorff_alpha_long
from dissensus.stats.distance import Level

LEVELS: list[Level] = ["nominal", "ordinal", "interval", "ratio"]


def _long(counts: Counts, values: Floats) -> tuple[NDArray[np.int64], Floats]:
    item, category = np.indices(counts.shape)
    times = counts.ravel()
    return np.repeat(item.ravel(), times), np.repeat(values[category.ravel()], times)


@pytest.mark.parametrize("level", LEVELS)
def test_published(level: Level) -> None:
    example = published.FOUR_OBSERVERS
    matrix = np.array(example.matrix)
    values = np.where(matrix < 0, np.nan, np.array(example.values)[matrix])
    items = np.broadcast_to(np.arange(matrix.shape[1]), matrix.shape)
    result = krippendorff_alpha_long(items.ravel(), values.ravel(), level=level)
    assert round(result.estimate, example.digits) == example.alpha[level]


@pytest.mark.parametrize("level", LEVELS)
@quick
@given(data=st.data())
def test_equals_alpha_of_counts(level: Level, data: st.DataObject) -> None:
    counts = data.draw(tables())
    values = data.draw(values_for(counts.shape[1]))
    items, ratings = _long(counts, values)
    order = np.array(data.draw(st.permutations(range(len(items)))), dtype=np.int64)
    assert_equal_outcomes(
        lambda: krippendorff_alpha_long(items[order], ratings[order], level=level),
        lambda: krippendorff_alpha(counts, level=level, values=values),
    )


def test_interval_is_the_default() -> None:
    items, values = np.array([0, 0, 1, 1]), np.array([1.0, 2.0, 5.0, 9.0])
    assert krippendorff_alpha_long(items, values) == krippendorff_alpha_long(items, values, level="interval")


@quick
@given(tables())
def test_missing_values_are_as_if_never_given(counts: Counts) -> None:
    items, values = _long(counts, np.arange(1.0, counts.shape[1] + 1))
    with_holes = np.concatenate([items, items]), np.concatenate([values, np.full(len(values), np.nan)])
    assert_equal_outcomes(lambda: krippendorff_alpha_long(*with_holes), lambda: krippendorff_alpha_long(items, values))


def test_alpha_does_not_depend_on_item_numbers() -> None:
    values = np.array([1.0, 2.0, 5.0, 9.0, 5.0])
    small_ids = krippendorff_alpha_long(np.array([0, 0, 1, 1, 2]), values)
    large_ids = krippendorff_alpha_long(np.array([10**9, 10**9, 7, 7, 3]), values)
    assert large_ids.estimate == small_ids.estimate
    assert (large_ids.n_items, large_ids.n_ratings) == (2, 4)
    assert krippendorff_alpha_long(np.array(["b", "b", "a", "a", "c"]), values) == small_ids


def _many(seed: int) -> tuple[NDArray[np.int64], Floats]:
    """Two ratings of each of 100 000 items, (nearly) all values distinct."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=100_000)
    values = np.stack([truth, truth]) + rng.normal(size=(2, 100_000))
    items = np.broadcast_to(np.arange(100_000), values.shape)
    return items.ravel(), values.ravel()


def _two_raters_interval(values: Floats) -> float:
    """D_o is the mean squared difference of the pairs, D_e twice the sample variance."""
    first, second = values.reshape(2, -1)
    return float(1 - ((first - second) ** 2).mean() / (2 * values.var(ddof=1)))


# Each sum has 2e5 terms of order one: pairwise or running, its rounding stays under 1e-9 of the total.
@pytest.mark.parametrize("level", ["interval", "ordinal"])
def test_a_hundred_thousand_items_take_seconds(level: Level) -> None:
    items, values = _many(seed=1)
    # A quadratic table would take 80 GB.
    result = krippendorff_alpha_long(items, values, level=level)
    # Krippendorff's ordinal distance is the squared difference of average ranks
    expected = _two_raters_interval(values if level == "interval" else rankdata(values))
    assert result.estimate == pytest.approx(expected, abs=1e-9)
    assert result.n_ratings == 200_000


def test_a_hundred_thousand_distinct_values_shared_by_two_hundred_thousand_ratings() -> None:
    items = np.repeat(np.arange(50_000), 4)
    values = np.random.default_rng(2).permutation(np.repeat(np.arange(100_000.0), 2))
    ranks = rankdata(values)
    ordinal = krippendorff_alpha_long(items, values, level="ordinal").estimate
    # both levels see the same spacing when every value occurs twice
    assert ordinal == pytest.approx(krippendorff_alpha_long(items, ranks).estimate, abs=1e-9)
    assert ordinal == pytest.approx(krippendorff_alpha_long(items, values).estimate, abs=1e-9)
    assert abs(ordinal) < 0.02  # values are random: the standard error is near 1/sqrt(300 000)


def test_ratio_of_thousands_of_values() -> None:
    """Large enough for several blocks, small enough to compare all pairs at once."""
    rng = np.random.default_rng(3)
    pairs = rng.lognormal(size=(2500, 1)) * rng.lognormal(sigma=0.3, size=(2500, 2))
    first, second, pooled = pairs[:, 0], pairs[:, 1], pairs.ravel()
    observed = np.square((first - second) / (first + second)).mean()
    across = np.square((pooled[:, None] - pooled) / (pooled[:, None] + pooled)).sum()
    result = krippendorff_alpha_long(np.repeat(np.arange(2500), 2), pooled, level="ratio")
    # 25 million terms below one: their sum keeps ten digits however it is ordered
    assert result.estimate == pytest.approx(1 - observed / (across / (5000 * 4999)), abs=1e-10)


def test_interval_keeps_its_digits_far_from_zero() -> None:
    """Sums of squares of values near 1e8 would lose every digit of a difference of one; alpha must not."""
    items, values = np.array([0, 0, 1, 1, 2, 2]), np.array([0.0, 1.0, 2.0, 2.0, 4.0, 3.0])
    near_zero = krippendorff_alpha_long(items, values).estimate
    shifted = krippendorff_alpha_long(items, values + 1e8).estimate
    assert shifted == pytest.approx(near_zero, abs=1e-12)  # the shifted values are exact in binary


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("items", "values", "reason"),
    [
        pytest.param([0, 1], [1.0, 2.0], NO_PAIR, id="one rating per item"),
        pytest.param([0, 0], [1.0, np.nan], NO_PAIR, id="one rating left"),
        pytest.param([0, 0, 1, 1], [3.0, 3.0, 3.0, 3.0], ONE_CATEGORY, id="one value"),
        pytest.param([], [], NO_PAIR, id="nothing"),
    ],
)
def test_undefined(level: Level, items: list[int], values: list[float], reason: str) -> None:
    with pytest.raises(UndefinedEstimate, match=reason):
        krippendorff_alpha_long(np.array(items, dtype=np.int64), np.array(values), level=level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n_items", [1, 3, 5, 7, 50])
def test_one_value_is_seen_through_rounding(n_items: int, level: Level) -> None:
    """The mean of many 0.1 is not 0.1: a variance of 1e-34 would make any alpha at all."""
    with pytest.raises(UndefinedEstimate, match=ONE_CATEGORY):
        krippendorff_alpha_long(np.repeat(np.arange(n_items), 3), np.full(3 * n_items, 0.1), level=level)


@pytest.mark.parametrize(
    ("items", "values", "level", "message"),
    [
        pytest.param([0, 0], [1.0], "interval", "each rating needs one of each", id="lengths differ"),
        pytest.param([[0, 0]], [[1.0, 2.0]], "interval", "each rating needs one of each", id="two dimensions"),
        pytest.param([0, 0], [1.0, np.inf], "interval", "must be finite", id="infinite"),
        pytest.param([0, 0], [1.0, 2.0], "polar", "level is 'polar'", id="unknown level"),
        pytest.param([0, 0, 1, 1], [1.0, -1.0, 2.0, 2.0], "ratio", "cannot be negative", id="ratio below zero"),
    ],
)
def test_malformed(items: list[int], values: list[float], level: Level, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        krippendorff_alpha_long(np.array(items), np.array(values), level=level)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("level", ["interval", "ordinal"])
def test_values_too_large_to_be_squared_are_refused(level: Level) -> None:
    items, values = [0, 0, 1, 1], [1e200, 2e200, 3e200, 4e200]
    if level == "ordinal":
        assert krippendorff_alpha_long(items, values, level=level) == krippendorff_alpha_long(
            items, [1, 2, 3, 4], level=level
        )
    else:
        with pytest.raises(InvalidInput, match="too large to be squared"):
            krippendorff_alpha_long(items, values, level=level)
