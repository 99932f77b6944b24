"""Gibbs sampler: against NumPyro, against differences, and in limiting cases."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import kstest
from tests.stats.multilevel.designs import keep_items, simulate_design
from tests.support.paths import ROOT

from dissensus.errors import InvalidInput
from dissensus.pipeline.model.design import build_design
from dissensus.schema.formula import parse_formula
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.multilevel.convergence import diagnose_chains
from dissensus.stats.multilevel.design import Covariates, ModelDesign, RandomTerm
from dissensus.stats.multilevel.fit import fit_ordinal
from dissensus.stats.multilevel.gibbs import _Sampler, sample_ordinal, sample_posterior
from dissensus.stats.multilevel.gibbs_kernels import _lower_quantile, draw_truncated
from dissensus.stats.multilevel.posterior import ChainSample, PosteriorDraws
from dissensus.stats.multilevel.priors import ModelPriors, Prior

DICES = "Q_overall ~ rater_race + rater_gender + rater_age + (1 | rater_id) + (1 | item_id)"
NUTS: dict[str, Any] = json.loads((ROOT / "tests/reference/multilevel/nuts.json").read_text("utf-8"))


def nuts_priors(design: ModelDesign) -> ModelPriors:
    """Return the priors of tests/reference/multilevel/nuts.py."""
    return ModelPriors(
        thresholds=(Prior(family="normal", scale=2.0),) * (design.n_categories - 1),
        coefficients=(Prior(family="student_t", degrees=3),) * design.fixed.values.shape[1],
        sds=((Prior(family="student_t", degrees=3, scale=2.5),),) * 2,
    )


def sds_of(draws: PosteriorDraws) -> np.ndarray:
    return np.column_stack([np.sqrt((factors**2).sum(2)) for factors in draws.factors])


def assert_equal_means(sample: ChainSample, expected: dict[str, Any]) -> None:
    """Compare means within four Monte Carlo errors of both samplers, and standard deviations within a tenth."""
    draws = sample.draws
    u = draws.effects[0][:, :8, 0]
    for name, values in {"cut": draws.thresholds, "b": draws.coefficients, "sd": sds_of(draws), "u": u}.items():
        own = values.std(0) / np.sqrt(sample.diagnose(values).bulk)
        error = np.hypot(own, expected[name]["mcse"])
        assert (np.abs(values.mean(0) - expected[name]["mean"]) < 4 * error).all(), name
        assert values.std(0) == pytest.approx(np.array(expected[name]["sd"]), rel=0.12)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "categories"), [("three", 3), ("two", 2)])
def test_means_are_those_of_numpyro(name: str, categories: int) -> None:
    design = simulate_design(raters=30, items=40, categories=categories, seed=5)
    sample = sample_posterior(design, priors=nuts_priors(design), chains=2, iterations=400, seed=0)
    assert_equal_means(sample, NUTS[name])


@pytest.mark.slow
def test_means_on_dices_are_those_of_numpyro(dices_104: Ratings) -> None:
    """The first 60 items with all raters."""
    design = keep_items(build_design(dices_104, parse_formula(DICES)).design, 60)
    sample = sample_posterior(design, priors=nuts_priors(design), chains=2, iterations=300, seed=0)
    assert_equal_means(sample, NUTS["dices"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"categories": 5, "slopes": True}, {"group_by_item": "full"}, {"group_by_item": "identity"}]
)
def test_means_are_near_the_maximum_of_the_likelihood(options: dict[str, Any]) -> None:
    design = simulate_design(raters=30, items=50, seed=2, **options)
    fit, posterior = fit_ordinal(design), sample_ordinal(design, chains=2, iterations=200, seed=0)
    assert (np.abs(posterior.thresholds - fit.thresholds) < fit.threshold_errors / 2).all()
    assert (np.abs(posterior.coefficients - fit.coefficients) < fit.coefficient_errors / 2).all()
    for own, other in zip(posterior.random, fit.random, strict=True):
        assert own.sds == pytest.approx(other.sds, abs=0.12)
        assert own.modes == pytest.approx(other.modes, abs=0.5)
    assert posterior.log_likelihood == pytest.approx(fit.log_likelihood, abs=3)
    assert posterior.covariance.shape == fit.covariance.shape


@pytest.mark.parametrize("turn", [0, 1], ids=["outer", "inner"])
def test_the_metropolis_step_draws_effects_given_all_others(turn: int) -> None:
    """Few ratings and a wide prior make its normal proposals bad, so that acceptance has to correct them."""
    rng = np.random.default_rng(7)
    raters, items = np.repeat(np.arange(8), 9), np.tile(np.arange(9), 8)
    design = ModelDesign(
        answers=rng.choice(3, size=72, p=[0.8, 0.15, 0.05]),
        n_categories=3,
        fixed=Covariates(values=np.zeros((1, 0)), row=np.zeros(72, np.int32)),
        random=tuple(
            RandomTerm(name=name, groups=groups, n_groups=groups.max() + 1)
            for name, groups in (("rater", raters), ("item", items))
        ),
    )
    sampler = _Sampler(design, ModelPriors.flat(design))
    state = sampler._start(rng)
    state.thresholds, state.factors = np.array([-0.3, 0.8]), [np.array([[3.0]]), np.array([[3.0]])]
    j = (*sampler.layout.outer, *sampler.layout.inner)[turn]
    draws = []
    for _ in range(4000):
        sampler._draw_groups(state, turn, rng)
        draws.append(list(sampler._split(state))[j][:, 0].copy())
    others = list(sampler._split(state))[1 - j][design.random[1 - j].groups, 0]
    ends = np.array([-np.inf, *state.thresholds, np.inf])
    grid = np.linspace(-20, 20, 4001)
    ranks = []
    for group in range(design.random[j].n_groups):
        mine = design.random[j].groups == group
        predictors = grid[:, None] + others[mine]
        lower, upper = ends[design.answers[mine]], ends[design.answers[mine] + 1]
        density = np.exp(-(grid**2) / 18) * (ndtr(upper - predictors) - ndtr(lower - predictors)).prod(axis=1)
        ranks.append(np.interp(np.array(draws[200::10])[:, group], grid, density.cumsum() / density.sum()))
    assert kstest(np.concatenate(ranks), "uniform").pvalue > 0.001


def test_draws_depend_on_the_seed_alone() -> None:
    design = simulate_design()
    first, second, other = (sample_posterior(design, chains=2, iterations=20, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.draws.thresholds, second.draws.thresholds)
    assert not np.array_equal(first.draws.thresholds, other.draws.thresholds)
    thinned = first.draw(10, np.random.default_rng(0))
    assert len(thinned.thresholds) == 10
    assert thinned.importance.is_exact
    assert first.draw(100, np.random.default_rng(0)) is first.draws


def test_narrow_priors_hold_the_parameters() -> None:
    design = simulate_design(categories=4)
    narrow = ModelPriors(
        thresholds=tuple(Prior(family="normal", location=x, scale=1e-3) for x in (-1.0, 0.0, 1.5)),
        coefficients=(Prior(family="normal", location=0.7, scale=1e-3), Prior(family="normal", scale=1e-3)),
        sds=((Prior(family="normal", location=0.4, scale=1e-3),), (None,)),
    )
    draws = sample_posterior(design, priors=narrow, chains=2, iterations=400, seed=0).draws
    centre = design.fixed.values[design.fixed.row].mean(0) @ [0.7, 0.0]
    assert draws.thresholds[-1] - centre == pytest.approx([-1.0, 0.0, 1.5], abs=0.01)
    assert draws.coefficients[-1] == pytest.approx([0.7, 0.0], abs=0.01)
    assert sds_of(draws)[-1, 0] == pytest.approx(0.4, abs=0.01)


@pytest.mark.slow
def test_separated_answers_have_finite_coefficients_under_a_prior() -> None:
    design = simulate_design(categories=2)
    x = design.fixed.values[design.fixed.row][:, :1]
    separated = ModelDesign(
        answers=np.where(x[:, 0] > 0, 1, design.answers),
        n_categories=2,
        fixed=Covariates.from_matrix(x),
        random=design.random,
    )
    priors = ModelPriors(
        thresholds=(None,), coefficients=(Prior(family="student_t", degrees=3),), sds=((None,), (None,))
    )
    assert 1 < fit_ordinal(separated, priors=priors).coefficients[0] < 10
    assert 1 < sample_ordinal(separated, priors=priors, chains=2, iterations=400, seed=0).coefficients[0] < 20


def test_what_the_sampler_cannot_do_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no widths"):
        sample_posterior(simulate_design(width=True), seed=0)
    with pytest.raises(InvalidInput, match="no logit link: its steps need normal errors"):
        sample_ordinal(simulate_design(), link="logit", seed=0)
    with pytest.raises(InvalidInput, match="chains is 1"):
        sample_posterior(simulate_design(), chains=1, seed=0)
    with pytest.raises(InvalidInput, match="iterations is 3"):
        sample_posterior(simulate_design(), iterations=3, seed=0)
    with pytest.raises(InvalidInput, match=r"draws of 27 random effects do not fit into memory"):
        sample_posterior(simulate_design(), iterations=10**7, seed=0)
    design = simulate_design()
    few = RandomTerm(name="phase", groups=np.arange(len(design.answers)) % 2, n_groups=2)
    two = ModelDesign(answers=design.answers, n_categories=3, fixed=design.fixed, random=(*design.random, few))
    with pytest.raises(InvalidInput, match=r"phase has 2 groups.* Leave effects out, or give the standard deviation"):
        sample_posterior(two, seed=0)
    one = replace(two, random=(*design.random, replace(few, groups=np.zeros_like(few.groups), n_groups=1)))
    priors = replace(ModelPriors.flat(one), sds=((None,), (None,), (Prior(family="normal", scale=1.0),)))
    with pytest.raises(InvalidInput, match=r"phase has 1 group,.* at least 2 .*Leave effects out\.$"):
        sample_posterior(one, priors=priors, seed=0)


def test_normal_quantiles_are_those_of_scipy() -> None:
    for p in [0.5, 0.3, 0.075, 0.01, 1e-5, 1e-11, 1e-50, 1e-299]:
        assert _lower_quantile(p) == pytest.approx(ndtri(p), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize(
    ("a", "b"), [(-np.inf, np.inf), (-1.0, 0.5), (2.0, np.inf), (-np.inf, -3.0), (7.0, 7.1), (-9.0, -8.9), (-1.0, 9.0)]
)
def test_truncated_draws_have_the_normal_distribution_between_the_bounds(a: float, b: float) -> None:
    for share in (0.001, 0.3, 0.999):
        x = draw_truncated(a, b, share)
        assert a <= x <= b
        low, high, middle = ndtr(-np.array([a, b, x])) if a > 0 else ndtr(np.array([a, b, x]))
        # The share lies above the point, or below it after the mirror image.
        assert min(abs((middle - low) / (high - low) - y) for y in (share, 1 - share)) < 1e-9


def test_truncated_draws_stay_finite_beyond_the_range_of_probabilities() -> None:
    for share in (1e-9, 0.5, 1 - 1e-12):
        assert 45 <= draw_truncated(45.0, np.inf, share) < 46
        assert -60.5 <= draw_truncated(-60.5, -60.0, share) <= -60


@pytest.mark.slow
def test_the_sampler_converges_from_dispersed_starts() -> None:
    design = simulate_design(raters=30, items=40, seed=5)
    sample = sample_posterior(design, chains=4, iterations=500, seed=0)
    convergence = diagnose_chains(sample.draws.thresholds.reshape(4, 500, 2))
    assert convergence.is_reached
    assert (convergence.bulk > 500).all()
