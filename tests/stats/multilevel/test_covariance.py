"""Factors of covariance matrices: singular ones, and fits whose random effects determine each other."""

from dataclasses import replace

import numpy as np
import pytest

from dissensus.stats.multilevel.covariance import (
    canonicalize,
    cholesky_factor,
    count_parameters,
    mark_boundary,
    parameter_gradient,
)
from dissensus.stats.multilevel.design import Covariates, ModelDesign, RandomTerm, Structure
from dissensus.stats.multilevel.fit import fit_ordinal

CODES = Covariates(values=np.array([[1.0, 0, 0], [1, 1, 0], [1, 0, 1]]), row=np.arange(1200) % 30 % 3)
TERM = RandomTerm(name="rater", groups=np.arange(1200) // 30, n_groups=40, covariates=CODES)


def slopes(term: RandomTerm = TERM) -> ModelDesign:
    """Return answers of raters whose first slope is a multiple of their intercept."""
    rng = np.random.default_rng(6)
    effects = rng.normal(0, [0.7, 0.0, 0.9], (40, 3))
    effects[:, 1] = 0.3 * effects[:, 0]
    item = np.arange(1200) % 30
    latent = (CODES.values[CODES.row] * effects[TERM.groups]).sum(1) + rng.normal(0, 0.6, 30)[item]
    latent += rng.normal(size=1200)
    return ModelDesign(
        answers=np.digitize(latent, [-0.3, 0.5]),
        n_categories=3,
        fixed=Covariates.from_matrix(CODES.values[CODES.row][:, 1:]),
        random=(term, RandomTerm(name="item", groups=item, n_groups=30)),
    )


@pytest.mark.parametrize(
    ("diagonal", "below", "held"),
    [
        ([0.2, -9.0, -0.5], [0.3, 0.1, 0.8], [1, 5]),
        ([-9.0, -9.0, -0.5], [0.3, 0.1, 0.8], [0, 3, 4]),
        ([0.2, -0.3, -9.0], [0.3, 0.1, 0.8], [2]),
    ],
)
def test_singular_covariances_keep_their_matrix(diagonal: list[float], below: list[float], held: list[int]) -> None:
    parameters = np.array(diagonal + below)
    canonical = canonicalize(TERM, parameters)
    before, after = (cholesky_factor(TERM, values) for values in (parameters, canonical))
    assert after @ after.T == pytest.approx(before @ before.T, abs=2e-3)
    assert canonicalize(TERM, canonical) is canonical
    assert np.flatnonzero(mark_boundary(TERM, canonical)).tolist() == held


def test_regular_covariances_keep_their_parameters() -> None:
    parameters = np.array([0.2, -0.5, -0.3, 0.3, 0.1, 0.8])
    assert canonicalize(TERM, parameters) is parameters
    assert not mark_boundary(TERM, parameters).any()


@pytest.mark.parametrize("structure", ["full", "identity"])
def test_a_diagonal_element_at_its_bound_has_no_gradient(structure: Structure) -> None:
    """The factor no longer depends on the logarithm; a search would follow it without end."""
    term = replace(TERM, structure=structure)
    for logarithm in (-6.9, -7.1, -40.0):
        parameters = np.full(count_parameters(term), 0.1)
        parameters[0] = logarithm
        gradient = parameter_gradient(term, cholesky_factor(term, parameters), np.eye(3))
        assert (gradient[0] != 0) == (logarithm > -7)
        assert (gradient[1:3] != 0).all()


@pytest.mark.parametrize("order", [[0, 2, 1], [1, 0, 2]])
def test_effects_that_determine_each_other_are_estimated_in_any_order(order: list[int]) -> None:
    """The order of the effects changes which diagonal element of the factor vanishes."""
    fit = fit_ordinal(slopes())
    assert fit.random[0].is_singular
    assert np.isfinite(fit.coefficient_errors).all()
    values = np.ascontiguousarray(CODES.values[:, order])
    term = RandomTerm(
        name="rater", groups=TERM.groups, n_groups=40, covariates=Covariates(values=values, row=CODES.row)
    )
    other = fit_ordinal(slopes(term))
    assert other.log_likelihood == pytest.approx(fit.log_likelihood, abs=0.002)
    assert other.random[0].sds == pytest.approx(fit.random[0].sds[order], abs=0.002)
    assert other.coefficients == pytest.approx(fit.coefficients, abs=0.002)
    assert other.coefficient_errors == pytest.approx(fit.coefficient_errors, rel=0.01)
