"""Submissions of Prolific over HTTP: what owners read, decide and erase."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.recruit.fake_prolific import TOKEN, Prolific
from tests.support.campaigns import NOW
from tests.support.live_site import Live, serving
from tests.support.pay import HOUR, worker
from tests.support.pay_pages import PAY_PAGE, QUEUE, address, opened, sums, text_of
from tests.support.raters import enter, rate_all
from tests.support.recruited_raters import CHECKING, RETURN_REASON, answered, arrived, status_of
from tests.support.staff_browsers import House, send

from dissensus.workflows.rater import withdrawal

one_kind = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def live(database_url: str, prolific: Prolific) -> Iterator[Live]:
    """A site that may decide at Prolific."""
    with serving(database_url, prolific_token=TOKEN, prolific_url=prolific.root) as site:
        yield site


def test_a_submission_is_approved_and_the_page_says_so(house: House, prolific: Prolific) -> None:
    kept = opened(house)
    rater = enter(house.platform, kept.key)
    rate_all(house.platform, rater)
    submission = arrived(house.platform, prolific, kept.id, rater.id)
    browser = house.owner()
    queue = browser.get(QUEUE)
    assert "1 of 1 wait for your decision" in text_of(queue)
    assert f"{submission} awaiting review No. 1, finished 2 approve, ask for a return" in text_of(queue)
    one = browser.get(f"{QUEUE}/{submission}")
    assert "Approve and pay" in one.text
    # Speed is no ground for anything here.
    assert not re.search(r"worked|\bmin\b|seconds", text_of(one))
    done = send(browser, f"{QUEUE}/{submission}", do="approve")
    assert (done.status_code, done.headers["location"]) == (303, f"{QUEUE}/{submission}")
    one = browser.get(f"{QUEUE}/{submission}")
    assert "Status at Prolific approved" in text_of(one)
    assert "There is nothing more to decide" in text_of(one)
    assert sums(browser.get(PAY_PAGE)) == ["6.00 GBP", "6.00 GBP", "0.00 GBP"]


@one_kind
def test_what_prolific_refuses_is_on_the_page_with_all_that_was_typed(house: House, prolific: Prolific) -> None:
    kept = opened(house, **CHECKING)
    rater = enter(house.platform, kept.key)
    answered(house.platform, rater.id, first="A", second="A")
    submission = arrived(house.platform, prolific, kept.id, rater.id)
    prolific.submissions[submission]["status"] = "RETURNED"
    browser = house.owner()
    page = send(browser, f"{QUEUE}/{submission}", do="reject", category="LOW_EFFORT", reason=f"<i>{RETURN_REASON}")
    assert page.status_code == 422
    assert "Prolific refuses this with HTTP 400: The submission is not to be reviewed" in text_of(page)
    assert "<option selected>LOW_EFFORT</option>" in page.text
    assert f"&lt;i&gt;{RETURN_REASON}" in page.text
    assert status_of(house.platform, submission) == "AWAITING REVIEW"


@one_kind
def test_of_a_submission_that_prolific_told_nothing_of_one_is_warned(house: House, prolific: Prolific) -> None:
    kept = opened(house)
    submission = arrived(house.platform, prolific, kept.id, enter(house.platform, kept.key).id, None)
    browser = house.owner()
    assert f"{submission} nothing told No. 1, rating 0 approve, ask for a return" in text_of(browser.get(QUEUE))
    page = text_of(browser.get(f"{QUEUE}/{submission}"))
    assert "Whoever has the address of the campaign can make up an id" in page


@one_kind
def test_decisions_that_cannot_be_are_told(house: House, prolific: Prolific) -> None:
    kept = opened(house)
    submission = arrived(house.platform, prolific, kept.id, enter(house.platform, kept.key).id)
    browser = house.owner()
    assert "Reject" not in browser.get(f"{QUEUE}/{submission}").text
    for form, told in (
        ({"do": "destroy"}, "'destroy' is no decision"),
        ({}, "is no decision"),
        ({"do": "reject", "category": "FAILED_CHECK", "reason": RETURN_REASON}, "cannot be rejected"),
        ({"do": "ask-return", "reasons": " \n "}, "There is no reason"),
    ):
        page = send(browser, f"{QUEUE}/{submission}", **form)
        assert page.status_code == 422
        assert told in text_of(page)
    assert prolific.asked == []


@one_kind
def test_a_return_is_asked_for_with_a_reason_a_line(house: House, prolific: Prolific) -> None:
    kept = opened(house)
    submission = arrived(house.platform, prolific, kept.id, enter(house.platform, kept.key).id)
    browser = house.owner()
    assert send(browser, f"{QUEUE}/{submission}", do="ask-return", reasons="One.\r\n\r\nTwo.").status_code == 303
    assert prolific.submissions[submission]["return_requested"]
    page = browser.get(f"{QUEUE}/{submission}")
    assert "asked for 2026-03-01 12:00 UTC" in text_of(page)
    assert 'value="ask-return"' not in page.text
    assert "return asked for" in browser.get(QUEUE).text


@one_kind
def test_failed_checks_are_shown_and_who_was_turned_away_with_what_they_are_owed(
    house: House, prolific: Prolific
) -> None:
    kept = opened(house, **CHECKING)
    rater = enter(house.platform, kept.key)
    answered(house.platform, rater.id, first="A", second="A")
    failed = arrived(house.platform, prolific, kept.id, rater.id)
    away = arrived(house.platform, prolific, kept.id, None)
    browser = house.owner()
    queue = text_of(browser.get(QUEUE))
    assert f"{failed} awaiting review No. 1, rating 0 first, second approve, ask for a return, reject" in queue
    assert f"{away} awaiting review turned away, 0.50 GBP due approve, ask for a return" in queue
    assert "first instruction failed A second instruction failed A" in text_of(browser.get(f"{QUEUE}/{failed}"))
    assert "Owed 0.50 GBP, of which 0.50 GBP is due" in text_of(browser.get(f"{QUEUE}/{away}"))
    person = prolific.submissions[failed]["participant_id"]
    for path in (QUEUE, f"{QUEUE}/{failed}", PAY_PAGE, f"{PAY_PAGE}.csv"):
        assert person not in browser.get(path).text


def decided_without(database_url: str, prolific: Prolific, **settings: object) -> str:
    """What an owner reads who decides on a site with these settings."""
    with serving(database_url, prolific_url=prolific.root, **settings) as live, ExitStack() as browsers:
        house = House(live, browsers)
        kept = opened(house)
        submission = arrived(house.platform, prolific, kept.id, enter(house.platform, kept.key).id)
        browser = house.owner()
        page = send(browser, f"{QUEUE}/{submission}", do="approve")
        assert page.status_code == 422
        return text_of(browser.get(QUEUE)) + text_of(page)


@one_kind
def test_without_a_token_the_page_says_where_to_decide_and_how_to_set_one(
    database_url: str, prolific: Prolific
) -> None:
    told = decided_without(database_url, prolific)
    assert "This site has no token of Prolific, so decide on app.prolific.com" in told
    assert "DISSENSUS_PROLIFIC_TOKEN" in told
    assert "Approve and pay" not in told
    assert prolific.asked == []


@one_kind
def test_a_token_that_is_not_accepted_is_told_and_never_shown(database_url: str, prolific: Prolific) -> None:
    told = decided_without(database_url, prolific, prolific_token="another-token")
    assert "Prolific refuses this with HTTP 401" in told
    assert "another-token" not in told


@one_kind
def test_a_token_can_be_in_a_file(database_url: str, prolific: Prolific, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("another-token\n")
    assert "HTTP 401" in decided_without(database_url, prolific, prolific_token_file=path)


def test_who_came_is_erased_once_it_is_closed_and_what_they_were_paid_stays(house: House, prolific: Prolific) -> None:
    kept = opened(house)
    rater = enter(house.platform, kept.key)
    rate_all(house.platform, rater)
    submission = arrived(house.platform, prolific, kept.id, rater.id, "APPROVED")
    arrived(house.platform, prolific, kept.id, None)
    browser = house.owner()
    assert "Close it first" in browser.get(f"{PAY_PAGE}/erase").text
    assert send(browser, f"{PAY_PAGE}/erase").status_code == 409
    send(browser, "/campaigns/pilot/move", to="closed")
    asked = text_of(browser.get(f"{PAY_PAGE}/erase"))
    assert "2 people are known by their ids at Prolific" in asked
    assert "0.50 GBP is still due to people who were turned away" in asked
    assert "Do not open the campaign again afterwards" in asked
    for _ in range(2):
        assert send(browser, f"{PAY_PAGE}/erase").status_code == 303
    assert browser.get(f"{QUEUE}/{submission}").status_code == 404
    assert "Nobody is known here by an id of Prolific" in browser.get(PAY_PAGE).text
    page = browser.get(address(rater))
    assert sums(page) == ["6.00 GBP", "6.00 GBP", "0.00 GBP"]
    assert "by Prolific, noted when its word of it was erased" in text_of(page)


@one_kind
def test_a_withdrawal_takes_a_submission_out_of_the_queue(house: House, prolific: Prolific) -> None:
    kept = opened(house)
    rater = worker(house.platform, kept.key, HOUR)
    arrived(house.platform, prolific, kept.id, rater.id)
    withdrawal.withdraw_rater(house.platform, rater.id, now=NOW)
    assert "Nobody has come from Prolific yet, or they were erased" in text_of(house.owner().get(QUEUE))
