"""Permutation tests of the groups of an axis."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np

from dissensus.pipeline.analyse.columns import COLUMNS, DIFFERENCES
from dissensus.pipeline.analyse.comparisons import AxisComparison
from dissensus.pipeline.analyse.resampling import (
    AxisTests,
    GroupTable,
    ProgressTicks,
    compute_columns,
    join_reversed,
    subtract_reversed,
)
from dissensus.schema.ratings.columns import REST
from dissensus.stats.design import METRICS, BlockedDesign, Design, chunks
from dissensus.stats.groups.assignment import (
    EXCHANGES,
    MAX_SHIFT,
    AssignmentEffect,
    assignment_effect,
    exchanged_statistics,
    is_complete,
    null_shift,
)
from dissensus.stats.permutation import draw_permutations
from dissensus.stats.result import FloatArray, Int32Array

INSTEAD: Final = "pairwise_agreement and mean_difference are tested in any assignment"
ORDERED_BETWEEN: Final = (
    "test withheld: at an ordered level it rejects 7 % of true null hypotheses at 5 % unless all rated all items; "
    "group_distance is tested"
)
MAX_DISTANCE_LOAD: Final = 0.4
"""Largest relative difference of the ratings per item at which a distance is tested; see docs/generated/size.md."""

Permute = Callable[[range, bytes], Int32Array]
"""Permutations of the raters for a range of replicates, within strata, which are given as the bytes of their codes."""


@dataclass(frozen=True, eq=False)
class _ExchangeSet:
    """Comparisons that are tested by the same exchanges of raters; without any, the statistics of the axis alone."""

    codes: Int32Array  # Groups of the raters that are exchanged; negative for others
    inside: Int32Array
    outside: Int32Array
    comparisons: list[int]  # Their indices among the comparisons of the axis
    within: Int32Array  # Stratum of each rater


def compute_tests(
    design: Design | BlockedDesign,
    tables: list[GroupTable],
    seeds: list[np.random.SeedSequence],
    within: Int32Array,
    answer: int,
    tick: ProgressTicks,
) -> list[GroupTable]:
    """Add permutation tests; all axes share the permutations, so crossings stay intact."""

    # The next axis takes permutations from the cache if all replicates fit in one range.
    @lru_cache(maxsize=1)
    def permute(chunk: range, within: bytes) -> Int32Array:
        return draw_permutations([seeds[b] for b in chunk], design.n_raters, np.frombuffer(within, np.int32))

    return [replace(table, tests=_test_axis(design, table, seeds, permute, within, answer, tick)) for table in tables]


def _test_axis(
    design: Design | BlockedDesign,
    table: GroupTable,
    seeds: list[np.random.SeedSequence],
    permute: Permute,
    within: Int32Array,
    answer: int,
    tick: ProgressTicks,
) -> AxisTests:
    axis, width = table.axis, len(table.columns)
    n_columns = len(axis.inside) * width
    values, tested = (np.full(n_columns + 2, np.nan) for _ in range(2))
    null_values, null_tested = (np.full((len(seeds), n_columns + 2), np.nan) for _ in range(2))
    reasons: list[str | None] = [None] * (n_columns + 2)
    exchange_sets = list(_list_exchange_sets(axis, within))
    for exchanged in exchange_sets:
        part = _test_exchanged(design, table, exchanged, seeds, permute, answer, tick, share=1 / len(exchange_sets))
        for position, c in enumerate(exchanged.comparisons):
            into, of = (slice(of_one * width, (of_one + 1) * width) for of_one in (c, position))
            values[into], tested[into] = part.values[of], part.tested[of]
            null_values[:, into], null_tested[:, into] = part.null_values[:, of], part.null_tested[:, of]
            reasons[into] = part.reasons[of]
        if exchanged is exchange_sets[0]:
            values[-2:], tested[-2:] = part.values[-2:], part.tested[-2:]
            null_values[:, -2:], null_tested[:, -2:] = part.null_values[:, -2:], part.null_tested[:, -2:]
            reasons[-2:] = part.reasons[-2:]
    return AxisTests(values, null_values, tested, null_tested, tuple(reasons))


def _list_exchange_sets(axis: AxisComparison, within: Int32Array) -> Iterator[_ExchangeSet]:
    """Yield first the set that tests the statistics of the axis, in which the raters of all groups are exchanged.

    Comparisons with the rest belong to it; each one with a named group has a set of its own, in which all other raters
    stay in place.
    """
    if (axis.outside < 0).all():
        yield _ExchangeSet(axis.codes, axis.inside, axis.outside, list(range(len(axis.inside))), within)
        return
    yield _ExchangeSet(axis.codes, axis.inside[:0], axis.outside[:0], [], within)
    for c, (g, h) in enumerate(zip(axis.inside, axis.outside, strict=True)):
        if g == h:
            continue
        codes = np.select([axis.codes == g, axis.codes == h], [0, 1], -1).astype(np.int32)
        pair = np.array([0], np.int32), np.array([1], np.int32)
        yield _ExchangeSet(codes, *pair, [c], np.where(codes >= 0, within, -1).astype(np.int32))


def _test_exchanged(
    design: Design | BlockedDesign,
    table: GroupTable,
    exchanged: _ExchangeSet,
    seeds: list[np.random.SeedSequence],
    permute: Permute,
    answer: int,
    tick: ProgressTicks,
    *,
    share: float,
) -> AxisTests:
    sides, columns = (exchanged.inside, exchanged.outside), table.columns
    complete = is_complete(design, exchanged.codes)
    draws, permuted = [], []
    row_bytes = 8 * design.n_raters + design.row_bytes(max(1, len(exchanged.inside)))
    for chunk in chunks(len(seeds), row_bytes, design.chunk_bytes):
        codes = exchanged.codes[permute(chunk, exchanged.within.astype(np.int32).tobytes())]
        permuted.append(codes[: max(0, EXCHANGES - chunk.start)])
        draws.append(_compute_replicates(design, codes, sides, answer, columns, complete=complete))
        tick(len(codes) * share)
    values, tested = _compute_replicates(design, exchanged.codes[None], sides, answer, columns, complete=complete)
    null_values, null_tested = (np.concatenate(part) for part in zip(*draws, strict=True))
    reasons: list[str | None] = [None] * values.shape[1]
    if not complete and exchanged.comparisons:
        reasons = _withhold(design, table, exchanged, null_values, np.concatenate(permuted), _entropy(seeds))
    elif not complete:
        reasons[-2] = _withhold_between_share(design, table.axis, np.concatenate(permuted))
    if not complete and design.scale is not None:
        reasons[-2] = reasons[-2] or ORDERED_BETWEEN
    return AxisTests(values[0], null_values, tested[0], null_tested, tuple(reasons))


def _entropy(seeds: list[np.random.SeedSequence]) -> int:
    return int(seeds[0].generate_state(1, np.uint64)[0])


def _compute_replicates(
    design: Design | BlockedDesign,
    codes: Int32Array,
    sides: tuple[Int32Array, Int32Array],
    answer: int,
    columns: tuple[str, ...],
    *,
    complete: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return values and test statistics of each replicate, both of shape (B, C × M + 2)."""
    values, unbiased = compute_columns(design, codes, *sides, answer, columns)
    tested = values.copy()
    tested[..., 0] = np.nan
    tested[..., 1], tested[..., 2] = unbiased.difference_t, unbiased.agreement_t
    # In a complete design the distance itself has the same distribution in all permutations.
    if not complete:
        tested[..., 3] = unbiased.distance_t
    for name, studentised in (("superiority", unbiased.superiority_t), (DIFFERENCES[0], unbiased.agreement_t)):
        if name in columns:
            tested[..., columns.index(name)] = studentised
    between = unbiased.between_share if complete else unbiased.between_t
    return _append_axis(values, unbiased.between_share), _append_axis(tested, between)


def _append_axis(values: FloatArray, between: FloatArray) -> FloatArray:
    """Return the statistics of an axis in the order of its rows: (B, C, M) to (B, C × M + 2)."""
    top = _top(values[..., COLUMNS.index("gai")])
    return np.concatenate([values.reshape(len(values), -1), between[:, None], top[:, None]], axis=1)


def _top(gais: FloatArray) -> FloatArray:
    """Return the largest defined value over comparisons."""
    if not gais.shape[-1]:
        return np.full(len(gais), np.nan)
    undefined = np.isnan(gais).all(axis=-1)
    return np.where(undefined, np.nan, np.where(np.isnan(gais), -np.inf, gais).max(axis=-1))


def _withhold(
    design: Design | BlockedDesign,
    table: GroupTable,
    exchanged: _ExchangeSet,
    null_values: FloatArray,
    permuted: Int32Array,
    entropy: int,
) -> list[str | None]:
    """Return the reasons why tests that depend on the assignment are withheld, in the order of the columns."""
    sides, seed, columns = (exchanged.inside, exchanged.outside), np.random.SeedSequence(entropy), table.columns
    names: tuple[str, ...] = METRICS
    effect = assignment_effect(design, exchanged.codes, permuted, *sides)
    if DIFFERENCES[0] in columns:
        names = (*names, *DIFFERENCES[1:])
        sides = join_reversed(*sides)
    shuffled = exchanged_statistics(design, exchanged.codes, *sides, seed=seed)
    if DIFFERENCES[0] in columns:
        first, _ = np.split(shuffled, 2, axis=1)
        shuffled = np.concatenate([first, subtract_reversed(shuffled)], axis=-1)
    null = null_values[:, :-2].reshape(len(null_values), len(exchanged.inside), len(columns))
    shift = null_shift(shuffled, null[..., [columns.index(name) for name in names]])
    reasons: list[str | None] = []
    for position, c in enumerate(exchanged.comparisons):
        groups = (table.axis.groups[table.axis.inside[c]], table.axis.against(c))
        of_metric = {
            name: _explain_effect(groups, position, effect, float(shift[position, n])) for n, name in enumerate(names)
        }
        of_metric["corrected_gai"] = of_metric["gai"]
        if _is_distance_withheld(effect, position):
            of_metric["group_distance"] = _explain_load(groups, position, effect)
        reasons += [of_metric.get(column) for column in columns]
    of_axis = [
        next(filter(None, reasons[columns.index(metric) :: len(columns)]), None) for metric in ("group_distance", "gai")
    ]
    return [*reasons, *of_axis]


def _withhold_between_share(design: Design | BlockedDesign, axis: AxisComparison, permuted: Int32Array) -> str | None:
    """Return the reason why the test of the share between groups is withheld, by the loads of each group and the rest.

    It is that of comparisons with the rest, which an axis with a named reference group does not have.
    """
    inside = np.arange(len(axis.groups))
    effect = assignment_effect(design, axis.codes, permuted, inside, np.full(len(inside), -1))
    withheld = (position for position in inside.tolist() if _is_distance_withheld(effect, position))
    position = next(withheld, None)
    return None if position is None else _explain_load((axis.groups[position], REST), position, effect)


def _is_distance_withheld(effect: AssignmentEffect, position: int) -> bool:
    """Return whether the loads of the groups of a comparison are too unequal for a test of a distance."""
    loads = effect.ratings[position] / effect.permuted_ratings[position]
    return bool(np.abs(loads - 1).max() > MAX_DISTANCE_LOAD)


def _explain_effect(groups: tuple[str, str], position: int, effect: AssignmentEffect, shift: float) -> str | None:
    """Return the reason why a test that depends on the assignment is withheld, None if it is not."""
    if effect.unequal[position]:
        return _explain_load(groups, position, effect)
    if effect.systematic[position] and not abs(shift) <= MAX_SHIFT:
        by = f"{abs(shift):.2g} standard deviations" if np.isfinite(shift) else "an unknown amount"
        return f"test withheld: the assignment of items alone shifts it by {by}; {INSTEAD}"
    return None


def _explain_load(groups: tuple[str, str], position: int, effect: AssignmentEffect) -> str:
    observed, permuted = effect.ratings[position], effect.permuted_ratings[position]
    side = int(np.argmax(np.abs(observed / permuted - 1)))
    return (
        f"test withheld: {observed[side]:.3g} ratings per item of {groups[side]}, {permuted[side]:.3g} when raters are "
        f"exchanged; {INSTEAD}"
    )
