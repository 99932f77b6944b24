"""Losses of a score against the answers of a group: Brier, cross-entropy, distance to the soft label, errors."""

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.result import BoolArray, FloatArray
from dissensus.stats.score.pseudo_values import GroupRatings, PseudoValues, average_ratings


def unsafe_share(ratings: GroupRatings) -> PseudoValues:
    r"""Return the mean over items of the share of unsafe answers, :math:`\bar p = \frac1I \sum_i c_i / m_i`.

    Parameters
    ----------
    ratings
        Ratings of a group: :math:`c_i` of the :math:`m_i` ratings of item i are unsafe.

    Returns
    -------
    PseudoValues

    Examples
    --------
    >>> ratings = GroupRatings(items=np.array([0, 0, 1]), raters=np.array([0, 1, 0]), unsafe=np.array([1.0, 0.0, 1.0]))
    >>> unsafe_share(ratings).estimate
    0.75
    """
    return average_ratings(ratings, ratings.unsafe, is_share=True)


def bias(ratings: GroupRatings, scores: FloatArray) -> PseudoValues:
    r"""Return the mean score less the share of unsafe answers, :math:`\frac1I \sum_i (s_i - c_i / m_i)`.

    Parameters
    ----------
    ratings
        Ratings of a group.
    scores
        Score of the item of each rating, the predicted probability of an unsafe answer, shape (N,).

    Returns
    -------
    PseudoValues
        Above 0 if the score calls items unsafe more often than the group.

    Examples
    --------
    >>> ratings = GroupRatings(items=np.array([0, 0, 1]), raters=np.array([0, 1, 0]), unsafe=np.array([1.0, 0.0, 1.0]))
    >>> bias(ratings, np.array([0.5, 0.5, 0.0])).estimate
    -0.5
    """
    return average_ratings(ratings, scores - ratings.unsafe)


def brier(ratings: GroupRatings, scores: FloatArray) -> PseudoValues:
    r"""Return the Brier score, the mean of :math:`(s_i - y_{ri})^2` over the ratings of each item and over items.

    Its expectation is that of `squared_distance` and `disagreement` together, item by item.

    Parameters
    ----------
    ratings, scores
        As for `bias`.

    Returns
    -------
    PseudoValues
        From 0 to 1.

    Examples
    --------
    >>> ratings = GroupRatings(items=np.array([0, 0, 1]), raters=np.array([0, 1, 0]), unsafe=np.array([1.0, 0.0, 1.0]))
    >>> brier(ratings, np.array([0.5, 0.5, 0.0])).estimate
    0.625
    """
    return average_ratings(ratings, (scores - ratings.unsafe) ** 2, is_share=True)


def cross_entropy(ratings: GroupRatings, scores: FloatArray) -> PseudoValues:
    r"""Return the cross-entropy in nats, the mean of :math:`-y \ln s - (1 - y) \ln(1 - s)`.

    Parameters
    ----------
    ratings, scores
        As for `bias`.

    Returns
    -------
    PseudoValues
        0 or more; never below the mean entropy of the soft labels.

    Raises
    ------
    UndefinedEstimate
        A score of 0 or 1 is contradicted by a rating, so that the loss is infinite.

    Examples
    --------
    >>> ratings = GroupRatings(items=np.array([0, 0, 1]), raters=np.array([0, 1, 0]), unsafe=np.array([1.0, 0.0, 1.0]))
    >>> round(cross_entropy(ratings, np.array([0.5, 0.5, 0.5])).estimate, 4)
    0.6931
    """
    probability = np.where(ratings.unsafe > 0, scores, 1 - scores)
    if not probability.all():
        raise UndefinedEstimate(describe_infinite(count_contradicted(ratings, scores)))
    return average_ratings(ratings, -np.log(probability))


def count_contradicted(ratings: GroupRatings, scores: FloatArray) -> int:
    """Return the number of items on which a rating contradicts a score of 0 or 1."""
    return len(np.unique(ratings.items[np.where(ratings.unsafe > 0, scores, 1 - scores) == 0]))


def describe_infinite(n_items: int) -> str:
    """Return the reason why a cross-entropy is infinite."""
    items = f"{n_items:,} item{'s' * (n_items > 1)}"
    return f"The cross-entropy is infinite: on {items} a score of 0 or 1 is contradicted by a rater."


def squared_distance(ratings: GroupRatings, scores: FloatArray) -> PseudoValues:
    r"""Return the mean squared distance between the score and the soft label of the group, unbiased in its ratings.

    .. math:: \hat d_i = \frac{1}{m_i (m_i - 1)} \sum_{r \ne t} (s_i - y_{ri}) (s_i - y_{ti})

    estimates :math:`(s_i - \pi_i)^2` with the share :math:`\pi_i` of the people of the group who would call the item
    unsafe. Each two ratings are of distinct raters, so that few ratings do not add their noise to the distance.

    Parameters
    ----------
    ratings
        Ratings of a group. Items with one rating are left out.
    scores
        As for `bias`.

    Returns
    -------
    PseudoValues
        At most 1; an estimate may be below 0.

    Raises
    ------
    UndefinedEstimate
        No item has two ratings.

    Examples
    --------
    >>> ratings = GroupRatings(items=np.array([0, 0, 1]), raters=np.array([0, 1, 0]), unsafe=np.array([1.0, 0.0, 1.0]))
    >>> squared_distance(ratings, np.array([0.5, 0.5, 0.0])).estimate
    -0.25
    """
    return _average_pairs(ratings, scores - ratings.unsafe)


def disagreement(ratings: GroupRatings) -> PseudoValues:
    r"""Return the Brier score of a perfect score: the mean of :math:`\pi_i (1 - \pi_i)`, unbiased in the ratings.

    .. math:: \hat f_i = \frac{c_i (m_i - c_i)}{m_i (m_i - 1)}

    is half the probability that two raters disagree. No score of items has a smaller expected Brier score against the
    group: this part of the loss is disagreement within the group.

    Parameters
    ----------
    ratings
        Ratings of a group. Items with one rating are left out.

    Returns
    -------
    PseudoValues
        From 0 to 1/2.

    Raises
    ------
    UndefinedEstimate
        No item has two ratings.

    Examples
    --------
    >>> ratings = GroupRatings(items=np.array([0, 0, 1]), raters=np.array([0, 1, 0]), unsafe=np.array([1.0, 0.0, 1.0]))
    >>> disagreement(ratings).estimate
    0.5
    """
    m, c = ratings.count()
    others = np.where(ratings.unsafe > 0, m - c, c) / np.maximum(m - 1, 1)
    paired = m > 1
    _require_pairs(paired)
    return average_ratings(ratings, others - c * (m - c) / (m * np.maximum(m - 1, 1)), mask=paired)


def rest_brier(ratings: GroupRatings) -> PseudoValues:
    r"""Return the Brier score of the rest of the group: each rating against the share of the item's other ratings.

    .. math:: \hat b_i = \frac{c_i (m_i - c_i)}{(m_i - 1)^2}

    Parameters
    ----------
    ratings
        Ratings of a group. Items with one rating are left out.

    Returns
    -------
    PseudoValues
        0 or more. The more ratings, the nearer to `disagreement`.

    Raises
    ------
    UndefinedEstimate
        No item has two ratings.

    Examples
    --------
    >>> ratings = GroupRatings(items=np.array([0, 0, 0]), raters=np.arange(3), unsafe=np.array([1.0, 0.0, 1.0]))
    >>> round(rest_brier(ratings).estimate, 6)
    0.5
    """
    floor = disagreement(ratings)
    m = ratings.count()[0]
    m = m[m > 1]
    return PseudoValues(
        values=floor.values * m / (m - 1), weights=floor.weights, items=floor.items, raters=floor.raters
    )


def error(ratings: GroupRatings, labels: BoolArray) -> PseudoValues:
    r"""Return the mean share of ratings that a label contradicts.

    Parameters
    ----------
    ratings
        Ratings of a group.
    labels
        True where the item of a rating is labelled unsafe, shape (N,).

    Returns
    -------
    PseudoValues

    Examples
    --------
    >>> ratings = GroupRatings(items=np.array([0, 0, 1]), raters=np.array([0, 1, 0]), unsafe=np.array([1.0, 0.0, 1.0]))
    >>> error(ratings, np.array([True, True, True])).estimate
    0.25
    """
    return average_ratings(ratings, (labels != (ratings.unsafe > 0)).astype(np.float64), is_share=True)


def miss_rate(ratings: GroupRatings, labels: BoolArray) -> PseudoValues:
    """Return the share of unsafe answers whose item is labelled safe.

    Parameters
    ----------
    ratings, labels
        As for `error`.

    Returns
    -------
    PseudoValues
        Items count by their share of unsafe answers.

    Raises
    ------
    UndefinedEstimate
        The group calls no item unsafe.

    Examples
    --------
    >>> ratings = GroupRatings(items=np.array([0, 0, 1]), raters=np.array([0, 1, 0]), unsafe=np.array([1.0, 0.0, 1.0]))
    >>> round(miss_rate(ratings, np.array([True, True, False])).estimate, 3)
    0.667
    """
    return _rate(ratings, ~labels, ratings.unsafe > 0, "unsafe")


def false_alarm_rate(ratings: GroupRatings, labels: BoolArray) -> PseudoValues:
    """Return the share of safe answers whose item is labelled unsafe.

    Parameters
    ----------
    ratings, labels
        As for `error`.

    Returns
    -------
    PseudoValues
        Items count by their share of safe answers.

    Raises
    ------
    UndefinedEstimate
        The group calls no item safe.

    Examples
    --------
    >>> ratings = GroupRatings(items=np.array([0, 0, 1]), raters=np.array([0, 1, 0]), unsafe=np.array([1.0, 0.0, 1.0]))
    >>> false_alarm_rate(ratings, np.array([True, True, False])).estimate
    1.0
    """
    return _rate(ratings, labels, ratings.unsafe == 0, "safe")


def _rate(ratings: GroupRatings, hits: BoolArray, mask: BoolArray, answer: str) -> PseudoValues:
    if not mask.any():
        raise UndefinedEstimate(f"No rater of the group gave a {answer} answer.")
    return average_ratings(ratings, hits.astype(np.float64), mask=mask, is_share=True)


def _average_pairs(ratings: GroupRatings, errors: FloatArray) -> PseudoValues:
    """Return the mean product of the errors of distinct raters of an item."""
    items, row, n = np.unique(ratings.items, return_inverse=True, return_counts=True)
    m, paired = n[row].astype(np.float64), n[row] > 1
    _require_pairs(paired)
    total, squares = (np.bincount(row, weights=part, minlength=len(items))[row] for part in (errors, errors**2))
    divisor = np.maximum(m - 1, 1)
    of_item = (total**2 - squares) / (m * divisor)
    # The mean over an item is that of its pairs, and a rater counts twice as much as in a mean of ratings. Without one
    # of G raters, who all rated all items, a mean of pairs changes by (G - 1) / (G - 2) times the influence of that
    # rater; without one of the m raters of an item, its mean changes by (m - 1) / (m - 2) times, which is more.
    n_raters = ratings.n_group or ratings.n_raters
    factor = (n_raters - 1) / (n_raters - 2) if n_raters > 2 else 1.0
    deviation = 2 * (errors * (total - errors) / divisor - of_item)
    return average_ratings(ratings, of_item + factor * deviation, mask=paired)


def _require_pairs(paired: BoolArray) -> None:
    if not paired.any():
        raise UndefinedEstimate("No item has two ratings of the group.")
