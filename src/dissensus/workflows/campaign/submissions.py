"""Approve, reject or return Prolific submissions. Every decision is made by an owner."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, cast

from sqlalchemy import Connection

from dissensus.campaign.pay import PayAccount
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.recruit.prolific import ProlificClient, RejectionCategory, SubmissionStatus, is_later_status
from dissensus.schema.campaign.attention_check import CheckVerdict
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.numbers import clamp_page
from dissensus.store import check_answers, payments, raters, recruits
from dissensus.store.campaigns import CampaignRow
from dissensus.store.recruits import SubmissionRow
from dissensus.workflows.campaign.audit_log import log_event_about, log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member, load_member_campaign
from dissensus.workflows.campaign.pay import account_of_screened_out, record_prolific_payment
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.recruitment import set_submission_status

PAGE_SIZE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionCase:
    """A submission with the decisions that are allowed."""

    submission: SubmissionRow
    attempts: Mapping[str, Sequence[str]]  # answers to each attention check
    verdict: CheckVerdict | None  # None for a rater who was turned away
    screened_out_account: PayAccount | None  # account of a rater who was turned away; None for others or without [pay]

    @property
    def may_approve(self) -> bool:
        """True if the submission may be approved."""
        return self._may_become(SubmissionStatus.APPROVED)

    @property
    def may_ask_return(self) -> bool:
        """True if its return may be requested."""
        return self._may_become(SubmissionStatus.RETURNED)

    @property
    def may_reject(self) -> bool:
        """True if it may be rejected; failed attention checks are the only accepted ground."""
        return self.verdict is not None and self.verdict.may_reject and self._may_become(SubmissionStatus.REJECTED)

    def _may_become(self, status: SubmissionStatus) -> bool:
        current = self.submission.status
        return is_later_status(None if current is None else SubmissionStatus(current), status)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionQueue:
    """One page of a campaign's submissions."""

    cases: tuple[SubmissionCase, ...]  # those awaiting a decision first
    n: int
    n_waiting: int
    page: int  # one-based
    pages: int
    closed: bool


def load_queue(platform: Platform, name: str, *, page: int = 1, staff_id: str) -> SubmissionQueue:
    """Return a page of submissions; pages beyond the end give the last page."""
    with platform.database.reading() as tx:
        campaign_row, campaign = _load_prolific_campaign(tx, platform, name, staff_id)
        n = recruits.count_submissions(tx, campaign_row.id)
        page, pages, start = clamp_page(page, n, PAGE_SIZE)
        waiting = SubmissionStatus.AWAITING_REVIEW.value
        rows = recruits.list_submissions(tx, campaign_row.id, first=waiting, start=start, most=PAGE_SIZE)
        return SubmissionQueue(
            cases=_to_cases(tx, campaign, rows),
            n=n,
            n_waiting=recruits.count_submissions(tx, campaign_row.id, status=waiting),
            page=page,
            pages=pages,
            closed=campaign_row.state == "closed",
        )


def list_cases_after(
    platform: Platform, name: str, *, waiting: bool = False, after: str, most: int, staff_id: str
) -> tuple[SubmissionCase, ...]:
    """Return submissions, or only waiting ones, in order of id after the given id."""
    status = SubmissionStatus.AWAITING_REVIEW.value if waiting else None
    with platform.database.reading() as tx:
        campaign_row, campaign = _load_prolific_campaign(tx, platform, name, staff_id)
        rows = recruits.list_submissions_after(tx, campaign_row.id, status=status, after=after, most=most)
        return _to_cases(tx, campaign, rows)


def load_case(platform: Platform, name: str, submission: str, *, staff_id: str) -> tuple[Campaign, SubmissionCase]:
    """Return one submission and its campaign."""
    with platform.database.reading() as tx:
        campaign_row, campaign = _load_prolific_campaign(tx, platform, name, staff_id)
        row = recruits.find_submission(tx, campaign_row.id, submission)
        if row is None:
            raise NotFound(f"{name} has no submission {format_value(submission)}, or it was erased.")
        return campaign, _to_cases(tx, campaign, [row])[0]


def _load_recruiting_campaign(
    tx: Connection, platform: Platform, name: str, staff_id: str
) -> tuple[CampaignRow, Campaign]:
    campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
    if campaign.recruit is None:
        raise NotFound(f"{name} has no recruiter: its definition has no [recruit].")
    return campaign_row, campaign


def _load_prolific_campaign(
    tx: Connection, platform: Platform, name: str, staff_id: str
) -> tuple[CampaignRow, Campaign]:
    campaign_row, campaign = _load_recruiting_campaign(tx, platform, name, staff_id)
    if campaign.recruit is None or campaign.recruit.kind != "prolific":
        raise NotFound(f"{name} has no raters from Prolific, and other panels decide on submissions themselves.")
    return campaign_row, campaign


def _to_cases(tx: Connection, campaign: Campaign, rows: Sequence[SubmissionRow]) -> tuple[SubmissionCase, ...]:
    attempts = check_answers.load_attempts_by_rater(tx, [row.rater_id for row in rows if row.rater_id is not None])
    return tuple(_to_case(campaign, row, attempts.get(row.rater_id or "", {})) for row in rows)


def _to_case(campaign: Campaign, row: SubmissionRow, attempts: Mapping[str, Sequence[str]]) -> SubmissionCase:
    # The checks of a paused campaign can change: answers to an earlier check do not count.
    scales = {check.name: check.scale for check in campaign.checks}
    attempts = {name: answers for name, answers in attempts.items() if set(answers) <= set(scales.get(name, ()))}
    turned_away = row.rater_id is None
    return SubmissionCase(
        submission=row,
        attempts=attempts,
        verdict=None if turned_away else campaign.verdict(attempts),
        screened_out_account=account_of_screened_out(campaign.pay, row.status)
        if turned_away and campaign.pay
        else None,
    )


def approve_submission(
    platform: Platform, prolific: ProlificClient, name: str, submission: str, *, staff_id: str, now: datetime
) -> None:
    """Approve a submission on Prolific; idempotent."""
    _, case = load_case(platform, name, submission, staff_id=staff_id)
    if case.submission.status == SubmissionStatus.APPROVED:
        return
    _check_allowed(case.may_approve, case, "approved")
    # No transaction is open while Prolific responds.
    prolific.approve(submission)
    _log_decision(platform, submission, "approve", staff_id=staff_id, now=now)
    set_submission_status(platform, submission, SubmissionStatus.APPROVED, now=now)


def reject_submission(
    platform: Platform,
    prolific: ProlificClient,
    name: str,
    submission: str,
    *,
    ground: tuple[str, str],
    staff_id: str,
    now: datetime,
) -> None:
    """Reject the submission of a rater who failed attention checks; idempotent."""
    _, case = load_case(platform, name, submission, staff_id=staff_id)
    if case.submission.status == SubmissionStatus.REJECTED:
        return
    _check_allowed(case.may_reject, case, "rejected")
    category, reason = ground
    # The client rejects unknown categories.
    prolific.reject(submission, cast("RejectionCategory", category), reason)
    _log_decision(platform, submission, "reject", staff_id=staff_id, now=now)
    set_submission_status(platform, submission, SubmissionStatus.REJECTED, now=now)


def request_return(
    platform: Platform,
    prolific: ProlificClient,
    name: str,
    submission: str,
    *,
    reasons: Sequence[str],
    staff_id: str,
    now: datetime,
) -> None:
    """Ask a participant to return a submission; asks only once."""
    _, case = load_case(platform, name, submission, staff_id=staff_id)
    if case.submission.return_requested_at is not None:
        return
    _check_allowed(case.may_ask_return, case, "returned")
    prolific.ask_return(submission, reasons)
    _log_decision(platform, submission, "ask-return", staff_id=staff_id, now=now)
    with platform.database.writing() as tx:
        recruits.record_return_request(tx, submission, now=now)


def find_decision(decision: object, *, reasons: Sequence[str], rejection: tuple[str, str]) -> Callable[..., None]:
    """Return the workflow of a decision."""
    decisions: Mapping[object, Callable[..., None]] = {
        "approve": approve_submission,
        "ask-return": partial(request_return, reasons=reasons),
        "reject": partial(reject_submission, ground=rejection),
    }
    if decision not in decisions:
        raise InvalidInput(f"{format_value(decision)} is not a decision. Decisions are {format_list(list(decisions))}.")
    return decisions[decision]


def _log_decision(platform: Platform, submission: str, decision: str, *, staff_id: str, now: datetime) -> None:
    """Log a decision that Prolific accepted, as an event of the rater, so that it is erased with them."""
    with platform.database.writing() as tx:
        recruit = recruits.find_recruit_by_submission(tx, submission)
        if recruit is not None:
            rater = None if recruit.rater_id is None else raters.find_rater(tx, recruit.rater_id)
            content = {"submission": decision}
            log_event_about(tx, recruit.campaign_id, rater, "decision_recorded", content, staff_id=staff_id, now=now)


def _check_allowed(allowed: bool, case: SubmissionCase, decision: str) -> None:
    if not allowed:
        status = case.submission.status or "none"
        n_failed = len(case.verdict.failed) if case.verdict else 0
        raise Conflict(
            f"The submission cannot be {decision}. Last status on Prolific: {status}; failed checks: {n_failed}. "
            "Nothing was sent."
        )


def erase_recruiter_ids(platform: Platform, name: str, *, staff_id: str, now: datetime) -> int:
    """Erase all ids of recruiters of a closed campaign, recording payments first, and return their number."""
    with platform.database.writing() as tx:
        # The lock holds back new raters and recruiter events.
        campaign_for_member(tx, name, staff_id, lock=True)
        campaign_row, campaign = _load_recruiting_campaign(tx, platform, name, staff_id)
        if campaign_row.state != "closed":
            raise Conflict(f"{name} is {campaign_row.state}, and returning raters must be recognised. Close it first.")
        if campaign.pay is not None:
            for work in payments.load_work(tx, campaign_row.id):
                record_prolific_payment(tx, campaign.pay, work, now=now)
        n = recruits.erase_recruits(tx, campaign_row.id)
        log_staff_event(tx, campaign_row.id, "recruiter_ids_erased", staff_id, now, recruits=n)
        return n
