"""Choice of the next items of a rater: their order, and the sides of pairs."""

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.schema.records.preference import SIDES, Side


def choose_items(
    loads: npt.ArrayLike,
    mine: npt.ArrayLike,
    *,
    replication: int | None,
    most: int | None,
    seed: int,
    rater: int,
) -> npt.NDArray[np.intp]:
    """Choose the next items of a rater, in a random order of their own.

    Where everybody rates all, these are all items that the rater has not had. Else they are those with the fewest
    raters below the replication, ties by chance, so that items fill evenly.

    Examples
    --------
    >>> choose_items([2, 0, 1, 0], [False, False, False, False], replication=2, most=3, seed=0, rater=0).tolist()
    [2, 3, 1]
    >>> choose_items([2, 0, 1, 0], [False, True, False, False], replication=None, most=None, seed=0, rater=5).tolist()
    [2, 3, 0]
    """
    values, had = np.asarray(loads, dtype=np.int64), np.asarray(mine, dtype=np.bool_)
    if values.shape != had.shape or values.ndim != 1:
        raise InvalidInput(
            f"loads and mine have shapes {values.shape} and {had.shape}; give one value an item in each."
        )
    if any(number is not None and number < 1 for number in (replication, most)):
        raise InvalidInput(f"replication is {replication} and most {most}; give numbers from 1, or None.")
    rng = np.random.default_rng([seed, rater, int(had.sum())])
    chance = rng.permutation(values.size)
    fewest = np.zeros_like(values) if replication is None else values
    places = np.flatnonzero(~had if replication is None else ~had & (values < replication))
    chosen = places[np.lexsort((chance[places], fewest[places]))][:most]
    return np.asarray(rng.permutation(chosen), dtype=np.intp)


def draw_sides(n: int, *, seed: int, rater: int, had: int) -> tuple[Side, ...]:
    """Draw which response of each pair a rater sees on the left.

    Examples
    --------
    >>> draw_sides(4, seed=0, rater=0, had=0)
    ('a', 'a', 'b', 'b')
    """
    # Another stream than that of the order, which would tell the sides.
    rng = np.random.default_rng([seed, rater, had, 1])
    return tuple(SIDES[side] for side in rng.integers(len(SIDES), size=n))
