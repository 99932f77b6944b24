"""Confidence sequences: their level at every look, an oracle, and refusals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dissensus.errors import InvalidInput
from dissensus.stats.planning.confidence_sequence import confidence_sequence, latest_interval, log_capital


def capital(values: list[float], mean: float, sign: int) -> float:
    """Return the capital of one bet, value by value."""
    wealth, total, squares, variance = 1.0, 0.5, 0.25, 0.25
    for t, x in enumerate(values, start=1):
        bet = math.sqrt(2 * math.log(2 / 0.05) / (variance * t * math.log(t + 1)))
        bet = min(bet, 0.5 / (mean if sign > 0 else 1 - mean))
        wealth *= 1 + sign * bet * (x - mean)
        total += x
        squares += (x - total / (t + 1)) ** 2
        variance = squares / (t + 1)
    return wealth


def test_capitals_are_those_of_one_bet_after_the_other() -> None:
    values = np.random.default_rng(2).beta(2, 4, 30)
    expected = max(capital(values.tolist(), 0.4, sign) for sign in (1, -1))
    assert np.exp(log_capital(values, np.array([0.4]), 0.95)[-1, 0]) == pytest.approx(expected)


def test_looks_after_every_rater_keep_the_level_where_fixed_intervals_do_not() -> None:
    """Of 400 campaigns of 80 raters the sequence misses the mean at any look in at most 5 %."""
    rng, t = np.random.default_rng(0), np.arange(5, 81)
    x = rng.beta(2, 4, (400, 80))
    missed = [bool((log_capital(row, np.array([1 / 3]), 0.95) >= math.log(40)).any()) for row in x]
    mean = np.cumsum(x, axis=1)[:, 4:] / t
    spread = np.sqrt(np.cumsum(x**2, axis=1)[:, 4:] / t - mean**2)
    fixed = (np.abs(mean - 1 / 3) > 1.96 * spread / np.sqrt(t)).any(axis=1)
    assert np.mean(missed) <= 0.05
    assert fixed.mean() > 0.25


@given(arrays.arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1)))
def test_intervals_only_shrink_and_the_latest_is_the_last(values: np.ndarray) -> None:
    sequence = confidence_sequence(values, confidence=0.95)
    known = ~np.isnan(sequence.low)
    low, high = sequence.low[known], sequence.high[known]
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) <= 0).all()
    assert ((low >= 0) & (low <= high) & (high <= 1)).all()
    np.testing.assert_array_equal(latest_interval(values, confidence=0.95), (sequence.low[-1], sequence.high[-1]))


def test_values_outside_shares_are_refused() -> None:
    with pytest.raises(InvalidInput, match="not from 0 to 1"):
        confidence_sequence([0.2, 1.2], confidence=0.95)
    with pytest.raises(InvalidInput, match="There are no observations"):
        confidence_sequence([], confidence=0.95)
    with pytest.raises(InvalidInput, match=r"have shape \(1, 2\)"):
        confidence_sequence([[0.2, 0.3]], confidence=0.95)
