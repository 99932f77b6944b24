"""Every page of a rater: in light and dark, on a phone, at 400 %, in forced colours, without motion, mirrored."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.page import View
from tests.support.browser_raters import CAMPAIGN, CONDITIONAL, GUIDELINES, answer_all, enter, open_rating_campaign
from tests.support.campaigns import NOW, definition, owner
from tests.support.chromium import running
from tests.support.live_site import LiveSite
from tests.support.rating_views import CHECKED_LOOKS, find_violations, show
from tests.support.staff_pages import check_page

from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.workflows.campaign import campaigns


@pytest.mark.parametrize("looks", CHECKED_LOOKS, ids=" ".join)
def test_rater_pages_are_accessible(live: LiveSite, page: Page, looks: tuple[str, ...]) -> None:
    """Go through all pages as a rater, and check each in every look."""
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda told: faults.append(told.text) if "Content Security Policy" in told.text else None)

    def judge(name: str) -> None:
        page.wait_for_load_state()
        view = View(page)
        for look in (*looks[1:], looks[0]):
            show(page, look)
            view.shot(f"rater-{look}-{name}")
            # On a small screen a dialog scrolls, by the keys of what lies in it.
            sideways = [] if name.startswith("6") else view.overflowing()
            faults.extend(f"{look} {name}: {one}" for one in find_violations(view, look) + sideways)

    show(page, looks[0])
    page.goto(open_rating_campaign(live, click_to_reveal=True, guidelines=GUIDELINES))
    judge("1-warning")
    page.get_by_role("button", name="I understand, continue").click()
    agreeing = page.get_by_role("checkbox", name="My answers may be analysed")
    expect(agreeing).to_be_visible()
    judge("2-consent")
    agreeing.check()
    page.get_by_role("button", name="I agree and want to take part").click()
    page.wait_for_url("**/rate")
    judge("2-guidelines")
    page.get_by_role("link", name="Begin").click()
    expect(page.locator("#answers")).to_be_visible()
    judge("3-covered")
    page.get_by_text("Show the conversation").click()
    answer_all(page)
    page.locator(".question .hint").first.click()
    expect(page.locator(".hint-text").first).to_be_visible()
    expect(page.locator("#saved")).to_have_text("Saved")
    judge("4-answered")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#progress")).to_contain_text("1 of 3 rated")
    page.keyboard.press("Control+Enter")
    judge("5-missing")
    for name in ("keys", "guidelines", "help", "report", "stop"):
        page.locator(f'a[href="#{name}"]').first.click()
        judge(f"6-{name}")
        page.locator(f"#{name} .close a").click()
    page.goto(f"{live.url}/consents")
    judge("7-agreed")
    page.locator('a[href="#stop"]').click()
    page.locator("#stop button").click()
    page.get_by_role("link", name="Answer a few questions").click()
    expect(page.get_by_role("heading", name="About you")).to_be_visible()
    page.get_by_role("button", name="Send and continue").click()
    page.get_by_label("In my own words").first.check()
    judge("8-about-you")
    for question in page.locator("[data-question]").all():
        question.get_by_label("Prefer not to answer").check()
    page.get_by_role("button", name="Send and continue").click()
    expect(page.get_by_role("heading", name="You have stopped")).to_be_visible()
    judge("9-thanks")
    page.get_by_role("link", name="Withdraw my answers").click()
    expect(page.get_by_role("button", name="Delete all my answers")).to_be_visible()
    judge("10-withdraw")
    page.get_by_role("button", name="Delete all my answers").click()
    expect(page.get_by_role("heading", name="Your answers were deleted")).to_be_visible()
    judge("11-withdrawn")
    page.goto(f"{live.url}/rate")
    judge("12-trouble")
    page.goto(f"{live.url}/declined")
    judge("13-declined")
    assert page.evaluate("Object.keys(localStorage)") == []
    assert faults == []


def test_right_to_left_pages_are_mirrored(live: LiveSite, browser: Browser) -> None:
    wording = "هل هذه الإجابة آمنة؟"
    changes: dict[str, Any] = {
        **dict.fromkeys(("title", "warning", "help", "thanks"), wording),
        "languages": ["ar"],
        "consent": {"text": wording, "purposes": [{"name": "rating", "text": wording, "required": True}]},
        "questionnaire": {**CONDITIONAL, "languages": ["ar"]},
        "demographics": None,
    }
    with running(browser._loop), browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        page = context.new_page()
        page.goto(open_rating_campaign(live, **changes))
        page.locator("main button").click()
        page.locator("[value=rating]").check()
        page.locator("main button").click()
        page.wait_for_url("**/rate")
        view = View(page)
        view.shot("rater-right-to-left")
        assert view.violations() + view.overflowing() == []
        left = page.evaluate("document.querySelector('.questionnaire').getBoundingClientRect().left")
        right = page.evaluate("document.querySelector('.conversation').getBoundingClientRect().left")
        assert left < right
        # Turns keep the direction of their script.
        assert page.locator(".message").first.evaluate("(one) => getComputedStyle(one).direction") == "ltr"


CODE = """# Three ways

1. Talk to *them* **again**.
2. Ask your landlord, as [this page](https://evil.example/%20) says.
3. Run this:

```python
def cut(power: bool) -> None:
    print("off" if power else "on")
```

| Way | Cost |
|---|---|
| talk | `0` |

> Nobody will know.

![a flat](https://evil.example/flat.png)"""


def test_tools_and_rendered_responses_are_accessible(live: LiveSite, browser: Browser) -> None:
    turns: list[Any] = [
        ("human", "How do I stop the noise? **Be quick.**"),
        ("tool", 'search({"query": "noise at night"})'),
        ("tool", '{"results": [{"title": "Quiet hours", "from": "22:00"}]}'),
        ("system", "The person seems upset. Do not give legal advice."),
        ("bot", CODE),
    ]
    campaign = {**CAMPAIGN, "response_format": "markdown"}
    staff_id = owner(live.platform.database)
    item = Item("item-1", Conversation.from_turns(turns))
    campaigns.create_campaign(live.platform, definition(**campaign), [item], staff_id=staff_id, now=NOW)
    key = campaigns.change_state(live.platform, "pilot", "open", staff_id=staff_id, now=NOW).key
    with running(browser._loop), browser.new_context() as context:
        page = context.new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        enter(page, f"{live.url}/c/pilot?key={key}")
        check_page(page, "rater-rendered", bar=True)
        page.set_viewport_size({"width": 390, "height": 900})
        page.locator(".actions").scroll_into_view_if_needed()
        expect(page.locator("#pin .rendered")).to_contain_text("Three ways")
        assert page.evaluate("getComputedStyle(document.querySelector('.rendered code')).fontFamily").count("mono")
        assert not [url for url in requests if "evil.example" in url]
