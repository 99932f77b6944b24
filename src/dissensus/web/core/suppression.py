"""Small-cell suppression of pages: hide small counts from roles without `small-numbers`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dissensus.pipeline.monitor import CampaignFigures, TimeBucket
from dissensus.stats.suppression import MIN_CELL, suppress_small_cells
from dissensus.workflows.campaign.monitoring import MonitoringView
from dissensus.workflows.campaign.overview import CampaignListEntry, CampaignOverview

if TYPE_CHECKING:
    from dissensus.store.overview import CampaignNumbers


def suppress_quota_counts(cells: Mapping[str, int], numbers: "CampaignNumbers") -> dict[str, int | None]:
    """Return how many raters of each quota cell have finished, with small cells suppressed.

    Whoever is in no cell, or has not finished, counts as one more group: the total of all raters is known.
    """
    rest = sum(numbers.raters.values()) - sum(cells.values())
    groups: list[tuple[str | None, int]] = [*cells.items(), (None, rest)]
    return {cell: n for cell, n in suppress_small_cells(dict(groups)).items() if cell is not None}


def visible_rater_count(numbers: "CampaignNumbers", may: frozenset[str]) -> int | None:
    """Return the number of raters, None without permission or where it is small."""
    total = sum(numbers.raters.values())
    known = "small-numbers" in may or ("numbers" in may and (not total or total >= MIN_CELL))
    return total if known else None


def restrict_overview(overview: CampaignOverview, may: frozenset[str]) -> CampaignOverview:
    """Return an overview without what these permissions do not cover."""
    numbers = overview.numbers
    if "small-numbers" not in may:
        numbers = replace(numbers, raters={}, n_rehearsals=0, n_invited=0, n_entered=0)
    if visible_rater_count(overview.numbers, may) is None:
        # What few raters did tells how many they are.
        numbers = replace(numbers, assignments=dict.fromkeys(numbers.assignments, 0), loads=())
    return replace(overview, numbers=numbers, notices=overview.notices if "notices" in may else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleCampaign:
    """A campaign in a list, restricted to the reader's permissions."""

    entry: CampaignListEntry
    raters: int | None  # Number of raters and items they rated, None where that is hidden
    rated: int | None


def restrict_campaign(entry: CampaignListEntry, may: frozenset[str]) -> VisibleCampaign:
    """Return a list entry restricted to these permissions."""
    total = visible_rater_count(entry.numbers, may)
    return VisibleCampaign(
        entry=entry, raters=total, rated=None if total is None else entry.numbers.assignments["done"]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleMonitoring:
    """Monitoring figures, restricted to the reader's permissions."""

    view: MonitoringView
    n_raters: int | None  # Number of raters rated; None where they are too few for any figure
    hidden: bool = False  # True if something is left out because it is about few


def restrict_monitoring(view: MonitoringView, may: frozenset[str]) -> VisibleMonitoring:
    """Return monitoring figures restricted to these permissions."""
    view = view if "flags" in may else replace(view, decisions={})
    n_raters = 0 if view.snapshot is None else view.snapshot.figures.pool.n_raters
    if "small-numbers" in may or view.snapshot is None or not n_raters:
        return VisibleMonitoring(view=view, n_raters=n_raters)
    if n_raters < MIN_CELL:
        return VisibleMonitoring(view=replace(view, snapshot=None, forecast=None), n_raters=None)
    figures = suppress_figures(view.snapshot.figures)
    # A pace of few tells when each of them works.
    told = figures.days[-2:] == view.snapshot.figures.days[-2:]
    forecast = view.forecast if told or view.forecast is None else replace(view.forecast, per_hour=None, done_at=None)
    hidden = len(figures.groups) < len(view.snapshot.figures.groups) or not told
    limited = replace(view, snapshot=replace(view.snapshot, figures=figures), forecast=forecast)
    return VisibleMonitoring(view=limited, n_raters=n_raters, hidden=hidden)


def suppress_figures(figures: CampaignFigures) -> CampaignFigures:
    """Suppress groups and days with few raters, with complementary suppression, and drop flags."""
    groups = []
    for every in figures.axes.values():
        rest = figures.pool.n_raters - sum(group.n_raters for group in every)
        sizes: list[tuple[str | None, int]] = [*((group.group, group.n_raters) for group in every), (None, rest)]
        shown = suppress_small_cells(dict(sizes))
        groups += [group for group in every if shown[group.group] is not None]
    # Of hours there are too few raters in each, and they would tell when somebody works.
    return replace(figures, groups=tuple(groups), hours=(), days=_of_many(figures.days), flagged=())


def _of_many(days: tuple[TimeBucket, ...]) -> tuple[TimeBucket, ...]:
    shown = suppress_small_cells({day.start: day.n_raters for day in days})
    return tuple(day for day in days if shown[day.start] is not None)
