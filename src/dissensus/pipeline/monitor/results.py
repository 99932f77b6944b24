"""What is seen of a campaign that is under way."""

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
class Agreement:
    """Krippendorff's alpha of some raters.

    Parameters
    ----------
    estimate
        Unrounded; None where it is undefined.
    low, high
        Ends of the 95 % interval; None where there is none.
    reason
        Why it is undefined.
    """

    estimate: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Another coefficient of agreement of all raters.

    Parameters
    ----------
    name
        Which one, of what.
    n_items
        Items with the ratings that it takes.
    agreement
        The coefficient, with its interval for other items.
    """

    name: str
    n_items: int
    agreement: Agreement


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Some raters: all of them, or those of one group of an axis.

    Parameters
    ----------
    axis, group
        Which group of what; both empty for all raters.
    n_raters, n_ratings
        Who rated something, and how many items in all.
    fewest, most
        Ratings of the item that has the fewest of this group, and of the one that has the most.
    answers
        How often each answer was given, by question or overall, in the order of its scale.
    times
        Of all their answer times; None where there are none.
    agreement
        About the question that agreement is measured by.
    """

    axis: str
    group: str
    n_raters: int
    n_ratings: int
    fewest: int
    most: int
    answers: Mapping[str, tuple[int, ...]]
    times: Quartiles | None
    agreement: Agreement


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """An hour or a day: when it began, in seconds since 1970, ratings that came in it, and by how many raters."""

    start: int
    n_ratings: int
    n_raters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Flagged:
    """A rater who meets a criterion, with the evidence.

    Parameters
    ----------
    rater_id, number
        Who.
    n_ratings
        Items that they rated.
    median_ms
        Half of their answer times are below it.
    reasons
        The criteria that they meet, in words.
    agreement
        How often they gave the answer that most others gave; None where nobody else rated their items. It flags nobody.
    own_groups
        The same beside others of their own group, by axis.
    """

    rater_id: str
    number: int
    n_ratings: int
    median_ms: float | None
    reasons: tuple[str, ...]
    agreement: float | None
    own_groups: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A campaign under way in figures.

    Parameters
    ----------
    scales
        What is counted, each with its answers in order.
    counted
        The question that agreement, gold and the criterion of one label are about; None where there is none.
    n_items
        Items that are to be rated.
    loads
        How many items have each number of ratings, from the fewest on.
    hours, days
        When ratings came, those with any alone; hours of the last two days that have some.
    times
        Ratings by how long they took: below the first of `EDGES_S`, between each two, and from the last on.
    pool, groups
        All raters, and those of each group of each axis.
    measures
        Of the question that agreement is measured by, where its answers are steps.
    gold
        Items by what experts call them, in rows, and what most raters do, in columns, both in the order of the scale;
        the last column has those where answers are tied. None where no item has a gold label.
    flagged
        Raters who meet a criterion, in the order in which they came.
    """

    scales: Mapping[str, tuple[str, ...]]
    counted: str | None
    n_items: int
    loads: tuple[tuple[int, int], ...]
    hours: tuple[Stretch, ...]
    days: tuple[Stretch, ...]
    times: tuple[int, ...]
    pool: Group
    groups: tuple[Group, ...]
    measures: tuple[Measure, ...]
    gold: tuple[tuple[int, ...], ...] | None
    flagged: tuple[Flagged, ...]

    @property
    def axes(self) -> dict[str, tuple[Group, ...]]:
        """The groups of each axis."""
        return {
            name: tuple(group for group in self.groups if group.axis == name)
            for name in dict.fromkeys(group.axis for group in self.groups)
        }
