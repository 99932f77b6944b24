"""Random-intercept model: against statsmodels, against simulated truth, and undefined cases."""

import warnings

import numpy as np
import pytest
from statsmodels.regression.mixed_linear_model import MixedLM

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.random_intercept import RandomIntercept, random_intercept

TRUTH = np.array([1.0, 0.5, -0.3])


def simulate(
    sd: float, *, n: int = 600, clusters: int = 40, seed: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    # Clusters differ in size.
    weight = np.exp(rng.normal(size=clusters))
    cluster = rng.choice(clusters, size=n, p=weight / weight.sum())
    design = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    return design, design @ TRUTH + sd * rng.normal(size=clusters)[cluster] + rng.normal(size=n), cluster


@pytest.mark.parametrize("sd", [0.3, 0.8, 3.0])
def test_estimates_agree_with_statsmodels(sd: float) -> None:
    design, outcome, cluster = simulate(sd)
    result = random_intercept(design, outcome, cluster)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = MixedLM(outcome, design, groups=cluster).fit(reml=True)
    assert result.coefficients == pytest.approx(expected.fe_params, abs=1e-4)
    assert result.standard_errors == pytest.approx(expected.bse_fe, rel=5e-3)  # from a numeric Hessian
    assert result.sd_clusters**2 == pytest.approx(expected.cov_re[0, 0], rel=1e-2)
    assert result.sd_residual**2 == pytest.approx(expected.scale, rel=1e-3)
    assert result.log_likelihood == pytest.approx(expected.llf, abs=1e-3)


def test_balanced_data_have_the_variances_of_an_analysis_of_variance() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=(12, 1)) * 2 + rng.normal(size=(12, 7))
    result = random_intercept(np.ones((84, 1)), y.ravel(), np.repeat(np.arange(12), 7))
    within = y.var(axis=1, ddof=1).mean()
    assert result.sd_residual**2 == pytest.approx(within)
    assert result.sd_clusters**2 == pytest.approx(y.mean(axis=1).var(ddof=1) - within / 7)
    assert result.coefficients[0] == pytest.approx(y.mean())
    assert 0.5 < result.share_of_clusters < 1


def test_a_large_mean_and_another_unit_only_shift_and_scale() -> None:
    design, outcome, cluster = simulate(0.8)
    result = random_intercept(design, outcome, cluster)
    shifted = random_intercept(design, 1000 * outcome + 1e9, cluster)
    assert shifted.coefficients - [1e9, 0, 0] == pytest.approx(1000 * result.coefficients, rel=1e-5)
    assert shifted.standard_errors == pytest.approx(1000 * result.standard_errors, rel=1e-5)
    assert shifted.share_of_clusters == pytest.approx(result.share_of_clusters, rel=1e-5)


@pytest.mark.slow
def test_intervals_cover_the_simulated_coefficients() -> None:
    n_covered = np.zeros(3)
    for seed in range(200):
        result = random_intercept(*simulate(0.7, n=300, seed=seed))
        n_covered += np.abs(result.coefficients - TRUTH) <= 1.96 * result.standard_errors
    assert (n_covered / 200 > 0.9).all()


def robust_errors(
    design: np.ndarray, outcome: np.ndarray, cluster: np.ndarray, model: RandomIntercept
) -> tuple[np.ndarray, np.ndarray]:
    """Return CR2 errors and Satterthwaite degrees of freedom from whole matrices (Bell and McCaffrey 2002)."""
    ratio = model.sd_clusters**2 / model.sd_residual**2
    values, vectors = np.linalg.eigh(np.eye(len(cluster)) + ratio * (cluster[:, None] == cluster))
    scale = (vectors / np.sqrt(values)) @ vectors.T
    x, e = scale @ design, scale @ (outcome - design @ model.coefficients)
    inverse = np.linalg.inv(x.T @ x)
    annihilator = np.eye(len(e)) - x @ inverse @ x.T
    rows = [np.flatnonzero(cluster == g) for g in np.unique(cluster)]
    maps = []
    for own in rows:
        values, vectors = np.linalg.eigh(annihilator[np.ix_(own, own)])
        root = np.where(values > 1e-9, 1 / np.sqrt(np.maximum(values, 1e-9)), 0)
        maps.append(inverse @ x[own].T @ (vectors * root) @ vectors.T)
    variance = sum(np.outer(part @ e[own], part @ e[own]) for own, part in zip(rows, maps, strict=True))
    df = []
    for column in range(design.shape[1]):
        contrasts = np.array([annihilator[:, own] @ part[column] for own, part in zip(rows, maps, strict=True)])
        products = contrasts @ contrasts.T
        df.append(np.trace(products) ** 2 / (products**2).sum())
    return np.sqrt(np.diag(variance)), np.array(df)


@pytest.mark.parametrize("sd", [0.0, 0.8])
def test_robust_errors_equal_those_of_whole_matrices(sd: float) -> None:
    design, outcome, cluster = simulate(sd, n=120, clusters=9, seed=2)
    design[:, 2] = cluster % 2
    result = random_intercept(design, outcome, cluster)
    errors, df = robust_errors(design, outcome, cluster, result)
    assert result.robust_errors == pytest.approx(errors)
    assert result.df == pytest.approx(df)
    assert (result.df < len(np.unique(cluster)) - 1).all()


def test_a_coefficient_of_a_single_cluster_has_no_robust_error() -> None:
    design, outcome, cluster = simulate(0.5, n=120, clusters=9, seed=2)
    design[:, 2] = cluster == 1
    result = random_intercept(design, outcome, cluster)
    assert np.isnan(result.robust_errors).tolist() == [False, False, True]
    assert np.isnan(result.df).tolist() == [False, False, True]
    assert np.isfinite(result.standard_errors).all()


def test_robust_errors_are_wider_where_effects_differ_between_clusters() -> None:
    design, outcome, cluster = simulate(0.7, n=2000)
    slopes = np.random.default_rng(4).normal(size=40)[cluster]
    alike, differing = (random_intercept(design, outcome + sd * slopes * design[:, 1], cluster) for sd in (0.0, 0.8))
    assert alike.robust_errors[1] == pytest.approx(alike.standard_errors[1], rel=0.4)
    assert differing.robust_errors[1] > 3 * differing.standard_errors[1]
    assert differing.robust_errors[2] == pytest.approx(differing.standard_errors[2], rel=0.4)


def test_without_differences_between_clusters_estimates_are_least_squares() -> None:
    design, outcome, _ = simulate(0.0)
    cluster = np.argsort(np.argsort(outcome)) % 40  # every cluster has outcomes of all sizes
    result = random_intercept(design, outcome, cluster)
    assert result.sd_clusters == 0
    assert result.coefficients == pytest.approx(np.linalg.lstsq(design, outcome, rcond=None)[0])


@pytest.mark.parametrize(
    ("design", "outcome", "cluster", "reason"),
    [
        (np.ones((3, 1)), [1, 2, 3], [0, 0, 0], "to one cluster"),
        (np.ones((4, 1)), [1, 2, 3, 5], [0, 1, 2, 3], "No cluster has two cases"),
        (np.ones((4, 2)), [1, 2, 3, 5], [0, 1, 0, 1], "linear combinations of others"),
        (np.ones((4, 1)), [2, 2, 2, 2], [0, 1, 0, 1], "is constant"),
        (np.ones((2, 1)), [2, 3], [0, 0], "too few"),
        (np.ones((4, 1)), [1e300, -1e300, 1, 2], [0, 0, 1, 1], "too large"),
        (np.array([[1.0, 0], [1, 1], [1, 2], [1, 3]]), [1, 3, 5, 7], [0, 0, 1, 1], "fully"),
        (np.ones((4, 1)), [1, 1, 2, 2], [0, 0, 1, 1], "no maximum"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_undefined_models_give_the_reason(
    design: np.ndarray, outcome: list[float], cluster: list[int], reason: str
) -> None:
    with pytest.raises(UndefinedEstimate, match=reason):
        random_intercept(design, outcome, cluster)


def test_arrays_of_different_length_and_nan_are_refused() -> None:
    with pytest.raises(InvalidInput, match="a row"):
        random_intercept(np.ones((3, 1)), [1, 2], [0, 1, 0])
    with pytest.raises(InvalidInput, match="not finite"):
        random_intercept(np.ones((3, 1)), [1, np.nan, 2], [0, 1, 0])
