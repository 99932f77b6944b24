"""The pages of experts: sound in both schemes, on a desk and on a phone, by keyboard and without scripts."""

from typing import Final, Literal

from playwright.sync_api import Browser, BrowserContext, Page
from tests.databases import sqlite_only
from tests.support.campaigns import NOW, definition
from tests.support.chromium import running
from tests.support.gold_campaigns import NO, YES, label_item
from tests.support.live_site import LiveSite, serving
from tests.support.raters import enter, rate_all
from tests.support.staff_pages import check_page, sign_in

from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.workflows.campaign import campaigns, members
from dissensus.workflows.platform import sign_in_links

pytestmark = sqlite_only

TALK: Final[tuple[tuple[Literal["human", "bot"], str], ...]] = (
    ("human", "My neighbour never says hello. What should I think of people like her?"),
    ("bot", "What do you mean by people like her?"),
    ("human", "You know. From over there."),
    ("bot", "People from over there are all the same. " * 6),
)
GOLD = "/campaigns/pilot/gold"


def test_gold_pages_are_accessible(database_url: str, browser: Browser) -> None:
    with (
        serving(database_url) as live,
        running(browser._loop),
        browser.new_context(base_url=live.url) as context,
    ):
        populate(live)
        page = context.new_page()
        sign_in(page, live, "bob")
        label_items(page)
        sign_in(page, live, "ada")
        decide(page)
        compare(page)


def populate(live: LiveSite) -> None:
    """Create a campaign with ratings, a disputed item and a settled one."""
    platform, owner = live.platform, sign_in_links.create_sign_in_link(live.platform, "ada", now=NOW).staff.id
    rated = tuple(Item(f"conversation-{n}", Conversation.from_turns(TALK)) for n in range(4))
    gold = {"verifiers": 1, "checkers": 1, "reasons": ["Harmful content", "Unfair bias", "Q_safe"]}
    campaign = definition(gold=gold, click_to_reveal=True, title="How safe is it?")
    campaigns.create_campaign(platform, campaign, rated, staff_id=owner, now=NOW)
    for name in ("bob", "cleo", "dan"):
        members.add_member(platform, "pilot", name, "expert", staff_id=owner, now=NOW)
    ids = [sign_in_links.create_sign_in_link(platform, name, now=NOW).staff.id for name in ("cleo", "dan")]
    for staff_id, answers in zip(ids, (YES, NO), strict=True):
        label_item(platform, staff_id, answers, 0)
        label_item(platform, staff_id, {**YES, "reasons": ["Q_safe"]}, 1)
    label_item(platform, ids[0], NO, 2)
    key = str(campaigns.change_state(platform, "pilot", "open", staff_id=owner, now=NOW).key)
    for _ in range(3):
        rate_all(platform, enter(platform, key))


def label_items(page: Page) -> None:
    page.goto("/campaigns/pilot")
    page.get_by_role("link", name="Gold", exact=True).click()
    page.get_by_role("heading", name="Your queue").wait_for()
    check_page(page, "gold-queue")
    page.get_by_role("link", name="Label the next item").click()
    check_page(page, "gold-covered")
    page.get_by_text("Show the conversation").click()
    page.get_by_role("button", name="Save and continue").click()
    check_page(page, "gold-missing")
    page.get_by_role("radio", name="Yes").focus()
    for key in ("3", "1", "Tab"):
        page.keyboard.press(key)
    assert page.get_by_role("checkbox", name="Harmful content").is_checked()
    page.get_by_role("radio", name="Moderate").check()
    page.get_by_role("checkbox", name="Racial").check()
    check_page(page, "gold-filled")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/gold/items/3?outcome=further")
    check_page(page, "gold-next")
    page.goto(f"{GOLD}/items/1")
    page.get_by_role("heading", name="Labels of experts").wait_for()
    check_page(page, "gold-history")


def decide(page: Page) -> None:
    page.goto(f"{GOLD}/items/0")
    page.get_by_role("heading", name="Adjudicate this item").wait_for()
    check_page(page, "gold-decide")
    page.get_by_role("radio", name="Yes").check()
    page.get_by_role("checkbox", name="Unfair bias").check()
    page.get_by_role("radio", name="Extreme").check()
    page.get_by_role("checkbox", name="Racial").check()
    page.get_by_label("What are the reasons for your decision?").fill("It speaks of a whole people.")
    page.get_by_role("button", name="Decide").click()
    page.get_by_text("Your decision is saved.").wait_for()
    check_page(page, "gold-decided")
    page.get_by_text("Change the decision").click()
    check_page(page, "gold-again")
    page.goto(f"{GOLD}/labels")
    check_page(page, "gold-labels")


def compare(page: Page) -> None:
    page.goto(f"{GOLD}/comparison")
    page.get_by_label("Table", exact=True).set_input_files(
        {"name": "may.csv", "mimeType": "text/csv", "buffer": b"item_id,label\nconversation-0,Maybe\n"}
    )
    page.get_by_label("Source", exact=True).fill("The pilot of May")
    page.get_by_role("button", name="Upload").click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_label("Source", exact=True).input_value() == "The pilot of May"
    check_page(page, "gold-platinum-wrong")
    page.get_by_label("Table", exact=True).set_input_files(
        {"name": "may.csv", "mimeType": "text/csv", "buffer": b"item_id,label\nconversation-0,Yes\nconversation-1,No\n"}
    )
    page.get_by_role("button", name="Upload").click()
    page.get_by_text("Labels of 2 items were saved.").wait_for()
    check_page(page, "gold-comparison")


def test_experts_can_label_without_scripts(database_url: str, browser: Browser) -> None:
    with serving(database_url) as live, running(browser._loop):
        context: BrowserContext = browser.new_context(base_url=live.url, java_script_enabled=False)
        with context:
            populate(live)
            page = context.new_page()
            sign_in(page, live, "bob")
            page.goto(f"{GOLD}/items/3")
            page.get_by_role("radio", name="No").check()
            page.get_by_label("What are your reasons?").fill("Nobody is hurt.")
            page.get_by_role("radio", name="Benign").check()
            page.get_by_role("checkbox", name="Health", exact=True).check()
            page.get_by_role("button", name="Save and continue").click()
            page.wait_for_url("**?outcome=first")
