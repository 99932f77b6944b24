"""Campaigns under way, asked over the API."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from dissensus.client.requests import campaign_path, post_once
from dissensus.client.responses import parse_response, iterate_rows
from dissensus.http_client import ServiceClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """When there may be enough ratings.

    Parameters
    ----------
    wanted, missing
        How many are wanted in the end, and still missing.
    an_hour, done_at
        How many came lately, and when there are enough at that pace.
    """

    wanted: int | None
    missing: int | None
    an_hour: float | None
    done_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quartiles:
    """The middle of some answer times, in milliseconds: a quarter is below `low`, a half below `median`."""

    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Krippendorff's alpha with its 95 % interval, or why it is undefined."""

    estimate: float | None
    low: float | None
    high: float | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Another coefficient of agreement of all raters: which one, over how many items, with its interval."""

    name: str
    n_items: int
    agreement: Agreement


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """All raters, or those of one group of an axis.

    Parameters
    ----------
    axis, group
        Which group of what; both empty for all raters.
    n_raters, n_ratings
        Who rated something, and how many items in all.
    fewest, most
        Ratings of the item that has the fewest of this group, and of the one that has the most.
    answers
        How often each was given, by question, in the order of its scale.
    times, agreement
        The middle of their answer times, and how far they agree.
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
    """An hour or a day: when it began, ratings that came in it, and by how many raters."""

    start: datetime
    n_ratings: int
    n_raters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A campaign under way in figures.

    Parameters
    ----------
    scales, counted
        Answers in order, by question, and the question that agreement and gold are about.
    n_items, loads
        Items, and how many of them have each number of ratings.
    hours, days
        When ratings came.
    edges_s, times
        Seconds, and ratings that took less than the first, between each two, and more than the last.
    pool, groups
        All raters, and each group.
    measures
        More coefficients of agreement, where the answers to `counted` are steps.
    gold
        Items by what experts call them, in rows, and what most raters do, tied ones last.
    """

    scales: Mapping[str, tuple[str, ...]]
    counted: str | None
    n_items: int
    loads: tuple[tuple[int, int], ...]
    hours: tuple[Stretch, ...]
    days: tuple[Stretch, ...]
    edges_s: tuple[int, ...]
    times: tuple[int, ...]
    pool: Group
    groups: tuple[Group, ...]
    measures: tuple[Measure, ...]
    gold: tuple[tuple[int, ...], ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What is seen of a campaign under way.

    Parameters
    ----------
    raters, hidden
        How many rated something, and whether anything is left out because it is about few.
    figures, forecast
        What there is so far, and when there may be enough.
    made_at, read_at
        When the figures last changed, and as of when they hold.
    """

    raters: int | None
    hidden: bool
    figures: Figures | None
    forecast: Forecast | None
    made_at: datetime | None
    read_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The criteria that a rater meets.

    Parameters
    ----------
    n_ratings, median_ms
        Items rated, and the time that half of them took less than.
    reasons
        The criteria, in words.
    agreement, own_groups
        How often they gave the answer of most others, and of most of their own groups. That flags nobody.
    """

    n_ratings: int
    median_ms: float | None
    reasons: tuple[str, ...]
    agreement: float | None
    own_groups: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagDecision:
    """What somebody decided about a rater, why, by whom, when, and the criteria that were met then."""

    verdict: Literal["keep", "exclude"]
    reason: str
    evidence: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A rater who meets a criterion, or about whom somebody decided; None is what there is not."""

    rater: str
    evidence: Evidence | None
    decision: FlagDecision | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagCase:
    """A flagged rater, the median of all raters' times, and all that was decided, the last decision first."""

    rater: str
    evidence: Evidence | None
    pool_median_ms: float | None
    decisions: tuple[FlagDecision, ...]


class MonitoringClient:
    """Asks for campaigns under way: `dissensus.Client.watching`.

    Parameters
    ----------
    asking
        The connection of the client.
    """

    def __init__(self, asking: ServiceClient) -> None:
        self._asking = asking

    def figures(self, name: str) -> Watched:
        """Return agreement, answers, times and pace so far. Scope: ``numbers``."""
        return parse_response(Watched, self._asking.ask("GET", campaign_path(name, "figures")))

    def flags(self, name: str) -> Iterator[Flag]:
        """Yield flagged raters, and those about whom somebody decided. Scope: ``flags``."""
        return iterate_rows(self._asking, campaign_path(name, "flags"), Flag)

    def flag(self, name: str, rater: str) -> FlagCase:
        """Return the evidence about one rater, and all that was decided. Scope: ``flags``."""
        return parse_response(FlagCase, self._asking.ask("GET", campaign_path(name, "flags", rater)))

    def decide(self, name: str, rater: str, verdict: Literal["keep", "exclude"], *, reason: str) -> FlagCase:
        """Keep whether a flagged rater stays in analyses, and why. Scope: ``flags``."""
        body = {"verdict": verdict, "reason": reason}
        return parse_response(FlagCase, post_once(self._asking, campaign_path(name, "flags", rater, "decisions"), body))
