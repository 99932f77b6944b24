"""Choice of items for raters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.campaign import choose_items
from dissensus.errors import InvalidInput

N = st.integers(0, 12)


@st.composite
def states(draw: st.DrawFn) -> tuple[list[int], list[bool]]:
    """Draw loads of items, and the items that a rater had."""
    n = draw(N)
    assigned = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), assigned


LIMITS = st.none() | st.integers(1, 15)
SEEDS = st.integers(0, 2**32 - 1)


@quick
@given(states(), LIMITS, LIMITS, SEEDS, N)
def test_items_are_distinct_new_and_below_the_replication(
    state: tuple[list[int], list[bool]], replication: int | None, most: int | None, seed: int, rater: int
) -> None:
    loads, assigned = state
    items = choose_items(loads, assigned, replication=replication, most=most, seed=seed, rater=rater).tolist()
    new = [i for i, is_assigned in enumerate(assigned) if not is_assigned]
    available = [i for i in new if replication is None or loads[i] < replication]
    assert len(set(items)) == len(items) == min(len(available), most or len(available))
    assert set(items) <= set(available)


@quick
@given(states(), st.integers(1, 8), st.integers(1, 8), SEEDS)
def test_the_items_with_the_lowest_load_are_chosen(
    state: tuple[list[int], list[bool]], replication: int, most: int, seed: int
) -> None:
    loads, assigned = state
    items = choose_items(loads, assigned, replication=replication, most=most, seed=seed, rater=0).tolist()
    remaining = [load for i, load in enumerate(loads) if i not in items and not assigned[i] and load < replication]
    assert max((loads[i] for i in items), default=0) <= min(remaining, default=replication)


@quick
@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 12), SEEDS)
def test_items_fill_evenly_to_the_replication(n_items: int, replication: int, most: int, seed: int) -> None:
    loads = np.zeros(n_items, dtype=np.int64)
    for rater in range(n_items * replication):
        items = choose_items(
            loads, np.zeros(n_items, dtype=bool), replication=replication, most=most, seed=seed, rater=rater
        )
        loads[items] += 1
        assert loads.max() - loads.min() <= 1
        assert loads.max() <= replication
    assert loads.tolist() == [replication] * n_items


@quick
@given(states(), LIMITS, LIMITS, SEEDS, N)
def test_the_same_state_gives_the_same_plan(
    state: tuple[list[int], list[bool]], replication: int | None, most: int | None, seed: int, rater: int
) -> None:
    first, second = (
        choose_items(*state, replication=replication, most=most, seed=seed, rater=rater).tolist() for _ in range(2)
    )
    assert first == second


def test_orders_differ_by_rater_and_seed() -> None:
    empty = [0] * 20, [False] * 20
    orders = {
        tuple(choose_items(*empty, replication=None, most=None, seed=seed, rater=rater).tolist())
        for seed in range(3)
        for rater in range(10)
    }
    assert len(orders) == 30


def test_no_item_is_favoured() -> None:
    """Of 10 items with equal loads each is first about 300 times in 3,000 draws, within 5 standard deviations."""
    firsts = np.bincount(
        [choose_items([0] * 10, [False] * 10, replication=3, most=1, seed=7, rater=rater)[0] for rater in range(3000)],
        minlength=10,
    )
    assert np.abs(firsts - 300).max() < 5 * np.sqrt(3000 * 0.1 * 0.9)


@pytest.mark.parametrize(
    ("loads", "assigned", "replication", "most", "message"),
    [
        ([0, 0], [False], None, None, r"shapes \(2,\) and \(1,\)"),
        ([[0]], [[False]], None, None, "one value per item"),
        ([0], [False], 0, None, "replication is 0"),
        ([0], [False], None, 0, "most 0"),
        ([0], [False], -1, 3, "replication is -1"),
    ],
)
def test_invalid_arguments_are_rejected(
    loads: list[int], assigned: list[bool], replication: int, most: int, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        choose_items(loads, assigned, replication=replication, most=most, seed=0, rater=0)
