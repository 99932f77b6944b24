"""Page of the audit log: each event in its own words."""

from typing import Any

import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import NOW, open_campaign

from dissensus.campaign.audit_log import EventKind
from dissensus.store import audit_log
from dissensus.workflows.campaign import members
from dissensus.workflows.campaign.audit_log_page import load_audit_page
from dissensus.workflows.platform.platform import Platform

pytestmark = sqlite_only


def list_texts(platform: Platform, staff_id: str, *, by_staff: bool = False) -> list[str]:
    """The texts of all events, the earliest first."""
    page = load_audit_page(platform, "pilot", before=None, by_staff=by_staff, staff_id=staff_id)
    return [line.text for line in reversed(page.lines)]


def test_joining_a_change_of_role_and_leaving_are_told_apart(platform: Platform) -> None:
    staff_id = open_campaign(platform).staff_id
    members.add_member(platform, "pilot", "grace", "analyst", staff_id=staff_id, now=NOW)
    members.change_role(platform, "pilot", "grace", "owner", staff_id=staff_id, now=NOW)
    members.remove_member(platform, "pilot", "grace", staff_id=staff_id, now=NOW)
    assert list_texts(platform, staff_id)[-3:] == ["a member joined", "a member changed role", "a member left"]


@pytest.mark.parametrize(
    ("kind", "content", "text"),
    [
        ("payment_recorded", {"payment": "a", "amount": 700}, "a payment was recorded"),
        ("payment_recorded", {"payment": "b", "amount": -700, "reverses": "a"}, "a payment was reversed"),
        # Older events have neither `before` nor `reverses`.
        ("members_changed", {"person": "a", "role": "analyst"}, "a member joined or changed role"),
        ("members_changed", {"person": "a", "role": None}, "a member left"),
        ("payment_recorded", {"payment": "b", "amount": -700}, "a payment was reversed"),
        ("webhook_changed", {"change": "added"}, "a webhook was added"),
        ("webhook_changed", {"change": "removed"}, "a webhook was removed"),
        ("webhook_changed", {"change": "paused"}, "a webhook was paused, since its receiver failed"),
        ("webhook_changed", {"change": "resumed"}, "a webhook was resumed"),
    ],
)
def test_members_payments_and_webhooks_have_words_of_their_own(
    platform: Platform, kind: EventKind, content: dict[str, Any], text: str
) -> None:
    campaign = open_campaign(platform)
    with platform.database.writing() as tx:
        audit_log.append_event(tx, campaign.id, kind, content, now=NOW)
    assert list_texts(platform, campaign.staff_id)[-1] == text
