"""Story of an owner who opens the most divided item, reads who answered what, and settles a report."""

import pytest
from playwright.sync_api import Page
from sqlalchemy import select
from tests.support.campaigns import NOW
from tests.support.live_site import Live
from tests.support.monitored_campaigns import add_crowd, open_monitored_campaign
from tests.support.staff_pages import check_page, live, page  # noqa: F401

from dissensus.store import notices
from dissensus.store.assignments import AssignmentTable
from dissensus.store.items import ItemTable
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform import staff

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)]


def test_an_owner_settles_a_report_of_the_most_divided_item(live: Live, page: Page) -> None:  # noqa: F811
    owner_id = staff.create_sign_in_link(live.platform, "ada", now=NOW).staff.id
    campaign = open_monitored_campaign(live.platform, owner_id, replication=20)
    careful, _ = add_crowd(live.platform, campaign, 14)
    refresh_snapshots(live.platform, MonitoringCache(), now=live.clock())
    page.goto("/campaigns/pilot")
    page.get_by_role("link", name="Items, the most divided first").first.click()
    check_page(page, "item-list")
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Withhold selected").click()
    page.get_by_role("heading", name="Withhold 1 item?").wait_for()
    check_page(page, "item-withholding")
    page.get_by_role("link", name="Cancel").click()
    most_divided = page.locator("a.item").first
    name = most_divided.locator("strong").inner_text()
    with live.platform.database.writing() as tx:
        query = select(AssignmentTable.id).join(ItemTable)
        assignment_id = tx.scalar(query.where(AssignmentTable.rater_id == careful, ItemTable.name == name))
        notices.add_notice(tx, careful, "illegal", "It shows a weapon.", assignment_id=assignment_id, now=NOW)
    most_divided.click()
    page.get_by_role("heading", name=name).wait_for()
    page.get_by_role("heading", name="Open reports").wait_for()
    check_page(page, "item")
    page.get_by_role("button", name="Show the item").click()
    page.get_by_role("heading", name="History").wait_for()
    page.get_by_text("The item is now shown to raters.").wait_for()
    page.goto("/campaigns/pilot/items?sort=rater_gender&flag=reported")
    check_page(page, "item-list-filtered")
