"""What programs list of a platform, a part at a time."""

from dissensus.campaign.event_log import Entry
from dissensus.schema.records.item import Item
from dissensus.store import campaigns, membership, overview
from dissensus.store.core import pagination as store
from dissensus.store.core.pagination import Listed
from dissensus.store.overview import Notice
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.campaign.overview import CampaignListEntry, to_list_entry
from dissensus.workflows.platform.platform import Platform


def list_campaigns_after(platform: Platform, *, staff_id: str, after: str, most: int) -> tuple[CampaignListEntry, ...]:
    """Return campaigns that somebody belongs to, the earliest first, after one that is named by its id."""
    with platform.database.reading() as tx:
        roles = membership.campaigns_of(tx, staff_id)
        found = store.campaigns_after(tx, staff_id, after=after, most=most)
        return tuple(to_list_entry(platform, tx, kept, roles[kept.id]) for kept in found)


def list_items_from(platform: Platform, name: str, *, staff_id: str, start: int, most: int) -> tuple[Item, ...]:
    """Return items in their order, from a place on."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        return tuple(campaigns.items_of(tx, kept.id, start=start, most=most))


def list_raters_after(platform: Platform, name: str, *, staff_id: str, after: int, most: int) -> tuple[Listed, ...]:
    """Return raters in the order in which they entered, after a number."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        return store.raters_after(tx, kept.id, after=after, most=most)


def list_notices_after(platform: Platform, name: str, *, staff_id: str, after: str, most: int) -> tuple[Notice, ...]:
    """Return what raters reported and nobody has dealt with, the earliest first, after one that is named by its id."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        return overview.notices_after(tx, kept.id, after=after, most=most)


def list_events_after(platform: Platform, name: str, *, staff_id: str, after: int, most: int) -> tuple[Entry, ...]:
    """Return what is linked in the log of a campaign, in its order, after a place."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        return store.entries_after(tx, kept.id, after=after, most=most)
