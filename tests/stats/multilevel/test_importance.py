"""Pareto-smoothed importance sampling: known tails, known means."""

import numpy as np
import pytest

from dissensus.errors import InvalidInput
from dissensus.stats.multilevel.importance import ImportanceWeights, smooth_weights


@pytest.mark.parametrize("shape", [0.3, 0.6, 0.9])
def test_shape_of_a_pareto_tail_is_found(shape: float) -> None:
    # Weights with density that falls as w^(-1 / shape - 1).
    weights = np.random.default_rng(1).random(100_000) ** -shape
    result = smooth_weights(np.log(weights))
    standard_error = (1 + shape) / np.sqrt(3 * np.sqrt(len(weights)))
    assert result.pareto_k == pytest.approx(shape, abs=3 * standard_error)
    assert result.is_reliable == (shape < 0.7)


def test_equal_weights_are_worth_every_draw() -> None:
    result = smooth_weights(np.full(400, -3.0))
    assert result.effective_draws == pytest.approx(400)
    assert result.log_mean == pytest.approx(-3.0)
    assert result.is_reliable


@pytest.mark.parametrize("lowest", [-1500, -770, -740, -400])
def test_weights_of_which_one_counts_are_not_reliable(lowest: float) -> None:
    """Also where the others are subnormal numbers or zero."""
    result = smooth_weights(np.append(np.linspace(lowest, lowest + 60, 399), 0.0))
    assert result.pareto_k > 1
    assert not result.is_reliable


@pytest.mark.parametrize(("n", "limit"), [(100, 0.5), (10**6, 0.7)])
def test_the_limit_of_the_shape_depends_on_the_number_of_draws(n: int, limit: float) -> None:
    at, beyond = (
        ImportanceWeights(weights=np.full(n, 1 / n), pareto_k=limit + excess, log_mean=0.0) for excess in (0, 1e-9)
    )
    assert at.is_reliable
    assert not beyond.is_reliable


def test_smoothed_mean_estimates_a_normalizing_constant() -> None:
    draws = np.random.default_rng(2).standard_normal(20_000) * 1.2
    log_ratios = -0.5 * draws**2 + 0.5 * (draws / 1.2) ** 2
    result = smooth_weights(log_ratios)
    assert result.log_mean == pytest.approx(np.log(1 / 1.2), abs=0.02)
    assert result.weights @ draws**2 == pytest.approx(1.0, abs=0.05)
    assert result.weights.sum() == pytest.approx(1.0)


def test_too_few_draws_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 25"):
        smooth_weights(np.zeros(10))


def test_a_single_draw_from_the_target_is_reliable() -> None:
    assert ImportanceWeights.equal(1).is_reliable
