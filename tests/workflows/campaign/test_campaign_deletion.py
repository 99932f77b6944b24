"""Archive and deletion: a deleted campaign leaves its audit log, and nothing that raters gave."""

from typing import Any

import pytest
from sqlalchemy import func, insert, select, update
from tests.support.audited_campaigns import create_audited_campaign
from tests.support.campaigns import NOW, definition, items, open_campaign, owner
from tests.support.chat_campaigns import finish_chat, open_chat_campaign
from tests.support.prolific_server import Prolific
from tests.support.raters import enter, rate_all
from tests.support.recruited_raters import PAYING, add_submission

from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.pipeline.collect.chat import ResponsePick
from dissensus.store import audit_log
from dissensus.store.audit_log import EventTable
from dissensus.store.campaigns import CampaignRow, CampaignTable
from dissensus.store.core.metadata import METADATA
from dissensus.store.erasure import AUDIT_TABLES, campaign_tables, rater_data_tables
from dissensus.store.items import ItemTable
from dissensus.store.lists.reports import add_report
from dissensus.store.planning.campaign_plans import NewPlan, add_plan
from dissensus.workflows.campaign import audit, audit_log_page, campaign_deletion, campaigns, overview, submissions
from dissensus.workflows.export.conversations import list_conversation_items
from dissensus.workflows.platform.platform import Platform


def close(platform: Platform, staff_id: str, name: str = "pilot") -> CampaignRow:
    return campaigns.change_state(platform, name, "closed", staff_id=staff_id, now=NOW)


def delete(platform: Platform, staff_id: str, name: str = "pilot", confirmation: str | None = None) -> None:
    confirmation = name if confirmation is None else confirmation
    campaign_deletion.delete_campaign(platform, name, confirmation=confirmation, staff_id=staff_id, now=NOW)


def deleted_report(platform: Platform, *heads: str) -> audit.AuditReport:
    (name,) = (name for name in audit.load_campaign_ids(platform) if "deleted" in name)
    return audit.audit_campaign(platform, name, heads=heads)


def test_a_deletion_leaves_the_log_alone(platform: Platform) -> None:
    create_audited_campaign(platform)
    owner_id = overview.find_owner_id(platform, "pilot")
    campaigns.clone_campaign(platform, "pilot", "other", staff_id=owner_id, now=NOW)
    close(platform, owner_id)
    head = audit.audit_campaign(platform, "pilot").head
    delete(platform, owner_id)
    with pytest.raises(NotFound, match="There is no campaign 'pilot'"):
        overview.load_overview(platform, "pilot", staff_id=owner_id)
    assert deleted_report(platform, head).holds, deleted_report(platform)
    assert audit.audit_campaign(platform, "other").holds
    rows = count_rows(platform)
    assert {name: rows[name] for name in ("rater", "save", "answer", "consent", "care_survey", "seat", "member")} == {
        **dict.fromkeys(("rater", "save", "answer", "consent", "care_survey", "seat"), 0),
        "member": 1,  # Of the other campaign
    }
    with platform.database.reading() as tx:
        events = tx.execute(select(EventTable)).all()
    assert [row for row in events if row.rater_id is not None] == []
    assert {row.kind for row in events} == {"created", "state_changed", "withdrawn", "turned_away", "erased", "deleted"}


def count_rows(platform: Platform) -> dict[str, int]:
    with platform.database.reading() as tx:
        return {table.name: len(tx.execute(select(table)).all()) for table in METADATA.sorted_tables}


def test_a_deletion_leaves_other_campaigns_alone(platform: Platform) -> None:
    campaign = open_campaign(platform)
    other = campaigns.create_campaign(platform, definition("other"), items(2), staff_id=campaign.staff_id, now=NOW)
    plan = NewPlan(question="Q_safe", file="{}")
    with platform.database.writing() as tx:
        for row in (campaign, other):
            add_plan(tx, row.id, plan, staff_id=campaign.staff_id, now=NOW)
            add_report(tx, row.name, row.id, "{}", with_raters=False, staff_id=campaign.staff_id, now=NOW)
    rows_before = list_rows(platform, other)
    close(platform, campaign.staff_id)
    delete(platform, campaign.staff_id)
    assert list_rows(platform, other) == rows_before
    left = {name for name, rows in list_rows(platform, campaign).items() if rows}
    assert left <= {"campaign", *AUDIT_TABLES}


def list_rows(platform: Platform, campaign: CampaignRow) -> dict[str, list[Any]]:
    """Return the rows of each table that belong to a campaign."""
    with platform.database.reading() as tx:
        return {
            table.name: sorted(map(repr, tx.execute(select(table).where(table.c.campaign_id == campaign.id))))
            for table in METADATA.sorted_tables
            if "campaign_id" in table.c
        }


def test_a_name_is_free_after_a_deletion(platform: Platform) -> None:
    owner_id = owner(platform.database)
    for _ in range(2):
        campaigns.create_campaign(platform, definition(), items(1), staff_id=owner_id, now=NOW)
        delete(platform, owner_id)
    assert len(audit.load_campaign_ids(platform)) == 2
    assert overview.list_all_campaigns(platform) == ()


def test_drafts_can_be_deleted_and_campaigns_under_way_cannot(platform: Platform) -> None:
    owner_id = owner(platform.database)
    campaigns.create_campaign(platform, definition(), items(3), staff_id=owner_id, now=NOW)
    preview = campaign_deletion.preview_deletion(platform, "pilot", staff_id=owner_id)
    assert (preview.n_items, preview.n_raters, preview.obstacle) == (3, 0, None)
    delete(platform, owner_id)
    campaigns.create_campaign(platform, definition(), items(3), staff_id=owner_id, now=NOW)
    campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=NOW)
    with pytest.raises(Conflict, match=r"pilot is open, and raters may be at work. Close it first"):
        delete(platform, owner_id)
    with pytest.raises(NotFound, match="There is no campaign 'pilot'"):
        delete(platform, "somebody else")


def test_a_deletion_asks_for_the_name(platform: Platform) -> None:
    campaign = open_campaign(platform)
    close(platform, campaign.staff_id)
    with pytest.raises(InvalidInput, match=r"'Pilot' is not the name of the campaign. Write pilot to delete it"):
        delete(platform, campaign.staff_id, confirmation="Pilot")


def test_who_is_still_to_be_paid_prevents_a_deletion(platform: Platform) -> None:
    pay = {"currency": "EUR", "hourly_rate": 12, "screened_out": 1, "finished": 3}
    campaign = open_campaign(platform, pay=pay)
    rate_all(platform, enter(platform, campaign.key))
    close(platform, campaign.staff_id)
    with pytest.raises(Conflict, match=r"Raters of pilot are still to be paid"):
        delete(platform, campaign.staff_id)


def test_a_deletion_goes_on_once_participants_who_were_turned_away_are_paid_and_erased(platform: Platform) -> None:
    campaign = open_campaign(platform, 1, **PAYING)
    add_submission(platform, Prolific(), campaign.id, None, "RETURNED")
    close(platform, campaign.staff_id)
    with pytest.raises(Conflict, match=r"Pay them at Prolific, then erase the ids of Prolific, which removes"):
        delete(platform, campaign.staff_id)
    submissions.erase_recruiter_ids(platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    delete(platform, campaign.staff_id)


def test_conversations_that_others_rate_prevent_a_deletion(platform: Platform) -> None:
    campaign = open_chat_campaign(platform)
    finish_chat(platform, enter(platform, campaign.key), ResponsePick(strength=3))
    drawn = list_conversation_items(platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    campaigns.create_campaign(platform, definition("review"), drawn, staff_id=campaign.staff_id, now=NOW)
    close(platform, campaign.staff_id)
    with pytest.raises(Conflict, match="Conversations of pilot are items of 'review'"):
        delete(platform, campaign.staff_id)
    delete(platform, campaign.staff_id, "review")
    delete(platform, campaign.staff_id)
    assert count_rows(platform)["chat"] == 0


def test_an_audit_finds_a_forged_deletion_and_rows_that_are_left(platform: Platform) -> None:
    campaign = open_campaign(platform)
    close(platform, campaign.staff_id)
    with platform.database.writing() as tx:
        tx.execute(update(CampaignTable).values(deleted_at=NOW))
    assert "The campaign is deleted, and the log has no deletion." in audit.audit_campaign(platform, "pilot").faults
    with platform.database.writing() as tx:
        tx.execute(update(CampaignTable).values(deleted_at=None))
    delete(platform, campaign.staff_id)
    left = {"id": "x" * 32, "campaign_id": campaign.id, "name": "a", "position": 0, "content": {}, "digest": "0" * 64}
    with platform.database.writing() as tx:
        tx.execute(insert(ItemTable).values(**left, load=0, withheld=False, search_text="a"))
    assert deleted_report(platform).faults == (
        "The campaign is deleted according to the log, and rows of it are stored.",
    )


def test_all_data_of_raters_belong_to_campaigns() -> None:
    assert {table.name for table in rater_data_tables()} <= {table.name for table in campaign_tables()} | AUDIT_TABLES


def test_an_archived_campaign_stays_closed_until_it_is_taken_out(platform: Platform) -> None:
    campaign = open_campaign(platform)
    by_owner: dict[str, Any] = {"staff_id": campaign.staff_id, "now": NOW}
    with pytest.raises(Conflict, match="pilot is open, and only closed campaigns are archived"):
        campaign_deletion.archive_campaign(platform, "pilot", archived=True, **by_owner)
    close(platform, campaign.staff_id)
    for _ in range(2):
        archived = campaign_deletion.archive_campaign(platform, "pilot", archived=True, **by_owner)
    assert archived.archived_at == NOW
    assert overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).allowed_states == ()
    with pytest.raises(Conflict, match="pilot is archived"):
        campaigns.change_state(platform, "pilot", "paused", **by_owner)
    campaign_deletion.archive_campaign(platform, "pilot", archived=False, **by_owner)
    campaigns.change_state(platform, "pilot", "paused", **by_owner)
    lines = audit_log_page.load_audit_page(
        platform, "pilot", before=None, by_staff=True, staff_id=campaign.staff_id
    ).lines
    assert [line.text for line in lines if "archive" in line.text] == [
        "the campaign was taken out of the archive",
        "the campaign was archived",
    ]
    assert audit.audit_campaign(platform, "pilot").holds


def test_the_log_is_paged_and_has_what_members_did_apart(platform: Platform) -> None:
    campaign = open_campaign(platform, 3)
    rate_all(platform, enter(platform, campaign.key))
    for _ in range(audit_log_page.PAGE_SIZE):
        audit.log_view(platform, "pilot", "raters", staff_id=campaign.staff_id, now=NOW)
    reader: dict[str, Any] = {"staff_id": campaign.staff_id}
    first = audit_log_page.load_audit_page(platform, "pilot", before=None, by_staff=True, **reader)
    assert {line.actor for line in first.lines} == {"owner"}
    assert len(first.lines) == audit_log_page.PAGE_SIZE
    second = audit_log_page.load_audit_page(platform, "pilot", before=first.before, by_staff=True, **reader)
    assert [line.text for line in second.lines] == ["the campaign was opened", "the campaign was created"]
    assert second.before is None
    everything = audit_log_page.load_audit_page(platform, "pilot", before=first.before, by_staff=False, **reader)
    assert "a rater finished an item" in {line.text for line in everything.lines}
    assert not any(len(value) >= 32 for line in everything.lines for _, value in line.details)
    # Linked events come after those that are not linked yet, each once, on one page after another.
    audit.link_pending_events(platform)
    audit.log_view(platform, "pilot", "notices", staff_id=campaign.staff_id, now=NOW)
    with platform.database.reading() as tx:
        n = tx.scalar(select(func.count()).select_from(EventTable))
        numbers, before = list[int](), None
        while rows := audit_log.list_events_before(tx, campaign.id, before=before, by_staff=False, most=7):
            numbers += [number for number, _ in rows]
            before = numbers[-1]
    assert numbers == sorted(numbers, reverse=True)
    assert len(set(numbers)) == len(numbers) == n
