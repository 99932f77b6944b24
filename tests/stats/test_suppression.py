"""Small-cell suppression: small counts are hidden and cannot be computed from others."""

from itertools import product

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.stats.result import FloatArray
from dissensus.stats.suppression import MIN_CELL, hidden_cells, suppress_small_cells

COUNTS = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32)).map(
    lambda shape: np.random.default_rng(shape[2]).integers(0, 9, shape[:2])
)
counts = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 12), max_size=6)


@quick
@given(counts)
def test_no_small_number_is_shown(numbers: dict[str, int]) -> None:
    displayed = suppress_small_cells(numbers)
    assert all(n is None or n == 0 or n >= MIN_CELL for n in displayed.values())
    assert all(n is None or n == numbers[group] for group, n in displayed.items())
    assert list(displayed) == list(numbers)


@quick
@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(MIN_CELL, 99)))
def test_nothing_is_hidden_where_all_are_many(numbers: dict[str, int]) -> None:
    assert suppress_small_cells(numbers) == numbers


def free_changes(hidden: npt.NDArray[np.bool_]) -> FloatArray:
    """By how much hidden cells can change together while the sums of rows and columns stay, one way in each row."""
    positions = np.argwhere(hidden)
    sums = np.array(
        [[position[axis] == line for position in positions] for axis in (0, 1) for line in range(hidden.shape[axis])]
    )
    _, result, ways = np.linalg.svd(sums.astype(float))
    free: FloatArray = ways[(result > 1e-9).sum() :]
    return free


@quick
@given(counts=COUNTS, below=st.integers(0, 6))
def test_hidden_cells_cannot_be_computed_from_the_sums(counts: np.ndarray, below: int) -> None:
    hidden = hidden_cells(counts, below)
    assert hidden[(counts > 0) & (counts < below)].all()
    if min(counts.shape) > 1 and hidden.any():
        assert (np.abs(free_changes(hidden)).max(axis=0) > 1e-6).all()


def test_a_cell_derivable_from_several_sums_is_hidden_with_others() -> None:
    """Two blocks of four hidden cells and one between them, which the sums of a block reveal."""
    counts = np.full((4, 4), 20)
    for row, column in (*product((0, 1), (0, 1)), *product((2, 3), (2, 3)), (0, 2)):
        counts[row, column] = 1
    assert hidden_cells(counts, 5).sum() > 9


def test_nothing_is_hidden_without_a_small_cell() -> None:
    counts = np.array([[5, 0], [7, 9]])
    assert not hidden_cells(counts, 5).any()
    assert not hidden_cells(np.array([[1, 2], [3, 4]]), 0).any()
