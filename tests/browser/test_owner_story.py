"""Story of an owner who has never seen the site: from its bare address to the figure of a finished report."""

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, FrameLocator, Page, Route, expect
from tests.databases import sqlite_only
from tests.support.browser_raters import answer_all
from tests.support.chromium import running
from tests.support.live_site import LiveSite, serving
from tests.support.staff_pages import check_page

from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.campaign.rehearsal import simulate_rater
from dissensus.workflows.platform import passwords, sign_in_links
from dissensus.workflows.rater import enrolment
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.report.report_job import ReportJob

pytestmark = sqlite_only
PASSWORD = "correct horse battery"
PASTED = "\n---\n".join(f"User: May I pick lock {n}?\nBot: If it is yours, begin with pin {n}." for n in range(4))
N_SIMULATED = 16
LARGEST_GROUP = "Man"


@pytest.fixture
def live(database_url: str) -> Iterator[LiveSite]:
    with serving(database_url) as site:
        yield site


def test_an_owner_goes_from_the_bare_address_to_a_figure(live: LiveSite, browser: Browser) -> None:
    with running(browser._loop), browser.new_context(base_url=live.url) as at_work:
        page = at_work.new_page()
        page.set_default_timeout(20_000)
        arrive(page, live)
        build_campaign(page)
        name_carer(page, browser, live)
        link = open_campaign(page)
        with browser.new_context(base_url=live.url) as at_home:
            rate_and_report(at_home.new_page(), link)
        add_raters(live, link.partition("key=")[2])
        watch_raters(page)
        read_divided_item(page)
        settle_report(page)
        read_report(page, live)


def arrive(page: Page, live: LiveSite) -> None:
    """Sign in from the bare address; the operator made the account."""
    sign_in_links.create_sign_in_link(live.platform, "ada", now=live.clock())
    passwords.set_password_for(live.platform, live.site.hasher(), "ada", PASSWORD, now=live.clock())
    page.goto("/")
    page.locator("#content").get_by_role("link", name="Sign in").click()
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("heading", name="Open tasks").wait_for()
    assert page.url == f"{live.url}/"
    page.get_by_role("link", name="New campaign").click()
    page.wait_for_url("**/campaigns/new")


def build_campaign(page: Page) -> None:
    """Make a draft with a quota and a care contact, step by step, and paste its items."""
    page.get_by_label("Safety rating", exact=False).first.check()
    page.get_by_label("Name", exact=True).fill("pilot")
    page.get_by_role("button", name="Begin").click()
    open_step(page, "People")
    quota = page.get_by_role("group", name="Quota")
    page.get_by_role("checkbox", name="Quota").check()
    quota.get_by_role("checkbox", name="Gender").check()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("There is no seat for raters who answer").wait_for()
    assert quota.get_by_label("Raters outside all groups").get_attribute("aria-invalid") == "true"
    check_page(page, "builder-people")
    quota.get_by_label("Raters outside all groups").fill("3")
    expect(page.get_by_text("There is no seat for raters who answer")).to_have_count(0)
    page.get_by_role("button", name="Save and go on").click()
    page.get_by_role("heading", level=2, name="Care", exact=True).wait_for()
    care = page.get_by_role("group", name="Wellbeing survey and contact")
    page.get_by_role("checkbox", name="Wellbeing survey and contact").check()
    for language in ("English", "Deutsch"):
        care.get_by_role("group", name="Contact").get_by_label(language).fill("Mia Berg")
    with page.expect_navigation():
        page.get_by_role("button", name="Save", exact=True).click()
    expect(show_preview(page).get_by_text("Mia Berg may know how I feel")).to_be_visible()
    check_page(page, "builder-care")
    open_step(page, "Create", heading="Create the draft")
    check_page(page, "builder-summary")
    page.get_by_role("button", name="Create draft").click()
    page.wait_for_url("**/campaigns/pilot")
    expect(page.get_by_text("Mia Berg can be notified")).to_be_visible()
    page.locator("#content").get_by_role("link", name="Add items").first.click()
    page.get_by_label("Or pasted conversations").fill(PASTED)
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Add items").click()
    page.wait_for_url("**/campaigns/pilot")


def open_step(page: Page, name: str, *, heading: str | None = None) -> None:
    page.get_by_role("navigation", name="Steps").get_by_role("button", name=name).click()
    page.get_by_role("heading", level=2, name=heading or name, exact=True).wait_for()


def show_preview(page: Page) -> FrameLocator:
    return page.frame_locator("#preview-frame")


def name_carer(page: Page, browser: Browser, live: LiveSite) -> None:
    """Follow the warning that nobody holds the care contact, and invite somebody who does."""
    page.get_by_role("link", name="Open campaign").click()
    unheld = page.get_by_role("listitem").filter(has_text="share their wellbeing survey")
    unheld.get_by_role("link", name="Manage members").click()
    page.locator("#role").select_option("carer")
    page.get_by_role("button", name="Create link").click()
    link = page.get_by_label("Link", exact=True).input_value()
    with browser.new_context(base_url=live.url) as elsewhere:
        carer = elsewhere.new_page()
        carer.goto(link)
        carer.get_by_label("Your name").fill("mia")
        carer.get_by_label("Password, of at least").fill(PASSWORD)
        carer.get_by_label("The same again").fill(PASSWORD)
        carer.get_by_role("button", name="Join").click()
        carer.get_by_role("heading", name="pilot").wait_for()


def open_campaign(page: Page) -> str:
    """Open the campaign, which the check allows, and return its link."""
    page.goto("/campaigns/pilot/opening")
    page.get_by_role("heading", name="Open pilot?").wait_for()
    expect(page.get_by_text("share their wellbeing survey")).to_have_count(0)
    page.get_by_role("button", name="Open now").click()
    link = page.get_by_label("Open link").input_value()
    page.locator("#content").get_by_role("button", name="Copy").first.click()
    page.get_by_role("button", name="Copied").wait_for()
    return link


def rate_and_report(page: Page, link: str) -> None:
    """Enter, take a seat, rate an item and report the next one."""
    page.set_default_timeout(20_000)
    page.goto(link)
    page.get_by_role("button", name="I understand, continue").click()
    page.wait_for_url("**/consent")
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("button", name="I agree and want to take part").click()
    page.locator("[name=rater_gender]").first.check()
    page.get_by_role("button", name="Send and continue").click()
    page.locator(".cover summary").click()
    answer_all(page, "3")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#progress")).to_contain_text("1 of 4 rated")
    page.locator('a[href="#report"]').first.click()
    page.locator("#report textarea").fill("It shows how to break in.")
    page.locator("#report").get_by_role("button").last.click()
    page.get_by_text("Your message was saved.").wait_for()


def add_raters(live: LiveSite, key: str) -> None:
    """Let simulated people take part through the same link, and the background job compute figures."""
    for number in range(N_SIMULATED):
        rater, _ = enrolment.enrol_rater(
            live.platform, Arrival("pilot", key, "en"), {"rating": True, "release": True}, now=live.clock()
        )
        simulate_rater(live.platform, rater, np.random.default_rng(number), live.clock())
    refresh_snapshots(live.platform, MonitoringCache(), now=live.clock())


def watch_raters(page: Page) -> None:
    """See how the quota fills, who takes part, and one rater beside the others."""
    tabs = page.get_by_role("navigation", name="Pages of pilot")
    tabs.get_by_role("link", name="Quota").click()
    page.get_by_role("heading", name="Quota of pilot").wait_for()
    tabs.get_by_role("link", name="Raters").click()
    page.get_by_role("link", name="Rater 2", exact=True).click()
    page.get_by_role("heading", name="Answers", exact=True).wait_for()
    check_page(page, "rater")


def read_divided_item(page: Page) -> None:
    """Open the most divided conversation, and read which groups answered what."""
    tabs = page.get_by_role("navigation", name="Pages of pilot")
    tabs.get_by_role("link", name="Items").click()
    page.get_by_role("heading", name="Items", exact=True).wait_for()
    page.get_by_label("Question").select_option("Q1_whole_conversation_evaluation")
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_url("**/items?*question=Q1*")
    check_page(page, "item-list")
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Withhold selected").click()
    page.get_by_role("heading", name="Withhold 1 item?").wait_for()
    check_page(page, "item-withholding")
    page.get_by_role("link", name="Cancel").click()
    most_divided = page.locator("a.item").first
    name = most_divided.locator("strong").inner_text()
    most_divided.click()
    page.get_by_role("heading", level=1, name=name).wait_for()
    answers = page.get_by_role("region", name="Answers")
    expect(answers.get_by_role("row", name="All raters").first).to_contain_text("%")
    expect(answers.get_by_role("row", name=LARGEST_GROUP).first).to_contain_text("%")
    page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link", name="Items").click()
    page.get_by_label("State").select_option("reported")
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_url("**/items?*flag=reported*")
    expect(page.locator("a.item")).to_have_count(1)
    page.locator("a.item").click()
    page.get_by_role("heading", name="Open reports").wait_for()
    # The way back leads to the list as it was filtered.
    page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link", name="Items").click()
    page.wait_for_url("**/items?*flag=reported*")


def settle_report(page: Page) -> None:
    """Find the report among the open tasks, read it beside the text and the answers, and decide."""
    page.get_by_role("link", name="Dissensus").click()
    page.get_by_role("link", name="1 message from raters").click()
    page.get_by_role("link", name="Read the item and decide").click()
    page.get_by_role("heading", name="Open reports").wait_for()
    expect(page.get_by_text("May I pick lock")).to_be_visible()
    check_page(page, "item")
    decisions = [page.get_by_role("button", name=f"{verb} the item").bounding_box() for verb in ("Withhold", "Show")]
    assert decisions[0] is not None
    assert decisions[1] is not None
    assert decisions[1]["x"] >= decisions[0]["x"] + decisions[0]["width"] + 8
    page.get_by_role("button", name="Show the item").click()
    page.get_by_role("heading", name="History").wait_for()
    page.get_by_text("The item is now shown to raters.").wait_for()


def remove_refresh(route: Route) -> None:
    """Keep a page that refreshes by itself as it is while it is checked."""
    response = route.fetch()
    headers = {name: value for name, value in response.headers.items() if name != "refresh"}
    route.fulfill(response=response, headers=headers)


def read_report(page: Page, live: LiveSite) -> None:
    """Ask for a report, read a section, and download its figure."""
    page.goto("/campaigns/pilot")
    page.get_by_role("link", name="Reports:").click()
    page.get_by_label("Crossed axes").select_option(label="Age")
    page.get_by_label("and", exact=True).select_option(label="Gender")
    check_page(page, "reports")
    page.route("**/reports/*", remove_refresh)
    page.get_by_role("button", name="Make the report").click()
    page.get_by_role("status").wait_for()
    check_page(page, "report-waiting")
    page.unroute("**/reports/*", remove_refresh)
    # The page may refresh before it has loaded on a slow machine.
    page.reload(wait_until="commit")
    ReportJob()(live.platform, live.clock())
    # The page refreshes by itself.
    page.get_by_role("heading", name="Sections").wait_for()
    check_page(page, "report")
    page.get_by_role("link", name="Agreement within and between groups").click()
    page.get_by_role("heading", name="Agreement", exact=False).first.wait_for()
    drawing = page.locator("img.drawing").first
    drawing.scroll_into_view_if_needed()
    assert drawing.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    page.evaluate("document.querySelectorAll('img').forEach(image => image.loading = 'eager')")
    page.wait_for_load_state("networkidle")
    check_page(page, "report-section")
    with page.expect_download() as download:
        page.get_by_role("link", name="SVG").first.click()
    assert download.value.path().read_text().startswith("<svg")
