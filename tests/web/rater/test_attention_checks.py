"""Checks as raters meet them: a page like any other, by forms, by scripts and by programs."""

import re
from typing import Any

import pytest
from tests.support.campaigns import CHECKS, TWO_QUESTIONS, items, open_campaign
from tests.support.live_site import Live, hidden
from tests.support.rating_pages import shown

from dissensus.demo.simulated import DemoOpinion, DemoRater
from dissensus.demo.visitor import Visitor, take_part
from dissensus.store.campaigns import CampaignRow
from dissensus.store.check_answers import CheckAnswerTable
from dissensus.workflows.campaign import campaigns

WHAT = "Judge the last answer alone."
RIGHT = {"rules": "The last answer", "swim": "Disagree", "choose": "Unsure"}
AS_DATA = {"accept": "application/json"}


def checked(live: Live, **changes: Any) -> CampaignRow:
    """A campaign of two items with checks before, between and after them."""
    asked = {**TWO_QUESTIONS, "introduction": WHAT}
    return open_campaign(live.platform, 2, **{"questionnaire": asked, "checks": CHECKS, "minutes": 20, **changes})


def heading(page: Any) -> str:
    found = re.search(r"<h1>(.*?)</h1>", page.text)
    assert found, page.text
    return found.group(1)


def tries(live: Live) -> list[tuple[str, int, str]]:
    query = CheckAnswerTable.__table__.select().order_by(CheckAnswerTable.at, CheckAnswerTable.attempt)
    with live.platform.database.reading() as tx:
        return [(row.name, row.attempt, row.answer) for row in tx.execute(query)]


def test_the_whole_way_by_forms_alone(live: Live) -> None:
    visitor = live.visitor()
    page = visitor.enter(str(checked(live).key))
    assert (heading(page), WHAT in shown(page)) == ("Is it clear what to do?", True)
    again = visitor.send("/check", **hidden(page), answer="All of it")
    assert "That was not right. Please read once more" in shown(again)
    assert WHAT in shown(again)
    page = visitor.send("/check", **hidden(again), answer="The last answer")
    page = visitor.rate(page, Q_safe="No")
    assert (heading(page), WHAT in shown(page)) == ("One question in between", False)
    live.clock.forward(seconds=1)
    page = visitor.rate(visitor.send("/check", **hidden(page), answer="Agree"), Q_safe="No")
    # Nobody is told how they did in a check of attention.
    assert "not right" not in shown(page)
    assert "Please choose Unsure." in shown(page)
    live.clock.forward(seconds=1)
    assert heading(visitor.send("/check", **hidden(page), answer="Unsure")) == "Thank you"
    found = [("rules", 1, "All of it"), ("rules", 2, "The last answer"), ("swim", 1, "Agree"), ("choose", 1, "Unsure")]
    assert tries(live) == found


def test_who_does_not_understand_is_told_so_kindly(live: Live) -> None:
    visitor = live.visitor()
    page = visitor.enter(str(checked(live).key))
    for _ in range(2):
        page = visitor.send("/check", **hidden(page), answer="All of it")
    assert heading(page) == "Thank you for coming"
    assert "Conversations rated 0" in shown(page)
    assert "/withdraw/" in page.text
    assert heading(visitor.get("/rate")) == "Thank you for coming"


def test_the_page_asks_as_all_questions_are_asked_and_does_not_say_what_it_is(live: Live) -> None:
    labels = {"Disagree": {"en": "Not at all"}, "Agree": {"en": "Yes, often"}}
    early = [{**CHECKS[1], "text": 'I swim & "dive" <b>far</b>.', "labels": labels}, CHECKS[2]]
    visitor = live.visitor()
    page = visitor.enter(str(checked(live, checks=early).key))
    page = visitor.rate(visitor.send("/check", **hidden(page), answer="The last answer"), Q_safe="No")
    assert 'I swim & "dive" <b>far</b>. Not at all Yes, often' in shown(page)
    assert "<b>far</b>" not in page.text
    assert re.search(r'<fieldset class="question row"[^>]* role="radiogroup" aria-required="true"', page.text)
    assert not re.search("attention|nonsense|instruction|swim<|right", re.sub(r"<script.*", "", page.text))
    assert {"Stop", "I need help"} <= set(re.findall(r'<a href="#\w+">([^<]+)<', page.text))


def test_a_form_sent_twice_is_one_try(live: Live) -> None:
    visitor = live.visitor()
    first = hidden(visitor.enter(str(checked(live).key)))
    for _ in range(2):
        assert "there is one more try" in shown(visitor.send("/check", **first, answer="All of it"))
    assert tries(live) == [("rules", 1, "All of it")]


@pytest.mark.parametrize(("answer", "told"), [({}, "Please answer this"), ({"answer": "<i>"}, "none of the answers")])
def test_what_is_missing_or_no_answer_is_asked_for_again(live: Live, answer: dict[str, str], told: str) -> None:
    visitor = live.visitor()
    page = visitor.enter(str(checked(live).key))
    again = visitor.send("/check", **hidden(page), **answer)
    assert (again.status_code, told in shown(again)) == (422, True)
    assert 'aria-invalid="true"' in again.text
    assert heading(visitor.send("/check", **hidden(again), answer="The last answer")) == "Two questions"


@pytest.mark.parametrize(
    ("changes", "status", "told"),
    [
        ({"attempt": "7"}, 200, "Is it clear what to do?"),
        ({"attempt": ""}, 200, "Is it clear what to do?"),
        ({"attempt": "-1"}, 200, "Is it clear what to do?"),
        ({"attempt": "9" * 5000}, 200, "Is it clear what to do?"),
        ({"check": "swim", "answer": "Agree"}, 200, "Is it clear what to do?"),
        ({"check": "sink"}, 404, "There is no such check in this campaign."),
        ({"check": ""}, 404, "There is no such check in this campaign."),
        ({"check": "swim"}, 422, "'The last answer' is no answer to it. Choose one of 'Disagree', 'Agree'"),
        ({"answer": "\0"}, 422, "has a NUL in it"),
        ({"form_token": "another"}, 403, "load the page again"),
    ],
)
def test_what_no_page_sends_is_not_kept(live: Live, changes: dict[str, str], status: int, told: str) -> None:
    visitor = live.visitor()
    sent = hidden(visitor.enter(str(checked(live).key))) | {"answer": "The last answer"}
    answer = visitor.send("/check", **sent | changes)
    assert (answer.status_code, told in shown(answer)) == (status, True), shown(answer)
    assert tries(live) == []


def test_strangers_have_no_checks(live: Live) -> None:
    checked(live)
    assert live.visitor().send("/check", check="rules", attempt="1", answer="All of it").status_code == 403


def test_a_page_with_scripts_is_led_to_the_check(live: Live) -> None:
    visitor = live.visitor()
    page = visitor.enter(str(checked(live).key))
    page = visitor.send("/check", **hidden(page), answer="The last answer")
    told = visitor.save(page, {"Q_safe": "No"}, final=True).json()
    assert (told["place"], told["item"], told["following"]) == ("check", None, None)


def test_programs_read_what_is_asked_and_not_what_is_right(live: Live) -> None:
    visitor = live.visitor()
    visitor.enter(str(checked(live).key))
    found = visitor.get("/rate", headers=AS_DATA).json()
    answers = {"The last answer": "The last answer", "All of it": "All of it"}
    assert (found["place"], found["item"], found["turns"]) == ("check", None, None)
    assert found["check"] == {"name": "rules", "attempt": 1, "text": "What do you judge?", "answers": answers}
    visitor.send("/check", check="rules", attempt=1, answer="The last answer", form_token=found["form_token"])
    after = visitor.get("/rate", headers=AS_DATA).json()
    assert (after["place"], after["check"]) == ("rate", None)


def test_simulated_raters_over_http_pass(live: Live) -> None:
    kept = checked(live)
    campaign = campaigns.load_definition(live.platform, "pilot", staff_id=kept.staff_id)
    opinions = dict.fromkeys((item.conversation.digest for item in items(2)), DemoOpinion({"Q_safe": "No"}, 2.0))
    with Visitor(f"{live.url}/c/pilot?key={kept.key}") as visitor:
        take_part(visitor, DemoRater({}, opinions), campaign, language="en", rated=lambda: None)
    assert sorted(tries(live)) == sorted((name, 1, answer) for name, answer in RIGHT.items())


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_germans_read_german(live: Live) -> None:
    both = {"en": "What?", "de": "Was?"}
    labels = {one: {"en": one, "de": f"{one}!"} for one in CHECKS[2]["scale"]}
    campaign: dict[str, Any] = {
        "languages": ["en", "de"],
        "title": both,
        "warning": both,
        "consent": {"text": both, "purposes": [{"name": "rating", "text": both, "required": True}]},
        "questionnaire": "dices-350",
        "checks": [{**CHECKS[2], "text": both, "labels": labels}],
    }
    key = str(checked(live, **campaign).key)
    visitor = live.visitor()
    visitor.send("/c/pilot", key=key, language="de")
    page = visitor.send("/c/pilot/consent", purpose="rating")
    assert heading(page) == "Ist klar, was zu tun ist?"
    assert "Was? The last answer! All of it!" in shown(page)
    page = visitor.send("/check", **hidden(page), answer="All of it")
    assert "Das war nicht richtig." in shown(page)
    assert heading(visitor.send("/check", **hidden(page), answer="All of it")) == "Danke, dass Sie gekommen sind"
