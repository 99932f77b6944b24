"""Versions of a registered model in a real browser: whole on a desk, and as cards on a phone."""

from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import Browser
from tests.browser.page import View
from tests.support.chat_campaigns import open_chat_campaign
from tests.support.chromium import running
from tests.support.live_site import serving
from tests.support.staff_pages import check_page, sign_in

from dissensus.files.models.registry import RegistrationTerms, RegistryEntry, append_entry, register_model
from dissensus.stats.cluster_robust import ClusteredEstimate

TRAINED = RegistryEntry(
    at=datetime(2026, 3, 4, 5, 6, tzinfo=UTC),
    action="kept back",
    version=1,
    current=None,
    reason="The accuracy on the pairs held out is lower than that of the current version by more than the margin.",
    n_pairs=1600,
    accuracy=ClusteredEstimate(0.71, 0.66, 0.75, 400, 380),
    difference=ClusteredEstimate(-0.02, -0.06, 0.02, 400, 380),
)


def test_versions_of_a_model_are_not_cut(sqlite_template: Path, tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "dissensus.db"
    path.write_bytes(sqlite_template.read_bytes())
    append_entry(register_model(tmp_path / "taste", RegistrationTerms(purpose="harmless")), TRAINED)
    with (
        serving(f"sqlite:///{path}", model_registry=tmp_path) as live,
        running(browser._loop),
        browser.new_context(base_url=live.url) as context,
    ):
        open_chat_campaign(live.platform, registered_models=["taste"])
        page = context.new_page()
        sign_in(page, live, "owner")
        page.goto("/campaigns/pilot")
        page.get_by_role("group", name="Versions of taste").wait_for()
        check_page(page, "campaign-model")
        assert View(page).scrolling_sideways() == []
