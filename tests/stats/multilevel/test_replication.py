"""New answers from draws: against probabilities, and widths drawn anew against a fine grid."""

from dataclasses import replace

import numpy as np
import pytest
from tests.stats.multilevel.designs import simulate_design

from dissensus.stats.multilevel.fit import fit_ordinal
from dissensus.stats.multilevel.group_likelihood import GroupLikelihood
from dissensus.stats.multilevel.renewal import renew_widths
from dissensus.stats.multilevel.replication import replicate_answers


@pytest.mark.parametrize("width", [False, True])
def test_new_answers_have_the_probabilities_of_the_draws(width: bool) -> None:
    design = simulate_design(raters=10, items=12, width=width, seed=6)
    fit = fit_ordinal(design, integration="laplace")
    draws = fit.approximation.draw(26, np.random.default_rng(0))
    # The same draw many times
    index = np.zeros(3000, int)
    same = replace(
        draws,
        thresholds=draws.thresholds[index],
        coefficients=draws.coefficients[index],
        effects=tuple(x[index] for x in draws.effects),
    )
    answers = np.array(list(replicate_answers(fit.approximation.likelihood, same, 3000, np.random.default_rng(1))))
    rater, item = (term.groups for term in design.random)
    location = design.fixed.values[design.fixed.row] @ draws.coefficients[0]
    location = location + draws.effects[0][0][rater, 0] + draws.effects[1][0][item, 0]
    low, high = draws.thresholds[0]
    scale = np.exp(draws.effects[0][0][rater, 1]) if width else 1.0
    latent = np.random.default_rng(2).normal(size=(20_000, 1)) + location
    expected = (latent > (low + high) / 2 + (high - low) / 2 * scale).mean(0)
    assert (answers == 2).mean(0) == pytest.approx(expected, abs=5 * np.sqrt(0.25 / 3000))


def test_widths_follow_their_exact_distribution() -> None:
    design = simulate_design(raters=20, items=60, share=1.0, width=True, seed=2)
    # A rater who never gives the middle answer.
    answers = np.where((design.random[0].groups == 0) & (design.answers == 1), 0, design.answers)
    design = replace(design, answers=answers)
    fit = fit_ordinal(design, integration="laplace")
    approximation = fit.approximation
    draws = approximation.draw(400, np.random.default_rng(0))
    normal, renewed = draws.effects[0][:, 0, 1], renew_widths(approximation, draws, np.random.default_rng(1))
    mode, likelihood = approximation.mode, approximation.likelihood
    groups = GroupLikelihood.from_likelihood(likelihood, 0)
    rest = groups.remove_effects(
        mode.predictors.location, mode.predictors.width, likelihood.effects(mode.u, mode.v)[0], fit.thresholds
    )
    grid = np.stack(np.meshgrid(np.linspace(-2, 2, 81), np.linspace(-8, 2, 201), indexing="ij"), -1).reshape(-1, 2)
    log_density = groups.evaluate(rest, np.broadcast_to(grid, (20, *grid.shape)))[0]
    log_density -= 0.5 * np.einsum("mi,ij,mj->m", grid, np.linalg.inv(fit.random[0].covariance), grid)
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    mean = float(weights @ grid[:, 1])
    sd = float(np.sqrt(weights @ (grid[:, 1] - mean) ** 2))
    width = renewed.effects[0][:, 0, 1]
    assert width.mean() == pytest.approx(mean, abs=0.35 * sd)
    assert width.std() == pytest.approx(sd, rel=0.3)
    assert normal.std() < width.std()
    assert (renewed.effects[1] == draws.effects[1]).all()
    plain = fit_ordinal(simulate_design(seed=1)).approximation
    unchanged = plain.draw(26, np.random.default_rng(0))
    assert renew_widths(plain, unchanged, np.random.default_rng(0)) is unchanged
