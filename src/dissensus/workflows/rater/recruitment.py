"""Recruiter integration: submission statuses, return links and visit outcomes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dissensus.campaign.attention_checks import failed_screening
from dissensus.errors import Conflict
from dissensus.recruit.entry import RecruitEntry, ReturnLink, find_return_link
from dissensus.recruit.prolific import Outcome, ProlificEvent, SubmissionStatus, is_later_status
from dissensus.schema.campaign.definition import Campaign
from dissensus.store import assignments, campaigns, chats, check_answers, raters, recruits, seats
from dissensus.store.raters import RaterRow
from dissensus.store.recruits import RecruitRow
from dissensus.workflows.campaign.audit_log import log_event_about
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.context import RaterContext
from dissensus.workflows.rater.invite_links import find_recruit
from dissensus.workflows.rater.next_step import RaterStep, retake_seat


def handle_recruiter_event(platform: Platform, event: ProlificEvent, *, now: datetime) -> bool:
    """Apply a recruiter event and return whether anything changed; late and repeated events change nothing."""
    if event.submission is None or not isinstance(event.status, SubmissionStatus):
        return False
    return set_submission_status(platform, event.submission, event.status, now=now)


def set_submission_status(platform: Platform, submission: str, status: SubmissionStatus, *, now: datetime) -> bool:
    """Store a submission's new status if it follows the current one, and return whether it does.

    A status that frees the place releases the rater's seat and open items; answers stay. A finished rater takes a seat
    again when another status follows. A status that ends the submission stops the rater.
    """
    with platform.database.writing() as tx:
        recruit = recruits.find_recruit_by_submission(tx, submission)
        if recruit is None:
            return False
        # Read again under the lock.
        campaign_row = campaigns.get_campaign(tx, recruit.campaign_id, lock=True)
        recruit = recruits.find_recruit_by_submission(tx, submission)
        if recruit is None or not is_later_status(_status(recruit), status):
            return False
        recruits.set_recruit_status(tx, submission, status.value)
        rater = None if recruit.rater_id is None else raters.find_rater(tx, recruit.rater_id)
        log_event_about(tx, recruit.campaign_id, rater, "recruiter_event", {"status": status.value}, now=now)
        if rater is not None and status.frees_seat:
            seats.release_seat(tx, rater.id)
        elif rater is not None:
            retake_seat(tx, RaterContext(rater, campaign_row, platform.definitions.load(tx, campaign_row)), now=now)
        if rater is not None and (status.frees_seat or status.ends):
            _end_work(tx, rater, now)
        return True


def _end_work(tx: Connection, rater: RaterRow, now: datetime) -> None:
    """Stop a rater; one who had finished stays so, and loses the items they took afterwards."""
    if rater.state == "rating":
        raters.set_rater_state(tx, rater.id, "stopped", now=now)
    elif rater.state == "finished":
        assignments.reclaim_open_assignments(tx, rater, now=now)


def _status(recruit: RecruitRow) -> SubmissionStatus | None:
    return None if recruit.status is None else SubmissionStatus(recruit.status)


def _is_over(recruit: RecruitRow) -> bool:
    status = _status(recruit)
    return status is not None and status.ends


def return_link(campaign: Campaign, outcome: Outcome, person: str) -> ReturnLink | None:
    """Return the link of a person back to the recruiter; None without one."""
    return None if campaign.recruit is None else find_return_link(campaign.recruit, outcome, person)


def count_repeat_visit(platform: Platform, campaign_id: str, entry: RecruitEntry) -> None:
    """Count a visit of a participant who came before by another submission."""
    with platform.database.writing() as tx:
        recruit = find_recruit(tx, campaign_id, entry)
        if recruit is not None:
            recruits.count_repeat_visit(tx, recruit.submission)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecruiterVisit:
    """Recruiter's view of a rater with nothing left to rate."""

    back: ReturnLink | None  # None if there is nothing to submit
    turned_away: ReturnLink | None  # for a rater for whom there is no seat
    over: bool  # True if the recruiter has ended the submission


def load_recruiter_visit(platform: Platform, step: RaterStep) -> RecruiterVisit | None:
    """Return the recruiter visit of a rater with nothing left to rate; None without a recruiter."""
    if step.campaign.recruit is None:
        return None
    with platform.database.reading() as tx:
        recruit = recruits.find_recruit_of_rater(tx, step.rater.id)
        attempts = check_answers.load_attempts(tx, step.rater.id)
    if recruit is None:
        return None
    over = _is_over(recruit)
    outcome = None if over else visit_outcome(step, attempts)
    back = None if outcome is None else return_link(step.campaign, outcome, recruit.person)
    return RecruiterVisit(back=back, turned_away=return_link(step.campaign, "quota_full", recruit.person), over=over)


def check_may_continue(tx: Connection, context: RaterContext) -> None:
    """Refuse raters who failed the comprehension check or whose submission has ended."""
    if failed_screening(context.campaign.checks, check_answers.load_attempts(tx, context.rater.id)):
        raise Conflict("Your visit has ended. Reload the page.")
    recruit = None if context.campaign.recruit is None else recruits.find_recruit_of_rater(tx, context.rater.id)
    if recruit is not None and _is_over(recruit):
        raise Conflict("This visit has ended on Prolific, so further work would not be paid.")


def withdrawal_return_link(platform: Platform, rater_id: str) -> ReturnLink | None:
    """Return the return link for a rater about to withdraw; None without an open submission."""
    with platform.database.reading() as tx:
        recruit = recruits.find_recruit_of_rater(tx, rater_id)
        if recruit is None or _is_over(recruit):
            return None
        campaign = platform.definitions.load(tx, campaigns.get_campaign(tx, recruit.campaign_id))
        n_chats, _ = chats.count_chats(tx, rater_id)
        # A returned submission cannot be paid.
        paid = campaign.pay is not None and assignments.count_rated_items(tx, rater_id) + n_chats > 0
    return return_link(campaign, "screened_out" if paid else "no_consent", recruit.person)


def visit_outcome(step: RaterStep, attempts: Mapping[str, Sequence[str]]) -> Outcome | None:
    """Return the outcome of a visit; None if it is not over.

    A rater who rated nothing counts as quota-full; a closed campaign counts as completed; one who worked and would have
    to wait may leave as screened out. Rejectable work is reported as failed attention: a person decides.
    """
    rated = step.progress.n_done > 0
    match step.stage:
        case "unfit":
            return "screened_out"
        case "full" | "wait":
            return "screened_out" if rated else "quota_full"
        case "enough" | "paused" if rated:
            return "screened_out"
        case "done" if step.rater.state == "stopped":
            return "stopped"
        case "closed" | "done":
            if rated and step.campaign.verdict(attempts).may_reject:
                return "failed_attention"
            return "completed" if rated else "quota_full"
    return None
