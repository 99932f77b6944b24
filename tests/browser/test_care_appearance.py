"""The survey on well-being and the page of the contact: sound in both schemes, and on a phone."""

from playwright.sync_api import Browser, expect
from tests.support.browser_raters import enter, open_rating_campaign
from tests.support.campaigns import TWO_QUESTIONS
from tests.support.chromium import running
from tests.support.live_site import LiveSite
from tests.support.staff_pages import check_page, sign_in

from dissensus.workflows.campaign import members, overview

CARE = {
    "survey_every": 1,
    "contact": "Mia Berg, who looks after everybody who takes part,",
    "topics": {"Weapons": "Weapons and how to make them", "Self-harm": "People who harm themselves"},
}


def test_a_rater_shares_a_survey_and_the_carer_settles_it(live: LiveSite, browser: Browser) -> None:
    link = open_rating_campaign(live, 2, questionnaire=TWO_QUESTIONS, demographics=None, care=CARE)
    owner_id = overview.find_owner_id(live.platform, "pilot")
    members.add_member(live.platform, "pilot", "mia", "carer", staff_id=owner_id, now=live.clock())
    with running(browser._loop), browser.new_context(base_url=live.url) as context:
        rater, broken = context.new_page(), list[str]()
        rater.on("pageerror", lambda error: broken.append(str(error)))
        enter(rater, link)
        expect(rater.get_by_role("heading", name="Which topics would you rather avoid?")).to_be_visible()
        rater.get_by_label("Weapons and how to make them").check()
        check_page(rater, "topics")
        rater.get_by_role("button", name="Continue").click()
        for question in ("told", "quiet"):
            rater.get_by_label("No", exact=True).check()
            rater.get_by_role("button", name="Submit and continue").click()
            expect(rater.get_by_role("heading", name="How do you feel?")).to_be_visible()
            if question == "told":
                rater.locator("[name=rater_upset][value='3']").check()
                rater.get_by_label("may know how I feel").check()
                rater.get_by_label("How can they reach you").fill("By e-mail, mia has it.")
                check_page(rater, "survey")
            rater.get_by_role("button", name="Continue").click()
        expect(rater.get_by_role("heading", name="Thank you")).to_be_visible()
        assert broken == []
        mia = context.new_page()
        sign_in(mia, live, "mia")
        mia.get_by_role("link", name="pilot").click()
        mia.get_by_role("link", name="Care", exact=True).click()
        expect(mia.get_by_text("By e-mail, mia has it.")).to_be_visible()
        check_page(mia, "care")
        mia.get_by_role("button", name="Mark as settled").click()
        expect(mia.get_by_text("settled", exact=True)).to_be_visible()
