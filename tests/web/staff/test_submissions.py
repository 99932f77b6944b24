"""Pages for submissions from Prolific."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import NOW
from tests.support.live_site import LiveSite, serving
from tests.support.pay import HOUR, worker
from tests.support.pay_pages import PAY_PAGE, QUEUE, address, open_paying_campaign, sums, text_of
from tests.support.prolific_server import TOKEN, Prolific
from tests.support.raters import enter, rate_all
from tests.support.recruited_raters import CHECKING, RETURN_REASON, add_submission, answer_checks, status_of
from tests.support.staff_site import StaffSite, send

from dissensus.workflows.rater import withdrawal


@pytest.fixture
def live(database_url: str, prolific: Prolific) -> Iterator[LiveSite]:
    """A site with a Prolific token."""
    with serving(database_url, prolific_token=TOKEN, prolific_url=prolific.root) as site:
        yield site


@sqlite_only
def test_a_submission_is_approved_and_the_page_says_so(staff_site: StaffSite, prolific: Prolific) -> None:
    campaign = open_paying_campaign(staff_site)
    rater = enter(staff_site.platform, campaign.key)
    rate_all(staff_site.platform, rater)
    submission = add_submission(staff_site.platform, prolific, campaign.id, rater.id)
    browser = staff_site.owner()
    queue = browser.get(QUEUE)
    assert "1 of 1 awaits your decision" in text_of(queue)
    assert f"{submission} awaiting review No. 1, finished approve, request a return" in text_of(queue)
    page = browser.get(f"{QUEUE}/{submission}")
    assert "Approve and pay" in page.text
    # Working time is not shown as a ground for rejection.
    assert not re.search(r"worked|\bmin\b|seconds", text_of(page))
    done = send(browser, f"{QUEUE}/{submission}", decision="approve")
    assert (done.status_code, done.headers["location"]) == (303, f"{QUEUE}/{submission}")
    page = browser.get(f"{QUEUE}/{submission}")
    assert "Status at Prolific approved" in text_of(page)
    assert "There are no more decisions to make" in text_of(page)
    assert sums(browser.get(PAY_PAGE)) == ["6.00 GBP", "6.00 GBP", "0.00 GBP"]


@sqlite_only
def test_a_refusal_by_prolific_is_shown_and_input_is_kept(staff_site: StaffSite, prolific: Prolific) -> None:
    campaign = open_paying_campaign(staff_site, **CHECKING)
    rater = enter(staff_site.platform, campaign.key)
    answer_checks(staff_site.platform, rater.id, first="A", second="A")
    submission = add_submission(staff_site.platform, prolific, campaign.id, rater.id)
    prolific.submissions[submission]["status"] = "RETURNED"
    browser = staff_site.owner()
    page = send(
        browser, f"{QUEUE}/{submission}", decision="reject", category="LOW_EFFORT", reason=f"<i>{RETURN_REASON}"
    )
    assert page.status_code == 422
    assert "Prolific refuses this with HTTP 400: The submission is not to be reviewed" in text_of(page)
    assert "<option selected>LOW_EFFORT</option>" in page.text
    assert f"&lt;i&gt;{RETURN_REASON}" in page.text
    assert status_of(staff_site.platform, submission) == "AWAITING REVIEW"


@sqlite_only
def test_a_submission_unknown_to_prolific_has_a_warning(staff_site: StaffSite, prolific: Prolific) -> None:
    campaign = open_paying_campaign(staff_site)
    submission = add_submission(
        staff_site.platform, prolific, campaign.id, enter(staff_site.platform, campaign.key).id, None
    )
    browser = staff_site.owner()
    assert f"{submission} unknown No. 1, rating approve, request a return" in text_of(browser.get(QUEUE))
    page = text_of(browser.get(f"{QUEUE}/{submission}"))
    assert "Anybody with the address of the campaign can make up an id" in page


@sqlite_only
def test_invalid_submission_decisions_are_rejected(staff_site: StaffSite, prolific: Prolific) -> None:
    campaign = open_paying_campaign(staff_site)
    submission = add_submission(staff_site.platform, prolific, campaign.id, enter(staff_site.platform, campaign.key).id)
    browser = staff_site.owner()
    assert "Reject" not in browser.get(f"{QUEUE}/{submission}").text
    for form, message in (
        ({"decision": "destroy"}, "'destroy' is not a decision"),
        ({}, "is not a decision"),
        ({"decision": "reject", "category": "FAILED_CHECK", "reason": RETURN_REASON}, "cannot be rejected"),
        ({"decision": "ask-return", "reasons": " \n "}, "There is no reason"),
    ):
        page = send(browser, f"{QUEUE}/{submission}", **form)
        assert page.status_code == 422
        assert message in text_of(page)
    assert prolific.requests == []


@sqlite_only
def test_a_return_is_requested_with_one_reason_per_line(staff_site: StaffSite, prolific: Prolific) -> None:
    campaign = open_paying_campaign(staff_site)
    submission = add_submission(staff_site.platform, prolific, campaign.id, enter(staff_site.platform, campaign.key).id)
    browser = staff_site.owner()
    assert send(browser, f"{QUEUE}/{submission}", decision="ask-return", reasons="One.\r\n\r\nTwo.").status_code == 303
    assert prolific.submissions[submission]["return_requested"]
    page = browser.get(f"{QUEUE}/{submission}")
    assert "requested 2026-03-01 12:00 UTC" in text_of(page)
    assert 'value="ask-return"' not in page.text
    assert "return requested" in browser.get(QUEUE).text


@sqlite_only
def test_failed_checks_and_turned_away_participants_are_shown(staff_site: StaffSite, prolific: Prolific) -> None:
    campaign = open_paying_campaign(staff_site, **CHECKING)
    rater = enter(staff_site.platform, campaign.key)
    answer_checks(staff_site.platform, rater.id, first="A", second="A")
    failed = add_submission(staff_site.platform, prolific, campaign.id, rater.id)
    away = add_submission(staff_site.platform, prolific, campaign.id, None)
    browser = staff_site.owner()
    queue = text_of(browser.get(QUEUE))
    assert f"{failed} awaiting review No. 1, rating first, second approve, request a return, reject" in queue
    assert f"{away} awaiting review turned away, 0.50 GBP due approve, request a return" in queue
    assert "first instruction failed A second instruction failed A" in text_of(browser.get(f"{QUEUE}/{failed}"))
    assert "Owed 0.50 GBP, of which 0.50 GBP is due" in text_of(browser.get(f"{QUEUE}/{away}"))
    person = prolific.submissions[failed]["participant_id"]
    for path in (QUEUE, f"{QUEUE}/{failed}", PAY_PAGE, f"{PAY_PAGE}.csv"):
        assert person not in browser.get(path).text


def decide_with_settings(database_url: str, prolific: Prolific, **settings: object) -> str:
    """Page after a decision on a site with these settings."""
    with serving(database_url, prolific_url=prolific.root, **settings) as live, ExitStack() as browsers:
        staff_site = StaffSite(live, browsers)
        campaign = open_paying_campaign(staff_site)
        submission = add_submission(
            staff_site.platform, prolific, campaign.id, enter(staff_site.platform, campaign.key).id
        )
        browser = staff_site.owner()
        page = send(browser, f"{QUEUE}/{submission}", decision="approve")
        assert page.status_code == 422
        return text_of(browser.get(QUEUE)) + text_of(page)


@sqlite_only
def test_without_a_token_the_page_explains_how_to_decide(database_url: str, prolific: Prolific) -> None:
    text = decide_with_settings(database_url, prolific)
    assert "This site has no Prolific token, so decide on app.prolific.com" in text
    assert "DISSENSUS_PROLIFIC_TOKEN" in text
    assert "Approve and pay" not in text
    assert prolific.requests == []


@sqlite_only
def test_a_rejected_token_is_reported_and_never_shown(database_url: str, prolific: Prolific) -> None:
    text = decide_with_settings(database_url, prolific, prolific_token="another-token")
    assert "Prolific refuses this with HTTP 401" in text
    assert "another-token" not in text


@sqlite_only
def test_the_token_can_be_read_from_a_file(database_url: str, prolific: Prolific, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("another-token\n")
    assert "HTTP 401" in decide_with_settings(database_url, prolific, prolific_token_file=path)


def test_prolific_ids_are_erased_after_closing_and_payments_stay(staff_site: StaffSite, prolific: Prolific) -> None:
    campaign = open_paying_campaign(staff_site)
    rater = enter(staff_site.platform, campaign.key)
    rate_all(staff_site.platform, rater)
    submission = add_submission(staff_site.platform, prolific, campaign.id, rater.id, "APPROVED")
    add_submission(staff_site.platform, prolific, campaign.id, None)
    browser = staff_site.owner()
    assert "Close it first" in browser.get(f"{PAY_PAGE}/erase").text
    assert send(browser, f"{PAY_PAGE}/erase").status_code == 409
    send(browser, "/campaigns/pilot/state", state="closed")
    text = text_of(browser.get(f"{PAY_PAGE}/erase"))
    assert "2 people have an id of Prolific stored" in text
    assert "0.50 GBP is still due to people who were turned away" in text
    assert "Do not open the campaign again afterwards" in text
    for _ in range(2):
        assert send(browser, f"{PAY_PAGE}/erase").status_code == 303
    assert browser.get(f"{QUEUE}/{submission}").status_code == 404
    assert "No ids of Prolific are stored" in browser.get(PAY_PAGE).text
    page = browser.get(address(rater))
    assert sums(page) == ["6.00 GBP", "6.00 GBP", "0.00 GBP"]
    assert "by Prolific, recorded when its ids were erased" in text_of(page)


@sqlite_only
def test_withdrawal_removes_a_submission_from_the_queue(staff_site: StaffSite, prolific: Prolific) -> None:
    campaign = open_paying_campaign(staff_site)
    rater = worker(staff_site.platform, campaign.key, HOUR)
    add_submission(staff_site.platform, prolific, campaign.id, rater.id)
    withdrawal.withdraw_rater(staff_site.platform, rater.id, now=NOW)
    assert "There are no submissions from Prolific, or they were erased" in text_of(staff_site.owner().get(QUEUE))
