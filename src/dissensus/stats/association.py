"""Ratios of within-group to between-group agreement: GAI and DSI."""

import numpy.typing as npt

from dissensus.errors import UndefinedEstimate
from dissensus.stats.agreement import krippendorff_alpha
from dissensus.stats.counts import check_groups
from dissensus.stats.crossgroup import xrr
from dissensus.stats.distance import Distance, Level
from dissensus.stats.result import ZERO, Estimate


def gai(
    counts_x: npt.ArrayLike,
    counts_y: npt.ArrayLike,
    *,
    level: Level | Distance = "nominal",
    values: npt.ArrayLike | None = None,
) -> Estimate:
    r"""Estimate the group association index of group x against group y.

    .. math:: \mathrm{GAI} = \alpha_x / \kappa_x(x, y)

    Krippendorff's alpha within the group over the cross-replication reliability (Prabhakaran et al. 2024, section 3.3).

    Parameters
    ----------
    counts_x, counts_y
        Raters of each group who gave each answer to each item, shape (I, K).
    level, values
        As for `xrr`.

    Returns
    -------
    Estimate
        1 if agreement within the group equals agreement across groups, above 1 if it is higher.

    Raises
    ------
    UndefinedEstimate
        A component is undefined, or XRR is not positive: a ratio to chance agreement has no meaning.

    Notes
    -----
    Unstable when XRR is near 0: report both. Alpha uses every item of the group, XRR the shared ones.

    Examples
    --------
    >>> y = [[2, 0, 1], [2, 0, 1], [0, 3, 0], [1, 2, 0], [3, 0, 0]]
    >>> z = [[2, 0, 1], [1, 0, 2], [0, 3, 0], [1, 1, 1], [3, 0, 0]]
    >>> round(float(gai(y, z)), 10)
    0.7768595041
    """
    within = krippendorff_alpha(counts_x, level=level, values=values)
    across = xrr(counts_x, counts_y, level=level, values=values)
    if across.estimate <= ZERO:
        raise UndefinedEstimate(f"GAI is undefined: XRR is {across.estimate:.4f}, and it must be positive.")
    return Estimate(
        estimate=within.estimate / across.estimate,
        method="gai",
        level=across.level,
        n_items=across.n_items,
        n_dropped=across.n_dropped,
        n_ratings=across.n_ratings,
    )


def dsi(counts: npt.ArrayLike) -> Estimate:
    r"""Estimate the diversity sensitivity index of an axis: the largest GAI of its groups.

    .. math:: \mathrm{DSI} = \max_g \mathrm{GAI}(g, \text{rest})

    (Prabhakaran et al. 2024, section 3.3).

    Parameters
    ----------
    counts
        Raters of each group who gave each answer to each item, shape (G, I, K).

    Returns
    -------
    Estimate

    Raises
    ------
    UndefinedEstimate
        No group has a defined GAI.
    InvalidInput
        Fewer than two groups.

    Notes
    -----
    Groups without a defined GAI are left out. A maximum of noisy values is biased upwards and has no valid bootstrap
    interval; test it by permutation.

    Examples
    --------
    >>> y = [[2, 0, 1], [2, 0, 1], [0, 3, 0], [1, 2, 0], [3, 0, 0]]
    >>> z = [[2, 0, 1], [1, 0, 2], [0, 3, 0], [1, 1, 1], [3, 0, 0]]
    >>> round(float(dsi([y, z])), 10)
    0.7768595041
    """
    table = check_groups(counts)
    total = table.sum(axis=0)
    defined = []
    for group in table:
        try:
            defined.append(gai(group, total - group))
        except UndefinedEstimate:
            continue
    if not defined:
        raise UndefinedEstimate("DSI is undefined: no group has a defined GAI.")
    top = max(defined, key=float)
    return Estimate(
        estimate=top.estimate,
        method="dsi",
        level="nominal",
        n_items=top.n_items,
        n_dropped=top.n_dropped,
        n_ratings=top.n_ratings,
    )
