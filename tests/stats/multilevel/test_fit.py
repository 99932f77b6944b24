"""Fits of multilevel models: invariances, simulated truth, and undefined cases."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.oracles.multilevel import exact_log_likelihood
from tests.stats.multilevel.designs import simulate_design

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.multilevel.design import Covariates, ModelDesign, RandomTerm
from dissensus.stats.multilevel.fit import MaximumFit, OrdinalFit, fit_ordinal
from dissensus.stats.multilevel.quadrature import correct_by_quadrature


@pytest.fixture(scope="module")
def design() -> ModelDesign:
    return simulate_design(raters=30, items=60, seed=4)


@pytest.fixture(scope="module")
def fit(design: ModelDesign) -> MaximumFit:
    return fit_ordinal(design)


def summary(fit: OrdinalFit) -> list[float]:
    sds = [sd for term in fit.random for sd in term.sds]
    return [fit.log_likelihood, *fit.thresholds, *fit.coefficients, *fit.coefficient_errors, *sds]


def test_order_of_ratings_and_names_of_groups_do_not_matter(design: ModelDesign, fit: OrdinalFit) -> None:
    rng = np.random.default_rng(0)
    order = rng.permutation(len(design.answers))
    names = [rng.permutation(term.n_groups) for term in design.random]
    shuffled = ModelDesign(
        answers=design.answers[order],
        n_categories=3,
        fixed=replace(design.fixed, row=design.fixed.row[order]),
        random=tuple(
            replace(term, groups=name[term.groups][order]) for term, name in zip(design.random, names, strict=True)
        ),
    )
    other = fit_ordinal(shuffled)
    assert summary(other) == pytest.approx(summary(fit), abs=2e-5)
    for term, renamed, name in zip(fit.random, other.random, names, strict=True):
        assert renamed.modes[name] == pytest.approx(term.modes, abs=2e-5)


def test_reversed_answers_reverse_all_signs(design: ModelDesign, fit: OrdinalFit) -> None:
    other = fit_ordinal(replace(design, answers=2 - design.answers))
    assert other.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-6)
    assert other.thresholds == pytest.approx(-fit.thresholds[::-1], abs=2e-5)
    assert other.coefficients == pytest.approx(-fit.coefficients, abs=2e-5)


def test_scaled_covariates_scale_coefficients_and_errors(design: ModelDesign, fit: OrdinalFit) -> None:
    other = fit_ordinal(replace(design, fixed=replace(design.fixed, values=10 * design.fixed.values)))
    assert other.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-6)
    assert 10 * other.coefficients == pytest.approx(fit.coefficients, abs=2e-5)
    assert 10 * other.coefficient_errors == pytest.approx(fit.coefficient_errors, rel=1e-3)


def test_the_gradient_is_zero_and_fewer_coefficients_fit_less_well(design: ModelDesign, fit: MaximumFit) -> None:
    approximation = fit.approximation
    gradient = approximation.likelihood.gradient(approximation.parameters, approximation.mode)
    assert gradient == pytest.approx(np.zeros(fit.n_parameters), abs=0.01)
    smaller = fit_ordinal(replace(design, fixed=Covariates(values=np.zeros((1, 0)), row=0 * design.fixed.row)))
    assert smaller.log_likelihood < fit.log_likelihood
    assert smaller.n_parameters == fit.n_parameters - 2


def test_items_with_three_ratings_need_quadrature() -> None:
    rng = np.random.default_rng(5)
    item, rater = np.repeat(np.arange(1500), 3), rng.integers(0, 100, 4500)
    latent = rng.normal(0, 0.6, 100)[rater] + rng.normal(0, 1.2, 1500)[item] + rng.normal(size=4500)
    design = ModelDesign(
        answers=np.digitize(latent, [0.0, 0.7]),
        n_categories=3,
        fixed=Covariates(values=np.zeros((1, 0)), row=np.zeros(4500, np.int32)),
        random=(
            RandomTerm(name="rater", groups=rater, n_groups=100),
            RandomTerm(name="item", groups=item, n_groups=1500),
        ),
    )
    low, fit = (fit_ordinal(design, integration=integration) for integration in ("laplace", "auto"))
    assert fit.integration == "quadrature"
    assert low.random[1].sds[0] + 0.02 < fit.random[1].sds[0] == pytest.approx(1.2, abs=0.1)
    assert fit.log_likelihood > low.log_likelihood + 5


def test_widths_of_raters_are_estimated() -> None:
    rng = np.random.default_rng(2)
    item, rater = np.repeat(np.arange(80), 40), np.tile(np.arange(40), 80)
    log_width = rng.normal(0, 0.8, 40)
    latent = rng.normal(0, 0.6, 40)[rater] + rng.normal(0, 0.7, 80)[item] + rng.normal(size=3200)
    edges = 0.5 * np.exp(log_width)[rater]
    answers = (latent > -edges).astype(int) + (latent > edges)
    terms = [
        RandomTerm(name="rater", groups=rater, n_groups=40, width=True),
        RandomTerm(name="item", groups=item, n_groups=80),
    ]
    empty = Covariates(values=np.zeros((1, 0)), row=np.zeros(3200, np.int32))
    fit = fit_ordinal(ModelDesign(answers=answers, n_categories=3, fixed=empty, random=tuple(terms)))
    plain = fit_ordinal(
        ModelDesign(answers=answers, n_categories=3, fixed=empty, random=(replace(terms[0], width=False), terms[1]))
    )
    assert fit.log_likelihood > plain.log_likelihood + 100
    assert fit.random[0].sds == pytest.approx([0.6, 0.8], abs=0.2)
    assert np.corrcoef(fit.random[0].modes[:, 1], log_width)[0, 1] > 0.9
    assert fit.random[0].covariance[0, 1] == pytest.approx(0, abs=0.15)


def test_a_group_with_one_answer_only_has_no_finite_coefficient() -> None:
    design = simulate_design(raters=20, items=20)
    woman = (design.random[0].groups < 6).astype(float)
    answers = np.where(woman == 1, 2, design.answers)
    with pytest.raises(UndefinedEstimate, match="grows without bound"):
        fit_ordinal(replace(design, answers=answers, fixed=Covariates.from_matrix(woman[:, None])))


def test_effects_without_variance_vanish() -> None:
    rng = np.random.default_rng(1)
    item, rater = np.repeat(np.arange(50), 20), np.tile(np.arange(20), 50)
    design = ModelDesign(
        # Raters agree more than chance allows: each gives every answer equally often.
        answers=np.concatenate([rng.permutation(np.arange(20) % 2) for _ in range(50)]),
        n_categories=2,
        fixed=Covariates(values=np.zeros((1, 0)), row=np.zeros(1000, np.int32)),
        random=(
            RandomTerm(name="rater", groups=rater, n_groups=20),
            RandomTerm(name="item", groups=item, n_groups=50),
        ),
    )
    fit = fit_ordinal(design)
    assert fit.random[1].has_vanished
    assert fit.random[1].sds[0] < 1e-3
    assert fit.thresholds[0] == pytest.approx(0, abs=0.1)
    assert np.isfinite(fit.threshold_errors).all()


@pytest.fixture
def pairs_of_ratings() -> ModelDesign:
    """Items with two ratings, of which the search with Laplace's approximation ends at equal raters."""
    rng = np.random.default_rng(6)
    item = np.repeat(np.arange(500), 2)
    rater = np.concatenate([rng.choice(30, 2, replace=False) for _ in range(500)])
    latent = rng.normal(0, 3, 500)[item] + rng.normal(0, 0.4, 30)[rater] + rng.normal(size=1000)
    return ModelDesign(
        answers=(latent > 0).astype(int),
        n_categories=2,
        fixed=Covariates.from_matrix((rater % 2).astype(float)[:, None]),
        random=(
            RandomTerm(name="rater", groups=rater, n_groups=30),
            RandomTerm(name="item", groups=item, n_groups=500),
        ),
    )


def test_effects_vanish_only_if_the_likelihood_by_quadrature_says_so(pairs_of_ratings: ModelDesign) -> None:
    fit = fit_ordinal(pairs_of_ratings)
    assert fit.integration == "quadrature"
    assert not fit.random[0].has_vanished
    assert fit.random[0].sds[0] == pytest.approx(0.429, abs=0.005)
    assert fit.log_likelihood == pytest.approx(-538.168, abs=0.005)
    # Also standard errors are of this maximum.
    likelihood, centre = fit.approximation.likelihood, fit.approximation.parameters

    def gradient(parameters: np.ndarray) -> np.ndarray:
        mode = likelihood.mode(parameters)
        return likelihood.gradient(parameters, mode, correct_by_quadrature(likelihood, mode))

    steps = 1e-3 * np.eye(len(centre))
    hessian = np.array([(gradient(centre - step) - gradient(centre + step)) / 2e-3 for step in steps])
    errors = np.sqrt(np.diag(np.linalg.inv(hessian)))
    assert np.sqrt(np.diag(fit.covariance)) == pytest.approx(errors, rel=0.02)


def test_effects_that_vanish_by_quadrature_too_are_held(pairs_of_ratings: ModelDesign) -> None:
    """Raters answer at random, and each of their answers equally often."""
    rng = np.random.default_rng(0)
    answers = np.empty(1000, int)
    for rater in range(30):
        rows = np.flatnonzero(pairs_of_ratings.random[0].groups == rater)
        answers[rows] = rng.permutation(np.arange(len(rows)) % 2)
    fit = fit_ordinal(replace(pairs_of_ratings, answers=answers))
    assert fit.integration == "quadrature"
    assert fit.random[0].has_vanished
    assert np.isfinite(fit.coefficient_errors).all()


def test_slopes_that_follow_the_intercept_are_singular_but_have_a_fit() -> None:
    rng = np.random.default_rng(7)
    item, rater = np.repeat(np.arange(40), 30), np.tile(np.arange(30), 40)
    kind = (np.arange(40) % 3)[item]
    effect = rng.normal(0, 0.8, 30)[rater]
    latent = effect * (1 + 0.6 * (kind == 1)) + rng.normal(0, 0.7, 40)[item] + rng.normal(size=1200)
    covariates = Covariates.from_matrix(np.column_stack([np.ones(1200), kind == 1, kind == 2]).astype(float))
    design = ModelDesign(
        answers=np.digitize(latent, [-0.4, 0.4]),
        n_categories=3,
        fixed=Covariates.from_matrix(np.column_stack([kind == 1, kind == 2]).astype(float)),
        random=(
            RandomTerm(name="rater", groups=rater, n_groups=30, covariates=covariates),
            RandomTerm(name="item", groups=item, n_groups=40),
        ),
    )
    fit = fit_ordinal(design)
    assert fit.random[0].is_singular
    assert fit.random[0].correlations[0, 1] > 0.8
    assert np.isfinite(fit.coefficient_errors).all()
    assert fit.random[0].sds[:2] == pytest.approx([0.8, 0.48], abs=0.25)


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"n_categories": 1}, "at least two"),
    ({"n_categories": 128}, "128 categories of answers; a model takes at most 127"),
    ({"random": ()}, "no random effects"),
    ({"answers": np.zeros(0, int)}, "no ratings"),
    ({"n_categories": 4}, "No rating has the answer number 3"),
    ({"n_categories": 2}, "values from 0 to 2; numbers from 0 to 1"),
]


@pytest.mark.parametrize(("change", "message"), REFUSALS)
def test_impossible_designs_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        replace(simulate_design(), **change)


def test_groups_must_fit_the_ratings() -> None:
    design = simulate_design()
    short = replace(design.random[0], groups=design.random[0].groups[:-1])
    with pytest.raises(InvalidInput, match="groups of rater have shape"):
        replace(design, random=(short, design.random[1]))


def test_options_outside_the_list_are_refused(design: ModelDesign) -> None:
    with pytest.raises(InvalidInput, match="'probit' and 'logit' are allowed"):
        fit_ordinal(design, link="cloglog")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="'laplace' and 'quadrature' are allowed"):
        fit_ordinal(design, integration="mcmc")  # type: ignore[arg-type]
    grouped = simulate_design(group_by_item="full")
    with pytest.raises(InvalidInput, match="quadrature needs a single one"):
        fit_ordinal(grouped, integration="quadrature")


def test_widths_need_three_categories() -> None:
    with pytest.raises(InvalidInput, match="no width"):
        simulate_design(categories=2, width=True)


def test_draws_have_the_moments_of_the_fit(fit: OrdinalFit) -> None:
    draws = fit.approximation.draw(2000, np.random.default_rng(0))
    weights = draws.importance.weights
    assert draws.importance.is_reliable
    assert draws.importance.effective_draws > 200
    mean = weights @ draws.coefficients
    assert mean == pytest.approx(fit.coefficients, abs=0.5 * fit.coefficient_errors.max())
    spread = np.sqrt(weights @ (draws.coefficients - mean) ** 2)
    assert spread == pytest.approx(fit.coefficient_errors, rel=0.25)
    for term, drawn in zip(fit.random, draws.effects, strict=True):
        assert np.corrcoef(np.tensordot(weights, drawn, axes=1)[:, 0], term.modes[:, 0])[0, 1] > 0.99


@pytest.mark.slow
def test_draws_of_a_model_with_few_ratings_are_weighted_towards_the_exact_distribution() -> None:
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(30), 6)
    answers = (rng.normal(0, 0.9, 30)[groups] + rng.normal(size=180) > 0).astype(int)
    design = ModelDesign(
        answers=answers,
        n_categories=2,
        fixed=Covariates(values=np.zeros((1, 0)), row=np.zeros(180, np.int32)),
        random=(RandomTerm(name="item", groups=groups, n_groups=30),),
    )
    approximation = fit_ordinal(design).approximation
    sets = [approximation.draw(4000, np.random.default_rng(seed)) for seed in range(4)]
    # The exact distribution under a flat prior of threshold and log sd, on a grid.
    thresholds, log_sds = np.linspace(-1, 1, 13), np.linspace(-1.4, 1.1, 14)
    values = np.array([[exact_log_likelihood(design, np.array([t, s]), "probit") for s in log_sds] for t in thresholds])
    density = np.exp(values - values.max())
    density /= density.sum()
    # The shape of the tail is close to the limit of .7, so that one set of draws may be refused.
    assert sum(draws.importance.is_reliable for draws in sets) >= 2
    log_sd = [draws.importance.weights @ np.log(draws.factors[0][:, 0, 0]) for draws in sets]
    threshold = [draws.importance.weights @ draws.thresholds[:, 0] for draws in sets]
    assert np.mean(log_sd) == pytest.approx(float(density.sum(0) @ log_sds), abs=0.03)
    assert np.mean(threshold) == pytest.approx(float(density.sum(1) @ thresholds), abs=0.03)
