"""Chi-square tests: against SciPy, and their invariances."""

import numpy as np
import pytest
from scipy.stats import chi2

from dissensus.errors import InvalidInput
from dissensus.stats.multilevel.hypothesis import chi_square_tail, wald_statistic


@pytest.mark.parametrize("df", [1, 2, 3, 8, 31])
@pytest.mark.parametrize("statistic", [0.0, 0.3, 5.0, 60.0, 300.0])
def test_tails_are_those_of_scipy(statistic: float, df: int) -> None:
    assert chi_square_tail(statistic, df) == pytest.approx(chi2.sf(statistic, df), rel=1e-10)


def test_no_degrees_of_freedom_are_refused() -> None:
    with pytest.raises(InvalidInput, match="df is 0"):
        chi_square_tail(1.0, 0)


def test_wald_statistic_does_not_depend_on_coding() -> None:
    rng = np.random.default_rng(1)
    factor, other = np.repeat(np.arange(3), 4), np.tile(np.arange(2), 6)
    covariates = np.column_stack([factor == 1, factor == 2, other]).astype(float)
    beta, root = rng.normal(size=3), rng.normal(size=(3, 3))
    covariance = root @ root.T
    direct = beta[:2] @ np.linalg.solve(covariance[:2, :2], beta[:2])
    assert wald_statistic(beta, covariance, covariates, covariates[:, 2:]) == pytest.approx((direct, 2))
    # The base becomes another level: the same predictors, up to a constant, from other columns.
    change = np.array([[-1.0, 0, 0], [-1, 1, 0], [0, 0, 1]])
    recoded = np.column_stack([factor == 0, factor == 2, other]).astype(float)
    inverse = np.linalg.inv(change)
    again = wald_statistic(inverse @ beta, inverse @ covariance @ inverse.T, recoded, covariates[:, 2:])
    assert again == pytest.approx((direct, 2))


def test_covariates_that_others_explain_have_no_test() -> None:
    rows = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    assert wald_statistic(np.ones(2), np.eye(2), rows, rows[:, :1]) == (0.0, 0)


@pytest.mark.parametrize("df", [1, 2, 3])
def test_an_infinite_statistic_has_no_tail(df: int) -> None:
    assert chi_square_tail(np.inf, df) == 0.0
