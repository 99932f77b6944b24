"""The start page and errors of staff are sound, in both schemes, on a desk and on a phone."""

import pytest
from playwright.sync_api import Page
from tests.support.campaigns import AGREED, definition, items
from tests.support.live_site import LiveSite
from tests.support.staff_pages import check_page

from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import enrolment, rating
from dissensus.workflows.rater.enrolment import Arrival

pytestmark = pytest.mark.usefixtures("signed_in_owner")


def test_start_pages_are_accessible(page: Page, live: LiveSite) -> None:
    platform, now = live.platform, live.clock()
    owner_id = sign_in_links.create_sign_in_link(platform, "ada", now=now).staff.id
    campaigns.create_campaign(platform, definition("draft"), items(3), staff_id=owner_id, now=now)
    campaigns.create_campaign(platform, definition(), items(3), staff_id=owner_id, now=now)
    row = campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=now)
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(row.key), "en"), AGREED, now=now)
    rating.report_item(platform, rater, "help", "It stays with me.", assignment_id=None, now=now)
    page.goto("/")
    check_page(page, "tasks")
    page.goto("/campaigns/pilot/care")
    check_page(page, "error")
    page.goto("/")
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.goto("/")
    check_page(page, "introduction")
    page.goto("/campaigns/pilot")
    page.wait_for_url("**/sign-in?to=%2Fcampaigns%2Fpilot")
    page.goto(f"/sign-in/{sign_in_links.create_sign_in_link(platform, 'ada', now=now).key}")
    check_page(page, "sign-in")
