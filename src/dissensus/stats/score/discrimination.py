"""Discrimination of a score against the answers of a group: area under the ROC curve."""

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.result import FloatArray, Int64Array
from dissensus.stats.score.pseudo_values import GroupRatings, PseudoValues


def auc(ratings: GroupRatings, scores: FloatArray) -> PseudoValues:
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
    levels = np.unique(scores)
    masses = np.zeros((2, len(levels)))
    sums = np.zeros(4)
    add_masses(ratings, scores, levels, masses, sums)
    return auc_by_masses(ratings, scores, levels, masses, sums)


def add_masses(
    ratings: GroupRatings, scores: FloatArray, levels: FloatArray, masses: FloatArray, sums: FloatArray
) -> None:
    """Add what the `auc` needs of the items of some ratings.

    Parameters
    ----------
    ratings, scores
        As for `auc`.
    levels
        All scores, sorted, shape (L,).
    masses
        Shares of unsafe and of safe answers to the items with each score, shape (2, L).
    sums
        Sums of both shares and of their product, and number of items.
    """
    score, p = _share_by_item(ratings, scores)[:2]
    place = np.searchsorted(levels, score)
    for row, part in enumerate((p, 1 - p)):
        masses[row] += np.bincount(place, weights=part, minlength=len(levels))
    sums += np.array([p.sum(), (1 - p).sum(), p @ (1 - p), len(p)])


def _share_by_item(ratings: GroupRatings, scores: FloatArray) -> tuple[FloatArray, FloatArray, Int64Array, FloatArray]:
    """Return score and share of unsafe answers of each item, the row of the item of each rating, and its weight."""
    _, first, row, n = np.unique(ratings.items, return_index=True, return_inverse=True, return_counts=True)
    return scores[first], np.bincount(row, weights=ratings.unsafe) / n, row, (1 / n)[row]


def auc_by_masses(
    ratings: GroupRatings, scores: FloatArray, levels: FloatArray, masses: FloatArray, sums: FloatArray
) -> PseudoValues:
    """Return the `auc` of all items for the ratings of some of them, from the masses of all."""
    score, p, row, weights = _share_by_item(ratings, scores)
    all_unsafe, all_safe, products, n_items = sums.tolist()
    # Sums over other items: of the safe shares below each score, and of the unsafe shares above it.
    unsafe_below, safe_below = np.cumsum(masses, axis=1) - masses / 2
    place = np.searchsorted(levels, score)
    of_unsafe = safe_below[place] - (1 - p) / 2
    of_safe = all_unsafe - unsafe_below[place] - p / 2
    denominator = all_unsafe * all_safe - products
    if denominator <= 1e-12:
        raise UndefinedEstimate("The area under the curve is undefined: no two items have different answers.")
    value = (float(masses[0] @ safe_below) - products / 2) / denominator
    unsafe_influence = of_unsafe - value * (all_safe - (1 - p))
    safe_influence = of_safe - value * (all_unsafe - p)
    influence = np.where(ratings.unsafe > 0, unsafe_influence[row], safe_influence[row])
    return PseudoValues(
        values=value + influence * n_items / denominator,
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
    _, row, n = np.unique(ratings.items, return_inverse=True, return_counts=True)
    unsafe = np.bincount(row, weights=ratings.unsafe).astype(np.float64)
    return rest_auc_of_counts(n.astype(np.float64), unsafe, np.ones(len(n)))


def rest_auc_of_counts(n: FloatArray, unsafe: FloatArray, n_items: FloatArray) -> float:
    """Return the `rest_auc` of items, by their ratings and unsafe ones; `n_items` items have each of these counts."""
    paired = n > 1
    n, unsafe, n_items = n[paired], unsafe[paired], n_items[paired]
    p = unsafe / n
    if_unsafe, if_safe = (unsafe - 1) / (n - 1), unsafe / (n - 1)
    order = np.unique(np.concatenate([if_unsafe, if_safe]), return_inverse=True)[1]
    of_unsafe, of_safe = order[: len(n)], order[len(n) :]
    mass = np.bincount(of_safe, weights=n_items * (1 - p), minlength=int(order.max(initial=-1)) + 1)
    below = np.cumsum(mass) - mass / 2
    own = (of_unsafe > of_safe) + (of_unsafe == of_safe) / 2
    mean = n_items * p
    denominator = float(mean.sum() * (n_items * (1 - p)).sum() - mean @ (1 - p))
    if denominator <= 1e-12:
        raise UndefinedEstimate("The area under the curve is undefined: no two items have different answers.")
    return float(mean @ (below[of_unsafe] - own * (1 - p))) / denominator
