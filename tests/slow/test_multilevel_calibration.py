"""Simulation-based calibration of multilevel models (Talts et al. 2018, arXiv 1804.06788)."""

import pytest
from scipy.stats import chi2
from tests.support.posterior_ranks import rank_parameters, rank_statistics

pytestmark = pytest.mark.slow

SIMULATIONS = 40
# All engines stand in docs/generated/multilevel-calibration.md.
TESTED = ("gibbs-2", "gibbs-3", "probit-2", "quadrature-3", "logit-3")


@pytest.mark.parametrize("name", TESTED)
def test_ranks_of_the_truth_are_uniform(name: str) -> None:
    """Chi-square of each parameter's ranks, at a level of .001 for all of an engine's together."""
    statistics, degrees = rank_statistics(rank_parameters(name, SIMULATIONS)[0])
    assert statistics.max() < chi2.isf(0.001 / len(statistics), degrees)
