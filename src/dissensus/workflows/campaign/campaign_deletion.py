"""Archive and delete campaigns. A deletion keeps the audit log, and a row that stands for the campaign."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dissensus.errors import Conflict, InvalidInput
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.hints import format_list, format_value
from dissensus.store import campaigns as store
from dissensus.store import erasure, export, items, overview
from dissensus.store.campaigns import CampaignRow
from dissensus.store.lists import reports
from dissensus.store.planning import campaign_plans
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.conversations import find_item_copies
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.campaign.pay import find_creditors
from dissensus.workflows.platform.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionPreview:
    """Consequences of a deletion, and the reason why it is not possible now."""

    n_items: int
    n_raters: int  # Without previews and dry runs
    obstacle: str | None


def archive_campaign(platform: Platform, name: str, *, archived: bool, staff_id: str, now: datetime) -> CampaignRow:
    """Archive a closed campaign, which then cannot be reopened, or take it out of the archive; idempotent."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        if archived and campaign_row.state != "closed":
            raise Conflict(f"{name} is {campaign_row.state}, and only closed campaigns are archived. Close it first.")
        if archived != (campaign_row.archived_at is not None):
            store.set_archived(tx, campaign_row.id, now if archived else None)
            log_staff_event(tx, campaign_row.id, "archived", staff_id, now, archived=archived)
        return store.get_campaign(tx, campaign_row.id)


def preview_deletion(platform: Platform, name: str, *, staff_id: str) -> DeletionPreview:
    """Return the consequences of a deletion."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        return _preview_deletion(tx, campaign_row, platform.definitions.load(tx, campaign_row))


def delete_campaign(platform: Platform, name: str, *, confirmation: str, staff_id: str, now: datetime) -> None:
    """Delete a draft or a closed campaign with its items, raters, answers, members and links; it cannot be undone.

    The audit log stays, without the contents of what raters did. The confirmation is the name of the campaign.
    """
    if confirmation.strip() != name:
        raise InvalidInput(f"{format_value(confirmation)} is not the name of the campaign. Write {name} to delete it.")
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        preview = _preview_deletion(tx, campaign_row, platform.definitions.load(tx, campaign_row))
        if preview.obstacle is not None:
            raise Conflict(preview.obstacle)
        content = {"name": name, "items": preview.n_items, "raters": preview.n_raters}
        log_staff_event(tx, campaign_row.id, "deleted", staff_id, now, **content)
        reports.delete_reports(tx, campaign_row.id)
        campaign_plans.delete_plans(tx, campaign_row.id)
        erasure.delete_campaign_rows(tx, campaign_row.id)
        store.blank_campaign(tx, campaign_row, now=now)
    # Erased rows are still in the write-ahead log of SQLite. If a reader keeps it, a background job empties it later.
    platform.database.empty_log()


def _preview_deletion(tx: Connection, campaign_row: CampaignRow, campaign: Campaign) -> DeletionPreview:
    return DeletionPreview(
        n_items=items.count_items(tx, campaign_row.id),
        n_raters=sum(overview.count_raters(tx, campaign_row.id).values()),
        obstacle=_find_obstacle(tx, campaign_row, campaign),
    )


def _find_obstacle(tx: Connection, campaign_row: CampaignRow, campaign: Campaign) -> str | None:
    if campaign_row.state not in ("draft", "closed"):
        return f"{campaign_row.name} is {campaign_row.state}, and raters may be at work. Close it first."
    creditors = find_creditors(tx, campaign_row.id, campaign)
    if creditors == "raters":
        return f"Raters of {campaign_row.name} are still to be paid. Pay them, and record the payments first."
    if creditors == "turned_away":
        # Their payments cannot be recorded, since they have no row as raters.
        recruiter = campaign.recruit.name if campaign.recruit else "the recruiter"
        return (
            f"Participants whom {campaign_row.name} turned away are still to be paid. Pay them at {recruiter}, then "
            f"erase the ids of {recruiter}, which removes their accounts."
        )
    names = _list_names_of_copies(tx, campaign_row, campaign)
    if names:
        return (
            f"Conversations of {campaign_row.name} are items of {format_list(names)}, from which a withdrawal must "
            "still remove them. Delete these campaigns first."
        )
    return None


def _list_names_of_copies(tx: Connection, campaign_row: CampaignRow, campaign: Campaign) -> list[str]:
    """Return the names of the campaigns whose items were drawn from conversations of this one."""
    if campaign.chat is None or not export.may_have_item_copies(tx, campaign_row.id):
        return []
    ended = export.iterate_ended_chats(tx, campaign_row.id, ())
    copies = find_item_copies(tx, (row.chat for row in ended), campaign.chat)
    return sorted({store.get_campaign(tx, copy.campaign_id).name for copy in copies})
