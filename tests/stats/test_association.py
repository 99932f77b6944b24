"""GAI and DSI."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from tests.oracles import agreement, crossgroup
from tests.reference import published
from tests.stats.compare import assert_same, close, outcome
from tests.strategies import Counts, quick, stacks

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.agreement import NO_PAIR, krippendorff_alpha
from dissensus.stats.association import dsi, gai
from dissensus.stats.crossgroup import xrr


def test_grasp_toy() -> None:
    result = gai(np.array(published.GRASP_TOY.counts_x), np.array(published.GRASP_TOY.counts_y))
    assert round(result.estimate, 10) == published.GRASP_TOY.values["gai"]


@quick
@given(stacks())
def test_gai_oracle(pair: Counts) -> None:
    x, y = pair.tolist()
    assert_same(lambda: gai(*pair), lambda: crossgroup.gai(x, y))


@quick
@given(stacks())
def test_gai_times_xrr_is_alpha(pair: Counts) -> None:
    try:
        index = gai(*pair).estimate
    except UndefinedEstimate:
        return
    assert index * xrr(*pair).estimate == close(krippendorff_alpha(pair[0]).estimate)


def test_gai_takes_alpha_over_all_the_items_of_the_group() -> None:
    """Items not rated by the other group count for agreement within the group."""
    x, y = np.array(published.GRASP_TOY.counts_x), np.array(published.GRASP_TOY.counts_y)
    longer = np.concatenate([x, [[2, 1, 0]]])
    expected = agreement.alpha(longer.tolist()).value / crossgroup.xrr(x.tolist(), y.tolist()).value
    assert gai(longer, np.pad(y, ((0, 1), (0, 0)))).estimate == close(expected)


@quick
@given(stacks(3))
def test_dsi_oracle(groups: Counts) -> None:
    assert_same(lambda: dsi(groups), lambda: crossgroup.dsi(groups.tolist()))


@quick
@given(stacks(3))
def test_dsi_is_the_largest_gai_against_the_rest(groups: Counts) -> None:
    indices = [outcome(partial(gai, group, groups.sum(axis=0) - group)) for group in groups]
    defined = [index for index in indices if index is not None]
    assert outcome(lambda: dsi(groups)) == max(defined, default=None)


def test_dsi_does_not_depend_on_the_order_of_groups() -> None:
    groups = np.stack([published.GRASP_TOY.counts_x, published.GRASP_TOY.counts_y])
    assert dsi(groups[::-1]).estimate == dsi(groups).estimate


def test_no_agreement_across_leaves_gai_undefined() -> None:
    """Both split evenly everywhere: xrr is exactly zero."""
    x, y = np.array([[1, 1], [3, 1]]), np.array([[1, 1], [1, 1]])
    assert crossgroup.xrr(x.tolist(), y.tolist()).value == 0
    with pytest.raises(UndefinedEstimate, match="it must be positive"):
        gai(x, y)


def test_less_than_no_agreement_across_leaves_gai_undefined() -> None:
    x, y = np.array([[2, 0], [0, 2]]), np.array([[0, 2], [2, 0]])
    assert crossgroup.xrr(x.tolist(), y.tolist()).value == -1
    with pytest.raises(UndefinedEstimate, match="XRR is -1"):
        gai(x, y)


# Shares like 1/3 have no exact binary form: a zero that is computed as 1e-16 would make GAI 1e15.
@pytest.mark.parametrize("n_categories", [2, 3, 5, 7])
@pytest.mark.parametrize("n_raters", [1, 3, 7, 10, 11])
def test_zero_agreement_across_is_seen_through_rounding(n_categories: int, n_raters: int) -> None:
    y = np.full((3, n_categories), n_raters)
    x = np.zeros((3, n_categories), dtype=np.int64)
    x[[0, 1, 2], [0, 1, 0]] = [3, 5, 2]
    assert crossgroup.xrr(x.tolist(), y.tolist()).value == Fraction(0)
    with pytest.raises(UndefinedEstimate, match="it must be positive"):
        gai(x, y)


def test_undefined() -> None:
    with pytest.raises(UndefinedEstimate, match=NO_PAIR):
        gai(np.array([[1, 0], [0, 1]]), np.array([[2, 0], [0, 2]]))  # no pair inside x
    with pytest.raises(UndefinedEstimate, match="no group has a defined GAI"):
        dsi(np.zeros((2, 3, 2), dtype=np.int64))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        pytest.param(np.ones((2, 2), int), "two groups or more", id="no group axis"),
        pytest.param(np.ones((1, 2, 2), int), "two groups or more", id="one group"),
        pytest.param(-np.ones((2, 2, 2), int), "cannot be negative", id="negative"),
        pytest.param(np.full((2, 2, 2), 0.5), "whole numbers of raters", id="not integer"),
    ],
)
def test_malformed(groups: Counts, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        dsi(groups)
