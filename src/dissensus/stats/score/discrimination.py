"""Discrimination of a score against the answers of a group: area under the ROC curve."""

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.cluster_robust import Floats
from dissensus.stats.score.pseudo_values import GroupRatings, PseudoValues


def auc(ratings: GroupRatings, scores: Floats) -> PseudoValues:
    r"""Return the area under the ROC curve: P(an item with an unsafe answer scores higher than one with a safe answer).

    .. math:: \frac{\sum_{i \ne j} p_i (1 - p_j) \, K(s_i, s_j)}{\sum_{i \ne j} p_i (1 - p_j)}, \qquad
              K(s, t) = [s > t] + \tfrac12 [s = t]

    with the share :math:`p_i` of unsafe answers to item i. Two answers to one item are not compared, since a score of
    items cannot tell them apart.

    Parameters
    ----------
    ratings
        Ratings of a group.
    scores
        Score of the item of each rating, shape (N,).

    Returns
    -------
    PseudoValues
        From 0 to 1; 1/2 for a score that tells nothing. Their influences are those of DeLong et al. (1988), extended to
        several ratings of an item.

    Raises
    ------
    UndefinedEstimate
        No two items have different answers.

    References
    ----------
    DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the areas under two or more correlated
    receiver operating characteristic curves. Biometrics 44.

    Examples
    --------
    >>> ratings = GroupRatings(items=np.array([0, 0, 1]), raters=np.array([0, 1, 0]), unsafe=np.array([1.0, 0.0, 1.0]))
    >>> auc(ratings, np.array([0.2, 0.2, 0.9])).estimate
    1.0
    """
    _, first, row, n = np.unique(ratings.items, return_index=True, return_inverse=True, return_counts=True)
    p = np.bincount(row, weights=ratings.unsafe) / n
    score, weights = scores[first], (1 / n)[row]
    # Sums over other items: of the safe shares below each score, and of the unsafe shares above it.
    of_unsafe = _weigh_below(score, 1 - p) - (1 - p) / 2
    of_safe = p.sum() - _weigh_below(score, p) - p / 2
    numerator = float(p @ of_unsafe)
    denominator = float(p.sum() * (1 - p).sum() - p @ (1 - p))
    if denominator <= 1e-12:
        raise UndefinedEstimate("The area under the curve is undefined: no two items have different answers.")
    value = numerator / denominator
    unsafe_influence = of_unsafe - value * ((1 - p).sum() - (1 - p))
    safe_influence = of_safe - value * (p.sum() - p)
    influence = np.where(ratings.unsafe > 0, unsafe_influence[row], safe_influence[row])
    return PseudoValues(
        values=value + influence * len(n) / denominator,
        weights=weights,
        items=ratings.items,
        raters=ratings.raters,
        # A rare answer has most of it.
        is_concentrated=True,
    )


def rest_auc(ratings: GroupRatings) -> float:
    r"""Return the area under the ROC curve of the rest of the group: each rating scored by the item's other ratings.

    As `auc`, with the share of unsafe answers among the other ratings of the item for a score, which differs between
    the unsafe and the safe ratings of one item.

    Parameters
    ----------
    ratings
        Ratings of a group. Items with one rating are left out.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    UndefinedEstimate
        No two items with two ratings or more have different answers.

    Examples
    --------
    >>> items, unsafe = np.repeat([0, 1], 3), np.array([1.0, 1, 0, 0, 0, 1])
    >>> round(rest_auc(GroupRatings(items=items, raters=np.tile(np.arange(3), 2), unsafe=unsafe)), 3)
    0.4
    """
    paired = ratings.select(ratings.count()[0] > 1)
    _, row, n = np.unique(paired.items, return_inverse=True, return_counts=True)
    unsafe = np.bincount(row, weights=paired.unsafe)
    p = unsafe / n
    if_unsafe, if_safe = (unsafe - 1) / (n - 1), unsafe / (n - 1)
    order = np.unique(np.concatenate([if_unsafe, if_safe]), return_inverse=True)[1]
    of_unsafe, of_safe = order[: len(n)], order[len(n) :]
    mass = np.bincount(of_safe, weights=1 - p, minlength=int(order.max(initial=-1)) + 1)
    below = np.cumsum(mass) - mass / 2
    own = (of_unsafe > of_safe) + (of_unsafe == of_safe) / 2
    denominator = float(p.sum() * (1 - p).sum() - p @ (1 - p))
    if denominator <= 1e-12:
        raise UndefinedEstimate("The area under the curve is undefined: no two items have different answers.")
    return float(p @ (below[of_unsafe] - own * (1 - p))) / denominator


def _weigh_below(score: Floats, weight: Floats) -> Floats:
    """Return the weight of the scores below each score, and half the weight of those equal to it."""
    row = np.unique(score, return_inverse=True)[1]
    mass = np.bincount(row, weights=weight)
    return np.asarray((np.cumsum(mass) - mass / 2)[row])
