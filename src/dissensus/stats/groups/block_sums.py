"""Sums of group statistics over blocks of items, completed by sums over raters after the last block."""

import numpy as np

from dissensus.stats import kernels as published_kernels
from dissensus.stats.design import Block, BlockedDesign, Design, pass_over, run_in_threads, to_int32
from dissensus.stats.groups import kernels, resample_kernels
from dissensus.stats.result import FloatArray, IntArray

Compared = tuple[IntArray, IntArray, FloatArray, FloatArray | None]
"""Group of each comparison, and the group that it is compared with; worth and likeness of the answers."""


def sum_items(
    design: BlockedDesign,
    group: IntArray,
    compared: Compared,
    sums: FloatArray,
    pairs: FloatArray,
    total: FloatArray | None,
) -> None:
    """Fill the sums of `kernels.fill_items`; without `total`, the squared errors are left out."""
    inside, outside, worth, _ = compared
    n_groups, n_scored = int(group.max(initial=-1)) + 1, 0 if total is None else design.n_raters
    scores = np.zeros((len(group), n_scored, kernels.score_width(inside.size, n_groups)))
    own, codes = np.zeros((len(group), design.n_raters, worth.size)), to_int32(group)

    def fill(block: Block, *totals: FloatArray) -> None:
        def fill_part(part: slice) -> None:
            arrays = (array[part] for array in totals)
            kernels.add_items(*arrays, *block.design.by_item, codes[part], n_groups, *compared)

        run_in_threads(fill_part, len(codes))

    pass_over(design, fill, sums, pairs, scores, own)
    if total is not None:
        kernels.finish_items(sums, pairs, total, scores, own, codes, inside, outside)
    else:
        resample_kernels.finish_resamples(sums[:, None], own[:, None], codes[0], inside)


def sum_resamples(
    design: BlockedDesign,
    group: IntArray,
    compared: Compared,
    rater_weight: IntArray,
    item_weights: IntArray,
    sums: FloatArray,
    pairs: FloatArray,
) -> None:
    """Fill the sums of `resample_kernels.fill_resamples`; arguments as there."""
    inside, _, worth, _ = compared
    n_groups = int(group.max(initial=-1)) + 1
    own = np.zeros((*item_weights.shape[:2], design.n_raters, worth.size))

    def fill(block: Block, *totals: FloatArray) -> None:
        runs, weights = list_runs(block.design, group), block.select_items(item_weights)
        n_parts = len(rater_weight) if len(rater_weight) > 1 else weights.shape[1]

        def fill_part(part: slice) -> None:
            where = (part, slice(None)) if len(rater_weight) > 1 else (slice(None), part)
            arrays = (array[where] for array in totals)
            weight = rater_weight[where[0]]
            resample_kernels.add_resamples(*arrays, *runs, n_groups, weight, weights[where], *compared)

        run_in_threads(fill_part, n_parts)

    pass_over(design, fill, sums, pairs, own)
    resample_kernels.finish_resamples(sums, own, group, inside)


def sum_published_resamples(
    design: BlockedDesign,
    group: IntArray,
    sides: tuple[IntArray, IntArray],
    rater_weight: IntArray,
    item_weights: IntArray,
    sums: FloatArray,
) -> None:
    """Fill the sums of `fill_resamples` in `dissensus.stats.kernels`; arguments as there."""
    logs = published_kernels.tables(design.most_ratings * int(rater_weight.max(initial=0)))

    def fill(block: Block, total: FloatArray) -> None:
        lists, weights = (block.design.marks, *list_runs(block.design, group)), block.select_items(item_weights)
        n_parts = len(rater_weight) if len(rater_weight) > 1 else weights.shape[1]

        def fill_part(part: slice) -> None:
            where = (part, slice(None)) if len(rater_weight) > 1 else (slice(None), part)
            weight = rater_weight[where[0]]
            published_kernels.fill_resamples(total[where], *lists, group, weight, weights[where], *sides, *logs)

        run_in_threads(fill_part, n_parts)

    pass_over(design, fill, sums)


def list_runs(design: Design, group: IntArray) -> tuple[IntArray, ...]:
    """Return the ratings sorted by item, group and answer, as kernels of weighted raters read them."""
    grouped = group[design.raters] >= 0
    items, raters, answers = (array[grouped] for array in (design.items, design.raters, design.answers))
    order = np.lexsort((answers, group[raters], items))
    cells = np.stack([items[order], group[raters[order]], answers[order]]).astype(np.int64)
    first = np.flatnonzero(np.diff(cells, axis=1, prepend=-1).any(axis=0))
    of_item = np.searchsorted(cells[0, first], np.arange(design.n_items + 1))
    return of_item, np.append(first, len(order)), cells[1, first], cells[2, first], raters[order].astype(np.int32)
