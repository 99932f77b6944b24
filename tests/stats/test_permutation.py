"""Shuffled raters."""

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
    drawn = shuffles(seeds(5, seed), n_raters)
    assert drawn.shape == (5, n_raters)
    np.testing.assert_array_equal(np.sort(drawn), np.tile(np.arange(n_raters), (5, 1)))


@given(within=strata, seed=st.integers(0, 2**32 - 1))
@quick
def test_raters_stay_within_their_stratum(within: np.ndarray[tuple[int], np.dtype[np.int32]], seed: int) -> None:
    drawn = shuffles(seeds(5, seed), within.size, within)
    np.testing.assert_array_equal(np.sort(drawn), np.tile(np.arange(within.size), (5, 1)))
    np.testing.assert_array_equal(within[drawn], np.tile(within, (5, 1)))


def test_a_stratum_of_one_stays_where_it_is() -> None:
    drawn = shuffles(seeds(20), 5, np.array([0, 1, 0, 2, 0]))
    assert (drawn[:, [1, 3]] == [1, 3]).all()
    assert len({tuple(row) for row in drawn.tolist()}) > 1


@pytest.mark.parametrize("within", [None, np.array([0, 1, 0, 1, 0, 1, 0])])
def test_a_replicate_is_the_same_whatever_is_drawn_beside_it(
    within: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> None:
    many, few = shuffles(seeds(50), 7, within), shuffles(seeds(8), 7, within)
    np.testing.assert_array_equal(many[:8], few)
    np.testing.assert_array_equal(shuffles(seeds(50)[30:31], 7, within)[0], many[30])


def test_another_seed_draws_other_rows() -> None:
    assert not np.array_equal(shuffles(seeds(3, 0), 50), shuffles(seeds(3, 1), 50))
    rows = shuffles(seeds(100), 50)
    assert len({tuple(row) for row in rows.tolist()}) == 100


@pytest.mark.parametrize(
    ("within", "orders"), [(None, 24), (np.array([0, 0, 1, 1]), 4)], ids=["freely", "within strata"]
)
def test_every_order_is_as_likely(within: np.ndarray[tuple[int], np.dtype[np.int64]] | None, orders: int) -> None:
    n = 4800
    found = Counter(tuple(row) for row in shuffles(seeds(n, 3), 4, within).tolist())
    assert len(found) == orders
    expected = n / orders
    chi_squared = sum((count - expected) ** 2 / expected for count in found.values())
    # Mean of the chi-squared distribution plus five of its standard deviations.
    assert chi_squared < (orders - 1) + 5 * (2 * (orders - 1)) ** 0.5


def test_strata_for_another_number_of_raters_are_refused() -> None:
    with pytest.raises(InvalidInput, match="3 strata for 4 raters"):
        shuffles(seeds(1), 4, np.array([0, 1, 1]))


def test_no_seeds_no_rows() -> None:
    assert shuffles([], 4).shape == (0, 4)
