"""Belief and noise: stable differences between raters against the residual, within an item."""

from dataclasses import dataclass


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
