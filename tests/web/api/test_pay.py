"""Pay and submissions by the API: the rules are those of the pages."""

from collections.abc import Iterator
from contextlib import ExitStack
from uuid import uuid4

import pytest
from sqlalchemy import delete
from tests.recruit.fake_prolific import TOKEN, Prolific
from tests.support.api_programs import API, belongs, program, rows
from tests.support.campaigns import NOW
from tests.support.live_site import Live, serving
from tests.support.pay import HOUR, worker
from tests.support.pay_pages import opened
from tests.support.raters import enter, rate_all
from tests.support.recruited_raters import CHECKING, RETURN_REASON, answered, arrived, status_of
from tests.support.staff_browsers import House

from dissensus.schema.money import MAX_AMOUNT
from dissensus.store.core.idempotency import IdempotencyTable
from dissensus.workflows.campaign import audit
from dissensus.workflows.rater import withdrawal

one_kind = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
PAY, QUEUE = f"{API}/pilot/pay", f"{API}/pilot/submissions"


@pytest.fixture
def live(database_url: str, prolific: Prolific) -> Iterator[Live]:
    """A site that may decide at Prolific."""
    with serving(database_url, prolific_token=TOKEN, prolific_url=prolific.root) as site:
        yield site


def test_accounts_and_payments(house: House) -> None:
    kept = opened(house)
    first, second = (worker(house.platform, kept.key, ms) for ms in (HOUR, HOUR // 2))
    http = program(house)
    ledger = http.get(PAY).json()
    assert {
        "currency": "GBP",
        "hour": 1200,
        "finished": 600,
        "screened_out": 50,
        "away": None,
    }.items() <= ledger.items()
    assert ledger["total"] == {"currency": "GBP", "owed": 1800, "paid": 0, "due": 1800, "overpaid": 0}
    accounts = rows(http, f"{PAY}/raters", 1)
    assert [(one["rater"], one["worked_ms"], one["account"]["due"]) for one in accounts] == [
        (first.id, HOUR, 1200),
        (second.id, HOUR // 2, 600),
    ]
    made = http.post(f"{PAY}/raters/{first.id}/payments", json={"amount": 700})
    assert (made.status_code, made.json()["amount"], made.json()["by"]) == (201, 700, "ada")
    history = http.get(f"{PAY}/raters/{first.id}").json()
    assert (history["account"]["paid"], history["account"]["due"], history["by_prolific"]) == (700, 500, 0)
    assert history["payments"] == [made.json()]
    for _ in range(2):
        history = http.delete(f"{PAY}/raters/{first.id}/payments/{made.json()['id']}").json()
    assert sorted((one["amount"], one["taken_back"]) for one in history["payments"]) == [(-700, False), (700, True)]
    assert history["account"]["due"] == 1200
    audit.link_pending_events(house.platform)
    noted = [
        one["content"]["amount"] for one in rows(http, f"{API}/pilot/events", 500) if one["kind"] == "payment_recorded"
    ]
    assert noted == [700, -700]


def test_the_same_payment_twice_is_one(house: House) -> None:
    kept = opened(house)
    rater = worker(house.platform, kept.key, HOUR)
    http, once = program(house), {"idempotency-key": str(uuid4())}
    answers = [http.post(f"{PAY}/raters/{rater.id}/payments", json={"amount": 5}, headers=once) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert len(http.get(f"{PAY}/raters/{rater.id}").json()["payments"]) == 1


def test_a_payment_whose_answer_broke_is_not_noted_again(house: House) -> None:
    """It was written, the database was away when the answer was to be made, and so the key was forgotten."""
    rater = worker(house.platform, opened(house).key, HOUR)
    http, once, path = program(house), {"idempotency-key": "once"}, f"{PAY}/raters/{rater.id}/payments"
    first = http.post(path, json={"amount": 5}, headers=once)
    with house.platform.database.writing() as tx:
        tx.execute(delete(IdempotencyTable))
    assert http.post(path, json={"amount": 5}, headers=once).json() == first.json()
    assert http.post(path, json={"amount": 6}, headers={"idempotency-key": "once more"}).status_code == 201
    assert sorted(one["amount"] for one in http.get(f"{PAY}/raters/{rater.id}").json()["payments"]) == [5, 6]


@one_kind
@pytest.mark.parametrize("amount", [0, -1, 1.5, MAX_AMOUNT + 1, "7", None, True])
def test_amounts_that_are_none(house: House, amount: object) -> None:
    kept = opened(house)
    rater = worker(house.platform, kept.key, HOUR)
    http = program(house)
    assert http.post(f"{PAY}/raters/{rater.id}/payments", json={"amount": amount}).status_code == 422
    assert http.get(f"{PAY}/raters/{rater.id}").json()["payments"] == []


@one_kind
def test_what_is_not_there_or_not_for_one(house: House) -> None:
    kept = opened(house)
    idle = enter(house.platform, kept.key)
    rater = worker(house.platform, kept.key, HOUR)
    http = program(house)
    assert "did nothing yet" in http.post(f"{PAY}/raters/{idle.id}/payments", json={"amount": 5}).json()["detail"]
    for path in (f"{PAY}/raters/nobody", f"{QUEUE}/nothing"):
        assert http.get(path).status_code == 404
    assert http.delete(f"{PAY}/raters/{rater.id}/payments/{uuid4()}").status_code == 404
    belongs(house, "ben", "analyst")
    for path in (PAY, f"{PAY}/raters", QUEUE):
        assert program(house, "ben").get(path).status_code == 403
        assert program(house, scopes=frozenset({"raters", "numbers"})).get(path).status_code == 403


def test_submissions_are_decided_by_the_rules_of_the_pages(house: House, prolific: Prolific) -> None:
    kept = opened(house, **CHECKING)
    done, failed = (enter(house.platform, kept.key) for _ in range(2))
    answered(house.platform, failed.id, first="A", second="A")
    good, bad = (arrived(house.platform, prolific, kept.id, rater.id) for rater in (done, failed))
    away = arrived(house.platform, prolific, kept.id, None)
    http = program(house)
    found = {one["submission"]: one for one in rows(http, QUEUE, 2)}
    assert list(found) == sorted([good, bad, away])
    assert (found[good]["may"], found[bad]["may"]) == (["approve", "ask-return"], ["approve", "ask-return", "reject"])
    assert (found[bad]["failed"], found[bad]["tries"]) == (["first", "second"], {"first": ["A"], "second": ["A"]})
    assert found[away]["away"]["due"] == 50
    # Speed is no ground for anything, and who they are at Prolific is told to nobody.
    assert all("ms" not in field for field in found[good])
    assert prolific.submissions[good]["participant_id"] not in str(found)
    reject = {"decision": "reject", "category": "FAILED_CHECK", "reason": RETURN_REASON}
    refused = http.post(f"{QUEUE}/{good}/decision", json=reject)
    assert (refused.status_code, "cannot be rejected" in refused.json()["detail"]) == (409, True)
    assert http.post(f"{QUEUE}/{bad}/decision", json={**reject, "category": "TOO_QUICKLY"}).status_code == 422
    assert http.post(f"{QUEUE}/{bad}/decision", json={**reject, "reason": "Short."}).status_code == 422
    assert http.post(f"{QUEUE}/{away}/decision", json={"decision": "ask-return"}).status_code == 422
    assert prolific.asked == []
    assert http.post(f"{QUEUE}/{good}/decision", json={"decision": "approve"}).json()["status"] == "APPROVED"
    assert http.post(f"{QUEUE}/{bad}/decision", json=reject).json()["status"] == "REJECTED"
    asked = http.post(f"{QUEUE}/{away}/decision", json={"decision": "ask-return", "reasons": ["One."]}).json()
    assert (asked["return_asked_at"], asked["may"]) == ("2026-03-01T12:00:00Z", ["approve"])
    assert [one["submission"] for one in rows(http, QUEUE, waiting=True)] == [away]
    assert [status_of(house.platform, one) for one in (good, bad)] == ["APPROVED", "REJECTED"]


@one_kind
def test_what_prolific_refuses_is_told_in_its_words(house: House, prolific: Prolific) -> None:
    kept = opened(house)
    submission = arrived(house.platform, prolific, kept.id, enter(house.platform, kept.key).id)
    prolific.submissions[submission]["status"] = "RETURNED"
    told = program(house).post(f"{QUEUE}/{submission}/decision", json={"decision": "approve"})
    assert (told.status_code, "Prolific refuses this" in told.json()["detail"]) == (422, True)


def decided_with(database_url: str, prolific: Prolific, **settings: str) -> str:
    """What a program is told that decides on a site with these settings."""
    with serving(database_url, prolific_url=prolific.root, **settings) as live, ExitStack() as browsers:
        house = House(live, browsers)
        kept = opened(house)
        submission = arrived(house.platform, prolific, kept.id, enter(house.platform, kept.key).id)
        told = program(house).post(f"{QUEUE}/{submission}/decision", json={"decision": "approve"})
        assert told.status_code == 409
        return told.text


@one_kind
def test_a_site_without_a_token_of_prolific_says_so(database_url: str, prolific: Prolific) -> None:
    assert "no token of Prolific" in decided_with(database_url, prolific)


@one_kind
def test_a_token_that_prolific_does_not_accept_is_no_fault_of_the_program(
    database_url: str, prolific: Prolific
) -> None:
    told = decided_with(database_url, prolific, prolific_token="another-token")
    assert "Prolific refuses this with HTTP 401" in told
    assert "another-token" not in told


def test_who_came_is_forgotten_once_it_is_closed(house: House, prolific: Prolific) -> None:
    kept = opened(house)
    rater = enter(house.platform, kept.key)
    rate_all(house.platform, rater)
    arrived(house.platform, prolific, kept.id, rater.id, "APPROVED")
    http = program(house)
    assert "Close it first" in http.delete(QUEUE).json()["detail"]
    http.post(f"{API}/pilot/state", json={"to": "closed"})
    assert http.delete(QUEUE).json() == {"recruits": 1}
    assert rows(http, QUEUE) == []
    history = http.get(f"{PAY}/raters/{rater.id}").json()
    assert [(one["amount"], one["by"]) for one in history["payments"]] == [(600, None)]


@one_kind
def test_who_withdrew_is_still_owed_what_they_worked(house: House) -> None:
    kept = opened(house)
    rater = worker(house.platform, kept.key, HOUR)
    withdrawal.withdraw_rater(house.platform, rater.id, now=NOW)
    (account,) = rows(program(house), f"{PAY}/raters")
    assert (account["standing"], account["account"]["due"]) == ("withdrawn", 1200)
