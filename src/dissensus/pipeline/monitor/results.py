"""Monitoring results of a running campaign."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

CELL: Final = "cell"
"""The axis of the cells of a quota."""
EDGES_S: Final = (1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 480, 720, 1200, 1800, 3600)
"""Where the bars of answer times begin and end, in seconds; about as far apart as factors. Two more are beyond them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quartiles:
    """The middle of some answer times, in milliseconds: a quarter is below `low`, a half below `median`."""

    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolAgreement:
    """Krippendorff's alpha of some raters."""

    estimate: float | None  # Unrounded; None where it is undefined
    low: float | None = None  # Ends of the 95 % interval; None where there is none
    high: float | None = None
    reason: str | None = None  # Why it is undefined


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterMeasure:
    """Another coefficient of agreement of all raters."""

    name: str
    n_items: int  # Items with the ratings that it takes
    agreement: PoolAgreement  # The coefficient, with its interval for other items


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFigures:
    """Some raters: all of them, or those of one group of an axis."""

    axis: str  # Which group of what; both empty for all raters
    group: str
    n_raters: int  # Who rated something, and how many items in all
    n_ratings: int
    fewest: int  # Ratings of the item that has the fewest of this group, and of the one that has the most
    most: int
    # How often each answer was given, by question or overall, in the order of its scale
    answers: Mapping[str, tuple[int, ...]]
    times: Quartiles | None  # Of all their answer times; None where there are none
    agreement: PoolAgreement  # About the question that agreement is measured by


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBucket:
    """An hour or a day: when it began, in seconds since 1970, ratings that came in it, and by how many raters."""

    start: int
    n_ratings: int
    n_raters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlaggedRater:
    """A rater who meets a criterion, with the evidence."""

    rater_id: str
    number: int
    n_ratings: int  # Items that they rated
    median_ms: float | None  # Half of their answer times are below it
    reasons: tuple[str, ...]  # The criteria that they meet, in words
    # How often they gave the answer that most others gave; None where nobody else rated their items. It flags nobody.
    agreement: float | None
    own_groups: Mapping[str, float]  # The same beside others of their own group, by axis


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFigures:
    """A campaign under way in figures."""

    scales: Mapping[str, tuple[str, ...]]  # What is counted, each with its answers in order
    # The question that agreement, gold and the criterion of one label are about; None where there is none
    counted: str | None
    n_items: int  # Items that are to be rated
    loads: tuple[tuple[int, int], ...]  # Number of items have each number of ratings, from the fewest on
    hours: tuple[TimeBucket, ...]  # When ratings came, those with any alone; hours of the last two days that have some
    days: tuple[TimeBucket, ...]
    # Ratings by how long they took: below the first of `EDGES_S`, between each two, and from the last on
    times: tuple[int, ...]
    pool: GroupFigures  # All raters, and those of each group of each axis
    groups: tuple[GroupFigures, ...]
    measures: tuple[RaterMeasure, ...]  # Of the question that agreement is measured by, where its answers are steps
    # Items by what experts call them, in rows, and what most raters do, in columns, both in the order of the scale; the
    # last column has those where answers are tied. None where no item has a gold label.
    gold: tuple[tuple[int, ...], ...] | None
    flagged: tuple[FlaggedRater, ...]  # Raters who meet a criterion, in the order in which they came

    @property
    def axes(self) -> dict[str, tuple[GroupFigures, ...]]:
        """The groups of each axis."""
        return {
            name: tuple(group for group in self.groups if group.axis == name)
            for name in dict.fromkeys(group.axis for group in self.groups)
        }
