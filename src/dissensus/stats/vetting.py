"""Measures of rater care: answer times, use of labels, agreement with other raters, and outlier scores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.stats.cluster_bootstrap import weighted_spearman
from dissensus.stats.counts import count_answers
from dissensus.stats.design import Block, BlockedDesign, Design, pass_over
from dissensus.stats.divergence import cross_entropy
from dissensus.stats.result import ZERO, FloatArray, IntArray, check_confidence, divide_or_nan

MAD: Final = 1.4826
"""Standard deviation over median absolute deviation of the normal distribution."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Times:
    """Answer times of the raters of a pool.

    Parameters
    ----------
    pool_median
        Median of all times of the pool; NaN if there are none.
    n_timed
        Number of timed items of each rater, shape (R,).
    median
        Median time of each rater, shape (R,), in the unit of the times.
    total
        Sum of the times of each rater, shape (R,).
    below_half, below_third, below_quarter
        Share of the timed items answered in less than that fraction of the pool's median, shape (R,).
    """

    pool_median: float
    n_timed: IntArray
    median: FloatArray
    total: FloatArray
    below_half: FloatArray
    below_third: FloatArray
    below_quarter: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labels:
    """Use of the labels by each rater of a pool.

    Parameters
    ----------
    n_ratings
        Ratings of each rater, shape (R,).
    top
        Code of the most frequent answer, the first of tied ones, shape (R,); -1 without ratings.
    same_label
        Share of the ratings with that answer, shape (R,), from 1/K to 1.
    entropy
        Plug-in entropy of the rater's answers in nats, shape (R,), from 0 to ln K.
    """

    n_ratings: IntArray
    top: IntArray
    same_label: FloatArray
    entropy: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCorrelation:
    """Spearman's rank correlation with its interval.

    Parameters
    ----------
    estimate, ci_low, ci_high
        From -1 to 1; NaN if undefined.
    n
        Number of pairs.
    """

    estimate: float
    ci_low: float
    ci_high: float
    n: int


def answer_times(
    raters: npt.ArrayLike, times: npt.ArrayLike, *, n_raters: int, pool_median: float | None = None
) -> Times:
    r"""Measure the share of items that each rater answered much faster than the pool.

    .. math:: \frac{1}{T_r} \sum_i [t_{ri} < c\,\tilde t\,], \qquad c = \tfrac12, \tfrac13, \tfrac14

    with :math:`\tilde t` the median of all times of all raters (Aroyo et al. 2023, section 4).

    Parameters
    ----------
    raters
        Rater of each rating, shape (N,), codes 0 … R-1.
    times
        Time that the rating took, shape (N,), in any unit; NaN if unknown.
    n_raters
        Number of raters, R.
    pool_median
        Median of the pool, if these are some of its raters; by default that of these times.

    Returns
    -------
    Times
        NaN for raters without times.

    Notes
    -----
    Ratings without a time are left out. A time equal to the limit is not below it.

    Examples
    --------
    >>> answer_times([0, 0, 0, 1, 1, 1], [90, 100, 110, 40, 60, 110], n_raters=2).below_half
    array([0.        , 0.33333333])
    """
    rater, time = np.asarray(raters), np.asarray(times, dtype=np.float64)
    timed = ~np.isnan(time)
    rater, time = rater[timed], time[timed]
    if pool_median is None:
        pool_median = float(np.median(time)) if time.size else float("nan")
    half, third, quarter = (share_by_rater(time < pool_median / k, rater, n_raters=n_raters) for k in (2, 3, 4))
    n_timed = np.bincount(rater, minlength=n_raters)
    return Times(
        pool_median=pool_median,
        n_timed=n_timed,
        median=_medians(rater, time, n_timed),
        total=np.where(n_timed > 0, np.bincount(rater, weights=time, minlength=n_raters), np.nan),
        below_half=half,
        below_third=third,
        below_quarter=quarter,
    )


def label_use(raters: npt.ArrayLike, answers: npt.ArrayLike, *, n_raters: int, n_categories: int) -> Labels:
    r"""Measure the share of each rater's most frequent label, and the entropy of the labels.

    .. math:: \max_k n_{rk} / m_r, \qquad -\sum_k \frac{n_{rk}}{m_r} \ln \frac{n_{rk}}{m_r}

    with :math:`n_{rk}` the ratings in which rater r gave answer k, and :math:`m_r` all ratings of r.

    Parameters
    ----------
    raters, answers
        Rater and answer of each rating, shape (N,), codes; a negative answer is missing.
    n_raters, n_categories
        R and K.

    Returns
    -------
    Labels
        NaN for raters without ratings.

    Examples
    --------
    >>> use = label_use([0, 0, 0, 0, 1, 1], [2, 2, 2, 0, 1, 1], n_raters=2, n_categories=3)
    >>> use.same_label, use.entropy.round(4)
    (array([0.75, 1.  ]), array([0.5623, 0.    ]))
    """
    return summarise_labels(count_answers(raters, answers, n_items=n_raters, n_categories=n_categories))


def summarise_labels(counts: IntArray) -> Labels:
    """Return the `label_use` of raters by the number of times that each gave each answer, shape (R, K)."""
    n_ratings = counts.sum(axis=1)
    shares = divide_or_nan(counts, n_ratings[:, None])
    return Labels(
        n_ratings=n_ratings,
        top=np.where(n_ratings > 0, counts.argmax(axis=1), -1),
        same_label=shares.max(axis=1),
        entropy=cross_entropy(shares, shares) + 0.0,  # turns -0.0 into 0.0
    )


def count_labels(design: Design | BlockedDesign) -> IntArray:
    """Count the answers of each rater, shape (R, K)."""
    counts = np.zeros((design.n_raters, design.n_categories), np.int64)
    pass_over(design, _add_labels, counts)
    return counts


def _add_labels(block: Block, counts: IntArray) -> None:
    codes = block.design
    counts += count_answers(codes.raters, codes.answers, n_items=codes.n_raters, n_categories=codes.n_categories)


def plurality_agreement(design: Design | BlockedDesign, group: IntArray | None = None) -> FloatArray:
    r"""Measure each rater's agreement with the plurality of the *other* raters of the item.

    .. math:: \frac{1}{|S_r|} \sum_{i \in S_r} \frac{[x_{ri} \in M_{ri}]}{|M_{ri}|}

    with :math:`M_{ri}` the most frequent answers to item i of the raters other than r, and :math:`S_r` the items of r
    with at least one other rater.

    Parameters
    ----------
    design
        The ratings.
    group
        Group of each rater, shape (R,), negative if unknown; each rater is compared with the other raters of the
        group. By default all raters are one group.

    Returns
    -------
    ndarray, shape (R,)
        0 to 1; NaN for raters of unknown group, and for raters whose items have no other rater.

    Notes
    -----
    The rater's own answer does not count; otherwise a group of one would always agree with itself. A tie counts by its
    share, 1/2 if two answers are tied. This is the expected value of breaking ties at random, so small groups, with
    their frequent ties, do not seem to agree more. The measure is one of *conformity*: raters with sincerely different
    opinions score low, and it flags nobody.

    Examples
    --------
    Three raters answer two items; only rater 2 gives the second answer:

    >>> items, raters, answers = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2] * 2), np.array([0, 0, 0, 0, 0, 1])
    >>> plurality_agreement(Design(items, raters, answers, 2, 3, 2))
    array([0.75, 0.75, 0.5 ])
    """
    group = np.zeros(design.n_raters, dtype=np.int32) if group is None else np.asarray(group)
    n, total = np.zeros(design.n_raters, np.int64), np.zeros(design.n_raters)
    if (group >= 0).any():
        pass_over(design, partial(_add_agreement, group), n, total)
    return divide_or_nan(total, n)


def _add_agreement(group: IntArray, block: Block, n: IntArray, total: FloatArray) -> None:
    design = block.design
    grouped = group[design.raters] >= 0
    raters, items, answers = (codes[grouped] for codes in (design.raters, design.items, design.answers))
    agreement = _leave_one_out_agreement(design.counts(group))[group[raters], items, answers]
    compared = ~np.isnan(agreement)
    n += np.bincount(raters[compared], minlength=design.n_raters)
    total += np.bincount(raters[compared], weights=agreement[compared], minlength=design.n_raters)


def flat_items(answers: Sequence[npt.ArrayLike]) -> FloatArray:
    """Mark ratings that give the same answer to all questions about the item (straight-lining).

    Parameters
    ----------
    answers
        Answers to each question, Q arrays of shape (N,), codes of one common scale; negative if missing.

    Returns
    -------
    ndarray, shape (N,)
        1 if all answers are the same, 0 if they differ, NaN if fewer than two questions were answered.

    Notes
    -----
    Missing answers are ignored. In DICES-350 the only flat ratings are those that always answer No, so the share of
    flat items equals the share of items seen as safe. On such a questionnaire it is evidence on care only in comparison
    with other raters.

    Examples
    --------
    >>> flat_items([[0, 2, 1], [0, 0, -1], [0, 0, -1]])
    array([ 1.,  0., nan])
    """
    columns = [np.asarray(column) for column in answers]
    answered = np.sum([column >= 0 for column in columns], axis=0)
    low, high = np.full(answered.shape, np.iinfo(np.int64).max), np.full(answered.shape, -1)
    for column in columns:
        np.minimum(low, column, out=low, where=column >= 0)
        np.maximum(high, column, out=high)
    return np.where(answered > 1, low == high, np.nan)


def share_by_rater(hits: npt.ArrayLike, raters: npt.ArrayLike, *, n_raters: int) -> FloatArray:
    """Return the share of hits among the ratings of each rater.

    Parameters
    ----------
    hits
        1 or 0 for each rating, shape (N,); ratings with NaN are left out.
    raters
        Rater of each rating, shape (N,), codes 0 … R-1.
    n_raters
        Number of raters, R.

    Returns
    -------
    ndarray, shape (R,)
        NaN for raters without a rating.

    Examples
    --------
    >>> share_by_rater([1, 0, 1], [0, 0, 1], n_raters=3)
    array([0.5, 1. , nan])
    """
    value, rater = np.asarray(hits, dtype=np.float64), np.asarray(raters)
    valid = ~np.isnan(value)
    return _means(value[valid], rater[valid], n_raters)


def outlier_score(measures: npt.ArrayLike) -> FloatArray:
    r"""Measure the distance of each rater from the bulk of raters on several measures (robust Mahalanobis distance).

    .. math:: d_r = \sqrt{\sum_j \Bigl(\frac{y_{rj} - \operatorname{med}(y_j)}{\sigma(y_j)}\Bigr)^2}, \qquad Y = Z E

    with the measures in robust standard units, :math:`z_j = (x_j - \operatorname{med}(x_j)) / \sigma(x_j)`, and the
    eigenvectors E of their robust correlations
    :math:`\tfrac14 (\sigma(z_j + z_k)^2 - \sigma(z_j - z_k)^2)`: the orthogonalised estimator of Gnanadesikan and
    Kettenring, without reweighting (Maronna and Zamar 2002). :math:`\sigma` is 1.4826 times the median absolute
    deviation.

    Parameters
    ----------
    measures
        Shape (R, M); NaN if unknown.

    Returns
    -------
    ndarray, shape (R,)
        0 or more; NaN for raters with an unknown value, and for all if fewer than two measures vary. If measures were
        normal, its square would be about chi-squared with M degrees of freedom; see `outlier_limit`.

    Notes
    -----
    A measure, or a direction, in which half of the raters or more have one value has no robust scale and is left out.
    Up to half of the raters cannot move the centre far, so that outliers do not hide each other. A distance does not
    tell carelessness from a sincere view that differs from all others.

    References
    ----------
    Maronna, R. A. and Zamar, R. H. (2002). Robust estimates of location and dispersion for high-dimensional datasets.
    Technometrics 44.

    Examples
    --------
    >>> outlier_score([[0, 0], [1, 1], [2, 3], [3, 2], [4, 5], [2, -6]]).round(1)
    array([1.1, 0.4, 0.8, 1.6, 1.4, 7.6])
    """
    values = np.asarray(measures, dtype=np.float64)
    score = np.full(len(values), np.nan)
    known = ~np.isnan(values).any(axis=1)
    if known.sum() < 2:
        return score
    points = _standardise(values[known])
    if points.shape[1] < 2:
        return score
    sums, differences = points[:, :, None] + points[:, None, :], points[:, :, None] - points[:, None, :]
    _, directions = np.linalg.eigh((_scale(sums) ** 2 - _scale(differences) ** 2) / 4)
    score[known] = np.sqrt((_standardise(points @ directions) ** 2).sum(axis=1))
    return score


def outlier_limit(n_measures: int, *, share: float = 0.025) -> float:
    r"""Return the `outlier_score` that this share of raters would exceed if measures were normal.

    The root of a quantile of chi-squared, by Wilson and Hilferty's approximation (1931):

    .. math:: \chi^2_{M, 1-a} \approx M \Bigl(1 - \frac{2}{9M} + z_{1-a} \sqrt{\frac{2}{9M}}\Bigr)^3

    Parameters
    ----------
    n_measures
        Number of measures, M.
    share
        Share a of the raters.

    Examples
    --------
    >>> round(outlier_limit(3), 2)
    3.05
    """
    z, ninth = NormalDist().inv_cdf(1 - share), 2 / (9 * n_measures)
    return float(np.sqrt(n_measures * (1 - ninth + z * np.sqrt(ninth)) ** 3))


def rank_correlation(x: npt.ArrayLike, y: npt.ArrayLike, *, confidence: float = 0.95) -> RankCorrelation:
    r"""Estimate Spearman's rank correlation, with an interval by Fisher's z.

    .. math:: \tanh\Bigl(\operatorname{artanh} \hat\rho \pm z \sqrt{\frac{1 + \hat\rho^2 / 2}{n - 3}}\Bigr)

    with the standard error of Bonett and Wright (2000).

    Parameters
    ----------
    x, y
        Shape (N,); NaN if unknown.
    confidence
        Confidence level of the interval.

    Returns
    -------
    RankCorrelation
        NaN if fewer than four pairs are known, or if either has one value. Ties have the mean of their ranks. The ends
        alone are NaN if the ranks are the same, or reversed, since the standard error of z is not that of such data.

    References
    ----------
    Bonett, D. G. and Wright, T. A. (2000). Sample size requirements for estimating Pearson, Kendall and Spearman
    correlations. Psychometrika 65.

    Examples
    --------
    >>> rank_correlation([1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 6, 5]).estimate
    0.8857142857142857
    """
    check_confidence(confidence)
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    known = ~np.isnan(first) & ~np.isnan(second)
    n = int(known.sum())
    undefined = RankCorrelation(estimate=np.nan, ci_low=np.nan, ci_high=np.nan, n=n)
    if n < 4:
        return undefined
    first_code, second_code = (np.unique(values[known], return_inverse=True)[1] for values in (first, second))
    rho = float(np.clip(weighted_spearman(first_code, second_code, np.ones(n)), -1, 1))
    if np.isnan(rho):
        return undefined
    if 1 - abs(rho) <= ZERO:
        return replace(undefined, estimate=rho)
    half = NormalDist().inv_cdf((1 + confidence) / 2) * np.sqrt((1 + rho**2 / 2) / (n - 3))
    ends = np.tanh(np.arctanh(rho) + half * np.array([-1, 1]))
    return RankCorrelation(estimate=rho, ci_low=float(ends[0]), ci_high=float(ends[1]), n=n)


def _standardise(values: FloatArray) -> FloatArray:
    """Return columns in robust standard units, without those of no scale."""
    scale = _scale(values)
    varies = scale > ZERO
    return np.asarray((values[:, varies] - np.median(values[:, varies], axis=0)) / scale[varies])


def _scale(values: FloatArray) -> FloatArray:
    """Return the normalised median absolute deviation over the first axis."""
    return np.asarray(MAD * np.median(np.abs(values - np.median(values, axis=0)), axis=0))


def _leave_one_out_agreement(counts: npt.NDArray[np.int32]) -> FloatArray:
    """Return the agreement of each answer with the plurality of the other raters, shape (…, I, K); NaN without any."""
    top = counts.max(axis=-1, keepdims=True)
    second = np.partition(counts, -2, axis=-1)[..., -2:-1] if counts.shape[-1] > 1 else np.zeros_like(top)
    # After removing one rating of it, only a strictly leading answer is still on top, possibly tied with the second.
    leads = (counts == top) & (second < top)
    n_tied = np.where(second == top - 1, (counts == second).sum(axis=-1, keepdims=True), 0)
    return np.where(counts.sum(axis=-1, keepdims=True) > 1, leads / (1 + n_tied), np.nan)


def _means(values: FloatArray, raters: IntArray, n_raters: int) -> FloatArray:
    n = np.bincount(raters, minlength=n_raters)
    return divide_or_nan(np.bincount(raters, weights=values, minlength=n_raters), n)


def _medians(raters: IntArray, values: FloatArray, n: IntArray) -> FloatArray:
    """Return the median of the n values of each rater."""
    # Complex numbers sort by real part, then by imaginary part: here by rater, then by value.
    ordered = np.sort(raters + 1j * values).imag
    start, has_values = np.cumsum(n) - n, n > 0
    medians = np.full(n.size, np.nan)
    low, high = (start + (n - 1) // 2)[has_values], (start + n // 2)[has_values]
    medians[has_values] = (ordered[low] + ordered[high]) / 2
    return medians
