"""The pages about webhooks are sound, in both schemes, on a desk and on a phone."""

from playwright.sync_api import Browser, Page
from tests.databases import sqlite_only
from tests.support.campaigns import definition, items
from tests.support.chromium import running
from tests.support.live_site import LiveSite, serving
from tests.support.staff_pages import check_page, sign_in
from tests.support.webhook_deliverer import WebhookDeliverer
from tests.support.webhook_receiver import Receiver, receiving

from dissensus.workflows.campaign import campaigns, webhooks
from dissensus.workflows.campaign.webhooks import NewWebhook
from dissensus.workflows.platform import sign_in_links

pytestmark = sqlite_only
LONG = "a-very-long-name-of-a-place-where-somebody-listens-to-what-happens"


def test_webhook_pages_are_accessible(database_url: str, browser: Browser) -> None:
    with (
        serving(database_url, webhook_networks="127.0.0.0/8") as live,
        receiving() as receiver,
        running(browser._loop),
        browser.new_context(base_url=live.url) as owner,
    ):
        staff_id = sign_in_links.create_sign_in_link(live.platform, "ada", now=live.clock()).staff.id
        campaigns.create_campaign(live.platform, definition(), items(3), staff_id=staff_id, now=live.clock())
        page = owner.new_page()
        add_by_form(page, live, receiver)
        view_list(page, live, receiver, staff_id)


def add_by_form(page: Page, live: LiveSite, receiver: Receiver) -> None:
    """Add a webhook after a rejected form."""
    sign_in(page, live, "ada")
    page.goto("/campaigns/pilot")
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("link", name="Webhooks").click()
    page.get_by_text("No webhooks yet").wait_for()
    check_page(page, "webhooks-none")
    page.get_by_label("URL", exact=True).fill("https://10.0.0.1/hook")
    page.get_by_text("Selected event types only").click()
    page.get_by_label("item_submitted: a rater finished an item").check()
    page.get_by_role("button", name="Add webhook").click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_label("URL", exact=True).input_value() == "https://10.0.0.1/hook"
    assert page.get_by_label("item_submitted: a rater finished an item").is_checked()
    check_page(page, "webhooks-wrong")
    page.get_by_label("URL", exact=True).fill(receiver.address("ok"))
    page.get_by_label("Include past events").check()
    page.get_by_role("button", name="Add webhook").click()
    assert page.get_by_label("Secret", exact=True).input_value().startswith("whsec_")
    check_page(page, "webhook-made")
    page.get_by_role("link", name="Webhooks of pilot").click()


def view_list(page: Page, live: LiveSite, receiver: Receiver, staff_id: str) -> None:
    """View a working, a failing and a paused webhook."""
    signer = live.site.webhook_signer
    for path in ("410", f"500/{LONG * 3}"):
        webhook = NewWebhook(address=receiver.address(path), after=0)
        webhooks.add_webhook(live.platform, "pilot", webhook, signer=signer, staff_id=staff_id, now=live.clock())
    WebhookDeliverer(live.platform, signer=signer).turn()
    page.reload()
    page.get_by_role("button", name="Retry now").wait_for()
    page.get_by_role("button", name="Resume").wait_for()
    check_page(page, "webhooks")
