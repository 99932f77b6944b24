"""No answer is lost: without a network, in a tab that is killed, in two tabs, after a sign-out."""

import re

from playwright.sync_api import BrowserContext, Page, expect
from tests.support.browser_raters import N_QUESTIONS, answer_all, enter, kept, n_done, opened
from tests.support.live_site import Live

from dissensus.campaign.answer_drafts import merge_saves


def test_nothing_is_lost_without_a_network(live: Live, page: Page, context: BrowserContext) -> None:
    enter(page, opened(live))
    page.locator("[name=Q4_misinformation]").nth(2).check()
    expect(page.locator("#saved")).to_have_text("Saved")
    context.set_offline(True)
    answer_all(page)
    expect(page.locator("#saved")).to_have_text("Not saved yet. We keep trying.")
    expect(page.locator("#said")).to_have_text("Not saved yet. We keep trying.")
    page.keyboard.press("Control+Enter")  # the next one is at hand already
    expect(page.locator("#progress")).to_contain_text("1 of 3 rated")
    answer_all(page, "3")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#trouble")).to_contain_text("Waiting for the connection")
    assert n_done(live) == 0
    context.set_offline(False)
    expect(page.locator("#saved")).to_have_text("Saved")
    expect(page.locator("#progress")).to_contain_text("2 of 3 rated")
    expect(page.locator("#trouble")).to_be_empty()
    assert n_done(live) == 2
    expect(page.locator(".split")).not_to_have_class(re.compile("waits"))
    answer_all(page)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="About you")).to_be_visible()


def test_a_tab_that_was_killed_leaves_its_answers(live: Live, page: Page, context: BrowserContext) -> None:
    enter(page, opened(live))
    context.set_offline(True)
    answer_all(page, "2")
    page.keyboard.press("Control+Enter")
    page.locator("[name=Q4_misinformation]").nth(1).check()
    page.close()
    context.set_offline(False)
    assert n_done(live) == 0
    again = context.new_page()
    again.goto(f"{live.url}/rate")
    expect(again.locator("#progress")).to_contain_text("1 of 3 rated")
    expect(again.locator("[name=Q4_misinformation]").nth(1)).to_be_checked()
    expect(again.locator("#saved")).to_have_text("Saved")
    assert n_done(live) == 1
    answers = {name: merge_saves(every) for name, every in kept(live)}
    assert sorted(len(one) for one in answers.values()) == [1, N_QUESTIONS]


def test_a_server_that_fails_is_asked_again_and_a_refusal_is_told(live: Live, page: Page) -> None:
    enter(page, opened(live))
    page.route("**/save", lambda route: route.fulfill(status=503, body="busy"))
    page.locator("[name=Q4_misinformation]").nth(0).check()
    expect(page.locator("#saved")).to_have_text("Not saved yet. We keep trying.")
    page.unroute("**/save")
    page.route("**/save", lambda route: route.fulfill(status=200, body="<h1>Sign in to this hotel</h1>"))
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#saved")).to_have_text("Not saved yet. We keep trying.")
    assert kept(live) == []
    page.unroute("**/save")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#saved")).to_have_text("Saved")
    assert len(kept(live)) == 1
    page.locator("[name=Q4_misinformation]").nth(2).check()
    page.route("**/save", lambda route: route.fulfill(status=404, body="<h1>No such host</h1>"))
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#saved")).to_have_text("Not saved yet. We keep trying.")
    page.unroute("**/save")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#saved")).to_have_text("Saved")
    page.route("**/save", lambda route: route.fulfill(status=422, json={"error": "That is no answer."}))
    page.locator("[name=Q4_misinformation]").nth(1).check()
    expect(page.locator("#trouble")).to_contain_text("That is no answer.")
    expect(page.locator("#trouble").get_by_role("link", name="Load the page again")).to_be_visible()
    assert page.evaluate("Object.keys(localStorage).filter(name => name.startsWith('dissensus:'))") == []


def test_answers_wait_for_who_was_signed_out(live: Live, page: Page, context: BrowserContext) -> None:
    enter(page, opened(live))
    cookies = context.cookies()
    context.clear_cookies()
    page.locator("[name=Q4_misinformation]").nth(2).check()
    expect(page.locator("#trouble")).to_contain_text("You are signed out")
    assert kept(live) == []
    context.add_cookies(cookies)  # type: ignore[arg-type]
    page.get_by_role("link", name="Load the page again").click()
    expect(page.locator("[name=Q4_misinformation]").nth(2)).to_be_checked()
    expect(page.locator("#saved")).to_have_text("Saved")
    assert len(kept(live)) == 1


def test_two_tabs_and_a_double_submit_do_no_harm(live: Live, page: Page, context: BrowserContext) -> None:
    enter(page, opened(live))
    other = context.new_page()
    other.goto(f"{live.url}/rate")
    answer_all(page)
    page.evaluate("for (let i = 0; i < 3; i++) document.getElementById('submit').click()")
    expect(page.locator("#saved")).to_have_text("Saved")
    expect(page.locator("#progress")).to_contain_text("1 of 3 rated")
    answer_all(other, "3")
    other.keyboard.press("Control+Enter")
    expect(other.locator("#saved")).to_have_text("Saved")
    expect(other.locator("#progress")).to_contain_text("1 of 3 rated")
    assert n_done(live) == 1


def test_a_page_from_the_cache_of_the_browser_shows_what_is(live: Live, page: Page, context: BrowserContext) -> None:
    enter(page, opened(live))
    other = context.new_page()
    other.goto(f"{live.url}/rate")
    other.get_by_role("button", name="Skip this one").click()
    expect(other.locator("#saved")).to_have_text("Saved")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    expect(page.locator("#progress")).to_contain_text("0 of 2 rated")
