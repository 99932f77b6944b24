"""Tabs and breadcrumbs of the pages of a campaign: what a role may see and what the kind of campaign has."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dissensus.schema.campaign.definition import Campaign


@dataclass(frozen=True, slots=True)
class CampaignTab:
    """A page of a campaign that its other pages lead to."""

    label: str
    path: str  # Below the address of the campaign; empty for its first page
    action: str  # Key of `ACTIONS`
    fits: Callable[[Campaign], bool] = lambda _: True
    others: tuple[str, ...] = ()  # Paths of other pages that are below this one


def _has_items(campaign: Campaign) -> bool:
    return campaign.chat is None


def _has_conversations(campaign: Campaign) -> bool:
    return campaign.chat is not None


TABS: Final = (
    CampaignTab("Overview", "", "see", others=("opening",)),
    CampaignTab("Items", "items", "small-numbers", _has_items),
    CampaignTab("Raters", "raters", "raters"),
    CampaignTab("Conversations", "conversations", "raters", _has_conversations),
    CampaignTab("Attempts", "attempts", "raters", _has_conversations),
    CampaignTab("Monitoring", "monitoring", "numbers", _has_items),
    CampaignTab("Reports", "reports", "small-numbers"),
    CampaignTab("Release", "release", "release"),
    CampaignTab("Plan", "plans", "revise", _has_items),
    CampaignTab("Quota", "quota", "small-numbers", lambda campaign: campaign.quota is not None),
    CampaignTab("Gold", "gold", "label", lambda campaign: campaign.gold is not None),
    CampaignTab("Messages", "notices", "notices"),
    CampaignTab("Care", "care", "care", lambda campaign: campaign.care is not None),
    CampaignTab("Pay", "pay", "pay", lambda campaign: campaign.pay is not None or campaign.recruit is not None),
    CampaignTab("Members", "staff", "staff"),
    CampaignTab("Log", "log", "log"),
    CampaignTab("Settings", "settings", "revise", others=("builder", "revise", "webhooks", "withdraw")),
)


@dataclass(frozen=True, slots=True)
class CampaignNavigation:
    """Tabs of a campaign that a role may see, and the one that a page belongs to."""

    name: str
    tabs: tuple[CampaignTab, ...]
    current: CampaignTab | None  # None for a page that no tab leads to
    is_below: bool  # True for a page below that of the current tab
    shows_images: bool = False  # True for a role that may see the images of items


def build_navigation(name: str, campaign: Campaign, permissions: frozenset[str], path: str) -> CampaignNavigation:
    """Return the navigation of a page with a path, such as ``/campaigns/pilot/items/3``."""
    tabs = tuple(tab for tab in TABS if tab.action in permissions and tab.fits(campaign))
    page = path.removeprefix(f"/campaigns/{name}").strip("/")
    first = page.partition("/")[0]
    current = next((tab for tab in tabs if first in (tab.path, *tab.others)), None)
    return CampaignNavigation(
        name, tabs, current, is_below=current is not None and page != current.path, shows_images="images" in permissions
    )
