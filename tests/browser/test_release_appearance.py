"""Page of a release: an owner writes its plan, looks at the checks and signs, by keyboard and in both schemes."""

import pytest
from playwright.sync_api import Page
from tests.support.campaigns import NOW
from tests.support.live_site import LiveSite
from tests.support.rated_campaigns import rated_campaign
from tests.support.releases import plan_text
from tests.support.staff_pages import check_page

from dissensus.workflows.campaign import members

pytestmark = pytest.mark.usefixtures("signed_in_owner")


def test_an_owner_signs_a_release(page: Page, live: LiveSite) -> None:
    row = rated_campaign(live.platform, 4, 9)
    members.add_member(live.platform, "crowded", "ada", "owner", staff_id=row.staff_id, now=NOW)
    page.goto("/campaigns/crowded")
    page.get_by_role("link", name="Release", exact=True).click()
    page.get_by_role("heading", name="Plan", exact=True).wait_for()
    check_page(page, "release-draft")
    plan = plan_text(
        name="crowded",
        campaign="crowded",
        ratings=None,
        title=None,
        warning=None,
        drop=["rater_raw_race", "rater_education", "rater_age"],
        anonymity={"small_cells": "blank", "k": 2},
        answers={"purpose": "To learn whose judgement a classifier misses."},
    )
    page.get_by_label("Plan of the release").fill(plan)
    page.get_by_role("button", name="Save and judge").press("Enter")
    page.get_by_role("heading", name="Not ready yet").wait_for()
    check_page(page, "release-checks")
    page.get_by_role("button", name="Sign: texts").press("Enter")
    page.locator("#check-texts", has_text="Signed by ada.").wait_for()
    check_page(page, "release-signed")
