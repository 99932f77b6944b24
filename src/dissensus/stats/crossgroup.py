"""Agreement between two groups: cross-replication reliability, cross-negentropy, voting agreement."""

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.agreement import krippendorff_alpha
from dissensus.stats.counts import check_pair, count_ratings
from dissensus.stats.distance import Distance, Level, level_name, squared_distances
from dissensus.stats.result import ZERO, Estimate

NO_SHARED_ITEM = "no item was rated by both groups"


def xrr(
    counts_x: npt.ArrayLike,
    counts_y: npt.ArrayLike,
    *,
    level: Level | Distance = "nominal",
    values: npt.ArrayLike | None = None,
) -> Estimate:
    r"""Estimate the cross-replication reliability of two groups.

    .. math::

        \kappa_x = 1 - \frac{d_o}{d_e}, \qquad
        d_o = \frac{1}{R_\cdot + S_\cdot}\sum_i \frac{R_i + S_i}{R_i S_i} \sum_{r,s} D(x_{ri}, y_{si}), \qquad
        d_e = \frac{1}{R_\cdot S_\cdot}\sum_{i,j}\sum_{r,s} D(x_{ri}, y_{sj})

    over the items rated by both, with :math:`R_i, S_i` ratings of each group (Wong, Paritosh and Aroyo 2021,
    equations 9 and 10).

    Parameters
    ----------
    counts_x, counts_y
        Raters of each group who gave each answer to each item, shape (I, K), the same items in the same order.
    level
        Nominal, interval (squared difference), or a function. Ordinal is the squared difference of mid-ranks among the
        answers of both groups to the shared items, which is Krippendorff's; the paper has none.
    values
        The number each category stands for, shape (K,); 0 … K-1 by default.

    Returns
    -------
    Estimate
        `observed` and `expected` are the disagreements; 1 is perfect agreement across groups, 0 chance.

    Raises
    ------
    UndefinedEstimate
        No shared item, or both groups always gave the same answer.
    InvalidInput
        Counts of different shape, or a ratio level.

    Notes
    -----
    Expected disagreement is averaged over all pairs, including those of the same item, without the n - 1 of
    Krippendorff's alpha. Items that only one group rated are dropped and counted. Symmetric in the two groups.

    References
    ----------
    Wong, K., Paritosh, P. and Aroyo, L. (2021). Cross-replication reliability: an empirical approach to
    interpreting inter-rater reliability. ACL.

    Examples
    --------
    >>> x = [[0, 2], [0, 3], [2, 0], [3, 0], [1, 1]]
    >>> y = [[0, 2], [1, 1], [1, 1], [1, 1], [2, 0]]
    >>> round(float(xrr(x, y)), 10)
    0.1818181818
    """
    if level == "ratio":
        raise InvalidInput(
            "level is 'ratio'; XRR is defined for nominal, ordinal and interval answers, or give a function."
        )
    x, y, n_dropped = check_pair(counts_x, counts_y)
    if len(x) == 0:
        raise UndefinedEstimate(f"XRR is undefined: {NO_SHARED_ITEM}.")
    squared = squared_distances(level, values, x.sum(axis=0) + y.sum(axis=0))
    r, s = count_ratings(x), count_ratings(y)
    across = ((x @ squared) * y).sum(axis=1)
    observed = float(((r + s) / (r * s) * across).sum() / (r.sum() + s.sum()))
    expected = float(x.sum(axis=0) @ squared @ y.sum(axis=0) / (int(r.sum()) * int(s.sum())))
    if expected == 0:
        raise UndefinedEstimate("XRR is undefined: both groups always gave the same answer.")
    return Estimate(
        estimate=1 - observed / expected,
        method="xrr",
        observed=observed,
        expected=expected,
        level=level_name(level),
        n_items=len(x),
        n_dropped=n_dropped,
        n_ratings=int(r.sum() + s.sum()),
    )


def normalised_xrr(
    counts_x: npt.ArrayLike,
    counts_y: npt.ArrayLike,
    *,
    level: Level | Distance = "nominal",
    values: npt.ArrayLike | None = None,
) -> Estimate:
    r"""Estimate XRR relative to the agreement within the two groups.

    .. math:: \kappa_x / \sqrt{\alpha_X\, \alpha_Y}

    (Wong, Paritosh and Aroyo 2021, equation 13) with Krippendorff's alpha as the reliability within each group.

    Parameters
    ----------
    counts_x, counts_y, level, values
        As for :func:`xrr`.

    Returns
    -------
    Estimate
        Near 1 if raters differ no more across groups than within them; it may exceed 1.

    Raises
    ------
    UndefinedEstimate
        A component is undefined, or one of the two alphas is not positive.

    Notes
    -----
    The paper leaves the choice of reliability open; Cohen's kappa instead of alpha gives different values. The alphas
    use every item of their group, not only the shared ones.

    Examples
    --------
    >>> x, y = [[4, 0], [3, 1], [0, 4], [1, 3]], [[3, 1], [4, 0], [1, 3], [0, 4]]
    >>> round(float(normalised_xrr(x, y)), 4)
    0.9412
    """
    across = xrr(counts_x, counts_y, level=level, values=values)
    within = [float(krippendorff_alpha(counts, level=level, values=values)) for counts in (counts_x, counts_y)]
    if min(within) <= ZERO:
        raise UndefinedEstimate(
            f"Normalised XRR is undefined: the alphas of the two groups are {within[0]:.3f} and {within[1]:.3f}, "
            "and both must be positive."
        )
    return Estimate(
        estimate=across.estimate / float(np.sqrt(within[0] * within[1])),
        method="normalised_xrr",
        level=across.level,
        n_items=across.n_items,
        n_dropped=across.n_dropped,
        n_ratings=across.n_ratings,
    )


def cross_negentropy(counts_x: npt.ArrayLike, counts_y: npt.ArrayLike, *, smoothing: float = 0.0) -> Estimate:
    r"""Estimate the mean cross-negentropy: how well the answers of group y predict those of group x.

    .. math:: \frac{1}{I}\sum_i \Bigl[\ln K + \sum_k p_{ik} \ln q_{ik}\Bigr]

    in nats, with p the shares of group x and q those of group y (Prabhakaran et al. 2024, section 3.2).

    Parameters
    ----------
    counts_x, counts_y
        Raters of each group who gave each answer to each item, shape (I, K).
    smoothing
        Number s added to every count of group y: :math:`q = (n + s) / (m + K s)`. With 0, terms with q = 0 are left
        out, as in the authors' metrics code. That hides an infinite penalty, so prefer a positive value for new work.
        The published table counts ln K for every item that has a q of 0.

    Returns
    -------
    Estimate
        At most :math:`\ln K`; not symmetric in the two groups.

    Raises
    ------
    UndefinedEstimate
        No item was rated by both groups.
    InvalidInput
        Negative smoothing, counts of different shape.

    Notes
    -----
    Items that only one group rated are dropped and counted.

    Examples
    --------
    >>> y = [[2, 0, 1], [2, 0, 1], [0, 3, 0], [1, 2, 0], [3, 0, 0]]
    >>> z = [[2, 0, 1], [1, 0, 2], [0, 3, 0], [1, 1, 1], [3, 0, 0]]
    >>> round(float(cross_negentropy(y, z)), 10)
    0.5780743516
    """
    if smoothing < 0 or not np.isfinite(smoothing):
        raise InvalidInput(f"smoothing is {smoothing}; give 0 or a positive number.")
    x, y, n_dropped = check_pair(counts_x, counts_y)
    if len(x) == 0:
        raise UndefinedEstimate(f"Cross-negentropy is undefined: {NO_SHARED_ITEM}.")
    m, n_categories = count_ratings(x), x.shape[1]
    q = (y + smoothing) / (count_ratings(y) + n_categories * smoothing)[:, None]
    ln_q = np.log(q, out=np.zeros_like(q), where=q > 0)
    return Estimate(
        estimate=float(np.log(n_categories) + ((x * ln_q).sum(axis=1) / m).mean()),
        method="cross_negentropy" if smoothing == 0 else f"cross_negentropy smoothing {smoothing:g}",
        n_items=len(x),
        n_dropped=n_dropped,
        n_ratings=int(x.sum() + y.sum()),
    )


def voting_agreement(counts_x: npt.ArrayLike, counts_y: npt.ArrayLike) -> Estimate:
    """Estimate the agreement of two groups' plurality answers.

    Krippendorff's nominal alpha between two hypothetical raters, who give the most frequent answer of each group to
    each item (Prabhakaran et al. 2024, section 3.2, where it is called plurality agreement).

    Parameters
    ----------
    counts_x, counts_y
        Raters of each group who gave each answer to each item, shape (I, K), categories in their declared order.

    Returns
    -------
    Estimate
        `observed` and `expected` are disagreements; `ties` counts the items tied in either group.

    Raises
    ------
    UndefinedEstimate
        No item was rated by both groups, or every plurality is the same answer.

    Notes
    -----
    A tie goes to the first category in the declared order (No before Unsure before Yes); `ties` shows how much depends
    on that rule. The tie rule of the published table is unknown. Items that only one group rated are dropped and
    counted.

    Examples
    --------
    >>> y = [[2, 0, 1], [2, 0, 1], [0, 3, 0], [1, 2, 0], [3, 0, 0]]
    >>> z = [[2, 0, 1], [1, 0, 2], [0, 3, 0], [1, 1, 1], [3, 0, 0]]
    >>> round(voting_agreement(y, z).estimate, 10), voting_agreement(y, z).ties
    (0.3333333333, 1)
    """
    x, y, n_dropped = check_pair(counts_x, counts_y)
    if len(x) == 0:
        raise UndefinedEstimate(f"Voting agreement is undefined: {NO_SHARED_ITEM}.")
    votes = np.zeros_like(x)
    item = np.arange(len(x))
    tied = np.zeros(len(x), dtype=bool)
    for counts in (x, y):
        votes[item, counts.argmax(axis=1)] += 1
        tied |= (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1
    if np.count_nonzero(votes.sum(axis=0)) == 1:
        raise UndefinedEstimate("Voting agreement is undefined: every plurality of both groups is the same answer.")
    alpha = krippendorff_alpha(votes)
    return Estimate(
        estimate=alpha.estimate,
        method="voting_agreement",
        observed=alpha.observed,
        expected=alpha.expected,
        level="nominal",
        ties=int(tied.sum()),
        n_items=len(x),
        n_dropped=n_dropped,
        n_ratings=int(x.sum() + y.sum()),
    )
