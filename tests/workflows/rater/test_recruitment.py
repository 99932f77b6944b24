"""Submissions of a recruiter, and the links back to it."""

import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import NOW, open_campaign
from tests.support.chat_campaigns import finish_chat, open_chat_campaign
from tests.support.prolific_server import Prolific
from tests.support.raters import enter, rate_all
from tests.support.recruited_raters import CODES, PAY, add_submission

from dissensus.pipeline.collect.chat import ResponsePick
from dissensus.recruit.prolific import SubmissionStatus
from dissensus.schema.campaign.completion_codes import OUTCOMES
from dissensus.workflows.campaign import audit, notices, overview
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import next_step, rating, recruitment

CODE_OF: dict[str, str] = {name: f"CODE0{place}" for place, name in enumerate(OUTCOMES)}


@sqlite_only
@pytest.mark.parametrize(("pays", "outcome"), [(True, "screened_out"), (False, "no_consent")])
def test_withdrawn_participants_with_paid_conversations_are_not_asked_to_return(
    platform: Platform, pays: bool, outcome: str
) -> None:
    campaign = open_chat_campaign(platform, recruit=CODES, pay=PAY if pays else None)
    rater = enter(platform, campaign.key)
    add_submission(platform, Prolific(), campaign.id, rater.id, "ACTIVE")
    finish_chat(platform, rater, ResponsePick(strength=1))
    link = recruitment.withdrawal_return_link(platform, rater.id)
    assert link is not None
    assert link.code == CODE_OF[outcome]


def test_a_returned_submission_ends_the_items_of_a_rater_who_had_finished(platform: Platform) -> None:
    campaign = open_campaign(platform, 2, reports_to_withhold=1, replication=2, recruit=CODES)
    reporter, rater, other = (enter(platform, campaign.key) for _ in range(3))
    submission = add_submission(platform, Prolific(), campaign.id, rater.id, "ACTIVE")
    assignment = next_step.find_next_step(platform, reporter, now=NOW).assignment
    assert assignment is not None
    rating.report_item(platform, reporter, "illegal", "bad", assignment_id=assignment.id, now=NOW)
    rate_all(platform, rater)
    (notice,) = overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).notices
    notices.settle_notice(platform, "pilot", notice.id, show_again=True, staff_id=campaign.staff_id, now=NOW)
    assert rating.resume_rating(platform, rater, now=NOW).stage == "rate"
    assert recruitment.set_submission_status(platform, submission, SubmissionStatus.RETURNED, now=NOW)
    assert next_step.find_next_step(platform, rater, now=NOW).stage == "done"
    # The item is free for others again.
    assert assignment.item.item_id in rate_all(platform, other)
    assert audit.audit_campaign(platform, "pilot").holds
