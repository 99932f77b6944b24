"""The pages about staff, and those that an analyst sees: sound in both schemes, on a desk and on a phone."""

from datetime import datetime
from typing import Any

import pyotp
from playwright.sync_api import Browser, Page
from tests.databases import sqlite_only
from tests.support.campaigns import ABOUT_YOU, AGREED, definition, items
from tests.support.chromium import running
from tests.support.live_site import LiveSite, serving
from tests.support.staff_pages import check_page

from dissensus.workflows.campaign import campaigns, members
from dissensus.workflows.platform import passwords, sign_in_links
from dissensus.workflows.rater import enrolment, quota_screening
from dissensus.workflows.rater.enrolment import Arrival

PASSWORD = "correct horse battery"
QUOTA = {"axes": {"rater_age": {"young": ["young"], "old": ["old"]}}, "seats": 20, "rest": 5}
LONG = "Wilhelmina-Konstantina von und zu Hohenlohe"
PROVIDER: dict[str, Any] = {
    "oidc_issuer": "https://id.example.org",
    "oidc_client_id": "x",
    "oidc_client_secret": "y",
    "oidc_button": "Sign in at the University of Example",
}

pytestmark = sqlite_only


def test_staff_pages_are_accessible(database_url: str, browser: Browser) -> None:
    with (
        serving(database_url, **PROVIDER) as live,
        running(browser._loop),
        browser.new_context(base_url=live.url) as owner,
        browser.new_context(base_url=live.url) as other,
    ):
        populate(live)
        tab = owner.new_page()
        link = walk_as_owner(tab)
        set_up_second_factor(tab, live.clock())
        walk_as_analyst(other.new_page(), link)


def populate(live: LiveSite) -> None:
    """Create a campaign with many raters in one cell of its quota and few in another."""
    platform, now = live.platform, live.clock()
    owner_id = sign_in_links.create_sign_in_link(platform, "ada", now=now).staff.id
    passwords.set_password_for(platform, live.site.hasher(), "ada", PASSWORD, now=now)
    campaign = definition(demographics=ABOUT_YOU, quota=QUOTA)
    campaigns.create_campaign(platform, campaign, items(3), staff_id=owner_id, now=now)
    row = campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=now)
    for age in ["young"] * 7 + ["old"] * 2:
        rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(row.key), "en"), AGREED, now=now)
        quota_screening.screen_rater(platform, rater, {"rater_age": age}, now=now)
    members.add_member(platform, "pilot", LONG, "owner", staff_id=owner_id, now=now)
    members.add_member(platform, "pilot", "grace", "reviewer", staff_id=owner_id, now=now)


def set_up_second_factor(page: Page, at: datetime) -> None:
    """Set up a second factor, and remove it again."""
    page.goto("/account/second-factor")
    check_page(page, "second-factor")
    page.get_by_role("button", name="Set up codes of an app").click()
    page.get_by_role("heading", name="1. Add the site to your app").wait_for()
    check_page(page, "second-factor-secret")
    secret = page.locator(".secret").inner_text().replace(" ", "")
    page.get_by_label("Code of the app").fill(pyotp.TOTP(secret).at(at))
    page.get_by_role("button", name="Use codes of the app").click()
    page.get_by_role("heading", name="Recovery codes").wait_for()
    check_page(page, "second-factor-recovery")
    page.goto("/account/confirm")
    check_page(page, "confirmation")
    page.goto("/account/second-factor")
    check_page(page, "second-factor-in-use")
    page.get_by_role("button", name="Remove the app").click()
    page.get_by_role("button", name="Set up codes of an app").wait_for()


def walk_as_owner(page: Page) -> str:
    """Sign in with a password, view the account, invite a member and return the link."""
    page.goto("/sign-in")
    check_page(page, "password")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("wrong password")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_label("Name").input_value() == "ada"
    check_page(page, "password-wrong")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("link", name="ada").click()
    page.get_by_label("Description").fill("The export of every night")
    page.get_by_label("export: export the finished ratings").check()
    page.get_by_role("button", name="Create token").click()
    assert page.get_by_label("Token", exact=True).input_value().startswith("dis_")
    check_page(page, "token")
    page.get_by_role("link", name="The API", exact=True).click()
    page.get_by_role("heading", name="API", exact=True).wait_for()
    check_page(page, "api")
    page.get_by_role("link", name="/item-answers", exact=False).first.click()
    page.get_by_role("heading", name="List item answers").wait_for()
    check_page(page, "api-operation")
    page.goto("/account")
    page.get_by_role("button", name="Revoke The export of every night").wait_for()
    check_page(page, "account")
    page.goto("/campaigns/pilot")
    page.get_by_role("link", name="Members", exact=True).click()
    page.locator("#role").select_option("analyst")
    page.get_by_role("button", name="Create link").click()
    link = page.get_by_label("Link", exact=True).input_value()
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    check_page(page, "staff-invited")
    page.get_by_role("link", name="Members of pilot").click()
    page.get_by_role("button", name="Revoke link 1, role analyst").wait_for()
    check_page(page, "members")
    page.get_by_role("link", name="Log", exact=True).click()
    page.get_by_role("heading", name="Log of pilot").wait_for()
    check_page(page, "log")
    page.get_by_role("link", name="Settings", exact=True).click()
    page.get_by_role("heading", name="Settings of pilot").wait_for()
    check_page(page, "settings")
    return link


def walk_as_analyst(page: Page, link: str) -> None:
    """Join by a link and view the results."""
    page.goto(link)
    page.get_by_label("Your name").fill("grace")
    page.get_by_label("Password, of at least").fill(PASSWORD)
    page.get_by_label("The same again").fill(PASSWORD)
    page.get_by_role("button", name="Join").click()
    page.get_by_role("alert").wait_for()
    check_page(page, "join")
    page.get_by_label("Your name").fill("zoe")
    page.get_by_label("Password, of at least").fill(PASSWORD)
    page.get_by_label("The same again").fill(PASSWORD)
    page.get_by_role("button", name="Join").click()
    page.get_by_role("heading", name="pilot").wait_for()
    check_page(page, "analyst-campaign")
    page.get_by_role("link", name="Quota", exact=True).click()
    page.get_by_role("heading", name="Quota of pilot").wait_for()
    check_page(page, "analyst-quota")
    page.get_by_role("link", name="Dissensus").click()
    page.get_by_role("link", name="All campaigns").click()
    page.get_by_role("link", name="pilot").wait_for()
    check_page(page, "analyst-campaigns")
    page.goto("/campaigns/pilot/revise")
    page.get_by_text("only owners may change its definition").wait_for()
    check_page(page, "analyst-refused")
