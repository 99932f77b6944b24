"""Image of an item: blurred until a rater asks for it, with and without scripts."""

import pytest
from playwright.sync_api import Page, expect
from tests.support.campaigns import NOW, definition
from tests.support.image_files import draw
from tests.support.live_site import LiveSite
from tests.support.staff_pages import check_page

from dissensus.files.images import read_image
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.image import IMAGE, IMAGE_ALT
from dissensus.schema.records.item import Item
from dissensus.workflows.campaign import campaigns, images
from dissensus.workflows.platform import sign_in_links

pytestmark = pytest.mark.usefixtures("signed_in_owner")
ALT = "A red and a blue square, side by side on a table in a kitchen."


def test_an_image_is_blurred_until_a_rater_asks_for_it(page: Page, live: LiveSite) -> None:
    staff_id = sign_in_links.create_sign_in_link(live.platform, "ada", now=live.clock()).staff.id
    campaign = definition(
        guidelines=f"# Squares\n\nJudge what is shown.\n\n![{ALT}](a.png)\n\n![Elsewhere](https://x.org/b.png)"
    )
    campaigns.create_campaign(live.platform, campaign, (), staff_id=staff_id, now=NOW)
    images.add_images(live.platform, "pilot", [read_image("a.png", draw(size=(600, 400)))], staff_id=staff_id, now=NOW)
    conversation = Conversation.from_turns([("human", "What is in this picture?"), ("bot", "Two squares.")])
    item = Item("1", conversation, {IMAGE: "a.png", IMAGE_ALT: ALT})
    campaigns.add_items(live.platform, "pilot", [item], staff_id=staff_id, now=NOW)
    page.goto("/campaigns/pilot/images")
    check_page(page, "images")
    key = campaigns.change_state(live.platform, "pilot", "open", staff_id=staff_id, now=NOW).key
    page.goto(f"/c/pilot?key={key}")
    page.get_by_role("button", name="I understand, continue").click()
    page.get_by_role("checkbox", name="My answers may be analysed").check()
    page.get_by_role("button", name="I agree and want to take part").click()
    guide = page.get_by_role("img", name=ALT)
    expect(guide).to_have_css("filter", "blur(32px)")
    assert guide.evaluate("image => image.naturalWidth") == 600
    page.locator("#main").get_by_role("checkbox", name="Show the image").check()
    expect(guide).to_have_css("filter", "none")
    check_page(page, "guidelines-image")
    page.get_by_role("link", name="Begin").click()
    page.wait_for_url("**/rate?begin=1")
    image = page.locator("#conversation").get_by_role("img", name=ALT)
    expect(image).to_have_css("filter", "blur(32px)")
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 600
    check_page(page, "image-blurred", bar=True)
    page.locator("#conversation").get_by_role("checkbox", name="Show the image").focus()
    page.keyboard.press("Space")
    expect(image).to_have_css("filter", "none")
    check_page(page, "image-shown", bar=True)
