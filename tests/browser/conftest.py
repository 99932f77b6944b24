"""One browser a session, nothing kept from test to test."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from tests.support.chromium import MISSING, launch, running
from tests.support.live_site import Live, serving

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave whole stories in the dark to the slow tests: the quick ones look at the colours of each page in both."""
    for item in items:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if item.path.parent == HERE and item.path.name != "test_report.py" and "dark" in params.values():
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return the browser; skip, loudly, where there is none."""
    expect.set_options(timeout=20_000)
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


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture
def live(sqlite_template: Path, tmp_path: Path) -> Iterator[Live]:
    """The site, on SQLite."""
    path = tmp_path / "dissensus.db"
    path.write_bytes(sqlite_template.read_bytes())
    with serving(f"sqlite:///{path}") as site:
        yield site
