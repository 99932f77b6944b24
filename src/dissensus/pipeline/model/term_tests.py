"""Tests of whole terms of a formula: Wald, likelihood ratio, and predictive density of raters or items left out."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TermTest:
    """Test of one term, all of whose effects are zero under the null hypothesis.

    The model with the term has all terms but those that contain it, as `a:b` contains `a` (type II); the other model
    lacks it. Both have the same random effects.
    """

    term: str
    df: int
    wald: float
    wald_p: float
    likelihood_ratio: float
    likelihood_ratio_p: float
    # Expected log predictive density of raters or items left out, with the term less without; None if unreliable
    loo_difference: float | None
    loo_se: float | None
    loo_group: str | None  # "rater_id" or "item_id"
    pareto_k: float | None  # The larger of both models
