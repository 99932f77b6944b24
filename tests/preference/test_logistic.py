"""Logistic regression against a second solver, and its invariances."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dissensus.preference.data.weighting import PairChoices
from dissensus.preference.fit.logistic import fit_logistic, probability
from dissensus.stats.sparse import SparseRows


def rows_of(matrix: np.ndarray) -> SparseRows:
    n, width = matrix.shape
    columns = np.tile(np.arange(width, dtype=np.int32), n)
    return SparseRows(matrix.astype(np.float32).ravel(), columns, np.arange(n + 1) * width, width)


@pytest.mark.parametrize("penalty", [0.1, 1.0, 10.0])
def test_the_fit_equals_that_of_scipy(penalty: float) -> None:
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(200, 6)).astype(np.float32) + np.float32(0.3)
    weight = rng.uniform(0.5, 2, size=200)

    def loss(beta: np.ndarray) -> float:
        return float(weight @ np.logaddexp(0, -matrix @ beta) + penalty / 2 * beta @ beta)

    expected = minimize(loss, np.zeros(6), tol=1e-10).x
    assert np.allclose(fit_logistic(rows_of(matrix), PairChoices.unanimous(weight), penalty), expected, atol=2e-3)


def test_a_pair_twice_is_a_pair_of_weight_two() -> None:
    matrix = np.random.default_rng(4).normal(size=(50, 4)) + 0.2
    twice = fit_logistic(rows_of(np.vstack([matrix, matrix])), PairChoices.unanimous(np.ones(100)), 1.0)
    assert np.allclose(twice, fit_logistic(rows_of(matrix), PairChoices.unanimous(np.full(50, 2.0)), 1.0), atol=1e-3)


def test_a_separating_feature_has_a_finite_weight() -> None:
    beta = fit_logistic(rows_of(np.ones((30, 1))), PairChoices.unanimous(np.ones(30)), 0.01)
    assert np.isfinite(beta).all()
    assert probability(beta).item() > 0.99


def test_very_large_margins_do_not_overflow() -> None:
    assert probability(np.array([-1e4, 1e4])).tolist() == [0.0, 1.0]
