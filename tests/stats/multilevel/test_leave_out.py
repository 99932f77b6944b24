"""Groups left out of multilevel models: against a fit without each of them, and invariances."""

from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.leave_out import refit_without
from tests.stats.multilevel.designs import simulate_design

from dissensus.stats.multilevel.design import Covariates
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
