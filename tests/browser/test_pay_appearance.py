"""The pages about pay and submissions: sound in both schemes, on a desk and on a phone."""

from typing import Literal

import pytest
from playwright.sync_api import Browser, Page
from tests.recruit.fake_prolific import TOKEN, Prolific
from tests.support.chromium import running
from tests.support.live_site import Live, serving
from tests.support.pay import HOUR, worker
from tests.support.pay_pages import PAY_PAGE, QUEUE, crowd, opened
from tests.support.raters import enter, rate_all
from tests.support.recruited_raters import CHECKING, RETURN_REASON, answered, arrived
from tests.support.staff_browsers import House
from tests.support.staff_pages import sound

from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import staff

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_about_pay_are_sound(
    database_url: str, browser: Browser, prolific: Prolific, scheme: Literal["light", "dark"]
) -> None:
    with (
        serving(database_url, prolific_token=TOKEN, prolific_url=prolific.root) as live,
        running(browser._loop),
        browser.new_context(base_url=live.url, color_scheme=scheme) as context,
    ):
        house = House(live, live.open)
        failed, rater_id = peopled(house, prolific)
        page = context.new_page()
        page.goto(f"/sign-in/{staff.create_sign_in_link(live.platform, 'ada', now=live.clock()).key}")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="pilot").click()
        notes(page, rater_id, scheme)
        decides(page, failed, scheme)
        erases(page, live, scheme)


def peopled(house: House, prolific: Prolific) -> tuple[str, str]:
    """Raters of all kinds; return the submission of one who failed checks, and the id of one who is due most."""
    kept = opened(house, **CHECKING)
    crowd(house, kept, 120)
    with house.platform.database.writing() as tx:
        # Whoever enters is counted from here on.
        tx.exec_driver_sql("UPDATE campaign SET n_raters = 120")
    done, failing = enter(house.platform, kept.key), enter(house.platform, kept.key)
    answered(house.platform, done.id, first="B", second="B")
    rate_all(house.platform, done)
    longest = worker(house.platform, kept.key, HOUR)
    answered(house.platform, failing.id, first="A", second="A")
    arrived(house.platform, prolific, kept.id, done.id, "APPROVED")
    arrived(house.platform, prolific, kept.id, None)
    return arrived(house.platform, prolific, kept.id, failing.id), longest.id


def notes(page: Page, rater_id: str, scheme: str) -> None:
    page.get_by_role("link", name="What raters are owed").click()
    page.get_by_role("heading", name="What raters of pilot are owed").wait_for()
    sound(page, "pay", scheme)
    page.get_by_role("link", name=rater_id[-8:]).click()
    page.get_by_label("Amount in GBP").fill("six")
    page.get_by_role("button", name="Note it").click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_label("Amount in GBP").input_value() == "six"
    sound(page, "pay-wrong", scheme)
    for amount in ("5", "0.5"):
        page.get_by_label("Amount in GBP").fill(amount)
        page.get_by_role("button", name="Note it").click()
        page.get_by_text(f"{float(amount):.2f} GBP", exact=True).first.wait_for()
    page.get_by_role("button", name="Take it back").first.click()
    page.get_by_text("taken back, noted by ada").wait_for()
    sound(page, "pay-rater", scheme)


def decides(page: Page, failed: str, scheme: str) -> None:
    page.goto(QUEUE)
    sound(page, "submissions", scheme)
    page.get_by_role("link", name=failed).click()
    page.get_by_label("Reasons, which the person reads").fill("You chose A twice.")
    page.get_by_role("button", name="Ask for a return").click()
    page.get_by_text("asked for 2026").wait_for()
    sound(page, "submission", scheme)
    page.get_by_label("Reason, which the person reads").fill(RETURN_REASON)
    page.get_by_role("button", name="Reject").click()
    page.get_by_text("rejected", exact=True).wait_for()


def erases(page: Page, live: Live, scheme: str) -> None:
    staff_id = staff.create_sign_in_link(live.platform, "ada", now=live.clock()).staff.id
    campaigns.change_state(live.platform, "pilot", "closed", staff_id=staff_id, now=live.clock())
    page.goto(PAY_PAGE)
    page.get_by_role("link", name="Erase who came from Prolific").click()
    sound(page, "pay-erase", scheme)
    page.get_by_role("button", name="Erase who came from Prolific").click()
    page.get_by_text("Nobody is known here by an id of Prolific").wait_for()
