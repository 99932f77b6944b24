"""Assignment of items to the raters of each group, observed and under permutation of the raters."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dissensus.stats import kernels as published_kernels
from dissensus.stats.design import Block, BlockedDesign, Design, pass_over, sum_ratings, to_int32
from dissensus.stats.divergence import Divergence, add_pairs, mean_pairwise, zero_pairs
from dissensus.stats.groups import kernels
from dissensus.stats.groups.statistics import published_statistics
from dissensus.stats.result import BoolArray, FloatArray, Int64Array, IntArray, divide_or_nan

MAX_SHIFT: Final = 0.25
"""Largest shift of a null distribution, in its standard deviations: a two-sided test at 5 % rejects up to 5.7 %."""

MAX_LOAD: Final = 0.05
"""Largest relative difference of the ratings per item, unless it lies within what permutations give."""

MAX_Z: Final = 1.96
"""Largest difference of an assignment from permuted ones, in their standard deviations, that passes for chance."""

EXCHANGES: Final = 200
"""Number of exchanges by default, and of permutations that `assignment_effect` compares with."""

MAX_EXCHANGED: Final = 2**26
"""Most ratings of all exchanges together, which bounds their memory: large designs need fewer exchanges."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AssignmentEffect:
    """Effect of the assignment of items on permutation tests of statistics that depend on the number of ratings.

    Parameters
    ----------
    ratings, permuted_ratings
        Mean ratings per item that the group rated, observed and over permutations, shape (C, 2): the group of each
        comparison, and the group it is compared with.
    unequal
        Whether either number differs by more than `MAX_LOAD`, and by more than permutations do, shape (C,).
    systematic
        Whether ratings per item, their mean inverse or mean square, or the number of items that a group rated lie
        outside what permutations give, shape (C,): the assignment depended on the group.
    """

    ratings: FloatArray
    permuted_ratings: FloatArray
    unequal: BoolArray
    systematic: BoolArray


def is_complete(design: Design | BlockedDesign, group: IntArray) -> bool:
    """Return whether every rater with a group rated every item that any of them rated.

    Examples
    --------
    >>> is_complete(Design(np.array([0, 0, 1]), np.array([0, 1, 0]), np.zeros(3, int), 2, 2, 2), np.array([0, 1]))
    False
    """
    partial_items = np.zeros(1, np.int64)
    pass_over(design, partial(_count_partial, group >= 0), partial_items)
    return not partial_items[0]


def _count_partial(grouped: BoolArray, block: Block, total: Int64Array) -> None:
    """Count the items that some but not all raters with a group rated."""
    design = block.design
    n_rated = np.bincount(design.items[grouped[design.raters]], minlength=design.n_items)
    total += np.count_nonzero(n_rated[n_rated > 0] != grouped.sum())


def assignment_effect(
    design: Design | BlockedDesign, group: IntArray, permuted: IntArray, inside: IntArray, outside: IntArray
) -> AssignmentEffect:
    """Measure the effect of the assignment of items.

    A permutation test exchanges raters, and with them the numbers of ratings that groups have of each item. If quotas,
    loads or locales determine who rates which items, those numbers differ between the observed groups and permuted
    ones, and so do statistics that depend on them. Exchanging the groups of the *ratings of each item* keeps the
    numbers as observed and removes every difference between groups; the mean of a statistic over such exchanges
    (`exchanged_statistics`) is its expectation in this assignment, under the null hypothesis.

    Parameters
    ----------
    design
        The ratings.
    group
        Group of each rater, shape (R,); negative for none.
    permuted
        Groups of the raters in each permutation, shape (B, R); the first `EXCHANGES` are used.
    inside, outside
        Groups of each comparison, shape (C,); see `statistics`.

    Returns
    -------
    AssignmentEffect

    Examples
    --------
    The first group rated both items, and permuted groups only one or two of them:

    >>> design = Design(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([0, 1, 0]), 2, 2, 2)
    >>> arguments = np.array([[0, 1], [1, 0]]), np.array([0]), np.array([1])
    >>> assignment_effect(design, np.array([0, 1]), *arguments).ratings.tolist()
    [[1.0, 1.0]]
    """
    (observed,) = _describe_assignments(design, group[None], inside, outside)
    drawn = _describe_assignments(design, permuted[:EXCHANGES], inside, outside)
    centre, spread = drawn.mean(axis=0), drawn.std(axis=0)
    gap = np.abs(observed - centre)
    beyond = gap > MAX_Z * spread + 1e-9 * np.abs(centre)
    return AssignmentEffect(
        ratings=observed[..., 0],
        permuted_ratings=centre[..., 0],
        unequal=(beyond & (gap > MAX_LOAD * centre))[..., 0].any(axis=1),
        systematic=beyond.any(axis=(1, 2)),
    )


def exchanged_statistics(
    design: Design | BlockedDesign,
    group: IntArray,
    inside: IntArray,
    outside: IntArray,
    *,
    seed: np.random.SeedSequence,
    most_exchanges: int = EXCHANGES,
) -> FloatArray:
    """Return published statistics after exchange of the groups of the ratings of each item, shape (S, C, M).

    They are the values in this assignment if groups do not differ. Arguments as for `exchange_ratings` and
    `statistics`.
    """
    if not isinstance(design, BlockedDesign):
        return published_statistics(
            *exchange_ratings(design, group, seed=seed, most_exchanges=most_exchanges), inside, outside
        )
    n_exchanges = _count_exchanges(int(design.loads[group >= 0].sum()), most_exchanges)
    sums = np.zeros((n_exchanges, len(inside), published_kernels.width(design.n_categories)))

    def fill(exchanged: Design, codes: IntArray, total: FloatArray) -> None:
        total += sum_ratings(exchanged, codes, inside, outside)

    pass_over_exchanges(design, group, fill, sums, seed=seed)
    return published_kernels.metrics(sums, design.n_categories)


def exchanged_divergences(
    design: Design | BlockedDesign, group: IntArray, divergence: Divergence, *, seed: np.random.SeedSequence
) -> FloatArray:
    """Return the mean divergence of each two groups after exchange of the groups of the ratings of each item, (S, P).

    Arguments as for `exchange_ratings` and `dissensus.stats.divergence.mean_pairwise`.
    """
    if not isinstance(design, BlockedDesign):
        return mean_pairwise(*exchange_ratings(design, group, seed=seed), divergence)[0]
    totals = zero_pairs(group, _count_exchanges(int(design.loads[group >= 0].sum()), EXCHANGES))

    def fill(exchanged: Design, codes: IntArray, total: FloatArray, shared: Int64Array) -> None:
        add_pairs(exchanged, codes, divergence, total, shared)

    pass_over_exchanges(design, group, fill, *totals, seed=seed)
    return divide_or_nan(*totals)


def pass_over_exchanges(
    design: BlockedDesign,
    group: IntArray,
    fill: Callable[..., None],
    *totals: npt.NDArray[Any],
    seed: np.random.SeedSequence,
) -> None:
    """Call ``fill(exchanged, codes, *totals)`` for each block with its exchanges, as many as the totals have.

    The exchanges are those of all ratings at once, as `exchange_ratings` draws them.
    """
    draws = np.zeros(design.engine.n_blocks + 1, np.uint64)
    pass_over(design, partial(_count_draws, group >= 0), draws)
    before, n_exchanges = np.cumsum(draws, dtype=np.uint64), len(totals[0])

    def fill_block(block: Block, *parts: npt.NDArray[Any]) -> None:
        states = _skip_draws(seed.generate_state(n_exchanges, np.uint64), int(before[block.number]))
        # The last group may have no rating in this block, and the sums of its comparisons are wanted.
        fill(*_exchange(block.design, group, states, n_idle=1), *parts)

    pass_over(design, fill_block, *totals)


def _count_draws(grouped: BoolArray, block: Block, draws: npt.NDArray[np.uint64]) -> None:
    """Count the draws of one exchange: one less than the ratings of each item by raters with a group."""
    items = block.design.items[grouped[block.design.raters]]
    draws[block.number + 1] += np.uint64(items.size - np.unique(items).size)


def _skip_draws(states: IntArray, n_draws: int) -> IntArray:
    """Return the states of the generators of an exchange after a number of draws."""
    return np.asarray(states + kernels.GOLDEN * np.full(1, n_draws, np.uint64))


def _count_exchanges(n_ratings: int, most_exchanges: int) -> int:
    return min(most_exchanges, max(20, MAX_EXCHANGED // max(1, n_ratings)))


def null_shift(exchanged: FloatArray, null: FloatArray) -> FloatArray:
    """Return the shift of each statistic by the assignment alone, in standard deviations of its permutations.

    Parameters
    ----------
    exchanged
        Statistics after exchanges within items, shape (S, …).
    null
        Statistics of permutations of raters, shape (B, …).

    Returns
    -------
    ndarray, shape (…)
        NaN where either has no defined value; infinite if permutations do not vary and the means differ.

    Examples
    --------
    >>> null_shift(np.array([1.0, 1.0]), np.array([0.0, 1.0, 2.0, 1.0])).item()
    0.0
    """
    (mean, _), (centre, spread) = _moments(exchanged), _moments(null)
    gap = mean - centre
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(gap) <= 1e-9 * (1 + np.abs(centre)), 0.0 * gap, gap / spread)


def _moments(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    defined = np.isfinite(values)
    n = defined.sum(axis=0)
    filled = np.where(defined, values, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = filled.sum(axis=0) / n
        spread = np.sqrt(np.where(defined, (values - mean) ** 2, 0.0).sum(axis=0) / n)
    return np.asarray(mean), np.asarray(spread)


def _describe_assignments(
    design: Design | BlockedDesign, groups: IntArray, inside: IntArray, outside: IntArray
) -> FloatArray:
    """Return mean ratings per rated item, their mean inverse and square, and rated items of each side, (B, C, 2, 4)."""
    result, codes = np.zeros((len(groups), len(inside), 2, 4)), to_int32(groups)
    sides = inside.astype(np.int64), outside.astype(np.int64)

    def fill(block: Block, total: FloatArray) -> None:
        starts, raters, _ = block.design.by_item
        kernels.describe_assignments(total, starts, raters, codes, *sides)

    pass_over(design, fill, result)
    result[..., :3] /= np.maximum(1, result[..., 3:])
    return result


def exchange_ratings(
    design: Design, group: IntArray, *, seed: np.random.SeedSequence, most_exchanges: int = EXCHANGES
) -> tuple[Design, IntArray]:
    """Exchange the groups of the ratings of each item.

    Parameters
    ----------
    design
        The ratings.
    group
        Group of each rater, shape (R,); negative for none.
    seed
        Seed of the exchanges.
    most_exchanges
        Number of exchanges, S; fewer, down to 20, if all of them together have more than `MAX_EXCHANGED` ratings.

    Returns
    -------
    Design
        The ratings by raters with a group, N, each by a rater of its own.
    ndarray, shape (S, N)
        Groups of these ratings.

    Examples
    --------
    >>> design = Design(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([0, 1, 0]), 2, 2, 2)
    >>> _, exchanged = exchange_ratings(design, np.array([0, 1]), seed=np.random.SeedSequence(0))
    >>> sorted(set(map(tuple, exchanged.tolist())))
    [(0, 1, 0), (1, 0, 0)]
    """
    n_exchanges = _count_exchanges(int(np.count_nonzero(group[design.raters] >= 0)), most_exchanges)
    return _exchange(design, group, seed.generate_state(n_exchanges, np.uint64))


def _exchange(design: Design, group: IntArray, states: IntArray, *, n_idle: int = 0) -> tuple[Design, IntArray]:
    """Exchange the groups of the ratings of each item once from each state of the generator.

    `n_idle` more raters, without ratings, have the last group.
    """
    starts, raters, answers = design.by_item
    grouped = group[raters] >= 0
    n_ratings = int(grouped.sum())
    items = np.repeat(np.arange(design.n_items, dtype=np.int32), np.diff(starts))[grouped]
    single = Design(
        items,
        np.arange(n_ratings, dtype=np.int32),
        answers[grouped],
        design.n_items,
        n_ratings + n_idle,
        design.n_categories,
        design.scale,
    )
    codes = np.append(group[raters[grouped]], np.full(n_idle, group.max())).astype(np.int32)
    exchanged = np.tile(codes, (len(states), 1))
    bounds = np.searchsorted(items, np.arange(design.n_items + 1)).astype(np.int64)
    kernels.shuffle_within_items(exchanged, bounds, states)
    return single, exchanged
