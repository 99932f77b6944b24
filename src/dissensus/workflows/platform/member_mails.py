"""Mails to members about notices of a campaign: kind and page, never the contents."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal

from sqlalchemy import Connection

from dissensus.schema.campaign.roles import Role
from dissensus.store import members
from dissensus.store.campaigns import CampaignRow
from dissensus.store.identity.mails import add_mail, is_mail_waiting

NoticeKind = Literal["contact_requested", "help_requested", "item_reported", "raters_flagged"]

RECIPIENTS: Final[Mapping[NoticeKind, frozenset[Role]]] = {
    "contact_requested": frozenset({"carer"}),
    "help_requested": frozenset({"owner", "reviewer"}),
    "item_reported": frozenset({"owner", "reviewer"}),
    "raters_flagged": frozenset({"owner", "reviewer"}),
}
"""Roles that get a mail about each kind of notice; they may read its page."""


def queue_member_mails(tx: Connection, campaign_row: CampaignRow, kind: NoticeKind, now: datetime) -> None:
    """Queue a mail to each member concerned, unless the same one waits: many notices at once make one mail."""
    content = {"campaign": campaign_row.name}
    for member in members.list_members(tx, campaign_row.id):
        concerned = member.has_address and member.role in RECIPIENTS[kind]
        if concerned and not is_mail_waiting(tx, member.staff_id, kind, content):
            add_mail(tx, member.staff_id, kind, now, content)
