"""Pages of a running campaign: sound in both schemes, on a desk and on a phone."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import func, select, update
from tests.browser.page import View
from tests.databases import sqlite_only
from tests.support.campaigns import AGREED, NOW
from tests.support.chromium import running
from tests.support.live_site import LiveSite, serving
from tests.support.monitored_campaigns import add_crowd, open_monitored_campaign, rate_items
from tests.support.staff_pages import check_page, sign_in

from dissensus.store.audit_log import EventTable
from dissensus.store.campaigns import CampaignRow
from dissensus.store.raters import RaterTable
from dissensus.workflows.campaign import campaigns, members
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import enrolment, rating
from dissensus.workflows.rater.enrolment import Arrival

PILOT = "/campaigns/pilot"
MAX_PHONE_HEIGHT = 4_500
pytestmark = sqlite_only


@dataclass(frozen=True)
class Desk:
    """A monitored campaign of ada, and a browser."""

    live: LiveSite
    owner_id: str
    campaign: CampaignRow
    page: Page


@pytest.fixture
def desk(database_url: str, browser: Browser) -> Iterator[Desk]:
    with (
        serving(database_url) as live,
        running(browser._loop),
        browser.new_context(base_url=live.url) as context,
    ):
        owner_id = sign_in_links.create_sign_in_link(live.platform, "ada", now=NOW).staff.id
        campaign = open_monitored_campaign(live.platform, owner_id, replication=20)
        yield Desk(live, owner_id, campaign, context.new_page())


def test_pages_of_a_running_campaign_are_accessible(desk: Desk) -> None:
    live, page = desk.live, desk.page
    sign_in(page, live, "ada")
    page.goto("/campaigns/pilot/monitoring")
    check_page(page, "watch-none")
    add_crowd(live.platform, desk.campaign, 10)
    live.clock.forward(hours=10)
    refresh_snapshots(live.platform, MonitoringCache(), now=live.clock() - timedelta(seconds=3))
    # The session ended when it had been idle for an hour.
    sign_in(page, live, "ada")
    page.goto("/campaigns/pilot/monitoring")
    page.get_by_role("heading", name="Agreement").wait_for()
    check_page(page, "watch")
    check_phone(page)
    check_renewal(desk)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    check_page(page, "watch-tables")
    with live.platform.database.writing() as tx:
        tx.execute(update(RaterTable).values(state="finished", finished_at=RaterTable.entered_at))
    page.get_by_role("link", name="Interim look").click()
    page.get_by_label("Groups").select_option("rater_gender")
    page.get_by_role("button", name="Look").click()
    page.get_by_role("heading", name="Differences of groups").wait_for()
    check_page(page, "interim")
    page.get_by_role("link", name="Back to monitoring").click()
    page.get_by_role("link", name="Review").first.click()
    page.get_by_label("Exclude").check()
    page.get_by_label("Reason, for readers").fill("   ")
    page.get_by_role("button", name="Save decision").click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_label("Exclude").is_checked()
    check_page(page, "flagged-wrong")
    page.get_by_label("Reason, for readers").fill("Every item in four seconds.")
    page.get_by_role("button", name="Save decision").click()
    page.get_by_text("by ada").wait_for()
    check_page(page, "flagged")
    page.get_by_role("navigation", name="Pages of pilot").get_by_role("link", name="Raters").click()
    page.get_by_role("link", name="Rater 12").wait_for()
    check_page(page, "raters")
    page.get_by_label("Select rater 11").check()
    page.get_by_label("Select rater 12").check()
    page.get_by_label("Select rater 1", exact=True).check()
    page.get_by_role("button", name="Decide about selected").click()
    page.get_by_role("heading", name="Decide about 2 raters").wait_for()
    check_page(page, "raters-decision")


def check_phone(page: Page) -> None:
    """On a phone the tables of groups begin folded and the tabs are a menu; both open by keys, or without scripts."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    folded = page.locator("details.fold")
    expect(folded.locator("table").first).to_be_hidden()
    view = View(page)
    view.shot("watch-phone")
    assert view.height() <= MAX_PHONE_HEIGHT
    assert view.violations() + view.overflowing() == []
    folded.locator("summary").first.press("Enter")
    expect(folded.locator("table").first).to_be_visible()
    menu = page.get_by_role("navigation", name="Pages of pilot")
    expect(menu).to_be_hidden()
    page.locator(".menu > summary").press("Enter")
    expect(menu.get_by_role("link", name="Raters")).to_be_visible()
    view.shot("watch-phone-menu")
    assert view.violations() + view.overflowing() == []
    page.set_viewport_size({"width": 1280, "height": 900})
    page.reload()
    expect(folded.locator("table").first).to_be_visible()


def check_renewal(desk: Desk) -> None:
    """Figures renew themselves while their tab is in view, at the same place of the page and the same focus."""
    live, page = desk.live, desk.page
    page.clock.install()
    page.reload()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    rated, n_views = page.locator("[data-live=rated]"), count_views(desk)
    before = rated.inner_text()
    page.get_by_role("link", name="Review").first.focus()
    scrolled = page.evaluate("scrollY")
    rate_items(live.platform, desk.campaign, 50, at=live.clock())
    refresh_snapshots(live.platform, MonitoringCache(), now=live.clock())
    page.clock.run_for(21_000)
    page.wait_for_function("before => document.querySelector('[data-live=rated]').innerText !== before", arg=before)
    assert page.evaluate("[document.activeElement.innerText, scrollY]") == ["Review", scrolled]
    assert count_views(desk) == n_views
    assert requests != []
    # Nobody looks: no request, and the session may end.
    requests.clear()
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    page.clock.run_for(60_000)
    assert requests == []
    page.evaluate("delete document.hidden")
    address = page.url
    for number, (path, name) in enumerate({"/": "tasks", PILOT: "progress", f"{PILOT}/items": "items"}.items(), 60):
        page.goto(path)
        shown = page.locator(f"[data-live={name}]").inner_text()
        rate_items(live.platform, desk.campaign, number, at=live.clock())
        refresh_snapshots(live.platform, MonitoringCache(), now=live.clock())
        page.clock.run_for(21_000)
        expect(page.locator(f"[data-live={name}]")).not_to_have_text(shown, use_inner_text=True)
    page.goto(address)


def count_views(desk: Desk) -> int:
    """Count the logged views of single raters."""
    with desk.live.platform.database.reading() as tx:
        return tx.scalar(select(func.count()).where(EventTable.kind == "viewed")) or 0


def test_published_figures_and_notices_are_accessible(desk: Desk) -> None:
    live, platform, owner_id, campaign = desk.live, desk.live.platform, desk.owner_id, desk.campaign
    page = desk.page
    sign_in_links.create_sign_in_link(platform, "bo", now=NOW)
    members.add_member(platform, "pilot", "bo", "observer", staff_id=owner_id, now=NOW)
    sign_in(page, live, "bo")
    page.goto("/campaigns/pilot/monitoring")
    page.get_by_text("published once the campaign is closed").wait_for()
    check_page(page, "published-not-yet")
    for number in range(14):
        rate_items(platform, campaign, number)
    arrival = Arrival("pilot", str(campaign.key), "en")
    for _ in range(4):
        rater, _ = enrolment.enrol_rater(platform, arrival, AGREED, now=live.clock())
        for number in range(13):
            text = f"The page stopped at item {number}, and the button did nothing. " * (1 + number % 4)
            rating.report_item(platform, rater, "help", text, assignment_id=None, now=live.clock())
    campaigns.change_state(platform, "pilot", "closed", staff_id=owner_id, now=live.clock())
    refresh_snapshots(platform, MonitoringCache(), now=live.clock())
    page.reload()
    page.get_by_role("heading", name="Agreement").wait_for()
    check_page(page, "published")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    check_page(page, "published-tables")
    sign_in(page, live, "ada")
    page.goto("/campaigns/pilot/notices?page=2")
    page.get_by_text("Page 2 of 2").wait_for()
    check_page(page, "notices")
