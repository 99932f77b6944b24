"""Lists and overviews of campaigns for staff, and totals for the operator."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from dissensus.campaign.lifecycle import TRANSITIONS
from dissensus.schema.campaign.definition import Campaign, CampaignState
from dissensus.schema.campaign.roles import Role
from dissensus.schema.records.item import Item
from dissensus.store import campaigns, images, items, members, notices, webhooks
from dissensus.store import overview as store
from dissensus.store.campaigns import CampaignRow
from dissensus.store.notices import NoticeRow
from dissensus.store.overview import CampaignNumbers, CampaignProgress
from dissensus.store.raters import RaterState
from dissensus.store.staff import StaffRow
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

SAMPLE_SIZE = 3
N_LATEST_NOTICES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignListEntry:
    """A campaign in a list."""

    campaign_row: CampaignRow
    campaign: Campaign
    owners: tuple[str, ...]  # names, earliest first
    role: Role  # of the member who reads the list
    numbers: CampaignProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOverview:
    """Summary of one campaign."""

    campaign_row: CampaignRow
    campaign: Campaign
    role: Role  # of the member who reads it
    numbers: CampaignNumbers
    notices: tuple[NoticeRow, ...]  # latest open ones
    n_notices: int  # open ones
    sample: tuple[Item, ...]  # first items
    has_images: bool
    allowed_states: tuple[CampaignState, ...]  # states that it can change to


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformTotals:
    """Totals of the whole platform."""

    raters: Mapping[RaterState, int]  # by state
    n_saves: int  # saves so far: the number of the last one
    webhooks: Mapping[webhooks.WebhookState, int]  # by state


def list_campaigns_of(platform: Platform, staff: StaffRow) -> tuple[CampaignListEntry, ...]:
    """Return the campaigns of a member of staff, latest first."""
    with platform.database.reading() as tx:
        roles = members.load_roles(tx, staff.id)
        return tuple(
            to_list_entry(platform, tx, campaign_row, roles[campaign_row.id])
            for campaign_row in campaigns.list_member_campaigns(tx, staff.id)
        )


def list_all_campaigns(platform: Platform) -> tuple[CampaignListEntry, ...]:
    """Return all campaigns, sorted by owner."""
    with platform.database.reading() as tx:
        entries = [to_list_entry(platform, tx, campaign_row, "owner") for campaign_row in campaigns.list_campaigns(tx)]
    return tuple(sorted(entries, key=lambda entry: entry.owners))


def to_list_entry(platform: Platform, tx: Connection, campaign_row: CampaignRow, role: Role) -> CampaignListEntry:
    """Return the list entry of a campaign."""
    owners = tuple(member.name for member in members.list_members(tx, campaign_row.id) if member.role == "owner")
    campaign, numbers = platform.definitions.load(tx, campaign_row), store.load_campaign_progress(tx, campaign_row.id)
    return CampaignListEntry(campaign_row=campaign_row, campaign=campaign, owners=owners, role=role, numbers=numbers)


def load_overview(platform: Platform, name: str, *, staff_id: str) -> CampaignOverview:
    """Return the summary of a campaign."""
    with platform.database.reading() as tx:
        campaign_row, role = campaign_for_member(tx, name, staff_id)
        return CampaignOverview(
            campaign_row=campaign_row,
            campaign=platform.definitions.load(tx, campaign_row),
            role=role,
            numbers=store.load_campaign_numbers(tx, campaign_row.id),
            notices=notices.list_notices(tx, campaign_row.id, most=N_LATEST_NOTICES),
            n_notices=notices.count_open_notices(tx, campaign_row.id),
            sample=tuple(items.iterate_items(tx, campaign_row.id, most=SAMPLE_SIZE)),
            has_images=images.has_images(tx, campaign_row.id),
            allowed_states=() if campaign_row.archived_at else TRANSITIONS[campaign_row.state],
        )


def find_owner_id(platform: Platform, name: str) -> str:
    """Return the id of an owner, so that the operator can act for them."""
    with platform.database.reading() as tx:
        campaign_row = campaigns.get_campaign_by_name(tx, name)
        return next(member.staff_id for member in members.list_members(tx, campaign_row.id) if member.role == "owner")


def count_platform(platform: Platform) -> PlatformTotals:
    """Count raters, saves and webhooks of the whole platform."""
    with platform.database.reading() as tx:
        return PlatformTotals(
            raters=store.count_raters(tx),
            n_saves=store.find_last_save_number(tx),
            webhooks=webhooks.count_webhooks_by_state(tx),
        )
