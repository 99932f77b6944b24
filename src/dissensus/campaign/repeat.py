"""Order of a rater's items with repeats: a seeded share of them is shown twice, at a distance."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dissensus.schema.campaign.repeat import RepeatSettings

FIRST, SECOND = 1, 2
"""Numbers of the two showings of an item."""


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
    """Return items in the order in which a rater sees them, each with the number of its showing.

    A second showing comes a random number of items after the distance, so that its place cannot be foreseen. With
    `last` those still missing follow at the end if their distance is kept; others are left out.

    Items are given by their numbers in the campaign, `earlier` ones that were shown once with their positions in the
    rater's order; `start` is the position of the first new item.

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
    """Return the number of positions from the first showing of an item to its second, None without a second."""
    rng = np.random.default_rng([seed, rater, number, SECOND])
    repeats, extra = rng.random(), rng.random()
    if repeats >= settings.share:
        return None
    return settings.distance + 1 + math.floor(extra * (settings.distance + 1))
