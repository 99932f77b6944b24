"""What a rater does: save, submit, skip, say who they are, stop; each ends with where they are then."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection

from dissensus.campaign.answer_drafts import Save, as_kept, digest_of
from dissensus.errors import Conflict, NotFound
from dissensus.schema.campaign.definition import Campaign
from dissensus.store import answer_drafts, assignments, raters
from dissensus.store.assignments import Assignment
from dissensus.store.raters import Rater
from dissensus.workflows.campaign.audit_log import log_rater_event
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import recruitment
from dissensus.workflows.rater.journey import Step, check_here, present, step, step_planned


def save(platform: Platform, rater: Rater, assignment_id: str, key: str, given: Save, *, now: datetime) -> int:
    """Keep answers that may still change, and return the latest revision. The same key twice is one save.

    Answers are taken as long as the campaign is not a draft, whatever became of the assignment: what somebody gave is
    never lost.
    """
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, now=now)
        assignment = _mine(tx, here.rater, assignment_id, now)
        given = as_kept(given, assignment.shown_first)
        _check(here.campaign, given, complete=False)
        answer_drafts.add_save(tx, assignment.id, key, given, final=False, now=now)
        return answer_drafts.revision_of(tx, assignment.id)


def submit(platform: Platform, rater: Rater, assignment_id: str, key: str, given: Save, *, now: datetime) -> Step:
    """Keep all answers to an item, and return where the rater is then. The same key twice is one submit."""
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, now=now)
        assignment = _mine(tx, here.rater, assignment_id, now)
        given = as_kept(given, assignment.shown_first)
        _check(here.campaign, given, complete=True)
        if answer_drafts.add_save(tx, assignment.id, key, given, final=True, now=now):
            log_rater_event(tx, here.rater, "submit", now, item=assignment.item.item_id, save=key, digest=digest_of(given))
            if assignment.state != "done":
                assignments.close(tx, assignment, "done", now=now)
        found = step_planned(tx, here, now=now)
    return found or step(platform, rater, now=now)


def skip(platform: Platform, rater: Rater, assignment_id: str, *, now: datetime) -> Step:
    """Leave out an item, without a reason and without a penalty; another rater gets it."""
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, now=now)
        assignment = _mine(tx, here.rater, assignment_id, now)
        if assignment.state == "open":
            assignments.close(tx, assignment, "skipped", now=now)
            log_rater_event(tx, here.rater, "skip", now, item=assignment.item.item_id)
        found = step_planned(tx, here, now=now)
    return found or step(platform, rater, now=now)


def declare(platform: Platform, rater: Rater, answers: Mapping[str, object], *, now: datetime) -> Step:
    """Keep what a rater says of themselves."""
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, now=now)
        check_here(here.rater)
        if here.campaign.demographics is None:
            raise Conflict("This campaign asks nothing about raters.")
        said = {**(raters.declared(tx, rater.id) or {}), **answers}
        raters.declare(tx, rater.id, here.campaign.demographics.check(said, complete=True), now=now)
        log_rater_event(tx, here.rater, "declare", now, questions=sorted(answers))
        found = step_planned(tx, here, now=now)
    return found or step(platform, rater, now=now)


def stop(platform: Platform, rater: Rater, *, now: datetime) -> Step:
    """Let a rater stop; what they rated stays, what they were to rate goes to others."""
    return _stand(platform, rater, "stopped", now)


def go_on(platform: Platform, rater: Rater, *, now: datetime) -> Step:
    """Let a rater who stopped go on."""
    return _stand(platform, rater, "rating", now)


def _stand(platform: Platform, rater: Rater, state: Literal["stopped", "rating"], now: datetime) -> Step:
    with platform.database.writing() as tx:
        # Whoever tells that the visit is over, or plans on another device, holds the campaign too.
        here = present(tx, platform, rater, plans=True, now=now)
        if (here.rater.state, state) in (("rating", "stopped"), ("stopped", "rating")):
            if state == "rating":
                recruitment.check_goes_on(tx, here)
            raters.set_standing(tx, rater.id, state, now=now)
            log_rater_event(tx, here.rater, "stop" if state == "stopped" else "go on", now)
            here = replace(here, rater=replace(here.rater, state=state))
        found = step_planned(tx, here, now=now)
    return found or step(platform, rater, now=now)


def notify(
    platform: Platform,
    rater: Rater,
    kind: Literal["help", "illegal"],
    text: str,
    *,
    assignment_id: str | None,
    now: datetime,
) -> None:
    """Keep that a rater needs help, or met what must not be shown; the latter nobody is shown any more.

    A page that sends it twice is heard once.
    """
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, plans=kind == "illegal", now=now)
        check_here(here.rater)
        assignment = None if assignment_id is None else _mine(tx, here.rater, assignment_id, now)
        if raters.has_notified(tx, rater.id, kind, text, assignment_id=assignment_id):
            return
        raters.notify(tx, rater.id, kind, text, assignment_id=assignment_id, now=now)
        about = None if assignment is None else assignment.item.item_id
        log_rater_event(tx, here.rater, "notice", now, what=kind, item=about)
        if kind == "illegal" and assignment is not None:
            if assignment.state == "open":
                assignments.close(tx, assignment, "skipped", now=now)
            if not here.rater.rehearsal:
                assignments.withhold(tx, assignment.item_id, now=now)


def _mine(tx: Connection, rater: Rater, assignment_id: str, now: datetime) -> Assignment:
    """Return an assignment of this rater, and nobody else's, which they have seen, be it before we offered it."""
    check_here(rater)
    assignment = assignments.assignment_of(tx, rater.id, assignment_id, lock=True)
    if assignment is None:
        raise NotFound("There is no such item among yours.")
    if assignment.offered_at is None:
        # A page without a network goes on with the item that it has at hand.
        assignments.offered(tx, assignment.id, now=now)
        log_rater_event(tx, rater, "offer", now, item=assignment.item.item_id)
    return assignment


def _check(campaign: Campaign, given: Save, *, complete: bool) -> None:
    """Refuse answers that the questionnaire does not have."""
    values = {name: "" if one.value is None else one.value for name, one in given.answers.items()}
    campaign.questionnaire.check(values, complete=complete)
