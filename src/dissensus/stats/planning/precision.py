"""Precision of shares, differences and labels of items in a design."""

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Final

import numpy as np

from dissensus.stats.cluster_robust import t_quantile
from dissensus.stats.planning.contrast_power import ContrastDesign, DesignCell, contrast_variance
from dissensus.stats.planning.rating_model import RatingModel, ShareComponents
from dissensus.stats.result import check_confidence

MANY_RATERS: Final = 5000
"""Raters of an item from whom on their majority has a normal distribution."""
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


def contrast_half_width(model: RatingModel, design: ContrastDesign, *, confidence: float) -> HalfWidth:
    """Return the precision of a contrast of shares; a single cell of weight 1 is a share.

    Half-widths are quantiles of the t distribution times the root of the variances of `contrast_variance`.

    Examples
    --------
    A hundred independent answers of a hundred people: the textbook's ten points.

    >>> cell = DesignCell(share=0.5, n_raters=100, per_item=100, weight=1)
    >>> width = contrast_half_width(RatingModel(rater_sd=0, item_sd=0), ContrastDesign((cell,), 1), confidence=0.95)
    >>> round(width.raters, 3)
    0.099
    """
    check_confidence(confidence)
    variance = contrast_variance(model, design)
    t = t_quantile(confidence, variance.df)
    return HalfWidth(raters=t * math.sqrt(variance.raters), both=t * math.sqrt(variance.raters + variance.items))


def pool_half_width(model: RatingModel, design: ContrastDesign, n_groups: int, *, confidence: float) -> HalfWidth:
    """Return the precision of the share of a pool of G groups of one size, in a design of one cell."""
    check_confidence(confidence)
    (cell,) = design.cells
    parts = pool_components(model, cell.share, n_groups)
    raters = (parts.rater + parts.residual / design.load(cell)) / cell.n_raters
    t = t_quantile(confidence, cell.n_raters - 1)
    return HalfWidth(raters=t * math.sqrt(raters), both=t * math.sqrt(raters + parts.item / design.n_items))


def pool_components(model: RatingModel, share: float, n_groups: int) -> ShareComponents:
    """Return the variance components of a pool of G groups: effects of groups on items average out over the groups.

    Examples
    --------
    >>> model = RatingModel(rater_sd=0.7, item_sd=0.7, group_item_sd=0.4)
    >>> pool_components(model, 0.3, 1) == model.components(0.3)
    True
    >>> pool_components(model, 0.3, 4).item < pool_components(model, 0.3, 2).item < model.components(0.3).item
    True
    """
    parts = model.components(share)
    shared = model.item_covariance((share, 1.0), (share, 1.0))
    item = parts.item if n_groups == 1 else shared + (parts.item - shared) / n_groups
    return replace(parts, item=item, residual=parts.residual + parts.item - item)


def item_precision(
    model: RatingModel, share: float, per_item: int, *, n_groups: int = 1, confidence: float
) -> ItemPrecision:
    r"""Return the precision of the answers to one item by K raters of a pool of G groups of one size.

    The variance of an item's share is :math:`(\sigma^2_r + \sigma^2_e) / K` on average over items. A majority agrees
    with that of the population with the probability that a binomial number of K raters with the item's own share is on
    its side of one half, averaged over items; from 5,000 raters on, by the normal distribution. Reliability is
    :math:`v / (v + (s_{gi}^2 (1 - 1/G) + 1) / K)` with :math:`v = s_i^2 + s_{gi}^2 / G`, since effects of groups on an
    item have an average over groups that belongs to the item; dependability has :math:`s_r^2` in the error too
    (Brennan 2001).

    References
    ----------
    Brennan, R. L. (2001). Generalizability theory. Springer.

    Examples
    --------
    >>> precise = item_precision(RatingModel(rater_sd=0.0, item_sd=1.0), 0.5, 9, confidence=0.95)
    >>> round(precise.reliability, 6), precise.reliability == precise.dependability
    (0.9, True)
    """
    check_confidence(confidence)
    parts = pool_components(model, share, n_groups)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    of_groups = model.group_item_sd**2
    item, rater, residual = (
        model.item_sd**2 + of_groups / n_groups,
        model.rater_sd**2,
        of_groups * (1 - 1 / n_groups) + 1,
    )
    return ItemPrecision(
        half_width=z * math.sqrt((parts.rater + parts.residual) / per_item),
        label_agreement=_label_agreement(model, share, per_item, n_groups),
        reliability=item / (item + residual / per_item),
        dependability=item / (item + (rater + residual) / per_item),
    )


def _label_agreement(model: RatingModel, share: float, per_item: int, n_groups: int) -> float:
    normal = NormalDist()
    centre = normal.inv_cdf(share) * model.total_sd()
    item_sd = math.hypot(model.item_sd, model.group_item_sd / math.sqrt(n_groups))
    scale = math.sqrt(model.total_sd() ** 2 - item_sd**2)
    shares = np.array([normal.cdf((centre + item_sd * node) / scale) for node in _NODES.tolist()])
    if per_item >= MANY_RATERS:
        bounded = shares.clip(1e-12, 1 - 1e-12)
        distance = np.abs(bounded - 0.5) * np.sqrt(per_item / (bounded * (1 - bounded)))
        return float(_WEIGHTS @ np.array([normal.cdf(d) for d in distance.tolist()]) / _WEIGHTS.sum())
    counts = np.arange(per_item + 1)
    choose = np.array([math.lgamma(per_item + 1) - math.lgamma(k + 1) - math.lgamma(per_item - k + 1) for k in counts])
    bounded = shares.clip(1e-12, 1 - 1e-12)[:, None]
    chance = np.exp(choose + counts * np.log(bounded) + (per_item - counts) * np.log1p(-bounded))
    side = (np.sign(2 * counts - per_item) * np.sign(shares - 0.5)[:, None] + 1) / 2
    return float(_WEIGHTS @ (chance * side).sum(axis=1) / _WEIGHTS.sum())


def single_share(share: float, n_raters: int, per_item: int, n_items: int) -> ContrastDesign:
    """Return the design of one share."""
    return ContrastDesign((DesignCell(share=share, n_raters=n_raters, per_item=per_item, weight=1.0),), n_items)
