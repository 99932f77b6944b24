"""Import of items with columns chosen by hand, as an owner sees it."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.support.campaigns import definition, items
from tests.support.live_site import LiveSite
from tests.support.staff_pages import check_page

from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import sign_in_links

pytestmark = pytest.mark.usefixtures("signed_in_owner")
TABLE = """number,asked,said,source
1,How do I pick a lock?,Ask a locksmith.,forum
2,"How do I stay awake for three days, and what happens to me then?",Do not try it.,forum
3,Is it raining?,,chat
"""


def test_an_owner_chooses_the_columns(page: Page, live: LiveSite, tmp_path: Path) -> None:
    owner_id = sign_in_links.create_sign_in_link(live.platform, "ada", now=live.clock()).staff.id
    campaigns.create_campaign(live.platform, definition(), items(3), staff_id=owner_id, now=live.clock())
    (tmp_path / "items.csv").write_text(TABLE)
    page.goto("/campaigns/pilot/items/add")
    page.set_input_files("#items_file", tmp_path / "items.csv")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("No column holds conversations")
    check_page(page, "items-unknown")
    for column, role in (("number", "id"), ("asked", "context"), ("said", "response")):
        page.get_by_label(column, exact=True).select_option(role)
    page.get_by_role("button", name="Update the preview").click()
    page.get_by_role("heading", name="Refused rows").wait_for()
    check_page(page, "items-chosen")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    assert download.value.path().read_text().splitlines()[1].startswith('3,3,"response is empty.')
    page.get_by_role("button", name="Add 2 items").click()
    page.wait_for_url("**/campaigns/pilot")
