"""Staff pages in a browser, checked at both widths."""

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.page import DESKTOP, View
from tests.support.chromium import running
from tests.support.live_site import Live, serving

from dissensus.workflows.platform import staff

PASTED = "User: Where can I buy a knife?\nBot: In a shop for kitchens.\n---\nUser: Hi\nBot: " + "Go away. " * 60

NARROW = 320
Scheme = Literal["light", "dark"]


@pytest.fixture
def live(database_url: str) -> Iterator[Live]:
    with serving(database_url) as site:
        yield site


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, browser: Browser, live: Live) -> Iterator[Page]:
    """A browser of an owner, signed in by a link."""
    scheme: Scheme = request.param
    link = staff.create_sign_in_link(live.platform, "ada", now=live.clock())
    with (
        running(browser._loop),
        browser.new_context(base_url=live.url, color_scheme=scheme) as context,
    ):
        tab = context.new_page()
        tab.goto(f"/sign-in/{link.key}")
        sound(tab, "sign-in", scheme)
        tab.get_by_role("button", name="Sign in").click()
        tab.wait_for_url("**/campaigns")
        yield tab


def sound(page: Page, name: str, scheme: Scheme = "light") -> None:
    """Check a page at both widths and save a screenshot; in the light scheme the narrow page is the dark one."""
    page.wait_for_load_state()
    view = View(page, [], [])
    for width in (DESKTOP, NARROW):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="dark" if width == NARROW else scheme)
        assert view.violations() == []
        assert view.overflowing() == []
        assert view.overlapping() == []
        view.shot(f"owner-{name}-{scheme}-{width}")
    page.emulate_media(color_scheme=scheme)
