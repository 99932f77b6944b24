"""Results of the analysis of attempts."""

from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

from dissensus.stats.cluster_bootstrap import BootstrapEstimate

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptCell:
    """Attempts on models of one type, of one size, of both, or on all models."""

    model_type: str | None  # None for all
    size: str | None  # None for all
    n_attempts: int  # Including attempts without a rating or score
    mean: BootstrapEstimate  # Share of successes, or mean score, with an interval over red-teamers
    # Quantiles of the scores at `QUANTILES`; None for successes, and without scores
    quantiles: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Mean of an outcome over the attempts with one rating by the red-teamer."""

    rating: int
    mean: BootstrapEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """Relation of an outcome to the rating of the red-teamer: mean at each rating, and Spearman's correlation."""

    levels: tuple[Level, ...]
    spearman: BootstrapEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """Frequency and success of one tag."""

    tag: str
    n: int  # Reviewed attempts with this tag
    n_successful: int
    share: BootstrapEstimate  # Of the reviewed attempts
    share_of_successful: BootstrapEstimate  # Of the successful reviewed attempts
    success: BootstrapEstimate  # Share of successes among attempts with this tag


class TopRedTeamers(NamedTuple):
    """Shares of the k most active and the k most successful red-teamers; None without successes."""

    k: int
    share_of_attempts: float
    share_of_successes: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Concentration:
    """Inequality of attempts and successes among red-teamers."""

    attempts: tuple[int, ...]  # Counts of red-teamers, in descending order
    successes: tuple[int, ...]  # Counts of red-teamers, in descending order
    top: tuple[TopRedTeamers, ...]
    gini_attempts: float  # 0 for equal counts, near 1 if one red-teamer made all
    gini_successes: float | None  # None without successes


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One coefficient of a mixed model, with its interval and the p-value of no effect."""

    name: str
    estimate: float
    # Cluster-robust standard error and degrees of freedom, interval and p-value; None if too few red-teamers determine
    # the coefficient, or if it does not vary between them
    standard_error: float | None = None
    df: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    reason: str | None = None  # Reason for a missing interval


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedModel:
    """A linear model of one outcome with a random intercept for each red-teamer."""

    outcome: str
    terms: tuple[Term, ...] = ()  # Coefficients; empty if the model is undefined
    sd_red_teamers: float | None = None  # Standard deviation of the intercepts
    sd_residual: float | None = None
    share_of_red_teamers: float | None = None  # Share of variance between red-teamers, of what the terms leave
    n: int = 0  # Attempts in the model
    n_red_teamers: int = 0
    n_dropped: int = 0  # Attempts left out because of unknown values
    left_out: tuple[str, ...] = ()  # Omitted terms, with the reason
    reason: str = ""  # Reason for an undefined model


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewAgreement:
    """Agreement of raters on the success of attempts: raters, scale and coefficient."""

    raters: str
    scale: str
    coefficient: str
    estimate: BootstrapEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewResults:
    """Results of reviews."""

    n_reviews: int
    n_attempts: int
    n_reviewers: int
    # Krippendorff's alpha and Fleiss' kappa, on five points and of success or not
    agreement: tuple[ReviewAgreement, ...]
    success: tuple[AttemptCell, ...]  # Share of reviews that call the attempt a success, by type and size
    relation: Relation  # Mean rating of the reviewers by the rating of the red-teamer
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptAnalysis:
    """Analysis of red-team attempts, without the map.

    Parameters
    ----------
    n_attempts, n_red_teamers
        Number of attempts and of red-teamers.
    success, harmlessness
        Share of successes and mean of the least harmlessness score: overall, by type, by size, and by both.
    relation
        Least harmlessness score by the rating of the red-teamer.
    tags
        The most frequent first; empty without reviews.
    n_tagged
        Number of reviewed attempts.
    concentration
        Concentration over red-teamers.
    models
        Mixed models of the least harmlessness score and of the rating.
    reviewed
        Results of reviews; None without reviews.
    success_from, bootstrap, seed, confidence
        Options of the analysis.
    notes
        Attempts left out.
    """

    n_attempts: int
    n_red_teamers: int
    success: tuple[AttemptCell, ...]
    harmlessness: tuple[AttemptCell, ...]
    relation: Relation
    tags: tuple[Tag, ...]
    n_tagged: int
    concentration: Concentration
    models: tuple[MixedModel, ...]
    reviewed: ReviewResults | None
    success_from: int
    bootstrap: int
    seed: int
    confidence: float
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        values = asdict(self)
        values["concentration"]["top"] = [top._asdict() for top in self.concentration.top]
        return values
