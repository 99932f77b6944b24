"""End to end: an owner creates a campaign, a rater completes it by keyboard, and the ratings are exported."""

from pathlib import Path

import polars as pl
from playwright.sync_api import Browser, Page, expect
from tests.support.browser_raters import N_QUESTIONS
from tests.support.chromium import running
from tests.support.live_site import LiveSite
from tests.support.staff_pages import sign_in

from dissensus import read_ratings

N_ITEMS = 3
PASTED = "\n---\n".join(f"User: Question {n}?\nBot: Answer {n}." for n in range(N_ITEMS))


def test_a_campaign_from_creation_to_exported_ratings(browser: Browser, live: LiveSite, tmp_path: Path) -> None:
    with running(browser._loop), browser.new_context(base_url=live.url) as at_work:
        owner = at_work.new_page()
        link = create_and_open_campaign(owner, live)
        with browser.new_context(base_url=live.url) as at_home:
            rate_by_keyboard(at_home.new_page(), link)
        owner.reload()
        with owner.expect_download() as loading:
            owner.get_by_role("link", name="Download finished ratings").click()
        loading.value.save_as(tmp_path / "ratings.csv")
    ratings = read_ratings(tmp_path / "ratings.csv", questions="all")
    assert (ratings.n_items, ratings.n_raters, ratings.n_ratings) == (N_ITEMS, 1, N_ITEMS)
    assert ratings.answers["Q_overall"].cast(pl.String).to_list() == ["Unsure"] * N_ITEMS
    assert ratings.raters["rater_age"].to_list() == ["gen z"]


def create_and_open_campaign(page: Page, live: LiveSite) -> str:
    """Create a campaign from a shipped one and pasted text; return its link."""
    sign_in(page, live, "ada")
    page.get_by_role("link", name="New campaign").click()
    page.get_by_role("link", name="dices-350").click()
    page.wait_for_url("**/campaigns/new?example=dices-350")
    page.get_by_label("Or pasted conversations").fill(PASTED)
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Create campaign").click()
    page.get_by_role("link", name="Open campaign").click()
    page.get_by_role("button", name="Open now").click()
    return page.get_by_label("Open link").input_value()


def rate_by_keyboard(page: Page, link: str) -> None:
    """Consent, rate all items and answer the demographics; the network is offline for a while."""
    keys = page.keyboard
    page.goto(link)
    page.get_by_role("button", name="I understand, continue").focus()
    keys.press("Enter")
    page.wait_for_url("**/consent")
    for box in page.get_by_role("checkbox").all():
        box.focus()
        keys.press("Space")
    page.get_by_role("button", name="I agree and want to take part").focus()
    keys.press("Enter")
    page.wait_for_url("**/rate")
    for number in range(N_ITEMS):
        expect(page.locator("#progress")).to_contain_text(f"{number} of {N_ITEMS} rated")
        page.locator(".cover summary").focus()
        keys.press("Enter")
        expect(page.locator(".turn.rated")).to_be_visible()
        for question in range(N_QUESTIONS):
            if (number, question) == (1, 5):
                page.context.set_offline(True)
            keys.press("2")
        keys.press("Control+Enter")
        if number == 1:
            expect(page.locator("#saved")).to_have_text("Not saved yet. Trying again.")
            page.context.set_offline(False)
    expect(page.get_by_role("heading", name="About you")).to_be_visible()
    for name in ("rater_gender", "rater_race", "rater_age", "rater_education"):
        page.locator(f"[name={name}]").first.focus()
        keys.press("Space")
    page.get_by_role("button", name="Send and continue").focus()
    keys.press("Enter")
    expect(page.locator("dd").nth(1)).to_have_text(str(N_ITEMS))
