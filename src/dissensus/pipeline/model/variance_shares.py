"""Shares of the latent variance: fixed effects, raters, items, their interactions, and the residual."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceShare:
    """Variance of one component on the latent scale, and its share of the total."""

    component: str  # "fixed effects", a group such as "rater_id" or "rater_race:item_id", or "residual"
    variance: float
    share: float
    ci_low: float | None  # Of the share; None where the standard deviation of the component may be 0
    ci_high: float | None
