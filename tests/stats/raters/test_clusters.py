"""Order of raters by clusters, against average linkage written out."""

import numpy as np
import pytest

from dissensus.stats.raters.clusters import order_by_clusters
from dissensus.stats.result import FloatArray


def draw_agreement(seed: int, n_raters: int = 12) -> FloatArray:
    values = np.random.default_rng(seed).random((n_raters, n_raters))
    return np.asarray((values + values.T) / 2)


def link_by_hand(agreement: FloatArray) -> list[int]:
    """Average linkage with the means over all pairs computed anew at each step."""
    clusters = [[rater] for rater in range(len(agreement))]
    while len(clusters) > 1:
        pairs = [(i, j) for i in range(len(clusters)) for j in range(i + 1, len(clusters))]
        i, j = max(pairs, key=lambda pair: agreement[np.ix_(clusters[pair[0]], clusters[pair[1]])].mean())
        larger, smaller = sorted((clusters[i], clusters.pop(j)), key=len, reverse=True)
        clusters[i] = larger + smaller
    return clusters[0]


@pytest.mark.parametrize("seed", range(5))
def test_the_order_is_that_of_average_linkage(seed: int) -> None:
    agreement = draw_agreement(seed)
    assert order_by_clusters(agreement).tolist() == link_by_hand(agreement)


def test_camps_stand_together_and_a_loner_last() -> None:
    camp = np.array([0, 1, 0, 1, 2, 1, 0, 1])
    agreement = np.where(camp[:, None] == camp, 0.8, 0.3)
    agreement[4], agreement[:, 4] = 0.1, 0.1
    assert camp[order_by_clusters(agreement)].tolist() == [1, 1, 1, 1, 0, 0, 0, 2]


def test_unknown_pairs_count_for_nothing() -> None:
    agreement = draw_agreement(1, 6)
    agreement[:, 2] = agreement[2] = np.nan
    others = [0, 1, 3, 4, 5]
    expected = np.array(others)[order_by_clusters(agreement[np.ix_(others, others)])]
    assert order_by_clusters(agreement).tolist() == [*expected, 2]
    assert order_by_clusters(np.empty((0, 0))).tolist() == []
    assert order_by_clusters(np.array([[np.nan]])).tolist() == [0]
