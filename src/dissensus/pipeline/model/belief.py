"""Belief and noise: stable differences between raters against the residual, within an item."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.pipeline.model.facets import ModelFacets, VarianceDraws, summarize

CONSISTENCY: Final = (
    "Consistency is unknown: a table has one answer of each rater to each item, so that what a rater thinks of one "
    "item alone cannot be told from noise."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """Shares of the latent variance within an item, with sum one.

    `stable` is of differences between raters that are the same for all items, `interaction` of those that the model
    lets vary by item, and `residual` of all others: of a rater on one item, and noise. Only repeated answers of a rater
    to an item split the last; `consistency` is then the share of it that repeats.
    """

    stable: float
    stable_ci_low: float
    stable_ci_high: float
    interaction: float
    interaction_ci_low: float
    interaction_ci_high: float
    residual: float
    residual_ci_low: float
    residual_ci_high: float
    consistency: float | None


def split_belief(facets: ModelFacets, variances: VarianceDraws, confidence: float) -> Belief:
    """Split the variance within an item into stable differences, interactions and residual."""
    parts = variances.expect(facets.split(facets.rater_weights()))
    stable = np.sum([part.rater for part in parts], axis=0)
    interaction = np.sum([part.interaction for part in parts], axis=0)
    residual = np.full_like(stable, variances.residual)
    shares = [
        summarize(part / (stable + interaction + residual), confidence) for part in (stable, interaction, residual)
    ]
    return Belief(
        stable=shares[0][0],
        stable_ci_low=shares[0][1],
        stable_ci_high=shares[0][2],
        interaction=shares[1][0],
        interaction_ci_low=shares[1][1],
        interaction_ci_high=shares[1][2],
        residual=shares[2][0],
        residual_ci_low=shares[2][1],
        residual_ci_high=shares[2][2],
        consistency=None,
    )
