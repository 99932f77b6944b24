"""Estimates from counts whose expectation does not depend on the number of ratings, and GAI over distinct raters."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.counts import as_floats, check_counts, check_groups, check_same_shape, count_ratings
from dissensus.stats.crossgroup import xrr
from dissensus.stats.distance import Level, check_values
from dissensus.stats.groups.scale import mid_ranks
from dissensus.stats.result import ZERO, BoolArray, Estimate, FloatArray, Int64Array


def answer_share(counts: npt.ArrayLike, answer: int) -> Estimate:
    r"""Estimate the share of one answer among the ratings of a group.

    .. math:: \frac{\sum_i n_{ia}}{\sum_i m_i}

    Parameters
    ----------
    counts
        Raters who gave each answer to each item, shape (I, K).
    answer
        Code of the answer.

    Returns
    -------
    Estimate
        Range 0 to 1. Items without ratings are dropped and counted.

    Raises
    ------
    UndefinedEstimate
        No item has a rating.

    Examples
    --------
    >>> float(answer_share([[1, 3], [0, 0], [2, 2]], 1))
    0.625
    """
    table = _check_answer(check_counts(counts), answer)
    m = count_ratings(table)
    if not m.any():
        raise UndefinedEstimate("The share of an answer is undefined: no item has a rating.")
    return _estimate(float(table[:, answer].sum() / m.sum()), "answer_share", m > 0, m)


def mean_difference(counts_x: npt.ArrayLike, counts_y: npt.ArrayLike, answer: int) -> Estimate:
    r"""Estimate the difference between two groups in the share of one answer, on the same items.

    .. math:: \hat\delta = \frac{\sum_i w_i (\bar y_{gi} - \bar y_{hi})}{\sum_i w_i}, \qquad
              w_i = \frac{m_{gi} m_{hi}}{m_{gi} + m_{hi}}

    which is the coefficient of the group in a least-squares regression with an intercept for each item. Groups that
    rated other items, or items more often, are compared on what both rated.

    Parameters
    ----------
    counts_x, counts_y
        Raters of each group who gave each answer to each item, shape (I, K).
    answer
        Code of the answer.

    Returns
    -------
    Estimate
        Range -1 to 1. Items that only one group rated are dropped and counted. In a complete design it is the
        difference of the two `answer_share`.

    Raises
    ------
    UndefinedEstimate
        No item was rated by both groups.

    Examples
    --------
    >>> round(float(mean_difference([[1, 3], [4, 0]], [[1, 1], [1, 0]], 1)), 4)
    0.1562
    """
    x, y = check_same_shape(counts_x, counts_y)
    _check_answer(x, answer)
    return _estimate_difference(x[:, answer], y[:, answer], count_ratings(x), count_ratings(y))


def answer_mean(counts: npt.ArrayLike, values: npt.ArrayLike) -> Estimate:
    r"""Estimate the mean of the ratings of a group.

    .. math:: \frac{\sum_i \sum_k v_k n_{ik}}{\sum_i m_i}

    Parameters
    ----------
    counts
        Raters who gave each answer to each item, shape (I, K).
    values
        Number v of each answer, shape (K,).

    Returns
    -------
    Estimate
        Items without ratings are dropped and counted.

    Raises
    ------
    UndefinedEstimate
        No item has a rating.

    Examples
    --------
    >>> float(answer_mean([[1, 3], [0, 0], [2, 2]], [1, 5]))
    3.5
    """
    table = check_counts(counts)
    m = count_ratings(table)
    if not m.any():
        raise UndefinedEstimate("The mean is undefined: no item has a rating.")
    total = (table @ check_values(values, table.shape[1])).sum()
    return _estimate(float(total / m.sum()), "answer_mean", m > 0, m)


def answer_mean_difference(counts_x: npt.ArrayLike, counts_y: npt.ArrayLike, values: npt.ArrayLike) -> Estimate:
    """Estimate the difference between two groups in the mean of their ratings, on the same items.

    The formula of `mean_difference`, with the means of the numbers of the answers.

    Parameters
    ----------
    counts_x, counts_y
        Raters of each group who gave each answer to each item, shape (I, K).
    values
        Number of each answer, shape (K,).

    Returns
    -------
    Estimate
        In the unit of `values`. Items that only one group rated are dropped and counted. In a complete design it is the
        difference of the two `answer_mean`.

    Raises
    ------
    UndefinedEstimate
        No item was rated by both groups.

    Examples
    --------
    >>> round(float(answer_mean_difference([[1, 3], [4, 0]], [[1, 1], [1, 0]], [1, 5])), 4)
    0.625
    """
    x, y = check_same_shape(counts_x, counts_y)
    numbers = check_values(values, x.shape[1])
    return _estimate_difference(x @ numbers, y @ numbers, count_ratings(x), count_ratings(y))


def superiority(counts_x: npt.ArrayLike, counts_y: npt.ArrayLike) -> Estimate:
    r"""Estimate the probability that a rater of one group gives an item a higher answer than one of another group.

    .. math:: \hat\theta = \frac{\sum_i w_i \hat\theta_i}{\sum_i w_i}, \qquad
              \hat\theta_i = P(X_i > Y_i) + \tfrac12 P(X_i = Y_i), \qquad
              w_i = \frac{m_{gi} m_{hi}}{m_{gi} + m_{hi}}

    over the items that both groups rated: the Mann-Whitney statistic within items. It uses the order of the answers
    alone, and Cliff's delta is :math:`2 \hat\theta - 1`.

    Parameters
    ----------
    counts_x, counts_y
        Raters of each group who gave each answer to each item, answers in order, shape (I, K).

    Returns
    -------
    Estimate
        Range 0 to 1; .5 if neither group gives higher answers.

    Raises
    ------
    UndefinedEstimate
        No item was rated by both groups.

    References
    ----------
    Brunner, E. and Munzel, U. (2000). The nonparametric Behrens-Fisher problem. Biometrical Journal 42.

    Examples
    --------
    >>> float(superiority([[0, 1, 1]], [[1, 1, 0]]))
    0.875
    """
    x, y = check_same_shape(counts_x, counts_y)
    pooled, m, n = x + y, count_ratings(x), count_ratings(y)
    ridit = mid_ranks(pooled) / np.maximum(m + n, 1)[:, None]
    difference = _estimate_difference((x * ridit).sum(axis=1), (y * ridit).sum(axis=1), m, n)
    return replace(difference, estimate=0.5 + difference.estimate, method="superiority")


def _estimate_difference(
    total_x: FloatArray | Int64Array, total_y: FloatArray | Int64Array, m: Int64Array, n: Int64Array
) -> Estimate:
    """Return the weighted difference of means, from the totals and numbers of ratings of each item."""
    shared = (m > 0) & (n > 0)
    if not shared.any():
        raise UndefinedEstimate("The difference is undefined: no item was rated by both groups.")
    gap = total_x[shared] / m[shared] - total_y[shared] / n[shared]
    weight = m[shared] * n[shared] / (m + n)[shared]
    return _estimate(float((weight * gap).sum() / weight.sum()), "mean_difference", shared, m + n)


def pairwise_agreement(counts: npt.ArrayLike, *, likeness: npt.ArrayLike | None = None) -> Estimate:
    r"""Estimate the probability that two raters of a group give the same answer to an item.

    .. math:: \frac{1}{I} \sum_i \sum_k \frac{n_{ik} (n_{ik} - 1)}{m_i (m_i - 1)}

    over the items with two or more ratings: cohesion rarefied to two raters, so that its expectation does not depend on
    the number of ratings of an item.

    Parameters
    ----------
    counts
        Raters who gave each answer to each item, shape (I, K).
    likeness
        One less the distance of each two answers, shape (K, K), for ordered answers; see `build_ordered_scale`.

    Returns
    -------
    Estimate
        Range 0 to 1. Items with fewer than two ratings are dropped and counted.

    Raises
    ------
    UndefinedEstimate
        No item has two ratings.

    Examples
    --------
    >>> round(float(pairwise_agreement([[3, 1], [2, 0], [1, 0]])), 4)
    0.75
    """
    table = check_counts(counts)
    m = count_ratings(table)
    if not (m > 1).any():
        raise UndefinedEstimate("Pairwise agreement is undefined: no item has two ratings of the group.")
    agreement = _agreement(table[m > 1], _check_likeness(likeness, table.shape[1]))
    return _estimate(float(agreement.mean()), "pairwise_agreement", m > 1, m)


def agreement_difference(
    counts_x: npt.ArrayLike, counts_y: npt.ArrayLike, *, likeness: npt.ArrayLike | None = None
) -> Estimate:
    r"""Estimate the difference of the pairwise agreement of two groups, on the same items.

    .. math:: \frac{1}{I} \sum_i (W_{gi} - W_{hi})

    over the items with two raters of each group, with the agreement :math:`W` of `pairwise_agreement`.

    Parameters
    ----------
    counts_x, counts_y
        Raters of each group who gave each answer to each item, shape (I, K).
    likeness
        One less the distance of each two answers, shape (K, K), for ordered answers; see `build_ordered_scale`.

    Returns
    -------
    Estimate
        Range -1 to 1; above 0 if the first group agrees more. Items with fewer than two ratings of either group are
        dropped and counted.

    Raises
    ------
    UndefinedEstimate
        No item has two ratings of each group.

    Examples
    --------
    >>> float(agreement_difference([[2, 0], [1, 1]], [[1, 1], [1, 1]]))
    0.5
    """
    x, y = check_same_shape(counts_x, counts_y)
    m, n = count_ratings(x), count_ratings(y)
    both = (m > 1) & (n > 1)
    if not both.any():
        raise UndefinedEstimate("The difference is undefined: no item has two ratings of each of both groups.")
    alike = _check_likeness(likeness, x.shape[1])
    gap = float((_agreement(x[both], alike) - _agreement(y[both], alike)).mean())
    return _estimate(gap, "pairwise_agreement_difference", both, m + n)


def group_distance(
    counts_x: npt.ArrayLike, counts_y: npt.ArrayLike, *, likeness: npt.ArrayLike | None = None
) -> Estimate:
    r"""Estimate the distance between two groups: agreement within them beyond agreement between them.

    .. math:: \frac{1}{I} \sum_i \Bigl[\tfrac12 W_{gi} + \tfrac12 W_{hi} - B_{ghi}\Bigr], \qquad
              B_{ghi} = \sum_k \frac{n_{gik} n_{hik}}{m_{gi} m_{hi}}

    with the agreement :math:`W` of two raters of one group (`pairwise_agreement`). Its expectation is half the squared
    Euclidean distance of the soft labels of the populations, whatever the numbers of ratings; it is 0 if groups do not
    differ, and an estimate may be below 0.

    Parameters
    ----------
    counts_x, counts_y
        Raters of each group who gave each answer to each item, shape (I, K).
    likeness
        One less the distance of each two answers, shape (K, K), for ordered answers; see `build_ordered_scale`.

    Returns
    -------
    Estimate
        Items with fewer than two ratings of either group are dropped and counted.

    Raises
    ------
    UndefinedEstimate
        No item has two ratings of each group.

    Examples
    --------
    >>> round(float(group_distance([[2, 0], [3, 1]], [[0, 2], [3, 1]])), 4)
    0.4375
    """
    x, y = check_same_shape(counts_x, counts_y)
    distances = item_group_distances(x, y, likeness=likeness)
    both = ~np.isnan(distances)
    if not both.any():
        raise UndefinedEstimate("Group distance is undefined: no item has two ratings of each of both groups.")
    return _estimate(float(distances[both].mean()), "group_distance", both, count_ratings(x) + count_ratings(y))


def item_group_distances(
    counts_x: npt.ArrayLike, counts_y: npt.ArrayLike, *, likeness: npt.ArrayLike | None = None
) -> FloatArray:
    """Estimate the distance between two groups on each item, as in `group_distance`, which is the mean.

    Parameters
    ----------
    counts_x, counts_y
        Raters of each group who gave each answer to each item, shape (I, K).
    likeness
        One less the distance of each two answers, shape (K, K), for ordered answers; see `build_ordered_scale`.

    Returns
    -------
    numpy.ndarray
        Distances, shape (I,); NaN for items with fewer than two ratings of either group.

    Examples
    --------
    >>> item_group_distances([[2, 0], [3, 1], [1, 0]], [[0, 2], [3, 1], [2, 0]])
    array([ 1.   , -0.125,    nan])
    """
    x, y = check_same_shape(counts_x, counts_y)
    both = (count_ratings(x) > 1) & (count_ratings(y) > 1)
    distances = np.full(len(x), np.nan)
    distances[both], _ = _distances(x[both], y[both], _check_likeness(likeness, x.shape[1]))
    return distances


def between_share(counts: npt.ArrayLike, *, likeness: npt.ArrayLike | None = None) -> Estimate:
    r"""Estimate the share of the disagreement between raters of different groups that is due to their groups.

    .. math:: \frac{\sum_{g<h} \bar D_{gh}}{\sum_{g<h} (1 - \bar B_{gh})}

    with the means :math:`\bar D` of `group_distance` and :math:`\bar B` of the agreement between groups over the items
    with two ratings of each. In a complete design it is one minus the ratio of the mean disagreement within groups to
    the mean disagreement between them.

    Parameters
    ----------
    counts
        Raters of each group who gave each answer to each item, shape (G, I, K).
    likeness
        One less the distance of each two answers, shape (K, K), for ordered answers; see `build_ordered_scale`.

    Returns
    -------
    Estimate
        At most 1; its expectation is 0 if groups do not differ, and an estimate may be below 0.

    Raises
    ------
    UndefinedEstimate
        No pair of groups has an item with two ratings of each, or groups never disagree.
    InvalidInput
        Counts of another shape.

    Examples
    --------
    Each group is unanimous, and they differ on one of two items:

    >>> float(between_share([[[2, 0], [2, 0]], [[0, 2], [2, 0]]]))
    1.0
    """
    tables = check_groups(counts, least=1)
    pairable = count_ratings(tables) > 1
    alike = _check_likeness(likeness, tables.shape[2])
    distances, disagreements, used = [], [], np.zeros(tables.shape[1], dtype=bool)
    for g, h in combinations(range(len(tables)), 2):
        both = pairable[g] & pairable[h]
        if both.any():
            distance, across = _distances(tables[g][both], tables[h][both], alike)
            distances.append(distance.mean())
            disagreements.append(1 - across.mean())
            used |= both
    if not sum(disagreements) > 0:
        reason = "groups never disagree" if distances else "no item has two ratings of each of two groups"
        raise UndefinedEstimate(f"The share between groups is undefined: {reason}.")
    m = tables.sum(axis=(0, 2))
    return _estimate(float(sum(distances) / sum(disagreements)), "between_share", used, m)


def corrected_gai(
    counts_x: npt.ArrayLike,
    counts_y: npt.ArrayLike,
    distinct_alpha: float,
    *,
    level: Level = "nominal",
    values: npt.ArrayLike | None = None,
) -> Estimate:
    r"""Estimate GAI with chance over distinct raters.

    .. math:: \mathrm{GAI}' = \frac{1 - D_o / D_e'}{\kappa_x}, \qquad
              D_e' = 1 - \frac{\sum_k n_k^2 - \sum_r \sum_k n_{rk}^2}{n^2 - \sum_r n_r^2}

    The expected disagreement :math:`D_e` of Krippendorff's alpha pairs ratings of one rater with each other, which
    agree more often than those of two raters. XRR pairs no rater with themself, so that without any difference between
    groups the published GAI lies below 1 in small groups (about .95 with 13 raters beside 104), and this one at 1.

    Parameters
    ----------
    counts_x, counts_y, level, values
        As for :func:`xrr`.
    distinct_alpha
        Krippendorff's alpha of the first group with chance over distinct raters (`group_statistics`); NaN if undefined.

    Returns
    -------
    Estimate
        Items with fewer than two ratings of the first group are dropped and counted.

    Raises
    ------
    UndefinedEstimate
        Alpha or XRR is undefined, or XRR is not positive.

    Examples
    --------
    >>> float(corrected_gai([[2, 0], [0, 2]], [[2, 0], [0, 2]], 1.0))
    1.0
    """
    across = xrr(counts_x, counts_y, level=level, values=values)
    if np.isnan(distinct_alpha) or across.estimate <= ZERO:
        raise UndefinedEstimate("Corrected GAI is undefined: IRR is undefined, or XRR is not positive.")
    m = count_ratings(check_counts(counts_x))
    return _estimate(distinct_alpha / across.estimate, "corrected_gai", m > 1, m)


def _check_answer(table: Int64Array, answer: int) -> Int64Array:
    if not 0 <= answer < table.shape[1]:
        raise InvalidInput(f"answer is {answer}; give a code from 0 to {table.shape[1] - 1}.")
    return table


def _check_likeness(likeness: npt.ArrayLike | None, n_categories: int) -> FloatArray | None:
    """Return the likeness of answers, or None if only the same answer is alike."""
    if likeness is None:
        return None
    alike = as_floats(likeness, "likeness")
    if alike.shape != (n_categories, n_categories) or (alike != alike.T).any() or (np.diagonal(alike) != 1).any():
        raise InvalidInput(
            f"likeness needs a symmetric {n_categories} × {n_categories} matrix with ones on its diagonal; see "
            "build_ordered_scale."
        )
    return alike


def _agreement(table: Int64Array, alike: FloatArray | None) -> FloatArray:
    m = count_ratings(table)
    return np.asarray((_count_alike(table, table, alike) - m) / (m * (m - 1)))


def _distances(x: Int64Array, y: Int64Array, alike: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return the distance and the agreement between groups of each item."""
    across = _count_alike(x, y, alike) / (count_ratings(x) * count_ratings(y))
    return (_agreement(x, alike) + _agreement(y, alike)) / 2 - across, across


def _count_alike(x: Int64Array, y: Int64Array, alike: FloatArray | None) -> FloatArray | Int64Array:
    """Return the number of pairs of ratings that are alike, of two tables of counts, for each item."""
    return np.asarray(np.einsum("ik,ik->i", x, y) if alike is None else ((x @ alike) * y).sum(axis=1))


def _estimate(value: float, method: str, used: BoolArray, m: Int64Array) -> Estimate:
    n_items = int(used.sum())
    return Estimate(
        estimate=value, method=method, n_items=n_items, n_dropped=len(used) - n_items, n_ratings=int(m[used].sum())
    )
