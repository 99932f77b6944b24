"""Decisions on submissions, asked of a Prolific on loopback."""

from collections.abc import Iterator

import pytest
from sqlalchemy import select
from tests.recruit.fake_prolific import TOKEN, Prolific, Trouble, refusal
from tests.support.campaigns import NOW, open_campaign
from tests.support.pay import HOUR, history, ledger, staff_of, worker
from tests.support.raters import enter, rate_all
from tests.support.recruited_raters import CHECKING, PAY, PAYING, RETURN_REASON, answered, arrived, status_of

from dissensus.errors import Conflict, DissensusError, InvalidInput, NotAllowed, NotFound, Unavailable
from dissensus.recruit.prolific import ProlificClient, SubmissionStatus
from dissensus.store import events
from dissensus.store.recruits import RecruitTable
from dissensus.workflows.campaign import campaigns, submissions
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import withdrawal


@pytest.fixture
def client(prolific: Prolific) -> Iterator[ProlificClient]:
    with ProlificClient(TOKEN, base=prolific.root, max_attempts=1) as client:
        yield client


def case(platform: Platform, submission: str) -> submissions.SubmissionCase:
    return submissions.load_case(platform, "pilot", submission, staff_id=staff_of(platform))[1]


def approve(platform: Platform, client: ProlificClient, submission: str) -> None:
    submissions.approve_submission(platform, client, "pilot", submission, staff_id=staff_of(platform), now=NOW)


def ask_return(platform: Platform, client: ProlificClient, submission: str, *reasons: str) -> None:
    who = {"reasons": list(reasons), "staff_id": staff_of(platform), "now": NOW}
    submissions.request_return(platform, client, "pilot", submission, **who)  # type: ignore[arg-type]


def reject(platform: Platform, client: ProlificClient, submission: str, category: str, reason: str) -> None:
    who = {"ground": (category, reason), "staff_id": staff_of(platform), "now": NOW}
    submissions.reject_submission(platform, client, "pilot", submission, **who)  # type: ignore[arg-type]


def test_approving_pays_once_and_is_kept(platform: Platform, prolific: Prolific, client: ProlificClient) -> None:
    kept = open_campaign(platform, 1, **PAYING)
    rater = enter(platform, kept.key)
    rate_all(platform, rater)
    submission = arrived(platform, prolific, kept.id, rater.id)
    assert history(platform, rater).paid.account.due == 600
    for _ in range(2):
        approve(platform, client, submission)
    assert prolific.submissions[submission]["status"] == status_of(platform, submission) == "APPROVED"
    assert prolific.asked == [f"POST /api/v1/submissions/{submission}/transition/"]
    assert history(platform, rater).paid.account.due == 0
    found = case(platform, submission)
    assert (found.may_approve, found.may_ask_return, found.may_reject) == (False, False, False)


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        (refusal(400, "No places are left."), InvalidInput, "No places are left"),
        (refusal(401, f"Invalid: {TOKEN}"), NotAllowed, "Is the token right"),
        (refusal(500, "Broken."), Unavailable, "HTTP 500"),
    ],
)
def test_what_prolific_refuses_is_told_in_its_words_and_changes_nothing(
    platform: Platform,
    prolific: Prolific,
    client: ProlificClient,
    answer: object,
    error: type[DissensusError],
    told: str,
) -> None:
    kept = open_campaign(platform, 1, **PAYING)
    submission = arrived(platform, prolific, kept.id, enter(platform, kept.key).id)
    prolific.trouble.append(Trouble(answer.status_code, {}, bytes(answer.body)))  # type: ignore[attr-defined]
    with pytest.raises(error, match=told) as caught:
        approve(platform, client, submission)
    assert TOKEN not in str(caught.value)
    assert status_of(platform, submission) == "AWAITING REVIEW"


def test_a_return_is_asked_for_once_with_reasons(
    platform: Platform, prolific: Prolific, client: ProlificClient
) -> None:
    kept = open_campaign(platform, 1, **PAYING)
    submission = arrived(platform, prolific, kept.id, enter(platform, kept.key).id)
    with pytest.raises(InvalidInput, match="no reason"):
        ask_return(platform, client, submission)
    for _ in range(2):
        ask_return(platform, client, submission, "You chose A twice.")
    assert prolific.submissions[submission]["return_requested"]
    assert len(prolific.asked) == 1
    found = case(platform, submission).submission
    assert (found.status, found.return_asked_at) == ("AWAITING REVIEW", NOW)


def test_who_decided_is_in_the_log(platform: Platform, prolific: Prolific, client: ProlificClient) -> None:
    kept = open_campaign(platform, 1, **PAYING)
    submission = arrived(platform, prolific, kept.id, enter(platform, kept.key).id)
    for _ in range(2):
        ask_return(platform, client, submission, "You chose A twice.")
        approve(platform, client, submission)
    with platform.database.reading() as tx:
        decided = list(events.iterate_events(tx, kept.id, "decision_recorded"))
    assert [(one.staff_id, dict(one.content)) for one in decided] == [
        (staff_of(platform), {"submission": "ask-return"}),
        (staff_of(platform), {"submission": "approve"}),
    ]


def test_one_failed_check_of_two_allows_no_rejection(
    platform: Platform, prolific: Prolific, client: ProlificClient
) -> None:
    kept = open_campaign(platform, 1, **CHECKING)
    rater = enter(platform, kept.key)
    answered(platform, rater.id, first="A", second="B")
    submission = arrived(platform, prolific, kept.id, rater.id)
    found = case(platform, submission)
    assert (found.may_reject, found.tries) == (False, {"first": ["A"], "second": ["B"]})
    with pytest.raises(Conflict, match=r"cannot be rejected.*checks that were failed: 1"):
        reject(platform, client, submission, "FAILED_CHECK", RETURN_REASON)
    assert prolific.asked == []


def test_a_rejection_needs_failed_checks_a_ground_that_is_not_speed_and_a_long_reason(
    platform: Platform, prolific: Prolific, client: ProlificClient
) -> None:
    kept = open_campaign(platform, 1, **CHECKING)
    rater = enter(platform, kept.key)
    answered(platform, rater.id, first="A", second="A")
    submission = arrived(platform, prolific, kept.id, rater.id)
    for category, reason, told in (
        ("TOO_QUICKLY", RETURN_REASON, "speed alone is none"),
        ("", RETURN_REASON, "no ground"),
        ("FAILED_CHECK", "Failed.", "has 7 characters"),
    ):
        with pytest.raises(InvalidInput, match=told):
            reject(platform, client, submission, category, reason)
    assert prolific.asked == []
    for _ in range(2):
        reject(platform, client, submission, "FAILED_CHECK", RETURN_REASON)
    assert status_of(platform, submission) == "REJECTED"
    # A rejection can be taken back.
    assert case(platform, submission).may_approve


def test_answers_to_checks_that_changed_meanwhile_say_nothing(platform: Platform, prolific: Prolific) -> None:
    kept = open_campaign(platform, 1, **CHECKING)
    rater = enter(platform, kept.key)
    answered(platform, rater.id, first="C", gone="A")
    found = case(platform, arrived(platform, prolific, kept.id, rater.id))
    assert (found.tries, found.may_reject) == ({}, False)


def test_who_was_turned_away_can_be_paid_and_never_rejected(
    platform: Platform, prolific: Prolific, client: ProlificClient
) -> None:
    kept = open_campaign(platform, 1, **PAYING)
    submission = arrived(platform, prolific, kept.id, None)
    found = case(platform, submission)
    assert (found.verdict, found.may_reject) == (None, False)
    assert found.away is not None
    assert (found.away.owed, found.away.due) == (PAY["screened_out"], PAY["screened_out"])
    with pytest.raises(Conflict, match="cannot be rejected"):
        reject(platform, client, submission, "FAILED_CHECK", RETURN_REASON)
    approve(platform, client, submission)
    assert case(platform, submission).away.due == 0  # type: ignore[union-attr]


def test_those_that_wait_come_first_and_a_page_has_a_hundred(platform: Platform, prolific: Prolific) -> None:
    kept = open_campaign(platform, 1, **PAYING)
    for status in ["APPROVED"] * 100 + ["AWAITING REVIEW"] * 3:
        arrived(platform, prolific, kept.id, None, status)
    first = submissions.load_queue(platform, "pilot", staff_id=staff_of(platform))
    assert [one.submission.status for one in first.cases[:4]] == ["AWAITING REVIEW"] * 3 + ["APPROVED"]
    assert (first.n, first.n_waiting, first.page, first.pages, len(first.cases)) == (103, 3, 1, 2, 100)
    last = submissions.load_queue(platform, "pilot", page=99, staff_id=staff_of(platform))
    assert (last.page, len(last.cases)) == (2, 3)
    ids = {one.submission.submission for one in (*first.cases, *last.cases)}
    assert len(ids) == 103


def test_a_submission_of_another_campaign_or_none_is_not_there(platform: Platform, prolific: Prolific) -> None:
    kept = open_campaign(platform, 1, **PAYING)
    gone = arrived(platform, prolific, kept.id, enter(platform, kept.key).id)
    with platform.database.reading() as tx:
        rater_id = str(tx.scalar(select(RecruitTable.rater_id)))
    withdrawal.withdraw_rater(platform, rater_id, now=NOW)
    for submission in (gone, "0" * 24, "x"):
        with pytest.raises(NotFound, match="has no submission"):
            case(platform, submission)


def test_erasing_forgets_who_came_and_not_what_they_were_paid(platform: Platform, prolific: Prolific) -> None:
    kept = open_campaign(platform, 1, **PAYING)
    done, left = enter(platform, kept.key), worker(platform, kept.key, HOUR)
    rate_all(platform, done)
    arrived(platform, prolific, kept.id, done.id, SubmissionStatus.APPROVED)
    arrived(platform, prolific, kept.id, left.id, SubmissionStatus.RETURNED)
    arrived(platform, prolific, kept.id, None, SubmissionStatus.SCREENED_OUT)
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
