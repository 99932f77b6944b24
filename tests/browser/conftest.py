"""One browser a session, nothing kept from test to test."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright
from tests.browser.chromium import MISSING, launch, running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return the browser; skip, loudly, where there is none."""
    with sync_playwright() as playwright:
        found = launch(playwright)
        if found is None:
            if os.environ.get("CI") == "true":
                pytest.fail(MISSING)
            pytest.skip(MISSING)
        with running(None):
            yield found
        found.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A reader who has never been here."""
    with running(browser._loop), browser.new_context() as fresh:
        fresh.set_default_timeout(20_000)
        yield fresh
