"""The mixed model beside statsmodels, beside what was simulated, and where it is undefined."""

import warnings

import numpy as np
import pytest
from statsmodels.regression.mixed_linear_model import MixedLM

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.random_intercept import random_intercept

TRUTH = np.array([1.0, 0.5, -0.3])


def drawn(sd: float, *, n: int = 600, clusters: int = 40, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    # some clusters are busy
    weight = np.exp(rng.normal(size=clusters))
    cluster = rng.choice(clusters, size=n, p=weight / weight.sum())
    design = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    return design, design @ TRUTH + sd * rng.normal(size=clusters)[cluster] + rng.normal(size=n), cluster


@pytest.mark.parametrize("sd", [0.3, 0.8, 3.0])
def test_it_is_what_statsmodels_finds(sd: float) -> None:
    design, outcome, cluster = drawn(sd)
    found = random_intercept(design, outcome, cluster)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = MixedLM(outcome, design, groups=cluster).fit(reml=True)
    assert found.coefficients == pytest.approx(theirs.fe_params, abs=1e-4)
    assert found.standard_errors == pytest.approx(theirs.bse_fe, rel=5e-3)  # theirs come from a numeric Hessian
    assert found.sd_clusters**2 == pytest.approx(theirs.cov_re[0, 0], rel=1e-2)
    assert found.sd_residual**2 == pytest.approx(theirs.scale, rel=1e-3)
    assert found.log_likelihood == pytest.approx(theirs.llf, abs=1e-3)


def test_balanced_data_have_the_variances_of_an_analysis_of_variance() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=(12, 1)) * 2 + rng.normal(size=(12, 7))
    found = random_intercept(np.ones((84, 1)), y.ravel(), np.repeat(np.arange(12), 7))
    within = y.var(axis=1, ddof=1).mean()
    assert found.sd_residual**2 == pytest.approx(within)
    assert found.sd_clusters**2 == pytest.approx(y.mean(axis=1).var(ddof=1) - within / 7)
    assert found.coefficients[0] == pytest.approx(y.mean())
    assert 0.5 < found.share_of_clusters < 1


def test_a_large_mean_and_another_unit_change_nothing_else() -> None:
    design, outcome, cluster = drawn(0.8)
    found = random_intercept(design, outcome, cluster)
    moved = random_intercept(design, 1000 * outcome + 1e9, cluster)
    assert moved.coefficients - [1e9, 0, 0] == pytest.approx(1000 * found.coefficients, rel=1e-5)
    assert moved.standard_errors == pytest.approx(1000 * found.standard_errors, rel=1e-5)
    assert moved.share_of_clusters == pytest.approx(found.share_of_clusters, rel=1e-5)


def test_intervals_hold_what_was_simulated() -> None:
    held = np.zeros(3)
    for seed in range(200):
        found = random_intercept(*drawn(0.7, n=300, seed=seed))
        held += np.abs(found.coefficients - TRUTH) <= 1.96 * found.standard_errors
    assert (held / 200 > 0.9).all()


def test_where_clusters_do_not_differ_it_is_least_squares() -> None:
    design, outcome, _ = drawn(0.0)
    cluster = np.argsort(np.argsort(outcome)) % 40  # every cluster has outcomes of all sizes
    found = random_intercept(design, outcome, cluster)
    assert found.sd_clusters == 0
    assert found.coefficients == pytest.approx(np.linalg.lstsq(design, outcome, rcond=None)[0])


@pytest.mark.parametrize(
    ("design", "outcome", "cluster", "reason"),
    [
        (np.ones((3, 1)), [1, 2, 3], [0, 0, 0], "of one cluster"),
        (np.ones((4, 1)), [1, 2, 3, 5], [0, 1, 2, 3], "No cluster has two cases"),
        (np.ones((4, 2)), [1, 2, 3, 5], [0, 1, 0, 1], "determined by others"),
        (np.ones((4, 1)), [2, 2, 2, 2], [0, 1, 0, 1], "the same throughout"),
        (np.ones((2, 1)), [2, 3], [0, 0], "too few"),
        (np.ones((4, 1)), [1e300, -1e300, 1, 2], [0, 0, 1, 1], "too large"),
        (np.array([[1.0, 0], [1, 1], [1, 2], [1, 3]]), [1, 3, 5, 7], [0, 0, 1, 1], "fully"),
        (np.ones((4, 1)), [1, 1, 2, 2], [0, 0, 1, 1], "no maximum"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_undefined_says_why(design: np.ndarray, outcome: list[float], cluster: list[int], reason: str) -> None:
    with pytest.raises(UndefinedEstimate, match=reason):
        random_intercept(design, outcome, cluster)


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidInput, match="a row"):
        random_intercept(np.ones((3, 1)), [1, 2], [0, 1, 0])
    with pytest.raises(InvalidInput, match="no numbers"):
        random_intercept(np.ones((3, 1)), [1, np.nan, 2], [0, 1, 0])
