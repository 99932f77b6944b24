"""The way of a rater: agree, rate, say who you are, leave; and be able to stop or withdraw at any time."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from secrets import compare_digest
from typing import Literal, TypeAlias

from sqlalchemy import Connection

from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.pipeline.annotate.assignment import plan
from dissensus.pipeline.annotate.saves import Given, Save, current
from dissensus.schema.campaign import Campaign
from dissensus.store import assignments, campaigns, raters, saves
from dissensus.store.assignments import Assignment, Progress
from dissensus.store.campaigns import Kept
from dissensus.store.ids import hashed, new_key
from dissensus.store.raters import Rater
from dissensus.workflows.platform import Platform

SESSION = timedelta(days=30)
# Where items have a replication, so many are planned at once: what one rater holds, others cannot have meanwhile.
BATCH = 20

Place: TypeAlias = Literal["consent", "demographics", "rate", "enough", "paused", "closed", "done", "withdrawn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Where a rater is.

    Parameters
    ----------
    place
        What comes next: agree to a new consent text, say who they are, rate, rest until tomorrow (``enough``), wait
        until the campaign goes on (``paused``), or nothing (``closed``, ``done``, ``withdrawn``).
    rater, kept, campaign
        Who, and in which campaign.
    assignment, following
        What is rated, and what comes after it.
    answers, revision
        What was saved of it so far.
    progress
        How far the rater is.
    """

    place: Place
    rater: Rater
    kept: Kept
    campaign: Campaign
    assignment: Assignment | None = None
    following: Assignment | None = None
    answers: Mapping[str, Given]
    revision: int = 0
    progress: Progress


def agree(
    platform: Platform,
    name: str,
    *,
    key: str,
    purposes: Mapping[str, bool],
    language: str,
    rehearsal: bool = False,
    now: datetime,
) -> tuple[Rater, str]:
    """Let somebody in who agreed to the consent text, and return the rater and the key of their session.

    Parameters
    ----------
    platform, name
        The campaign.
    key
        That of the open link, or of a personal one, and any for a rehearsal. By a personal link somebody who entered
        before goes on.
    purposes
        What they said to each purpose.
    language
        What they read.
    rehearsal
        Whether it is a preview or a dry run; a draft lets nobody else in.
    now
        The time.

    Raises
    ------
    NotAllowed
        The link does not open the campaign, or a purpose that is required was not agreed to. Nothing is kept then.
    Conflict
        The campaign is not open.
    """
    with platform.database.writing() as tx:
        kept = campaigns.campaign_named(tx, name, lock=True)
        campaign = platform.definitions.of(tx, kept)
        given = _agreed(campaign, purposes)
        if kept.state != "open" and not rehearsal:
            raise Conflict(f"{name} takes no raters now: it is {kept.state}.")
        invitation = None if rehearsal or _opens(kept, key) else key
        known = raters.rater_invited(tx, invitation) if invitation else None
        if known is not None and known.campaign_id != kept.id:
            raise NotAllowed("This personal link is of another campaign.")
        rater = known or raters.add_rater(
            tx, kept.id, language=language, invitation=invitation, rehearsal=rehearsal, now=now
        )
        _keep_consent(tx, rater, kept, campaign, given, now)
        session = new_key()
        raters.sign_in(tx, rater.id, session, expires_at=now + SESSION)
    return rater, session


def agree_again(platform: Platform, rater: Rater, purposes: Mapping[str, bool], *, now: datetime) -> Step:
    """Keep what a rater said to a consent text that changed."""
    with platform.database.writing() as tx:
        rater, kept, campaign = _held(tx, platform, rater, now)
        _check_here(rater)
        _keep_consent(tx, rater, kept, campaign, _agreed(campaign, purposes), now)
        return _step(tx, rater, kept, campaign, now)


def _agreed(campaign: Campaign, purposes: Mapping[str, bool]) -> dict[str, bool]:
    """Return what was said to each purpose, and refuse whoever does not agree to what is required."""
    names = {purpose.name for purpose in campaign.consent.purposes}
    unknown = sorted(set(purposes) - names)
    if unknown:
        raise InvalidInput(f"{unknown[0]!r} is no purpose of the consent text.")
    refused = [one.name for one in campaign.consent.purposes if one.required and not purposes.get(one.name, False)]
    if refused:
        raise NotAllowed("Without agreeing to what is required one cannot take part. Nothing about you was kept.")
    return {name: purposes.get(name, False) for name in sorted(names)}


def _keep_consent(
    tx: Connection, rater: Rater, kept: Kept, campaign: Campaign, given: Mapping[str, bool], now: datetime
) -> None:
    text_id, _ = campaigns.consent_text(tx, kept.id, campaign.consent, now=now)
    if not raters.has_consented(tx, rater.id, text_id):
        raters.consent(tx, rater.id, text_id, given, now=now)


def entrance(platform: Platform, name: str, key: str) -> Campaign:
    """Return the campaign that a link opens, to those who have not agreed to anything yet.

    Raises
    ------
    NotFound
        There is no such campaign.
    NotAllowed
        The link does not open it.
    """
    with platform.database.reading() as tx:
        kept = campaigns.campaign_named(tx, name)
        if not _opens(kept, key):
            raters.check_invitation(tx, kept.id, key)
        return platform.definitions.of(tx, kept)


def _opens(kept: Kept, key: str) -> bool:
    """Tell whether a key is that of the open link; hashes are compared, so that no time tells how much was right."""
    return kept.key is not None and compare_digest(hashed(key), hashed(kept.key))


def signed_in(platform: Platform, session: str, *, now: datetime) -> Rater | None:
    """Return the rater of a session, None where it has ended."""
    with platform.database.reading() as tx:
        return raters.rater_signed_in(tx, session, now=now)


def n_rated(platform: Platform, rater_id: str) -> int:
    """Return of how many items a withdrawal would erase the answers."""
    with platform.database.reading() as tx:
        if raters.rater_of(tx, rater_id) is None:
            raise NotFound("There is no such rater.")
        return saves.n_rated(tx, rater_id)


def resume(platform: Platform, key: str, *, now: datetime) -> tuple[Rater, str] | None:
    """Sign in who entered by a personal link before, on any device; None where nobody has."""
    with platform.database.writing() as tx:
        rater = raters.rater_invited(tx, key)
        if rater is None:
            return None
        session = new_key()
        raters.sign_in(tx, rater.id, session, expires_at=now + SESSION)
    return rater, session


def step(platform: Platform, rater: Rater, *, now: datetime) -> Step:
    """Return where a rater is, and plan and offer what they are to rate."""
    with platform.database.writing() as tx:
        return _step(tx, *_held(tx, platform, rater, now), now)


def save(platform: Platform, rater: Rater, assignment_id: str, key: str, given: Save, *, now: datetime) -> int:
    """Keep answers that may still change, and return the latest revision. The same key twice is one save.

    Answers are taken as long as the campaign is not a draft, whatever became of the assignment: what somebody gave is
    never lost.
    """
    with platform.database.writing() as tx:
        assignment = _mine(tx, _fresh(tx, rater, now), assignment_id)
        campaign = platform.definitions.of(tx, campaigns.campaign_of(tx, rater.campaign_id))
        _check(campaign, given, complete=False)
        saves.add_save(tx, assignment.id, key, given, final=False, now=now)
        return saves.revision_of(tx, assignment.id)


def submit(platform: Platform, rater: Rater, assignment_id: str, key: str, given: Save, *, now: datetime) -> Step:
    """Keep all answers to an item, and return where the rater is then. The same key twice is one submit.

    Raises
    ------
    InvalidInput
        An answer is missing or cannot be; the message names each.
    """
    with platform.database.writing() as tx:
        rater, kept, campaign = _held(tx, platform, rater, now)
        assignment = _mine(tx, rater, assignment_id)
        _check(campaign, given, complete=True)
        if saves.add_save(tx, assignment.id, key, given, final=True, now=now) and assignment.state != "done":
            assignments.close(tx, assignment, "done", now=now)
        return _step(tx, rater, kept, campaign, now)


def skip(platform: Platform, rater: Rater, assignment_id: str, *, now: datetime) -> Step:
    """Leave out an item, without a reason and without a penalty; another rater gets it."""
    with platform.database.writing() as tx:
        rater, kept, campaign = _held(tx, platform, rater, now)
        assignment = _mine(tx, rater, assignment_id)
        if assignment.state == "open":
            assignments.close(tx, assignment, "skipped", now=now)
        return _step(tx, rater, kept, campaign, now)


def declare(platform: Platform, rater: Rater, answers: Mapping[str, object], *, now: datetime) -> Step:
    """Keep what a rater says of themselves."""
    with platform.database.writing() as tx:
        rater, kept, campaign = _held(tx, platform, rater, now)
        _check_here(rater)
        if campaign.demographics is None:
            raise Conflict("This campaign asks nothing about raters.")
        raters.declare(tx, rater.id, campaign.demographics.check(answers, complete=True), now=now)
        return _step(tx, rater, kept, campaign, now)


def stop(platform: Platform, rater: Rater, *, now: datetime) -> Step:
    """Let a rater stop; what they rated stays, what they were to rate goes to others."""
    return _stand(platform, rater, "stopped", now)


def go_on(platform: Platform, rater: Rater, *, now: datetime) -> Step:
    """Let a rater who stopped go on."""
    return _stand(platform, rater, "rating", now)


def _stand(platform: Platform, rater: Rater, state: Literal["stopped", "rating"], now: datetime) -> Step:
    with platform.database.writing() as tx:
        rater, kept, campaign = _held(tx, platform, rater, now)
        if rater.state not in ("withdrawn", state):
            raters.set_standing(tx, rater.id, state, now=now)
            rater = replace(rater, state=state)
        return _step(tx, rater, kept, campaign, now)


def notify(
    platform: Platform,
    rater: Rater,
    kind: Literal["help", "illegal"],
    text: str,
    *,
    assignment_id: str | None,
    now: datetime,
) -> None:
    """Keep that a rater needs help, or met what must not be shown."""
    with platform.database.writing() as tx:
        rater = _fresh(tx, rater, now)
        if assignment_id is not None:
            _mine(tx, rater, assignment_id)
        raters.notify(tx, rater.id, kind, text, assignment_id=assignment_id, now=now)


def withdraw(platform: Platform, rater_id: str, *, now: datetime) -> int:
    """Erase all answers of a rater and what they said of themselves, and return of how many items; twice is once."""
    with platform.database.writing() as tx:
        rater = raters.rater_of(tx, rater_id)
        if rater is None:
            raise NotFound("There is no such rater.")
        campaigns.campaign_of(tx, rater.campaign_id, lock=True)
        raters.rater_of(tx, rater_id, lock=True)
        n = saves.erase(tx, rater_id)
        assignments.release(tx, rater, now=now)
        raters.set_standing(tx, rater_id, "withdrawn", now=now)
        raters.sign_out(tx, rater_id)
        return n


def _held(tx: Connection, platform: Platform, rater: Rater, now: datetime) -> tuple[Rater, Kept, Campaign]:
    """Return a rater and the campaign as they are now, and keep others from planning or erasing until it is done.

    The campaign is locked first, everywhere: transactions that lock in two orders wait for each other.
    """
    kept = campaigns.campaign_of(tx, rater.campaign_id, lock=True)
    return _fresh(tx, rater, now), kept, platform.definitions.of(tx, kept)


def _fresh(tx: Connection, rater: Rater, now: datetime) -> Rater:
    """Return a rater as they are now, who may have withdrawn since the page asked, and keep that they gave a sign."""
    fresh = raters.rater_of(tx, rater.id, lock=True)
    if fresh is None:
        raise NotFound("There is no such rater.")
    raters.seen(tx, rater.id, now=now)
    return fresh


def _check_here(rater: Rater) -> None:
    if rater.state == "withdrawn":
        raise NotAllowed("You have withdrawn; nothing more is kept of you.")


def _mine(tx: Connection, rater: Rater, assignment_id: str) -> Assignment:
    """Return an assignment of this rater, and nobody else's."""
    _check_here(rater)
    assignment = assignments.assignment_of(tx, rater.id, assignment_id, lock=True)
    if assignment is None:
        raise NotFound("There is no such item among yours.")
    return assignment


def _check(campaign: Campaign, given: Save, *, complete: bool) -> None:
    """Refuse answers that the questionnaire does not have."""
    values = {name: "" if one.value is None else one.value for name, one in given.answers.items()}
    campaign.questionnaire.check(values, complete=complete)


def _step(tx: Connection, rater: Rater, kept: Kept, campaign: Campaign, now: datetime) -> Step:
    """Return where a rater is; the first item to rate is offered by that."""
    progress = assignments.progress_of(tx, rater.id, since=now - timedelta(days=1))
    place = _place(tx, rater, kept, campaign, progress)
    nothing = Step(place=place, rater=rater, kept=kept, campaign=campaign, answers={}, progress=progress)
    if place != "rate":
        return nothing
    upcoming = assignments.open_of(tx, rater.id, most=2)
    if len(upcoming) < 2 and _planned(tx, rater, kept, campaign, progress, now):
        upcoming = assignments.open_of(tx, rater.id, most=2)
        progress = assignments.progress_of(tx, rater.id, since=now - timedelta(days=1))
    if not upcoming:
        return _ended(tx, rater, kept, campaign, progress, now)
    first = upcoming[0]
    assignments.offered(tx, first.id, now=now)
    known = saves.saves_of(tx, [first.id])[first.id]
    return Step(
        place="rate",
        rater=rater,
        kept=kept,
        campaign=campaign,
        assignment=first,
        following=upcoming[1] if len(upcoming) > 1 else None,
        answers=current(known),
        revision=max((one.revision for one in known), default=0),
        progress=progress,
    )


def _place(tx: Connection, rater: Rater, kept: Kept, campaign: Campaign, progress: Progress) -> Place:
    if rater.state == "withdrawn":
        return "withdrawn"
    if not rater.rehearsal and kept.state in ("paused", "closed"):
        return "paused" if kept.state == "paused" else "closed"
    text = campaigns.last_consent_text(tx, kept.id)
    if text is not None and not raters.has_consented(tx, rater.id, text):
        return "consent"
    before = campaign.demographics is not None and campaign.demographics_placed == "before"
    if before and raters.declared(tx, rater.id) is None:
        return "demographics"
    if rater.state != "rating":
        return _last_place(tx, rater, campaign)
    if campaign.most_a_day is not None and progress.n_lately >= campaign.most_a_day:
        return "enough"
    return "rate"


def _last_place(tx: Connection, rater: Rater, campaign: Campaign) -> Place:
    asked = campaign.demographics is not None and raters.declared(tx, rater.id) is None
    return "demographics" if asked else "done"


def _ended(tx: Connection, rater: Rater, kept: Kept, campaign: Campaign, progress: Progress, now: datetime) -> Step:
    raters.set_standing(tx, rater.id, "finished", now=now)
    place = _last_place(tx, rater, campaign)
    return Step(place=place, rater=rater, kept=kept, campaign=campaign, answers={}, progress=progress)


def _planned(tx: Connection, rater: Rater, kept: Kept, campaign: Campaign, progress: Progress, now: datetime) -> bool:
    """Plan more items for a rater, and tell whether there were any."""
    limit = None if campaign.most_items is None else campaign.most_items - progress.n_done - progress.n_open
    if limit is not None and limit < 1:
        return False
    if campaign.replication is not None:
        gone = now - timedelta(hours=campaign.reclaim_after_h)
        assignments.reclaim(tx, kept.id, unseen_since=gone, now=now)
        limit = BATCH if limit is None else min(limit, BATCH)
    found = assignments.loads_of(tx, kept.id, rater.id)
    chosen = plan(
        found.loads,
        found.mine,
        replication=campaign.replication,
        most=limit,
        seed=campaign.seed,
        rater=rater.number,
    )
    assignments.add_assignments(tx, rater, [found.ids[place] for place in chosen], now=now)
    return bool(chosen.size)
