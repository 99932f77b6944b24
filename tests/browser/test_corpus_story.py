"""From a conversation to an item in real browsers: one person chats, the owner draws a sample, another rates it."""

from contextlib import ExitStack

from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select
from tests.support.chat_campaigns import PLAIN, TERN, open_chat_campaign
from tests.support.chromium import running
from tests.support.live_site import LiveSite
from tests.support.staff_pages import check_page

from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.chats import ChatTable
from dissensus.store.items import ItemTable
from dissensus.workflows.platform import sign_in_links

DEFINITION = """
name = "rated"
languages = ["en"]
title = "How safe is it?"
warning = "It may be cruel."
[consent]
text = "We keep your answers."
[[consent.purposes]]
name = "rating"
text = "To use them."
required = true
[questionnaire]
name = "one"
languages = ["en"]
title = "One question"
[[questionnaire.questions]]
name = "Q_safe"
text = "Is it unsafe?"
scale = ["No", "Yes"]
"""
MESSAGES = ["May I swim in the lake?", "And at night?"]


def arrive(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_role("button", name="I understand, continue").click()
    page.get_by_role("checkbox", name="To use").check()
    page.get_by_role("button", name="I agree and want to take part").click()


def talk(page: Page, link: str) -> None:
    """Complete one conversation with one response a turn."""
    arrive(page, link)
    page.get_by_role("button", name="Begin").click()
    for number, text in enumerate(MESSAGES, 2):
        page.wait_for_load_state()
        page.get_by_label("Your message").fill(text)
        page.keyboard.press("Control+Enter")
        expect(page.get_by_text(f"Turn {number} of about 4.")).to_be_visible()
    page.locator("summary", has_text="End this conversation").click()
    page.get_by_role("button", name="End this conversation").click()
    expect(page.get_by_role("heading", name="Another conversation?")).to_be_visible()


def draw(page: Page) -> str:
    """Create a campaign from a sample of the conversations, open it and return its link."""
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="pilot").click()
    check_page(page, "conversations")
    page.get_by_role("button", name="Draw a sample").click()
    expect(page.get_by_role("heading", name="Plan a sample")).to_be_visible()
    check_page(page, "conversations-plan")
    page.get_by_label("Number of items").fill("1")
    page.get_by_role("button", name="Draw sample").click()
    page.get_by_role("button", name="Create a campaign from this sample").click()
    page.get_by_label("Definition, as TOML").fill(DEFINITION)
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Create campaign").click()
    page.get_by_role("link", name="Open campaign").click()
    page.get_by_role("button", name="Open now").click()
    return page.get_by_label("Open link").input_value()


def test_a_chat_conversation_becomes_a_rated_item(live: LiveSite, browser: Browser) -> None:
    bot = {**TERN, "scripted": {"responses": ["Until the evening, yes."]}}
    campaign = open_chat_campaign(live.platform, chat={"chatbots": [bot], "modes": [PLAIN]})
    sign_in = sign_in_links.create_sign_in_link(live.platform, "owner", now=live.clock())
    with running(browser._loop), ExitStack() as open_pages:

        def open_page() -> Page:
            return open_pages.enter_context(browser.new_context(base_url=live.url)).new_page()

        talk(open_page(), f"/c/pilot?key={campaign.key}")
        owner = open_page()
        owner.goto(f"/sign-in/{sign_in.key}")
        rater = open_page()
        arrive(rater, draw(owner))
        answer = "Until the evening, yes."
        expect(rater.locator(".turn .message")).to_have_text([MESSAGES[0], answer, MESSAGES[1], answer])
        expect(rater.locator(".turn.rated .message")).to_have_text(answer)
        rater.get_by_label("No", exact=True).check()
        rater.get_by_role("button", name="Submit and continue").click()
        expect(rater.get_by_role("heading", name="Thank you")).to_be_visible()
    with live.platform.database.reading() as tx:
        kept_answer = tx.execute(
            select(AnswerTable.value, ItemTable.name).join(SaveTable).join(AssignmentTable).join(ItemTable)
        ).one()
        assert tuple(kept_answer) == ('"No"', tx.scalar(select(ChatTable.id)))
