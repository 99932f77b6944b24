"""Means of cases in clusters: as a second library has them, and how often their intervals hold the truth."""

import numpy as np
import pytest
import statsmodels.api as sm

from dissensus.errors import UndefinedEstimate
from dissensus.stats.cluster_robust import clustered_mean


def test_intervals_are_those_of_a_regression_on_nothing_with_clustered_errors() -> None:
    """`statsmodels` multiplies by (n - 1)/(n - k) too, which is 1 for a mean alone."""
    rng = np.random.default_rng(0)
    values, cluster, weights = rng.normal(size=80), rng.integers(25, size=80), rng.uniform(0.5, 2, 80)
    known = sm.WLS(values, np.ones(80), weights=weights).fit(cov_type="cluster", cov_kwds={"groups": cluster})
    found = clustered_mean(values, cluster, weights=weights)
    assert (found.estimate, found.ci_low, found.ci_high) == pytest.approx((known.params[0], *known.conf_int()[0]))
    assert (found.n, found.clusters) == (80, len(set(cluster)))


def test_copies_of_a_cluster_add_nothing() -> None:
    once, copied = clustered_mean([1, 3, 8], range(3)), clustered_mean([1, 3, 8] * 9, [*range(3)] * 9)
    assert (copied.ci_low, copied.ci_high) == pytest.approx((once.ci_low, once.ci_high))


def test_one_cluster_tells_nothing_of_others() -> None:
    found = clustered_mean([1.0, 2.0], [7, 7])
    assert (found.estimate, found.ci_low, found.ci_high) == (1.5, None, None)
    with pytest.raises(UndefinedEstimate, match="There is no case"):
        clustered_mean([], [])


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng, held, draws = np.random.default_rng(1), 0, 600
    cluster = np.repeat(np.arange(60), 4)
    for _ in range(draws):
        found = clustered_mean(rng.gamma(2, size=60)[cluster] + rng.normal(size=240), cluster)
        assert found.ci_low is not None
        assert found.ci_high is not None
        held += found.ci_low <= 2 <= found.ci_high
    assert 0.92 <= held / draws <= 0.98
