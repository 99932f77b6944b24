"""What an owner decides on the submissions of raters from Prolific; nothing is decided by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from sqlalchemy import Connection

from dissensus.campaign.pay import Account
from dissensus.errors import Conflict, NotFound
from dissensus.recruit.prolific import ProlificClient, RejectionCategory, SubmissionStatus, is_later_status
from dissensus.schema.campaign.attention_check import Verdict
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.hints import format_value
from dissensus.store import check_answers, events, recruits, submissions, work
from dissensus.store.campaigns import Kept
from dissensus.store.submissions import Submission
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.campaign.pay import account_of_screened_out, record_prolific_payment
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.recruitment import become

PAGE_SIZE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionCase:
    """A submission, and what may be done about it.

    Parameters
    ----------
    submission
        Which one.
    tries
        What the rater answered to each check.
    verdict
        How they did in them; None for who was turned away.
    away
        The account of who was turned away; None for others, and where the campaign says nothing of pay.
    """

    submission: Submission
    tries: Mapping[str, Sequence[str]]
    verdict: Verdict | None
    away: Account | None

    @property
    def may_approve(self) -> bool:
        """Whether it may be approved."""
        return self._may_become(SubmissionStatus.APPROVED)

    @property
    def may_ask_return(self) -> bool:
        """Whether its return may be asked for."""
        return self._may_become(SubmissionStatus.RETURNED)

    @property
    def may_reject(self) -> bool:
        """Whether it may be rejected: failed checks of attention are the one ground that there is here."""
        return self.verdict is not None and self.verdict.may_reject and self._may_become(SubmissionStatus.REJECTED)

    def _may_become(self, status: SubmissionStatus) -> bool:
        known = self.submission.status
        return is_later_status(None if known is None else SubmissionStatus(known), status)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionQueue:
    """Some submissions of a campaign.

    Parameters
    ----------
    cases
        Those that wait for a decision first.
    n, n_waiting
        How many there are in all, and wait.
    page, pages
        Which part this is, from 1, of how many.
    closed
        Whether the campaign is closed.
    """

    cases: tuple[SubmissionCase, ...]
    n: int
    n_waiting: int
    page: int
    pages: int
    closed: bool


def load_queue(platform: Platform, name: str, *, page: int = 1, staff_id: str) -> SubmissionQueue:
    """Return some submissions of a campaign; a page after the last one is the last one."""
    with platform.database.reading() as tx:
        kept, campaign = _load_recruiting_campaign(tx, platform, name, staff_id)
        n = submissions.n_submissions(tx, kept.id)
        pages = max(1, -(-n // PAGE_SIZE))
        page = min(page, pages)
        waiting = SubmissionStatus.AWAITING_REVIEW.value
        found = submissions.submissions_of(tx, kept.id, first=waiting, start=(page - 1) * PAGE_SIZE, most=PAGE_SIZE)
        return SubmissionQueue(
            cases=_to_cases(tx, campaign, found),
            n=n,
            n_waiting=submissions.n_submissions(tx, kept.id, status=waiting),
            page=page,
            pages=pages,
            closed=kept.state == "closed",
        )


def list_cases_after(
    platform: Platform, name: str, *, waiting: bool = False, after: str, most: int, staff_id: str
) -> tuple[SubmissionCase, ...]:
    """Return submissions of a campaign, or those that wait for a decision, by their ids, after one."""
    status = SubmissionStatus.AWAITING_REVIEW.value if waiting else None
    with platform.database.reading() as tx:
        kept, campaign = _load_recruiting_campaign(tx, platform, name, staff_id)
        found = submissions.submissions_after(tx, kept.id, status=status, after=after, most=most)
        return _to_cases(tx, campaign, found)


def load_case(platform: Platform, name: str, submission: str, *, staff_id: str) -> tuple[Campaign, SubmissionCase]:
    """Return one submission, and the campaign that it is for."""
    with platform.database.reading() as tx:
        kept, campaign = _load_recruiting_campaign(tx, platform, name, staff_id)
        found = submissions.submission_of(tx, kept.id, submission)
        if found is None:
            raise NotFound(f"{name} has no submission {format_value(submission)}, or it was erased.")
        return campaign, _to_cases(tx, campaign, [found])[0]


def _load_recruiting_campaign(tx: Connection, platform: Platform, name: str, staff_id: str) -> tuple[Kept, Campaign]:
    kept, _ = campaign_for_member(tx, name, staff_id)
    campaign = platform.definitions.of(tx, kept)
    if campaign.prolific is None:
        raise NotFound(f"{name} has no raters from Prolific: its definition has no [prolific].")
    return kept, campaign


def _to_cases(tx: Connection, campaign: Campaign, found: Sequence[Submission]) -> tuple[SubmissionCase, ...]:
    tries = check_answers.tries_of_several(tx, [one.rater_id for one in found if one.rater_id is not None])
    return tuple(_to_case(campaign, one, tries.get(one.rater_id or "", {})) for one in found)


def _to_case(campaign: Campaign, one: Submission, given: Mapping[str, Sequence[str]]) -> SubmissionCase:
    # The checks of a campaign that pauses can change: what was answered to another one says nothing of these.
    scales = {check.name: check.scale for check in campaign.checks}
    tries = {name: every for name, every in given.items() if set(every) <= set(scales.get(name, ()))}
    away = one.rater_id is None
    return SubmissionCase(
        submission=one,
        tries=tries,
        verdict=None if away else campaign.verdict(tries),
        away=account_of_screened_out(campaign.pay, one.status) if away and campaign.pay else None,
    )


def approve_submission(platform: Platform, prolific: ProlificClient, name: str, submission: str, *, staff_id: str, now: datetime) -> None:
    """Let Prolific pay somebody the reward; twice is once.

    Raises
    ------
    Conflict
        What Prolific told last of the submission does not allow it.
    """
    _, found = load_case(platform, name, submission, staff_id=staff_id)
    if found.submission.status == SubmissionStatus.APPROVED:
        return
    _check(found.may_approve, found, "approved")
    # Nothing is held of the database while Prolific answers.
    prolific.approve(submission)
    _log_decision(platform, submission, "approve", staff_id=staff_id, now=now)
    become(platform, submission, SubmissionStatus.APPROVED, now=now)


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
    """Let Prolific refuse to pay somebody who failed checks of attention; twice is once.

    Raises
    ------
    Conflict
        They did not fail as many as it takes, or what Prolific told last does not allow it.
    """
    _, found = load_case(platform, name, submission, staff_id=staff_id)
    if found.submission.status == SubmissionStatus.REJECTED:
        return
    _check(found.may_reject, found, "rejected")
    category, reason = ground
    # The client itself refuses what is no category.
    prolific.reject(submission, cast("RejectionCategory", category), reason)
    _log_decision(platform, submission, "reject", staff_id=staff_id, now=now)
    become(platform, submission, SubmissionStatus.REJECTED, now=now)


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
    """Ask somebody to give a submission back; who was asked before is not asked again.

    Raises
    ------
    Conflict
        What Prolific told last of the submission does not allow it.
    """
    _, found = load_case(platform, name, submission, staff_id=staff_id)
    if found.submission.return_asked_at is not None:
        return
    _check(found.may_ask_return, found, "returned")
    prolific.ask_return(submission, reasons)
    _log_decision(platform, submission, "ask-return", staff_id=staff_id, now=now)
    with platform.database.writing() as tx:
        submissions.asked_return(tx, submission, now=now)


def _log_decision(platform: Platform, submission: str, what: str, *, staff_id: str, now: datetime) -> None:
    """Keep who decided what Prolific has taken; of the rater, so that it goes with them."""
    with platform.database.writing() as tx:
        known = recruits.recruit_by(tx, submission)
        if known is not None:
            about = {"rater_id": known.rater_id, "staff_id": staff_id}
            events.record(tx, known.campaign_id, "decide", {"submission": what}, **about, now=now)


def _check(allowed: bool, found: SubmissionCase, what: str) -> None:
    if not allowed:
        told = found.submission.status or "nothing"
        failed = len(found.verdict.failed) if found.verdict else 0
        raise Conflict(
            f"The submission cannot be {what}. Prolific told last: {told}; checks that were failed: {failed}. "
            "Nothing was sent."
        )


def erase_recruiter_ids(platform: Platform, name: str, *, staff_id: str, now: datetime) -> int:
    """Erase by which ids raters are known to Prolific, and return how many they were; what it paid them is noted.

    Raises
    ------
    Conflict
        The campaign is not closed, so that more may come.
    """
    with platform.database.writing() as tx:
        # Others who come, and whom the recruiter tells of, wait.
        campaign_for_member(tx, name, staff_id, lock=True)
        kept, campaign = _load_recruiting_campaign(tx, platform, name, staff_id)
        if kept.state != "closed":
            raise Conflict(f"{name} is {kept.state}, and who comes back must be known. Close it first.")
        if campaign.pay is not None:
            for one in work.work_of(tx, kept.id):
                record_prolific_payment(tx, campaign.pay, one, now=now)
        n = submissions.erase_all(tx, kept.id)
        log_staff_event(tx, kept.id, "erase", staff_id, now, recruits=n)
        return n
