"""Statistics of groups over many replicates, unbiased in the number of ratings."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.stats import kernels as published_kernels
from dissensus.stats.bootstrap import Resample
from dissensus.stats.design import BlockedDesign, Design, run_in_threads, statistics, to_int32
from dissensus.stats.groups import kernels, resample_kernels
from dissensus.stats.groups.block_sums import list_runs, sum_items, sum_published_resamples, sum_resamples
from dissensus.stats.groups.scale_statistics import ordered_metrics, ordered_statistics
from dissensus.stats.result import ZERO, BoolArray, FloatArray, Int64Array, IntArray

Part = tuple[slice, slice]
"""Replicates of raters, and weightings of items, that one thread fills."""

_ROUNDING = 1e-9
STATISTICS = (
    "answer_share",
    "mean_difference",
    "pairwise_agreement",
    "group_distance",
    "distinct_alpha",
    "superiority",
)
"""Statistics of each comparison, in order; of ordered answers the first is the mean."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupStatistics:
    """Statistics of each comparison in each replicate; NaN where undefined.

    Parameters
    ----------
    values
        Shape (B, C, 6), in the order of `STATISTICS`.
    agreement_difference
        Difference of the pairwise agreements of the two groups over the items with two raters of each, shape (B, C).
    difference_t, agreement_t, distance_t, superiority_t
        Studentised `mean_difference`, `agreement_difference`, `group_distance` and superiority, shape (B, C); NaN for
        bootstrap replicates, and superiority of nominal answers.
    between_share, between_t
        Decomposition over all pairs of groups, and the studentised sum of their distances, shape (B,).
    pair_distance, pair_t
        Distance of each pair of groups, shape (B, P), in the order of ``itertools.combinations``, and studentised.
    """

    values: FloatArray
    agreement_difference: FloatArray
    difference_t: FloatArray
    agreement_t: FloatArray
    distance_t: FloatArray
    superiority_t: FloatArray
    between_share: FloatArray
    between_t: FloatArray
    pair_distance: FloatArray
    pair_t: FloatArray

    def of(self, name: str) -> FloatArray:
        """Return one statistic, shape (B, C)."""
        return np.asarray(self.values[..., STATISTICS.index(name)])


def group_statistics(
    design: Design | BlockedDesign,
    group: IntArray,
    inside: IntArray,
    outside: IntArray,
    *,
    answer: int,
) -> GroupStatistics:
    r"""Return the unbiased statistics of each comparison in each replicate.

    With :math:`n_{gik}` raters of group g who gave answer k to item i, :math:`m_{gi} = \sum_k n_{gik}`,

    .. math::

        W_{gi} = \sum_k \frac{n_{gik} (n_{gik} - 1)}{m_{gi} (m_{gi} - 1)}, \qquad
        B_{ghi} = \sum_k \frac{n_{gik} n_{hik}}{m_{gi} m_{hi}}, \qquad
        D_{ghi} = \tfrac12 W_{gi} + \tfrac12 W_{hi} - B_{ghi}

    `pairwise_agreement` is the mean of :math:`W_{gi}` over items with two raters of the group, `group_distance` that of
    :math:`D_{ghi}` over items with two raters of each group, and `between_share`
    :math:`\sum_{g<h} \bar D_{gh} / \sum_{g<h} (1 - \bar B_{gh})`. `mean_difference` is

    .. math:: \hat\delta = \frac{\sum_i w_i (\bar y_{gi} - \bar y_{hi})}{\sum_i w_i}, \qquad
              w_i = \frac{m_{gi} m_{hi}}{m_{gi} + m_{hi}}

    with the share :math:`\bar y_{gi}` of an answer: the coefficient of the group in a regression with an intercept for
    each item. `distinct_alpha` is Krippendorff's alpha with an expected disagreement over ratings of distinct raters.

    Of ordered answers (`Design.scale`), :math:`\bar y_{gi}` is the mean of their numbers, and two raters agree by the
    likeness :math:`A` of their answers,
    :math:`W_{gi} = \sum_{ck} A_{ck} n_{gic} (n_{gik} - [c = k]) / (m_{gi} (m_{gi} - 1))`, and :math:`B` likewise:
    :math:`D_{ghi}` is then half the energy distance of the two distributions, over the range of the scale. See
    `ordered_statistics` for alpha and superiority.

    Parameters
    ----------
    design
        The ratings.
    group, inside, outside
        As for `statistics` in `dissensus.stats.design`.
    answer
        Code of the answer whose share is compared.

    Returns
    -------
    GroupStatistics
        The result does not depend on the number of threads.

    Raises
    ------
    InvalidInput
        A comparison uses a code beyond the largest group code, or the answer does not exist.

    Notes
    -----
    Standard errors are clustered by rater: squared sums of the scores of each rater, times n/(n - 1) in each group;
    those of distances, whose scores are not centred within groups, have no factor. In a complete design `difference_t`
    is Welch's t of the rater means, and replicates follow from the agreement of every two raters.

    References
    ----------
    Janssen, A. (1997). Studentized permutation tests for non-i.i.d. hypotheses and the generalized Behrens-Fisher
    problem. Statistics & Probability Letters 36.

    Examples
    --------
    Two raters of each group and one item, on which one rater of the second group differs:

    >>> design = Design(np.zeros(4, int), np.arange(4), np.array([1, 1, 1, 0]), 1, 4, 2)
    >>> result = group_statistics(design, np.array([[0, 0, 1, 1]]), np.array([0]), np.array([1]), answer=1)
    >>> result.of("pairwise_agreement").item(), result.of("group_distance").item(), result.of("mean_difference").item()
    (1.0, 0.0, 0.5)
    """
    _check_codes(design, group, inside, outside, answer)
    n_replicates = len(group)
    sums, pairs = _empty_sums(group, inside, n_replicates)
    total = np.zeros(n_replicates)
    group, inside, outside = to_int32(group), inside.astype(np.int64), outside.astype(np.int64)
    worth, alike = _worth(design, answer)
    if isinstance(design, BlockedDesign):
        sum_items(design, group, (inside, outside, worth, alike), sums, pairs, total)
        return _summarise(sums, pairs, total)
    grouped = group >= 0
    complete = _complete_part(design, grouped[0], worth) if (grouped == grouped[0]).all() else None
    if complete is not None:

        def fill(part: slice) -> None:
            kernels.fill_complete(sums[part], pairs[part], total[part], *complete, group[part], inside, outside)

    else:
        compared = inside, outside, worth, alike
        lists = design.by_item

        def fill(part: slice) -> None:
            kernels.fill_items(sums[part], pairs[part], total[part], *lists, group[part], *compared)

    run_in_threads(fill, n_replicates)
    return _add_ordered(_summarise(sums, pairs, total), design, group, inside, outside)


def group_estimates(
    design: BlockedDesign, group: IntArray, inside: IntArray, outside: IntArray, *, answer: int
) -> tuple[GroupStatistics, Int64Array]:
    """Return the statistics of `group_statistics` without their studentised forms, group (1, R), and numbers of items.

    The items, shape (C, 2), are those with two distinct raters of the group, and of both groups.
    """
    _check_codes(design, group, inside, outside, answer)
    sums, pairs = _empty_sums(group, inside, 1)
    sides = inside.astype(np.int64), outside.astype(np.int64)
    sum_items(design, group, (*sides, *_worth(design, answer)), sums, pairs, None)
    n_items = sums[0][:, [kernels.PAIRABLE, kernels.BOTH]].astype(np.int64)
    return _summarise(sums, pairs), n_items


def published_statistics(
    design: Design | BlockedDesign,
    group: IntArray,
    inside: IntArray,
    outside: IntArray,
    *,
    rater_weight: IntArray | None = None,
    item_weight: IntArray | None = None,
) -> FloatArray:
    """Return the statistics of `METRICS`, with alpha, XRR and GAI at the level of the answers, shape (B, C, 7).

    Negentropy, cross-negentropy, plurality size and voting agreement are nominal. Arguments as for `statistics`.
    """
    weights = {"rater_weight": rater_weight, "item_weight": item_weight}
    return _add_ordered_metrics(
        statistics(design, group, inside, outside, **weights), design, group, inside, outside, **weights
    )


def _add_ordered_metrics(
    published: FloatArray,
    design: Design | BlockedDesign,
    group: IntArray,
    inside: IntArray,
    outside: IntArray,
    **weights: IntArray | None,
) -> FloatArray:
    """Return published statistics with alpha, XRR and GAI at the level of the answers."""
    if isinstance(design, BlockedDesign) or design.scale is None:
        return published
    return ordered_metrics(
        published, ordered_statistics(design, design.scale, group, inside, outside, is_published=True, **weights)
    )


def _worth(design: Design | BlockedDesign, answer: int) -> tuple[FloatArray, FloatArray | None]:
    """Return the values whose means are compared, from 0 to 1, and the likeness of answers, None if nominal."""
    if design.scale is None:
        return np.eye(design.n_categories)[answer], None
    return design.scale.shares, design.scale.likeness


def _add_ordered(
    result: GroupStatistics,
    design: Design | BlockedDesign,
    group: IntArray,
    inside: IntArray,
    outside: IntArray,
    **weights: IntArray | None,
) -> GroupStatistics:
    """Return means in the numbers of ordered answers, with alpha over distinct raters and superiority."""
    if isinstance(design, BlockedDesign) or (scale := design.scale) is None:
        return result
    ordered = ordered_statistics(design, scale, group, inside, outside, is_published=False, **weights)
    values = result.values.copy()
    for name, value in (
        ("answer_share", scale.values[0] + scale.span * result.of("answer_share")),
        ("mean_difference", scale.span * result.of("mean_difference")),
        ("distinct_alpha", ordered.distinct_alpha),
        ("superiority", ordered.superiority),
    ):
        values[..., STATISTICS.index(name)] = value
    return replace(result, values=values, superiority_t=ordered.superiority_t)


def resample_statistics(
    design: Design | BlockedDesign,
    group: IntArray,
    inside: IntArray,
    outside: IntArray,
    *,
    answer: int,
    rater_weight: IntArray | None = None,
    item_weight: IntArray | None = None,
) -> dict[Resample, GroupStatistics]:
    """Return the statistics of `group_statistics` in bootstrap replicates, without their studentised forms.

    Parameters
    ----------
    design, inside, outside, answer
        As for `group_statistics`.
    group
        Group of each rater, shape (R,); negative for raters without a group.
    rater_weight, item_weight
        Number of times that each rater and each item enters each replicate, shapes (B, R) and (B, I).

    Returns
    -------
    dict
        Replicates of "raters" and of "items" alone, as far as their weights are given, and of "both" if both are.

    Raises
    ------
    InvalidInput
        As for `group_statistics`.

    Notes
    -----
    Two copies of one rater do not form a pair.

    Examples
    --------
    The first of two items alone, drawn twice:

    >>> design = Design(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([1, 1, 0, 1]), 2, 2, 2)
    >>> replicates = resample_statistics(
    ...     design, np.array([0, 0]), np.array([0]), np.array([-1]), answer=1, item_weight=np.array([[2, 0]])
    ... )
    >>> replicates["items"].of("pairwise_agreement").item()
    1.0
    """
    _check_codes(design, group, inside, outside, answer)
    group, inside, outside = to_int32(group), inside.astype(np.int64), outside.astype(np.int64)
    compared = inside, outside, *_worth(design, answer)
    lists = () if isinstance(design, BlockedDesign) else (design.marks, *_list_runs(design, group))

    def compute(rater_weight: IntArray, item_weights: IntArray) -> tuple[FloatArray, FloatArray]:
        sums, pairs = _empty_sums(group, inside, *item_weights.shape[:2])
        if isinstance(design, BlockedDesign):
            sum_resamples(design, group, compared, rater_weight, item_weights, sums, pairs)
            return sums, pairs

        def fill(part: Part) -> None:
            weights = rater_weight[part[0]], item_weights[part]
            resample_kernels.fill_resamples(sums[part], pairs[part], *lists, group, *weights, *compared)

        _run_resamples(fill, item_weights)
        return sums, pairs

    return {
        name: _add_ordered(_summarise(*sums), design, group[None], inside, outside, **weights)
        for name, (sums, weights) in _resample(design, rater_weight, item_weight, compute).items()
    }


def resample_published(
    design: Design | BlockedDesign,
    group: IntArray,
    inside: IntArray,
    outside: IntArray,
    *,
    rater_weight: IntArray | None = None,
    item_weight: IntArray | None = None,
) -> dict[Resample, FloatArray]:
    """Return the statistics of `published_statistics` in bootstrap replicates, shape (B, C, 7) each.

    Arguments, keys and errors as for `resample_statistics`.

    Examples
    --------
    The first of two items alone, drawn twice:

    >>> design = Design(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([1, 1, 0, 1]), 2, 2, 2)
    >>> replicates = resample_published(
    ...     design, np.array([0, 0]), np.array([0]), np.array([-1]), item_weight=np.array([[2, 0]])
    ... )
    >>> replicates["items"][0, 0, 4].item()  # plurality size
    1.0
    """
    _check_codes(design, group, inside, outside, 0)
    group, inside, outside = to_int32(group), inside.astype(np.int64), outside.astype(np.int64)
    lists = () if isinstance(design, BlockedDesign) else (design.marks, *list_runs(design, group))

    def compute(rater_weight: IntArray, item_weights: IntArray) -> tuple[FloatArray]:
        sums = np.zeros((*item_weights.shape[:2], len(inside), published_kernels.width(design.n_categories)))
        if isinstance(design, BlockedDesign):
            sum_published_resamples(design, group, (inside, outside), rater_weight, item_weights, sums)
            return (sums,)
        logs = published_kernels.tables(design.most_ratings * int(rater_weight.max(initial=0)))

        def fill(part: Part) -> None:
            weights = rater_weight[part[0]], item_weights[part]
            published_kernels.fill_resamples(sums[part], *lists, group, *weights, inside, outside, *logs)

        _run_resamples(fill, item_weights)
        return (sums,)

    return {
        name: _add_ordered_metrics(
            published_kernels.metrics(sums, design.n_categories), design, group[None], inside, outside, **weights
        )
        for name, ((sums,), weights) in _resample(design, rater_weight, item_weight, compute).items()
    }


def _resample(
    design: Design | BlockedDesign,
    rater_weight: IntArray | None,
    item_weight: IntArray | None,
    compute: Callable[[IntArray, IntArray], tuple[FloatArray, ...]],
) -> dict[Resample, tuple[tuple[FloatArray, ...], dict[str, IntArray | None]]]:
    """Return the sums and the weights of "raters", "items" and "both", as far as their weights are given.

    The answers to an item are counted once for "raters" and "both", and once for all replicates of "items":
    `compute` returns the sums of replicates of raters (B, R), each with V weightings of the items (B, V, I).
    """
    replicates: dict[Resample, tuple[tuple[FloatArray, ...], dict[str, IntArray | None]]] = {}
    rater_weight, item_weight = (None if w is None else to_int32(w) for w in (rater_weight, item_weight))
    if rater_weight is not None:
        once = np.ones((len(rater_weight), design.n_items), np.int32)
        sums = compute(rater_weight, np.stack([once] if item_weight is None else [item_weight, once], axis=1))
        if item_weight is not None:
            both = tuple(array[:, 0] for array in sums)
            replicates["both"] = both, {"rater_weight": rater_weight, "item_weight": item_weight}
        replicates["raters"] = tuple(array[:, -1] for array in sums), {"rater_weight": rater_weight}
    if item_weight is not None:
        sums = compute(np.ones((1, design.n_raters), np.int32), item_weight[None])
        replicates["items"] = tuple(array[0] for array in sums), {"item_weight": item_weight}
    return replicates


def _run_resamples(fill: Callable[[Part], None], item_weights: IntArray) -> None:
    """Fill replicates of raters in threads, or those of items if there is but one of raters."""
    n_raters, n_items = item_weights.shape[:2]
    if n_raters > 1:
        run_in_threads(lambda part: fill((part, slice(None))), n_raters)
    else:
        run_in_threads(lambda part: fill((slice(None), part)), n_items)


def _check_codes(
    design: Design | BlockedDesign, group: IntArray, inside: IntArray, outside: IntArray, answer: int
) -> None:
    if max(inside.max(initial=-1), outside.max(initial=-1)) > group.max(initial=-1):
        raise InvalidInput("A comparison uses a group without raters. Leave it out.")
    if not 0 <= answer < design.n_categories:
        raise InvalidInput(f"answer is {answer}; give a code from 0 to {design.n_categories - 1}.")


def _empty_sums(group: IntArray, inside: IntArray, *n_replicates: int) -> tuple[FloatArray, FloatArray]:
    n_groups = int(group.max(initial=-1)) + 1
    sums = np.zeros((*n_replicates, len(inside), kernels.N_SUMS))
    return sums, np.zeros((*n_replicates, n_groups * (n_groups - 1) // 2, kernels.N_PAIR_SUMS))


def _list_runs(design: Design, group: IntArray) -> tuple[IntArray, ...]:
    """Return the ratings as `fill_resamples` reads them: by item, group and answer, and by rater and answer."""
    grouped = group[design.raters] >= 0
    items, raters, answers = (array[grouped] for array in (design.items, design.raters, design.answers))
    n_own = design.n_raters * design.n_categories
    own = raters.astype(np.int64) * design.n_categories + answers
    own_runs = np.concatenate([[0], np.bincount(own, minlength=n_own).cumsum()])
    return *list_runs(design, group), own_runs, items[np.argsort(own, kind="stable")].astype(np.int32)


def _complete_part(
    design: Design, grouped: BoolArray, worth: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, int] | None:
    """Return the arrays of `fill_complete`, or None if some rater with a group left out an item."""
    used_ratings = grouped[design.raters]
    n_rated = np.bincount(design.items[used_ratings], minlength=design.n_items)
    n_items, n_raters = int((n_rated > 0).sum()), int(grouped.sum())
    # Beyond this the matrix of raters costs more than the walk through the ratings.
    if not n_items or (n_rated[n_rated > 0] != n_raters).any() or n_raters > 8 * n_items:
        return None
    cell = design.raters.astype(np.int64) * design.n_categories + design.answers
    own = np.bincount(cell, minlength=design.n_raters * design.n_categories).reshape(design.n_raters, -1).astype(float)
    return design.same_answers, own @ worth, own, n_items


def _summarise(sums: FloatArray, pairs: FloatArray, squares: FloatArray | None = None) -> GroupStatistics:
    """Return statistics of sums; without the squares of the share between groups, nothing is studentised."""
    if squares is None:
        squares = np.full(len(sums), np.nan)
        sums[..., [kernels.DIFFERENCE_SQUARES, kernels.EXCESS_SQUARES, kernels.DISTANCE_SQUARES]] = np.nan
        pairs[..., kernels.PAIR_SQUARES] = np.nan
    part = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = part[kernels.DIFFERENCE] / part[kernels.WEIGHT]
        expected = 1 - part[kernels.DISTINCT_SAME] / part[kernels.DISTINCT]
        expected = np.where(expected > 0, expected, np.nan)
        values = [
            part[kernels.WORTH] / part[kernels.RATINGS],
            difference,
            part[kernels.AGREEMENT] / part[kernels.PAIRABLE],
            part[kernels.DISTANCE] / part[kernels.BOTH],
            1 - part[kernels.DISAGREEMENT] / part[kernels.PAIRABLE_RATINGS] / expected,
            np.full(difference.shape, np.nan),
        ]
        items = np.where(pairs[..., kernels.PAIR_ITEMS] > 0, pairs[..., kernels.PAIR_ITEMS], np.nan)
        distance, between = pairs[..., kernels.PAIR_DISTANCE] / items, pairs[..., kernels.PAIR_BETWEEN] / items
        total = np.nansum(between, axis=-1)
        varied = total > ZERO
        share = np.where(varied, np.nansum(distance, axis=-1) / np.where(varied, total, 1), np.nan)
        gap, both = part[kernels.EXCESS] - part[kernels.EXCESS_OTHER], part[kernels.BOTH]
        return GroupStatistics(
            values=np.stack(values, axis=-1),
            agreement_difference=np.where(both > 0, gap / both, np.nan),
            difference_t=_studentise(
                part[kernels.DIFFERENCE], part[kernels.DIFFERENCE_SQUARES], part[kernels.WEIGHT] > 0
            ),
            agreement_t=_studentise(gap, part[kernels.EXCESS_SQUARES], both > 0),
            distance_t=_studentise(part[kernels.DISTANCE], part[kernels.DISTANCE_SQUARES], both > 0),
            superiority_t=np.full(difference.shape, np.nan),
            between_share=share,
            between_t=_studentise(np.nansum(distance, axis=-1), squares, varied),
            pair_distance=distance,
            pair_t=_studentise(pairs[..., kernels.PAIR_DISTANCE], pairs[..., kernels.PAIR_SQUARES], items > 0),
        )


def _studentise(total: FloatArray, squares: FloatArray, defined: BoolArray) -> FloatArray:
    """Return totals over their standard errors; large but finite where the standard error is zero."""
    exact = np.where(np.abs(total) < _ROUNDING, 0.0, total)
    return np.where(defined, exact / np.sqrt(np.maximum(squares, ZERO)), np.nan)
