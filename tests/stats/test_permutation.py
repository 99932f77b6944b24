"""Permutation tests: permutations of raters, p-values and step-down max-T."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata
from tests.oracles import significance as oracle
from tests.stats.compare import close
from tests.strategies import Floats, quick

from dissensus.errors import InvalidInput
from dissensus.stats.permutation import Method, draw_permutations, max_t, permutation_p

Seeds = list[np.random.SeedSequence]
METHODS: tuple[Method, ...] = ("two-sided", "grasp")
#: few distinct values, so that ties abound
replicate_lists = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=15)


def seeds(n: int, seed: int = 0) -> Seeds:
    return np.random.SeedSequence(seed).spawn(n)


strata = st.lists(st.integers(-1, 3), min_size=1, max_size=12).map(lambda codes: np.array(codes, dtype=np.int32))


@given(n_raters=st.integers(1, 200), seed=st.integers(0, 2**32 - 1))
@quick
def test_every_row_is_a_permutation(n_raters: int, seed: int) -> None:
    permutations = draw_permutations(seeds(5, seed), n_raters)
    assert permutations.shape == (5, n_raters)
    np.testing.assert_array_equal(np.sort(permutations), np.tile(np.arange(n_raters), (5, 1)))


@given(within=strata, seed=st.integers(0, 2**32 - 1))
@quick
def test_raters_stay_within_their_stratum(within: np.ndarray[tuple[int], np.dtype[np.int32]], seed: int) -> None:
    permutations = draw_permutations(seeds(5, seed), within.size, within)
    np.testing.assert_array_equal(np.sort(permutations), np.tile(np.arange(within.size), (5, 1)))
    np.testing.assert_array_equal(within[permutations], np.tile(within, (5, 1)))


def test_a_stratum_of_one_is_not_moved() -> None:
    permutations = draw_permutations(seeds(20), 5, np.array([0, 1, 0, 2, 0]))
    assert (permutations[:, [1, 3]] == [1, 3]).all()
    assert len({tuple(row) for row in permutations.tolist()}) > 1


@pytest.mark.parametrize("within", [None, np.array([0, 1, 0, 1, 0, 1, 0])])
def test_a_replicate_does_not_depend_on_the_number_of_replicates(
    within: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> None:
    long, short = draw_permutations(seeds(50), 7, within), draw_permutations(seeds(8), 7, within)
    np.testing.assert_array_equal(long[:8], short)
    np.testing.assert_array_equal(draw_permutations(seeds(50)[30:31], 7, within)[0], long[30])


def test_different_seeds_draw_different_rows() -> None:
    assert not np.array_equal(draw_permutations(seeds(3, 0), 50), draw_permutations(seeds(3, 1), 50))
    rows = draw_permutations(seeds(100), 50)
    assert len({tuple(row) for row in rows.tolist()}) == 100


@pytest.mark.parametrize(
    ("within", "orders"), [(None, 24), (np.array([0, 0, 1, 1]), 4)], ids=["freely", "within strata"]
)
def test_every_order_is_as_likely(within: np.ndarray[tuple[int], np.dtype[np.int64]] | None, orders: int) -> None:
    n = 4800
    result = Counter(tuple(row) for row in draw_permutations(seeds(n, 3), 4, within).tolist())
    assert len(result) == orders
    expected = n / orders
    chi_squared = sum((count - expected) ** 2 / expected for count in result.values())
    # Mean of the chi-squared distribution plus five of its standard deviations.
    assert chi_squared < (orders - 1) + 5 * (2 * (orders - 1)) ** 0.5


def test_strata_for_another_number_of_raters_are_refused() -> None:
    with pytest.raises(InvalidInput, match="3 strata for 4 raters"):
        draw_permutations(seeds(1), 4, np.array([0, 1, 1]))


def test_without_seeds_there_are_no_rows() -> None:
    assert draw_permutations([], 4).shape == (0, 4)


@quick
@given(st.integers(-4, 4).map(float), replicate_lists)
def test_oracles(observed: float, replicates: list[float]) -> None:
    s = np.array(replicates)
    assert float(permutation_p(observed, s)) == close(oracle.two_sided_p(observed, replicates))
    assert float(permutation_p(observed, s, method="grasp")) == close(oracle.grasp_p(observed, replicates))


def test_by_hand() -> None:
    s = np.arange(1.0, 100.0)  # 99 replicates
    assert float(permutation_p(100.0, s)) == close(2 / 100)
    assert float(permutation_p(0.0, s)) == close(2 / 100)
    assert float(permutation_p(50.0, s)) == 1.0
    assert float(permutation_p(98.0, s)) == close(2 * 3 / 100)


def test_grasp_can_be_zero_and_is_one_sided() -> None:
    s = np.arange(1.0, 100.0)
    assert float(permutation_p(100.0, s, method="grasp")) == 0.0
    assert float(permutation_p(98.0, s, method="grasp")) == close(1 / 99)


def test_many_statistics_at_once() -> None:
    rng = np.random.default_rng(0)
    observed, replicates = rng.normal(size=(2, 3)), rng.normal(size=(50, 2, 3))
    for method in METHODS:
        table = np.asarray(permutation_p(observed, replicates, method=method))
        assert table.shape == (2, 3)
        for cell in np.ndindex(2, 3):
            expected = permutation_p(float(observed[cell]), replicates[:, *cell], method=method)
            assert table[cell] == float(expected)


@quick
@given(st.integers(-4, 4).map(float), replicate_lists, st.integers(1, 4))
def test_undefined_replicates_are_as_if_never_drawn(observed: float, replicates: list[float], holes: int) -> None:
    s = np.array(replicates)
    with_holes = np.insert(s, len(s) // 2, np.full(holes, np.nan))
    for method in METHODS:
        assert float(permutation_p(observed, with_holes, method=method)) == float(
            permutation_p(observed, s, method=method)
        )


def test_undefined_observations_have_no_p() -> None:
    s = np.arange(10.0)
    table = np.asarray(permutation_p(np.array([np.nan, 3.0]), np.column_stack([s, s])))
    assert np.isnan(table[0])
    assert table[1] == float(permutation_p(3.0, s))
    assert np.isnan(permutation_p(np.nan, s, method="grasp"))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [0, 5])
def test_without_a_defined_replicate_there_is_no_p(n: int, method: Method) -> None:
    assert np.isnan(permutation_p(1.0, np.full(n, np.nan), method=method))


@quick
@given(st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=20))
def test_the_test_has_its_nominal_size(values: list[float]) -> None:
    """Under the null every value is equally likely to be the observed one: P(p <= a) <= a, with or without ties."""
    p = [float(permutation_p(v, np.array(values[:i] + values[i + 1 :]))) for i, v in enumerate(values)]
    for level in p:
        assert sum(each <= level for each in p) / len(p) <= level + 1e-12  # rounding


@quick
@given(st.integers(-4, 4).map(float), replicate_lists)
def test_two_sided_p_does_not_depend_on_the_sign(observed: float, replicates: list[float]) -> None:
    s = np.array(replicates)
    assert float(permutation_p(-observed, -s)) == float(permutation_p(observed, s))


def test_malformed_permutations() -> None:
    with pytest.raises(InvalidInput, match="method is 'one-sided'"):
        permutation_p(1.0, np.arange(5.0), method="one-sided")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="replicates has shape"):
        permutation_p(np.array([1.0, 2.0]), np.zeros((10, 3)))


@pytest.mark.parametrize("seed", range(8))
def test_max_t_oracle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(6, 6))  # correlated tests
    replicates = rng.normal(size=(40, 6)) @ mixing * [1, 10, 1, 0.1, 1, 1] + [0, 5, 0, 0, -3, 0]
    observed = replicates.mean(axis=0) + replicates.std(axis=0) * rng.normal(scale=2, size=6)
    adjusted = max_t(observed, replicates)
    np.testing.assert_allclose(adjusted, oracle.max_t(observed.tolist(), replicates.tolist()), rtol=1e-12)


def _standardised(observed: Floats, replicates: Floats) -> Floats:
    return np.asarray(np.abs(observed - replicates.mean(axis=0)) / replicates.std(axis=0))


def test_max_t_is_monotone_in_the_standardised_statistic() -> None:
    rng = np.random.default_rng(9)
    observed, replicates = rng.normal(scale=3, size=20), rng.normal(size=(99, 20))
    order = np.argsort(-_standardised(observed, replicates))
    adjusted = max_t(observed, replicates)
    assert (np.diff(adjusted[order]) >= 0).all()
    assert adjusted.min() >= 1 / 100
    assert adjusted.max() <= 1


def test_max_t_of_one_test_is_its_two_tailed_p() -> None:
    rng = np.random.default_rng(3)
    replicates = rng.normal(size=(99, 1))
    observed = np.array([1.7])
    t, s = _standardised(observed, replicates), _standardised(replicates, replicates)
    assert max_t(observed, replicates)[0] == close((1 + (s >= t).sum()) / 100)


def test_max_t_counts_replicates_that_only_reach_the_observed_value() -> None:
    """Every replicate is one standard deviation from the mean, and so is the observed value."""
    replicates = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    assert max_t(np.array([1.0]), replicates).tolist() == [1.0]
    assert max_t(np.array([1.5]), replicates).tolist() == [1 / 5]


def test_max_t_leaves_out_undefined_tests() -> None:
    """Constant replicates give p 1, an undefined value no p; neither affects the family."""
    rng = np.random.default_rng(8)
    observed, replicates = rng.normal(size=2), rng.normal(size=(50, 2))
    constant, unseen = np.ones((50, 1)), rng.normal(size=(50, 1))
    adjusted = max_t(np.append(observed, [1.0, np.nan]), np.hstack([replicates, constant, unseen]))
    np.testing.assert_array_equal(adjusted[:2], max_t(observed, replicates))
    np.testing.assert_array_equal(adjusted[2:], [1.0, np.nan])


def test_max_t_counts_undefined_replicates_against_their_own_test() -> None:
    rng = np.random.default_rng(5)
    replicates = rng.normal(size=(99, 2))
    replicates[:50, 0] = np.nan
    adjusted = max_t([9.0, 9.0], replicates)
    assert adjusted[0] >= 51 / 100
    assert max_t([9.0], replicates[:, 1:])[0] == 0.01


def test_max_t_does_not_depend_on_units_or_order_of_tests() -> None:
    rng = np.random.default_rng(4)
    observed, replicates = rng.normal(scale=2, size=5), rng.normal(size=(99, 5))
    scale, shift, order = np.array([1, 2.0, 0.5, 4, 8]), np.array([0, 1, -1, 2, 3]), [3, 1, 4, 0, 2]
    rescaled = max_t((observed * scale + shift)[order], (replicates * scale + shift)[:, order])
    np.testing.assert_array_equal(rescaled, max_t(observed, replicates)[order])


def test_max_t_of_a_repeated_test_equals_that_of_one() -> None:
    """Ten copies of one test count as one test, unlike for Bonferroni and BH."""
    rng = np.random.default_rng(5)
    replicates = rng.normal(size=(99, 1))
    single = max_t(np.array([2.0]), replicates)
    copies = max_t(np.full(10, 2.0), np.repeat(replicates, 10, axis=1))
    np.testing.assert_array_equal(copies, np.repeat(single, 10))


def test_max_t_controls_false_alarms_of_the_family() -> None:
    """200 families of 8 null tests at level 0.1: more than 33 alarms have a probability below 1 in 1000."""
    rng = np.random.default_rng(6)
    alarms = 0
    for _ in range(200):
        values = rng.normal(size=(100, 8))
        alarms += int(max_t(values[0], values[1:]).min() <= 0.1)
    assert alarms <= 33


def test_malformed_max_t() -> None:
    with pytest.raises(InvalidInput, match="replicates has shape"):
        max_t(np.zeros(3), np.zeros((10, 4)))
    with pytest.raises(InvalidInput, match="one-dimensional"):
        max_t(np.zeros((2, 2)), np.zeros((10, 2, 2)))


def test_permutation_p_depends_on_ranks_only() -> None:
    values = np.random.default_rng(7).normal(size=50)
    ranks = rankdata(values)
    assert float(permutation_p(values[0], values[1:])) == float(permutation_p(ranks[0], ranks[1:]))


def test_the_grasp_rule_gives_no_star_to_a_constant() -> None:
    assert permutation_p(0.3, [0.3] * 20, method="grasp") == 1
