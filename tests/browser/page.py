"""A page as a reader sees it, and checks of its layout and accessibility.

``look`` opens a file at a width, in a colour scheme, on a screen or on paper; every check of the ``View`` that it
returns gives readable findings, none of them for a sound page.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Route

FOLDER = Path(__file__).resolve().parent
CHECKS = (FOLDER / "checks.js").read_text(encoding="utf-8")
# axe-core 4.14.1 as npm has it, unchanged: Mozilla Public License 2.0, for tests alone.
AXE = (FOLDER / "axe.min.js").read_text(encoding="utf-8")
SCREENSHOTS = "DISSENSUS_SCREENSHOTS"
LOAD_PICTURES = """async () => {
    for (const one of document.images) one.loading = "eager";
    // A <picture> chooses its source for another scheme or width with the next frame.
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    const loaded = Promise.allSettled([...document.images].map(one => one.decode()));
    return Promise.race([loaded, new Promise(done => setTimeout(done, 5000))]).then(() => true);
}"""

PHONE, TABLET, DESKTOP = 360, 768, 1280
PAPER = 718  # A4 at 96 pixels an inch without margins of 1 cm
HEIGHT = 900
SCHEMES: tuple[Literal["dark", "light"], ...] = ("dark", "light")


@dataclass(frozen=True)
class View:
    """An open page, its requests and its console errors."""

    page: Page
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def overflowing(self) -> list[str]:
        """Boxes and texts that overflow the page sideways, and clipped texts.

        What lies in a container that scrolls and takes the focus (``tabindex``) is fine on a screen; on paper nobody
        scrolls. Texts made by style sheets are not seen.
        """
        return self._check("overflowing")

    def scrolling_sideways(self) -> list[str]:
        """Boxes, the page among them, that a reader has to scroll sideways; text fields may."""
        return self._check("scrollingSideways")

    def touching(self) -> list[str]:
        """Pairs of visible buttons with a gap below four pixels."""
        return self._check("touching")

    def overlapping(self) -> list[str]:
        """Pairs of visible texts, of HTML or SVG, that overlap by more than a pixel.

        A text is as high as its font size and as wide as its letters, turned as it is turned in SVG; in HTML a slanted
        text counts as its upright box. Texts with ``aria-hidden`` are left out, as they double another one.
        """
        return self._check("overlapping")

    def faint(self) -> list[str]:
        """Texts of SVG, which axe skips, with less contrast than 4.5 (3 if large) to what lies under their middle."""
        return self._check("faint")

    def violations(self) -> list[str]:
        """Violations of the default rules of axe-core: WCAG 2 A and AA, and good practice.

        It takes a page that sets no background for white, in the dark too. It loads neither sounds nor style sheets
        again, which no rule for pages like ours looks at.
        """
        return self._axe({})

    def faint_in_the_dark(self) -> list[str]:
        """Contrast violations in the dark scheme of a page that is in the light scheme before and after.

        Nothing else of a page depends on the scheme; whole stories in the dark are among the slow tests.
        """
        self.page.emulate_media(color_scheme="dark")
        violations = self.faint_texts()
        self.page.emulate_media(color_scheme="light")
        return violations

    def faint_texts(self) -> list[str]:
        """Violations of the rules of axe-core on colours."""
        return self._axe({"runOnly": ["color-contrast", "link-in-text-block"]})

    def height(self) -> int:
        """Height of the whole page in pixels."""
        pixels: int = self.page.evaluate("document.documentElement.scrollHeight")
        return pixels

    def shot(self, name: str) -> None:
        """Save a screenshot of the whole page to the folder named by the environment, if any.

        As JPEG: compressing a PNG takes twice as long.
        """
        if folder := os.environ.get(SCREENSHOTS):
            # Pictures of another scheme or width are loaded first, and colours in transition end theirs. Those that
            # are loaded only in view may wait without end, and so does evaluate().
            self.page.evaluate(LOAD_PICTURES)
            path = Path(folder, f"{name}.jpeg")
            self.page.screenshot(path=path, full_page=True, animations="disabled", quality=85, type="jpeg")

    def shoot(self, name: str, widths: tuple[int, ...]) -> None:
        """Save screenshots in both schemes at several widths, and leave the page in the light one."""
        if os.environ.get(SCREENSHOTS):
            for width in widths:
                self.page.set_viewport_size({"width": width, "height": HEIGHT})
                for scheme in SCHEMES:
                    self.page.emulate_media(color_scheme=scheme)
                    self.shot(f"{name}-{scheme}-{width}")

    def pdf(self) -> bytes:
        """The page printed on A4, unless it asks for other paper."""
        return self.page.pdf(format="A4", prefer_css_page_size=True, print_background=True)

    def _axe(self, options: dict[str, Any]) -> list[str]:
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE)
        # Colours in transition are of neither scheme, and contents of <details> begin theirs once they are opened.
        self.page.evaluate(
            "document.getAnimations().filter(one => isFinite(one.effect.getComputedTiming().endTime))"
            ".forEach(one => one.finish())"
        )
        run = "options => axe.run(document, options).then(found => found.violations)"
        # Violations show the HTML of an element, so its unique selector is not computed.
        rules = self.page.evaluate(
            run, {"resultTypes": ["violations"], "selectors": False, "preload": False, **options}
        )
        return [_violation(rule, node) for rule in rules for node in rule["nodes"]]

    def _check(self, name: str) -> list[str]:
        findings: list[str] = self.page.evaluate(f"() => {{ {CHECKS}\n return {name}(); }}")
        return findings


def look(
    context: BrowserContext,
    path: Path,
    *,
    width: int = DESKTOP,
    scheme: Literal["light", "dark"] = "light",
    media: Literal["screen", "print"] = "screen",
) -> View:
    """Open a file; requests for anything else are refused and recorded."""
    view = View(context.new_page())
    page, address = view.page, path.resolve().as_uri()

    def refuse(route: Route) -> None:
        route.continue_() if route.request.url == address else route.abort()

    def ask(request: Request) -> None:
        if not request.url.startswith((address, "data:", "blob:")):
            view.requests.append(request.url)

    def complain(message: ConsoleMessage) -> None:
        if message.type == "error":
            view.errors.append(message.text)

    page.route("**/*", refuse)
    page.on("request", ask)
    page.on("websocket", lambda socket: view.requests.append(socket.url))
    page.on("console", complain)
    page.on("pageerror", lambda error: view.errors.append(str(error)))
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.emulate_media(color_scheme=scheme, media="print" if media == "print" else None)
    page.goto(address)
    page.evaluate("document.fonts.ready.then(() => true)")
    return view


def _violation(rule: dict[str, Any], node: dict[str, Any]) -> str:
    return f"{rule['id']} ({node['impact']}): {node['html']}\n{node['failureSummary']}"
