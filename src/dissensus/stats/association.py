"""Within-group against between-group agreement: GAI and DSI."""

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.agreement import krippendorff_alpha
from dissensus.stats.crossgroup import xrr
from dissensus.stats.result import ZERO, Estimate


def gai(counts_x: npt.ArrayLike, counts_y: npt.ArrayLike) -> Estimate:
    r"""Estimate the group association index of group x against group y.

    .. math:: \mathrm{GAI} = \alpha_x / \kappa_x(x, y)

    Krippendorff's alpha within over the cross-replication reliability (Prabhakaran et al. 2024, section 3.3).

    Parameters
    ----------
    counts_x, counts_y
        Raters of the group, and of those it is compared with, who gave each answer to each item, shape (I, K).

    Returns
    -------
    Estimate
        1 when the group agrees within as much as across, above 1 when it agrees more within.

    Raises
    ------
    UndefinedEstimate
        A component is undefined, or XRR is not positive: a ratio to chance agreement says nothing.

    Notes
    -----
    Unstable when XRR is near 0: read it with XRR beside it. Alpha uses every item of the group, XRR the shared
    ones.

    Examples
    --------
    >>> y = [[2, 0, 1], [2, 0, 1], [0, 3, 0], [1, 2, 0], [3, 0, 0]]
    >>> z = [[2, 0, 1], [1, 0, 2], [0, 3, 0], [1, 1, 1], [3, 0, 0]]
    >>> round(float(gai(y, z)), 10)
    0.7768595041
    """
    within, across = krippendorff_alpha(counts_x), xrr(counts_x, counts_y)
    if across.estimate <= ZERO:
        raise UndefinedEstimate(f"GAI is undefined: XRR is {across.estimate:.4f}, and a ratio to it says nothing.")
    return Estimate(
        estimate=within.estimate / across.estimate,
        method="gai",
        level="nominal",
        n_items=across.n_items,
        n_dropped=across.n_dropped,
        n_ratings=across.n_ratings,
    )


def dsi(counts: npt.ArrayLike) -> Estimate:
    r"""Estimate the diversity sensitivity index of an axis: the largest GAI of its groups.

    .. math:: \mathrm{DSI} = \max_g \mathrm{GAI}(g, \text{everybody else})

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
    Groups without a defined GAI are left out. A maximum of noisy values is biased upwards and has no honest
    bootstrap interval; judge it by its permutation distribution.

    Examples
    --------
    >>> y = [[2, 0, 1], [2, 0, 1], [0, 3, 0], [1, 2, 0], [3, 0, 0]]
    >>> z = [[2, 0, 1], [1, 0, 2], [0, 3, 0], [1, 1, 1], [3, 0, 0]]
    >>> round(float(dsi([y, z])), 10)
    0.7768595041
    """
    table = np.asarray(counts)
    if table.ndim != 3 or len(table) < 2:
        raise InvalidInput(f"counts has shape {table.shape}; give groups × items × categories, two groups or more.")
    everybody = table.sum(axis=0)
    defined = []
    for group in table:
        try:
            defined.append(gai(group, everybody - group))
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
