"""Laplace approximation: against a plain oracle, and its gradient against differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.oracles.multilevel import exact_log_likelihood, laplace_log_likelihood, log_joint
from tests.stats.multilevel.designs import parameters_of, simulate_design

from dissensus.errors import InvalidInput
from dissensus.stats.multilevel import complement, laplace
from dissensus.stats.multilevel.design import Covariates, ModelDesign, ModelLayout, RandomTerm
from dissensus.stats.multilevel.fit import LINKS
from dissensus.stats.multilevel.importance import certify_laplace
from dissensus.stats.multilevel.laplace import LaplaceLikelihood
from dissensus.stats.multilevel.quadrature import correct_by_quadrature

DESIGNS: dict[str, dict[str, Any]] = {
    "crossed": {},
    "binary": {"categories": 2},
    "five categories": {"categories": 5},
    "slopes": {"slopes": True},
    "group effects by item": {"group_by_item": "full"},
    "independent group effects by item": {"group_by_item": "identity"},
    "third factor": {"locale": True, "slopes": True},
    "widths": {"width": True},
    "widths of five categories": {"width": True, "categories": 5, "slopes": True, "group_by_item": "identity"},
}


def differences(parameters: np.ndarray, function: Callable[[np.ndarray], float]) -> list[float]:
    changes = 1e-4 * np.eye(len(parameters))
    return [(function(parameters + change) - function(parameters - change)) / 2e-4 for change in changes]


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("name", DESIGNS)
def test_gradient_agrees_with_differences(name: str, link: str) -> None:
    likelihood = LaplaceLikelihood(simulate_design(**DESIGNS[name]), LINKS[link])
    parameters = parameters_of(likelihood)
    gradient = likelihood.gradient(parameters, likelihood.mode(parameters))
    assert gradient == pytest.approx(differences(parameters, lambda x: likelihood.mode(x).log_likelihood), abs=2e-4)


@pytest.mark.parametrize("name", ["crossed", "slopes", "third factor", "widths", "widths of five categories"])
def test_gradient_without_a_matrix_agrees_with_differences(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace, "MOST_DENSE", 0)
    likelihood = LaplaceLikelihood(simulate_design(**DESIGNS[name]), LINKS["probit"])
    parameters = parameters_of(likelihood)
    gradient = likelihood.gradient(parameters, likelihood.mode(parameters))
    assert gradient == pytest.approx(differences(parameters, lambda x: likelihood.mode(x).log_likelihood), abs=2e-4)


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("name", ["crossed", "binary", "third factor", "widths"])
def test_gradient_by_quadrature_agrees_with_differences(name: str, link: str) -> None:
    likelihood = LaplaceLikelihood(simulate_design(share=0.3, **DESIGNS[name]), LINKS[link])
    parameters = parameters_of(likelihood)

    def value(x: np.ndarray) -> float:
        mode = likelihood.mode(x)
        return mode.log_likelihood + correct_by_quadrature(likelihood, mode).value

    mode = likelihood.mode(parameters)
    gradient = likelihood.gradient(parameters, mode, correct_by_quadrature(likelihood, mode))
    assert gradient == pytest.approx(differences(parameters, value), abs=2e-4)
    assert np.abs(gradient - likelihood.gradient(parameters, mode)).max() > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_value_agrees_with_oracle(name: str) -> None:
    design = simulate_design(**{"raters": 4, "items": 5, "share": 1.0, **DESIGNS[name]})
    likelihood = LaplaceLikelihood(design, LINKS["probit"])
    parameters = parameters_of(likelihood)
    expected = laplace_log_likelihood(design, parameters, "probit")
    assert likelihood.mode(parameters).log_likelihood == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ["slopes", "widths"])
def test_dense_and_sparse_products_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for factor in (0, 1e9):
        monkeypatch.setattr(complement, "SPARSE_FACTOR", factor)
        likelihood = LaplaceLikelihood(simulate_design(share=0.4, **DESIGNS[name]), LINKS["probit"])
        parameters = parameters_of(likelihood)
        mode = likelihood.mode(parameters)
        results.append([mode.log_likelihood, *likelihood.gradient(parameters, mode)])
    assert results[0] == pytest.approx(results[1], abs=1e-8)


def test_sum_of_the_effects_of_two_factors_does_not_depend_on_which_is_eliminated() -> None:
    design = simulate_design(raters=14, items=14, share=1.0)
    rater, item = design.random
    swapped = ModelDesign(answers=design.answers, n_categories=3, fixed=design.fixed, random=(item, rater))
    first, second = LaplaceLikelihood(design, 0), LaplaceLikelihood(swapped, 0)
    assert first.layout.inner == second.layout.inner == (0,)
    parameters = parameters_of(first)
    exchanged = parameters[[0, 1, 2, 3, 5, 4]]
    values = [likelihood.mode(x).log_likelihood for likelihood, x in ((first, parameters), (second, exchanged))]
    assert values[0] == pytest.approx(values[1], abs=1e-9)


def single_factor(ratings: int, *, seed: int = 0) -> ModelDesign:
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(12), ratings)
    answers = np.digitize(rng.normal(0, 1.2, 12)[groups] + rng.normal(size=len(groups)), [-0.4, 0.9])
    term = RandomTerm(name="item", groups=groups, n_groups=12)
    fixed = Covariates.from_matrix(rng.integers(0, 2, (len(groups), 1)).astype(float))
    return ModelDesign(answers=answers, n_categories=3, fixed=fixed, random=(term,))


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("ratings", [1, 3, 8])
def test_quadrature_gives_the_exact_likelihood_of_one_factor(ratings: int, link: str) -> None:
    design = single_factor(ratings)
    parameters = np.array([-0.4, 0.9, 0.3, 0.1])
    likelihood = LaplaceLikelihood(design, LINKS[link])
    mode = likelihood.mode(parameters)
    exact = exact_log_likelihood(design, parameters, link)
    assert mode.log_likelihood + correct_by_quadrature(likelihood, mode, nodes=25).value == pytest.approx(
        exact, abs=1e-6
    )
    assert mode.log_likelihood + correct_by_quadrature(likelihood, mode).value == pytest.approx(exact, abs=2e-3)
    assert abs(mode.log_likelihood - exact) > 1e-3


def test_certificate_estimates_the_exact_likelihood() -> None:
    design = single_factor(3)
    parameters = np.array([-0.4, 0.9, 0.3, 0.1])
    likelihood = LaplaceLikelihood(design, LINKS["probit"])
    mode = likelihood.mode(parameters)
    certificate = certify_laplace(likelihood, mode, n_draws=4000, rng=np.random.default_rng(3))
    exact = exact_log_likelihood(design, parameters, "probit")
    assert certificate.importance.is_reliable
    assert certificate.correction_error < 0.02
    assert mode.log_likelihood + certificate.correction == pytest.approx(exact, abs=4 * certificate.correction_error)


def test_mode_has_the_joint_density_of_the_oracle() -> None:
    design = simulate_design(raters=4, items=5, share=1.0, slopes=True)
    likelihood = LaplaceLikelihood(design, LINKS["logit"])
    parameters = parameters_of(likelihood)
    mode = likelihood.mode(parameters)
    effects = np.concatenate([part.ravel() for part in likelihood.effects(mode.u, mode.v)])
    constant = 0.5 * len(effects) * np.log(2 * np.pi)
    assert mode.log_joint == pytest.approx(log_joint(design, parameters, effects, "logit") + constant, abs=1e-9)
    for change in 0.01 * np.eye(len(effects)):
        assert log_joint(design, parameters, effects + change, "logit") + constant < mode.log_joint


def test_ratings_far_in_the_tails_keep_the_likelihood_finite() -> None:
    likelihood = LaplaceLikelihood(simulate_design(), LINKS["probit"])
    parameters = parameters_of(likelihood)
    parameters[:2] += 30
    mode = likelihood.mode(parameters)
    assert np.isfinite(mode.log_likelihood)
    assert np.isfinite(likelihood.gradient(parameters, mode)).all()


def test_widths_are_never_eliminated() -> None:
    design = simulate_design(raters=20, items=5, width=True)
    assert ModelLayout.from_design(design).inner == (1,)
    rater = design.random[0]
    with pytest.raises(InvalidInput, match="add those of another"):
        ModelLayout.from_design(
            ModelDesign(answers=design.answers, n_categories=3, fixed=design.fixed, random=(rater,))
        )
