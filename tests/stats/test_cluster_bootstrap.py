"""Cluster bootstrap of means and rank correlations: replicates by hand, coverage, and missing intervals."""

import numpy as np
import pytest
from scipy.stats import norm, spearmanr, t

from dissensus.errors import InvalidInput
from dissensus.stats.bootstrap import NO_SPREAD
from dissensus.stats.cluster_bootstrap import (
    NO_CASES,
    NO_INTERVAL,
    NO_VARIATION,
    bootstrap_means,
    bootstrap_rank_correlation,
    draw_clusters,
    summarise_replicates,
)


def cases(n: int = 240, clusters: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), rng.integers(3, size=n), rng.integers(clusters, size=n)


def expanded_percentiles(repeated: list[float], sizes: np.ndarray) -> tuple[float, float]:
    """Percentiles by t with the effective number of clusters and the degrees of freedom from matrices."""
    sizes = sizes[sizes > 0]
    effective, cluster = sizes.sum() ** 2 / (sizes**2).sum(), np.repeat(np.arange(len(sizes)), sizes)
    residual_maker = np.eye(len(cluster)) - 1 / len(cluster)
    rows = np.array([residual_maker[cluster == g].sum(axis=0) for g in range(len(sizes))])
    rows *= np.sqrt(sizes / (rows**2).sum(axis=1))[:, None]
    gram = rows @ rows.T
    df = np.trace(gram) ** 2 / (gram**2).sum()
    tails = norm.cdf(np.array([-1, 1]) * np.sqrt(effective / (effective - 1)) * t.ppf(0.975, df))
    low, high = np.quantile(repeated, tails, method="weibull")
    return float(low), float(high)


def test_means_and_intervals_equal_those_of_repeated_cases() -> None:
    values, cells, clusters = cases()
    values[:3] = np.nan
    draws = draw_clusters(30, 40, seed=1)
    result = bootstrap_means(values, cells, clusters, draws, n_cells=3)
    for cell, mean in enumerate(result):
        cases_of_cell = np.flatnonzero((cells == cell) & np.isfinite(values))
        assert mean.estimate == pytest.approx(values[cases_of_cell].mean())
        assert (mean.n, mean.clusters) == (len(cases_of_cell), len(set(clusters[cases_of_cell])))
        repeated = []
        for draw in draws.astype(int):
            resample = [values[case] for case in cases_of_cell for _ in range(draw[clusters[case]])]
            repeated.append(np.mean(resample))
        sizes = np.bincount(clusters[cases_of_cell], minlength=30)
        assert (mean.ci_low, mean.ci_high) == pytest.approx(expanded_percentiles(repeated, sizes))


def test_the_correlation_equals_that_of_repeated_cases() -> None:
    x, y, clusters = cases(seed=2)
    draws = draw_clusters(30, 25, seed=1)
    result = bootstrap_rank_correlation(x, y, clusters, draws, confidence=0.95)
    assert result.estimate == pytest.approx(spearmanr(x, y).statistic)
    repeated = [
        spearmanr(*(np.repeat(values, draw[clusters].astype(int)) for values in (x, y))).statistic for draw in draws
    ]
    assert (result.ci_low, result.ci_high) == pytest.approx(expanded_percentiles(repeated, np.bincount(clusters)))


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "minimum"), [(15, 0.87), (30, 0.93), (100, 0.93)])
def test_intervals_have_about_their_nominal_coverage(clusters: int, minimum: float) -> None:
    """300 trials; those with fewer than ten effective clusters, which 15 sometimes are, have no interval."""
    rng, covered, truth = np.random.default_rng(5), [], 0.35
    for trial in range(300):
        sizes = np.maximum(1, np.round(10 * np.exp(0.5 * rng.normal(size=clusters)))).astype(int)
        cluster = np.repeat(np.arange(clusters), sizes)
        hits = rng.random(len(cluster)) < rng.beta(3 * truth, 3 * (1 - truth), size=clusters)[cluster]
        draws = draw_clusters(clusters, 200, seed=trial)
        (result,) = bootstrap_means(hits, np.zeros(len(cluster), int), cluster, draws)
        if result.ci_low is not None and result.ci_high is not None:
            covered.append(result.ci_low <= truth <= result.ci_high)
    assert len(covered) > 200
    assert minimum <= np.mean(covered) <= 0.99


def test_there_is_no_interval_from_too_few_clusters_or_without_variation() -> None:
    draws = draw_clusters(40, 50, seed=0)
    rng = np.random.default_rng(0)
    four_clusters = bootstrap_means(rng.random(30), np.zeros(30, int), np.arange(30) % 4, draws)[0]
    one_large = np.concatenate([np.zeros(300, int), np.arange(1, 40)])
    uneven = bootstrap_means(rng.random(339), np.zeros(339, int), one_large, draws)[0]
    constant = bootstrap_means(np.zeros(40), np.zeros(40, int), np.arange(40), draws)[0]
    without = bootstrap_means(rng.random(40), np.zeros(40, int), np.arange(40), draw_clusters(40, 0, seed=0))[0]
    empty = bootstrap_means([np.nan], [0], [0], draws)[0]
    for mean in (four_clusters, uneven, constant, without, empty):
        assert mean.ci_low is None
        assert mean.ci_high is None
    assert four_clusters.reason == "no interval: 4.0 effective clusters, and 10 are needed"
    assert uneven.reason.startswith("no interval: 1.3 effective clusters")
    assert (constant.estimate, constant.reason, without.reason) == (0.0, NO_VARIATION, NO_INTERVAL)
    assert (empty.estimate, empty.reason) == (None, NO_CASES)
    undefined = summarise_replicates(0.5, np.full(3, np.nan), np.ones(20), same=False, confidence=0.95)
    assert undefined.reason == "no interval: the estimate is undefined in every replicate"
    assert (
        bootstrap_rank_correlation(np.ones(20), rng.random(20), np.arange(20), draws, confidence=0.95).reason
        == NO_VARIATION
    )
    assert (
        bootstrap_rank_correlation(rng.random(20), np.ones(20), np.arange(20), draws, confidence=0.95).reason
        == NO_VARIATION
    )


def test_there_is_no_interval_if_all_replicates_are_equal() -> None:
    draws = draw_clusters(12, 50, seed=0)
    (share,) = bootstrap_means([0, 1, 1] * 12, [0] * 36, [case // 3 for case in range(36)], draws)
    same = bootstrap_rank_correlation(range(36), range(36), [case // 3 for case in range(36)], draws, confidence=0.95)
    for result, estimate in ((share, 2 / 3), (same, 1)):
        assert result.estimate == pytest.approx(estimate)
        assert (result.ci_low, result.ci_high, result.reason) == (None, None, NO_SPREAD)


def test_ten_effective_clusters_are_enough_for_an_interval() -> None:
    values = np.random.default_rng(1).random(30)
    nine, ten = (
        bootstrap_means(values[: 3 * n], np.zeros(3 * n, int), np.arange(3 * n) % n, draw_clusters(n, 50, seed=0))[0]
        for n in (9, 10)
    )
    assert nine.reason == "no interval: 9.0 effective clusters, and 10 are needed"
    assert ten.reason == ""
    assert ten.ci_low is not None


def test_draws_depend_on_the_seed_but_not_on_their_number() -> None:
    assert (draw_clusters(9, 5, seed=3) == draw_clusters(9, 8, seed=3)[:5]).all()
    assert (draw_clusters(9, 5, seed=3) != draw_clusters(9, 5, seed=4)).any()
    assert (draw_clusters(9, 5, seed=3).sum(axis=1) == 9).all()
    with pytest.raises(InvalidInput, match="confidence is 95"):
        bootstrap_means([1], [0], [0], draw_clusters(1, 2, seed=0), confidence=95)
