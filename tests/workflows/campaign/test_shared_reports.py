"""Reports of campaigns that share conversations: erasure with what they hold, and who reads them."""

from typing import Any

import pytest
from tests.support.campaigns import AGREED, NOW, definition, items, owner
from tests.support.chat_campaigns import finish_chat, open_chat_campaign
from tests.support.raters import enter

from dissensus.campaign.report_request import ReportRequest
from dissensus.errors import NotFound
from dissensus.pipeline.collect.chat import ResponsePick
from dissensus.store import members
from dissensus.store.campaigns import get_campaign_by_name
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign import campaign_deletion, campaigns, overview
from dissensus.workflows.export.conversations import list_conversation_items
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, withdrawal
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.report import reports

NAMES = ("pilot", "review", "other")


@pytest.fixture
def red_teamer(platform: Platform) -> RaterRow:
    """A red-teamer of "pilot" whose conversation is an item of "review"; these and "other" have a report."""
    campaign = open_chat_campaign(platform)
    rater = enter(platform, campaign.key)
    finish_chat(platform, rater, ResponsePick(strength=3))
    drawn = list_conversation_items(platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    for name, rated in (("review", drawn), ("other", items(1))):
        campaigns.create_campaign(platform, definition(name), rated, staff_id=campaign.staff_id, now=NOW)
    for name in NAMES:
        ask(platform, name)
    return rater


def ask(platform: Platform, name: str, staff_id: str | None = None) -> str:
    reader: Any = {"with_raters": True, "staff_id": staff_id or overview.find_owner_id(platform, name)}
    return reports.request_report(platform, name, ReportRequest(), **reader, now=NOW)


def list_ids(platform: Platform, name: str, staff_id: str | None = None) -> list[str]:
    reader: Any = {"with_raters": True, "staff_id": staff_id or overview.find_owner_id(platform, name)}
    return [row.id for row in reports.list_reports(platform, name, **reader).reports]


def with_reports(platform: Platform) -> list[str]:
    return [name for name in NAMES if list_ids(platform, name)]


def test_a_withdrawal_deletes_reports_of_the_campaigns_that_rate_the_conversations(
    platform: Platform, red_teamer: RaterRow
) -> None:
    assert with_reports(platform) == list(NAMES)
    withdrawal.withdraw_rater(platform, red_teamer.id, now=NOW)
    assert with_reports(platform) == ["other"]


@pytest.mark.usefixtures("red_teamer")
def test_a_withdrawal_of_a_reviewer_deletes_reports_of_the_reviewed_campaign(platform: Platform) -> None:
    owner_id = overview.find_owner_id(platform, "pilot")
    review = campaigns.change_state(platform, "review", "open", staff_id=owner_id, now=NOW)
    reviewer, _ = enrolment.enrol_rater(platform, Arrival("review", str(review.key), "en"), AGREED, now=NOW)
    withdrawal.withdraw_rater(platform, reviewer.id, now=NOW)
    assert with_reports(platform) == ["other"]


@pytest.mark.usefixtures("red_teamer")
def test_a_deletion_deletes_reports_of_the_reviewed_campaign(platform: Platform) -> None:
    owner_id = overview.find_owner_id(platform, "pilot")
    campaign_deletion.delete_campaign(platform, "other", confirmation="other", staff_id=owner_id, now=NOW)
    assert list_ids(platform, "pilot") != []
    campaign_deletion.delete_campaign(platform, "review", confirmation="review", staff_id=owner_id, now=NOW)
    assert list_ids(platform, "pilot") == []


@pytest.mark.usefixtures("red_teamer")
def test_a_report_of_attempts_is_read_by_who_asked_for_it_alone(platform: Platform) -> None:
    """It has reviews from the campaigns whose results that member may see."""
    first, second = overview.find_owner_id(platform, "pilot"), owner(platform.database, "second")
    with platform.database.writing() as tx:
        for name in ("pilot", "other"):
            campaign_id = get_campaign_by_name(tx, name).id
            members.add_member(tx, campaign_id, second, "owner", now=NOW)
    (report_id,) = list_ids(platform, "pilot", first)
    assert ask(platform, "pilot", first) == report_id
    assert list_ids(platform, "pilot", second) == []
    with pytest.raises(NotFound, match="pilot has no such report"):
        reports.load_report(platform, "pilot", report_id, with_raters=True, staff_id=second)
    own = ask(platform, "pilot", second)
    assert list_ids(platform, "pilot", second) == [own] != [report_id]
    # All members read a report of ratings, which has those of its campaign alone.
    assert list_ids(platform, "other", second) == list_ids(platform, "other", first) == [ask(platform, "other", second)]
