"""Cluster-robust means: against statsmodels, and coverage."""

import numpy as np
import pytest
import statsmodels.api as sm

from dissensus.errors import UndefinedEstimate
from dissensus.stats.cluster_robust import clustered_mean


def test_intervals_are_those_of_an_intercept_only_regression_with_clustered_errors() -> None:
    """`statsmodels` also multiplies by (n - 1)/(n - k), which is 1 with an intercept only."""
    rng = np.random.default_rng(0)
    values, cluster, weights = rng.normal(size=80), rng.integers(25, size=80), rng.uniform(0.5, 2, 80)
    model = sm.WLS(values, np.ones(80), weights=weights).fit(cov_type="cluster", cov_kwds={"groups": cluster})
    result = clustered_mean(values, cluster, weights=weights)
    assert (result.estimate, result.ci_low, result.ci_high) == pytest.approx((model.params[0], *model.conf_int()[0]))
    assert (result.n, result.clusters) == (80, len(set(cluster)))


def test_copies_of_a_cluster_add_nothing() -> None:
    single, copied = clustered_mean([1, 3, 8], range(3)), clustered_mean([1, 3, 8] * 9, [*range(3)] * 9)
    assert (copied.ci_low, copied.ci_high) == pytest.approx((single.ci_low, single.ci_high))


def test_one_cluster_has_no_interval() -> None:
    result = clustered_mean([1.0, 2.0], [7, 7])
    assert (result.estimate, result.ci_low, result.ci_high) == (1.5, None, None)
    with pytest.raises(UndefinedEstimate, match="there are no cases"):
        clustered_mean([], [])


def test_intervals_have_their_nominal_coverage() -> None:
    rng, n_covered, draws = np.random.default_rng(1), 0, 600
    cluster = np.repeat(np.arange(60), 4)
    for _ in range(draws):
        result = clustered_mean(rng.gamma(2, size=60)[cluster] + rng.normal(size=240), cluster)
        assert result.ci_low is not None
        assert result.ci_high is not None
        n_covered += result.ci_low <= 2 <= result.ci_high
    assert 0.92 <= n_covered / draws <= 0.98
