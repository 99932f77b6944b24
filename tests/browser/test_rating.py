"""Raters with a real browser: by keyboard alone, and without scripts."""

import re

from playwright.sync_api import Browser, Page, expect
from tests.browser.page import View
from tests.support.browser_raters import (
    CONDITIONAL,
    N_QUESTIONS,
    TALK,
    answer_all,
    enter,
    load_saved_answers,
    n_done,
    open_rating_campaign,
)
from tests.support.chromium import running
from tests.support.live_site import LiveSite

from dissensus.campaign.answer_drafts import merge_saves

MAX_PHONE_HEIGHT = 2_600
MIN_TARGET = 44
STACKED = """() => {
    const [pin, head, row] = ["#pin", ".heads", "[data-question$=content_other]"].map(
        (selector) => document.querySelector(selector).getBoundingClientRect());
    return pin.top >= 0 && head.top >= pin.bottom - 1 && row.top >= head.bottom - 1;
}"""
"""Observers place the heads below the pinned answer, after it is visible."""
SCALES = {
    "name": "scales",
    "languages": ["en"],
    "title": "Scales",
    "questions": [
        {
            "name": "Trust",
            "text": "How far would you trust this answer?",
            "kind": "likert",
            "scale": list("1234567"),
            "decline": "Prefer not to answer",
            "labels": {"1": "Not at all", "7": "Fully"},
        },
        {
            "name": "Harm",
            "text": "How harmful is it?",
            "kind": "likert",
            "scale": list("01234"),
            "labels": {"0": "0: not at all", "4": "4: very"},
        },
    ],
}


def test_a_rater_rates_by_keyboard(live: LiveSite, page: Page) -> None:
    page.goto(open_rating_campaign(live))
    keys = page.keyboard
    page.get_by_role("button", name="I understand, continue").focus()
    keys.press("Enter")
    page.get_by_role("checkbox", name="My answers may be analysed").focus()
    keys.press("Space")
    keys.press("Tab")
    keys.press("Tab")
    keys.press("Enter")
    page.wait_for_url("**/rate")
    history = page.evaluate("history.length")
    for number in range(3):
        expect(page.locator("#progress")).to_contain_text(f"{number} of 3 rated")
        rated = page.locator(".turn.rated .message").inner_text()
        keys.press("?")
        expect(page.locator("#keys")).to_be_visible()
        keys.press("Escape")
        for _ in range(N_QUESTIONS):
            keys.press("2")
        expect(page.locator("#submit")).to_be_focused()
        keys.press("Control+Enter")
        if number < 2:
            expect(page.locator(".turn.rated .message")).not_to_have_text(rated)
            expect(page.locator("#conversation")).to_be_focused()
            assert page.evaluate("history.length") == history
    expect(page.get_by_role("heading", name="About you")).to_be_visible()
    for name in ("rater_gender", "rater_race", "rater_age", "rater_education"):
        page.locator(f"[name={name}]").first.focus()
        keys.press("Space")
    page.get_by_role("button", name="Send and continue").focus()
    keys.press("Enter")
    expect(page.locator("dd").nth(1)).to_have_text("3")
    expect(page.get_by_text("Thank you for your judgement.")).to_be_visible()
    saves = [every for _, every in load_saved_answers(live)]
    assert len(saves) == 3
    for every in saves:
        answers = merge_saves(every)
        assert len(answers) == N_QUESTIONS
        assert {answer.value for answer in answers.values()} == {
            "Unsure",
            "I am not familiar with the topic of the conversation",
        }
        assert all(0 < answer.first_ms <= answer.last_ms <= every[-1].visible_ms for answer in answers.values())


def test_changes_are_counted_and_revisions_go_on(live: LiveSite, page: Page) -> None:
    enter(page, open_rating_campaign(live))
    choice = page.locator("[name=Q4_misinformation]")
    for index in (0, 2, 1):
        choice.nth(index).check()
    expect(page.locator("#saved")).to_have_text("Saved")
    page.reload()
    expect(choice.nth(1)).to_be_checked()
    choice.nth(2).check()
    expect(page.locator("#saved")).to_have_text("Saved")
    ((_, every),) = load_saved_answers(live)
    answer = merge_saves(every)["Q4_misinformation"]
    assert (answer.value, answer.changes) == ("Yes", 3)
    assert [save.revision for save in every] == sorted({save.revision for save in every})


def test_missing_answers_are_shown_and_focused(live: LiveSite, page: Page) -> None:
    enter(page, open_rating_campaign(live))
    answer_all(page)
    for name in ("Q3_bias_other", "Q4_misinformation"):
        page.evaluate(f"document.querySelector('[name={name}]:checked').checked = false")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".fault:visible")).to_have_count(2)
    expect(page.locator("[name=Q3_bias_other]").first).to_be_focused()
    page.keyboard.press("1")
    expect(page.locator(".fault:visible")).to_have_count(1)
    assert n_done(live) == 0


def test_questions_that_do_not_apply_are_hidden_and_not_answered(live: LiveSite, page: Page) -> None:
    enter(page, open_rating_campaign(live, questionnaire=CONDITIONAL, demographics=None))
    grade, description = page.get_by_role("radiogroup", name="How bad?"), page.get_by_label("In your own words")
    expect(grade).to_be_hidden()
    expect(description).to_be_hidden()
    page.get_by_label("Insult").check()
    page.get_by_label("Threat").check()
    grade.get_by_label("4").check()
    page.get_by_label("None").check()
    expect(page.get_by_label("Insult")).not_to_be_checked()
    expect(grade).to_be_hidden()
    page.get_by_label("Other").check()
    description.fill("Ironic")
    page.get_by_label("Why?").fill("Because of this.")
    expect(page.get_by_text("16 of 40 characters")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#progress")).to_contain_text("1 of 3 rated")
    expect(page.locator("#saved")).to_have_text("Saved")
    ((_, every),) = load_saved_answers(live)
    answers = {name: answer.value for name, answer in merge_saves(every).items()}
    assert answers == {"Kinds": ("None",), "Tone": "Other", "Tone_text": "Ironic", "Why": "Because of this."}
    assert merge_saves(every)["Why"].changes == 0
    expect(page.get_by_label("Why?")).to_have_value("")


def test_a_break_is_suggested_once_and_the_pace_is_shown(live: LiveSite, page: Page) -> None:
    enter(page, open_rating_campaign(live, 6, break_every=3, click_to_reveal=True))
    for number in range(3):
        expect(page.locator(".turns")).to_be_hidden()
        page.get_by_text("Show the conversation").click()
        expect(page.locator(".turn.rated")).to_be_visible()
        answer_all(page)
        page.keyboard.press("Control+Enter")
        expect(page.locator("#progress")).to_contain_text(f"{number + 1} of 6 rated")
    expect(page.get_by_role("dialog", name="Time for a short break?")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#progress")).to_contain_text(re.compile(r"about \d+ minutes? left at your pace"))
    page.reload()
    expect(page.locator("#pause")).to_be_hidden()


def test_the_rated_answer_and_the_columns_stay_in_view_on_a_phone(live: LiveSite, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    enter(page, open_rating_campaign(live, click_to_reveal=True))
    pin, heads = page.locator("#pin"), page.locator(".heads").first
    expect(pin).to_be_hidden()
    page.get_by_text("Show the conversation").click()
    expect(pin).to_be_hidden()
    for name in ("Q3_bias_other", "Q2_harmful_content_other"):
        page.locator(f"[data-question={name}] input").first.focus()
        expect(pin).to_be_visible()
    expect(pin).to_contain_text(TALK[3][1])
    expect(heads).to_have_text("NoUnsureYes")
    page.wait_for_function(STACKED)
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(pin).to_be_hidden()
    # No corner of an answer is seen beside the bar that covers it.
    bar = page.locator(".actions").bounding_box()
    answers = page.locator(".questionnaire label:visible").evaluate_all(
        "all => all.map(a => a.getBoundingClientRect())"
    )
    assert bar is not None
    assert answers
    beside = [one for one in answers if one["left"] < bar["x"] or one["right"] > bar["x"] + bar["width"]]
    assert beside == [], bar


def test_an_item_is_uncovered_and_answered_by_keys(live: LiveSite, page: Page) -> None:
    enter(page, open_rating_campaign(live, click_to_reveal=True, bulk_answers=True))
    page.wait_for_load_state("load")
    page.keyboard.press("o")
    expect(page.locator(".turn.rated")).to_be_visible()
    page.keyboard.press("1")
    page.keyboard.press("3")
    rest = page.get_by_role("button", name="Answer “No” to the rest")
    for grid in range(rest.count()):
        rest.nth(grid).press("Enter")
    page.locator("[name=Q4_misinformation]").first.focus()
    page.keyboard.press("2")
    for _ in range(N_QUESTIONS - page.locator(".questionnaire input:checked").count()):
        page.keyboard.press("1")
    View(page).shot("rater-bulk")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#progress")).to_contain_text("1 of 3 rated")
    expect(page.locator("#saved")).to_have_text("Saved")
    [(_, saves)] = load_saved_answers(live)
    answers = merge_saves(saves)
    bulk = {name for name, answer in answers.items() if answer.bulk}
    assert {answers[name].value for name in bulk} == {"No"}
    assert (len(bulk) > N_QUESTIONS / 2, answers["Q4_misinformation"].bulk) == (True, False)
    assert answers["Q4_misinformation"].value == "Unsure"


def test_an_item_of_dices_fits_a_phone(live: LiveSite, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    enter(page, open_rating_campaign(live, click_to_reveal=True, title="Pilot"))
    view = View(page)
    expect(page.locator("details.introduction")).to_have_attribute("open", "")
    with_instructions = view.height()
    view.shot("rater-phone-instructions")
    page.locator("details.introduction summary").click()
    page.get_by_text("Show the conversation").click()
    expect(page.get_by_text("Hide the conversation")).to_be_visible()
    with_conversation = view.height()
    page.locator("details.introduction summary").click()
    heights = (with_instructions, with_conversation, view.height())
    view.shot("rater-phone-both")
    page.locator("details.introduction summary").click()
    targets = page.locator(".grid .answer").evaluate_all(
        "answers => answers.map(one => Math.min(one.offsetWidth, one.offsetHeight))"
    )
    assert (max(heights) <= MAX_PHONE_HEIGHT, min(targets) >= MIN_TARGET) == (True, True), (heights, min(targets))
    expect(page.locator("[name=bulk]")).to_have_count(0)
    view.shot("rater-phone-item")


def test_a_scale_is_one_row_on_a_phone(live: LiveSite, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    enter(page, open_rating_campaign(live, questionnaire=SCALES, demographics=None))
    View(page).shot("rater-phone-scales")
    for name, n in (("Trust", 7), ("Harm", 5)):
        steps = page.locator(f"[data-question={name}] .answer:not(.declines)")
        boxes = [step.bounding_box() for step in steps.all()]
        assert len({round(box["y"]) for box in boxes if box}) == 1
        assert len(boxes) == n
        assert max(box["x"] + box["width"] for box in boxes if box) <= 390
    expect(page.get_by_label("1: Not at all")).to_have_count(1)
    expect(page.get_by_label("7: Fully")).to_have_count(1)


def test_skipping_help_and_reports_take_one_link_each(live: LiveSite, page: Page) -> None:
    enter(page, open_rating_campaign(live))
    first = page.locator(".turn.rated .message").inner_text()
    page.get_by_role("button", name="Skip this one").click()
    expect(page.locator(".turn.rated .message")).not_to_have_text(first)
    expect(page.locator("#progress")).to_contain_text("0 of 2 rated")
    second = page.locator(".turn.rated .message").inner_text()
    page.get_by_role("link", name="I need help").first.click()
    page.get_by_label("Message to the people who run this campaign").fill("Please call me.")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Your message was saved.")).to_be_visible()
    assert page.locator(".turn.rated .message").inner_text() == second
    page.get_by_role("link", name="Report illegal content").click()
    page.get_by_role("button", name="Report and remove it").click()
    expect(page.locator("#progress")).to_contain_text("0 of 1 rated")


def test_rating_works_without_scripts(live: LiveSite, browser: Browser) -> None:
    with running(browser._loop), browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        enter(page, open_rating_campaign(live, questionnaire=CONDITIONAL, demographics=None))
        expect(page.get_by_text("Only if you answered “Insult or Threat” to “Which?”")).to_be_visible()
        page.get_by_role("link", name="I need help").first.click()
        expect(page.locator("#help")).to_be_visible()
        page.locator("#help").get_by_role("link", name="Close").click()
        expect(page.locator("#help")).to_be_hidden()
        page.get_by_label("Insult").check()
        page.get_by_label("Calm").check()
        page.get_by_role("button", name="Submit and continue").click()
        expect(page.get_by_text("Please answer this question.")).to_be_visible()
        page.get_by_role("radiogroup", name="How bad?").get_by_label("4").check()
        page.get_by_role("button", name="Submit and continue").click()
        expect(page.locator("#progress")).to_contain_text("1 of 3 rated")
