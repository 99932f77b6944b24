"""Restriction of views by permission: small counts, flags and notices that a role or token may not see."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dissensus.campaign.filters.item_filter import ItemFilter
from dissensus.campaign.filters.rater_filter import RaterFilter
from dissensus.errors import NotAllowed
from dissensus.stats.suppression import MIN_CELL
from dissensus.workflows.campaign.items import ItemListing, ItemView
from dissensus.workflows.campaign.monitoring import MonitoringView
from dissensus.workflows.campaign.overview import CampaignListEntry, CampaignOverview

if TYPE_CHECKING:
    from dissensus.store.overview import CampaignProgress, ListedItem


def visible_rater_count(numbers: "CampaignProgress", permissions: frozenset[str]) -> int | None:
    """Return the number of raters, None without permission or where it is small."""
    total = sum(numbers.raters.values())
    visible = "small-numbers" in permissions or ("numbers" in permissions and (not total or total >= MIN_CELL))
    return total if visible else None


def restrict_overview(overview: CampaignOverview, permissions: frozenset[str]) -> CampaignOverview:
    """Return an overview restricted to these permissions."""
    numbers = overview.numbers
    if "small-numbers" not in permissions:
        numbers = replace(numbers, raters={}, n_rehearsals=0, n_invited=0, n_entered=0)
    if visible_rater_count(overview.numbers, permissions) is None:
        # Numbers of items would reveal how many raters there are.
        numbers = replace(numbers, n_done=0, n_skipped=0, loads=())
    return replace(overview, numbers=numbers, notices=overview.notices if "notices" in permissions else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleCampaign:
    """A campaign in a list, restricted to the reader's permissions."""

    entry: CampaignListEntry
    n_raters: int | None  # None where it is hidden
    n_ratings: int | None  # Finished ratings; None where it is hidden


def restrict_campaign(entry: CampaignListEntry, permissions: frozenset[str]) -> VisibleCampaign:
    """Return a list entry restricted to these permissions."""
    total = visible_rater_count(entry.numbers, permissions)
    return VisibleCampaign(entry=entry, n_raters=total, n_ratings=None if total is None else entry.numbers.n_done)


def restrict_monitoring(view: MonitoringView, permissions: frozenset[str]) -> MonitoringView:
    """Return a monitoring view restricted to these permissions.

    Without `small-numbers`, it has the published figures, which are those of the campaign when it was closed: the
    difference from later figures would disclose the raters in between.
    """
    if "small-numbers" in permissions:
        return view if "flags" in permissions else _without_flags(view)
    return replace(view, snapshot=view.published, forecast=None, decisions={})


def _without_flags(view: MonitoringView) -> MonitoringView:
    snapshot = view.snapshot
    if snapshot is not None:
        consistency = snapshot.figures.consistency
        consistency = consistency and replace(consistency, raters=())
        snapshot = replace(snapshot, figures=replace(snapshot.figures, flagged=(), consistency=consistency))
    return replace(view, snapshot=snapshot, decisions={})


def check_report_filter(item_filter: ItemFilter, permissions: frozenset[str]) -> None:
    """Raise `NotAllowed` for a filter by reports without the permission to read them."""
    if item_filter.flag == "reported" and "notices" not in permissions:
        raise NotAllowed(
            "Owners and reviewers see which items were reported, and tokens with the scope notices. Ask one of them."
        )


def check_rater_filter(rater_filter: RaterFilter, permissions: frozenset[str]) -> None:
    """Raise `NotAllowed` for a filter by flags or notices of raters without the permission to read them."""
    scope = "notices" if rater_filter.flag == "notices" else "flags"
    if rater_filter.flag is not None and scope not in permissions:
        raise NotAllowed(f"A filter by {scope} needs the scope {scope}. Create a token that has it.")


def restrict_items(listing: ItemListing, rows: tuple["ListedItem", ...], permissions: frozenset[str]) -> ItemListing:
    """Return a list of items with these rows, without reports for those who may not read them."""
    if "notices" not in permissions:
        rows = tuple(replace(row, n_reports=0) for row in rows)
    return replace(listing, items=rows)


def restrict_item(view: ItemView, permissions: frozenset[str]) -> ItemView:
    """Return an item without reports for those who may not read them."""
    return view if "notices" in permissions else replace(view, detail=replace(view.detail, reports=()))
