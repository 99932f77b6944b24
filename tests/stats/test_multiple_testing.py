"""Adjustment of p-values for many tests."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests
from tests.oracles import significance as oracle
from tests.strategies import Floats, quick

from dissensus.errors import InvalidInput
from dissensus.stats.multiple_testing import benjamini_hochberg, holm

p_values = st.lists(st.integers(0, 20).map(lambda twentieths: twentieths / 20), min_size=1, max_size=12)


@quick
@given(p_values)
def test_benjamini_hochberg_by_definition_and_by_scipy(p: list[float]) -> None:
    adjusted = benjamini_hochberg(np.array(p))
    np.testing.assert_allclose(adjusted, oracle.benjamini_hochberg(p), rtol=1e-12)
    np.testing.assert_allclose(adjusted, false_discovery_control(p, method="bh"), rtol=1e-12)


@quick
@given(p_values, st.lists(st.integers(0, 12), max_size=3))
def test_tests_without_p_do_not_count(p: list[float], positions: list[int]) -> None:
    adjusted = benjamini_hochberg(np.array(p))
    holes = [min(position, len(p)) for position in positions]
    with_holes = benjamini_hochberg(np.insert(np.array(p), holes, np.nan))
    assert np.isnan(with_holes).sum() == len(holes)
    np.testing.assert_array_equal(with_holes[~np.isnan(with_holes)], adjusted)


@quick
@given(p_values)
def test_adjusting_keeps_order_and_never_lowers(p: list[float]) -> None:
    raw = np.array(p)
    adjusted = benjamini_hochberg(raw)
    assert (adjusted >= raw - 1e-15).all()  # p times m over m may lose its last bit
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(raw, kind="stable")]) >= 0).all()


def test_one_test_needs_no_adjustment() -> None:
    assert benjamini_hochberg(np.array([0.03])).tolist() == [0.03]
    assert benjamini_hochberg(np.array([])).tolist() == []
    assert np.isnan(benjamini_hochberg(np.array([np.nan]))).all()


@quick
@given(p_values)
def test_holm_by_definition_and_by_statsmodels(p: list[float]) -> None:
    adjusted = holm(np.array(p))
    np.testing.assert_allclose(adjusted, oracle.holm(p), rtol=1e-12)
    np.testing.assert_allclose(adjusted, multipletests(p, method="holm")[1], rtol=1e-12)
    assert (adjusted >= benjamini_hochberg(np.array(p)) - 1e-15).all()
    with_hole = holm(np.array([*p, np.nan]))
    np.testing.assert_array_equal(with_hole, [*adjusted, np.nan])


@pytest.mark.parametrize("p", [[-0.1, 0.5], [0.5, 1.1], [[0.1], [0.5]]], ids=str)
@pytest.mark.parametrize("adjust", [benjamini_hochberg, holm])
def test_malformed_p(adjust: Callable[[Floats], Floats], p: list[float]) -> None:
    with pytest.raises(InvalidInput, match="numbers from 0 to 1"):
        adjust(np.array(p))
