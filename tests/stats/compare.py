"""One estimate against one oracle, undefined cases included."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from tests.oracles.agreement import Coefficient

from dissensus.errors import UndefinedEstimate
from dissensus.stats.result import Estimate


def close(expected: float | Fraction) -> Any:
    """Equal but for the rounding of a few dozen floating-point operations."""
    return pytest.approx(float(expected), rel=1e-12, abs=1e-12)


def assert_same(ours: Callable[[], Estimate], oracle: Callable[[], Coefficient | Fraction | float]) -> Estimate | None:
    """Both give the same number, or neither gives one: the oracle has then divided by zero."""
    try:
        expected = oracle()
    except ZeroDivisionError:
        with pytest.raises(UndefinedEstimate, match=r"\w"):
            ours()
        return None
    found = ours()
    if isinstance(expected, Coefficient):
        assert found.estimate == close(expected.value)
        assert found.observed == close(expected.observed)
        assert found.expected == close(expected.expected)
    else:
        assert found.estimate == close(expected)
    return found


def outcome(statistic: Callable[[], Estimate]) -> float | None:
    """The estimate, or None where it is undefined: for comparing two calls of ours."""
    try:
        return float(statistic())
    except UndefinedEstimate:
        return None


def assert_equal_outcomes(one: Callable[[], Estimate], other: Callable[[], Estimate]) -> None:
    """Two ways to the same number, or to none."""
    first, second = outcome(one), outcome(other)
    if first is None or second is None:
        assert first is second
    else:
        assert first == close(second)
