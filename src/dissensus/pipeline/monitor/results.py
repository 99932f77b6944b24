"""Monitoring results of a running campaign."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

CELL: Final = "cell"
"""Axis of the cells of a quota."""
EDGES_S: Final = (1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 480, 720, 1200, 1800, 3600)
"""Bin edges of answer times, in seconds, about logarithmic. Two more bins lie below and above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quartiles:
    """Quartiles of answer times, in milliseconds."""

    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolAgreement:
    """Krippendorff's alpha of some raters."""

    estimate: float | None  # Unrounded; None if undefined
    low: float | None = None  # Ends of the 95 % interval
    high: float | None = None
    reason: str | None = None  # Reason if undefined
    warning: str | None = None  # Reason why the interval may not cover as often as it claims


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterMeasure:
    """Another coefficient of agreement of all raters."""

    name: str
    n_items: int  # Items with the required number of ratings
    agreement: PoolAgreement  # Estimate with its interval


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFigures:
    """Figures of all raters, or of those in one group of an axis."""

    axis: str  # Axis and group; both empty for all raters
    group: str
    n_raters: int  # Raters with a rating
    n_ratings: int
    min_ratings: int  # Least and largest number of ratings of an item by this group
    max_ratings: int
    answers: Mapping[str, tuple[int, ...]]  # Counts of answers in the order of the scale, by question or overall
    times: Quartiles | None  # Quartiles of answer times; None without any
    agreement: PoolAgreement  # Agreement on the primary question


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBucket:
    """Ratings in an hour or a day."""

    start: int  # Seconds since 1970, the beginning of an hour or of a day in UTC
    n_ratings: int
    n_raters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterFigures:
    """Figures of a rater, with the criteria that they meet."""

    rater_id: str
    number: int
    n_ratings: int
    median_ms: float | None  # Median answer time
    reasons: tuple[str, ...]  # Criteria met, in words; the rater is flagged if there are any
    # Voting agreement with the others; None if nobody else rated their items. Not a criterion of flagging.
    agreement: float | None
    group_agreement: Mapping[str, float]  # Voting agreement with others of their own group, by axis
    answers: Mapping[str, tuple[int, ...]]  # Counts of answers in the order of the scale, by question or overall


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConsistency:
    """Equal answers of all raters, or of a group, to items that they rated twice."""

    axis: str  # Axis and group; both empty for all raters
    group: str
    n_raters: int  # Raters who rated an item twice
    n_repeats: int | None  # Items rated twice, and share of equal answers; both None with few raters
    share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterRepeats:
    """Equal answers of a rater to items that they rated twice."""

    rater_id: str
    number: int
    n_repeats: int
    n_equal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsistencyFigures:
    """Consistency on the primary question, for items that raters saw twice."""

    pool: GroupConsistency
    groups: tuple[GroupConsistency, ...]  # Groups with raters who rated an item twice, by axis
    raters: tuple[RaterRepeats, ...]  # In the order of entry


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFigures:
    """Figures of a running campaign."""

    scales: Mapping[str, tuple[str, ...]]  # Scales of questions and overalls
    primary_question: str | None  # Question of agreement, gold and the one-label criterion; None without any
    n_items: int  # Items to be rated
    loads: tuple[tuple[int, int], ...]  # Numbers of ratings in ascending order, each with its number of items
    hours: tuple[TimeBucket, ...]  # Last nonempty hours, at most 48
    days: tuple[TimeBucket, ...]  # Nonempty days
    times: tuple[int, ...]  # Histogram of answer times with the edges `EDGES_S`, open at both ends
    pool: GroupFigures  # Figures of all raters
    groups: tuple[GroupFigures, ...]  # Figures of each group of each axis
    measures: tuple[RaterMeasure, ...]  # Coefficients of the primary question, if its answers are steps
    # Items by gold label, in rows, and plurality, in columns, both in the order of the scale; ties in the last column.
    # None without gold labels.
    gold: tuple[tuple[int, ...], ...] | None
    flagged: tuple[RaterFigures, ...]  # In the order of entry
    consistency: ConsistencyFigures | None = None  # None where no item was rated twice

    @property
    def axes(self) -> dict[str, tuple[GroupFigures, ...]]:
        """Groups of each axis."""
        return {
            name: tuple(group for group in self.groups if group.axis == name)
            for name in dict.fromkeys(group.axis for group in self.groups)
        }
