"""Numbers of open tasks of a member of a campaign."""

from collections.abc import Callable, Mapping
from typing import Final

from sqlalchemy import Connection

from dissensus.recruit.prolific import SubmissionStatus
from dissensus.schema.campaign.definition import Campaign
from dissensus.store import care, flags, members, notices, recruits
from dissensus.store.campaigns import CampaignRow
from dissensus.store.lists import gold, raters
from dissensus.workflows.campaign.members import load_member_campaign
from dissensus.workflows.platform.platform import Platform


def count_tasks(platform: Platform, name: str, actions: frozenset[str], *, staff_id: str) -> dict[str, int]:
    """Return the number of open tasks of a member for each of these actions that has some."""
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        counts = {
            action: count(tx, campaign_row, campaign, staff_id) for action, count in TASKS.items() if action in actions
        }
    return {action: n for action, n in counts.items() if n}


def _count_notices(tx: Connection, campaign_row: CampaignRow, _campaign: Campaign, _staff_id: str) -> int:
    return notices.count_open_notices(tx, campaign_row.id)


def _count_flags(tx: Connection, campaign_row: CampaignRow, _campaign: Campaign, _staff_id: str) -> int:
    return len(raters.list_flagged_raters(tx, campaign_row.id) - flags.load_flag_decisions(tx, campaign_row.id).keys())


def _count_submissions(tx: Connection, campaign_row: CampaignRow, campaign: Campaign, _staff_id: str) -> int:
    if campaign.recruit is None:
        return 0
    return recruits.count_submissions(tx, campaign_row.id, status=SubmissionStatus.AWAITING_REVIEW.value)


def _count_disputes(tx: Connection, campaign_row: CampaignRow, campaign: Campaign, staff_id: str) -> int:
    if campaign.gold is None:
        return 0
    return gold.count_disputes(tx, campaign_row.id, staff_id)


def _count_contact_requests(tx: Connection, campaign_row: CampaignRow, _campaign: Campaign, _staff_id: str) -> int:
    return sum(request.settled_at is None for request in care.list_contact_requests(tx, campaign_row.id))


def _count_unread_contacts(tx: Connection, campaign_row: CampaignRow, campaign: Campaign, _staff_id: str) -> int:
    """Return 1 if raters can share their survey with a contact, and no member reads it."""
    if campaign_row.state == "closed" or campaign.care is None or not campaign.care.contact:
        return 0
    return int(all(member.role != "carer" for member in members.list_members(tx, campaign_row.id)))


TASKS: Final[Mapping[str, Callable[[Connection, CampaignRow, Campaign, str], int]]] = {
    "care": _count_contact_requests,
    "staff": _count_unread_contacts,
    "notices": _count_notices,
    "flags": _count_flags,
    "pay": _count_submissions,
    "adjudicate": _count_disputes,
}
"""Function that counts the open tasks of an action, for each action whose tasks can be settled."""
