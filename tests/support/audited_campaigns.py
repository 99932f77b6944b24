"""A campaign with an event of every kind that an audit compares with stored rows."""

from datetime import timedelta
from typing import Any

from tests.support.campaigns import CHECKS, NOW
from tests.support.quota_campaigns import enter, open_seat_campaign, screen
from tests.support.raters import make_save

from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.campaign.audit import link_pending_events
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import attention_checks, care, next_step, rating, withdrawal
from dissensus.workflows.rater.care import ContactRequest

CARE: dict[str, Any] = {
    "survey_every": 2,
    "contact": "Somebody who listens",
    "topics": {"Weapons": "Weapons", "Health": "Health"},
}
SHARED = ContactRequest(notify=True, contact_info="@rater")
LATER = NOW + timedelta(hours=1)


def finish_visit(platform: Platform, rater: RaterRow) -> None:
    """Take a rater through every stage after the screener."""
    state = next_step.find_next_step(platform, rater, now=LATER)
    while state.stage in ("topics", "check", "rate", "survey", "demographics"):
        if state.stage == "topics":
            state = care.avoid_topics(platform, rater, ["Weapons"], now=LATER)
        elif state.due is not None:
            name, value = state.due.check.name, state.due.check.correct_answers[0]
            state = attention_checks.answer_check(platform, rater, name, value, attempt=1, now=LATER)
        elif state.assignment is not None:
            key = f"{rater.id[-12:]}-{state.progress.n_done}"
            state = rating.submit_answers(platform, rater, state.assignment.id, key, make_save(), now=LATER)
        elif state.stage == "survey":
            state = care.answer_survey(platform, rater, state.n_asked, {"rater_upset": "4"}, SHARED, now=LATER)
        else:
            state = rating.declare_attributes(platform, rater, {"rater_pet": "cat"}, now=LATER)


def create_audited_campaign(platform: Platform) -> None:
    """Create the campaign `pilot`: two raters who finished, one who withdrew, one who was turned away."""
    campaign = open_seat_campaign(platform, 2, checks=CHECKS, care=CARE, estimated_minutes=20)
    for age, size in (("young", "small"), ("old", "small"), ("young", "tall"), ("young", "small")):
        rater = enter(platform, campaign.key)
        link_pending_events(platform)
        if screen(platform, rater, age, size) is not None:
            finish_visit(platform, rater)
        if size == "tall":
            link_pending_events(platform)
            withdrawal.withdraw_rater(platform, rater.id, now=LATER)
    campaigns.change_state(platform, "pilot", "paused", staff_id=campaign.staff_id, now=LATER)
