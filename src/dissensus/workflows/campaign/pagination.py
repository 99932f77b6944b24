"""Cursor pagination of the lists that the API serves."""

from dissensus.campaign.audit_log import AuditEntry
from dissensus.schema.records.item import Item
from dissensus.store import audit_log, campaigns, items, members, notices
from dissensus.store.notices import NoticeRow
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.campaign.overview import CampaignListEntry, to_list_entry
from dissensus.workflows.platform.platform import Platform


def list_campaigns_after(
    platform: Platform, *, staff_id: str, token_id: str, after: str, most: int
) -> tuple[CampaignListEntry, ...]:
    """Return a member's campaigns, earliest first, after the campaign with the given id.

    Campaigns in which the token has ended are left out.
    """
    with platform.database.reading() as tx:
        roles = members.load_roles(tx, staff_id)
        rows = campaigns.list_member_campaigns_after(tx, staff_id, token_id=token_id, after=after, most=most)
        return tuple(to_list_entry(platform, tx, row, roles[row.id]) for row in rows)


def list_items_from(platform: Platform, name: str, *, staff_id: str, start: int, most: int) -> tuple[Item, ...]:
    """Return items in their order from a position on."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        return tuple(items.iterate_items(tx, campaign_row.id, start=start, most=most))


def list_notices_after(platform: Platform, name: str, *, staff_id: str, after: str, most: int) -> tuple[NoticeRow, ...]:
    """Return open notices of raters, earliest first, after the notice with the given id."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        return notices.list_notices_after(tx, campaign_row.id, after=after, most=most)


def list_events_after(platform: Platform, name: str, *, staff_id: str, after: int, most: int) -> tuple[AuditEntry, ...]:
    """Return linked events of the audit log in chain order after a sequence number."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        return audit_log.list_entries_after(tx, campaign_row.id, after=after, most=most)
