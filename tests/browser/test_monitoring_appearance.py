"""Pages of a running campaign: sound in both schemes, on a desk and on a phone."""

from datetime import timedelta
from typing import Literal

import pytest
from playwright.sync_api import Browser
from tests.support.campaigns import NOW
from tests.support.chromium import running
from tests.support.live_site import serving
from tests.support.monitored_campaigns import add_crowd, open_monitored_campaign
from tests.support.staff_pages import sound

from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform import staff

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_of_a_running_campaign_are_accessible(
    database_url: str, browser: Browser, scheme: Literal["light", "dark"]
) -> None:
    with (
        serving(database_url) as live,
        running(browser._loop),
        browser.new_context(base_url=live.url, color_scheme=scheme) as context,
    ):
        campaign = open_monitored_campaign(
            live.platform, staff.create_sign_in_link(live.platform, "ada", now=NOW).staff.id, replication=20
        )
        page = context.new_page()
        page.goto(f"/sign-in/{staff.create_sign_in_link(live.platform, 'ada', now=live.clock()).key}")
        page.get_by_role("button", name="Sign in").click()
        page.goto("/campaigns/pilot/monitoring")
        sound(page, "watch-none", scheme)
        add_crowd(live.platform, campaign, 10)
        live.clock.forward(hours=10)
        refresh_snapshots(live.platform, MonitoringCache(), now=live.clock() - timedelta(seconds=3))
        # The session ended when it had been idle for an hour.
        page.goto(f"/sign-in/{staff.create_sign_in_link(live.platform, 'ada', now=live.clock()).key}")
        page.get_by_role("button", name="Sign in").click()
        page.goto("/campaigns/pilot/monitoring")
        page.get_by_role("heading", name="Agreement").wait_for()
        sound(page, "watch", scheme)
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        sound(page, "watch-tables", scheme)
        page.get_by_role("link", name="Review").first.click()
        page.get_by_label("Exclude").check()
        page.get_by_label("Reason, for readers").fill("   ")
        page.get_by_role("button", name="Save decision").click()
        page.get_by_role("alert").wait_for()
        assert page.get_by_label("Exclude").is_checked()
        sound(page, "flagged-wrong", scheme)
        page.get_by_label("Reason, for readers").fill("Every item in four seconds.")
        page.get_by_role("button", name="Save decision").click()
        page.get_by_text("by ada").wait_for()
        sound(page, "flagged", scheme)
