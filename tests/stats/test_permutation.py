"""Permutations of raters."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import InvalidInput
from dissensus.stats.permutation import shuffles

Seeds = list[np.random.SeedSequence]


def seeds(n: int, seed: int = 0) -> Seeds:
    return np.random.SeedSequence(seed).spawn(n)


strata = st.lists(st.integers(-1, 3), min_size=1, max_size=12).map(lambda codes: np.array(codes, dtype=np.int32))


@given(n_raters=st.integers(1, 200), seed=st.integers(0, 2**32 - 1))
@quick
def test_every_row_is_a_permutation(n_raters: int, seed: int) -> None:
    permutations = shuffles(seeds(5, seed), n_raters)
    assert permutations.shape == (5, n_raters)
    np.testing.assert_array_equal(np.sort(permutations), np.tile(np.arange(n_raters), (5, 1)))


@given(within=strata, seed=st.integers(0, 2**32 - 1))
@quick
def test_raters_stay_within_their_stratum(within: np.ndarray[tuple[int], np.dtype[np.int32]], seed: int) -> None:
    permutations = shuffles(seeds(5, seed), within.size, within)
    np.testing.assert_array_equal(np.sort(permutations), np.tile(np.arange(within.size), (5, 1)))
    np.testing.assert_array_equal(within[permutations], np.tile(within, (5, 1)))


def test_a_stratum_of_one_is_not_moved() -> None:
    permutations = shuffles(seeds(20), 5, np.array([0, 1, 0, 2, 0]))
    assert (permutations[:, [1, 3]] == [1, 3]).all()
    assert len({tuple(row) for row in permutations.tolist()}) > 1


@pytest.mark.parametrize("within", [None, np.array([0, 1, 0, 1, 0, 1, 0])])
def test_a_replicate_does_not_depend_on_the_number_of_replicates(
    within: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> None:
    long, short = shuffles(seeds(50), 7, within), shuffles(seeds(8), 7, within)
    np.testing.assert_array_equal(long[:8], short)
    np.testing.assert_array_equal(shuffles(seeds(50)[30:31], 7, within)[0], long[30])


def test_different_seeds_draw_different_rows() -> None:
    assert not np.array_equal(shuffles(seeds(3, 0), 50), shuffles(seeds(3, 1), 50))
    rows = shuffles(seeds(100), 50)
    assert len({tuple(row) for row in rows.tolist()}) == 100


@pytest.mark.parametrize(
    ("within", "orders"), [(None, 24), (np.array([0, 0, 1, 1]), 4)], ids=["freely", "within strata"]
)
def test_every_order_is_as_likely(within: np.ndarray[tuple[int], np.dtype[np.int64]] | None, orders: int) -> None:
    n = 4800
    result = Counter(tuple(row) for row in shuffles(seeds(n, 3), 4, within).tolist())
    assert len(result) == orders
    expected = n / orders
    chi_squared = sum((count - expected) ** 2 / expected for count in result.values())
    # Mean of the chi-squared distribution plus five of its standard deviations.
    assert chi_squared < (orders - 1) + 5 * (2 * (orders - 1)) ** 0.5


def test_strata_for_another_number_of_raters_are_refused() -> None:
    with pytest.raises(InvalidInput, match="3 strata for 4 raters"):
        shuffles(seeds(1), 4, np.array([0, 1, 1]))


def test_without_seeds_there_are_no_rows() -> None:
    assert shuffles([], 4).shape == (0, 4)
