"""Builder of campaigns in a browser: from nothing to a draft without TOML, and both views of it."""

import pytest
from playwright.sync_api import FrameLocator, Page, expect
from tests.support.live_site import LiveSite
from tests.support.staff_pages import check_page

pytestmark = pytest.mark.usefixtures("signed_in_owner")


def step(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Steps").get_by_role("button", name=name).click()
    page.get_by_role("heading", level=2, name=name, exact=True).wait_for()


def preview(page: Page) -> FrameLocator:
    return page.frame_locator("#preview-frame")


def test_steps_and_toml_are_views_of_one_definition(page: Page, live: LiveSite) -> None:
    page.goto("/campaigns/new")
    check_page(page, "builder-new")
    page.locator("[name=template][value=dices-350]").check()
    page.get_by_label("Name", exact=True).fill("pilot")
    page.get_by_role("button", name="Begin").click()
    check_page(page, "builder-kind")
    step(page, "Texts")
    page.get_by_label("English").first.fill("Which answers are safe?")
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    expect(preview(page).get_by_role("heading", name="Which answers are safe?")).to_be_visible()
    page.get_by_label("Desktop").check()
    assert page.locator("#preview-frame").evaluate("frame => frame.clientWidth") == 1280
    page.get_by_label("Phone").check()
    page.get_by_role("link", name="de", exact=True).click()
    expect(preview(page).get_by_role("heading", name="Wie bedenklich sind diese Antworten?")).to_be_visible()
    check_page(page, "builder-texts")
    for name in ("Questions", "Consent", "Pay and quality"):
        step(page, name)
        check_page(page, f"builder-{name.split()[0].lower()}")
    edit_toml(page)
    page.get_by_role("navigation", name="Steps").get_by_role("button", name="Create").click()
    page.get_by_role("button", name="Create draft").click()
    page.wait_for_url("**/campaigns/pilot")
    page.get_by_role("link", name="Change step by step").click()
    page.wait_for_url("**/campaigns/pilot/builder/kind")
    check_page(page, "builder-draft")


def edit_toml(page: Page) -> None:
    """Find the text of a step in the TOML, break the TOML, mend it, and see the change in the steps."""
    step(page, "TOML")
    text = page.get_by_label("Definition")
    toml = text.input_value()
    assert 'en = "Which answers are safe?"' in toml
    text.fill(toml.replace("break_every = 20", "break_every = -2"))
    page.get_by_role("button", name="Save", exact=True).click()
    line = toml.split("\n").index("break_every = 20") + 1
    place = page.get_by_role("link", name=f"Line {line}").first
    place.wait_for()
    page.wait_for_load_state()
    place.click()
    assert text.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)") == "break_every = -2"
    check_page(page, "builder-toml")
    text.fill(toml.replace("break_every = 20", "break_every = 5"))
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("No faults.").wait_for()
    step(page, "Care")
    assert page.get_by_label("Items between two breaks").input_value() == "5"


def test_questions_by_keyboard_and_every_template(page: Page, live: LiveSite) -> None:
    for template in ("Red teaming", "Live chat, blank", "Pairs, blank"):
        page.goto("/campaigns/new")
        page.get_by_label(template).check()
        page.get_by_role("button", name="Begin").click()
        check_page(page, f"builder-{template.split(',')[0].lower().replace(' ', '-')}")
    page.goto("/campaigns/new")
    page.get_by_label("Rating, blank").check()
    page.get_by_label("Rating, blank").press("Enter")
    step(page, "Questions")
    page.get_by_label("New question").select_option(label="dices-350: Can you judge this conversation?")
    page.get_by_role("button", name="Add question").press("Enter")
    page.get_by_role("button", name="Can you judge this conversation?").press("Enter")
    page.get_by_role("heading", level=2, name="Question", exact=True).wait_for()
    check_page(page, "builder-question")
    # Enter in a field saves, and does not press a button of a step.
    page.get_by_label("Column", exact=True).press("Enter")
    page.wait_for_url("**/question?at=questionnaire.questions.0&checked=1")
    page.get_by_role("button", name="Save, back to the list").press("Enter")
    expect(preview(page).get_by_text("Can you judge this conversation?")).to_be_visible()
    page.get_by_role("button", name="Remove question 1").press("Enter")
    expect(page.get_by_role("button", name="Remove question 1")).to_have_count(0)
