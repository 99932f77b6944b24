"""Items that divide groups: effects of group and item together, shrunk towards none."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dissensus.pipeline.model.facets import ModelFacets
from dissensus.pipeline.model.prediction import MOST_AT_ONCE, Places, locate
from dissensus.stats.multilevel.fit import LINKS, Link
from dissensus.stats.multilevel.posterior import PosteriorDraws
from dissensus.stats.multilevel.prediction import predict_shares
from dissensus.stats.result import FloatArray, Int64Array


@dataclass(frozen=True, slots=True, kw_only=True)
class DividedItem:
    """Difference between a group and all other raters on one item.

    `difference` is that of the shares of the last answer which new raters would give. `interaction` is on the latent
    scale and beyond the difference on the average item: differential item functioning. A false sign rate is the
    probability that the difference is zero or has the other sign.
    """

    item_id: str
    axis: str
    group: str
    difference: float
    ci_low: float
    ci_high: float
    false_sign_rate: float
    interaction: float
    interaction_ci_low: float
    interaction_ci_high: float
    interaction_false_sign_rate: float
    n_raters: int  # Of the group, who rated this item


def rank_items(facets: ModelFacets, draws: PosteriorDraws, *, link: Link, confidence: float) -> tuple[DividedItem, ...]:
    """Return the differences of groups on items that some of the group rated, those with the most certain sign first.

    Items whose sign is equally certain are in the order of their differences in standard deviations.
    """
    items, item_ids = np.unique(facets.named.rows.item).astype(np.int64), facets.named.item_ids
    ranked: list[tuple[float, float, DividedItem]] = []
    for axis in facets.divided_axes():
        contrasts = _contrast_levels(facets, axis)
        shares, latent = _compare(facets, draws, contrasts, items, link)
        latent -= latent.mean(2, keepdims=True)
        counts = facets.count_ratings(axis)[items]
        for level, group in enumerate(facets.named.rows.columns[axis].levels):
            rated = np.flatnonzero(counts[:, level])
            share, interaction = (_summarise(x[:, level, rated], confidence) for x in (shares, latent))
            for row, index in enumerate(rated):
                divided = DividedItem(
                    item_id=item_ids[items[index]],
                    axis=axis,
                    group=group,
                    difference=float(share.mean[row]),
                    ci_low=float(share.low[row]),
                    ci_high=float(share.high[row]),
                    false_sign_rate=float(share.false_sign_rate[row]),
                    interaction=float(interaction.mean[row]),
                    interaction_ci_low=float(interaction.low[row]),
                    interaction_ci_high=float(interaction.high[row]),
                    interaction_false_sign_rate=float(interaction.false_sign_rate[row]),
                    n_raters=int(counts[index, level]),
                )
                ranked.append((divided.false_sign_rate, -float(share.certainty[row]), divided))
    return tuple(divided for _, _, divided in sorted(ranked, key=lambda row: row[:2]))


def _contrast_levels(facets: ModelFacets, axis: str) -> FloatArray:
    """Return weights of cells, whose product with predictions is the difference of each group and all other raters."""
    contrasts = []
    for level in range(len(facets.named.rows.columns[axis].levels)):
        others = facets.cells.n_raters * (facets.cells.codes[axis] != level)
        contrasts.append(facets.rater_weights(axis, level) - others / others.sum())
    return np.array(contrasts)


def _compare(
    facets: ModelFacets, draws: PosteriorDraws, contrasts: FloatArray, items: Int64Array, link: Link
) -> tuple[FloatArray, FloatArray]:
    """Return contrasts of the share of the last answer, and of the location, by draw, contrast and item."""
    n_draws, n_cells = len(draws.thresholds), len(facets.cells)
    size = max(1, MOST_AT_ONCE // (n_draws * n_cells))
    shares = np.empty((n_draws, len(contrasts), len(items)))
    latent = np.empty_like(shares)
    for start in range(0, len(items), size):
        block = slice(start, start + size)
        location, variation = locate(facets.named, draws, Places(facets.cells, items[block]))
        last = predict_shares(location, draws.thresholds, variation, link=LINKS[link])[:, :, -1]
        shares[:, :, block] = contrasts @ last.reshape(n_draws, n_cells, -1)
        latent[:, :, block] = contrasts @ location.reshape(n_draws, n_cells, -1)
    return shares, latent


class _Summary(NamedTuple):
    """Mean, interval, false sign rate, and absolute mean in standard deviations, each by item."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    false_sign_rate: FloatArray
    certainty: FloatArray


def _summarise(values: FloatArray, confidence: float) -> _Summary:
    """Summarise draws, shape (draws, items), by item; the false sign rate is that of Stephens 2017."""
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    mean, sd = values.mean(0), values.std(0)
    rate = np.minimum((values >= 0).mean(0), (values <= 0).mean(0))
    return _Summary(mean, low, high, rate, np.abs(mean) / np.maximum(sd, 1e-12))
