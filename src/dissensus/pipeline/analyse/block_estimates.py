"""Estimates of each comparison from sums over blocks of items, where the counts of all items are not in memory."""

from dataclasses import replace
from functools import reduce
from typing import Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse.columns import COMPARED, DIFFERENCES
from dissensus.pipeline.analyse.comparisons import AxisComparison
from dissensus.pipeline.analyse.rows import ALONE, ONE_RATER, across_estimators, within_estimators
from dissensus.stats import kernels
from dissensus.stats.design import METRICS, Block, BlockedDesign, pass_over, sum_ratings
from dissensus.stats.groups.estimates import between_share
from dissensus.stats.groups.statistics import group_estimates
from dissensus.stats.result import ZERO, BoolArray, Estimate, Int32Array, Int64Array

Value = Estimate | UndefinedEstimate

RATED, BOTH, PAIRED, BOTH_PAIRED = range(4)
ITEMS: Final = {
    "answer_share": RATED,
    "mean_difference": BOTH,
    "pairwise_agreement": PAIRED,
    "group_distance": BOTH_PAIRED,
    "irr": PAIRED,
    "xrr": BOTH,
    "negentropy": RATED,
    "cross_negentropy": BOTH,
    "plurality_size": RATED,
    "voting_agreement": BOTH,
    "gai": BOTH,
    "corrected_gai": PAIRED,
    "pairwise_agreement_difference": BOTH_PAIRED,
}
"""Items that enter each statistic: those with a rating, or with two, of the group or of both groups."""
RATIOS: Final = {"gai": ("irr", "xrr"), "corrected_gai": ("xrr",)}
"""Statistics whose reasons come before those of a ratio, in their order."""
TIED: Final = ("plurality_size", "voting_agreement")
NO_CHANCE: Final = "Corrected GAI is undefined: IRR is undefined, or XRR is not positive."


def estimate_blocks(
    design: BlockedDesign, axis: AxisComparison, answer: int, columns: tuple[str, ...]
) -> tuple[list[dict[str, Value]], Value]:
    """Return the estimates of each comparison, and the share of disagreement between the groups of the axis."""
    group, sides = axis.codes[None], (axis.inside, axis.outside)
    statistics, paired = group_estimates(design, group, *sides, answer=answer)
    numbers, n_items = _published_numbers(design, group, *sides)
    ties, paired_outside, n_between = _count_items(design, axis)
    with_differences = DIFFERENCES[0] in columns and axis.name is not None
    reverse = _published_numbers(design, group, *sides[::-1]) if with_differences else None
    estimates: list[dict[str, Value]] = []
    for c, (g, h) in enumerate(zip(*sides, strict=True)):
        of_group = {name: float(statistics.of(name)[0, c]) for name in list(ITEMS)[:4]}
        of_group[DIFFERENCES[0]] = float(statistics.agreement_difference[0, c])
        alpha, xrr = float(statistics.of("distinct_alpha")[0, c]), numbers[c]["xrr"]
        of_group["corrected_gai"] = alpha / xrr if xrr > ZERO else np.nan
        items = (*n_items[c], *paired[c])
        values = {name: _estimate(name, n, items, numbers[c], design) for name, n in (numbers[c] | of_group).items()}
        for name, tied in zip(TIED, ties[c].tolist(), strict=True):
            if isinstance(estimate := values[name], Estimate):
                values[name] = replace(estimate, ties=tied)
        if axis.sizes[g] == 1:
            values |= dict.fromkeys(ALONE, UndefinedEstimate(ONE_RATER))
        if reverse is not None and g != h:
            other = (*reverse[1][c], paired_outside[c], items[BOTH_PAIRED])
            values |= _subtract(values, reverse[0][c], other, design)
        estimates.append(values if axis.name is not None and g != h else _select_within(values, design))
    return estimates, _between(axis, statistics.between_share[0], n_between, design)


def _select_within(values: dict[str, Value], design: BlockedDesign) -> dict[str, Value]:
    """Return the statistics that compare no groups."""
    within = within_estimators(design, 0)
    return {name: value for name, value in values.items() if name in within}


def _published_numbers(
    design: BlockedDesign, group: Int32Array, inside: Int32Array, outside: Int32Array
) -> tuple[list[dict[str, float]], Int64Array]:
    """Return the published statistics of each comparison, and the items rated by the group and by both groups."""
    (sums,) = sum_ratings(design, group, inside, outside)
    rows = kernels.metrics(sums, design.n_categories).tolist()
    n_items = sums[:, [kernels.RATED, kernels.BOTH]].astype(np.int64)
    return [dict(zip(METRICS, row, strict=True)) for row in rows], n_items


def _estimate(
    name: str, value: float, items: tuple[int, ...], published: dict[str, float], design: BlockedDesign
) -> Value:
    n = int(items[ITEMS[name]])
    if np.isnan(value):
        return UndefinedEstimate(_explain(name, items, published, design))
    return Estimate(estimate=value, method=name, n_items=n, n_dropped=design.n_items - n, n_ratings=0)


def _explain(name: str, items: tuple[int, ...], published: dict[str, float], design: BlockedDesign) -> str:
    """Return the reason why a statistic is undefined: that of its estimator, for items of the same kind."""
    if name in RATIOS:
        undefined = [part for part in RATIOS[name] if np.isnan(published[part])]
        if not undefined:
            negative = f"GAI is undefined: XRR is {published['xrr']:.4f}, and it must be positive."
            return negative if name == "gai" else NO_CHANCE
        name = undefined[0]
    # Counts of one item for which the estimator gives the same reason.
    witness = np.zeros((1, design.n_categories), np.int64)
    witness[0, 0] = 2 if items[ITEMS[name]] else 0
    within = within_estimators(design, 0)
    estimator = within.get(name) or across_estimators(design, 0)[name]
    try:
        estimator(*[witness] * (1 if name in within else 2))
    except UndefinedEstimate as reason:
        return str(reason)
    raise AssertionError(f"{name} is undefined for no known reason")


def _subtract(
    values: dict[str, Value], reverse: dict[str, float], items: tuple[int, ...], design: BlockedDesign
) -> dict[str, Value]:
    """Return the differences of published statistics from those of the group compared with."""
    result: dict[str, Value] = {}
    for metric, name in zip(COMPARED[1:], DIFFERENCES[1:], strict=True):
        first, second = values[metric], _estimate(metric, reverse[metric], items, reverse, design)
        if isinstance(first, Estimate) and isinstance(second, Estimate):
            result[name] = replace(first, estimate=first.estimate - second.estimate, method=name, ties=None)
        else:
            result[name] = first if isinstance(first, UndefinedEstimate) else second
    return result


def _between(axis: AxisComparison, value: float, n_items: int, design: BlockedDesign) -> Value:
    if axis.name is None:
        return UndefinedEstimate("compares groups; name an axis")
    if not np.isnan(value):
        n_dropped = design.n_items - n_items
        return Estimate(
            estimate=float(value), method="between_share", n_items=n_items, n_dropped=n_dropped, n_ratings=0
        )
    witness = np.zeros((2, 1, design.n_categories), np.int64)
    witness[..., 0] = 2 if n_items else 0
    try:
        return between_share(witness)
    except UndefinedEstimate as reason:
        return reason


def _count_items(design: BlockedDesign, axis: AxisComparison) -> tuple[Int64Array, Int64Array, int]:
    """Count the items that the estimators of counts report and sums over blocks do not.

    Returns those with a tie for each comparison, in the group and in either of both groups, shape (C, 2); those with
    two ratings of the group compared with, shape (C,); and those with two ratings of each of at least two groups.
    """
    n_comparisons = len(axis.inside)
    ties, paired, compared = (
        np.zeros((n_comparisons, 2), np.int64),
        np.zeros(n_comparisons, np.int64),
        np.zeros(1, np.int64),
    )

    def fill(block: Block, ties: Int64Array, paired: Int64Array, compared: Int64Array) -> None:
        counts = block.design.counts(axis.codes)
        total = counts.sum(axis=0)
        n_of_group = _sum_answers(counts)
        compared += np.count_nonzero((n_of_group > 1).sum(axis=0) > 1)
        for c, (g, h) in enumerate(zip(axis.inside, axis.outside, strict=True)):
            rated, tied = _find_ties(counts[g])
            other = total - counts[g] if h < 0 else counts[h]
            rated_other, tied_other = _find_ties(other)
            paired[c] += np.count_nonzero(_sum_answers(other) > 1)
            ties[c] += np.count_nonzero(tied), np.count_nonzero(rated & rated_other & (tied | tied_other))

    pass_over(design, fill, ties, paired, compared)
    return ties, paired, int(compared[0])


def _find_ties(counts: Int32Array) -> tuple[BoolArray, BoolArray]:
    """Return which items are rated, and which of them have a tie for the most frequent answer."""
    columns = counts.T
    top = reduce(np.maximum, columns)
    return top > 0, (top > 0) & (sum(column == top for column in columns) > 1)


def _sum_answers(counts: Int32Array) -> Int32Array:
    """Return sums over the last axis, some 20 times as fast as NumPy's own sum over so short an axis."""
    total: Int32Array = reduce(np.add, np.moveaxis(counts, -1, 0))
    return total
