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

    All other raters count as one more group, since the total of all raters is known.
    """
    n_others = sum(numbers.raters.values()) - sum(cells.values())
    groups: list[tuple[str | None, int]] = [*cells.items(), (None, n_others)]
    return {cell: n for cell, n in suppress_small_cells(dict(groups)).items() if cell is not None}


def visible_rater_count(numbers: "CampaignNumbers", permissions: frozenset[str]) -> int | None:
    """Return the number of raters, None without permission or where it is small."""
    total = sum(numbers.raters.values())
    visible = "small-numbers" in permissions or ("numbers" in permissions and (not total or total >= MIN_CELL))
    return total if visible else None


def restrict_overview(overview: CampaignOverview, permissions: frozenset[str]) -> CampaignOverview:
    """Return an overview without what these permissions do not cover."""
    numbers = overview.numbers
    if "small-numbers" not in permissions:
        numbers = replace(numbers, raters={}, n_rehearsals=0, n_invited=0, n_entered=0)
    if visible_rater_count(overview.numbers, permissions) is None:
        # Numbers of items would reveal how many raters there are.
        numbers = replace(numbers, assignments=dict.fromkeys(numbers.assignments, 0), loads=())
    return replace(overview, numbers=numbers, notices=overview.notices if "notices" in permissions else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleCampaign:
    """A campaign in a list, restricted to the reader's permissions."""

    entry: CampaignListEntry
    raters: int | None  # None where it is hidden
    ratings: int | None  # Finished ratings, None where it is hidden


def restrict_campaign(entry: CampaignListEntry, permissions: frozenset[str]) -> VisibleCampaign:
    """Return a list entry restricted to these permissions."""
    total = visible_rater_count(entry.numbers, permissions)
    return VisibleCampaign(
        entry=entry, raters=total, ratings=None if total is None else entry.numbers.assignments["done"]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleMonitoring:
    """Monitoring figures, restricted to the reader's permissions."""

    view: MonitoringView
    n_raters: int | None  # Raters so far; None if they are too few for any figure
    hidden: bool = False  # True if small groups or days are suppressed


def restrict_monitoring(view: MonitoringView, permissions: frozenset[str]) -> VisibleMonitoring:
    """Return monitoring figures restricted to these permissions."""
    view = view if "flags" in permissions else replace(view, decisions={})
    n_raters = 0 if view.snapshot is None else view.snapshot.figures.pool.n_raters
    if "small-numbers" in permissions or view.snapshot is None or not n_raters:
        return VisibleMonitoring(view=view, n_raters=n_raters)
    if n_raters < MIN_CELL:
        return VisibleMonitoring(view=replace(view, snapshot=None, forecast=None), n_raters=None)
    figures = suppress_figures(view.snapshot.figures)
    # The pace of few raters would reveal when each of them works.
    pace_visible = figures.days[-2:] == view.snapshot.figures.days[-2:]
    forecast = (
        view.forecast
        if pace_visible or view.forecast is None
        else replace(view.forecast, per_hour=None, completed_at=None)
    )
    hidden = len(figures.groups) < len(view.snapshot.figures.groups) or not pace_visible
    restricted = replace(view, snapshot=replace(view.snapshot, figures=figures), forecast=forecast)
    return VisibleMonitoring(view=restricted, n_raters=n_raters, hidden=hidden)


def suppress_figures(figures: CampaignFigures) -> CampaignFigures:
    """Suppress groups and days with few raters, with complementary suppression, and drop flags."""
    groups = []
    for axis_groups in figures.axes.values():
        n_others = figures.pool.n_raters - sum(group.n_raters for group in axis_groups)
        sizes: list[tuple[str | None, int]] = [
            *((group.group, group.n_raters) for group in axis_groups),
            (None, n_others),
        ]
        visible = suppress_small_cells(dict(sizes))
        groups += [group for group in axis_groups if visible[group.group] is not None]
    # Hours are dropped: each has few raters and would reveal when somebody works.
    return replace(figures, groups=tuple(groups), hours=(), days=_suppress_days(figures.days), flagged=())


def _suppress_days(days: tuple[TimeBucket, ...]) -> tuple[TimeBucket, ...]:
    visible = suppress_small_cells({day.start: day.n_raters for day in days})
    return tuple(day for day in days if visible[day.start] is not None)
