"""The pages about staff, and those that an analyst sees: sound in both schemes, on a desk and on a phone."""

from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page
from tests.support.campaigns import ABOUT_YOU, AGREED, definition, items
from tests.support.chromium import running
from tests.support.live_site import Live, serving
from tests.support.staff_pages import sound

from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign import campaigns, members
from dissensus.workflows.platform import passwords, staff
from dissensus.workflows.rater import enrolment, screening
from dissensus.workflows.rater.enrolment import Arrival

GOOD = "correct horse battery"
QUOTA = {"axes": {"rater_age": {"young": ["young"], "old": ["old"]}}, "seats": 20, "rest": 5}
LONG = "Wilhelmina-Konstantina von und zu Hohenlohe"
PROVIDER: dict[str, Any] = {
    "oidc_issuer": "https://id.example.org",
    "oidc_client_id": "x",
    "oidc_client_secret": "y",
    "oidc_button": "Sign in at the University of Example",
}

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_about_staff_are_sound(database_url: str, browser: Browser, scheme: Literal["light", "dark"]) -> None:
    with (
        serving(database_url, **PROVIDER) as live,
        running(browser._loop),
        browser.new_context(base_url=live.url, color_scheme=scheme) as owner,
        browser.new_context(base_url=live.url, color_scheme=scheme) as other,
    ):
        peopled(live)
        link = owners_way(owner.new_page(), scheme)
        analysts_way(other.new_page(), link, scheme)


def peopled(live: Live) -> CampaignRow:
    """A campaign with raters in one cell of its quota, and few in another."""
    platform, now = live.platform, live.clock()
    owner_id = staff.create_sign_in_link(platform, "ada", now=now).staff.id
    passwords.set_password_for(platform, live.site.hasher(), "ada", GOOD)
    campaign = definition(demographics=ABOUT_YOU, quota=QUOTA)
    campaigns.create_campaign(platform, campaign, items(3), staff_id=owner_id, now=now)
    kept = campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=now)
    for age in ["young"] * 7 + ["old"] * 2:
        rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=now)
        screening.screen_rater(platform, rater, {"rater_age": age}, now=now)
    for name, role in ((LONG, "owner"), ("grace", "reviewer")):
        members.add_member(
            platform, "pilot", name, "owner" if role == "owner" else "reviewer", staff_id=owner_id, now=now
        )
    return kept


def owners_way(page: Page, scheme: str) -> str:
    """Sign in by a password, look at the account, invite somebody, and return the link."""
    page.goto("/sign-in")
    sound(page, "password", scheme)
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("wrong password")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_label("Name").input_value() == "ada"
    sound(page, "password-wrong", scheme)
    page.get_by_label("Password").fill(GOOD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("link", name="ada").click()
    page.get_by_label("What it is for, in your words").fill("The export of every night")
    page.get_by_label("export: export the finished ratings").check()
    page.get_by_role("button", name="Make a token").click()
    assert page.get_by_label("The token").input_value().startswith("dis_")
    sound(page, "token", scheme)
    page.get_by_role("link", name="Back to your account").click()
    page.get_by_role("button", name="Revoke The export of every night").wait_for()
    sound(page, "account", scheme)
    page.goto("/campaigns/pilot")
    page.get_by_role("link", name="Who belongs to it").click()
    page.get_by_label("As", exact=True).select_option("analyst")
    page.get_by_role("button", name="Make a link").click()
    link = page.get_by_label("The link").input_value()
    sound(page, "staff-invited", scheme)
    page.get_by_role("link", name="Who belongs to pilot").click()
    page.get_by_role("button", name="Take back the link 1, as analyst").wait_for()
    sound(page, "members", scheme)
    return link


def analysts_way(page: Page, link: str, scheme: str) -> None:
    """Join by a link, and look at results."""
    page.goto(link)
    page.get_by_label("Your name here").fill("grace")
    page.get_by_role("button", name="Join").click()
    page.get_by_role("alert").wait_for()
    sound(page, "join", scheme)
    page.get_by_label("Your name here").fill("zoe")
    page.get_by_role("button", name="Join").click()
    page.get_by_role("heading", name="pilot").wait_for()
    sound(page, "analyst-campaign", scheme)
    page.get_by_role("link", name="Who is there, and who is needed").click()
    page.get_by_role("heading", name="How the quota of pilot fills").wait_for()
    sound(page, "analyst-quota", scheme)
    page.get_by_role("link", name="Dissensus").click()
    page.get_by_role("link", name="pilot").wait_for()
    sound(page, "analyst-campaigns", scheme)
    page.goto("/campaigns/pilot/revise")
    page.get_by_text("only owners may change its definition").wait_for()
    sound(page, "analyst-refused", scheme)
