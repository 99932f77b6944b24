"""Schur complement without a matrix: against the matrix."""

from typing import Any

import numpy as np
import pytest
from tests.stats.multilevel.designs import parameters_of, simulate_batches, simulate_design

from dissensus.stats.multilevel import laplace
from dissensus.stats.multilevel.complement import DenseComplement, IterativeComplement
from dissensus.stats.multilevel.design import ModelDesign
from dissensus.stats.multilevel.fit import OrdinalFit, fit_ordinal
from dissensus.stats.multilevel.laplace import LaplaceLikelihood
from dissensus.stats.result import FloatArray

DESIGNS: dict[str, dict[str, Any]] = {
    "sparse": {"raters": 30, "items": 80, "share": 0.1},
    "complete": {"raters": 20, "items": 30, "share": 1.0},
    "widths, slopes and a third factor": {"raters": 40, "share": 0.3, "width": True, "slopes": True, "locale": True},
}


def complements(design: ModelDesign, monkeypatch: pytest.MonkeyPatch) -> tuple[DenseComplement, IterativeComplement]:
    dense = LaplaceLikelihood(design, 0)
    parameters = parameters_of(dense)
    exact = dense.mode(parameters).hessian.complement
    monkeypatch.setattr(laplace, "MOST_DENSE", 0)
    approximate = LaplaceLikelihood(design, 0).mode(parameters).hessian.complement
    assert isinstance(exact, DenseComplement)
    assert isinstance(approximate, IterativeComplement)
    return exact, approximate


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_solution_is_that_of_the_matrix(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    exact, approximate = complements(simulate_design(**DESIGNS[name]), monkeypatch)
    right = np.random.default_rng(1).normal(size=len(exact.root))
    assert approximate.solve(right) == pytest.approx(exact.solve(right), abs=1e-6)


@pytest.mark.parametrize("name", DESIGNS)
def test_noise_has_the_precision_of_the_matrix(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    exact, approximate = complements(simulate_design(**DESIGNS[name]), monkeypatch)
    noise = np.eye(len(exact.root))
    covariance = np.linalg.inv(exact.root @ exact.root.T)
    # A symmetric root of the complement with unit blocks makes the product with the transpose the exact inverse.
    drawn = np.array([approximate.transform_noise(row) for row in noise])
    assert drawn.T @ drawn == pytest.approx(covariance, abs=1e-6)


@pytest.mark.parametrize("name", DESIGNS)
def test_log_determinant_is_estimated_within_its_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    exact, approximate = complements(simulate_design(**DESIGNS[name]), monkeypatch)
    signs = np.random.default_rng(2).choice((-1.0, 1.0), (200, len(exact.root)))
    estimate, error = approximate.estimate_log_determinant(signs)
    assert abs(estimate - exact.log_determinant) < 4 * error + 1e-6
    assert error < 0.2


@pytest.mark.parametrize("name", DESIGNS)
def test_orthogonal_probes_give_the_posterior_variances(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    exact, approximate = complements(simulate_design(**DESIGNS[name]), monkeypatch)
    # Random signs have the identity as the mean of their products; these probes have it exactly.
    n_effects = len(exact.root)
    probes = np.sqrt(n_effects) * np.eye(n_effects)
    expected, without, result = (
        fill_results(complement) for complement in (exact, approximate, approximate.add_probes(probes))
    )
    for array, of_matrix in zip(result, expected, strict=True):
        assert array == pytest.approx(of_matrix, abs=1e-6)
    assert np.abs(without[1] - expected[1]).max() > 1e-4


def fill_results(complement: DenseComplement | IterativeComplement) -> tuple[FloatArray, ...]:
    n_columns = 3 if complement.layout.has_width else 1
    products = np.empty_like(complement.inner.cross)
    variances = np.empty((len(complement.layout.ratings.answers), n_columns))
    sums = complement.fill_products(products, variances)
    return products, variances, *sums


def fits(design: ModelDesign, monkeypatch: pytest.MonkeyPatch) -> tuple[OrdinalFit, OrdinalFit]:
    exact = fit_ordinal(design)
    monkeypatch.setattr(laplace, "MOST_DENSE", 0)
    return exact, fit_ordinal(design)


@pytest.mark.parametrize("name", ["random raters", "batches"])
def test_fit_agrees_with_that_of_the_matrix(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    design = simulate_batches(60) if name == "batches" else simulate_design(raters=80, items=500, share=0.06, seed=3)
    exact, approximate = fits(design, monkeypatch)
    assert exact.log_likelihood_error == 0 < approximate.log_likelihood_error
    assert abs(approximate.log_likelihood - exact.log_likelihood) < 4 * approximate.log_likelihood_error
    errors = np.concatenate([exact.threshold_errors, exact.coefficient_errors])
    difference = np.concatenate(
        [approximate.thresholds - exact.thresholds, approximate.coefficients - exact.coefficients]
    )
    assert np.abs(difference / errors).max() < 0.05
    for term, other in zip(exact.random, approximate.random, strict=True):
        assert np.abs(np.log(other.sds / term.sds) / term.sd_errors).max() < 0.1
        assert other.modes == pytest.approx(term.modes, abs=0.05 * term.sds[0])
    assert approximate.coefficient_errors == pytest.approx(exact.coefficient_errors, rel=0.02)
