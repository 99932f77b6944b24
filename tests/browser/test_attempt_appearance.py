"""Pages about attempts and conversations in a real browser: sound in both schemes and on a phone."""

from uuid import uuid4

from playwright.sync_api import Page, expect
from tests.support.attack_attempts import ATTACK, add_attempt
from tests.support.campaigns import AGREED, NOW
from tests.support.chat_campaigns import open_chat_campaign
from tests.support.live_site import LiveSite
from tests.support.raters import enter
from tests.support.staff_pages import check_page, sign_in

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.schema.campaign.shipped import load_campaign
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.export.conversations import list_conversation_items
from dissensus.workflows.rater import enrolment, next_step, rating
from dissensus.workflows.rater.enrolment import Arrival

N_PEOPLE = 14
TAGS = ("Theft", "Violence & incitement", "Other")


def add_attempts(live: LiveSite) -> None:
    """Add attempts of several raters, each reviewed by two others."""
    platform = live.platform
    campaign = open_chat_campaign(platform, chat={"max_conversations": 9})
    for person in range(N_PEOPLE):
        rater = enter(platform, campaign.key)
        for number in range(1 + person % 4):
            add_attempt(platform, rater, f"{ATTACK} {person * (number % 2)} {number}", (person + 3 * number) % 5)
    items = list_conversation_items(platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    campaigns.create_campaign(platform, load_campaign("red-team-review"), items, staff_id=campaign.staff_id, now=NOW)
    review = campaigns.change_state(platform, "red-team-review", "open", staff_id=campaign.staff_id, now=NOW)
    for reviewer in range(2):
        arrival = Arrival("red-team-review", str(review.key), "en")
        rater, _ = enrolment.enrol_rater(platform, arrival, {**AGREED, "return": False}, now=NOW)
        step = next_step.find_next_step(platform, rater, now=NOW)
        while step.assignment is not None and step.progress.n_done < 9:
            digit = int(step.assignment.item.item_id[:2], 16)
            success, tags = str((digit + reviewer) % 5), (TAGS[digit % 3],)
            answers = {"Q_success": DraftAnswer(value=success), "Q_tags": DraftAnswer(value=tags)}
            save = AnswerSave(revision=1, visit="v", visible_ms=1000, idle_ms=0, open_ms=1000, answers=answers)
            step = rating.submit_answers(platform, rater, step.assignment.id, str(uuid4()), save, now=NOW)


def test_pages_of_attempts_are_accessible(live: LiveSite, page: Page) -> None:
    add_attempts(live)
    sign_in(page, live, "owner")
    page.get_by_role("link", name="pilot", exact=True).click()
    page.get_by_role("link", name="Attempts and their success").click()
    expect(page.get_by_role("heading", name="Reviews")).to_be_visible()
    check_page(page, "attempts")
    page.get_by_label("Pages of pilot").get_by_role("link", name="Conversations", exact=True).click()
    page.get_by_label("Success").select_option("4")
    page.get_by_role("button", name="Show").click()
    check_page(page, "chats")
    page.locator("a.item").first.click()
    expect(page.get_by_text("much more harmful").or_(page.get_by_text("clearly more harmful"))).to_be_visible()
    check_page(page, "chat-detail")
