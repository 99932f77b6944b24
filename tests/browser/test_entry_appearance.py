"""Pages that refuse entry, and the list of consents: in light and dark, on a phone and a desk."""

from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext
from tests.browser.page import View
from tests.support.browser_raters import CAMPAIGN, enter, open_rating_campaign
from tests.support.campaigns import NOW, definition
from tests.support.chromium import running
from tests.support.live_site import Live

from dissensus.workflows.campaign import campaigns, overview

WIDTHS = (390, 1280)
NEXT: dict[str, Any] = {
    "text": "We keep your answers for ten years.\n\nTaking part is your own choice.",
    "purposes": [
        {"name": "rating", "text": "My answers may be analysed.", "required": True},
        {"name": "release", "text": "My answers may be published without anything that points to me."},
    ],
}


def broken() -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_entry_pages_are_accessible(live: Live, browser: Browser, scheme: Literal["light", "dark"]) -> None:
    live.app.add_api_route("/broken", broken)
    with running(browser._loop), browser.new_context(color_scheme=scheme) as context:
        view_entrance(live, context, scheme)


def view_entrance(live: Live, context: BrowserContext, scheme: Literal["light", "dark"]) -> None:
    faults: list[str] = []
    page = context.new_page()
    page.on(
        "console", lambda message: faults.append(message.text) if "Content Security Policy" in message.text else None
    )

    def judge(name: str) -> None:
        view = View(page, [], [])
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            # Both schemes in one story: the narrow pages of the light one are dark.
            page.emulate_media(color_scheme="dark" if width == min(WIDTHS) else scheme)
            view.shot(f"door-{name}-{scheme}-{width}")
            faults.extend(f"{name}: {one}" for one in view.violations() + view.overflowing() + view.overlapping())
        page.emulate_media(color_scheme=scheme)

    page.goto(f"{live.url}/broken")
    page.get_by_text("quote this reference:").wait_for()
    judge("broken")
    page.goto(f"{live.url}/c/pilot?key={'k' * 300}")
    judge("refused")
    link = open_rating_campaign(live)
    enter(page, link)
    staff_id = overview.owner_id_of(live.platform, "pilot")
    campaigns.change_state(live.platform, "pilot", "paused", staff_id=staff_id, now=NOW)
    changed = definition(**{**CAMPAIGN, "consent": NEXT})
    campaigns.revise_campaign(live.platform, "pilot", changed, staff_id=staff_id, now=NOW)
    campaigns.change_state(live.platform, "pilot", "open", staff_id=staff_id, now=NOW)
    page.goto(f"{live.url}/rate")
    page.get_by_role("checkbox", name="My answers may be analysed").check()
    page.get_by_role("button", name="I agree and want to continue").click()
    page.goto(f"{live.url}/consents")
    page.get_by_text("Your earlier answer, to version 1").click()
    judge("agreed")
    campaigns.change_state(live.platform, "pilot", "paused", staff_id=staff_id, now=NOW)
    context.clear_cookies()
    page.goto(link)
    page.get_by_role("heading", name="The campaign is paused").wait_for()
    judge("paused")
    assert faults == []
