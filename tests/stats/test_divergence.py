"""Divergences of distributions over the last axis."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy, wasserstein_distance
from tests.designs import LARGE, Case, case, cases
from tests.oracles import divergence as oracle
from tests.stats.compare import close
from tests.strategies import Floats, distributions, quick

from dissensus.errors import InvalidInput
from dissensus.stats.design import Design
from dissensus.stats.divergence import (
    Divergence,
    cross_entropy,
    jensen_shannon,
    kullback_leibler,
    mean_pairwise,
    total_variation,
    wasserstein,
)

ALL = [total_variation, jensen_shannon, kullback_leibler, cross_entropy, wasserstein]
METRIC = [total_variation, wasserstein]
# Distances of `mean_pairwise`, and the oracle of each.
SMOOTHED = partial(kullback_leibler, smoothing=0.01)
PAIRWISE: dict[str, tuple[Divergence, Callable[[oracle.Distribution, oracle.Distribution], float]]] = {
    "total_variation": (total_variation, oracle.total_variation),
    "jensen_shannon": (jensen_shannon, oracle.jensen_shannon),
    "wasserstein": (wasserstein, lambda p, q: oracle.wasserstein(p, q, range(len(p)))),
    "kullback_leibler": (
        SMOOTHED,
        lambda p, q: oracle.kullback_leibler(oracle.smooth(p, 0.01), oracle.smooth(q, 0.01)),
    ),
}


@pytest.mark.parametrize(
    ("divergence", "slow"),
    [
        (total_variation, oracle.total_variation),
        (jensen_shannon, oracle.jensen_shannon),
        (kullback_leibler, oracle.kullback_leibler),
        (cross_entropy, oracle.cross_entropy),
        (wasserstein, lambda p, q: oracle.wasserstein(p, q, range(len(p)))),
    ],
    ids=[divergence.__name__ for divergence in ALL],
)
@quick
@given(pair=distributions())
def test_oracle(
    divergence: Callable[[Floats, Floats], Floats],
    slow: Callable[[oracle.Distribution, oracle.Distribution], float],
    pair: Floats,
) -> None:
    p, q = pair
    assert float(divergence(p, q)) == close(slow(p.tolist(), q.tolist()))


@quick
@given(distributions(), st.sampled_from([0.01, 0.5, 2.0]))
def test_smoothing_oracle(pair: Floats, smoothing: float) -> None:
    """Both are mixed with the uniform distribution, so divergences are finite."""
    p, q = (oracle.smooth(each, smoothing) for each in pair.tolist())
    assert float(kullback_leibler(*pair, smoothing=smoothing)) == close(oracle.kullback_leibler(p, q))
    assert float(cross_entropy(*pair, smoothing=smoothing)) == close(oracle.cross_entropy(p, q))


def test_scipy() -> None:
    p, q = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 30))
    np.testing.assert_allclose(kullback_leibler(p, q), entropy(p, q, axis=1), rtol=1e-12)
    # scipy's is the distance, the square root of the divergence
    np.testing.assert_allclose(jensen_shannon(p, q), jensenshannon(p, q, axis=1) ** 2, rtol=1e-11)
    values = np.array([0.0, 1.0, 1.5, 4.0])
    for values_or_none, support in ((None, np.arange(4.0)), (values, values)):
        expected = [wasserstein_distance(support, support, a, b) for a, b in zip(p, q, strict=True)]
        np.testing.assert_allclose(wasserstein(p, q, values=values_or_none), expected, rtol=1e-12)


@pytest.mark.parametrize("divergence", ALL)
def test_broadcasting_over_leading_axes(divergence: Callable[[Floats, Floats], Floats]) -> None:
    rng = np.random.default_rng(1)
    p, q = rng.dirichlet(np.ones(3), size=(4, 1)), rng.dirichlet(np.ones(3), size=5)
    table = divergence(p, q)
    assert table.shape == (4, 5)
    for i in range(4):
        for j in range(5):
            assert table[i, j] == close(float(divergence(p[i, 0], q[j])))


@pytest.mark.parametrize("divergence", [total_variation, jensen_shannon, wasserstein])
@quick
@given(pair=distributions())
def test_symmetry(divergence: Callable[[Floats, Floats], Floats], pair: Floats) -> None:
    p, q = pair
    assert float(divergence(p, q)) == close(float(divergence(q, p)))


@quick
@given(distributions())
def test_bounds(pair: Floats) -> None:
    p, q = pair
    tvd, jsd, kl = float(total_variation(p, q)), float(jensen_shannon(p, q)), float(kullback_leibler(p, q))
    rounding = 1e-12
    assert 0 <= tvd <= 1 + rounding
    assert -rounding <= jsd <= math.log(2) + rounding
    assert jsd <= math.log(2) * tvd + rounding  # Lin (1991), theorem 3
    assert kl >= 2 * tvd**2 - rounding  # Pinsker
    assert tvd - rounding <= float(wasserstein(p, q)) <= (len(p) - 1) * tvd + rounding


@quick
@given(distributions())
def test_a_distribution_does_not_differ_from_itself(pair: Floats) -> None:
    p = pair[0]
    for divergence in (total_variation, jensen_shannon, kullback_leibler, wasserstein):
        assert float(divergence(p, p)) == close(0.0)
    assert float(cross_entropy(p, p)) == close(float(entropy(p)))


@quick
@given(distributions(3))
def test_triangle(three: Floats) -> None:
    p, q, r = three
    for metric in METRIC:
        assert float(metric(p, r)) <= float(metric(p, q)) + float(metric(q, r)) + 1e-12  # rounding


@quick
@given(distributions())
def test_kullback_leibler_is_cross_entropy_less_entropy(pair: Floats) -> None:
    p, q = pair
    if np.isinf(kullback_leibler(p, q)):
        assert np.isinf(cross_entropy(p, q))
    else:
        assert float(kullback_leibler(p, q)) == close(float(cross_entropy(p, q)) - float(entropy(p)))


def test_divergence_is_infinite_where_q_is_zero() -> None:
    p, q = np.array([0.5, 0.5]), np.array([1.0, 0.0])
    assert kullback_leibler(p, q) == np.inf
    assert cross_entropy(p, q) == np.inf
    assert np.isfinite(kullback_leibler(q, p))
    assert np.isfinite(kullback_leibler(p, q, smoothing=1e-6))
    assert float(jensen_shannon(p, q)) < math.log(2)


@quick
@given(distributions(), st.integers(-9, 9), st.sampled_from([0.5, 3.0]))
def test_wasserstein_has_the_unit_of_the_values(pair: Floats, shift: int, scale: float) -> None:
    codes = np.arange(pair.shape[1], dtype=float)
    scaled = float(wasserstein(*pair, values=shift + scale * codes))
    assert scaled == close(scale * float(wasserstein(*pair)))


def test_wasserstein_of_point_masses_is_their_distance() -> None:
    values = np.array([1.0, 2.0, 10.0])
    assert float(wasserstein(np.array([1.0, 0, 0]), np.array([0, 0, 1.0]), values=values)) == 9.0


@pytest.mark.parametrize("divergence", ALL)
@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        pytest.param([0.5, 0.5], [0.2, 0.3, 0.5], "p has 2 categories and q 3", id="other categories"),
        pytest.param([1.5, -0.5], [0.5, 0.5], "cannot be negative", id="negative"),
        pytest.param([0.5, 0.4], [0.5, 0.5], "do not sum to 1", id="sums to less than one"),
        pytest.param([2.0, 2.0], [0.5, 0.5], "do not sum to 1", id="counts, not shares"),
        pytest.param([np.inf, 1.0], [0.5, 0.5], "do not sum to 1", id="infinite"),
        pytest.param(np.full((2, 2), 0.5), np.full((3, 2), 0.5), "do not broadcast", id="shapes do not broadcast"),
    ],
)
def test_malformed(
    divergence: Callable[[Floats, Floats], Floats], p: list[float], q: list[float], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        divergence(np.array(p), np.array(q))


@pytest.mark.parametrize("divergence", ALL)
def test_items_without_answers_have_no_divergence(divergence: Callable[[Floats, Floats], Floats]) -> None:
    p = np.array([[np.nan, np.nan], [0.0, 1.0]])
    q = np.array([0.25, 0.75])
    for table in (divergence(p, q), divergence(q, p[::-1])[::-1]):
        assert np.isnan(table[0])
        assert not np.isnan(table[1])


def test_malformed_options() -> None:
    p = np.array([0.5, 0.5])
    with pytest.raises(InvalidInput, match=r"smoothing is -0\.1"):
        kullback_leibler(p, p, smoothing=-0.1)
    with pytest.raises(InvalidInput, match=r"smoothing is -0\.1"):
        cross_entropy(p, p, smoothing=-0.1)
    with pytest.raises(InvalidInput, match="2 categories need"):
        wasserstein(p, p, values=np.array([1.0, 2.0, 3.0]))
    with pytest.raises(InvalidInput, match="must increase"):
        wasserstein(p, p, values=np.array([1.0, 1.0]))


def permute_groups(of: Case, n: int, seed: int = 2) -> NDArray[np.int32]:
    """Return the groups of a case and permutations of them."""
    rng = np.random.default_rng(seed)
    return np.stack([of.group, *(rng.permutation(of.group) for _ in range(n))])


def assert_by_hand(of: Case, group: NDArray[np.int32], name: str) -> None:
    """Assert that means, items and undefined pairs equal the oracle in every replicate."""
    divergence, slow = PAIRWISE[name]
    means, n_items = mean_pairwise(of.design, group, divergence)
    for b, row in enumerate(group.tolist()):
        expected = oracle.mean_pairwise(of.rated_by_hand, row, of.design.n_categories, slow)
        assert n_items[b].tolist() == [n for _, n in expected]
        by_hand = [np.nan if mean is None else mean for mean, _ in expected]
        np.testing.assert_allclose(means[b], by_hand, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", PAIRWISE)
@quick
@given(of=cases())
def test_every_two_groups_by_hand(name: str, of: Case) -> None:
    """Unrated items, items of one group, raters without a group, a single group."""
    assert_by_hand(of, permute_groups(of, 2), name)


@pytest.mark.parametrize("name", LARGE)
def test_every_two_groups_of_large_designs_by_hand(name: str) -> None:
    of = case(1, **LARGE[name])
    assert_by_hand(of, permute_groups(of, 2), "total_variation")


def test_many_small_groups_by_hand() -> None:
    """30 groups and 435 pairs, most of which share few items."""
    of = case(4, n_items=60, n_raters=90, n_categories=3, n_groups=30, share_rated=0.1)
    assert_by_hand(of, permute_groups(of, 3), "total_variation")
    assert_by_hand(of, of.group[None], "jensen_shannon")


@pytest.mark.parametrize("block_bytes", [1, 400])
def test_blocks_of_items_do_not_matter(monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    of = case(5, n_items=37, n_raters=20, n_categories=3, n_groups=4, share_rated=0.3, grouped=0.8)
    group = permute_groups(of, 2)
    unblocked, n_whole = mean_pairwise(of.design, group, jensen_shannon)
    monkeypatch.setattr("dissensus.stats.divergence._BLOCK_BYTES", block_bytes)
    means, n_items = mean_pairwise(of.design, group, jensen_shannon)
    np.testing.assert_allclose(means, unblocked, rtol=1e-13)
    np.testing.assert_array_equal(n_items, n_whole)


@pytest.mark.parametrize("n_threads", ["", "2", "3", "64"])
def test_the_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch, n_threads: str) -> None:
    of = case(1, **LARGE["three blocks, sparse"])
    group = permute_groups(of, 9)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    single_thread = mean_pairwise(of.design, group)
    monkeypatch.setenv("OMP_NUM_THREADS", n_threads)
    for expected, result in zip(single_thread, mean_pairwise(of.design, group), strict=True):
        np.testing.assert_array_equal(result, expected)


@quick
@given(of=cases(), seed=st.integers(0, 2**32 - 1))
def test_neither_the_order_of_ratings_nor_that_of_answers_matters_to_total_variation(of: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    design, order = of.design, rng.permutation(of.design.items.size)
    renamed = rng.permutation(design.n_categories)[design.answers].astype(np.int16)
    reordered = Design(
        design.items[order], design.raters[order], renamed[order], design.n_items, design.n_raters, design.n_categories
    )
    means, n_items = mean_pairwise(design, of.group[None])
    reordered_means, n_moved = mean_pairwise(reordered, of.group[None])
    np.testing.assert_allclose(reordered_means, means, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(n_moved, n_items)


@quick
@given(cases())
def test_total_variation_of_two_answers_is_their_wasserstein_distance(of: Case) -> None:
    """With two categories the compiled total variation equals the Wasserstein distance."""
    design = of.design
    answers = np.minimum(design.answers, 1)
    two = Design(design.items, design.raters, answers, design.n_items, design.n_raters, 2)
    compiled, shared = mean_pairwise(two, of.group[None])
    plain, n_items = mean_pairwise(two, of.group[None], wasserstein)
    np.testing.assert_allclose(compiled, plain, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(shared, n_items)


def test_almost_equal_distributions_have_no_negative_divergence() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 20_000)
    q = np.abs(p + 1e-9 * rng.normal(size=p.shape))
    q /= q.sum(axis=1, keepdims=True)
    assert jensen_shannon(p, q).min() >= 0
    assert kullback_leibler(p, q).min() >= 0
