"""Pay and submissions by the API: the rules are those of the pages."""

from collections.abc import Iterator
from contextlib import ExitStack
from uuid import uuid4

import pytest
from sqlalchemy import delete
from tests.databases import sqlite_only
from tests.support.api_programs import API, add_member, program, rows
from tests.support.campaigns import NOW
from tests.support.live_site import LiveSite, serving
from tests.support.pay import HOUR, worker
from tests.support.pay_pages import open_paying_campaign
from tests.support.prolific_server import TOKEN, Prolific
from tests.support.raters import enter, rate_all
from tests.support.recruited_raters import CHECKING, RETURN_REASON, add_submission, answer_checks, status_of
from tests.support.staff_site import StaffSite

from dissensus.schema.money import MAX_AMOUNT
from dissensus.store.core.idempotency import IdempotencyTable
from dissensus.workflows.campaign import audit
from dissensus.workflows.rater import withdrawal

PAY, QUEUE = f"{API}/pilot/pay", f"{API}/pilot/submissions"


@pytest.fixture
def live(database_url: str, prolific: Prolific) -> Iterator[LiveSite]:
    """A site with a Prolific token."""
    with serving(database_url, prolific_token=TOKEN, prolific_url=prolific.root) as site:
        yield site


def test_accounts_and_payments(staff_site: StaffSite) -> None:
    campaign = open_paying_campaign(staff_site)
    first, second = (worker(staff_site.platform, campaign.key, ms) for ms in (HOUR, HOUR // 2))
    http = program(staff_site)
    ledger = http.get(PAY).json()
    assert {
        "currency": "GBP",
        "hourly_rate": 1200,
        "finished": 600,
        "screened_out": 50,
        "screened_out_account": None,
    }.items() <= ledger.items()
    assert ledger["total"] == {"currency": "GBP", "owed": 1800, "paid": 0, "due": 1800, "overpaid": 0}
    accounts = rows(http, f"{PAY}/raters", 1)
    assert [(one["rater"], one["paid_minutes"], one["account"]["due"]) for one in accounts] == [
        (first.id, 60, 1200),
        (second.id, 30, 600),
    ]
    response = http.post(f"{PAY}/raters/{first.id}/payments", json={"amount": 700})
    assert (response.status_code, response.json()["amount"], response.json()["by"]) == (201, 700, "ada")
    history = http.get(f"{PAY}/raters/{first.id}").json()
    assert (history["account"]["paid"], history["account"]["due"], history["paid_by_prolific"]) == (700, 500, 0)
    assert history["payments"] == [response.json()]
    for _ in range(2):
        history = http.delete(f"{PAY}/raters/{first.id}/payments/{response.json()['id']}").json()
    assert sorted((one["amount"], one["reversed"]) for one in history["payments"]) == [(-700, False), (700, True)]
    assert history["account"]["due"] == 1200
    audit.link_pending_events(staff_site.platform)
    logged = [one["content"] for one in rows(http, f"{API}/pilot/events", 500) if one["kind"] == "payment_recorded"]
    assert [one["amount"] for one in logged] == [700, -700]
    assert [one.get("reverses") for one in logged] == [None, logged[0]["payment"]]


def test_a_repeated_payment_is_recorded_once(staff_site: StaffSite) -> None:
    campaign = open_paying_campaign(staff_site)
    rater = worker(staff_site.platform, campaign.key, HOUR)
    http, once = program(staff_site), {"idempotency-key": str(uuid4())}
    answers = [http.post(f"{PAY}/raters/{rater.id}/payments", json={"amount": 5}, headers=once) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert len(http.get(f"{PAY}/raters/{rater.id}").json()["payments"]) == 1


def test_a_payment_with_a_lost_response_is_recorded_once(staff_site: StaffSite) -> None:
    """The payment is stored, but the database fails before the response, so that the key is released."""
    rater = worker(staff_site.platform, open_paying_campaign(staff_site).key, HOUR)
    http, once, path = program(staff_site), {"idempotency-key": "once"}, f"{PAY}/raters/{rater.id}/payments"
    first = http.post(path, json={"amount": 5}, headers=once)
    with staff_site.platform.database.writing() as tx:
        tx.execute(delete(IdempotencyTable))
    assert http.post(path, json={"amount": 5}, headers=once).json() == first.json()
    assert http.post(path, json={"amount": 6}, headers={"idempotency-key": "once more"}).status_code == 201
    assert sorted(one["amount"] for one in http.get(f"{PAY}/raters/{rater.id}").json()["payments"]) == [5, 6]


@sqlite_only
@pytest.mark.parametrize("amount", [0, -1, 1.5, MAX_AMOUNT + 1, "7", None, True])
def test_invalid_amounts_are_rejected(staff_site: StaffSite, amount: object) -> None:
    campaign = open_paying_campaign(staff_site)
    rater = worker(staff_site.platform, campaign.key, HOUR)
    http = program(staff_site)
    assert http.post(f"{PAY}/raters/{rater.id}/payments", json={"amount": amount}).status_code == 422
    assert http.get(f"{PAY}/raters/{rater.id}").json()["payments"] == []


@sqlite_only
def test_missing_and_forbidden_accounts(staff_site: StaffSite) -> None:
    campaign = open_paying_campaign(staff_site)
    idle = enter(staff_site.platform, campaign.key)
    rater = worker(staff_site.platform, campaign.key, HOUR)
    http = program(staff_site)
    assert "has not started yet" in http.post(f"{PAY}/raters/{idle.id}/payments", json={"amount": 5}).json()["detail"]
    for path in (f"{PAY}/raters/nobody", f"{QUEUE}/nothing"):
        assert http.get(path).status_code == 404
    assert http.delete(f"{PAY}/raters/{rater.id}/payments/{uuid4()}").status_code == 404
    add_member(staff_site, "ben", "analyst")
    for path in (PAY, f"{PAY}/raters", QUEUE):
        assert program(staff_site, "ben").get(path).status_code == 403
        assert program(staff_site, scopes=frozenset({"raters", "numbers"})).get(path).status_code == 403


def test_submissions_are_decided_by_the_rules_of_the_pages(staff_site: StaffSite, prolific: Prolific) -> None:
    campaign = open_paying_campaign(staff_site, **CHECKING)
    done, failed = (enter(staff_site.platform, campaign.key) for _ in range(2))
    answer_checks(staff_site.platform, failed.id, first="A", second="A")
    good, bad = (add_submission(staff_site.platform, prolific, campaign.id, rater.id) for rater in (done, failed))
    away = add_submission(staff_site.platform, prolific, campaign.id, None)
    http = program(staff_site)
    submissions = {one["submission"]: one for one in rows(http, QUEUE, 2)}
    assert list(submissions) == sorted([good, bad, away])
    assert (submissions[good]["allowed_decisions"], submissions[bad]["allowed_decisions"]) == (
        ["approve", "ask-return"],
        ["approve", "ask-return", "reject"],
    )
    assert (submissions[bad]["failed_checks"], submissions[bad]["attempts"]) == (
        ["first", "second"],
        {"first": ["A"], "second": ["A"]},
    )
    assert submissions[away]["screened_out_account"]["due"] == 50
    # Working time is not a ground for rejection, and Prolific ids are not disclosed.
    assert all("ms" not in field for field in submissions[good])
    assert prolific.submissions[good]["participant_id"] not in str(submissions)
    reject = {"decision": "reject", "category": "FAILED_CHECK", "reason": RETURN_REASON}
    refused = http.post(f"{QUEUE}/{good}/decision", json=reject)
    assert (refused.status_code, "cannot be rejected" in refused.json()["detail"]) == (409, True)
    assert http.post(f"{QUEUE}/{bad}/decision", json={**reject, "category": "TOO_QUICKLY"}).status_code == 422
    assert http.post(f"{QUEUE}/{bad}/decision", json={**reject, "reason": "Short."}).status_code == 422
    assert http.post(f"{QUEUE}/{away}/decision", json={"decision": "ask-return"}).status_code == 422
    assert prolific.requests == []
    assert http.post(f"{QUEUE}/{good}/decision", json={"decision": "approve"}).json()["status"] == "APPROVED"
    assert http.post(f"{QUEUE}/{bad}/decision", json=reject).json()["status"] == "REJECTED"
    body = http.post(f"{QUEUE}/{away}/decision", json={"decision": "ask-return", "reasons": ["One."]}).json()
    assert (body["return_requested_at"], body["allowed_decisions"]) == ("2026-03-01T12:00:00Z", ["approve"])
    assert [one["submission"] for one in rows(http, QUEUE, waiting=True)] == [away]
    assert [status_of(staff_site.platform, one) for one in (good, bad)] == ["APPROVED", "REJECTED"]


@sqlite_only
def test_a_refusal_by_prolific_is_passed_on(staff_site: StaffSite, prolific: Prolific) -> None:
    campaign = open_paying_campaign(staff_site)
    submission = add_submission(staff_site.platform, prolific, campaign.id, enter(staff_site.platform, campaign.key).id)
    prolific.submissions[submission]["status"] = "RETURNED"
    response = program(staff_site).post(f"{QUEUE}/{submission}/decision", json={"decision": "approve"})
    assert (response.status_code, "Prolific refuses this" in response.json()["detail"]) == (422, True)


def decide_with_settings(database_url: str, prolific: Prolific, **settings: str) -> str:
    """Response to a decision on a site with these settings."""
    with serving(database_url, prolific_url=prolific.root, **settings) as live, ExitStack() as browsers:
        staff_site = StaffSite(live, browsers)
        campaign = open_paying_campaign(staff_site)
        submission = add_submission(
            staff_site.platform, prolific, campaign.id, enter(staff_site.platform, campaign.key).id
        )
        response = program(staff_site).post(f"{QUEUE}/{submission}/decision", json={"decision": "approve"})
        assert response.status_code == 409
        return response.text


@sqlite_only
def test_a_site_without_a_prolific_token_says_so(database_url: str, prolific: Prolific) -> None:
    assert "no Prolific token" in decide_with_settings(database_url, prolific)


@sqlite_only
def test_an_invalid_prolific_token_is_not_a_client_error(database_url: str, prolific: Prolific) -> None:
    text = decide_with_settings(database_url, prolific, prolific_token="another-token")
    assert "Prolific refuses this with HTTP 401" in text
    assert "another-token" not in text


def test_prolific_ids_are_erased_after_closing(staff_site: StaffSite, prolific: Prolific) -> None:
    campaign = open_paying_campaign(staff_site)
    rater = enter(staff_site.platform, campaign.key)
    rate_all(staff_site.platform, rater)
    add_submission(staff_site.platform, prolific, campaign.id, rater.id, "APPROVED")
    http = program(staff_site)
    assert "Close it first" in http.delete(QUEUE).json()["detail"]
    http.post(f"{API}/pilot/state", json={"state": "closed"})
    assert http.delete(QUEUE).json() == {"recruits": 1}
    assert rows(http, QUEUE) == []
    history = http.get(f"{PAY}/raters/{rater.id}").json()
    assert [(one["amount"], one["by"]) for one in history["payments"]] == [(600, None)]


@sqlite_only
def test_withdrawn_raters_are_still_owed_their_time(staff_site: StaffSite) -> None:
    campaign = open_paying_campaign(staff_site)
    rater = worker(staff_site.platform, campaign.key, HOUR)
    withdrawal.withdraw_rater(staff_site.platform, rater.id, now=NOW)
    (account,) = rows(program(staff_site), f"{PAY}/raters")
    assert (account["standing"], account["account"]["due"]) == ("withdrawn", 1200)
