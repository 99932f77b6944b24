"""Views of the rating page in a browser."""

from typing import Any

from playwright.sync_api import Page
from tests.browser.page import View

PLAIN: dict[str, Any] = {"color_scheme": "light", "forced_colors": "none", "reduced_motion": "no-preference"}


LOOKS: dict[str, tuple[tuple[int, int], dict[str, Any]]] = {
    "light": ((1280, 800), {}),
    "dark": ((1280, 800), {"color_scheme": "dark"}),
    "forced": ((1280, 800), {"forced_colors": "active"}),
    "still": ((768, 900), {"reduced_motion": "reduce"}),
    "zoomed": ((320, 200), {}),  # 1280 by 800 at 400 %
    "phone": ((320, 640), {"color_scheme": "dark"}),
}


# Looks that differ from the first in colours alone.
COLOURS = ("dark", "forced")
# Looks that one test checks.
CHECKED_LOOKS = [("light", "phone"), ("dark", "forced", "still"), ("zoomed",)]


def show(page: Page, look: str) -> None:
    """Show a page in a look, without transitions."""
    (width, height), media = LOOKS[look]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(**PLAIN | media)
    page.evaluate("document.getAnimations().forEach(one => one.finish())")


def find_violations(view: View, look: str) -> list[str]:
    """Return the violations in a look: of rules on colours, where only colours differ from the first look."""
    return view.faint_texts() if look in COLOURS else view.violations()
