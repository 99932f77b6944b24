"""Comparison of an estimate with an oracle, undefined cases included."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from tests.oracles.agreement import Coefficient

from dissensus.errors import UndefinedEstimate
from dissensus.stats.result import Estimate


def close(expected: float | Fraction) -> Any:
    """Equal up to the rounding of a few dozen floating-point operations."""
    return pytest.approx(float(expected), rel=1e-12, abs=1e-12)


def assert_same(
    statistic: Callable[[], Estimate], oracle: Callable[[], Coefficient | Fraction | float]
) -> Estimate | None:
    """Assert that both are equal, or both undefined; an undefined oracle divides by zero."""
    try:
        expected = oracle()
    except ZeroDivisionError:
        with pytest.raises(UndefinedEstimate, match="undefined"):
            statistic()
        return None
    result = statistic()
    if isinstance(expected, Coefficient):
        assert result.estimate == close(expected.value)
        assert result.observed == close(expected.observed)
        assert result.expected == close(expected.expected)
    else:
        assert result.estimate == close(expected)
    return result


def outcome(statistic: Callable[[], Estimate]) -> float | None:
    """Return the estimate, or None if it is undefined."""
    try:
        return float(statistic())
    except UndefinedEstimate:
        return None


def assert_equal_outcomes(first: Callable[[], Estimate], second: Callable[[], Estimate]) -> None:
    """Assert that both statistics are equal, or both undefined."""
    result, expected = outcome(first), outcome(second)
    if result is None or expected is None:
        assert result is expected
    else:
        assert result == close(expected)
