"""What a rater answers to a check, and what follows from it at once."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from dissensus.campaign.attention_checks import is_unfit
from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.hints import format_list, format_value
from dissensus.store import assignments, check_answers, raters, seats
from dissensus.store.raters import Rater
from dissensus.workflows.campaign.audit_log import log_rater_event
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.journey import Present, Step, check_here, present, step, step_planned


def answer_check(platform: Platform, rater: Rater, name: str, value: str, *, attempt: int, now: datetime) -> Step:
    """Keep an answer to the check that is due, and return where the rater is then.

    A check that is not due, or a try that was given, changes nothing: a form that is sent twice is one try. Who fails
    for good at the start rates nothing, and their seat and items are for others.
    """
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, plans=True, now=now)
        check_here(here.rater)
        _validate_answer(here, name, value)
        found = step_planned(tx, here, now=now)
        due = None if found is None else found.due
        if due is not None and (due.check.name, due.attempt) == (name, attempt):
            check_answers.add_try(tx, rater.id, name, attempt, value, now=now)
            log_rater_event(tx, here.rater, "check", now, name=name, attempt=attempt)
            if is_unfit(here.campaign.checks, check_answers.tries_of(tx, rater.id)):
                here = _end_visit(tx, here, now)
            found = step_planned(tx, here, now=now)
    return found or step(platform, rater, now=now)


def _validate_answer(here: Present, name: str, value: str) -> None:
    """Refuse what cannot be an answer."""
    check = next((check for check in here.campaign.checks if check.name == name), None)
    if check is None:
        raise NotFound("There is no such check in this campaign. Load the page again.")
    if value not in check.scale:
        raise InvalidInput(f"{format_value(value)} is no answer to it. Choose one of {format_list(check.scale)}.")


def _end_visit(tx: Connection, here: Present, now: datetime) -> Present:
    """Let others have the seat and the items of a rater, who does not go on."""
    n_open = assignments.progress_of(tx, here.rater.id, since=now).n_open
    for assignment in assignments.open_of(tx, here.rater.id, most=n_open):
        assignments.close(tx, assignment, "reclaimed", now=now)
    seats.release(tx, here.rater.id, now=now)
    raters.set_standing(tx, here.rater.id, "stopped", now=now)
    return replace(here, rater=replace(here.rater, state="stopped"))
