"""Distance between a judge and a group of raters, beside that between two raters of the group."""

from dataclasses import replace

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.judge.answers import PanelRatings, spread_of_counts
from dissensus.stats.result import BoolArray, FloatArray
from dissensus.stats.score.pseudo_values import PseudoValues


def distance_between(ratings: PanelRatings, judge: FloatArray, distance: FloatArray, *, least: int = 2) -> PseudoValues:
    r"""Return the mean distance between an answer of the judge and one of the group, :math:`E\,d(J_i, Y_{ri})`.

    Parameters
    ----------
    ratings
        Ratings of a group. Items with fewer than `least` are left out, and so are those that the judge did not answer.
    judge
        Number of the judge's answers of each category to each item, shape (I, K).
    distance
        Distances of answers, from 0 to 1, shape (K, K).
    least
        Fewest ratings of an item: 2 for the items of `distance_within`, or 1.

    Returns
    -------
    PseudoValues
        From 0 to 1. Every item has the same weight.

    Raises
    ------
    UndefinedEstimate
        No item has `least` ratings of the group and an answer of the judge.

    Examples
    --------
    >>> ratings = PanelRatings(items=np.array([0, 0, 1, 1]), raters=np.arange(4), answers=np.array([1, 0, 1, 1]))
    >>> distance_between(ratings, np.array([[0.0, 2.0], [1.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])).estimate
    0.5
    """
    comparable = select_comparable(ratings, judge, least)
    return _average(comparable, judge, (_shares(judge) @ distance)[comparable.items, comparable.answers], is_share=True)


def distance_within(ratings: PanelRatings, judge: FloatArray, distance: FloatArray) -> PseudoValues:
    r"""Return the mean distance between two raters of the group, :math:`E\,d(Y_{ri}, Y_{ti})`, on the same ratings.

    Parameters
    ----------
    ratings, judge, distance
        As for `distance_between`; the answers of the judge only determine the items.

    Returns
    -------
    PseudoValues
        From 0 to 1: the spread of the group, Gini's mean difference within items.

    Raises
    ------
    UndefinedEstimate
        As for `distance_between`.

    Examples
    --------
    >>> ratings = PanelRatings(items=np.array([0, 0, 1, 1]), raters=np.arange(4), answers=np.array([1, 0, 1, 1]))
    >>> distance_within(ratings, np.ones((2, 2)), np.array([[0.0, 1.0], [1.0, 0.0]])).estimate
    0.5
    """
    comparable = select_comparable(ratings, judge)
    counts = comparable.count(len(judge), judge.shape[1])
    n = counts.sum(axis=1)[comparable.items]
    to_others = (counts @ distance)[comparable.items, comparable.answers] / (n - 1)
    # The mean over an item is that of its pairs, and a rater counts twice as much as in a mean of ratings.
    return _average(comparable, judge, 2 * to_others - spread_of_counts(counts, distance)[comparable.items])


def distribution_distance(ratings: PanelRatings, judge: FloatArray, distance: FloatArray) -> PseudoValues:
    r"""Return the energy distance between the judge's distribution of answers and the group's, unbiased in both.

    .. math:: 2 E\,d(J_i, Y_{ri}) - E\,d(Y_{ri}, Y_{ti}) - E\,d(J_i, J'_i)

    averaged over items. With equality it is :math:`\sum_k (p_{ik} - \pi_{ik})^2`, on an ordered scale Cramér's
    distance, twice the sum of the squared differences of the cumulative shares over the number of steps (Székely and
    Rizzo 2013).

    Parameters
    ----------
    ratings, judge, distance
        As for `distance_between`. Items with one answer of the judge are left out.

    Returns
    -------
    PseudoValues
        0 in expectation if the judge answers as a random rater of the group does, so that an estimate may be below 0.

    Raises
    ------
    UndefinedEstimate
        As for `distance_between`, with two answers of the judge.

    References
    ----------
    Székely, G. J. and Rizzo, M. L. (2013). Energy statistics: a class of statistics based on distances. Journal of
    Statistical Planning and Inference 143.

    Examples
    --------
    >>> ratings = PanelRatings(items=np.zeros(4, int), raters=np.arange(4), answers=np.array([0, 0, 1, 1]))
    >>> equality = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> round(distribution_distance(ratings, np.array([[4.0, 0.0]]), equality).estimate, 3)
    0.333
    """
    twice = np.where(judge.sum(axis=1, keepdims=True) > 1, judge, 0)
    between, within = distance_between(ratings, twice, distance), distance_within(ratings, twice, distance)
    own = spread_of_counts(twice, distance)[between.items]
    return PseudoValues(
        values=2 * between.values - within.values - own,
        weights=between.weights,
        items=between.items,
        raters=between.raters,
    )


def spread_difference(ratings: PanelRatings, judge: FloatArray, distance: FloatArray) -> PseudoValues:
    """Return the spread between answers of the judge to an item less that between raters of the group.

    Parameters
    ----------
    ratings, judge, distance
        As for `distribution_distance`.

    Returns
    -------
    PseudoValues
        Below 0 if the judge, or a persona of it, is flatter than the group.

    Raises
    ------
    UndefinedEstimate
        As for `distribution_distance`.

    Examples
    --------
    >>> ratings = PanelRatings(items=np.zeros(4, int), raters=np.arange(4), answers=np.array([0, 0, 1, 1]))
    >>> round(spread_difference(ratings, np.array([[4.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])).estimate, 3)
    -0.667
    """
    twice = np.where(judge.sum(axis=1, keepdims=True) > 1, judge, 0)
    within = distance_within(ratings, twice, distance)
    own = spread_of_counts(twice, distance)[within.items]
    return PseudoValues(values=own - within.values, weights=within.weights, items=within.items, raters=within.raters)


def subtract_distances(first: PseudoValues, second: PseudoValues) -> PseudoValues:
    """Return the difference of two statistics of the same ratings."""
    return replace(first, values=first.values - second.values, is_share=False)


def find_comparable(ratings: PanelRatings, judge: FloatArray, least: int = 2) -> BoolArray:
    """Return which ratings are of an item with enough ratings and an answer of the judge, shape (N,)."""
    n = np.bincount(ratings.items, minlength=len(judge))
    return np.asarray(((n >= least) & (judge.sum(axis=1) > 0))[ratings.items])


def select_comparable(ratings: PanelRatings, judge: FloatArray, least: int = 2) -> PanelRatings:
    """Return the ratings of items with enough ratings and an answer of the judge."""
    comparable = ratings.select(find_comparable(ratings, judge, least))
    if not len(comparable.items):
        number = "two ratings" if least > 1 else "a rating"
        raise UndefinedEstimate(f"No item has {number} of the group and enough answers of the judge.")
    return comparable


def _shares(judge: FloatArray) -> FloatArray:
    return np.asarray(judge / np.maximum(judge.sum(axis=1, keepdims=True), 1))


def _average(ratings: PanelRatings, judge: FloatArray, values: FloatArray, *, is_share: bool = False) -> PseudoValues:
    """Return the mean over items of the mean over ratings."""
    n = np.bincount(ratings.items, minlength=len(judge))
    return PseudoValues(
        values=values, weights=1 / n[ratings.items], items=ratings.items, raters=ratings.raters, is_share=is_share
    )
