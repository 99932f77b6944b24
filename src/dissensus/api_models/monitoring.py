"""Monitoring figures of a campaign: agreement, pace, and decisions about flagged raters."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from dissensus.api_models.resource import Resource


class ForecastResource(Resource):
    """Expected completion of the ratings."""

    target: Annotated[int | None, Field(description="Planned number of ratings, null without a plan.")]
    missing: Annotated[int | None, Field(description="Ratings still missing, null without a plan.")]
    per_hour: Annotated[float, Field(description="Recent ratings per hour.")]
    completed_at: Annotated[datetime | None, Field(description="Expected completion at that pace, null if unknown.")]


class QuartilesResource(Resource):
    """Quartiles of answer times in milliseconds."""

    low: float
    median: float
    high: float


class AgreementResource(Resource):
    """Agreement coefficient with its 95 % interval: Krippendorff's alpha, or the named coefficient in `measures`."""

    estimate: float | None
    low: float | None
    high: float | None
    reason: Annotated[str | None, Field(description="Reason if it is undefined.")]
    warning: Annotated[
        str | None, Field(description="Reason why the interval may be too narrow or too wide, as in `analyse`.")
    ]


class GroupResource(Resource):
    """Figures of all raters, or of one group of an axis."""

    axis: Annotated[str, Field(description="Empty for all raters.")]
    group: Annotated[str, Field(description="Empty for all raters.")]
    n_raters: int
    n_ratings: int
    min_ratings: Annotated[int, Field(description="Fewest ratings of an item by this group.")]
    max_ratings: Annotated[int, Field(description="Most ratings of an item by this group.")]
    answers: Annotated[
        Mapping[str, tuple[int, ...]], Field(description="Answer counts by question, in the order of `scales`.")
    ]
    times: QuartilesResource | None
    agreement: AgreementResource


class CoefficientResource(Resource):
    """Agreement coefficient of all raters besides that of `pool`."""

    name: str
    n_items: Annotated[int, Field(description="Items with enough ratings for this coefficient.")]
    agreement: AgreementResource


class TimeBucketResource(Resource):
    """Ratings of one hour or day."""

    start: datetime
    n_ratings: int
    n_raters: int


class FiguresResource(Resource):
    """Statistics of a campaign."""

    scales: Annotated[Mapping[str, tuple[str, ...]], Field(description="Answers in order, by question.")]
    primary_question: Annotated[str | None, Field(description="Question that agreement and gold refer to.")]
    n_items: int
    loads: Annotated[
        tuple[tuple[int, int], ...],
        Field(description="Pairs of a number of ratings and the number of items that have it."),
    ]
    hours: Annotated[
        tuple[TimeBucketResource, ...],
        Field(description="Hours with ratings, the last 48 at most; none in published figures."),
    ]
    days: Annotated[
        tuple[TimeBucketResource, ...],
        Field(description="Days with ratings; none in published figures if a day had few raters."),
    ]
    edges_s: Annotated[tuple[int, ...], Field(description="Bin edges of `times` in seconds.")]
    times: Annotated[
        tuple[int, ...],
        Field(description="Ratings below the first edge, between consecutive edges, and from the last edge on."),
    ]
    pool: Annotated[GroupResource, Field(description="All raters.")]
    groups: Annotated[tuple[GroupResource, ...], Field(description="Without small groups in published figures.")]
    measures: Annotated[
        tuple[CoefficientResource, ...],
        Field(description="Empty unless the answers to `primary_question` are ordered."),
    ]
    gold: Annotated[
        tuple[tuple[int, ...], ...] | None,
        Field(
            description="Numbers of items by gold label (rows) and by plurality answer (columns, ties in the last one)."
        ),
    ]


class MonitoringResource(Resource):
    """Figures of a campaign, and the forecast of its completion."""

    raters: Annotated[int | None, Field(description="Raters with ratings; null without figures.")]
    hidden: Annotated[bool, Field(description="True for published figures, in which small groups are suppressed.")]
    figures: Annotated[FiguresResource | None, Field(description="Null before there are any that the caller may see.")]
    forecast: ForecastResource | None
    updated_at: Annotated[datetime | None, Field(description="Time when the figures last changed.")]
    read_at: Annotated[datetime | None, Field(description="Time as of which the figures are current.")]


class RaterEvidenceResource(Resource):
    """Criteria that a flagged rater meets."""

    n_ratings: int
    median_ms: Annotated[float | None, Field(description="Median answer time.")]
    reasons: Annotated[tuple[str, ...], Field(description="The criteria, in words.")]
    agreement: Annotated[
        float | None,
        Field(description="Share of items with the most frequent answer of the others. Not a criterion of flagging."),
    ]
    group_agreement: Annotated[
        Mapping[str, float], Field(description="The same within the rater's own group, by axis.")
    ]


class FlagDecisionResource(Resource):
    """A decision about a flagged rater."""

    verdict: Annotated[Literal["keep", "exclude"], Field(description="Excluded raters are marked in exports.")]
    reason: str
    evidence: Annotated[str, Field(description="Criteria that were met at that time, one per line.")]
    by: Annotated[str, Field(description="Name of the member who decided.")]
    at: datetime


class FlagResource(Resource):
    """A rater who is flagged, or about whom a decision was made."""

    rater: str
    evidence: Annotated[RaterEvidenceResource | None, Field(description="Null if no criterion is met any more.")]
    decision: Annotated[
        FlagDecisionResource | None, Field(description="The decision in force; null if there is none yet.")
    ]


class FlagCaseResource(Resource):
    """A flagged rater with all decisions."""

    rater: str
    evidence: Annotated[RaterEvidenceResource | None, Field(description="Null if no criterion is met any more.")]
    pool_median_ms: Annotated[float | None, Field(description="Median answer time of all raters.")]
    decisions: Annotated[
        tuple[FlagDecisionResource, ...], Field(description="Latest first; the latest one is in force.")
    ]
