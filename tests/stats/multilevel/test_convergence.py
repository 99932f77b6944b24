"""Convergence of chains: against ArviZ, and in limiting cases."""

import numpy as np
import pytest

from dissensus.errors import InvalidInput
from dissensus.stats.multilevel.convergence import ChainConvergence, diagnose_chains


def simulate_chains() -> np.ndarray:
    """Four chains: skewed and independent, autocorrelated, one chain apart, and autocorrelated with ties."""
    rng = np.random.default_rng(4)
    noise = rng.normal(size=(4, 501, 3))
    x = np.zeros_like(noise)
    for t in range(501):
        x[:, t] = (x[:, t - 1] if t else 0) * np.array([0.0, 0.9, 0.5]) + noise[:, t]
    x[0, :, 2] += 1.0
    x[:, :, 0] = np.exp(2 * x[:, :, 0])
    return np.concatenate([x, np.round(x[:, :, 1:2])], axis=2)


def test_values_are_those_of_arviz() -> None:
    """`rhat`, bulk and tail `ess` of arviz_stats 0.8.0."""
    convergence = diagnose_chains(simulate_chains())
    assert convergence.r_hat == pytest.approx([0.999963, 1.036653, 1.070079, 1.036528], abs=1e-6)
    assert convergence.bulk == pytest.approx([2019.311241, 108.561818, 56.070285, 108.572625], abs=1e-4)
    assert convergence.tail == pytest.approx([2028.825025, 211.306426, 387.198801, 211.608188], abs=1e-4)


def test_increasing_transformations_leave_r_hat_and_bulk_draws() -> None:
    chains = simulate_chains()[:, :, 1:3]
    plain, transformed = diagnose_chains(chains), diagnose_chains(np.exp(chains))
    assert transformed.bulk == pytest.approx(plain.bulk)
    assert transformed.tail == pytest.approx(plain.tail, rel=1e-6)


def test_chains_that_agree_have_converged_and_others_have_not() -> None:
    rng = np.random.default_rng(1)
    chains = rng.normal(size=(4, 1000, 2))
    assert diagnose_chains(chains).is_reached
    wide = chains * np.array([1, 1, 1, 3.0])[:, None, None]
    assert (diagnose_chains(wide).r_hat > 1.05).all()
    assert not diagnose_chains(wide).is_reached
    assert not diagnose_chains(chains + np.linspace(0, 2, 1000)[None, :, None]).is_reached


@pytest.mark.parametrize(
    ("r_hat", "bulk", "tail", "is_reached"),
    [(1.01, 400, 400, True), (1.0101, 400, 400, False), (1.01, 399, 400, False), (1.01, 400, 399, False)],
)
def test_convergence_needs_100_effective_draws_of_each_chain(
    r_hat: float, bulk: float, tail: float, is_reached: bool
) -> None:
    """The second of both quantities never changes, and does not count."""
    numbers = (np.array([number, np.nan]) for number in (r_hat, bulk, tail))
    convergence = ChainConvergence(**dict(zip(("r_hat", "bulk", "tail"), numbers, strict=True)), n_chains=4)
    assert convergence.is_reached == is_reached


def test_a_quantity_that_never_changes_has_no_diagnosis() -> None:
    convergence = diagnose_chains(np.ones((2, 10, 1)))
    assert np.isnan([convergence.r_hat[0], convergence.bulk[0], convergence.tail[0]]).all()


def test_draws_of_other_shapes_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 8 iterations"):
        diagnose_chains(np.zeros((2, 7, 1)))
    with pytest.raises(InvalidInput, match=r"shape \(2, 10\)"):
        diagnose_chains(np.zeros((2, 10)))
    with pytest.raises(InvalidInput, match="finite numbers"):
        diagnose_chains(np.full((2, 10, 1), np.nan))


def test_chains_that_stay_at_two_values_have_not_converged() -> None:
    convergence = diagnose_chains(np.repeat([0.0, 1.0], 100).reshape(2, 100, 1))
    assert convergence.r_hat > 1e3
    assert not convergence.is_reached
