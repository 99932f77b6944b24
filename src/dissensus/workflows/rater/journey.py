"""Where a rater is in a campaign, and what they rate next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from sqlalchemy import Connection

from dissensus.campaign.answer_drafts import Given, current, turned
from dissensus.campaign.attention_checks import Due, due_of, is_unfit
from dissensus.errors import NotAllowed, NotFound
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.store import answer_drafts, assignments, campaigns, care, chats, check_answers, raters, seats
from dissensus.store.assignments import Assignment, Progress
from dissensus.store.campaigns import Kept
from dissensus.store.chats import Chat
from dissensus.store.raters import Rater
from dissensus.workflows.campaign.audit_log import log_rater_event
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.planning import is_exhausted, plan_more, unseen_since

DAY = timedelta(days=1)

Place: TypeAlias = Literal[
    "consent",
    "screener",
    "full",
    "demographics",
    "topics",
    "check",
    "feelings",
    "rate",
    "chat",
    "wait",
    "enough",
    "paused",
    "closed",
    "unfit",
    "done",
    "withdrawn",
]


@dataclass(frozen=True, slots=True)
class Present:
    """A rater and their campaign as they are now."""

    rater: Rater  # Who, and in which campaign
    kept: Kept
    campaign: Campaign


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Where a rater is."""

    # What comes next: agree to a new consent text, say of which cell they are (``screener``), say who they are, say
    # what they do not want to meet (``topics``), answer a ``check``, say how they feel (``feelings``), rate, talk with
    # chatbots (``chat``), come back when others have left something (``wait``) or tomorrow (``enough``), wait until the
    # campaign goes on (``paused``), or nothing (``full``, where others have all seats of their cell, ``closed``,
    # ``unfit``, where a check at the start was failed for good, ``done``, ``withdrawn``)
    place: Place
    rater: Rater  # Who, and in which campaign
    kept: Kept
    campaign: Campaign
    about: Questionnaire | None = None  # What they are asked about themselves
    due: Due | None = None  # The check that they are to answer
    assignment: Assignment | None = None  # What is rated, and what comes after it; None too where a check comes first
    following: Assignment | None = None
    answers: Mapping[str, Given]  # What was saved of it so far, a preference by the sides that the rater sees
    revision: int = 0
    chat: Chat | None = None  # The last conversation, where they talk; None before the first one
    n_asked: int = 0  # How often they were asked how they feel, where they are asked it now
    progress: Progress  # How far the rater is

    @property
    def pauses(self) -> bool:
        """Whether a break is due."""
        every = self.campaign.break_every
        return every > 0 and self.progress.n_done > 0 and self.progress.n_done % every == 0


def present(tx: Connection, platform: Platform, rater: Rater, *, plans: bool = False, now: datetime) -> Present:
    """Return who asks as they are now, who may have withdrawn since, and keep that they gave a sign.

    Until the transaction ends nobody else changes or erases the rater, and where it `plans`, nobody else plans in the
    campaign. The campaign is locked first, everywhere: transactions that lock in two orders wait for each other.
    """
    kept = campaigns.campaign_of(tx, rater.campaign_id, lock=plans)
    fresh = raters.seen(tx, rater.id, now=now)
    if fresh is None:
        raise NotFound("There is no such rater.")
    return Present(fresh, kept, platform.definitions.of(tx, kept))


def check_here(rater: Rater) -> None:
    """Refuse whatever would be kept of somebody who has withdrawn."""
    if rater.state == "withdrawn":
        raise NotAllowed("You have withdrawn; nothing more is kept of you.")


def step(platform: Platform, rater: Rater, *, now: datetime) -> Step:
    """Return where a rater is, and plan and offer what they are to rate."""
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, plans=True, now=now)
        return step_planned(tx, here, now=now) or _step_of_new_plan(tx, here, now)


def step_planned(tx: Connection, here: Present, *, now: datetime) -> Step | None:
    """Return where a rater is, as far as was planned; None where more must be planned to know it.

    Only `step` plans: it keeps all others of the campaign waiting, and what most raters ask does not need that.
    """
    progress = _progress(tx, here, now)
    place = _place(tx, here, progress)
    if place == "full":
        return None
    if place == "chat":
        return _chatting(tx, here, progress)
    if place != "rate":
        return _resting(tx, here, place, progress)
    upcoming = assignments.open_of(tx, here.rater.id, most=2)
    return _rating(tx, here, upcoming, progress, now) if len(upcoming) == 2 else None


def _progress(tx: Connection, here: Present, now: datetime) -> Progress:
    """Return how far a rater is, in items or in conversations."""
    if here.campaign.chat is None:
        return assignments.progress_of(tx, here.rater.id, since=now - DAY)
    n, n_done = chats.count(tx, here.rater.id)
    n_lately, _ = chats.count(tx, here.rater.id, since=now - DAY)
    return Progress(n_done=n_done, n_open=n - n_done, n_lately=n_lately)


def _chatting(tx: Connection, here: Present, progress: Progress) -> Step | None:
    """Return where a rater is who talks; None where they have had all conversations that one person has."""
    if here.campaign.chat is not None and progress.n_done >= here.campaign.chat.most:
        return None
    return replace(_resting(tx, here, "chat", progress), chat=chats.last_of(tx, here.rater.id))


def _step_of_new_plan(tx: Connection, here: Present, now: datetime) -> Step:
    progress = _progress(tx, here, now)
    if _lacks_seat(tx, here):
        if not claim_seat(tx, here, now=now):
            return _resting(tx, here, "full", progress)
        found = step_planned(tx, here, now=now)
        if found is not None:
            return found
    if here.campaign.chat is not None:
        return ended(tx, here, now)
    plan_more(tx, here, progress, now)
    progress = assignments.progress_of(tx, here.rater.id, since=now - DAY)
    upcoming = assignments.open_of(tx, here.rater.id, most=2)
    if upcoming:
        return _rating(tx, here, upcoming, progress, now)
    if not is_exhausted(tx, here, progress):
        return _resting(tx, here, "wait", progress)
    return ended(tx, here, now)


def ended(tx: Connection, here: Present, now: datetime) -> Step:
    """Keep that a rater did all that there is for them; the campaign must be held."""
    progress = _progress(tx, here, now)
    raters.set_standing(tx, here.rater.id, "finished", now=now)
    # Who rated nothing takes nobody's seat.
    (seats.commit if progress.n_done else seats.release)(tx, here.rater.id, now=now)
    return _resting(tx, here, _last_place(tx, here), progress)


def claim_seat(tx: Connection, here: Present, *, now: datetime) -> bool:
    """Give a rater a seat of their cell, and tell whether there was one; the campaign must be held."""
    quota, rater = here.campaign.quota, here.rater
    if quota is None or rater.cell is None:
        return False
    gone = unseen_since(here, quota.hold_minutes / 60, now)
    places = quota.places.get(rater.cell, 0)
    return seats.claim(tx, rater.campaign_id, rater.cell, rater.id, places=places, unseen_since=gone, now=now)


def in_cell(tx: Connection, here: Present, cell: str) -> Present:
    """Keep of which cell a rater is."""
    raters.set_cell(tx, here.rater.id, cell)
    return replace(here, rater=replace(here.rater, cell=cell))


def _lacks_seat(tx: Connection, here: Present) -> bool:
    """Tell whether a rater may not go on before they have a seat: a preview needs none."""
    return here.campaign.quota is not None and not here.rater.rehearsal and not seats.has_seat(tx, here.rater.id)


def _resting(tx: Connection, here: Present, place: Place, progress: Progress) -> Step:
    return Step(
        place=place,
        rater=here.rater,
        kept=here.kept,
        campaign=here.campaign,
        about=_about(tx, here, place),
        due=due_of(here.campaign.checks, _tries(tx, here), progress.n_done) if place == "check" else None,
        answers={},
        n_asked=care.n_asked(tx, here.rater.id) if place == "feelings" else 0,
        progress=progress,
    )


def _about(tx: Connection, here: Present, place: Place) -> Questionnaire | None:
    """Return what a rater is asked about themselves at a place."""
    if place == "screener":
        return here.campaign.screener
    return here.campaign.about(raters.declared(tx, here.rater.id) or {}) if place == "demographics" else None


def _tries(tx: Connection, here: Present) -> Mapping[str, Sequence[str]]:
    """Return what a rater answered to checks; where there are none, nothing is asked."""
    return check_answers.tries_of(tx, here.rater.id) if here.campaign.checks else {}


def _rating(tx: Connection, here: Present, upcoming: tuple[Assignment, ...], progress: Progress, now: datetime) -> Step:
    first = upcoming[0]
    if first.offered_at is None:
        assignments.offered(tx, first.id, now=now)
        log_rater_event(tx, here.rater, "offer", now, item=first.item.item_id)
    # What was never shown has no answers yet.
    known = () if first.offered_at is None else answer_drafts.saves_of(tx, [first.id])[first.id]
    checked = any(check.after == progress.n_done + 1 for check in here.campaign.checks)
    checked |= here.campaign.care is not None and (progress.n_done + 1) % here.campaign.care.every == 0
    return Step(
        place="rate",
        rater=here.rater,
        kept=here.kept,
        campaign=here.campaign,
        assignment=replace(first, offered_at=first.offered_at or now),
        following=upcoming[1] if len(upcoming) > 1 and not checked else None,
        answers=turned(current(known), first.shown_first),
        revision=max((one.revision for one in known), default=0),
        progress=progress,
    )


def _place(tx: Connection, here: Present, progress: Progress) -> Place:
    rater, kept, campaign = here.rater, here.kept, here.campaign
    if rater.state == "withdrawn":
        return "withdrawn"
    tries = _tries(tx, here)
    if is_unfit(campaign.checks, tries):
        return "unfit"
    if not rater.rehearsal and kept.state in ("paused", "closed"):
        return "paused" if kept.state == "paused" else "closed"
    if not raters.has_consented_last(tx, rater):
        return "consent"
    if campaign.screener is not None and rater.cell is None:
        return "screener"
    if campaign.demographics_placed == "before" and _must_declare(tx, here):
        return "demographics"
    if rater.state != "rating":
        return _last_place(tx, here)
    if _lacks_seat(tx, here):
        return "full"
    if campaign.care is not None and campaign.care.topics and rater.left_out is None:
        return "topics"
    if due_of(campaign.checks, tries, progress.n_done) is not None:
        return "check"
    # A conversation that has begun is brought to its end.
    talks = campaign.chat is not None and progress.n_open > 0
    if campaign.care is not None and not talks and campaign.care.due(progress.n_done, care.n_asked(tx, rater.id)):
        return "feelings"
    if campaign.most_a_day is not None and progress.n_lately >= campaign.most_a_day and not talks:
        return "enough"
    return "rate" if campaign.chat is None else "chat"


def _last_place(tx: Connection, here: Present) -> Place:
    return "demographics" if _must_declare(tx, here) else "done"


def _must_declare(tx: Connection, here: Present) -> bool:
    """Tell whether a rater has not said all of themselves that is asked."""
    if here.campaign.demographics is None:
        return False
    return bool(here.campaign.demographics.faults(raters.declared(tx, here.rater.id) or {}, complete=True))
