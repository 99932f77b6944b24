"""Shares of answers that a multilevel model predicts for raters who were not asked."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.stats.design import run_in_threads
from dissensus.stats.multilevel import kernels
from dissensus.stats.result import FloatArray

NODES: Final = 21
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(NODES)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RaterVariation:
    """Differences between raters over which predictions are averaged.

    Parameters
    ----------
    variance
        Variance of a rater's effect on the location at each place, shape (S, Q); zero where raters do not differ.
    width_sds
        Standard deviation of a rater's log width, shape (S,); None without widths.
    width_covariances
        Covariance of a rater's effects on log width and location, shape (S,); None without widths.
    """

    variance: FloatArray
    width_sds: FloatArray | None = None
    width_covariances: FloatArray | None = None


def predict_shares(location: FloatArray, thresholds: FloatArray, variation: RaterVariation, *, link: int) -> FloatArray:
    """Predict the share of each answer among raters who were not asked.

    The probability of each answer, averaged over the normal distribution of raters' effects: exact for the probit link,
    by Gauss–Hermite quadrature with 21 nodes for the logit link and for widths.

    Parameters
    ----------
    location
        Location at each of Q places, such as cells of a population crossed with items, in each of S draws, without the
        effects of raters, shape (S, Q).
    thresholds
        Thresholds in each draw, shape (S, K - 1).
    variation
        Differences between raters.
    link
        `kernels.PROBIT` or `kernels.LOGIT`.

    Returns
    -------
    FloatArray
        Shares from 0 to 1, shape (S, Q, K), with sum one over answers.

    Raises
    ------
    InvalidInput
        Shapes differ.

    Examples
    --------
    >>> import numpy as np
    >>> variation = RaterVariation(variance=np.ones((1, 1)))
    >>> predict_shares(np.zeros((1, 1)), np.array([[0.0, 1.0]]), variation, link=0).round(3)
    array([[[0.5 , 0.26, 0.24]]])
    """
    if variation.variance.shape != location.shape or len(thresholds) != len(location):
        raise InvalidInput(
            f"Locations have shape {location.shape}, variances {variation.variance.shape} and thresholds "
            f"{thresholds.shape}; the first two are (draws, places), the third (draws, answers - 1)."
        )
    variance, sds, slopes = variation.variance, np.empty(0), np.empty(0)
    if variation.width_sds is not None and variation.width_covariances is not None:
        sds = variation.width_sds
        slopes = variation.width_covariances / np.maximum(sds, 1e-12) ** 2
        variance = np.maximum(variance - (slopes * variation.width_covariances)[:, None], 0)
    shares = np.empty((*location.shape, thresholds.shape[1] + 1))
    location, variance, thresholds = (np.ascontiguousarray(array) for array in (location, variance, thresholds))

    def fill(part: slice) -> None:
        by_draw = (location[part], variance[part], thresholds[part], sds[part], slopes[part])
        kernels.fill_shares(*by_draw, _POINTS, _WEIGHTS, link, shares[part])

    run_in_threads(fill, len(location))
    return shares
