"""Belief and noise: stable differences between raters against the residual, within an item."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from dissensus.pipeline.model.design import NamedDesign
from dissensus.pipeline.model.facets import ModelFacets, VarianceDraws, summarise
from dissensus.pipeline.tables import format_short
from dissensus.schema.hints import format_list
from dissensus.schema.ratings.columns import RATER_ID
from dissensus.stats.multilevel.consistency import (
    ResidualConsistency,
    compare_consistency,
    estimate_residual_consistency,
)
from dissensus.stats.multilevel.fit import OrdinalFit
from dissensus.stats.multilevel.posterior import PosteriorDraws
from dissensus.stats.raters.consistency import match_repeats

NO_REPEATS: Final = (
    "Consistency is unknown: the table has one answer of each rater to each item, so that what a rater thinks of one "
    "item alone cannot be told from noise."
)
NORMAL: Final = NormalDist()
ALPHA: Final = 0.05
LEAST_CONSISTENT: Final = 3
"""Raters with the fewest equal answers that a warning names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """Shares of the latent variance within an item, with sum one.

    `stable` is of differences between raters that are the same for all items, `interaction` of those that the model
    lets vary by item, and `residual` of all others: of a rater on one item, and noise. Only repeated answers of a rater
    to an item split the last; `consistency` is then the share of it that repeats, and `consistency_p` the p-value of
    the null hypothesis that all raters repeat their answers equally often.
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
    consistency_ci_low: float | None
    consistency_ci_high: float | None
    consistency_p: float | None
    n_repeats: int

    @property
    def noise(self) -> float | None:
        """Share of the variance within an item that does not repeat; None without repeated answers."""
        return None if self.consistency is None else self.residual * (1 - self.consistency)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedShare:
    """Share of the residual that repeated answers have in common, and how raters differ in it.

    `p` is the p-value of the null hypothesis that they do not differ, None for a single rater; `least` are the raters
    with the fewest equal answers relative to those expected, if these are significantly few.
    """

    residual: ResidualConsistency
    p: float | None
    least: tuple[str, ...]


def split_belief(
    facets: ModelFacets, variances: VarianceDraws, repeated_share: RepeatedShare | None, confidence: float
) -> Belief:
    """Split the variance within an item into stable differences, interactions and residual."""
    parts = variances.expect(facets.split(facets.rater_weights()))
    stable = np.sum([part.rater for part in parts], axis=0)
    interaction = np.sum([part.interaction for part in parts], axis=0)
    residual = np.full_like(stable, variances.residual)
    shares = [
        summarise(part / (stable + interaction + residual), confidence) for part in (stable, interaction, residual)
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
        consistency=repeated_share.residual.estimate if repeated_share else None,
        consistency_ci_low=repeated_share.residual.ci_low if repeated_share else None,
        consistency_ci_high=repeated_share.residual.ci_high if repeated_share else None,
        consistency_p=repeated_share.p if repeated_share else None,
        n_repeats=repeated_share.residual.n_repeats if repeated_share else 0,
    )


def compare_repeats(
    named: NamedDesign, fit: OrdinalFit, draws: PosteriorDraws, confidence: float
) -> RepeatedShare | None:
    """Return the share of the residual that repeated answers have in common; None if no answer was repeated."""
    ratings, rows = named.ratings, named.rows
    question = named.formula.response
    repeated = match_repeats(*ratings.showing_codes(question))
    scale = ratings.scale(question)
    category = np.array([named.categories.index(name) if name in named.categories else -1 for name in scale])
    modelled_keys, repeated_keys = (
        rater.astype(np.int64) * ratings.n_items + item
        for rater, item in ((rows.rater, rows.item), (repeated.raters, repeated.items))
    )
    _, row, entry = np.intersect1d(modelled_keys, repeated_keys, return_indices=True)
    second = category[repeated.second[entry]]
    known = second >= 0
    if not known.any():
        return None
    row, second = row[known], second[known]
    residual = estimate_residual_consistency(fit.approximation.likelihood, draws, row, second, confidence=confidence)
    raters = rows.rater[row]
    if len(np.unique(raters)) < 2:
        return RepeatedShare(residual=residual, p=None, least=())
    comparison = compare_consistency(
        raters, named.design.answers[row] == second, residual.expected, n_raters=ratings.n_raters
    )
    order = np.argsort(comparison.deviations, kind="stable")[:LEAST_CONSISTENT]
    least = order[comparison.deviations[order] < NORMAL.inv_cdf(ALPHA / 2)]
    return RepeatedShare(residual=residual, p=comparison.p, least=tuple(ratings.raters[RATER_ID][least.tolist()]))


def warn_of_raters(repeated_share: RepeatedShare | None) -> Iterator[str]:
    """Yield a warning if raters differ in how often they repeat an answer."""
    if repeated_share is None or repeated_share.p is None or repeated_share.p >= ALPHA:
        return
    least = f", the least of all {format_list(repeated_share.least)}" if repeated_share.least else ""
    yield (
        f"Raters differ in how often they repeat an answer (p = {format_short(repeated_share.p, 3)}){least}. "
        "Consistency, belief and noise are averages over careful and careless raters, and the interval of consistency "
        "is too narrow; dissensus vet has the consistency of each rater."
    )
