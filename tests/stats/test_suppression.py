"""Small-cell suppression: small counts are hidden and cannot be computed from others."""

from itertools import combinations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.stats.result import FloatArray
from dissensus.stats.suppression import can_isolate, select_disjoint_groups, select_publishable_groups

CODES = st.tuples(st.integers(1, 3), st.integers(1, 12), st.integers(0, 2**32)).map(
    lambda shape: np.random.default_rng(shape[2]).integers(-1, 3, shape[:2])
)


def is_isolated(sums: FloatArray, min_cell: int) -> bool:
    """Return whether some sums describe few people alone, by trying all few people."""
    n, rank = sums.shape[1], np.linalg.matrix_rank(sums)
    return any(
        np.linalg.matrix_rank(np.delete(sums, few, axis=1)) < rank
        for few in combinations(range(n), min(min_cell - 1, n))
    )


@quick
@given(codes=CODES, min_cell=st.integers(2, 5))
def test_published_groups_isolate_nobody(codes: npt.NDArray[np.intp], min_cell: int) -> None:
    """The linear system of everything that is published, solved for all sets of few people."""
    publishable = select_publishable_groups(codes, min_cell=min_cell)
    sums = np.array([codes[axis] == group for axis, group in np.argwhere(publishable)] + [np.ones(codes.shape[1])])
    if publishable.any():
        assert not is_isolated(sums.astype(float), min_cell)
    for axis, group in np.argwhere(~publishable):
        size = (codes[axis] == group).sum()
        more = np.vstack([sums, codes[axis] == group]).astype(float)
        assert size < min_cell or is_isolated(more, min_cell), "A group is hidden in vain."


@quick
@given(codes=CODES, min_cell=st.integers(2, 5))
def test_disjoint_groups_are_those_that_can_be_published_alone(codes: npt.NDArray[np.intp], min_cell: int) -> None:
    sizes = (codes[:, :, None] == np.arange(codes.max(initial=-1) + 1)).sum(axis=1)
    selected = select_disjoint_groups(sizes, np.full(len(codes), codes.shape[1]), min_cell=min_cell)
    for axis, chosen in zip(codes, selected, strict=True):
        (expected,) = select_publishable_groups(axis[None], min_cell=min_cell)
        assert chosen[: expected.size].tolist() == expected.tolist()
        assert not chosen[expected.size :].any()


@quick
@given(codes=CODES, min_cell=st.integers(2, 5), weights=st.lists(st.integers(-2, 2), min_size=4, max_size=4))
def test_any_sums_that_isolate_people_are_recognised(
    codes: npt.NDArray[np.intp], min_cell: int, weights: list[int]
) -> None:
    sums = np.array([*codes, np.array(weights)[codes[0]]], float)
    assert can_isolate(sums, min_cell) == is_isolated(sums, min_cell)


def test_a_crossing_that_two_axes_disclose_is_not_published() -> None:
    """The case of a report: women by age hide three, all women and all millennial women show them."""
    cell = np.repeat([0, 1, 2, 3], [3, 9, 5, 4])
    gender = np.isin(cell, (2, 3)).astype(int)
    publishable = select_publishable_groups(np.stack([gender, cell]))
    assert publishable[0, :2].all()
    assert not publishable[1, :2].any()


def test_all_groups_of_many_people_are_published() -> None:
    rng = np.random.default_rng(1)
    codes = np.array([rng.integers(0, 4, 300) for _ in range(5)])
    assert select_publishable_groups(codes).all()


def test_nobody_is_published_among_few() -> None:
    assert not select_publishable_groups(np.zeros((2, 4), int)).any()
    assert select_publishable_groups(np.zeros((0, 9), int)).shape == (0, 0)
