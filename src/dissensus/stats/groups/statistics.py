"""Statistics of groups over many replicates, unbiased in the number of ratings."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.design import Codes, Design, run_in_threads
from dissensus.stats.groups import kernels
from dissensus.stats.result import ZERO, FloatArray

_ROUNDING = 1e-9
STATISTICS = ("answer_share", "mean_difference", "pairwise_agreement", "group_distance", "distinct_alpha")
"""Statistics of each comparison, in order."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupStatistics:
    """Statistics of each comparison in each replicate; NaN where undefined.

    Parameters
    ----------
    values
        Shape (B, C, 5), in the order of `STATISTICS`.
    agreement_difference
        Difference of the pairwise agreements of the two groups over the items with two raters of each, shape (B, C).
    difference_t, agreement_t, distance_t
        Studentised `mean_difference`, `agreement_difference` and `group_distance`, shape (B, C); NaN for weighted
        replicates.
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
    between_share: FloatArray
    between_t: FloatArray
    pair_distance: FloatArray
    pair_t: FloatArray

    def of(self, name: str) -> FloatArray:
        """Return one statistic, shape (B, C)."""
        return np.asarray(self.values[..., STATISTICS.index(name)])


def group_statistics(
    design: Design,
    group: Codes,
    inside: Codes,
    outside: Codes,
    *,
    answer: int,
    rater_weight: Codes | None = None,
    item_weight: Codes | None = None,
) -> GroupStatistics:
    r"""Return the unbiased statistics of each comparison in each replicate.

    With :math:`c_{gik}` raters of group g who gave answer k to item i, :math:`m_{gi} = \sum_k c_{gik}`,

    .. math::

        W_{gi} = \sum_k \frac{c_{gik} (c_{gik} - 1)}{m_{gi} (m_{gi} - 1)}, \qquad
        B_{ghi} = \sum_k \frac{c_{gik} c_{hik}}{m_{gi} m_{hi}}, \qquad
        D_{ghi} = \tfrac12 W_{gi} + \tfrac12 W_{hi} - B_{ghi}

    `pairwise_agreement` is the mean of :math:`W_{gi}` over items with two raters of the group, `group_distance` that of
    :math:`D_{ghi}` over items with two raters of each group, and `between_share`
    :math:`\sum_{g<h} \bar D_{gh} / \sum_{g<h} (1 - \bar B_{gh})`. `mean_difference` is

    .. math:: \hat\delta = \frac{\sum_i w_i (\bar y_{gi} - \bar y_{hi})}{\sum_i w_i}, \qquad
              w_i = \frac{m_{gi} m_{hi}}{m_{gi} + m_{hi}}

    with the share :math:`\bar y_{gi}` of an answer: the coefficient of the group in a regression with an intercept for
    each item. `distinct_alpha` is Krippendorff's alpha with an expected disagreement over ratings of distinct raters.

    Parameters
    ----------
    design
        The ratings.
    group, inside, outside, rater_weight, item_weight
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
    Two copies of one rater in a bootstrap replicate do not form a pair. Standard errors are clustered by rater: squared
    sums of the scores of each rater, times n/(n - 1) in each group. In a complete design `difference_t` is Welch's t of
    the rater means. Where every rater rated every item, replicates follow from the agreement of every two raters.

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
    if max(inside.max(initial=-1), outside.max(initial=-1)) > group.max(initial=-1):
        raise InvalidInput("A comparison uses a group without raters. Leave it out.")
    if not 0 <= answer < design.n_categories:
        raise InvalidInput(f"answer is {answer}; give a code from 0 to {design.n_categories - 1}.")
    weights = [w for w in (rater_weight, item_weight) if w is not None]
    n_groups = int(group.max(initial=-1)) + 1
    n_replicates = len(weights[0]) if weights else len(group)
    sums = np.zeros((n_replicates, len(inside), kernels.N_SUMS))
    pairs = np.zeros((n_replicates, n_groups * (n_groups - 1) // 2, kernels.N_PAIR_SUMS))
    total = np.zeros(n_replicates)
    inside, outside = inside.astype(np.int64), outside.astype(np.int64)
    complete = None if weights else _complete_part(design, group[0] >= 0, answer)
    if complete is not None:

        def fill(part: slice) -> None:
            kernels.fill_complete(sums[part], pairs[part], total[part], *complete, group[part], inside, outside)

    else:
        arrays = (
            group.astype(np.int32, copy=False),
            np.ones((1, design.n_raters), np.int32) if rater_weight is None else rater_weight,
            np.ones((1, design.n_items), np.int32) if item_weight is None else item_weight,
        )
        lists = design.by_item

        def fill(part: slice) -> None:
            parts = [a if len(a) == 1 else a[part] for a in arrays]
            kernels.fill_items(
                sums[part], pairs[part], total[part], *lists, *parts, inside, outside, answer, not weights
            )

    run_in_threads(fill, n_replicates)
    return _summarise(sums, pairs, total)


def _complete_part(
    design: Design, grouped: npt.NDArray[np.bool_], answer: int
) -> tuple[FloatArray, FloatArray, FloatArray, int] | None:
    """Return the arrays of `fill_complete`, or None if some rater with a group left out an item."""
    used_ratings = grouped[design.raters]
    n_rated = np.bincount(design.items[used_ratings], minlength=design.n_items)
    n_items, n_raters = int((n_rated > 0).sum()), int(grouped.sum())
    # Beyond this the matrix of raters costs more than the walk through the ratings.
    if not n_items or (n_rated[n_rated > 0] != n_raters).any() or n_raters > 8 * n_items:
        return None
    matrix = np.full((design.n_raters, design.n_items), -1, np.int16)
    matrix[design.raters[used_ratings], design.items[used_ratings]] = design.answers[used_ratings]
    used = matrix[:, n_rated > 0]
    marks = [(used == k).astype(np.float64) for k in range(design.n_categories)]
    own = np.stack([mark.sum(axis=1) for mark in marks], axis=1)
    same = sum((mark @ mark.T for mark in marks), np.zeros((design.n_raters, design.n_raters)))
    return np.asarray(same), np.ascontiguousarray(own[:, answer]), own, n_items


def _summarise(sums: FloatArray, pairs: FloatArray, squares: FloatArray) -> GroupStatistics:
    part = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = part[kernels.DIFFERENCE] / part[kernels.WEIGHT]
        expected = 1 - part[kernels.DISTINCT_SAME] / part[kernels.DISTINCT]
        expected = np.where(expected > 0, expected, np.nan)
        values = [
            part[kernels.GIVEN] / part[kernels.RATINGS],
            difference,
            part[kernels.AGREEMENT] / part[kernels.PAIRABLE],
            part[kernels.DISTANCE] / part[kernels.BOTH],
            1 - part[kernels.DISAGREEMENT] / part[kernels.PAIRABLE_RATINGS] / expected,
        ]
        items = np.where(pairs[..., kernels.PAIR_ITEMS] > 0, pairs[..., kernels.PAIR_ITEMS], np.nan)
        distance, between = pairs[..., kernels.PAIR_DISTANCE] / items, pairs[..., kernels.PAIR_BETWEEN] / items
        total = np.nansum(between, axis=-1)
        share = np.where(total > 0, np.nansum(distance, axis=-1) / np.where(total > 0, total, 1), np.nan)
        gap, both = part[kernels.EXCESS] - part[kernels.EXCESS_OTHER], part[kernels.BOTH]
        return GroupStatistics(
            values=np.stack(values, axis=-1),
            agreement_difference=np.where(both > 0, gap / both, np.nan),
            difference_t=_studentise(
                part[kernels.DIFFERENCE], part[kernels.DIFFERENCE_SQUARES], part[kernels.WEIGHT] > 0
            ),
            agreement_t=_studentise(gap, part[kernels.EXCESS_SQUARES], both > 0),
            distance_t=_studentise(part[kernels.DISTANCE], part[kernels.DISTANCE_SQUARES], both > 0),
            between_share=share,
            between_t=_studentise(np.nansum(distance, axis=-1), squares, total > 0),
            pair_distance=distance,
            pair_t=_studentise(pairs[..., kernels.PAIR_DISTANCE], pairs[..., kernels.PAIR_SQUARES], items > 0),
        )


def _studentise(total: FloatArray, squares: FloatArray, defined: npt.NDArray[np.bool_]) -> FloatArray:
    """Return totals over their standard errors; large but finite where the standard error is zero."""
    exact = np.where(np.abs(total) < _ROUNDING, 0.0, total)
    return np.where(defined, exact / np.sqrt(np.maximum(squares, ZERO)), np.nan)
