"""Choice of the next items of a rater: their order, and the sides of pairs."""

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.schema.records.preference import SIDES, Side


def choose_items(
    loads: npt.ArrayLike,
    assigned: npt.ArrayLike,
    *,
    replication: int | None,
    most: int | None,
    seed: int,
    rater: int,
) -> npt.NDArray[np.intp]:
    """Choose the next items of a rater, in random order.

    Without replication these are all items that are new to the rater, else those with the fewest raters below the
    replication, with random ties, so that items fill evenly.

    Examples
    --------
    >>> choose_items([2, 0, 1, 0], [False, False, False, False], replication=2, most=3, seed=0, rater=0).tolist()
    [2, 3, 1]
    >>> choose_items([2, 0, 1, 0], [False, True, False, False], replication=None, most=None, seed=0, rater=5).tolist()
    [2, 3, 0]
    """
    counts, is_assigned = np.asarray(loads, dtype=np.int64), np.asarray(assigned, dtype=np.bool_)
    if counts.shape != is_assigned.shape or counts.ndim != 1:
        raise InvalidInput(
            f"loads and assigned have shapes {counts.shape} and {is_assigned.shape}; give one value per item in each."
        )
    if any(number is not None and number < 1 for number in (replication, most)):
        raise InvalidInput(f"replication is {replication} and most {most}; give numbers from 1, or None.")
    rng = np.random.default_rng([seed, rater, int(is_assigned.sum())])
    tie_breaker = rng.permutation(counts.size)
    load = np.zeros_like(counts) if replication is None else counts
    candidates = np.flatnonzero(~is_assigned if replication is None else ~is_assigned & (counts < replication))
    chosen = candidates[np.lexsort((tie_breaker[candidates], load[candidates]))][:most]
    return np.asarray(rng.permutation(chosen), dtype=np.intp)


def draw_sides(n: int, *, seed: int, rater: int, n_assigned: int) -> tuple[Side, ...]:
    """Draw the left response of each pair.

    Examples
    --------
    >>> draw_sides(4, seed=0, rater=0, n_assigned=0)
    ('a', 'a', 'b', 'b')
    """
    # A separate stream, since the order of items would reveal the sides.
    rng = np.random.default_rng([seed, rater, n_assigned, 1])
    return tuple(SIDES[side] for side in rng.integers(len(SIDES), size=n))
