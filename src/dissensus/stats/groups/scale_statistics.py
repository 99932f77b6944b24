"""Alpha, XRR and the probability of superiority of ordered answers, for many replicates of many groups."""

from dataclasses import dataclass

import numpy as np

from dissensus.stats import kernels
from dissensus.stats.design import METRICS, Design, run_in_threads, sum_ratings, to_int32, to_weight
from dissensus.stats.groups import scale_kernels
from dissensus.stats.groups.scale import OrderedScale, mid_ranks
from dissensus.stats.result import ZERO, FloatArray, IntArray

_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrderedStatistics:
    """Statistics of ordered answers of each comparison in each replicate, shape (B, C); NaN where undefined.

    Parameters
    ----------
    alpha, xrr
        Krippendorff's alpha within the group, and XRR.
    distinct_alpha
        Alpha with an expected disagreement over ratings of distinct raters.
    superiority
        Probability that a rater of the group gives a higher answer to an item than one of the group compared with,
        plus half of that of the same answer.
    superiority_t
        Studentised superiority less one half; NaN for weighted replicates.
    """

    alpha: FloatArray
    xrr: FloatArray
    distinct_alpha: FloatArray
    superiority: FloatArray
    superiority_t: FloatArray


def ordered_statistics(
    design: Design,
    scale: OrderedScale,
    group: IntArray,
    inside: IntArray,
    outside: IntArray,
    *,
    rater_weight: IntArray | None = None,
    item_weight: IntArray | None = None,
    is_published: bool = False,
) -> OrderedStatistics:
    r"""Return the statistics of ordered answers of each comparison in each replicate.

    The difference function of alpha and XRR is Krippendorff's: :math:`(u_c - u_k)^2` with the numbers of the answers at
    the interval level, and at the ordinal level with their mid-ranks among the pairable answers of the group, or among
    those of both groups to the items that both rated. The probability of superiority is

    .. math:: \hat\theta = \frac{\sum_i w_i \hat\theta_i}{\sum_i w_i}, \qquad
              \hat\theta_i = P(X_i > Y_i) + \tfrac12 P(X_i = Y_i), \qquad
              w_i = \frac{m_{gi} m_{hi}}{m_{gi} + m_{hi}}

    and :math:`\hat\theta_i - \tfrac12` is the difference of the mean ridits (mid-ranks over :math:`m_{gi} + m_{hi}`) of
    the two groups, so that its standard error is that of `mean_difference` with ridits for answers.

    Parameters
    ----------
    design, group, inside, outside, rater_weight, item_weight
        As for `statistics` in `dissensus.stats.design`.
    scale
        The answers.
    is_published
        Whether to leave out distinct alpha and the studentised superiority, NaN then: they take two thirds of the time.

    Returns
    -------
    OrderedStatistics

    References
    ----------
    Brunner, E. and Munzel, U. (2000). The nonparametric Behrens-Fisher problem. Biometrical Journal 42.

    Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability.
    """
    weights = {"rater_weight": rater_weight, "item_weight": item_weight}
    first = sum_ratings(design, group, inside, outside, **weights)
    fixed = np.moveaxis(first[..., : kernels.N_FIXED], -1, 0)
    blocks = first[..., kernels.N_FIXED :].reshape(*first.shape[:-1], kernels.N_BLOCKS, design.n_categories)
    marginals, shared_in, shared_out, _ = np.moveaxis(blocks, -2, 0)
    own, shared = _points(scale, marginals), _points(scale, shared_in + shared_out)
    sums = np.zeros((*first.shape[:2], scale_kernels.N_SUMS))
    arrays = to_int32(group), to_weight(rater_weight, design.n_raters), to_weight(item_weight, design.n_items)
    lists, sides = design.by_item, (inside.astype(np.int64), outside.astype(np.int64))
    errors = rater_weight is None and item_weight is None and not is_published

    def fill(part: slice) -> None:
        parts = [a if len(a) == 1 else a[part] for a in arrays]
        scale_kernels.fill_ordered(
            sums[part], *lists, *parts, *sides, own[part], shared[part], not is_published, errors
        )

    run_in_threads(fill, len(first))
    row = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        n, observed = fixed[kernels.IN_M], row[scale_kernels.WITHIN] / fixed[kernels.IN_M]
        spread = 2 * (n * (marginals * own**2).sum(axis=-1) - (marginals * own).sum(axis=-1) ** 2)
        expected = _nan_unless_positive(spread / (n * n - fixed[kernels.IN_SQUARES]))
        distinct = n * n - row[scale_kernels.SELF_PAIRS]
        by_chance = np.where(distinct > 0, (spread - row[scale_kernels.SELF_SPREAD]) / distinct, np.nan)
        p, q = (side / side.sum(axis=-1, keepdims=True) for side in (shared_in, shared_out))
        across = (p * shared**2 + q * shared**2).sum(axis=-1) - 2 * (p * shared).sum(axis=-1) * (q * shared).sum(
            axis=-1
        )
        between = row[scale_kernels.ACROSS] / (fixed[kernels.BOTH_IN] + fixed[kernels.BOTH_OUT])
        gap, squares = row[scale_kernels.SUPERIORITY], row[scale_kernels.SUPERIORITY_SQUARES]
        gap = np.where(np.abs(gap) < 1e-9, 0.0, gap)
        weight = row[scale_kernels.WEIGHT]
        return OrderedStatistics(
            alpha=1 - observed / expected,
            xrr=1 - between / _nan_unless_positive(across),
            distinct_alpha=1 - observed / _nan_unless_positive(by_chance)
            if not is_published
            else np.full(gap.shape, np.nan),
            superiority=0.5 + gap / np.where(weight > 0, weight, np.nan),
            superiority_t=np.where(weight > 0, gap / np.sqrt(np.maximum(squares, ZERO)), np.nan)
            if errors
            else np.full(gap.shape, np.nan),
        )


def ordered_metrics(published: FloatArray, ordered: OrderedStatistics) -> FloatArray:
    """Return the statistics of `METRICS` with alpha, XRR and GAI of ordered answers; the others are nominal."""
    result = published.copy()
    with np.errstate(invalid="ignore", divide="ignore"):
        gai = np.where(ordered.xrr > ZERO, ordered.alpha / ordered.xrr, np.nan)
    for name, values in (("irr", ordered.alpha), ("xrr", ordered.xrr), ("gai", gai)):
        result[..., METRICS.index(name)] = values
    return result


def _points(scale: OrderedScale, marginals: FloatArray) -> FloatArray:
    """Return the points of the answers in each comparison of each replicate, from 0 to 1, shape (B, C, K)."""
    if scale.level == "interval":
        return np.broadcast_to(scale.shares, marginals.shape).copy()
    return np.asarray(mid_ranks(marginals) / np.maximum(marginals.sum(axis=-1, keepdims=True), 1))


def _nan_unless_positive(expected: FloatArray) -> FloatArray:
    return np.where(expected > _ROUNDING, expected, np.nan)
