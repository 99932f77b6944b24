"""Open a page in a headless browser, again and again, and print how long it takes as JSON.

    .venv/bin/python benchmarks/opening.py report.html

Times are measured by the browser from the start of the navigation, so the overhead of the driver does not count.
"""

import json
import shutil
import sys
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Error, Playwright, sync_playwright

LOADS = 7
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Both figures may come after the load event: wait for them.
TIMES = """() => new Promise((resolve, reject) => {
  const look = () => {
    const [page] = performance.getEntriesByType("navigation");
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    if (paint && page.loadEventEnd) resolve([paint.startTime / 1000, page.loadEventEnd / 1000]);
    else if (performance.now() > 30000) reject(new Error("nothing was painted within 30 seconds"));
    else setTimeout(look, 5);
  };
  look();
})"""


def launch_browser(playwright: Playwright) -> Browser:
    """Return the browser of the system, otherwise that of playwright."""
    try:
        return playwright.chromium.launch(executable_path=next(filter(None, map(shutil.which, BROWSERS)), None))
    except Error:
        raise SystemExit("no browser starts; install chromium, or run .venv/bin/playwright install chromium") from None


def measure_load(browser: Browser, page: Path) -> tuple[float, float]:
    """Return the seconds to the first contentful paint and to the end of the load event."""
    with browser.new_context() as context:
        tab = context.new_page()
        tab.goto(page.resolve().as_uri())
        paint, load = tab.evaluate(TIMES)
    return paint, load


def main() -> None:
    page = Path(sys.argv[1])
    with sync_playwright() as playwright, launch_browser(playwright) as browser:
        paints, loads = zip(*(measure_load(browser, page) for _ in range(LOADS)), strict=True)
        name = f"Chromium {browser.version}"
    slower = [max(pair) for pair in zip(paints, loads, strict=True)]
    figures = {"paint_s": median(paints), "load_s": median(loads), "median_s": median(slower), "min_s": min(slower)}
    print(json.dumps({"browser": name, **figures, "bytes": page.stat().st_size, "runs": LOADS}))


if __name__ == "__main__":
    main()
