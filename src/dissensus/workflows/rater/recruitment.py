"""What a recruiter is told of those whom it sent, and what it tells of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dissensus.campaign.attention_checks import is_unfit
from dissensus.errors import Conflict
from dissensus.recruit.prolific import ProlificEntry, ProlificEvent, Outcome, SubmissionStatus, completion_url, is_later_status
from dissensus.schema.campaign.definition import Campaign
from dissensus.store import answer_drafts, campaigns, check_answers, events, raters, recruits, seats
from dissensus.store.recruits import Recruit
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.invite_links import recruit_of
from dissensus.workflows.rater.journey import Present, Step


def told(platform: Platform, event: ProlificEvent, *, now: datetime) -> bool:
    """Keep what an event tells of a visit, and tell whether anything changed by it.

    An event that comes late, again or out of order changes nothing, nor does one of a visit that nobody here knows.
    """
    if event.submission is None or not isinstance(event.status, SubmissionStatus):
        return False
    return become(platform, event.submission, event.status, now=now)


def become(platform: Platform, submission: str, status: SubmissionStatus, *, now: datetime) -> bool:
    """Keep the new status of a visit if it follows from the one before, and tell whether it does.

    Where the recruiter gives the place to somebody else, the seat and the items that were not begun are for others, and
    what the rater gave is kept. Whose visit is over is given nothing more to rate.
    """
    with platform.database.writing() as tx:
        known = recruits.recruit_by(tx, submission)
        if known is None:
            return False
        campaigns.campaign_of(tx, known.campaign_id, lock=True)
        known = recruits.recruit_by(tx, submission)
        if known is None or not is_later_status(_status(known), status):
            return False
        recruits.set_status(tx, submission, status.value, now=now)
        events.record(tx, known.campaign_id, "recruiter", {"status": status.value}, rater_id=known.rater_id, now=now)
        rater = None if known.rater_id is None else raters.rater_of(tx, known.rater_id)
        if rater is not None and status.frees_seat:
            seats.release(tx, rater.id, now=now)
        if rater is not None and rater.state == "rating" and (status.frees_seat or status.ends):
            raters.set_standing(tx, rater.id, "stopped", now=now)
        return True


def _status(recruit: Recruit) -> SubmissionStatus | None:
    return None if recruit.status is None else SubmissionStatus(recruit.status)


def _is_over(recruit: Recruit) -> bool:
    status = _status(recruit)
    return status is not None and status.ends


@dataclass(frozen=True, slots=True, kw_only=True)
class WayBack:
    """How somebody goes back to the recruiter who sent them, so that it learns how their visit ended.

    Parameters
    ----------
    address, code
        Where they go, and what they can type there instead.
    """

    address: str
    code: str


def way_back(campaign: Campaign, outcome: Outcome) -> WayBack | None:
    """Return the way back of who was sent to a campaign, None where nobody is."""
    if campaign.prolific is None:
        return None
    codes = campaign.prolific.codes
    return WayBack(address=completion_url(codes, outcome), code=codes[outcome])


def came_again(platform: Platform, campaign_id: str, sent: ProlificEntry) -> None:
    """Count that somebody came who is known by another submission."""
    with platform.database.writing() as tx:
        known = recruit_of(tx, campaign_id, sent)
        if known is not None:
            recruits.came_again(tx, known.submission)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """The visit of somebody whom a recruiter sent, where they have nothing to rate.

    Parameters
    ----------
    back
        How they go back; None where there is nothing to hand in, or they stopped and hand nothing in.
    over
        Whether the recruiter says that the visit is over.
    """

    back: WayBack | None
    over: bool


def visit(platform: Platform, step: Step) -> Visit | None:
    """Return what a rater who has nothing to rate is to know of their recruiter, None where nobody sent them."""
    if step.campaign.prolific is None:
        return None
    with platform.database.reading() as tx:
        known = recruits.recruited_as(tx, step.rater.id)
        tries = check_answers.tries_of(tx, step.rater.id)
    if known is None:
        return None
    over = _is_over(known)
    outcome = None if over else outcome_of(step, tries)
    return Visit(back=None if outcome is None else way_back(step.campaign, outcome), over=over)


def check_goes_on(tx: Connection, here: Present) -> None:
    """Refuse who wants to go on and may not: who did not understand what to do, or whom nobody would pay for it."""
    if is_unfit(here.campaign.checks, check_answers.tries_of(tx, here.rater.id)):
        raise Conflict("Your visit has ended. Load the page again to see how.")
    known = None if here.campaign.prolific is None else recruits.recruited_as(tx, here.rater.id)
    if known is not None and _is_over(known):
        raise Conflict("On Prolific this visit has ended, so that nobody would pay you for going on.")


def way_out(platform: Platform, rater_id: str) -> WayBack | None:
    """Return the way back of a rater who is about to withdraw, None where nobody sent them or their visit is over."""
    with platform.database.reading() as tx:
        known = recruits.recruited_as(tx, rater_id)
        if known is None or _is_over(known):
            return None
        campaign = platform.definitions.of(tx, campaigns.campaign_of(tx, known.campaign_id))
        # Whoever is asked to return a submission cannot be paid for it.
        paid = campaign.pay is not None and answer_drafts.n_rated(tx, rater_id) > 0
    return way_back(campaign, "screened_out" if paid else "no_consent")


def outcome_of(step: Step, tries: Mapping[str, Sequence[str]]) -> Outcome | None:
    """Return how the visit of a rater ended, None where it has not, or where they stopped by themselves.

    Who rated nothing because nothing was left, or lost their place, is as if there never was one. That a campaign was
    closed is nobody's fault. Who has worked and would have to wait may end here, and whose work may be rejected: a
    person decides.

    Parameters
    ----------
    step
        Where the rater is.
    tries
        What they answered to checks.
    """
    rated = step.progress.n_done > 0
    match step.place:
        case "unfit":
            return "screened_out"
        case "full" | "wait":
            return "screened_out" if rated else "quota_full"
        case "enough" | "paused" if rated:
            return "screened_out"
        case "closed" | "done" if step.place == "closed" or step.rater.state != "stopped":
            if rated and step.campaign.verdict(tries).may_reject:
                return "failed_attention"
            return "completed" if rated else "quota_full"
    return None
