"""Pages of a plan: an owner plans raters of a group and a pool by keyboard, and the draft takes its numbers."""

import pytest
from playwright.sync_api import Page
from tests.support.campaigns import NOW, items
from tests.support.live_site import LiveSite
from tests.support.staff_pages import check_page

from dissensus.schema.campaign.shipped import load_campaign
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import sign_in_links

pytestmark = pytest.mark.usefixtures("signed_in_owner")


def test_an_owner_plans_a_draft(page: Page, live: LiveSite) -> None:
    owner_id = sign_in_links.create_sign_in_link(live.platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(live.platform, load_campaign("dices-350"), items(3), staff_id=owner_id, now=NOW)
    page.goto("/campaigns/dices-350")
    page.get_by_role("link", name="Plan", exact=True).click()
    page.get_by_role("heading", name="Raters of a group").wait_for()
    page.get_by_label("Axis of the groups").fill("gender")
    page.get_by_label("Difference to detect").fill("0.15")
    page.get_by_label("Items", exact=True).fill("60")
    page.get_by_label("Pay of an hour").fill("12")
    check_page(page, "plans")
    page.get_by_role("button", name="Compute the plan").press("Enter")
    page.get_by_role("heading", name="Power for money").wait_for()
    check_page(page, "plan-groups")
    page.get_by_role("link", name="Plan again").click()
    page.get_by_role("link", name="People to invite").click()
    page.get_by_role("button", name="Compute the plan").press("Enter")
    page.get_by_role("heading", name="People of each cell").wait_for()
    check_page(page, "plan-pool")
    page.get_by_role("button", name="Take these numbers").press("Enter")
    page.get_by_text("Taken into the definition on").wait_for()
