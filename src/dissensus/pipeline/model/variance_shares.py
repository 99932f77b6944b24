"""Shares of the latent variance: fixed effects, raters, items, their interactions, and the residual."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.pipeline.model.contrasts import list_columns
from dissensus.pipeline.model.facets import ModelFacets, VarianceDraws, summarise
from dissensus.stats.multilevel.fit import OrdinalFit
from dissensus.stats.result import FloatArray

FIXED: Final = "fixed effects"
RESIDUAL: Final = "residual"
LARGEST_ERROR: Final = 1.5
"""Largest standard error of the logarithm of a standard deviation that has an interval; others may be 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceShare:
    """Variance of one component on the latent scale, and its share of the total."""

    component: str  # "fixed effects", a group such as "rater_id" or "rater_race:item_id", or "residual"
    variance: float
    share: float
    ci_low: float | None  # Of the share; None where the standard deviation of the component may be 0
    ci_high: float | None


def share_variance(
    facets: ModelFacets, variances: VarianceDraws, fit: OrdinalFit, confidence: float
) -> Iterator[VarianceShare]:
    """Yield the share of each component, with all raters crossed with all items.

    Slopes have two components: the average effect of the group, and its interaction with the slopes' covariates.
    """
    named = facets.named
    fixed, *random = variances.expect(facets.split(facets.rater_weights()))
    components: dict[str, FloatArray] = {}
    is_open: dict[str, bool] = {}

    def add(name: str, variance: FloatArray, *, may_be_zero: bool) -> None:
        components[name] = components.get(name, 0.0) + variance
        is_open[name] = is_open.get(name, False) or may_be_zero

    if named.effects:
        add(FIXED, fixed.item + fixed.rater + fixed.interaction, may_be_zero=False)
    for number, (part, term, source) in enumerate(zip(random, named.design.random, named.formula.random, strict=True)):
        may_be_zero = not bool((fit.random[number].sd_errors <= LARGEST_ERROR).all())
        total = part.item + part.rater + part.interaction
        if not source.terms:
            # Also the part that all raters share, which is constant
            add(term.name, np.einsum("sii->s", variances.covariances[number][:, :1, :1]), may_be_zero=may_be_zero)
            continue
        slopes = ":".join(dict.fromkeys([*list_columns(source.terms), *source.group]))
        add(slopes, part.interaction, may_be_zero=may_be_zero)
        add(term.name, total - part.interaction, may_be_zero=may_be_zero)
    components[RESIDUAL] = np.full(len(variances.coefficients), variances.residual)
    total = np.sum(list(components.values()), axis=0)
    for name, variance in components.items():
        share, low, high = summarise(variance / total, confidence)
        yield VarianceShare(
            component=name,
            variance=float(variance[0]),
            share=share,
            ci_low=None if is_open.get(name) else low,
            ci_high=None if is_open.get(name) else high,
        )
