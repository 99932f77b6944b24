"""Attention checks of raters over HTTP: by forms, scripts and programs."""

import re
from typing import Any

import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import CHECKS, TWO_QUESTIONS, items, open_campaign
from tests.support.live_site import LiveSite, hidden
from tests.support.rating_pages import page_text

from dissensus.demo.simulation import DemoOpinion, DemoRater
from dissensus.demo.visitor import Visitor, take_part
from dissensus.store.campaigns import CampaignRow
from dissensus.store.check_answers import CheckAnswerTable
from dissensus.workflows.campaign import campaigns

INTRODUCTION = "Judge the last answer alone."
RIGHT = {"rules": "The last answer", "swim": "Disagree", "choose": "Unsure"}
AS_DATA = {"accept": "application/json"}


def open_checked_campaign(live: LiveSite, **changes: Any) -> CampaignRow:
    """Open a campaign of two items with checks before, between and after them."""
    questionnaire = {**TWO_QUESTIONS, "introduction": INTRODUCTION}
    return open_campaign(
        live.platform, 2, **{"questionnaire": questionnaire, "checks": CHECKS, "estimated_minutes": 20, **changes}
    )


def heading(page: Any) -> str:
    match = re.search(r"<h1>(.*?)</h1>", page.text)
    assert match, page.text
    return match.group(1)


def tries(live: LiveSite) -> list[tuple[str, int, str]]:
    query = CheckAnswerTable.__table__.select().order_by(CheckAnswerTable.at, CheckAnswerTable.attempt)
    with live.platform.database.reading() as tx:
        return [(row.name, row.attempt, row.answer) for row in tx.execute(query)]


@sqlite_only
def test_checks_work_without_scripts(live: LiveSite) -> None:
    visitor = live.visitor()
    page = visitor.enter(str(open_checked_campaign(live).key))
    assert (heading(page), INTRODUCTION in page_text(page)) == ("Are the instructions clear?", True)
    second_try = visitor.send("/check", **hidden(page), answer="All of it")
    assert "That answer was not correct. Please read the question once more" in page_text(second_try)
    assert INTRODUCTION in page_text(second_try)
    page = visitor.send("/check", **hidden(second_try), answer="The last answer")
    page = visitor.rate(page, Q_safe="No")
    assert (heading(page), INTRODUCTION in page_text(page)) == ("A short question", False)
    live.clock.forward(seconds=1)
    page = visitor.rate(visitor.send("/check", **hidden(page), answer="Agree"), Q_safe="No")
    # Raters do not learn the result of an attention check.
    assert "not correct" not in page_text(page)
    assert "Please choose Unsure." in page_text(page)
    live.clock.forward(seconds=1)
    assert heading(visitor.send("/check", **hidden(page), answer="Unsure")) == "Thank you"
    rows = [("rules", 1, "All of it"), ("rules", 2, "The last answer"), ("swim", 1, "Agree"), ("choose", 1, "Unsure")]
    assert tries(live) == rows


@sqlite_only
def test_raters_who_fail_comprehension_end_with_an_explanation(live: LiveSite) -> None:
    visitor = live.visitor()
    page = visitor.enter(str(open_checked_campaign(live).key))
    for _ in range(2):
        page = visitor.send("/check", **hidden(page), answer="All of it")
    assert heading(page) == "Your visit ends here"
    assert "Conversations rated 0" in page_text(page)
    assert "/withdraw/" in page.text
    assert heading(visitor.get("/rate")) == "Your visit ends here"


@sqlite_only
def test_checks_look_like_other_questions(live: LiveSite) -> None:
    labels = {"Disagree": {"en": "Not at all"}, "Agree": {"en": "Yes, often"}}
    early = [{**CHECKS[1], "text": 'I swim & "dive" <b>far</b>.', "labels": labels}, CHECKS[2]]
    visitor = live.visitor()
    page = visitor.enter(str(open_checked_campaign(live, checks=early).key))
    page = visitor.rate(visitor.send("/check", **hidden(page), answer="The last answer"), Q_safe="No")
    assert 'I swim & "dive" <b>far</b>. Not at all Yes, often' in page_text(page)
    assert "<b>far</b>" not in page.text
    assert re.search(r'<fieldset class="question row"[^>]* role="radiogroup" aria-required="true"', page.text)
    assert not re.search("attention|nonsense|instruction|swim<|right", re.sub(r"<script.*", "", page.text))
    assert {"Stop", "I need help"} <= set(re.findall(r'<a href="#\w+">([^<]+)<', page.text))


def test_a_form_sent_twice_is_one_attempt(live: LiveSite) -> None:
    visitor = live.visitor()
    first = hidden(visitor.enter(str(open_checked_campaign(live).key)))
    for _ in range(2):
        assert "you have one more try" in page_text(visitor.send("/check", **first, answer="All of it"))
    assert tries(live) == [("rules", 1, "All of it")]


@sqlite_only
@pytest.mark.parametrize(
    ("answer", "message"), [({}, "Please answer this"), ({"answer": "<i>"}, "not one of the answers")]
)
def test_missing_or_invalid_answers_are_asked_for_again(live: LiveSite, answer: dict[str, str], message: str) -> None:
    visitor = live.visitor()
    page = visitor.enter(str(open_checked_campaign(live).key))
    refused = visitor.send("/check", **hidden(page), **answer)
    assert (refused.status_code, message in page_text(refused)) == (422, True)
    assert 'aria-invalid="true"' in refused.text
    assert heading(visitor.send("/check", **hidden(refused), answer="The last answer")) == "Two questions"


@sqlite_only
@pytest.mark.parametrize(
    ("changes", "status", "message"),
    [
        ({"attempt": "7"}, 200, "Are the instructions clear?"),
        ({"attempt": ""}, 200, "Are the instructions clear?"),
        ({"attempt": "-1"}, 200, "Are the instructions clear?"),
        ({"attempt": "9" * 5000}, 200, "Are the instructions clear?"),
        ({"check": "swim", "answer": "Agree"}, 200, "Are the instructions clear?"),
        ({"check": "sink"}, 404, "There is no such check in this campaign."),
        ({"check": ""}, 404, "There is no such check in this campaign."),
        ({"check": "swim"}, 422, "'The last answer' is not an answer to it. Choose one of 'Disagree', 'Agree'"),
        ({"answer": "\0"}, 422, "contains a NUL character"),
        ({"form_token": "another"}, 403, "load the page again"),
    ],
)
def test_invalid_check_requests_are_not_stored(
    live: LiveSite, changes: dict[str, str], status: int, message: str
) -> None:
    visitor = live.visitor()
    fields = hidden(visitor.enter(str(open_checked_campaign(live).key))) | {"answer": "The last answer"}
    answer = visitor.send("/check", **fields | changes)
    assert (answer.status_code, message in page_text(answer)) == (status, True), page_text(answer)
    assert tries(live) == []


@sqlite_only
def test_checks_require_a_session(live: LiveSite) -> None:
    open_checked_campaign(live)
    assert live.visitor().send("/check", check="rules", attempt="1", answer="All of it").status_code == 403


@sqlite_only
def test_saving_an_item_leads_to_the_check(live: LiveSite) -> None:
    visitor = live.visitor()
    page = visitor.enter(str(open_checked_campaign(live).key))
    page = visitor.send("/check", **hidden(page), answer="The last answer")
    body = visitor.save(page, {"Q_safe": "No"}, final=True).json()
    assert (body["stage"], body["item"], body["next_item"]) == ("check", None, None)


@sqlite_only
def test_program_json_does_not_reveal_the_right_answer(live: LiveSite) -> None:
    visitor = live.visitor()
    visitor.enter(str(open_checked_campaign(live).key))
    body = visitor.get("/rate", headers=AS_DATA).json()
    answers = {"The last answer": "The last answer", "All of it": "All of it"}
    assert (body["stage"], body["item"], body["turns"]) == ("check", None, None)
    assert body["check"] == {"name": "rules", "attempt": 1, "text": "What do you judge?", "answers": answers}
    visitor.send("/check", check="rules", attempt=1, answer="The last answer", form_token=body["form_token"])
    after = visitor.get("/rate", headers=AS_DATA).json()
    assert (after["stage"], after["check"]) == ("rate", None)


def test_simulated_raters_over_http_pass(live: LiveSite) -> None:
    row = open_checked_campaign(live)
    campaign = campaigns.load_definition(live.platform, "pilot", staff_id=row.staff_id)
    opinions = dict.fromkeys((item.conversation.digest for item in items(2)), DemoOpinion({"Q_safe": "No"}, 2.0))
    with Visitor(f"{live.url}/c/pilot?key={row.key}") as visitor:
        take_part(visitor, DemoRater({}, opinions), campaign, language="en", on_rating=lambda: None)
    assert sorted(tries(live)) == sorted((name, 1, answer) for name, answer in RIGHT.items())


@sqlite_only
def test_checks_are_shown_in_the_language_of_the_rater(live: LiveSite) -> None:
    texts = {"en": "What?", "de": "Was?"}
    labels = {one: {"en": one, "de": f"{one}!"} for one in CHECKS[2]["scale"]}
    campaign: dict[str, Any] = {
        "languages": ["en", "de"],
        "title": texts,
        "warning": texts,
        "consent": {"text": texts, "purposes": [{"name": "rating", "text": texts, "required": True}]},
        "questionnaire": "dices-350",
        "checks": [{**CHECKS[2], "text": texts, "labels": labels}],
    }
    key = str(open_checked_campaign(live, **campaign).key)
    visitor = live.visitor()
    visitor.send("/c/pilot", key=key, language="de")
    page = visitor.send("/c/pilot/consent", purpose="rating")
    assert heading(page) == "Ist die Anleitung klar?"
    assert "Was? The last answer! All of it!" in page_text(page)
    page = visitor.send("/check", **hidden(page), answer="All of it")
    assert "Diese Antwort war nicht richtig." in page_text(page)
    assert heading(visitor.send("/check", **hidden(page), answer="All of it")) == "Ihr Besuch endet hier"
