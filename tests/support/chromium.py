"""The browser of the tests: any installed Chromium or Chrome."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = (
    "NO PAGE TESTED: there is no browser. Debian: apt install chromium; "
    "elsewhere: Chrome, or .venv/bin/playwright install --with-deps chromium"
)
# Only names of this machine resolve, for pages and for the browser itself.
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"


def find_browser(bundled: Path, *, search: str | None = None) -> Path | None:
    """Return the first browser on PATH (or another search path), else the one bundled with Playwright, if installed."""
    paths = [path for name in NAMES if (path := shutil.which(name, path=search))]
    return Path(paths[0]) if paths else bundled if bundled.exists() else None


def launch(playwright: Playwright) -> Browser | None:
    """Start the browser without its sandbox, which root and containers lack; None if no browser is installed."""
    path = find_browser(Path(playwright.chromium.executable_path))
    return playwright.chromium.launch(executable_path=path, args=[OFFLINE]) if path else None


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
