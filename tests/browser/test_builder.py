"""Builder of campaigns in a browser: from nothing to a draft without TOML, and both views of it."""

import pytest
from playwright.sync_api import Page
from tests.support.live_site import Live
from tests.support.staff_pages import live, page, sound

__all__ = ["live", "page"]

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.slow]


def test_look(page: Page, live: Live, request: pytest.FixtureRequest) -> None:
    scheme = request.node.callspec.params["page"]
    page.goto("/campaigns/new")
    sound(page, "builder-new", scheme)
    page.get_by_label("Name", exact=True).fill("pilot")
    page.get_by_role("button", name="Begin").click()
    for step in ("kind","texts","questions","people","care","consent","quality","summary","toml"):
        page.goto(page.url.rpartition("/")[0]+"/"+step)
        sound(page, "builder-"+step, scheme)
