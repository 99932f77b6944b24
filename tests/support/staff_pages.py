"""Pages in a browser, checked in both schemes at both widths, and the way in of staff."""

from playwright.sync_api import Page
from tests.browser.page import DESKTOP, View
from tests.support.live_site import LiveSite

from dissensus.workflows.platform import sign_in_links

PASTED = "User: Where can I buy a knife?\nBot: In a shop for kitchens.\n---\nUser: Hi\nBot: " + "Go away. " * 60

NARROW = 320
PHONE = 390


def sign_in(page: Page, live: LiveSite, name: str) -> None:
    """Sign in by a link, up to the list of campaigns."""
    key = sign_in_links.create_sign_in_link(live.platform, name, now=live.clock()).key
    page.goto(f"{live.url}/sign-in/{key}")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/campaigns")


def check_page(page: Page, name: str, *, bar: bool = False) -> None:
    """Check a page on a desk and on a narrow phone in both schemes, and save pictures of it.

    Only colours depend on the scheme: so each width has all checks in one scheme, and the desk those of contrast in the
    other one. With `bar`, a bar of buttons stays in view, above other texts. On a phone nothing scrolls sideways.
    """
    page.wait_for_load_state()
    view = View(page)
    for width in (NARROW, DESKTOP):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="dark" if width == NARROW else "light")
        assert view.violations() + view.overflowing() + view.touching() == []
        assert bar or view.overlapping() == []
        assert width == DESKTOP or view.scrolling_sideways() == []
    assert view.faint_in_the_dark() == []
    view.shoot(name, (PHONE, DESKTOP))
