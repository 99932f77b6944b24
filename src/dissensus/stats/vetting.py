"""Evidence on the care that each rater took: times, labels, and agreement with others."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.stats.counts import count_answers
from dissensus.stats.design import Design
from dissensus.stats.divergence import cross_entropy
from dissensus.stats.result import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Times:
    """Answer times of the raters of a pool.

    Parameters
    ----------
    pool_median
        Median of all times of the pool; NaN if there are none.
    n_timed
        Items of each rater with a time, shape (R,).
    median
        Median time of each rater, shape (R,), in the unit of the times.
    below_half, below_third, below_quarter
        Share of the timed items answered in less than that part of the pool's median, shape (R,).
    """

    pool_median: float
    n_timed: IntArray
    median: FloatArray
    below_half: FloatArray
    below_third: FloatArray
    below_quarter: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labels:
    """Answers of the raters of a pool, taken rater by rater.

    Parameters
    ----------
    n_ratings
        Ratings of each rater, shape (R,).
    top
        Code of the most frequent answer, the first in order among tied ones, shape (R,); -1 without ratings.
    same_label
        Share of the ratings with that answer, shape (R,), from 1/K to 1.
    entropy
        Plug-in entropy of the rater's answers in nats, shape (R,), from 0 to ln K.
    """

    n_ratings: IntArray
    top: IntArray
    same_label: FloatArray
    entropy: FloatArray


def answer_times(raters: npt.ArrayLike, times: npt.ArrayLike, *, n_raters: int) -> Times:
    r"""Measure how many items each rater answered much faster than the pool.

    .. math:: \frac{1}{T_r} \sum_i [t_{ri} < c\,\tilde t\,], \qquad c = \tfrac12, \tfrac13, \tfrac14

    with :math:`\tilde t` the median of all times of all raters (Aroyo et al. 2023, section 4).

    Parameters
    ----------
    raters
        Rater of each rating, shape (N,), codes 0 … R-1.
    times
        Time that the rating took, shape (N,), in any unit; NaN where it is not known.
    n_raters
        R.

    Returns
    -------
    Times
        NaN for raters without a known time.

    Notes
    -----
    Ratings without a time are left out. A time that equals the border exactly is not below it.

    Examples
    --------
    >>> answer_times([0, 0, 0, 1, 1, 1], [90, 100, 110, 40, 60, 110], n_raters=2).below_half
    array([0.        , 0.33333333])
    """
    who, time = np.asarray(raters), np.asarray(times, dtype=np.float64)
    known = ~np.isnan(time)
    who, time = who[known], time[known]
    middle = float(np.median(time)) if time.size else float("nan")
    half, third, quarter = (share_by_rater(time < middle / part, who, n_raters=n_raters) for part in (2, 3, 4))
    n_timed = np.bincount(who, minlength=n_raters)
    return Times(
        pool_median=middle,
        n_timed=n_timed,
        median=_medians(who, time, n_timed),
        below_half=half,
        below_third=third,
        below_quarter=quarter,
    )


def label_use(raters: npt.ArrayLike, answers: npt.ArrayLike, *, n_raters: int, n_categories: int) -> Labels:
    r"""Measure how each rater used the labels: the share of the most frequent one, and the entropy of all.

    .. math:: \max_k n_{rk} / m_r, \qquad -\sum_k \frac{n_{rk}}{m_r} \ln \frac{n_{rk}}{m_r}

    with :math:`n_{rk}` the ratings in which rater r gave answer k, and :math:`m_r` all of them.

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
    counts = count_answers(raters, answers, n_items=n_raters, n_categories=n_categories)
    n_ratings = counts.sum(axis=1)
    rated = n_ratings > 0
    shares = np.full(counts.shape, np.nan)
    np.divide(counts, n_ratings[:, None], out=shares, where=rated[:, None])
    return Labels(
        n_ratings=n_ratings,
        top=np.where(rated, counts.argmax(axis=1), -1),
        same_label=shares.max(axis=1),
        entropy=cross_entropy(shares, shares) + 0.0,  # no minus before a zero
    )


def plurality_agreement(design: Design, group: IntArray | None = None) -> FloatArray:
    r"""Measure how often each rater's answer is the one that most *others* gave to the item.

    .. math:: \frac{1}{|S_r|} \sum_{i \in S_r} \frac{[x_{ri} \in M_{ri}]}{|M_{ri}|}

    with :math:`M_{ri}` the most frequent answers to item i of the raters other than r, and :math:`S_r` the items of r
    that at least one other rated.

    Parameters
    ----------
    design
        The ratings.
    group
        Group of each rater, shape (R,), negative where unknown: others are those of the rater's own group. All raters
        by default.

    Returns
    -------
    ndarray, shape (R,)
        0 to 1; NaN for raters of unknown group, and where nobody else rated any of their items.

    Notes
    -----
    The rater's own answer does not count, or a rater would agree with a group of one throughout. A tie counts by its
    share, 1/2 where two answers are tied: what breaking ties at random gives on average, so that small groups, whose
    ties are frequent, do not look more agreeable. The measure is one of *conformity*: a rater who sincerely differs is
    low on it, and it flags nobody.

    Examples
    --------
    Three raters answer two items; rater 2 is alone with the second answer:

    >>> items, raters, answers = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2] * 2), np.array([0, 0, 0, 0, 0, 1])
    >>> plurality_agreement(Design(items, raters, answers, 2, 3, 2))
    array([0.75, 0.75, 0.5 ])
    """
    of_rater = np.zeros(design.n_raters, dtype=np.int32) if group is None else np.asarray(group)
    known = of_rater[design.raters] >= 0
    if not known.any():
        return np.full(design.n_raters, np.nan)
    raters, items, answers = (codes[known] for codes in (design.raters, design.items, design.answers))
    agreement = _with_others(design.counts(of_rater))[of_rater[raters], items, answers]
    compared = ~np.isnan(agreement)
    return _means(agreement[compared], raters[compared], design.n_raters)


def flat_items(answers: Sequence[npt.ArrayLike]) -> FloatArray:
    """Tell which ratings gave one and the same answer to all questions about the item.

    Parameters
    ----------
    answers
        Answers to each question, Q arrays of shape (N,), codes of one common scale; negative where missing.

    Returns
    -------
    ndarray, shape (N,)
        1 where all answers are the same, 0 where they differ, NaN where fewer than two questions were answered.

    Notes
    -----
    Missing answers are passed over. In DICES-350 no rating is flat but those that answer No throughout, so the share
    of flat items is that of items seen as safe: on such a questionnaire it says something of care only beside others.

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
    """Return the share of each rater's ratings for which something holds.

    Parameters
    ----------
    hits
        Whether it holds, shape (N,); NaN where that is not known, and the rating does not count.
    raters
        Rater of each rating, shape (N,), codes 0 … R-1.
    n_raters
        R.

    Returns
    -------
    ndarray, shape (R,)
        NaN for raters without a rating that counts.

    Examples
    --------
    >>> share_by_rater([1, 0, 1], [0, 0, 1], n_raters=3)
    array([0.5, 1. , nan])
    """
    value, who = np.asarray(hits, dtype=np.float64), np.asarray(raters)
    known = ~np.isnan(value)
    return _means(value[known], who[known], n_raters)


def _with_others(counts: npt.NDArray[np.int32]) -> FloatArray:
    """Return what each answer is worth against the others' plurality, shape (…, I, K); NaN where nobody else rated."""
    top = counts.max(axis=-1, keepdims=True)
    second = np.partition(counts, -2, axis=-1)[..., -2:-1] if counts.shape[-1] > 1 else np.zeros_like(top)
    # Without the rater's own answer only the one answer ahead of all is still on top, perhaps beside the next ones.
    leads = (counts == top) & (second < top)
    n_tied = np.where(second == top - 1, (counts == second).sum(axis=-1, keepdims=True), 0)
    return np.where(counts.sum(axis=-1, keepdims=True) > 1, leads / (1 + n_tied), np.nan)


def _means(values: FloatArray, raters: IntArray, n_raters: int) -> FloatArray:
    n = np.bincount(raters, minlength=n_raters)
    total = np.bincount(raters, weights=values, minlength=n_raters)
    return np.asarray(np.divide(total, n, out=np.full(n_raters, np.nan), where=n > 0))


def _medians(raters: IntArray, values: FloatArray, n: IntArray) -> FloatArray:
    """Return the median of each rater's values, of which there are n."""
    # Complex numbers sort by their real parts, then their imaginary ones: by rater, then by value, in one pass.
    ordered = np.sort(raters + 1j * values).imag
    start, has = np.cumsum(n) - n, n > 0
    medians = np.full(n.size, np.nan)
    low, high = (start + (n - 1) // 2)[has], (start + n // 2)[has]
    medians[has] = (ordered[low] + ordered[high]) / 2
    return medians
