"""The pages about pay and submissions: sound in both schemes, on a desk and on a phone."""

from playwright.sync_api import Browser, Page
from tests.databases import sqlite_only
from tests.support.chromium import running
from tests.support.live_site import LiveSite, serving
from tests.support.pay import HOUR, worker
from tests.support.pay_pages import PAY_PAGE, QUEUE, add_raters, open_paying_campaign
from tests.support.prolific_server import TOKEN, Prolific
from tests.support.raters import enter, rate_all
from tests.support.recruited_raters import CHECKING, RETURN_REASON, add_submission, answer_checks
from tests.support.staff_pages import check_page, sign_in
from tests.support.staff_site import StaffSite

from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import sign_in_links

pytestmark = sqlite_only


def test_pay_pages_are_accessible(database_url: str, browser: Browser, prolific: Prolific) -> None:
    with (
        serving(database_url, prolific_token=TOKEN, prolific_url=prolific.root) as live,
        running(browser._loop),
        browser.new_context(base_url=live.url) as context,
    ):
        staff_site = StaffSite(live, live.open)
        failed, rater_id = populate(staff_site, prolific)
        page = context.new_page()
        sign_in(page, live, "ada")
        page.get_by_role("link", name="pilot").click()
        record_payments(page, rater_id)
        decide_submission(page, failed)
        erase_ids(page, live)


def populate(staff_site: StaffSite, prolific: Prolific) -> tuple[str, str]:
    """Add raters of all kinds; return a submission with failed checks and the id of the rater due most."""
    campaign = open_paying_campaign(staff_site, **CHECKING)
    add_raters(staff_site, campaign, 120)
    with staff_site.platform.database.writing() as tx:
        # Whoever enters is counted from here on.
        tx.exec_driver_sql("UPDATE campaign SET n_raters = 120")
    done, failing = enter(staff_site.platform, campaign.key), enter(staff_site.platform, campaign.key)
    answer_checks(staff_site.platform, done.id, first="B", second="B")
    rate_all(staff_site.platform, done)
    longest = worker(staff_site.platform, campaign.key, HOUR)
    answer_checks(staff_site.platform, failing.id, first="A", second="A")
    add_submission(staff_site.platform, prolific, campaign.id, done.id, "APPROVED")
    add_submission(staff_site.platform, prolific, campaign.id, None)
    return add_submission(staff_site.platform, prolific, campaign.id, failing.id), longest.id


def record_payments(page: Page, rater_id: str) -> None:
    page.get_by_role("link", name="Pay", exact=True).click()
    page.get_by_role("heading", name="Pay of raters of pilot").wait_for()
    check_page(page, "pay")
    page.get_by_role("link", name=rater_id[-8:]).click()
    page.get_by_label("Amount in GBP").fill("six")
    page.get_by_role("button", name="Record payment").click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_label("Amount in GBP").input_value() == "six"
    check_page(page, "pay-wrong")
    for amount in ("5", "0.5"):
        page.get_by_label("Amount in GBP").fill(amount)
        page.get_by_role("button", name="Record payment").click()
        page.get_by_text(f"{float(amount):.2f} GBP", exact=True).first.wait_for()
    page.get_by_role("button", name="Reverse").first.click()
    page.get_by_text("reversed, recorded by ada").wait_for()
    check_page(page, "pay-rater")


def decide_submission(page: Page, failed: str) -> None:
    page.goto(QUEUE)
    check_page(page, "submissions")
    page.get_by_role("link", name=failed).click()
    page.get_by_label("Reasons for the participant").fill("You chose A twice.")
    page.get_by_role("button", name="Request a return").click()
    page.get_by_text("requested 2026").wait_for()
    check_page(page, "submission")
    page.get_by_label("Reason for the participant").fill(RETURN_REASON)
    page.get_by_role("button", name="Reject").click()
    page.get_by_text("rejected", exact=True).wait_for()


def erase_ids(page: Page, live: LiveSite) -> None:
    staff_id = sign_in_links.create_sign_in_link(live.platform, "ada", now=live.clock()).staff.id
    campaigns.change_state(live.platform, "pilot", "closed", staff_id=staff_id, now=live.clock())
    page.goto(PAY_PAGE)
    page.get_by_role("link", name="Erase ids of Prolific").click()
    check_page(page, "pay-erase")
    page.get_by_role("button", name="Erase ids of Prolific").click()
    page.get_by_text("No ids of Prolific are stored").wait_for()
