"""Priors: densities against SciPy, gradients and volumes against differences."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.stats.multilevel.designs import simulate_design

from dissensus.errors import InvalidInput
from dissensus.stats.multilevel.covariance import cholesky_factor
from dissensus.stats.multilevel.fit import fit_ordinal
from dissensus.stats.multilevel.laplace import LaplaceLikelihood
from dissensus.stats.multilevel.priors import Family, ModelPriors, Prior, PriorPenalty

NORMAL = Prior(family="normal", location=0.3, scale=0.5)
STUDENT = Prior(family="student_t", degrees=3, location=0.2, scale=0.3)
EXPONENTIAL = Prior(family="exponential", scale=0.5)


@pytest.mark.parametrize(
    ("prior", "other"),
    [
        (NORMAL, stats.norm(0.3, 0.5)),
        (STUDENT, stats.t(3, 0.2, 0.3)),
        (EXPONENTIAL, stats.expon(scale=0.5)),
    ],
)
def test_densities_are_those_of_scipy(prior: Prior, other: Any) -> None:
    x = np.array([0.1, 0.4, 2.0])
    own = np.array([prior.log_density(float(value)) for value in x])
    assert own - own[0] == pytest.approx(other.logpdf(x) - other.logpdf(x[0]))
    for value in x:
        slope = (prior.log_density(value + 1e-6) - prior.log_density(value - 1e-6)) / 2e-6
        assert prior.slope(value) == pytest.approx(slope, rel=1e-6)
    rng = np.random.default_rng(0)
    draws = [prior.draw(rng) for _ in range(2000)]
    assert stats.kstest(draws, other.cdf).pvalue > 0.001
    assert min(NORMAL.draw(rng, positive=True) for _ in range(200)) > 0


@pytest.mark.parametrize("prior", [NORMAL, STUDENT])
@pytest.mark.parametrize("x", [-1.0, 0.5, 2.0])
def test_precisions_of_the_mixture_have_the_slope_of_the_prior_as_their_mean(prior: Prior, x: float) -> None:
    """The slope of a normal mixture is that of its components, weighted by their densities at the parameter."""
    rng = np.random.default_rng(0)
    draws = np.array([prior.draw_precision(x, rng) for _ in range(4000)])
    error = 4 * draws.std() / np.sqrt(len(draws))
    assert draws.mean() == pytest.approx(-prior.slope(x) / (x - prior.location), abs=error, rel=1e-12)


def penalty(**options: Any) -> tuple[PriorPenalty, int]:
    design = simulate_design(**options)
    flat = ModelPriors.flat(design)
    kinds = (EXPONENTIAL, STUDENT, NORMAL)
    priors = ModelPriors(
        thresholds=(NORMAL, STUDENT)[: len(flat.thresholds)],
        coefficients=(STUDENT, None),
        sds=tuple(tuple(kinds[j % 3] for j in range(len(term))) for term in flat.sds),
        shape=2.5,
    )
    return PriorPenalty(priors, design), LaplaceLikelihood(design, 0).n_parameters


@pytest.mark.parametrize("options", [{"slopes": True, "group_by_item": "identity"}, {"group_by_item": "full"}])
def test_the_gradient_agrees_with_differences(options: dict[str, Any]) -> None:
    log_prior, n = penalty(**options)
    x = np.random.default_rng(1).normal(0, 0.5, n)
    differences = [(log_prior.value(x + step) - log_prior.value(x - step)) / 2e-5 for step in 1e-5 * np.eye(n)]
    assert log_prior.gradient(x) == pytest.approx(differences, abs=1e-7)


def test_the_volume_is_that_of_standard_deviations_and_correlations() -> None:
    log_prior, n = penalty(group_by_item="full")
    part = slice(n - 6, n)
    term = log_prior.design.random[1]

    def transform(parameters: np.ndarray) -> np.ndarray:
        matrix = cholesky_factor(term, parameters)
        matrix = matrix @ matrix.T
        sds = np.sqrt(np.diag(matrix))
        return np.concatenate([sds, (matrix / np.outer(sds, sds))[np.tril_indices(3, -1)]])

    volumes = []
    for seed in (1, 2):
        x = np.random.default_rng(seed).normal(0, 0.4, n)
        jacobian = [(transform(x[part] + step) - transform(x[part] - step)) / 2e-6 for step in 1e-6 * np.eye(6)]
        rest = x[part.start - 1]  # the standard deviation of raters
        volumes.append(log_prior.log_volume(x) - np.linalg.slogdet(np.array(jacobian))[1] - rest)
    assert volumes == pytest.approx([0, 0], abs=1e-6)


def test_flat_priors_leave_the_fit_as_it_is() -> None:
    design = simulate_design()
    plain, flat = fit_ordinal(design), fit_ordinal(design, priors=ModelPriors.flat(design))
    assert flat.estimator == plain.estimator == "maximum likelihood"
    assert np.array_equal(flat.coefficients, plain.coefficients)


def test_priors_draw_estimates_towards_them() -> None:
    design = simulate_design(raters=20, items=25)
    flat = ModelPriors.flat(design)
    narrow = Prior(family="normal", location=1.0, scale=0.01)
    priors = ModelPriors(thresholds=flat.thresholds, coefficients=(narrow, None), sds=((narrow,), (None,)))
    fit = fit_ordinal(design, priors=priors)
    assert fit.estimator == "maximum a posteriori"
    assert fit.coefficients[0] == pytest.approx(1.0, abs=0.02)
    assert fit.random[0].sds[0] == pytest.approx(1.0, abs=0.02)
    assert fit.coefficient_errors[0] == pytest.approx(0.01, rel=0.05)
    assert fit.log_likelihood < fit_ordinal(design).log_likelihood


@pytest.mark.parametrize(
    ("family", "numbers", "message"),
    [
        ("cauchy", {}, "family is 'cauchy'"),
        ("normal", {"scale": 0.0}, "the scale above 0"),
        ("normal", {"location": math.nan}, "finite numbers"),
        ("student_t", {"degrees": 0.0}, "0 degrees of freedom; give a number above 0, up to 1,000,000"),
        ("student_t", {"degrees": 1e7}, "up to 1,000,000"),
    ],
)
def test_numbers_out_of_range_are_refused(family: Family, numbers: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Prior(family=family, **numbers)


def test_priors_that_do_not_fit_the_design_are_refused() -> None:
    design = simulate_design()
    with pytest.raises(InvalidInput, match="exponential prior is for standard deviations"):
        ModelPriors(thresholds=(None, None), coefficients=(EXPONENTIAL, None), sds=((None,), (None,)))
    with pytest.raises(InvalidInput, match="shape of the LKJ distribution is 0"):
        ModelPriors(thresholds=(), coefficients=(), sds=(), shape=0)
    with pytest.raises(InvalidInput, match="Priors are of 1 thresholds"):
        PriorPenalty(ModelPriors(thresholds=(None,), coefficients=(None, None), sds=((None,), (None,))), design)
