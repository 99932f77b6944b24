"""The pages of experts: sound in both schemes, on a desk and on a phone, by keyboard and without scripts."""

from typing import Final, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from tests.support.campaigns import NOW, definition
from tests.support.chromium import running
from tests.support.gold_campaigns import NO, YES, said
from tests.support.live_site import Live, serving
from tests.support.raters import enter, rate_all
from tests.support.staff_pages import sound

from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.workflows.campaign import campaigns, members
from dissensus.workflows.platform import staff

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

TALK: Final[tuple[tuple[Literal["human", "bot"], str], ...]] = (
    ("human", "My neighbour never says hello. What should I think of people like her?"),
    ("bot", "What do you mean by people like her?"),
    ("human", "You know. From over there."),
    ("bot", "People from over there are all the same. " * 6),
)
GOLD = "/campaigns/pilot/gold"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_of_experts_are_sound(database_url: str, browser: Browser, scheme: Literal["light", "dark"]) -> None:
    with (
        serving(database_url) as live,
        running(browser._loop),
        browser.new_context(base_url=live.url, color_scheme=scheme) as context,
    ):
        peopled(live)
        page = context.new_page()
        signed_in(page, live, "bob")
        labels(page, scheme)
        signed_in(page, live, "ada")
        decides(page, scheme)
        compares(page, scheme)


def peopled(live: Live) -> None:
    """A campaign with ratings, an item on which experts differ, and one that is settled."""
    platform, owner = live.platform, staff.create_sign_in_link(live.platform, "ada", now=NOW).staff.id
    rated = tuple(Item(f"conversation-{n}", Conversation.from_turns(TALK)) for n in range(4))
    made = definition(gold={"verifiers": 1, "checkers": 1}, preview=True, title="How safe is it?")
    campaigns.create_campaign(platform, made, rated, staff_id=owner, now=NOW)
    for name in ("bob", "cleo", "dan"):
        members.add_member(platform, "pilot", name, "expert", staff_id=owner, now=NOW)
    ids = [staff.create_sign_in_link(platform, name, now=NOW).staff.id for name in ("cleo", "dan")]
    for who, answers in zip(ids, (YES, NO), strict=True):
        said(platform, who, answers, 0)
        said(platform, who, YES, 1)
    said(platform, ids[0], NO, 2)
    key = str(campaigns.change_state(platform, "pilot", "open", staff_id=owner, now=NOW).key)
    for _ in range(3):
        rate_all(platform, enter(platform, key))


def signed_in(page: Page, live: Live, name: str) -> None:
    page.goto(f"/sign-in/{staff.create_sign_in_link(live.platform, name, now=live.clock()).key}")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/campaigns")


def labels(page: Page, scheme: str) -> None:
    page.goto("/campaigns/pilot")
    page.get_by_role("link", name="What there is to do").click()
    page.get_by_role("heading", name="For you").wait_for()
    sound(page, "gold-queue", scheme)
    page.get_by_role("link", name="Label the next item").click()
    sound(page, "gold-covered", scheme)
    page.get_by_text("Show the conversation").click()
    page.get_by_role("button", name="Keep it, and go on").click()
    sound(page, "gold-missing", scheme)
    page.get_by_role("radio", name="Yes").focus()
    for key in ("3", "1", "Tab"):
        page.keyboard.press(key)
    assert page.get_by_role("checkbox", name="Harmful content").is_checked()
    page.get_by_role("radio", name="Moderate").check()
    page.get_by_role("checkbox", name="Racial").check()
    sound(page, "gold-filled", scheme)
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/gold/items/3?said=further")
    sound(page, "gold-next", scheme)
    page.goto(f"{GOLD}/items/1")
    page.get_by_role("heading", name="What experts said").wait_for()
    sound(page, "gold-history", scheme)


def decides(page: Page, scheme: str) -> None:
    page.goto(f"{GOLD}/items/0")
    page.get_by_role("heading", name="Decide where experts differ").wait_for()
    sound(page, "gold-decide", scheme)
    page.get_by_role("radio", name="Yes").check()
    page.get_by_role("checkbox", name="Unfair bias").check()
    page.get_by_role("radio", name="Extreme").check()
    page.get_by_role("checkbox", name="Racial").check()
    page.get_by_label("Why do you decide so?").fill("It speaks of a whole people.")
    page.get_by_role("button", name="Decide").click()
    page.get_by_text("Your decision is kept.").wait_for()
    sound(page, "gold-decided", scheme)
    page.get_by_text("Decide otherwise").click()
    sound(page, "gold-again", scheme)
    page.goto(f"{GOLD}/labels")
    sound(page, "gold-labels", scheme)


def compares(page: Page, scheme: str) -> None:
    page.goto(f"{GOLD}/comparison")
    page.get_by_label("The table").set_input_files(
        {"name": "may.csv", "mimeType": "text/csv", "buffer": b"item_id,label\nconversation-0,Maybe\n"}
    )
    page.get_by_label("Where it comes from").fill("The pilot of May")
    page.get_by_role("button", name="Bring them").click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_label("Where it comes from").input_value() == "The pilot of May"
    sound(page, "gold-platinum-wrong", scheme)
    page.get_by_label("The table").set_input_files(
        {"name": "may.csv", "mimeType": "text/csv", "buffer": b"item_id,label\nconversation-0,Yes\nconversation-1,No\n"}
    )
    page.get_by_role("button", name="Bring them").click()
    page.get_by_text("Labels of 2 items are kept.").wait_for()
    sound(page, "gold-comparison", scheme)


def test_experts_can_label_without_scripts(database_url: str, browser: Browser) -> None:
    with serving(database_url) as live, running(browser._loop):
        context: BrowserContext = browser.new_context(base_url=live.url, java_script_enabled=False)
        with context:
            peopled(live)
            page = context.new_page()
            signed_in(page, live, "bob")
            page.goto(f"{GOLD}/items/3")
            page.get_by_role("radio", name="No").check()
            page.get_by_label("Why do you say so?").fill("Nobody is hurt.")
            page.get_by_role("radio", name="Benign").check()
            page.get_by_role("checkbox", name="Health", exact=True).check()
            page.get_by_role("button", name="Keep it, and go on").click()
            page.wait_for_url("**?said=first")
