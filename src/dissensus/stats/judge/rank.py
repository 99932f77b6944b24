"""Rank of a judge among the raters of a group, by their distance from the rest of it."""

from dataclasses import dataclass

import numpy as np

from dissensus.stats.judge.agreement import select_comparable
from dissensus.stats.judge.answers import PanelRatings
from dissensus.stats.result import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRank:
    """Rank of a judge among the raters of a group.

    Parameters
    ----------
    nearer_share
        Share of raters who are farther from the rest of the group than the judge is; ties count half.
    p
        P-value: the share of raters, the judge included, who are as far from the rest of the group as the judge or
        farther.
    n_raters
        Number of raters.
    """

    nearer_share: float
    p: float
    n_raters: int


def rank_judge(ratings: PanelRatings, judge: FloatArray, distance: FloatArray) -> JudgeRank:
    r"""Rank a judge among the raters of a group by its distance from the others.

    Each rater is compared with the judge on the rater's own items, both by their mean distance from the other raters of
    those items. If the judge answers as a further rater of the group would, and everybody rated everything, its
    rank is uniform; in other designs the test is conservative:

    .. math:: p = \frac{1 + \#\{r : d_r \ge d_J^{(r)}\}}{R + 1}

    Parameters
    ----------
    ratings
        Ratings of a group.
    judge
        Number of the judge's answers of each category to each item, shape (I, K). Of several answers to an item the
        mean distance counts.
    distance
        Distances of answers, shape (K, K).

    Returns
    -------
    JudgeRank

    Raises
    ------
    UndefinedEstimate
        No item has two ratings of the group and an answer of the judge.

    Notes
    -----
    The smallest p-value is :math:`1 / (R + 1)`, so a group of fewer than 20 raters cannot be below .05. `nearer_share`
    is the winning rate of Calderon et al. (2025) with one judge and without their allowance for its lower cost.

    References
    ----------
    Calderon, N., Reichart, R. and Dror, R. (2025). The alternative annotator test for LLM-as-a-judge. ACL.

    Examples
    --------
    >>> items, raters = np.tile(np.arange(3), 3), np.repeat(np.arange(3), 3)
    >>> ratings = PanelRatings(items=items, raters=raters, answers=np.array([0, 1, 1, 0, 1, 0, 1, 1, 1]))
    >>> far = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    >>> rank_judge(ratings, far, np.array([[0.0, 1.0], [1.0, 0.0]]))
    JudgeRank(nearer_share=0.0, p=0.25, n_raters=3)
    """
    comparable = select_comparable(ratings, judge)
    counts = comparable.count(*judge.shape)
    others = counts.sum(axis=1)[comparable.items] - 1
    row = np.unique(comparable.raters, return_inverse=True)[1]
    shares = judge / np.maximum(judge.sum(axis=1, keepdims=True), 1)
    of_rater = (counts @ distance)[comparable.items, comparable.answers] / others
    # Distances of the judge from everybody on the item, less that from the rater who is compared.
    of_judge = np.einsum("ik,kl,il->i", shares, distance, counts)[comparable.items]
    of_judge = (of_judge - (shares @ distance)[comparable.items, comparable.answers]) / others
    excess = np.bincount(row, weights=of_judge - of_rater) / np.bincount(row)
    excess[np.abs(excess) < 1e-12] = 0
    n = len(excess)
    return JudgeRank(
        nearer_share=float(np.mean((excess < 0) + (excess == 0) / 2)),
        p=(1 + int((excess <= 0).sum())) / (n + 1),
        n_raters=n,
    )
