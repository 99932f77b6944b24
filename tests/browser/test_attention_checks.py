"""Checks in a real browser: by keyboard, without a network for a while, and in all looks."""

import re
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from tests.browser.page import View
from tests.support.browser_raters import answer_all, enter, n_done, open_rating_campaign
from tests.support.campaigns import CHECKS, definition
from tests.support.live_site import LiveSite
from tests.support.rating_views import CHECKED_LOOKS, find_violations, show
from tests.support.staff_pages import PASTED, check_page

from dissensus.schema.campaign.definition import write_campaign

CHECKED: dict[str, Any] = {"checks": CHECKS, "estimated_minutes": 20, "demographics": None}
BEFORE, BETWEEN = "Are the instructions clear?", "A short question"


def heading(page: Page, name: str) -> None:
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()


def send(page: Page, answer: str) -> None:
    page.get_by_role("radio", name=answer, exact=True).focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Send and continue")).to_be_focused()
    page.keyboard.press("Enter")


def test_a_rater_goes_through_checks_by_keyboard(live: LiveSite, page: Page) -> None:
    enter(page, open_rating_campaign(live, 2, **CHECKED))
    heading(page, BEFORE)
    page.get_by_role("button", name="Send and continue").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".fault:visible")).to_have_text("Please answer this question.")
    expect(page.get_by_role("radio").first).to_be_focused()
    send(page, "All of it")
    expect(page.get_by_role("alert")).to_contain_text("you have one more try")
    page.go_back()
    page.goto(f"{live.url}/rate")
    send(page, "The last answer")
    for done, answer in ((1, "Agree"), (2, "Unsure")):
        answer_all(page)
        rated = page.locator(".turn.rated .message").inner_text()
        page.route("**/save", lambda route: route.abort())
        page.keyboard.press("Control+Enter")
        # No other item is shown before the check.
        expect(page.locator(".split")).to_have_class(re.compile("waiting"))
        expect(page.locator(".turn.rated .message")).to_have_text(rated)
        page.unroute("**/save")
        heading(page, BETWEEN)
        assert n_done(live) == done
        send(page, answer)
    heading(page, "Thank you")


def test_a_check_waits_for_the_network(live: LiveSite, page: Page, context: BrowserContext) -> None:
    enter(page, open_rating_campaign(live, 3, **{**CHECKED, "checks": CHECKS[:1]}))
    context.set_offline(True)
    for _ in range(2):
        answer_all(page)
        page.keyboard.press("Control+Enter")
    expect(page.locator(".split")).to_have_class(re.compile("waiting"))
    context.set_offline(False)
    heading(page, BETWEEN)
    assert n_done(live) == 2


@pytest.mark.parametrize("looks", CHECKED_LOOKS, ids=" ".join)
def test_check_pages_are_accessible(live: LiveSite, page: Page, looks: tuple[str, ...]) -> None:
    faults: list[str] = []
    page.on(
        "console", lambda message: faults.append(message.text) if "Content Security Policy" in message.text else None
    )

    def judge(name: str, title: str) -> None:
        heading(page, title)
        view = View(page)
        for look in (*looks[1:], looks[0]):
            show(page, look)
            view.shot(f"check-{look}-{name}")
            wrong = find_violations(view, look) + view.overflowing() + view.overlapping()
            faults.extend(f"{look} {name}: {one}" for one in wrong)

    changes = {**CHECKED, "checks": [CHECKS[2], {**CHECKS[1], "after": 1}]}
    link = open_rating_campaign(live, **changes)
    enter(page, link)
    judge("before", BEFORE)
    send(page, "All of it")
    expect(page.get_by_role("alert")).to_be_visible()
    judge("again", BEFORE)
    send(page, "The last answer")
    answer_all(page)
    page.keyboard.press("Control+Enter")
    judge("between", BETWEEN)
    page.context.clear_cookies()
    enter(page, link)
    send(page, "All of it")
    expect(page.get_by_role("alert")).to_be_visible()
    page.wait_for_load_state()
    send(page, "All of it")
    judge("unfit", "Your visit ends here")
    assert faults == []


@pytest.mark.usefixtures("signed_in_owner")
def test_owners_see_warnings_about_checks(page: Page) -> None:
    recalling = [{**CHECKS[0], "text": "Recall, and choose Unsure."}, {**CHECKS[2], "after": 2}]
    page.get_by_role("link", name="New campaign").click()
    toml = write_campaign(definition(checks=recalling, estimated_minutes=20))
    page.get_by_label("Definition, as TOML").fill(toml)
    page.get_by_label("Or pasted conversations").fill(PASTED)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("1 attention, 1 comprehension")).to_be_visible()
    expect(page.get_by_text("Ask it at the start, before any work")).to_be_visible()
    check_page(page, "checks-understood")
