"""The browser of the tests: any installed Chromium or Chrome."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Playwright
from tests.support.prerequisites import report_missing

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = (
    "NO PAGE TESTED: there is no browser. Debian: apt install chromium; "
    "elsewhere: Chrome, or .venv/bin/playwright install --with-deps chromium"
)
ARGUMENTS = (
    # Only names of this machine resolve, for pages and for the browser itself.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
    # Without a graphics card its process would draw in software, for a sixth of the processor time of a report's page.
    "--disable-gpu",
)


def find_browser(bundled: Path, *, search: str | None = None) -> Path | None:
    """Return the first browser on PATH (or another search path), else the one bundled with Playwright, if installed."""
    paths = [path for name in NAMES if (path := shutil.which(name, path=search))]
    return Path(paths[0]) if paths else bundled if bundled.exists() else None


def require_browser(bundled: Path, *, search: str | None = None) -> Path:
    """Return the same, or report that no browser is installed."""
    return find_browser(bundled, search=search) or report_missing(MISSING)


def launch(playwright: Playwright) -> Browser:
    """Start the browser without its sandbox, which root and containers lack."""
    path = require_browser(Path(playwright.chromium.executable_path))
    return playwright.chromium.launch(executable_path=path, args=ARGUMENTS)


@contextmanager
def running(loop: asyncio.AbstractEventLoop | None) -> Iterator[None]:
    """Mark a loop as the running one.

    Playwright leaves its own marked as running for as long as it lives, and asyncio.run() would refuse to work in
    every other test of the session.
    """
    before = asyncio._get_running_loop()
    asyncio._set_running_loop(loop)
    try:
        yield
    finally:
        asyncio._set_running_loop(before)
