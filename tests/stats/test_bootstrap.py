"""Resampling and its intervals."""

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.strategies import Floats, quick

from dissensus.errors import InvalidInput
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.bootstrap import draw_resamples, interval, two_way_interval
from dissensus.stats.design import METRICS, Design, statistics

Codes = NDArray[np.int32]


def seeds(n: int, seed: int = 0) -> list[np.random.SeedSequence]:
    return np.random.SeedSequence(seed).spawn(n)


def draw_both(n: int, strata: Codes, n_items: int, seed: int = 0) -> tuple[Codes, Codes]:
    raters, items = draw_resamples(seeds(n, seed), strata, n_items)
    assert raters is not None
    assert items is not None
    return raters, items


strata_of_raters = st.lists(st.integers(-1, 3), min_size=1, max_size=15).map(lambda codes: np.array(codes, np.int32))


@given(strata=strata_of_raters, n_items=st.integers(1, 20), seed=st.integers(0, 2**32 - 1))
@quick
def test_every_stratum_keeps_its_size(strata: Codes, n_items: int, seed: int) -> None:
    raters, items = draw_both(6, strata, n_items, seed)
    assert raters.shape == (6, strata.size)
    assert items.shape == (6, n_items)
    for stratum in set(strata.tolist()) - {-1}:
        assert (raters[:, strata == stratum].sum(axis=1) == (strata == stratum).sum()).all()
    assert (raters[:, strata < 0] == 0).all()
    assert (items.sum(axis=1) == n_items).all()
    assert raters.min() >= 0
    assert items.min() >= 0


def test_resampling_one_way_draws_the_same_weights_as_both() -> None:
    strata = np.array([0, 0, 0, 1, 1], np.int32)
    raters, items = draw_both(9, strata, 7)
    weights, unused = draw_resamples(seeds(9), strata, 7, "raters")
    assert unused is None
    np.testing.assert_array_equal(weights, raters)
    unused, weights = draw_resamples(seeds(9), strata, 7, "items")
    assert unused is None
    np.testing.assert_array_equal(weights, items)


def test_a_replicate_does_not_depend_on_the_number_of_replicates() -> None:
    strata = np.array([0, 1, 1, 1, -1], np.int32)
    long, short = draw_both(40, strata, 11), draw_both(5, strata, 11)
    for all_of_them, first in zip(long, short, strict=True):
        np.testing.assert_array_equal(all_of_them[:5], first)


def test_every_rater_and_item_is_as_likely() -> None:
    strata = np.repeat(np.array([0, 1], np.int32), [3, 5])
    for weights in draw_both(4000, strata, 6):
        # A weight has mean 1 and variance below 1: five standard errors of a mean of 4,000.
        np.testing.assert_allclose(weights.mean(axis=0), 1, atol=5 / np.sqrt(4000))


def test_an_unknown_way_of_resampling_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'people'; choose one of both, raters, items"):
        draw_resamples(seeds(1), np.zeros(3, np.int32), 3, "people")  # type: ignore[arg-type]


def test_a_pair_of_raters_resampled_to_one_of_them_has_no_alpha() -> None:
    """Half of the draws of two raters are one of them twice; copies of one rater are not a pair."""
    rng = np.random.default_rng(0)
    raters, items = np.divmod(np.arange(60, dtype=np.int32), 20)
    design = Design(items, raters, rng.integers(0, 2, 60).astype(np.int16), 20, 3, 2)
    group = np.array([0, 0, 1], np.int32)
    weights, _ = draw_both(200, group, 20)
    result = statistics(design, group[None], np.array([0]), np.array([-1]), rater_weight=weights)
    one_twice = (weights[:, :2] == 2).any(axis=1)
    np.testing.assert_array_equal(np.isnan(result[:, 0, METRICS.index("irr")]), one_twice)
    assert 60 < one_twice.sum() < 140


@pytest.mark.parametrize(
    ("axis", "group", "alpha", "naive", "bias"),
    [("race", "Multiracial", 0.153, 0.212, 0.016), ("race*gender", "Multiracial × Woman", 0.041, 0.254, 0.055)],
)
def test_replicates_of_alpha_do_not_have_the_bias_of_the_naive_bootstrap(
    dices_104: Ratings, axis: str, group: str, alpha: float, naive: float, bias: float
) -> None:
    """Counting copies of a rater as a pair gives the mean called naive (docs/methods/bootstrap.md)."""
    item, rater, answer = dices_104.codes("Q_overall")
    codes, groups = dices_104.group_codes(axis)
    design = Design(item, rater, answer, dices_104.n_items, dices_104.n_raters, 3)
    weights, _ = draw_both(1000, codes, design.n_items)
    inside, outside = np.array([groups.index(group)]), np.array([-1])
    corrected = statistics(design, codes[None], inside, outside, rater_weight=weights)[:, 0, METRICS.index("irr")]
    copied = [_naive_alpha(design, weight, codes == inside[0]) for weight in weights[:300]]
    # Standard errors of the means are .003 and .005. With four raters a quarter of the bias remains, downwards: alpha
    # is a ratio, and pairs of few distinct raters make its denominator vary.
    assert np.nanmean(corrected) == pytest.approx(alpha, abs=bias)
    assert np.mean(copied) == pytest.approx(naive, abs=0.03)


def _naive_alpha(design: Design, weight: Codes, member: NDArray[np.bool_]) -> float:
    """Return alpha of counts in which a rater drawn twice counts as two; every rater rated every item."""
    counts = np.zeros((design.n_items, 3))
    in_sample = member[design.raters]
    np.add.at(counts, (design.items[in_sample], design.answers[in_sample]), weight[design.raters[in_sample]])
    m, pooled = counts.sum(axis=1), counts.sum(axis=0)
    observed = ((m**2 - (counts**2).sum(axis=1)) / (m - 1)).sum() / m.sum()
    expected = (m.sum() ** 2 - (pooled**2).sum()) / (m.sum() * (m.sum() - 1))
    return float(1 - observed / expected)


def replicates(seed: int, shape: tuple[int, ...] = (400,)) -> Floats:
    return np.random.default_rng(seed).normal(size=shape)


def test_interval_by_hand() -> None:
    """Deviations -2, -1, 0, 1, 2 from the mean 7 around an estimate of 10: quartiles, of ranks 1.5 and 4.5, ±1.5."""
    low, high = interval(np.array(10.0), np.array([5.0, 6.0, 7.0, 8.0, 9.0]), confidence=0.5)
    assert (float(low), float(high)) == (8.5, 11.5)


def test_a_bias_of_all_replicates_does_not_move_the_interval() -> None:
    observed = np.array([0.2, 0.5])
    null = replicates(0, (400, 2))
    for shifted in (null, null + 3):
        np.testing.assert_allclose(
            interval(observed, shifted, confidence=0.95), interval(observed, null, confidence=0.95), rtol=0, atol=1e-12
        )
    main, items = replicates(1, (400, 2)), replicates(2, (400, 2))
    plain = two_way_interval(observed, null, main, items, confidence=0.95)
    np.testing.assert_allclose(
        two_way_interval(observed, null + 1, main + 2, items + 3, confidence=0.95), plain, atol=1e-12
    )


def test_an_interval_moves_with_the_estimate() -> None:
    null = replicates(0)
    np.testing.assert_allclose(
        np.array(interval(np.array(1.0), null, confidence=0.95))
        - np.array(interval(np.array(0.0), null, confidence=0.95)),
        1,
        atol=1e-12,
    )


def test_a_higher_level_is_wider() -> None:
    null = replicates(0)
    narrow, wide = (interval(np.array(0.0), null, confidence=confidence) for confidence in (0.8, 0.99))
    assert wide[0] < narrow[0] < 0 < narrow[1] < wide[1]


def test_without_interaction_the_two_ways_add_up() -> None:
    """E = 0: the percentiles of the sum of both deviations, not scaled."""
    raters, items = replicates(0), replicates(1)
    observed = np.array(0.3)
    result = two_way_interval(observed, raters + items - observed, raters, items, confidence=0.95)
    np.testing.assert_allclose(result, interval(observed, raters + items, confidence=0.95), atol=1e-12)


@given(share=st.floats(0, 10), seed=st.integers(0, 2**32 - 1))
@quick
def test_the_scale_lies_between_root_half_and_one(share: float, seed: int) -> None:
    raters, items = replicates(seed), replicates(seed + 1)
    noise = share * replicates(seed + 2)
    observed = np.array(0.0)
    low, high = two_way_interval(observed, raters + items + noise, raters, items, confidence=0.95)
    lowest, highest = interval(observed, raters + items, confidence=0.95)
    scale = (high - low) / (highest - lowest)
    expected = np.sqrt(1 - min(0.5, float(np.var(noise) / np.var(raters + items))))
    assert np.sqrt(0.5) - 1e-9 <= scale <= 1 + 1e-9
    assert scale == pytest.approx(expected, rel=1e-9)


def test_two_way_interval_of_a_mean_has_the_variance_of_owen() -> None:
    """Mean of raters × items with known parts A, B, E: the interval is as wide as that of A + B + E."""
    rng = np.random.default_rng(0)
    n_raters, n_items, n = 60, 80, 4000
    table = rng.normal(0, 1, n_raters)[:, None] + rng.normal(0, 1.5, n_items) + rng.normal(0, 3, (n_raters, n_items))
    raters, items = draw_both(n, np.zeros(n_raters, np.int32), n_items)
    observed = table.mean()
    in_both, of_raters, of_items = (
        np.einsum("br,ri,bi->b", r, table, i) / (n_raters * n_items)
        for r, i in (
            (raters, items),
            (raters, np.ones_like(items)),
            (np.ones_like(raters), items),
        )
    )
    low, high = two_way_interval(np.array(observed), in_both, of_raters, of_items, confidence=0.95)
    centred = table - observed
    a = centred.mean(axis=1).var() / n_raters
    b = centred.mean(axis=0).var() / n_items
    e = (centred - centred.mean(axis=1, keepdims=True) - centred.mean(axis=0)).var() / (n_raters * n_items)
    # Means of raters and of items vary by the interaction too: a is A + E, b is B + E.
    expected = np.sqrt(a + b - e)
    # Quantiles of 4,000 normal draws: each end has a standard error of 4 % of the width's half.
    assert (high - low) / 2 == pytest.approx(1.96 * expected, rel=0.08)


def test_the_small_sample_factor_is_that_of_a_t_interval() -> None:
    """Raters alone vary: sqrt(8 / 7) times t / z, with t of 7 degrees of freedom 2.3646 and of 28 degrees 2.0484."""
    raters, items = replicates(0), np.zeros(400)
    observed = np.array(0.0)
    low, high = two_way_interval(observed, raters + items, raters, items, confidence=0.95)
    for n, t in ((8, 2.3646), (29, 2.0484), (np.inf, 1.95996)):
        lower, upper = two_way_interval(
            observed, raters + items, raters, items, n_raters=n, n_items=100, confidence=0.95
        )
        factor = np.sqrt(1 if n == np.inf else n / (n - 1)) * t / 1.95996
        np.testing.assert_allclose([lower, upper], factor * np.array([low, high]), rtol=0.001)


@pytest.mark.parametrize(
    ("confidence", "quantiles"),
    [(0.95, {2: 12.7062, 3: 4.3027, 4: 3.1824}), (0.99, {2: 63.6567, 3: 9.9248, 5: 4.6041, 30: 2.7564, 32: 2.7440})],
)
def test_the_quantile_of_t_is_exact_for_few_raters(confidence: float, quantiles: dict[int, float]) -> None:
    null, observed = replicates(0), np.array(0.0)
    plain = np.array(interval(observed, null, confidence=confidence))
    for n, t in quantiles.items():
        widened = interval(observed, null, confidence=confidence, n=n)
        factor = np.sqrt(n / (n - 1)) * t / NormalDist().inv_cdf((1 + confidence) / 2)
        np.testing.assert_allclose(widened, factor * plain, rtol=2e-5)


def test_undefined_replicates_are_left_out() -> None:
    null = replicates(0)
    holes = np.concatenate([null, np.full(50, np.nan)])
    np.testing.assert_allclose(
        interval(np.array(0.1), holes, confidence=0.95), interval(np.array(0.1), null, confidence=0.95), atol=1e-12
    )


def test_without_an_estimate_or_a_replicate_there_is_no_interval() -> None:
    null = np.stack([replicates(0), np.full(400, np.nan)], axis=-1)
    for ends in (
        interval(np.array([np.nan, 0.3]), null, confidence=0.95),
        two_way_interval(np.array([np.nan, 0.3]), null, null, null, confidence=0.95),
    ):
        assert np.isnan(ends).all()


def test_replicates_that_are_equal_but_for_rounding_have_no_interval() -> None:
    spread, observed = replicates(0), np.array([1.0, 0.5])
    equal = 1 - 1e-16 * np.arange(400)
    null = np.stack([equal, np.where(spread > 0, np.nan, spread)], axis=-1)
    for ends in (
        interval(observed, null, confidence=0.95, n=20),
        two_way_interval(observed, null, null, np.ones_like(null), confidence=0.95),
    ):
        low, high = ends
        assert np.isnan([low[0], high[0]]).all()
        assert low[1] < 0.5 < high[1]


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95.0])
def test_an_invalid_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(InvalidInput, match=r"between 0 and 1, such as 0\.95"):
        interval(np.array(0.0), replicates(0), confidence=confidence)
