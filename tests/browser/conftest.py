"""One browser per session, with a new context for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from tests.support.chromium import launch, running
from tests.support.live_site import LiveSite, serving
from tests.support.staff_pages import sign_in

FOLDER = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of browsers to the slow tests."""
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return the browser; skip, loudly, where there is none."""
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        chromium = launch(playwright)
        with running(None):
            yield chromium
        chromium.close()


@pytest.fixture
def context(request: pytest.FixtureRequest, browser: Browser) -> Iterator[BrowserContext]:
    """A browser context without cookies or storage; its addresses are relative to the site of the test, if any."""
    base_url = request.getfixturevalue("live").url if "live" in request.fixturenames else None
    with running(browser._loop), browser.new_context(base_url=base_url) as fresh:
        fresh.set_default_timeout(20_000)
        yield fresh


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture
def signed_in_owner(page: Page, live: LiveSite) -> None:
    """Sign ada in, who owns what she creates."""
    sign_in(page, live, "ada")


@pytest.fixture
def live(sqlite_template: Path, tmp_path: Path) -> Iterator[LiveSite]:
    """The site, on SQLite."""
    path = tmp_path / "dissensus.db"
    path.write_bytes(sqlite_template.read_bytes())
    with serving(f"sqlite:///{path}") as site:
        yield site
