"""Likelihood of the answers of each group: against the plain log-likelihood."""

import numpy as np
import pytest
from tests.oracles.multilevel import log_joint, split
from tests.stats.multilevel.designs import simulate_design

from dissensus.stats.multilevel.fit import LINKS, Link
from dissensus.stats.multilevel.group_likelihood import GroupLikelihood
from dissensus.stats.multilevel.laplace import LaplaceLikelihood


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("width", [False, True])
def test_changes_are_those_of_the_joint_density(link: Link, width: bool) -> None:
    design = simulate_design(raters=5, items=6, slopes=True, width=width, seed=2)
    likelihood = LaplaceLikelihood(design, LINKS[link])
    rng = np.random.default_rng(0)
    parameters = rng.normal(0, 0.3, likelihood.n_parameters)
    parameters[:2] = -0.4, 0.5
    mode = likelihood.mode(parameters)
    effects = [x.copy() for x in likelihood.effects(mode.u, mode.v)]
    groups = GroupLikelihood.from_likelihood(likelihood, 0)
    rest = groups.remove_effects(mode.predictors.location, mode.predictors.width, effects[0], parameters[:2])
    candidates = rng.normal(0, 0.5, (5, 3, effects[0].shape[1]))
    values = groups.evaluate(rest, candidates)

    def plain(own: np.ndarray) -> float:
        """Log density of the answers alone, up to the density of the effects, which is taken off."""
        vector = np.concatenate([own.ravel(), *(x.ravel() for x in effects[1:])])
        assert split(design, vector)[0] == pytest.approx(own)
        factor = likelihood.mode(parameters).state.prior.outer[0][1]
        return log_joint(design, parameters, vector, link) + 0.5 * float((own @ factor * own).sum())

    for m in range(2):
        for g in range(5):
            changed = effects[0].copy()
            changed[g] = candidates[g, m]
            again = effects[0].copy()
            again[g] = candidates[g, m + 1]
            assert values[g, m] - values[g, m + 1] == pytest.approx(plain(changed) - plain(again), abs=1e-8)
