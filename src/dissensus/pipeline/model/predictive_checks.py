"""Posterior predictive checks: new answers of the same raters to the same items, against those observed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictiveCheck:
    """A statistic of the observed answers, and of new answers that the model predicts."""

    check: str  # Such as "raters who never answer Unsure"
    answer: str
    axis: str | None  # Of groups
    observed: float
    replicated: float  # Mean
    ci_low: float
    ci_high: float
    p: float  # Twice the share of replications that lie as far out
    passes: bool  # The observed value lies in the interval
