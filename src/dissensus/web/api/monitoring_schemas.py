"""What programs get of a campaign under way."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from dissensus.web.api.schemas import Hidden, Shown


class ForecastShown(Shown):
    """When there may be enough ratings."""

    wanted: Annotated[int | None, Field(description="How many ratings in the end, null where no number is set.")]
    missing: int | None
    an_hour: Annotated[float | None, Field(description="How many came lately, null where who asks may not know it.")]
    done_at: Annotated[datetime | None, Field(description="When there are enough at that pace, null where unknown.")]


class QuartilesShown(Shown):
    """The middle of some answer times, in milliseconds."""

    low: float
    median: float
    high: float


class AgreementShown(Shown):
    """Krippendorff's alpha, with its 95 % interval."""

    estimate: float | None
    low: float | None
    high: float | None
    reason: Annotated[str | None, Field(description="Why it is undefined.")]


class GroupShown(Shown):
    """All raters, or those of one group of an axis."""

    axis: Annotated[str, Field(description="Empty for all raters.")]
    group: Annotated[str, Field(description="Empty for all raters.")]
    n_raters: int
    n_ratings: int
    fewest: Annotated[int, Field(description="Ratings of the item that has the fewest of this group.")]
    most: Annotated[int, Field(description="Ratings of the item that has the most.")]
    answers: Annotated[
        dict[str, list[int]], Field(description="How often each was given, by question, in the order of `scales`.")
    ]
    times: QuartilesShown | None
    agreement: AgreementShown


class MeasureShown(Shown):
    """Another coefficient of agreement of all raters, with its interval for other items."""

    name: str
    n_items: Annotated[int, Field(description="Items with the ratings that it takes.")]
    agreement: AgreementShown


class StretchShown(Shown):
    """An hour or a day in which ratings came."""

    start: datetime
    n_ratings: int
    n_raters: int


class FiguresShown(Shown):
    """A campaign under way in figures."""

    scales: dict[str, list[str]]
    counted: Annotated[str | None, Field(description="The question that agreement and gold are about.")]
    n_items: int
    loads: Annotated[list[tuple[int, int]], Field(description="Numbers of ratings, and how many items have so many.")]
    hours: Annotated[list[StretchShown], Field(description="Of the last two days with ratings; none for analysts.")]
    days: Annotated[list[StretchShown], Field(description="With ratings; without those of few for analysts.")]
    edges_s: Annotated[list[int], Field(description="Seconds between which `times` are counted.")]
    times: Annotated[list[int], Field(description="Ratings below the first edge, between each two, from the last on.")]
    pool: GroupShown
    groups: Annotated[list[GroupShown], Field(description="Without those of few for analysts.")]
    measures: Annotated[list[MeasureShown], Field(description="Where the answers to `counted` are steps.")]
    gold: Annotated[
        list[list[int]] | None,
        Field(description="Items by what experts call them, in rows, and what most raters do; tied ones come last."),
    ]


class Watched(Shown):
    """What is seen of a campaign under way."""

    raters: Annotated[Hidden, Field(description="Who rated something; null where who asks may not know it.")]
    hidden: Annotated[bool, Field(description="Whether something is left out because it is about few.")]
    figures: Annotated[FiguresShown | None, Field(description="Null before there are any, or any that may be seen.")]
    forecast: ForecastShown | None
    made_at: Annotated[datetime | None, Field(description="When the figures last changed.")]
    read_at: Annotated[datetime | None, Field(description="As of when they hold.")]


class Evidence(Shown):
    """The criteria that a rater meets."""

    n_ratings: int
    median_ms: Annotated[float | None, Field(description="Half of their answer times are below it.")]
    reasons: Annotated[list[str], Field(description="The criteria, in words.")]
    agreement: Annotated[
        float | None, Field(description="How often they gave the answer of most others. It flags nobody.")
    ]
    own_groups: Annotated[dict[str, float], Field(description="The same beside others of their own group, by axis.")]


class FlagDecision(Shown):
    """What somebody decided about a rater, and why."""

    verdict: Annotated[Literal["keep", "exclude"], Field(description="What is excluded is flagged in exports.")]
    reason: str
    evidence: Annotated[str, Field(description="The criteria that were met then, a line each.")]
    by: Annotated[str, Field(description="The name of the member.")]
    at: datetime


class FlagShown(Shown):
    """A rater who is flagged, or about whom somebody decided."""

    rater: str
    evidence: Annotated[Evidence | None, Field(description="Null where no criterion is met any more.")]
    decision: Annotated[FlagDecision | None, Field(description="What holds; null where nobody decided yet.")]


class FlagCase(Shown):
    """A rater who is flagged, with all that was decided."""

    rater: str
    evidence: Annotated[Evidence | None, Field(description="Null where no criterion is met any more.")]
    pool_median_ms: Annotated[float | None, Field(description="Half of the answer times of all raters are below it.")]
    decisions: Annotated[list[FlagDecision], Field(description="The last one first, which holds.")]
