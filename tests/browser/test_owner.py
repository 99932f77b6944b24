"""The pages of owners in a real browser: sound in both schemes, and on a phone."""

import pytest
from playwright.sync_api import Page
from tests.support.live_site import LiveSite
from tests.support.staff_pages import PASTED, check_page

from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.rater import enrolment, next_step, rating
from dissensus.workflows.rater.enrolment import Arrival

pytestmark = pytest.mark.usefixtures("signed_in_owner")


def test_a_campaign_is_created_and_opened(page: Page, live: LiveSite) -> None:
    check_page(page, "none")
    page.get_by_role("link", name="New campaign").click()
    page.get_by_label("Definition, as TOML").fill('name = "Bad name"\nlanguages = ["en"]')
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("alert").wait_for()
    check_page(page, "faults")
    page.get_by_role("link", name="dices-350").click()
    page.wait_for_url("**/campaigns/new?example=dices-350")
    page.get_by_label("Or pasted conversations").fill(PASTED)
    check_page(page, "new")
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("Questions", exact=True).wait_for()
    check_page(page, "understood")
    page.get_by_role("button", name="Create campaign").click()
    page.get_by_role("link", name="Change definition").click()
    page.wait_for_url("**/revise")
    check_page(page, "definition")
    page.get_by_label("Complete definition, as TOML").fill("name = 1")
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("alert").wait_for()
    check_page(page, "revise")
    page.get_by_role("link", name="Back to dices-350").click()
    add_items(page)
    page.get_by_role("button", name="Start dry run").click()
    page.get_by_text("So far 3 raters took part").wait_for()
    check_page(page, "draft")
    page.get_by_role("link", name="Open campaign").click()
    check_page(page, "opening")
    page.get_by_role("button", name="Open now").click()
    assert page.get_by_label("Open link").input_value().startswith(f"{live.url}/c/dices-350?key=")
    add_work(live)
    page.reload()
    check_page(page, "campaign")
    page.get_by_label("Number of new links").fill("3")
    page.get_by_role("button", name="Create links").click()
    page.get_by_label("3 links, one per line").wait_for()
    check_page(page, "invited")
    page.get_by_role("link", name="Dissensus").click()
    page.get_by_role("link", name="All campaigns").click()
    page.get_by_role("heading", name="Campaigns").wait_for()
    check_page(page, "campaigns")
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.get_by_role("heading", name="You are signed out").wait_for()
    check_page(page, "signed-out")


def add_items(page: Page) -> None:
    """Add items to a draft, and open the page that removes them."""
    page.get_by_role("link", name="Add items").click()
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("There are no items. Choose a file").wait_for()
    check_page(page, "items")
    page.get_by_label("Or pasted conversations").fill(PASTED.replace("knife", "fork").replace("Hi", "Hello"))
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("Show the conversation").click()
    page.locator("summary").last.click()
    check_page(page, "items-understood")
    page.get_by_role("button", name="Add items").click()
    page.get_by_role("link", name="Remove all items").click()
    page.get_by_text("The campaign has 4 items.").wait_for()
    check_page(page, "items-removal")
    page.get_by_role("link", name="Cancel").click()


def add_work(live: LiveSite) -> None:
    """Enter a few raters, one of whom asks for help."""
    (line,) = overview.list_all_campaigns(live.platform)
    owner_id = overview.find_owner_id(live.platform, line.campaign_row.name)
    definition = campaigns.load_definition(live.platform, line.campaign_row.name, staff_id=owner_id)
    purposes = {purpose.name: True for purpose in definition.consent.purposes}
    for number in range(3):
        rater, _ = enrolment.enrol_rater(
            live.platform, Arrival(line.campaign_row.name, str(line.campaign_row.key), "en"), purposes, now=live.clock()
        )
        if number == 0:
            next_step.find_next_step(live.platform, rater, now=live.clock())
            rating.report_item(
                live.platform, rater, "help", "I keep thinking of it.", assignment_id=None, now=live.clock()
            )


def test_a_preview_opens_in_a_new_tab(page: Page, live: LiveSite) -> None:
    page.goto("/campaigns/new?example=dices-350")
    page.get_by_label("Or pasted conversations").fill(PASTED)
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Create campaign").click()
    with page.context.expect_page() as popup:
        page.get_by_role("button", name="Preview in de").click()
    popup.value.wait_for_load_state()
    assert popup.value.url == f"{live.url}/rate"
    assert popup.value.locator("html").get_attribute("lang") == "de"
    assert page.url == f"{live.url}/campaigns/dices-350"
