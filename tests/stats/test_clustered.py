"""Means and rank correlations by cluster: what they are, what their intervals hold, and where there are none."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from dissensus.errors import InvalidInput
from dissensus.stats.clustered import NONE, NOT_DRAWN, SAME, clustered_means, drawn_clusters, rank_correlation


def cases(n: int = 240, clusters: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), rng.integers(3, size=n), rng.integers(clusters, size=n)


def test_means_and_intervals_are_those_of_cases_that_are_repeated() -> None:
    values, cells, clusters = cases()
    values[:3] = np.nan
    draws = drawn_clusters(30, 40, seed=1)
    found = clustered_means(values, cells, clusters, draws, n_cells=3)
    for cell, mean in enumerate(found):
        here = (cells == cell) & np.isfinite(values)
        assert mean.estimate == pytest.approx(values[here].mean())
        assert (mean.n, mean.clusters) == (here.sum(), len(set(clusters[here])))
        repeated = []
        for draw in draws.astype(int):
            some = [values[place] for place in np.flatnonzero(here) for _ in range(draw[clusters[place]])]
            repeated.append(np.mean(some))
        assert (mean.ci_low, mean.ci_high) == pytest.approx(tuple(np.quantile(repeated, [0.025, 0.975])))


def test_the_correlation_is_that_of_cases_that_are_repeated() -> None:
    x, y, clusters = cases(seed=2)
    draws = drawn_clusters(30, 25, seed=1)
    found = rank_correlation(x, y, clusters, draws)
    assert found.estimate == pytest.approx(spearmanr(x, y).statistic)
    repeated = [
        spearmanr(*(np.repeat(values, draw[clusters].astype(int)) for values in (x, y))).statistic for draw in draws
    ]
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(np.quantile(repeated, [0.025, 0.975])))


@pytest.mark.parametrize(("clusters", "least"), [(30, 0.86), (100, 0.9)])
def test_intervals_hold_the_share_about_as_often_as_they_say(clusters: int, least: float) -> None:
    rng, held, trials, truth = np.random.default_rng(5), 0, 300, 0.35
    for trial in range(trials):
        sizes = np.maximum(1, np.round(10 * np.exp(0.5 * rng.normal(size=clusters)))).astype(int)
        who = np.repeat(np.arange(clusters), sizes)
        hits = rng.random(len(who)) < rng.beta(3 * truth, 3 * (1 - truth), size=clusters)[who]
        (found,) = clustered_means(hits, np.zeros(len(who), int), who, drawn_clusters(clusters, 200, seed=trial))
        assert found.ci_low is not None
        assert found.ci_high is not None
        held += found.ci_low <= truth <= found.ci_high
    assert least <= held / trials <= 0.99


def test_no_interval_where_one_would_mislead() -> None:
    draws = drawn_clusters(40, 50, seed=0)
    rng = np.random.default_rng(0)
    few = clustered_means(rng.random(30), np.zeros(30, int), np.arange(30) % 4, draws)[0]
    one_busy = np.concatenate([np.zeros(300, int), np.arange(1, 40)])
    busy = clustered_means(rng.random(339), np.zeros(339, int), one_busy, draws)[0]
    same = clustered_means(np.zeros(40), np.zeros(40, int), np.arange(40), draws)[0]
    unasked = clustered_means(rng.random(40), np.zeros(40, int), np.arange(40), drawn_clusters(40, 0, seed=0))[0]
    nothing = clustered_means([np.nan], [0], [0], draws)[0]
    for mean in (few, busy, same, unasked, nothing):
        assert mean.ci_low is None
        assert mean.ci_high is None
    assert few.reason == "no interval: as few as 4.0 effective clusters, and 10 are needed"
    assert busy.reason.startswith("no interval: as few as 1.3 effective clusters")
    assert (same.estimate, same.reason, unasked.reason) == (0.0, SAME, NOT_DRAWN)
    assert (nothing.estimate, nothing.reason) == (None, NONE)
    assert rank_correlation(np.ones(20), rng.random(20), np.arange(20), draws).reason == SAME


def test_the_seed_decides_and_draws_do_not_depend_on_each_other() -> None:
    assert (drawn_clusters(9, 5, seed=3) == drawn_clusters(9, 8, seed=3)[:5]).all()
    assert (drawn_clusters(9, 5, seed=3) != drawn_clusters(9, 5, seed=4)).any()
    assert (drawn_clusters(9, 5, seed=3).sum(axis=1) == 9).all()
    with pytest.raises(InvalidInput, match="level is 95"):
        clustered_means([1], [0], [0], drawn_clusters(1, 2, seed=0), level=95)
