"""The page about attempts in a real browser: sound in both schemes and on a phone."""

from typing import Literal
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, expect
from tests.support.attack_attempts import ATTACK, tried
from tests.support.campaigns import AGREED, NOW
from tests.support.chat_campaigns import open_chat_campaign
from tests.support.chromium import running
from tests.support.live_site import Live
from tests.support.raters import enter
from tests.support.staff_pages import sound

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.schema.campaign.shipped import load_campaign
from dissensus.workflows.campaign import campaigns, conversation_items
from dissensus.workflows.platform import staff
from dissensus.workflows.rater import enrolment, journey, rating
from dissensus.workflows.rater.enrolment import Arrival

N_PEOPLE = 14
TAGS = ("Theft", "Violence & incitement", "Other")


def filled(live: Live) -> None:
    """Attempts of some people, each reviewed by two others."""
    platform = live.platform
    kept = open_chat_campaign(platform, chat={"most": 9})
    for person in range(N_PEOPLE):
        rater = enter(platform, kept.key)
        for number in range(1 + person % 4):
            tried(platform, rater, f"{ATTACK} {person * (number % 2)} {number}", (person + 3 * number) % 5)
    items = conversation_items.list_conversation_items(platform, "pilot", staff_id=kept.staff_id, now=NOW)
    campaigns.create_campaign(platform, load_campaign("red-team-review"), items, staff_id=kept.staff_id, now=NOW)
    review = campaigns.change_state(platform, "red-team-review", "open", staff_id=kept.staff_id, now=NOW)
    for reviewer in range(2):
        arrival = Arrival("red-team-review", str(review.key), "en")
        rater, _ = enrolment.enrol_rater(platform, arrival, {**AGREED, "return": False}, now=NOW)
        step = journey.next_state(platform, rater, now=NOW)
        while step.assignment is not None and step.progress.n_done < 9:
            place = int(step.assignment.item.item_id[:2], 16)
            success, tags = str((place + reviewer) % 5), (TAGS[place % 3],)
            answers = {"Q_success": DraftAnswer(value=success), "Q_tags": DraftAnswer(value=tags)}
            save = AnswerSave(revision=1, visit="v", visible_ms=1000, idle_ms=0, answers=answers)
            step = rating.submit_answers(platform, rater, step.assignment.id, str(uuid4()), save, now=NOW)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_about_attempts_is_sound(live: Live, browser: Browser, scheme: Literal["light", "dark"]) -> None:
    filled(live)
    key = staff.create_sign_in_link(live.platform, "owner", now=live.clock()).key
    with running(browser._loop), browser.new_context(base_url=live.url, color_scheme=scheme) as context:
        page = context.new_page()
        page.goto(f"/sign-in/{key}")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="pilot", exact=True).click()
        page.get_by_role("link", name="What was tried so far").click()
        expect(page.get_by_role("heading", name="What reviewers say")).to_be_visible()
        sound(page, "attempts", scheme)
