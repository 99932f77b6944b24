"""Pages that refuse entry, the list of consents and the design: in light and dark, on a phone and a desk."""

from typing import Any

from playwright.sync_api import Page
from tests.support.browser_raters import CAMPAIGN, enter, open_rating_campaign
from tests.support.campaigns import NOW, definition
from tests.support.live_site import LiveSite
from tests.support.staff_pages import check_page

from dissensus.workflows.campaign import campaigns, overview

NEXT: dict[str, Any] = {
    "text": "We keep your answers for ten years.\n\nTaking part is your own choice.",
    "purposes": [
        {"name": "rating", "text": "My answers may be analysed.", "required": True},
        {"name": "release", "text": "My answers may be published without anything that points to me."},
    ],
}


def broken() -> None:
    raise ZeroDivisionError


def test_design_pages_are_accessible(live: LiveSite, page: Page) -> None:
    page.goto(f"{live.url}/design")
    check_page(page, "design")
    page.goto(f"{live.url}/design/raters")
    page.get_by_role("heading", name="Components of the pages of raters").wait_for()
    check_page(page, "design-raters", bar=True)


def test_entry_pages_are_accessible(live: LiveSite, page: Page) -> None:
    live.app.add_api_route("/broken", broken)
    faults: list[str] = []
    page.on(
        "console", lambda message: faults.append(message.text) if "Content Security Policy" in message.text else None
    )
    page.goto(f"{live.url}/broken")
    page.get_by_text("quote this reference:").wait_for()
    check_page(page, "door-broken")
    page.goto(f"{live.url}/c/pilot?key={'k' * 300}")
    check_page(page, "door-refused")
    link = open_rating_campaign(live)
    enter(page, link)
    staff_id = overview.find_owner_id(live.platform, "pilot")
    campaigns.change_state(live.platform, "pilot", "paused", staff_id=staff_id, now=NOW)
    changed = definition(**{**CAMPAIGN, "consent": NEXT})
    campaigns.revise_campaign(live.platform, "pilot", changed, staff_id=staff_id, now=NOW)
    campaigns.change_state(live.platform, "pilot", "open", staff_id=staff_id, now=NOW)
    page.goto(f"{live.url}/rate")
    page.get_by_role("checkbox", name="My answers may be analysed").check()
    page.get_by_role("button", name="I agree and want to continue").click()
    page.goto(f"{live.url}/consents")
    page.get_by_text("Your earlier answer, to version 1").click()
    check_page(page, "door-agreed")
    campaigns.change_state(live.platform, "pilot", "paused", staff_id=staff_id, now=NOW)
    page.context.clear_cookies()
    page.goto(link)
    page.get_by_role("heading", name="The campaign is paused").wait_for()
    check_page(page, "door-paused")
    assert faults == []
