"""Correlation of raters with all others."""

import numpy as np
import pytest

from dissensus.stats.raters.rest_correlation import rest_correlations


def test_correlations_are_those_of_each_rater_with_the_mean_of_the_others() -> None:
    rng = np.random.default_rng(1)
    rater, item = np.nonzero(rng.random((12, 30)) < 0.5)
    answers = rng.integers(0, 3, rater.size)
    answers[rater == 3] = 2
    result = rest_correlations(rater, item, answers)
    for r in range(12):
        mine = np.flatnonzero(rater == r)
        pairs = [
            (answers[n], answers[(item == item[n]) & (rater != r)].mean())
            for n in mine
            if ((item == item[n]) & (rater != r)).any()
        ]
        expected = 0.0 if r == 3 else np.corrcoef(np.array(pairs).T)[0, 1]
        assert result[r] == pytest.approx(expected)


def test_raters_of_few_shared_items_have_none() -> None:
    """Five shared items are enough, four are not; an item that nobody else rated does not count."""
    rater, item = np.repeat([0, 1, 2], [6, 5, 6]), np.array([*range(6), *range(5), *range(4), 7, 8])
    result = rest_correlations(rater, item, np.array([0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1]))
    assert result[:2] == pytest.approx(1)
    assert np.isnan(result[2])
