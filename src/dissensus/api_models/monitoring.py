"""Monitoring of a running campaign: agreement, pace, and decisions about flagged raters."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from dissensus.api_models.resource import Resource


class ForecastResource(Resource):
    """Expected completion of the ratings."""

    target: Annotated[int | None, Field(description="Planned number of ratings, null without a plan.")]
    missing: int | None
    per_hour: Annotated[float, Field(description="Recent ratings per hour.")]
    completed_at: Annotated[datetime | None, Field(description="Expected completion at that pace, null if unknown.")]


class QuartilesResource(Resource):
    """Quartiles of answer times in milliseconds."""

    low: float
    median: float
    high: float


class AgreementResource(Resource):
    """Agreement coefficient, Krippendorff's alpha unless named otherwise, with its 95 % interval."""

    estimate: float | None
    low: float | None
    high: float | None
    reason: Annotated[str | None, Field(description="Reason if it is undefined.")]
    warning: Annotated[
        str | None, Field(description="Reason why the interval may be too narrow or too wide, as in `analyse`.")
    ]


class GroupResource(Resource):
    """Numbers of all raters, or of one group of an axis."""

    axis: Annotated[str, Field(description="Empty for all raters.")]
    group: Annotated[str, Field(description="Empty for all raters.")]
    n_raters: int
    n_ratings: int
    min_ratings: Annotated[int, Field(description="Ratings of the item with the fewest ratings of this group.")]
    max_ratings: Annotated[int, Field(description="Ratings of the item with the most ratings of this group.")]
    answers: Annotated[
        Mapping[str, tuple[int, ...]], Field(description="Answer counts by question, in the order of `scales`.")
    ]
    times: QuartilesResource | None
    agreement: AgreementResource


class CoefficientResource(Resource):
    """Another agreement coefficient of all raters."""

    name: str
    n_items: Annotated[int, Field(description="Items with enough ratings for this coefficient.")]
    agreement: AgreementResource


class TimeBucketResource(Resource):
    """Ratings of one hour or day."""

    start: datetime
    n_ratings: int
    n_raters: int


class FiguresResource(Resource):
    """Statistics of a running campaign."""

    scales: Annotated[Mapping[str, tuple[str, ...]], Field(description="Answers in order, by question.")]
    primary_question: Annotated[str | None, Field(description="Question that agreement and gold refer to.")]
    n_items: int
    loads: Annotated[
        tuple[tuple[int, int], ...], Field(description="Pairs of a number of ratings and the items that have it.")
    ]
    hours: Annotated[
        tuple[TimeBucketResource, ...],
        Field(description="Hours of the last two days with ratings; none in published figures."),
    ]
    days: Annotated[
        tuple[TimeBucketResource, ...],
        Field(description="Days with ratings; none in published figures if a day had few raters."),
    ]
    edges_s: Annotated[tuple[int, ...], Field(description="Bin edges of `times` in seconds.")]
    times: Annotated[
        tuple[int, ...], Field(description="Ratings below the first edge, between each two, and from the last edge on.")
    ]
    pool: Annotated[GroupResource, Field(description="All raters.")]
    groups: Annotated[tuple[GroupResource, ...], Field(description="Without small groups in published figures.")]
    measures: Annotated[
        tuple[CoefficientResource, ...], Field(description="Present if the answers to `primary_question` are ordered.")
    ]
    gold: Annotated[
        tuple[tuple[int, ...], ...] | None,
        Field(description="Items by expert label (rows) and by majority of raters (columns); ties come last."),
    ]


class MonitoringResource(Resource):
    """State of a running campaign."""

    raters: Annotated[int | None, Field(description="Raters with ratings; null without figures.")]
    hidden: Annotated[bool, Field(description="True for published figures, in which small groups are suppressed.")]
    figures: Annotated[FiguresResource | None, Field(description="Null before there are any that the caller may see.")]
    forecast: ForecastResource | None
    updated_at: Annotated[datetime | None, Field(description="Time when the figures last changed.")]
    read_at: Annotated[datetime | None, Field(description="Time up to which the figures hold.")]


class RaterEvidenceResource(Resource):
    """Criteria that a flagged rater meets."""

    n_ratings: int
    median_ms: Annotated[float | None, Field(description="Median answer time.")]
    reasons: Annotated[tuple[str, ...], Field(description="The criteria, in words.")]
    agreement: Annotated[
        float | None, Field(description="Share of answers equal to those of most others. It flags nobody.")
    ]
    group_agreement: Annotated[
        Mapping[str, float], Field(description="The same within the rater's own group, by axis.")
    ]


class FlagDecisionResource(Resource):
    """A decision about a flagged rater."""

    verdict: Annotated[Literal["keep", "exclude"], Field(description="Excluded raters are flagged in exports.")]
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
