"""Decisions on submissions, with a simulated Prolific on loopback."""

from collections.abc import Iterator

import pytest
from sqlalchemy import select
from tests.support.campaigns import NOW, open_campaign
from tests.support.pay import HOUR, history, ledger, staff_of, worker
from tests.support.prolific_server import TOKEN, Prolific, Trouble, refusal
from tests.support.raters import enter, rate_all
from tests.support.recruited_raters import (
    CHECKING,
    PAY,
    PAYING,
    RETURN_REASON,
    add_submission,
    answer_checks,
    status_of,
)

from dissensus.errors import Conflict, DissensusError, InvalidInput, NotAllowed, NotFound, Unavailable
from dissensus.recruit.prolific import ProlificClient, SubmissionStatus
from dissensus.store import audit_log
from dissensus.store.recruits import RecruitTable
from dissensus.workflows.campaign import campaigns, submissions
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import withdrawal


@pytest.fixture
def client(prolific: Prolific) -> Iterator[ProlificClient]:
    with ProlificClient(TOKEN, base=prolific.root, max_attempts=1) as client:
        yield client


def load_case(platform: Platform, submission: str) -> submissions.SubmissionCase:
    return submissions.load_case(platform, "pilot", submission, staff_id=staff_of(platform))[1]


def approve(platform: Platform, client: ProlificClient, submission: str) -> None:
    submissions.approve_submission(platform, client, "pilot", submission, staff_id=staff_of(platform), now=NOW)


def ask_return(platform: Platform, client: ProlificClient, submission: str, *reasons: str) -> None:
    details = {"reasons": list(reasons), "staff_id": staff_of(platform), "now": NOW}
    submissions.request_return(platform, client, "pilot", submission, **details)  # type: ignore[arg-type]


def reject(platform: Platform, client: ProlificClient, submission: str, category: str, reason: str) -> None:
    details = {"ground": (category, reason), "staff_id": staff_of(platform), "now": NOW}
    submissions.reject_submission(platform, client, "pilot", submission, **details)  # type: ignore[arg-type]


def test_approval_is_sent_once_and_stored(platform: Platform, prolific: Prolific, client: ProlificClient) -> None:
    campaign = open_campaign(platform, 1, **PAYING)
    rater = enter(platform, campaign.key)
    rate_all(platform, rater)
    submission = add_submission(platform, prolific, campaign.id, rater.id)
    assert history(platform, rater).rater.account.due == 600
    for _ in range(2):
        approve(platform, client, submission)
    assert prolific.submissions[submission]["status"] == status_of(platform, submission) == "APPROVED"
    assert prolific.requests == [f"POST /api/v1/submissions/{submission}/transition/"]
    assert history(platform, rater).rater.account.due == 0
    submission_case = load_case(platform, submission)
    assert (submission_case.may_approve, submission_case.may_ask_return, submission_case.may_reject) == (
        False,
        False,
        False,
    )


@pytest.mark.parametrize(
    ("response", "error", "message"),
    [
        (refusal(400, "No places are left."), InvalidInput, "No places are left"),
        (refusal(401, f"Invalid: {TOKEN}"), NotAllowed, "Check the token"),
        (refusal(500, "Broken."), Unavailable, "HTTP 500"),
    ],
)
def test_refusals_of_prolific_are_reported_and_change_nothing(
    platform: Platform,
    prolific: Prolific,
    client: ProlificClient,
    response: object,
    error: type[DissensusError],
    message: str,
) -> None:
    campaign = open_campaign(platform, 1, **PAYING)
    submission = add_submission(platform, prolific, campaign.id, enter(platform, campaign.key).id)
    prolific.trouble.append(Trouble(response.status_code, {}, bytes(response.body)))  # type: ignore[attr-defined]
    with pytest.raises(error, match=message) as caught:
        approve(platform, client, submission)
    assert TOKEN not in str(caught.value)
    assert status_of(platform, submission) == "AWAITING REVIEW"


def test_a_return_is_requested_once_with_reasons(
    platform: Platform, prolific: Prolific, client: ProlificClient
) -> None:
    campaign = open_campaign(platform, 1, **PAYING)
    submission = add_submission(platform, prolific, campaign.id, enter(platform, campaign.key).id)
    with pytest.raises(InvalidInput, match="no reason"):
        ask_return(platform, client, submission)
    for _ in range(2):
        ask_return(platform, client, submission, "You chose A twice.")
    assert prolific.submissions[submission]["return_requested"]
    assert len(prolific.requests) == 1
    recruit = load_case(platform, submission).submission
    assert (recruit.status, recruit.return_requested_at) == ("AWAITING REVIEW", NOW)


def test_decisions_are_logged_with_their_author(platform: Platform, prolific: Prolific, client: ProlificClient) -> None:
    campaign = open_campaign(platform, 1, **PAYING)
    submission = add_submission(platform, prolific, campaign.id, enter(platform, campaign.key).id)
    for _ in range(2):
        ask_return(platform, client, submission, "You chose A twice.")
        approve(platform, client, submission)
    with platform.database.reading() as tx:
        decisions = list(audit_log.iterate_events(tx, campaign.id, "decision_recorded"))
    assert [(one.staff_id, dict(one.content)) for one in decisions] == [
        (staff_of(platform), {"submission": "ask-return"}),
        (staff_of(platform), {"submission": "approve"}),
    ]


def test_one_failed_check_of_two_allows_no_rejection(
    platform: Platform, prolific: Prolific, client: ProlificClient
) -> None:
    campaign = open_campaign(platform, 1, **CHECKING)
    rater = enter(platform, campaign.key)
    answer_checks(platform, rater.id, first="A", second="B")
    submission = add_submission(platform, prolific, campaign.id, rater.id)
    submission_case = load_case(platform, submission)
    assert (submission_case.may_reject, submission_case.attempts) == (False, {"first": ["A"], "second": ["B"]})
    with pytest.raises(Conflict, match=r"cannot be rejected.*failed checks: 1"):
        reject(platform, client, submission, "FAILED_CHECK", RETURN_REASON)
    assert prolific.requests == []


def test_a_rejection_needs_failed_checks_a_valid_ground_and_a_long_reason(
    platform: Platform, prolific: Prolific, client: ProlificClient
) -> None:
    campaign = open_campaign(platform, 1, **CHECKING)
    rater = enter(platform, campaign.key)
    answer_checks(platform, rater.id, first="A", second="A")
    submission = add_submission(platform, prolific, campaign.id, rater.id)
    for category, reason, message in (
        ("TOO_QUICKLY", RETURN_REASON, "speed alone is not one"),
        ("", RETURN_REASON, "not a ground"),
        ("FAILED_CHECK", "Failed.", "has 7 characters"),
    ):
        with pytest.raises(InvalidInput, match=message):
            reject(platform, client, submission, category, reason)
    assert prolific.requests == []
    for _ in range(2):
        reject(platform, client, submission, "FAILED_CHECK", RETURN_REASON)
    assert status_of(platform, submission) == "REJECTED"
    # A rejection can be taken back.
    assert load_case(platform, submission).may_approve


def test_answers_to_changed_checks_are_ignored(platform: Platform, prolific: Prolific) -> None:
    campaign = open_campaign(platform, 1, **CHECKING)
    rater = enter(platform, campaign.key)
    answer_checks(platform, rater.id, first="C", removed="A")
    submission_case = load_case(platform, add_submission(platform, prolific, campaign.id, rater.id))
    assert (submission_case.attempts, submission_case.may_reject) == ({}, False)


def test_screened_out_people_can_be_paid_and_never_rejected(
    platform: Platform, prolific: Prolific, client: ProlificClient
) -> None:
    campaign = open_campaign(platform, 1, **PAYING)
    submission = add_submission(platform, prolific, campaign.id, None)
    submission_case = load_case(platform, submission)
    assert (submission_case.verdict, submission_case.may_reject) == (None, False)
    account = submission_case.screened_out_account
    assert account is not None
    assert account.owed == account.due == PAY["screened_out"]
    with pytest.raises(Conflict, match="cannot be rejected"):
        reject(platform, client, submission, "FAILED_CHECK", RETURN_REASON)
    approve(platform, client, submission)
    assert load_case(platform, submission).screened_out_account.due == 0  # type: ignore[union-attr]


def test_waiting_submissions_come_first_on_pages_of_a_hundred(platform: Platform, prolific: Prolific) -> None:
    campaign = open_campaign(platform, 1, **PAYING)
    for status in ["APPROVED"] * 100 + ["AWAITING REVIEW"] * 3:
        add_submission(platform, prolific, campaign.id, None, status)
    first = submissions.load_queue(platform, "pilot", staff_id=staff_of(platform))
    assert [one.submission.status for one in first.cases[:4]] == ["AWAITING REVIEW"] * 3 + ["APPROVED"]
    assert (first.n, first.n_waiting, first.page, first.pages, len(first.cases)) == (103, 3, 1, 2, 100)
    last = submissions.load_queue(platform, "pilot", page=99, staff_id=staff_of(platform))
    assert (last.page, len(last.cases)) == (2, 3)
    ids = {one.submission.submission for one in (*first.cases, *last.cases)}
    assert len(ids) == 103


def test_unknown_and_erased_submissions_are_not_found(platform: Platform, prolific: Prolific) -> None:
    campaign = open_campaign(platform, 1, **PAYING)
    erased = add_submission(platform, prolific, campaign.id, enter(platform, campaign.key).id)
    with platform.database.reading() as tx:
        rater_id = str(tx.scalar(select(RecruitTable.rater_id)))
    withdrawal.withdraw_rater(platform, rater_id, now=NOW)
    for submission in (erased, "0" * 24, "x"):
        with pytest.raises(NotFound, match="has no submission"):
            load_case(platform, submission)


def test_erasing_recruiter_ids_keeps_the_accounts(platform: Platform, prolific: Prolific) -> None:
    campaign = open_campaign(platform, 1, **PAYING)
    done, returned = enter(platform, campaign.key), worker(platform, campaign.key, HOUR)
    rate_all(platform, done)
    add_submission(platform, prolific, campaign.id, done.id, SubmissionStatus.APPROVED)
    add_submission(platform, prolific, campaign.id, returned.id, SubmissionStatus.RETURNED)
    add_submission(platform, prolific, campaign.id, None, SubmissionStatus.SCREENED_OUT)
    staff_id = staff_of(platform)
    with pytest.raises(Conflict, match=r"pilot is open.*Close it first"):
        submissions.erase_recruiter_ids(platform, "pilot", staff_id=staff_id, now=NOW)
    campaigns.change_state(platform, "pilot", "closed", staff_id=staff_id, now=NOW)
    before = {paid.work.rater_id: paid.account for paid in ledger(platform).raters}
    assert submissions.erase_recruiter_ids(platform, "pilot", staff_id=staff_id, now=NOW) == 3
    assert submissions.erase_recruiter_ids(platform, "pilot", staff_id=staff_id, now=NOW) == 0
    assert {paid.work.rater_id: paid.account for paid in ledger(platform).raters} == before
    assert [(one.amount, one.by) for one in history(platform, done).payments] == [(600, None)]
    with platform.database.reading() as tx:
        assert tx.execute(select(RecruitTable.submission)).all() == []
