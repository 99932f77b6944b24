"""Correlation of each rater's answers with the mean answer of all other raters to the same items."""

import numpy as np
import numpy.typing as npt

from dissensus.stats.result import FloatArray

FEWEST_ITEMS = 5
"""Items with other raters below which a rater has no correlation."""
ROUNDING = 1e-12
"""Variance as a share of the sum of squares that is rounding."""


def rest_correlations(
    raters: npt.NDArray[np.integer], items: npt.NDArray[np.integer], answers: npt.ArrayLike
) -> FloatArray:
    """Correlate the answers of each rater with the mean answer of the others to the same items.

    The corrected item-total correlation of test theory (Henrysson 1963, https://doi.org/10.1007/BF02289618) with raters
    in place of test items. Answers count by their place on the scale.

    Parameters
    ----------
    raters, items
        Codes from 0, shape (N,), each pair once.
    answers
        Categories in their order, numbers from 0, shape (N,).

    Returns
    -------
    FloatArray
        Pearson's correlations, shape (R,): 0 for a rater who gives one answer alone, or where the others do; NaN with
        fewer than five items that others rated.

    Examples
    --------
    >>> raters, items = np.divmod(np.arange(15), 5)
    >>> rest_correlations(raters, items, [0, 0, 1, 2, 2, 0, 1, 1, 2, 2, 2, 0, 1, 0, 2]).round(2).tolist()
    [0.68, 0.42, -0.14]
    """
    y = np.asarray(answers, np.float64)
    size, n_others = int(raters.max()) + 1, np.bincount(items) - 1
    if not n_others.all():
        known = n_others[items] > 0
        raters, items, y = raters[known], items[known], y[known]
    rest = (np.bincount(items, y, len(n_others))[items] - y) / n_others[items]
    n, y_sum, rest_sum, products, squares, rest_squares = (
        np.bincount(raters, x, size) for x in (np.ones_like(y), y, rest, y * rest, y * y, rest * rest)
    )
    with np.errstate(invalid="ignore"):
        covariance, variance, rest_variance = (
            total - a * b / n
            for total, a, b in (
                (products, y_sum, rest_sum),
                (squares, y_sum, y_sum),
                (rest_squares, rest_sum, rest_sum),
            )
        )
    varies = (variance > ROUNDING * squares) & (rest_variance > ROUNDING * rest_squares)
    correlations = np.zeros(size)
    correlations[varies] = covariance[varies] / np.sqrt(variance[varies] * rest_variance[varies])
    correlations[n < FEWEST_ITEMS] = np.nan
    return correlations
