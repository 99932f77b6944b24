"""What staff see of their campaigns, and whoever runs the platform of all."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dissensus.campaign.lifecycle import MOVES
from dissensus.errors import NotFound
from dissensus.schema.campaign.definition import Campaign, State
from dissensus.schema.campaign.roles import Role
from dissensus.schema.records.item import Item
from dissensus.store import campaigns, membership, webhooks
from dissensus.store import overview as store
from dissensus.store.campaigns import Kept
from dissensus.store.overview import Notice, Numbers
from dissensus.store.raters import Standing
from dissensus.store.staff import Staff
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

SAMPLE_SIZE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignListEntry:
    """A campaign in a list."""

    kept: Kept  # Which one, and what was decided about it
    campaign: Campaign
    owners: tuple[str, ...]  # Their names, those first who came first
    role: Role  # Who the reader is in it
    numbers: Numbers  # How far it is


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOverview:
    """All about one campaign."""

    kept: Kept  # Which one, and what was decided about it
    campaign: Campaign
    role: Role  # Who the reader is in it
    numbers: Numbers  # How far it is
    notices: tuple[Notice, ...]
    sample: tuple[Item, ...]
    moves: tuple[State, ...]  # What it can become


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformTotals:
    """The whole platform in numbers."""

    raters: Mapping[Standing, int]
    n_saves: int  # The number of the last save
    webhooks: Mapping[webhooks.State, int]


def list_campaigns_of(platform: Platform, staff: Staff) -> tuple[CampaignListEntry, ...]:
    """Return the campaigns that somebody belongs to, the latest first."""
    with platform.database.reading() as tx:
        roles = membership.campaigns_of(tx, staff.id)
        return tuple(to_list_entry(platform, tx, kept, roles[kept.id]) for kept in campaigns.campaigns_of(tx, staff.id))


def list_all_campaigns(platform: Platform) -> tuple[CampaignListEntry, ...]:
    """Return all campaigns, by their owners."""
    with platform.database.reading() as tx:
        found = [to_list_entry(platform, tx, kept, "owner") for kept in campaigns.all_campaigns(tx)]
    return tuple(sorted(found, key=lambda line: line.owners))


def to_list_entry(platform: Platform, tx: Connection, kept: Kept, role: Role) -> CampaignListEntry:
    """Return a campaign as it stands in a list."""
    owners = tuple(one.name for one in membership.members_of(tx, kept.id) if one.role == "owner")
    campaign, numbers = platform.definitions.of(tx, kept), store.numbers_of(tx, kept.id)
    return CampaignListEntry(kept=kept, campaign=campaign, owners=owners, role=role, numbers=numbers)


def load_overview(platform: Platform, name: str, *, staff_id: str) -> CampaignOverview:
    """Return all about a campaign of somebody."""
    with platform.database.reading() as tx:
        kept, role = campaign_for_member(tx, name, staff_id)
        return CampaignOverview(
            kept=kept,
            campaign=platform.definitions.of(tx, kept),
            role=role,
            numbers=store.numbers_of(tx, kept.id),
            notices=store.notices_of(tx, kept.id),
            sample=tuple(campaigns.items_of(tx, kept.id, most=SAMPLE_SIZE)),
            moves=MOVES[kept.state],
        )


def settle_notice(
    platform: Platform, name: str, notice_id: str, *, show_again: bool = False, staff_id: str, now: datetime
) -> None:
    """Keep that somebody dealt with what a rater reported; what must not be shown stays withheld unless they say so."""
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        if not store.settle(tx, kept.id, notice_id, show_again=show_again, now=now):
            raise NotFound(f"{name} has no such notice of a rater. Load the list again.")
        log_staff_event(tx, kept.id, "settle", staff_id, now, notice=notice_id, show_again=show_again)


def owner_id_of(platform: Platform, name: str) -> str:
    """Return an owner of a campaign, for whoever runs the platform and may act for all owners."""
    with platform.database.reading() as tx:
        kept = campaigns.campaign_named(tx, name)
        return next(one.staff_id for one in membership.members_of(tx, kept.id) if one.role == "owner")


def count_platform(platform: Platform) -> PlatformTotals:
    """Count the whole platform."""
    with platform.database.reading() as tx:
        return PlatformTotals(raters=store.all_raters(tx), n_saves=store.last_save(tx), webhooks=webhooks.by_state(tx))
