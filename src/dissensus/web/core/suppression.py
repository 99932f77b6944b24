"""What is left of numbers for those who may not see all of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from dissensus.pipeline.monitor import Figures, Stretch
from dissensus.workflows.campaign.monitoring import MonitoringView
from dissensus.workflows.campaign.overview import CampaignListEntry, CampaignOverview

if TYPE_CHECKING:
    from dissensus.store.overview import Numbers

LEAST: Final = 5
"""Raters in a number that is shown."""
Group = TypeVar("Group")


def suppressed(counts: Mapping[Group, int]) -> dict[Group, int | None]:
    """Return counts of disjoint groups without those from 1 to 4, nor what a known total would give away.

    Examples
    --------
    >>> suppressed({"young": 2, "old": 9, "other": 12, "none": 0})
    {'young': None, 'old': None, 'other': 12, 'none': 0}
    >>> suppressed({"young": 7, "old": 9})
    {'young': 7, 'old': 9}
    >>> suppressed({"young": 2, "old": 0})
    {'young': None, 'old': None}
    """
    hidden = {group for group, n in counts.items() if 0 < n < LEAST}
    others = sorted((n, place) for place, (group, n) in enumerate(counts.items()) if n >= LEAST)
    if hidden and others:
        hidden.add(list(counts)[others[0][1]])
    if hidden and not others:
        hidden = set(counts)
    return {group: None if group in hidden else n for group, n in counts.items()}


def finished(cells: Mapping[str, int], numbers: "Numbers") -> dict[str, int | None]:
    """Return how many raters of each cell of a quota have finished, without what would tell of few.

    Whoever is in no cell, or has not finished, counts as one more group: the total of all raters is known.
    """
    rest = sum(numbers.raters.values()) - sum(cells.values())
    groups: list[tuple[str | None, int]] = [*cells.items(), (None, rest)]
    return {cell: n for cell, n in suppressed(dict(groups)).items() if cell is not None}


def total_for(numbers: "Numbers", may: frozenset[str]) -> int | None:
    """Return how many raters a campaign has, None for whoever may not know: of results, or of so few."""
    total = sum(numbers.raters.values())
    known = "small-numbers" in may or ("numbers" in may and (not total or total >= LEAST))
    return total if known else None


def overview_for(found: CampaignOverview, may: frozenset[str]) -> CampaignOverview:
    """Return all about a campaign but what somebody who may do this may not see."""
    numbers = found.numbers
    if "small-numbers" not in may:
        numbers = replace(numbers, raters={}, n_rehearsals=0, n_invited=0, n_entered=0)
    if total_for(found.numbers, may) is None:
        # What few raters did tells how many they are.
        numbers = replace(numbers, assignments=dict.fromkeys(numbers.assignments, 0), loads=())
    return replace(found, numbers=numbers, notices=found.notices if "notices" in may else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A campaign in a list, as somebody may see it."""

    line: CampaignListEntry
    raters: int | None  # How many raters there are and items they rated, None where that is hidden
    rated: int | None


def listed_for(line: CampaignListEntry, may: frozenset[str]) -> Listed:
    """Return a campaign in a list for somebody who may do this in it."""
    total = total_for(line.numbers, may)
    return Listed(line=line, raters=total, rated=None if total is None else line.numbers.assignments["done"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Watchable:
    """A campaign under way, as somebody may see it."""

    watch: MonitoringView
    n_raters: int | None  # How many raters rated; None where they are too few for any figure
    hidden: bool = False  # Whether something is left out because it is about few


def watch_for(found: MonitoringView, may: frozenset[str]) -> Watchable:
    """Return a campaign under way without what somebody who may do this may not see."""
    found = found if "flags" in may else replace(found, decisions={})
    n_raters = 0 if found.snapshot is None else found.snapshot.figures.pool.n_raters
    if "small-numbers" in may or found.snapshot is None or not n_raters:
        return Watchable(watch=found, n_raters=n_raters)
    if n_raters < LEAST:
        return Watchable(watch=replace(found, snapshot=None, forecast=None), n_raters=None)
    figures = without_few(found.snapshot.figures)
    # A pace of few tells when each of them works.
    told = figures.days[-2:] == found.snapshot.figures.days[-2:]
    forecast = found.forecast if told or found.forecast is None else replace(found.forecast, an_hour=None, done_at=None)
    hidden = len(figures.groups) < len(found.snapshot.figures.groups) or not told
    limited = replace(found, snapshot=replace(found.snapshot, figures=figures), forecast=forecast)
    return Watchable(watch=limited, n_raters=n_raters, hidden=hidden)


def without_few(figures: Figures) -> Figures:
    """Return figures without groups and days of few raters, nor what would give these away, and without flags."""
    groups = []
    for every in figures.axes.values():
        rest = figures.pool.n_raters - sum(group.n_raters for group in every)
        sizes: list[tuple[str | None, int]] = [*((group.group, group.n_raters) for group in every), (None, rest)]
        shown = suppressed(dict(sizes))
        groups += [group for group in every if shown[group.group] is not None]
    # Of hours there are too few raters in each, and they would tell when somebody works.
    return replace(figures, groups=tuple(groups), hours=(), days=_of_many(figures.days), flagged=())


def _of_many(days: tuple[Stretch, ...]) -> tuple[Stretch, ...]:
    shown = suppressed({day.start: day.n_raters for day in days})
    return tuple(day for day in days if shown[day.start] is not None)
