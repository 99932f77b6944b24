"""Mails to members about what raters need: each reaches who may read its page, without what raters wrote."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from tests.support.campaigns import NOW, definition, items, open_campaign, owner
from tests.support.monitored_campaigns import add_crowd, open_monitored_campaign
from tests.support.raters import enter, submit
from tests.support.smtp_server import Mailbox, receiving
from tests.support.webhook_deliverer import SIGNER

from dissensus.mail_transport import MailSender
from dissensus.schema.campaign.roles import Role
from dissensus.store import audit_log
from dissensus.store.identity.mails import MailTable
from dissensus.store.lists import raters as lists
from dissensus.store.raters import RaterRow, RaterTable
from dissensus.web.core.permissions import campaign_actions_of
from dissensus.workflows.campaign import campaigns, members
from dissensus.workflows.campaign.audit import audit_campaign
from dissensus.workflows.campaign.monitoring import MonitoringCache, load_monitoring, refresh_snapshots
from dissensus.workflows.campaign.rehearsal import run_rehearsal
from dissensus.workflows.platform import staff
from dissensus.workflows.platform.mail_delivery import MailDelivery
from dissensus.workflows.platform.member_mails import RECIPIENTS
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import care, next_step, rating, withdrawal
from dissensus.workflows.rater.care import ContactRequest

SITE = "https://rate.example.org"
CARE: dict[str, Any] = {"survey_every": 1, "contact": "Mia Berg"}
PLEA = ContactRequest(notify=True, contact_info="call 555-0100")
TEAM: dict[str, Role] = {"mia": "carer", "rex": "reviewer", "lena": "analyst", "ole": "observer"}
ACTIONS = {
    "contact_requested": "care",
    "help_requested": "notices",
    "item_reported": "notices",
    "raters_flagged": "flags",
}


def open_with_team(platform: Platform, **changes: Any) -> str:
    """Open a campaign of people who all have addresses, and return the key of its link."""
    row = open_campaign(platform, 5, **changes)
    for person, role in TEAM.items():
        members.add_member(platform, "pilot", person, role, staff_id=row.staff_id, now=NOW)
    for person in ("owner", *TEAM):
        staff.set_email(platform, person, f"{person}@example.net", now=NOW)
    deliver(platform)
    return str(row.key)


def deliver(platform: Platform, mailbox: Mailbox | None = None) -> None:
    sender = MailSender(host="127.0.0.1", port=mailbox.port, sender="a@b.org", encryption="none") if mailbox else None
    MailDelivery(sender=sender, site=SITE, keys=SIGNER.keys)(platform, NOW)


def waiting(platform: Platform) -> list[tuple[str, str]]:
    with platform.database.reading() as tx:
        return sorted((row.address.split("@")[0], row.kind) for row in tx.execute(select(MailTable)))


def plead(platform: Platform, rater: RaterRow) -> None:
    state = next_step.find_next_step(platform, rater, now=NOW)
    state = submit(platform, rater, state, f"{rater.id[-12:]}-{state.progress.n_done}")
    care.answer_survey(platform, rater, state.n_asked, {"rater_upset": "4"}, PLEA, now=NOW)


def test_a_plea_arrives_at_the_carer_alone(platform: Platform, tmp_path: Path) -> None:
    rater = enter(platform, open_with_team(platform, care=CARE))
    plead(platform, rater)
    with receiving(tmp_path) as mailbox:
        deliver(platform, mailbox)
        (message,) = mailbox.messages
    text = message.get_content()
    assert message["To"] == "mia@example.net"
    assert message["Subject"] == "Waiting for you at rate.example.org"
    assert "- 2026-03-01 12:00 UTC: A rater of pilot asks its contact for support." in text
    assert f"{SITE}/campaigns/pilot/care" in text
    assert not {word for word in ("555", "Upset", "upset", "4:", rater.id) if word in text}


def test_who_does_not_ask_for_the_contact_is_told_to_nobody(platform: Platform) -> None:
    rater = enter(platform, open_with_team(platform, care=CARE))
    state = submit(platform, rater, next_step.find_next_step(platform, rater, now=NOW), "first-answer-0001")
    care.answer_survey(platform, rater, state.n_asked, {"rater_upset": "4"}, now=NOW)
    assert waiting(platform) == []


def test_notices_arrive_at_owners_and_reviewers_without_their_text(platform: Platform, tmp_path: Path) -> None:
    rater = enter(platform, open_with_team(platform))
    assignment = next_step.find_next_step(platform, rater, now=NOW).assignment
    assert assignment is not None
    for kind, text, about in (("help", "I live at 12 Elm Road", None), ("illegal", "Terror", assignment.id)):
        rating.report_item(platform, rater, kind, text, assignment_id=about, now=NOW)  # type: ignore[arg-type]
    with receiving(tmp_path) as mailbox:
        deliver(platform, mailbox)
        texts = {str(message["To"]): message.get_content() for message in mailbox.messages}
    assert sorted(texts) == ["owner@example.net", "rex@example.net"]
    for text in texts.values():
        assert "A rater of pilot asks for help." in text
        assert "A rater of pilot reports illegal content." in text
        assert "Elm Road" not in text
        assert "Terror" not in text


def test_many_notices_at_once_make_one_mail(platform: Platform) -> None:
    key = open_with_team(platform)
    for _ in range(4):
        rating.report_item(platform, enter(platform, key), "help", "Please", assignment_id=None, now=NOW)
    assert waiting(platform) == [("owner", "help_requested"), ("rex", "help_requested")]


def test_rehearsals_and_members_without_address_get_no_mail(platform: Platform) -> None:
    owner_id = owner(platform.database)
    campaigns.create_campaign(platform, definition(care=CARE), items(3), staff_id=owner_id, now=NOW)
    members.add_member(platform, "pilot", "mia", "carer", staff_id=owner_id, now=NOW)
    run_rehearsal(platform, "pilot", n_raters=2, staff_id=owner_id, now=NOW)
    plead(
        platform,
        enter(platform, str(campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=NOW).key)),
    )
    assert waiting(platform) == []


@pytest.mark.parametrize("is_successor", [False, True])
def test_a_flagged_rater_is_told_once(platform: Platform, is_successor: bool) -> None:
    campaign = open_monitored_campaign(platform, replication=20)
    staff.set_email(platform, "owner", "owner@example.net", now=NOW)
    deliver(platform)
    add_crowd(platform, campaign)
    cache = MonitoringCache()
    refresh_snapshots(platform, cache, now=NOW)
    assert waiting(platform) == [("owner", "raters_flagged")]
    deliver(platform)
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    # A withdrawal deletes the figures.
    with platform.database.reading() as tx:
        flagged = lists.list_flagged_raters(tx, campaign.id)
        leaver = tx.scalar(select(RaterTable.id).where(RaterTable.id.not_in(flagged)).limit(1))
    withdrawal.withdraw_rater(platform, str(leaver), now=NOW)
    refresh_snapshots(platform, MonitoringCache() if is_successor else cache, now=NOW)
    assert waiting(platform) == []
    assert flag_events(platform, campaign.id) == [{"n": 2}]


def test_raters_flagged_before_an_audit_are_not_told_again(platform: Platform) -> None:
    """The audit deletes wrong figures, and another process computes them anew; who is flagged then is told."""
    campaign, later = open_monitored_campaign(platform, replication=20), NOW + timedelta(days=1)
    staff.set_email(platform, "owner", "owner@example.net", now=NOW)
    answer_always(platform, campaign.key, "No")
    refresh_snapshots(platform, MonitoringCache(), now=later)
    assert waiting(platform)[-1] == ("owner", "raters_flagged")
    deliver(platform)
    with platform.database.writing() as tx:
        tx.execute(update(lists.RaterFiguresTable).values(n_ratings=9))
    assert any("do not match the answers" in fault for fault in audit_campaign(platform, "pilot").faults)
    assert load_monitoring(platform, "pilot", staff_id=campaign.staff_id, now=later).snapshot is None
    refresh_snapshots(platform, MonitoringCache(), now=later)
    assert waiting(platform) == []
    answer_always(platform, campaign.key, "Yes")
    refresh_snapshots(platform, MonitoringCache(), now=later)
    assert waiting(platform) == [("owner", "raters_flagged")]
    assert flag_events(platform, campaign.id) == [{"n": 1}, {"n": 1}]


def answer_always(platform: Platform, key: str | None, answer: str) -> None:
    """Have a rater give one answer to all items."""
    rater = enter(platform, str(key))
    at = next_step.find_next_step(platform, rater, now=NOW)
    while at.stage == "rate":
        at = submit(platform, rater, at, f"{answer}-{at.progress.n_done}", answer)


def flag_events(platform: Platform, campaign_id: str) -> list[Any]:
    with platform.database.reading() as tx:
        return [event.content for event in audit_log.iterate_events(tx, campaign_id, "raters_flagged")]


@pytest.mark.parametrize("kind", RECIPIENTS)
def test_recipients_may_read_the_page_of_the_mail(kind: Any) -> None:
    assert all(ACTIONS[kind] in campaign_actions_of(role) for role in RECIPIENTS[kind])
