"""Answers to attention checks and their consequences."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from dissensus.campaign.attention_checks import failed_screening
from dissensus.campaign.audit_log import digest_values
from dissensus.errors import NotFound
from dissensus.schema.hints import parse_choice
from dissensus.store import assignments, check_answers, raters, seats
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign.audit_log import log_rater_event
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.context import RaterContext, check_not_withdrawn, load_rater
from dissensus.workflows.rater.next_step import RaterStep, find_next_step, find_planned_step


def answer_check(
    platform: Platform, rater: RaterRow, name: str, value: str, *, attempt: int, now: datetime
) -> RaterStep:
    """Store an answer to the check that is due and return the rater's step.

    Idempotent: an answer to another check or attempt changes nothing. Failing a comprehension check for good releases
    the rater's seat and items.
    """
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, lock_campaign=True, now=now)
        check_not_withdrawn(context.rater)
        _validate_answer(context, name, value)
        step = find_planned_step(tx, context, now=now)
        due = None if step is None else step.due
        if due is not None and (due.check.name, due.attempt) == (name, attempt):
            check_answers.add_check_answer(tx, rater.id, name, attempt, value, now=now)
            digest = digest_values(value)
            log_rater_event(tx, context.rater, "check_answered", now, name=name, attempt=attempt, digest=digest)
            if failed_screening(context.campaign.checks, check_answers.load_attempts(tx, rater.id)):
                context = _end_visit(tx, context, now)
            step = find_planned_step(tx, context, now=now)
    return step or find_next_step(platform, rater, now=now)


def _validate_answer(context: RaterContext, name: str, value: str) -> None:
    """Reject an unknown check or an answer outside its scale."""
    check = next((check for check in context.campaign.checks if check.name == name), None)
    if check is None:
        raise NotFound("There is no such check in this campaign. Load the page again.")
    parse_choice(value, check.scale, "an answer to it")


def _end_visit(tx: Connection, context: RaterContext, now: datetime) -> RaterContext:
    """Release the seat and items of a rater who does not continue."""
    assignments.reclaim_open_assignments(tx, context.rater, now=now)
    seats.release_seat(tx, context.rater.id)
    raters.set_rater_state(tx, context.rater.id, "stopped", now=now)
    return replace(context, rater=replace(context.rater, state="stopped"))
