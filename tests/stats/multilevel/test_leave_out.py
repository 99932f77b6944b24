"""Groups left out of multilevel models: against a fit without each of them, and invariances."""

from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.leave_out import refit_without
from tests.stats.multilevel.designs import simulate_design

from dissensus.stats.multilevel.design import Covariates, ModelDesign, RandomTerm
from dissensus.stats.multilevel.fit import Link, MaximumFit, fit_ordinal
from dissensus.stats.multilevel.leave_out import leave_groups_out
from dissensus.stats.result import FloatArray


def leave_raters_out(fit: MaximumFit) -> FloatArray | None:
    """Log densities of the answers of each rater."""
    return leave_groups_out(fit.approximation, 0)


def test_densities_are_near_those_of_fits_without_the_group() -> None:
    design = simulate_design(raters=14, items=14, share=0.9, seed=5)
    fit = fit_ordinal(design, integration="laplace")
    densities = leave_raters_out(fit)
    assert densities is not None
    # The fits without a group also have other standard deviations of raters.
    assert np.corrcoef(densities, refit_without(design, fit, 0))[0, 1] > 0.98


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_the_coding_of_covariates_does_not_matter(link: Link) -> None:
    design = simulate_design(raters=12, items=15, seed=1)
    values = design.fixed.values
    other = replace(design, fixed=replace(design.fixed, values=np.column_stack([1 - values[:, 0], 3 * values[:, 1]])))
    first, second = (leave_raters_out(fit_ordinal(d, link=link)) for d in (design, other))
    # The covariance comes from one-sided differences, whose error of a thousandth depends on the coding.
    assert first == pytest.approx(second, abs=2e-3)


def test_a_coefficient_of_one_rater_is_undetermined_without_them() -> None:
    design = simulate_design(raters=12, items=40, share=1.0, seed=1)
    alone = (design.random[0].groups == 0).astype(float)[:, None]
    fit = fit_ordinal(replace(design, fixed=Covariates.from_matrix(alone)))
    assert leave_raters_out(fit) is None


@pytest.fixture(scope="module")
def slopes() -> ModelDesign:
    """Raters who differ in a slope alone, while women answer higher."""
    rng = np.random.default_rng(1)
    item, rater = np.repeat(np.arange(30), 14), np.tile(np.arange(14), 30)
    x, woman = rng.normal(size=30)[item], (rater % 2).astype(float)
    latent = rng.normal(0, 0.8, 14)[rater] * x + rng.normal(0, 0.7, 30)[item] + 0.6 * woman + rng.normal(size=420)
    return ModelDesign(
        answers=np.digitize(latent, [0.0, 0.6]),
        n_categories=3,
        fixed=Covariates.from_matrix(woman[:, None]),
        random=(
            RandomTerm(name="rater", groups=rater, n_groups=14, covariates=Covariates.from_matrix(x[:, None])),
            RandomTerm(name="item", groups=item, n_groups=30),
        ),
    )


def test_densities_of_slopes_are_near_those_of_fits_without_the_group(slopes: ModelDesign) -> None:
    """Also in their difference between models with and without a coefficient, which is what they are for."""
    differences = np.zeros((2, 14))
    for sign, values in ((1, slopes.fixed.values), (-1, 0 * slopes.fixed.values[:, :0])):
        design = replace(slopes, fixed=replace(slopes.fixed, values=values))
        fit = fit_ordinal(design, integration="laplace")
        densities = np.array([leave_raters_out(fit), refit_without(design, fit, 0)])
        # The fits without a group also have other standard deviations of raters.
        assert np.corrcoef(densities)[0, 1] > 0.98
        assert densities[0].mean() == pytest.approx(densities[1].mean(), abs=0.4)
        differences += sign * densities
    assert differences[0] == pytest.approx(differences[1], abs=0.25)
    assert differences[0].sum() == pytest.approx(differences[1].sum(), rel=0.02)


@pytest.mark.parametrize("factor", [10.0, 0.1])
def test_the_unit_of_a_slope_does_not_matter(slopes: ModelDesign, factor: float) -> None:
    rater, item = slopes.random
    assert rater.covariates is not None
    other = replace(rater.covariates, values=factor * rater.covariates.values)
    scaled = replace(slopes, random=(replace(rater, covariates=other), item))
    first, second = (leave_raters_out(fit_ordinal(design, integration="laplace")) for design in (slopes, scaled))
    assert first == pytest.approx(second, abs=2e-3)
    # One rater saw only items at the origin of the slope, and tells nothing of it.
    zero = np.where(rater.groups[:, None] == 0, 0.0, rater.covariates.values[rater.covariates.row])
    without = replace(slopes, random=(replace(rater, covariates=Covariates.from_matrix(zero)), item))
    densities = leave_raters_out(fit_ordinal(without, integration="laplace"))
    assert densities is not None
    assert np.isfinite(densities).all()
