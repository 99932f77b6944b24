"""Results of the analysis of attempts."""

from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

from dissensus.stats.clustered import Clustered

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptCell:
    """Attempts on the models of one type, of one size, of both, or, with neither, on all."""

    model_type: str | None  # Of the models; None for all
    size: str | None
    n_attempts: int  # Number of there are, with those of which nothing more is known
    mean: Clustered  # Share of successes, or mean score, with its interval for other red-teamers
    # Of the scores, at `QUANTILES`; None for successes, and where there is no score
    quantiles: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Attempts that red-teamers gave one rating, and the mean of something else over them."""

    rating: int
    mean: Clustered


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """Relation of an outcome to the self-rating: its mean at each rating, and Spearman's correlation."""

    levels: tuple[Level, ...]
    spearman: Clustered


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """One tag: its share of the reviewed attempts, its share of the successful ones among them, and how it went."""

    tag: str
    n: int  # Reviewed attempts that have it, and successful ones
    n_successful: int
    share: Clustered  # Of all reviewed attempts, and of those that succeeded
    share_of_successful: Clustered
    success: Clustered  # Share of successes among attempts with this tag


class TopRedTeamers(NamedTuple):
    """Shares of the k busiest and the k most successful red-teamers; None where success is unknown."""

    k: int
    share_of_attempts: float
    share_of_successes: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Concentration:
    """Inequality of attempts and successes among red-teamers."""

    attempts: tuple[int, ...]  # Of each red-teamer, each from the most to the least
    successes: tuple[int, ...]
    top: tuple[TopRedTeamers, ...]  # Shares of the first few
    gini_attempts: float  # 0 where all made as many, near 1 where one made all; None where there is no success
    gini_successes: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One coefficient of a mixed model, with its interval and the p-value of no effect."""

    name: str
    estimate: float
    standard_error: float
    ci_low: float
    ci_high: float
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedModel:
    """A linear model of one outcome in which each red-teamer has an intercept."""

    outcome: str
    terms: tuple[Term, ...] = ()  # Coefficients; none where the model is undefined
    # Spread of the intercepts, of what is left, and how much of both variances is the former
    sd_red_teamers: float | None = None
    sd_residual: float | None = None
    share_of_red_teamers: float | None = None
    n: int = 0  # Attempts and red-teamers that entered, and attempts left out since something is not known of them
    n_red_teamers: int = 0
    n_dropped: int = 0
    left_out: tuple[str, ...] = ()  # What is not in the model, and why
    reason: str = ""  # Why it is undefined


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewAgreement:
    """Agreement of raters on the success of attempts: raters, scale and coefficient."""

    raters: str
    scale: str
    coefficient: str
    estimate: Clustered


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewResults:
    """Results of reviews."""

    n_reviews: int  # Number of there are
    n_attempts: int
    n_reviewers: int
    agreement: tuple[
        ReviewAgreement, ...
    ]  # Krippendorff's alpha and Fleiss' kappa, on five points and of success alone
    success: tuple[AttemptCell, ...]  # Share of reviews that call the attempt a success, by type and size
    relation: Relation  # Mean of the reviewers, and the rating of the red-teamer
    notes: tuple[str, ...] = ()  # What was left out


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptAnalysis:
    """Everything that is found but the map.

    Parameters
    ----------
    n_attempts, n_red_teamers
        How many there are.
    success, harmlessness
        Share of successes and least harmlessness score: of all, by type, by size, and by both.
    relation
        Least harmlessness score by the rating of the red-teamer.
    tags
        The most frequent first; none where nobody reviewed.
    n_tagged
        Attempts that were reviewed.
    concentration
        Over red-teamers.
    models
        Mixed models of the least harmlessness score and of the rating.
    reviewed
        What reviewers say; None without any.
    success_from, bootstrap, seed, level
        What was asked for.
    notes
        What was left out where.
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
    level: float
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        found = asdict(self)
        found["concentration"]["top"] = [top._asdict() for top in self.concentration.top]
        return found
