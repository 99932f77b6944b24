"""Two responses beside each other in a real browser: by keyboard alone, over a reload, without scripts; its looks."""

from typing import Any

from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select
from tests.support.browser_raters import enter, load_saved_answers
from tests.support.campaigns import NOW, TWO_QUESTIONS, owner
from tests.support.chromium import running
from tests.support.live_site import LiveSite
from tests.support.pair_campaigns import open_pair_campaign, pair_definition
from tests.support.staff_pages import check_page, sign_in

from dissensus.campaign.answer_drafts import merge_saves
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store.assignments import AssignmentTable
from dissensus.store.items import ItemTable
from dissensus.workflows.campaign import campaigns

HOSTILE = "<b onclick=alert(1)>**Sure**</b>: \u202eti od\u202c `rm -rf` <script>alert(2)</script>"
LONG = (
    "That depends on where you are. Most lakes here are open from June, and a guard is on duty until the evening. " * 4
)


def link(live: LiveSite, *items: Item, **changes: Any) -> str:
    staff_id = owner(live.platform.database)
    campaigns.create_campaign(
        live.platform, pair_definition(demographics=None, **changes), items, staff_id=staff_id, now=NOW
    )
    key = campaigns.change_state(live.platform, "pilot", "open", staff_id=staff_id, now=NOW).key
    return f"{live.url}/c/pilot?key={key}"


def pair(name: str, a: str, b: str) -> Item:
    return Item(name, Conversation.from_turns([("human", "May I swim here?"), ("bot", a)]), {}, b)


def test_three_pairs_by_keyboard_with_a_reload_in_between(live: LiveSite, page: Page) -> None:
    key = open_pair_campaign(live.platform, demographics=None, questionnaire=TWO_QUESTIONS).key
    enter(page, f"{live.url}/c/pilot?key={key}")
    keys, first = page.keyboard, page.locator(".candidates .message").first
    expect(page.get_by_role("radiogroup", name="Which response is more helpful?")).to_be_visible()
    texts = []
    for number in range(3):
        expect(page.locator("#progress")).to_contain_text(f"{number} of 3 rated")
        texts.append(first.inner_text())
        # Much more A, which is the one on the left, and further questions.
        keys.press("1")
        expect(page.get_by_role("radio", name="A is much more helpful")).to_be_checked()
        if number == 1:
            expect(page.locator("#saved")).to_have_text("Saved")
            page.reload()
            expect(first).to_have_text(texts[-1])
            expect(page.get_by_role("radio", name="A is much more helpful")).to_be_checked()
            page.locator("[name=Q_safe]").first.focus()
        keys.press("2")
        keys.press("Control+Enter")
        if number < 2:
            expect(first).not_to_have_text(texts[-1])
            expect(page.locator("[name=Q_preference]:checked")).to_have_count(0)
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    check_page(page, "pair-thanks")
    answers = {name: merge_saves(every) for name, every in load_saved_answers(live)}
    # Answers are stored by response of the item, independent of the displayed side.
    long = {f"pair-{one[len('Long answer ')]}" for one in texts if one.startswith("Long")}
    assert {name: one["Q_preference"].value for name, one in answers.items()} == {
        name: "-3" if name in long else "3" for name in answers
    }
    assert {one["Q_safe"].value for one in answers.values()} == {"Unsure"}
    with live.platform.database.reading() as tx:
        sides = dict(tx.execute(select(ItemTable.name, AssignmentTable.shown_first).join(ItemTable)).all())
    assert sides == {name: "a" if name in long else "b" for name in answers}


def test_pairs_are_accessible_and_hostile_text_is_inert(live: LiveSite, page: Page) -> None:
    spoken: list[str] = []
    page.on("dialog", lambda dialog: spoken.append(dialog.message))
    enter(page, link(live, pair("1", LONG, HOSTILE), questionnaire=TWO_QUESTIONS))
    check_page(page, "pair", bar=True)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".fault:visible")).to_have_count(2)
    check_page(page, "pair-missing", bar=True)
    page.get_by_role("radio", name="B is slightly more helpful").check()
    check_page(page, "pair-chosen", bar=True)
    assert page.locator(".message b, .message code, .message strong, .message script").count() == 0
    texts = [message.inner_text() for message in page.locator(".candidates .message").all()]
    assert sorted(texts) == sorted([LONG, HOSTILE])
    for message in page.locator(".message").all():
        message.click()
    assert spoken == []


def test_pairs_are_compared_without_scripts(live: LiveSite, browser: Browser) -> None:
    with running(browser._loop), browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        enter(page, link(live, pair("1", "Yes.", ""), click_to_reveal=True, pair={"criterion": "less harmful"}))
        expect(page.locator(".candidates")).to_be_hidden()
        page.get_by_role("link", name="Show the conversation").click()
        expect(page.get_by_text("(no text)")).to_be_visible()
        page.locator("#submit").click()
        expect(page.get_by_text("both equally")).to_have_count(0)
        page.get_by_role("radio", name="B is clearly less harmful").check()
        page.get_by_role("button", name="Submit and continue").click()
        expect(page.get_by_role("heading", name="Thank you")).to_be_visible()


def test_an_owner_sees_both_responses(live: LiveSite, page: Page) -> None:
    link(live, pair("1", LONG, HOSTILE), pair("2", "Yes.", ""))
    sign_in(page, live, "owner")
    page.goto(f"{live.url}/campaigns/pilot")
    page.locator("summary", has_text="May I swim here?").first.click()
    expect(page.locator(".candidates .message").first).to_have_text(LONG.strip())
    check_page(page, "pair-owner")
