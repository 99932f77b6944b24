"""Choice of the next items of a rater: their order, repeats, and the sides of pairs."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.repeat import RepeatSettings
from dissensus.schema.records.preference import SIDES, Side

FIRST, SECOND = 1, 2
"""Numbers of the two showings of an item."""


def choose_items(
    loads: npt.ArrayLike,
    assigned: npt.ArrayLike,
    *,
    replication: int | None,
    most: int | None,
    seed: int,
    rater: int,
) -> npt.NDArray[np.intp]:
    """Choose the next items of a rater among those not assigned to them, in random order.

    `loads` has the number of raters of each item, `assigned` tells which items the rater has. With a replication, items
    that have it are left out, and those with the fewest raters come first, ties at random, so that items fill evenly.
    At most `most` items are chosen, or all with None.

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
    """Draw the response shown on the left for each of `n` pairs.

    Examples
    --------
    >>> draw_sides(4, seed=0, rater=0, n_assigned=0)
    ('a', 'a', 'b', 'b')
    """
    # A separate stream, since the order of items would reveal the sides.
    rng = np.random.default_rng([seed, rater, n_assigned, 1])
    return tuple(SIDES[side] for side in rng.integers(len(SIDES), size=n))


def place_repeats(
    items: Sequence[int],
    earlier: Mapping[int, int],
    settings: RepeatSettings,
    *,
    start: int,
    last: bool,
    seed: int,
    rater: int,
) -> list[tuple[int, int]]:
    """Return a batch of new items and second showings in the order of the rater, each with the number of its showing.

    A second showing follows the first after at least `settings.distance` others and a random number of further ones, so
    that its place cannot be foreseen. If no batch follows (`last`), pending second showings are appended as far as the
    distance allows; others are dropped.

    `items` are the numbers in the campaign of the new items, `earlier` maps the items shown once so far to their
    positions in the rater's order, and `start` is the first position of the batch.

    Examples
    --------
    >>> place_repeats(range(6), {}, RepeatSettings(share=0.5, distance=2), start=0, last=True, seed=3, rater=0)
    [(0, 1), (1, 1), (2, 1), (0, 2), (3, 1), (4, 1), (5, 1), (2, 2), (3, 2), (5, 2)]
    """
    waiting = {
        number: (position, position + gap)
        for number, position in earlier.items()
        if (gap := _draw_gap(number, settings, seed, rater)) is not None
    }
    order: list[tuple[int, int]] = []
    for number in items:
        while due := [other for other, (_, at) in waiting.items() if at <= start + len(order)]:
            order.append((_pop_first(due, waiting), SECOND))
        gap = _draw_gap(number, settings, seed, rater)
        if gap is not None:
            waiting[number] = (start + len(order), start + len(order) + gap)
        order.append((number, FIRST))
    while last and (
        due := [other for other, (at, _) in waiting.items() if at + settings.distance < start + len(order)]
    ):
        order.append((_pop_first(due, waiting), SECOND))
    return order


def _pop_first(due: Sequence[int], waiting: dict[int, tuple[int, int]]) -> int:
    first = min(due, key=lambda number: waiting[number])
    del waiting[first]
    return first


def _draw_gap(number: int, settings: RepeatSettings, seed: int, rater: int) -> int | None:
    """Return the number of positions from the first showing of an item to its second, None if it is not repeated."""
    rng = np.random.default_rng([seed, rater, number, SECOND])
    repeats, extra = rng.random(), rng.random()
    if repeats >= settings.share:
        return None
    return settings.distance + 1 + math.floor(extra * (settings.distance + 1))
