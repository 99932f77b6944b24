"""No answer is lost: without a network, in a tab that is killed, in two tabs, after a sign-out."""

import re
from dataclasses import replace

from playwright.sync_api import BrowserContext, Page, expect
from tests.browser.page import View
from tests.support.browser_raters import (
    N_QUESTIONS,
    answer_all,
    enter,
    load_saved_answers,
    n_done,
    open_rating_campaign,
)
from tests.support.live_site import LiveSite
from tests.support.rating_views import find_violations, show

from dissensus.campaign.answer_drafts import merge_saves
from dissensus.campaign.rate_limits import RateLimit, RaterLimits


def test_nothing_is_lost_without_a_network(live: LiveSite, page: Page, context: BrowserContext) -> None:
    enter(page, open_rating_campaign(live))
    page.locator("[name=Q4_misinformation]").nth(2).check()
    expect(page.locator("#saved")).to_have_text("Saved")
    context.set_offline(True)
    answer_all(page)
    expect(page.locator("#saved")).to_have_text("Not saved yet. Trying again.")
    expect(page.locator("#announcement")).to_have_text("Not saved yet. Trying again.")
    page.keyboard.press("Control+Enter")  # the next one is at hand already
    expect(page.locator("#progress")).to_contain_text("1 of 3 rated")
    answer_all(page, "3")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#alert")).to_contain_text("Waiting for the connection")
    assert n_done(live) == 0
    context.set_offline(False)
    expect(page.locator("#saved")).to_have_text("Saved")
    expect(page.locator("#progress")).to_contain_text("2 of 3 rated")
    expect(page.locator("#alert")).to_be_empty()
    assert n_done(live) == 2
    expect(page.locator(".split")).not_to_have_class(re.compile("waiting"))
    answer_all(page)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="About you")).to_be_visible()


def test_answers_of_a_killed_tab_are_restored(live: LiveSite, page: Page, context: BrowserContext) -> None:
    enter(page, open_rating_campaign(live))
    context.set_offline(True)
    answer_all(page, "2")
    page.keyboard.press("Control+Enter")
    page.locator("[name=Q4_misinformation]").nth(1).check()
    page.close()
    context.set_offline(False)
    assert n_done(live) == 0
    new_tab = context.new_page()
    new_tab.goto(f"{live.url}/rate")
    expect(new_tab.locator("#progress")).to_contain_text("1 of 3 rated")
    expect(new_tab.locator("[name=Q4_misinformation]").nth(1)).to_be_checked()
    expect(new_tab.locator("#saved")).to_have_text("Saved")
    assert n_done(live) == 1
    answers = {name: merge_saves(every) for name, every in load_saved_answers(live)}
    assert sorted(len(one) for one in answers.values()) == [1, N_QUESTIONS]


def test_failed_saves_are_retried_and_rejections_shown(live: LiveSite, page: Page) -> None:
    enter(page, open_rating_campaign(live))
    page.route("**/save", lambda route: route.fulfill(status=503, body="busy"))
    page.locator("[name=Q4_misinformation]").nth(0).check()
    expect(page.locator("#saved")).to_have_text("Not saved yet. Trying again.")
    # Routes of later calls come first: no repeated save gets through between them.
    page.route("**/save", lambda route: route.fulfill(status=200, body="<h1>Sign in to this hotel</h1>"))
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#saved")).to_have_text("Not saved yet. Trying again.")
    assert load_saved_answers(live) == []
    page.unroute("**/save")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#saved")).to_have_text("Saved")
    assert len(load_saved_answers(live)) == 1
    page.route("**/save", lambda route: route.fulfill(status=404, body="<h1>No such host</h1>"))
    page.locator("[name=Q4_misinformation]").nth(2).check()
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#saved")).to_have_text("Not saved yet. Trying again.")
    page.unroute("**/save")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#saved")).to_have_text("Saved")
    page.route("**/save", lambda route: route.fulfill(status=422, json={"error": "That is not an answer."}))
    page.locator("[name=Q4_misinformation]").nth(1).check()
    expect(page.locator("#alert")).to_contain_text("That is not an answer.")
    expect(page.locator("#alert").get_by_role("link", name="Reload the page")).to_be_visible()
    assert page.evaluate("Object.keys(localStorage).filter(name => name.startsWith('dissensus:'))") == []


def test_saves_beyond_the_rate_limit_are_sent_later(live: LiveSite, page: Page) -> None:
    enter(page, open_rating_campaign(live))
    object.__setattr__(live.platform, "rater_limits", replace(RaterLimits(), saves_per_rater=RateLimit(1, 2)))
    for number, status in enumerate((200, 429)):
        with page.expect_response("**/save") as response:
            page.locator("[name=Q4_misinformation]").nth(number).check()
        assert response.value.status == status
    page.locator("[name=Q4_misinformation]").nth(2).check()
    expect(page.locator("#alert")).to_contain_text("The server takes no more answers at the moment")
    live.clock.forward(minutes=5)
    expect(page.locator("#saved")).to_have_text("Saved")
    expect(page.locator("#alert")).to_be_empty()
    ((_, saves),) = load_saved_answers(live)
    assert merge_saves(saves)["Q4_misinformation"].value == "Yes"


def test_what_is_too_large_is_kept_and_the_rest_is_sent(live: LiveSite, page: Page) -> None:
    enter(page, open_rating_campaign(live))
    answer_all(page)
    expect(page.locator("#saved")).to_have_text("Saved")
    page.route("**/save", lambda route: route.fulfill(status=413, json={"error": "The request is too large."}))
    page.keyboard.press("Control+Enter")
    expect(page.locator("#alert")).to_contain_text("kept in this browser")
    page.unroute("**/save")
    assert n_done(live) == 0
    # Another item does not wait for the large one.
    expect(page.locator("#progress")).to_contain_text("1 of 3 rated")
    with page.expect_response("**/save") as response:
        page.locator("[name=Q4_misinformation]").nth(1).check()
    assert response.value.status == 200
    # The page removes what is saved after it has read the response.
    page.wait_for_function("Object.keys(localStorage).filter(name => name.startsWith('dissensus:')).length === 1")
    assert n_done(live) == 0
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#saved")).to_have_text("Saved")
    assert n_done(live) == 1


def test_answers_are_kept_for_signed_out_raters(live: LiveSite, page: Page, context: BrowserContext) -> None:
    enter(page, open_rating_campaign(live))
    cookies = context.cookies()
    context.clear_cookies()
    page.locator("[name=Q4_misinformation]").nth(2).check()
    expect(page.locator("#alert")).to_contain_text("You are signed out")
    assert load_saved_answers(live) == []
    context.add_cookies(cookies)  # type: ignore[arg-type]
    page.get_by_role("link", name="Reload the page").click()
    expect(page.locator("[name=Q4_misinformation]").nth(2)).to_be_checked()
    expect(page.locator("#saved")).to_have_text("Saved")
    assert len(load_saved_answers(live)) == 1


def test_two_tabs_and_a_double_submit_do_no_harm(live: LiveSite, page: Page, context: BrowserContext) -> None:
    enter(page, open_rating_campaign(live))
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


def test_a_double_click_skips_one_item(live: LiveSite, page: Page) -> None:
    enter(page, open_rating_campaign(live))
    page.get_by_role("button", name="Skip this one").dblclick()
    expect(page.locator("#saved")).to_have_text("Saved")
    expect(page.locator("#progress")).to_contain_text("0 of 2 rated")


def test_pages_from_the_browser_cache_are_reloaded(live: LiveSite, page: Page, context: BrowserContext) -> None:
    enter(page, open_rating_campaign(live))
    other = context.new_page()
    other.goto(f"{live.url}/rate")
    other.get_by_role("button", name="Skip this one").click()
    expect(other.locator("#saved")).to_have_text("Saved")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    expect(page.locator("#progress")).to_contain_text("0 of 2 rated")


def test_answers_are_corrected_and_kept_without_a_network(live: LiveSite, page: Page, context: BrowserContext) -> None:
    enter(page, open_rating_campaign(live, click_to_reveal=True))
    page.get_by_text("Show the conversation").click()
    answer_all(page)
    expect(page.locator("#previous")).to_be_hidden()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#progress")).to_contain_text("1 of 3 rated")
    expect(page.locator("#saved")).to_have_text("Saved")
    page.get_by_role("link", name="Previous answers").click()
    expect(page.get_by_text("You submitted these answers.")).to_be_visible()
    expect(page.locator("[name=Q4_misinformation]").nth(0)).to_be_checked()
    view = View(page)
    for look in ("light", "dark", "phone"):
        show(page, look)
        view.shot(f"rater-{look}-correction")
        assert find_violations(view, look) + view.overflowing() == []
    show(page, "light")
    context.set_offline(True)
    page.locator("[name=Q4_misinformation]").nth(2).check()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#alert")).to_contain_text("Waiting for the connection")
    context.set_offline(False)
    page.wait_for_url("**/answers")
    expect(page.get_by_text("Corrected on")).to_be_visible()
    for look in ("light", "dark", "phone"):
        show(page, look)
        view.shot(f"rater-{look}-answers")
        assert find_violations(view, look) + view.overflowing() == []
    ((_, saves),) = load_saved_answers(live)
    assert [save.answers["Q4_misinformation"].value for save in saves] == ["No", "Yes"]
    page.get_by_role("link", name="Back", exact=True).click()
    expect(page.locator("#progress")).to_contain_text("1 of 3 rated")
