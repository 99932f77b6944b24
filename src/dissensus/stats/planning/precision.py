"""Precision of shares, differences and labels of items in a design."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dissensus.stats.cluster_robust import t_quantile
from dissensus.stats.planning.contrast import ContrastDesign, DesignCell, contrast_variance
from dissensus.stats.planning.rating_model import RatingModel
from dissensus.stats.result import check_confidence

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfWidth:
    """Half of the expected width of an interval.

    Parameters
    ----------
    raters
        For other raters of the same items.
    both
        For other raters and other items.
    """

    raters: float
    both: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPrecision:
    """Precision of the answers to one item with K raters.

    Parameters
    ----------
    half_width
        Half of the expected width of the interval of the share of an item.
    label_agreement
        Probability that the majority of the raters is that of the population; ties count half.
    reliability
        Generalizability coefficient of item means on the latent scale, for raters who all rate the same items.
    dependability
        The same for other raters of each item.
    """

    half_width: float
    label_agreement: float
    reliability: float
    dependability: float


def contrast_half_width(model: RatingModel, design: ContrastDesign, *, confidence: float = 0.95) -> HalfWidth:
    """Return the precision of a contrast of shares; a single cell of weight 1 is a share.

    Half-widths are quantiles of the t distribution times the root of the variances of `contrast_variance`.

    Examples
    --------
    A hundred independent answers of a hundred people: the textbook's ten points.

    >>> cell = DesignCell(share=0.5, n_raters=100, per_item=100, weight=1)
    >>> width = contrast_half_width(RatingModel(rater_sd=0, item_sd=0), ContrastDesign((cell,), 1))
    >>> round(width.raters, 3)
    0.099
    """
    check_confidence(confidence)
    variance = contrast_variance(model, design)
    t = t_quantile(confidence, variance.df)
    return HalfWidth(raters=t * math.sqrt(variance.raters), both=t * math.sqrt(variance.raters + variance.items))


def item_precision(model: RatingModel, share: float, per_item: int, *, confidence: float = 0.95) -> ItemPrecision:
    r"""Return the precision of the answers to one item by K raters of the whole pool.

    The variance of an item's share is :math:`(\sigma^2_r + \sigma^2_e) / K` on average over items. A majority agrees
    with that of the population with the probability that a binomial number of K raters with the item's own share is on
    its side of one half, averaged over items. Reliability is
    :math:`s_i^2 / (s_i^2 + (s_{gi}^2 + 1) / K)`, dependability has :math:`s_r^2` in the error too (Brennan 2001).

    References
    ----------
    Brennan, R. L. (2001). Generalizability theory. Springer.

    Examples
    --------
    >>> precise = item_precision(RatingModel(rater_sd=0.0, item_sd=1.0), 0.5, 9)
    >>> round(precise.reliability, 6), precise.reliability == precise.dependability
    (0.9, True)
    """
    parts = model.components(share)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    item, rater, residual = model.item_sd**2, model.rater_sd**2, model.group_item_sd**2 + 1
    return ItemPrecision(
        half_width=z * math.sqrt((parts.rater + parts.residual) / per_item),
        label_agreement=_label_agreement(model, share, per_item),
        reliability=item / (item + residual / per_item),
        dependability=item / (item + (rater + residual) / per_item),
    )


def _label_agreement(model: RatingModel, share: float, per_item: int) -> float:
    normal = NormalDist()
    centre = normal.inv_cdf(share) * model.total_sd()
    scale = math.sqrt(1 + model.rater_sd**2 + model.group_item_sd**2)
    shares = np.array([normal.cdf((centre + model.item_sd * node) / scale) for node in _NODES.tolist()])
    counts = np.arange(per_item + 1)
    choose = np.array([math.lgamma(per_item + 1) - math.lgamma(k + 1) - math.lgamma(per_item - k + 1) for k in counts])
    bounded = shares.clip(1e-12, 1 - 1e-12)[:, None]
    chance = np.exp(choose + counts * np.log(bounded) + (per_item - counts) * np.log1p(-bounded))
    side = (np.sign(2 * counts - per_item) * np.sign(shares - 0.5)[:, None] + 1) / 2
    return float(_WEIGHTS @ (chance * side).sum(axis=1) / _WEIGHTS.sum())


def single_share(share: float, n_raters: int, per_item: int, n_items: int) -> ContrastDesign:
    """Return the design of one share."""
    return ContrastDesign((DesignCell(share=share, n_raters=n_raters, per_item=per_item, weight=1.0),), n_items)
