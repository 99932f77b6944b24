"""Draws of a fitted model."""

from dataclasses import replace

import numpy as np
import pytest
from tests.stats.multilevel.designs import simulate_design

from dissensus.stats.multilevel import posterior
from dissensus.stats.multilevel.fit import fit_ordinal


@pytest.mark.parametrize("most_renewed", [0, posterior.MOST_RENEWED])
def test_draws_of_a_rare_middle_answer_keep_the_order_of_thresholds(
    most_renewed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The normal approximation of thresholds that lie close together reaches across."""
    monkeypatch.setattr(posterior, "MOST_RENEWED", most_renewed)  # 0: as with many ratings, draws are linear
    design = simulate_design(raters=12, items=15)
    answers = design.answers.copy()
    answers[np.flatnonzero(answers == 1)[1:]] = 0
    approximation = fit_ordinal(replace(design, answers=answers)).approximation
    draws = approximation.draw(400, np.random.default_rng(1))
    assert (np.diff(draws.thresholds) > 0).all()
    at_estimates = (draws.thresholds == approximation.parameters[:2]).all(1)
    assert 10 < at_estimates.sum() < 200
    assert (draws.importance.weights[at_estimates] == 0).all()


def test_draws_do_not_depend_on_the_signs_of_eigenvectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries of linear algebra choose them, and choose differently on other processors."""
    approximation = fit_ordinal(simulate_design()).approximation
    first = approximation.draw(40, np.random.default_rng(1))
    eigh = np.linalg.eigh

    def flip(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = eigh(matrix)
        return values, vectors * np.where(np.arange(len(values)) % 2, 1, -1)

    monkeypatch.setattr(np.linalg, "eigh", flip)
    second = approximation.draw(40, np.random.default_rng(1))
    np.testing.assert_allclose(second.thresholds, first.thresholds, atol=1e-10)
    np.testing.assert_allclose(second.effects[1], first.effects[1], atol=1e-10)
