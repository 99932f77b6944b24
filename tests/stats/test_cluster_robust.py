"""Cluster-robust means and shares: against dense matrices, statsmodels and SciPy, and coverage."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
import statsmodels.api as sm
from scipy.stats import t as student_t

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.cluster_robust import (
    clustered_mean,
    clustered_share,
    estimate_clustered_variance,
    paired_difference,
    t_quantile,
    t_test_p,
)

Matrix = npt.NDArray[np.float64]


def dense_variance(cluster: Sequence[int], weights: Matrix) -> tuple[Matrix, Matrix]:
    """Return the matrix of the quadratic form in independent cases that is the variance, by blocks; and the residuals'.

    A block of the form is the outer product of the weights, times what makes its expectation right.
    """
    share = weights / weights.sum()
    residual = np.eye(len(weights)) - np.outer(np.ones(len(weights)), share)
    form = np.zeros_like(residual)
    for g in set(cluster):
        w = np.where(np.asarray(cluster) == g, share, 0.0)
        expected_total_square = w @ residual @ residual.T @ w
        form += np.outer(w, w) * (w @ w) / expected_total_square
    return residual.T @ form @ residual, residual


def test_the_variance_and_its_degrees_of_freedom_are_those_of_dense_matrices() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        n = int(rng.integers(5, 30))
        cluster, weights, values = rng.integers(5, size=n), rng.uniform(0.2, 3, n), rng.normal(size=n)
        number = np.unique(cluster, return_inverse=True)[1]
        form, residual = dense_variance(number.tolist(), weights)
        estimated = estimate_clustered_variance(residual @ values, number[None], weights)
        assert estimated is not None
        assert estimated.variance == pytest.approx(values @ form @ values)
        assert estimated.df == pytest.approx(np.trace(form) ** 2 / np.trace(form @ form))
        # Unbiased for independent cases.
        assert np.trace(form) == pytest.approx((weights @ weights) / weights.sum() ** 2)


def test_equal_clusters_are_those_of_a_regression_with_clustered_errors() -> None:
    """`statsmodels` also multiplies by (n - 1)/(n - k), which is 1 with an intercept only."""
    rng = np.random.default_rng(0)
    values, cluster = rng.normal(size=80), np.repeat(np.arange(16), 5)
    model = sm.OLS(values, np.ones(80)).fit(cov_type="cluster", cov_kwds={"groups": cluster}, use_t=True)
    result = clustered_mean(values, cluster)
    assert (result.estimate, result.ci_low, result.ci_high) == pytest.approx((model.params[0], *model.conf_int()[0]))
    assert (result.n, result.clusters, result.crossed_clusters) == (80, 16, None)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("n", [2, 3, 7, 40, 5_000])
def test_single_cases_are_a_t_test(n: int, confidence: float) -> None:
    values = np.random.default_rng(n).normal(size=n)
    result = clustered_mean(values, range(n), confidence=confidence)
    assert result.ci_high is not None
    half = student_t.ppf((1 + confidence) / 2, n - 1) * values.std(ddof=1) / n**0.5
    assert result.ci_high - result.estimate == pytest.approx(half, rel=1e-9)


def test_crossed_clusterings_add_up_less_their_intersections() -> None:
    rng = np.random.default_rng(5)
    n, weights = 200, rng.uniform(0.5, 2, 200)
    crossed = np.array([rng.integers(40, size=n), rng.integers(9, size=n)])
    values = rng.normal(size=40)[crossed[0]] + rng.normal(size=9)[crossed[1]]
    residuals = values - np.average(values, weights=weights)
    rows = [*crossed, crossed[0] * 9 + crossed[1]]
    first, second, both = (
        estimate_clustered_variance(residuals, np.unique(row, return_inverse=True)[1][None], weights) for row in rows
    )
    joint = estimate_clustered_variance(residuals, crossed, weights)
    assert joint is not None
    assert first is not None
    assert second is not None
    assert both is not None
    assert joint.variance == pytest.approx(first.variance + second.variance - both.variance)
    assert joint.df == min(first.df, second.df) < 8
    result = clustered_mean(values, crossed, weights=weights)
    assert (result.clusters, result.crossed_clusters) == (40, 9)


def test_a_second_clustering_of_single_cases_changes_nothing() -> None:
    rng, cluster = np.random.default_rng(2), np.repeat(np.arange(12), 5)
    values = rng.normal(size=12)[cluster] + rng.normal(size=60)
    alone, crossed = clustered_mean(values, cluster), clustered_mean(values, [cluster, np.arange(60)])
    assert (crossed.ci_low, crossed.ci_high) == pytest.approx((alone.ci_low, alone.ci_high))


def test_a_clustering_of_one_cluster_is_disregarded() -> None:
    values, cluster = [1.0, 0.0, 1.0, 1.0], [0, 1, 2, 3]
    alone, crossed = clustered_share(values, cluster), clustered_share(values, [cluster, [0] * 4])
    assert (crossed.ci_low, crossed.ci_high, crossed.crossed_clusters) == (alone.ci_low, alone.ci_high, 1)


def test_copies_of_a_cluster_add_nothing() -> None:
    single, copied = clustered_mean([1, 3, 8], range(3)), clustered_mean([1, 3, 8] * 9, [*range(3)] * 9)
    assert (copied.ci_low, copied.ci_high) == pytest.approx((single.ci_low, single.ci_high))


def test_a_share_of_1_counts_clusters_of_the_clustering_with_fewer() -> None:
    cluster = np.array([np.arange(30), np.arange(30) % 6])
    result = clustered_share(np.ones(30), cluster)
    assert result.ci_low == pytest.approx(clustered_share(np.ones(6), range(6)).ci_low)


def test_one_cluster_has_no_interval() -> None:
    result = clustered_mean([1.0, 2.0], [7, 7])
    assert (result.estimate, result.ci_low, result.ci_high) == (1.5, None, None)
    with pytest.raises(UndefinedEstimate, match="there are no cases"):
        clustered_mean([], [])
    with pytest.raises(UndefinedEstimate, match="belong to 1 cluster"):
        paired_difference([1, 0], [0, 0], [[3, 3], [5, 5]])


@pytest.mark.parametrize("clusters", [[0, 1], [[0, 1, 2]] * 3, [[[0, 1, 2]]]])
def test_clusters_of_another_shape_are_refused(clusters: npt.ArrayLike) -> None:
    with pytest.raises(InvalidInput, match="Give one for each case, or two rows"):
        clustered_mean([1.0, 2.0, 3.0], clusters)


def draw_hits(
    rng: np.random.Generator, loads: npt.NDArray[np.int64], *, sd: float, n_dialogues: int
) -> tuple[Matrix, npt.NDArray[np.int64]]:
    """Draw hits of a model on pairs by raters of given loads: the accuracy differs by rater."""
    rater = np.repeat(np.arange(len(loads)), loads)
    dialogue = rng.integers(n_dialogues, size=len(rater))
    log_odds = 0.6 + sd * rng.normal(size=len(loads))[rater] + 0.5 * rng.normal(size=n_dialogues)[dialogue]
    return (rng.random(len(rater)) < 1 / (1 + np.exp(-log_odds))).astype(float), np.array([dialogue, rater])


UNEQUAL = np.maximum(1, np.random.default_rng(9).lognormal(2, 1, 40).astype(np.int64))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loads", "sd"),
    [(np.full(8, 40), 1.0), (np.full(20, 15), 1.0), (UNEQUAL, 1.0), (np.full(30, 10), 0.0)],
    ids=["eight raters", "twenty raters", "unequal loads", "equal raters"],
)
def test_intervals_of_accuracy_cover_other_raters_and_dialogues(loads: npt.NDArray[np.int64], sd: float) -> None:
    """Intervals by dialogue alone cover 53 to 71 % where raters differ as much."""
    rng, draws = np.random.default_rng(1), 2_000
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    truth = float(weights @ (1 / (1 + np.exp(-0.6 - np.hypot(sd, 0.5) * nodes)))) / float(weights.sum())
    n_covered = 0
    for _ in range(draws):
        result = clustered_share(*draw_hits(rng, loads, sd=sd, n_dialogues=150))
        n_covered += result.ci_low <= truth <= result.ci_high
    assert 0.93 <= n_covered / draws <= 0.98


@pytest.mark.parametrize("n_clusters", [8, 60])
def test_intervals_have_their_nominal_coverage(n_clusters: int) -> None:
    rng, n_covered, draws = np.random.default_rng(1), 0, 600
    cluster = np.repeat(np.arange(n_clusters), 4)
    for _ in range(draws):
        values = rng.gamma(2, size=n_clusters)[cluster] + rng.normal(size=4 * n_clusters)
        result = clustered_mean(values, cluster)
        assert result.ci_low is not None
        assert result.ci_high is not None
        n_covered += result.ci_low <= 2 <= result.ci_high
    assert 0.92 <= n_covered / draws <= 0.98


@pytest.mark.parametrize("df", [2.5, 4, 9.3, 60, 4000])
def test_p_values_and_quantiles_of_t_are_those_of_scipy(df: float) -> None:
    for t in (0.0, 0.3, -1.9, 4.0, 30.0):
        assert t_test_p(t, df) == pytest.approx(2 * student_t.sf(abs(t), df), rel=1e-5, abs=1e-300)
    for level in (0.5, 0.9, 0.99):
        assert t_quantile(level, df) == pytest.approx(student_t.ppf((1 + level) / 2, df), rel=1e-6)
        assert t_test_p(t_quantile(level, df), df) == pytest.approx(1 - level, rel=1e-5)
