"""Pages of a quota: the screener, the page without a free seat, and the groups still needed."""

from playwright.sync_api import Browser, Page, expect
from tests.databases import sqlite_only
from tests.support.chromium import running
from tests.support.live_site import LiveSite, serving
from tests.support.quota_visitors import AGES, RACES, Person, open_quota_campaign, visit, visitor
from tests.support.staff_pages import check_page, sign_in
from tests.support.staff_site import StaffSite

pytestmark = sqlite_only


def test_quota_pages_are_accessible(database_url: str, browser: Browser) -> None:
    with (
        serving(database_url) as live,
        running(browser._loop),
        browser.new_context(base_url=live.url) as rater,
        browser.new_context(base_url=live.url) as owner,
    ):
        key = fill_quota(live)
        view_turned_away(rater.new_page(), key)
        view_needed_groups(owner.new_page(), live, key)


def fill_quota(live: LiveSite) -> str:
    """Fill some cells, half-fill others, leave one empty; return the key of the link."""
    staff_site = StaffSite(live, live.open)
    key = open_quota_campaign(staff_site, AGES, RACES, seats=2)
    people = [Person(age, race, "all the way") for age in AGES[:2] for race in RACES[:3] for _ in range(2)]
    people += [Person("50+", "White", "away after an item"), Person("50+", "Asian", "all the way")]
    for person in people:
        with visitor(staff_site) as browser:
            visit(browser, key, person)
    return key


def view_turned_away(page: Page, key: str) -> None:
    page.goto(f"/c/pilot?key={key}")
    page.get_by_role("button", name="I understand, continue").click()
    page.get_by_role("checkbox", name="My answers may be analysed").check()
    page.get_by_role("button", name="I agree and want to take part").click()
    page.get_by_role("heading", name="Before you begin").wait_for()
    check_page(page, "screener")
    for answer in (AGES[0], RACES[0]):
        page.get_by_role("radio", name=answer).check()
    page.get_by_role("button", name="Send and continue").click()
    page.get_by_role("heading", name="All places are taken").wait_for()
    check_page(page, "turned-away")


def view_needed_groups(page: Page, live: LiveSite, key: str) -> None:
    sign_in(page, live, "ada")
    page.get_by_role("link", name="pilot").click()
    page.get_by_role("link", name="Quota", exact=True).click()
    page.get_by_role("heading", name="Quota of pilot").wait_for()
    check_page(page, "quota")
    page.clock.install()
    page.reload()
    needed = page.locator("[data-live=needed]")
    shown = needed.inner_text()
    staff_site = StaffSite(live, live.open)
    with visitor(staff_site) as browser:
        visit(browser, key, Person("50+", "White", "all the way"))
    page.clock.run_for(21_000)
    expect(needed).not_to_have_text(shown, use_inner_text=True)
