"""Corrections: the list of the items that a rater submitted, and one of them with its answers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from dissensus.campaign.answer_drafts import merge_saves, swap_preference
from dissensus.campaign.corrections import check_may_correct
from dissensus.errors import Conflict, NotAllowed, NotFound
from dissensus.schema.advice import site_message
from dissensus.store import answer_drafts, assignments, notices, payments, recruits
from dissensus.store.assignments import AssignmentRow, SubmittedItem
from dissensus.store.raters import RaterRow
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import next_step
from dissensus.workflows.rater.context import RaterContext, check_not_withdrawn, load_rater
from dissensus.workflows.rater.next_step import RaterStep

PAGE_SIZE: Final = 20
"""Submitted items on a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedItems:
    """A page of the items that a rater submitted, the newest first."""

    step: RaterStep
    items: tuple[SubmittedItem, ...]
    reported: frozenset[str]  # items that the rater reported: they are not shown again
    older: int | None  # position before which there are more, None on the last page
    refusal: str | None  # reason why nothing can be corrected, None if it can


def check_correction(tx: Connection, context: RaterContext, assignment: AssignmentRow | None = None) -> None:
    """Raise if a rater cannot correct what they submitted, or one item of it."""
    check_not_withdrawn(context.rater)
    recruit = recruits.find_recruit_of_rater(tx, context.rater.id)
    decided = recruit is not None and recruit.status in recruits.DECISIONS
    decided = decided or sum(payment.amount for payment in payments.list_payments(tx, context.rater.id)) > 0
    check_may_correct(context.campaign_row.state, decided=decided, rehearsal=context.rater.rehearsal)
    if assignment is not None and _is_hidden(tx, assignment):
        raise Conflict("This item is not shown any more.")


def _is_hidden(tx: Connection, assignment: AssignmentRow) -> bool:
    """Return whether an item is hidden from its rater, who reported it, or from everybody."""
    reported = assignment.item_id in notices.list_reported_items(tx, assignment.rater_id)
    return reported or assignments.is_withheld(tx, assignment.item_id)


def list_submitted_items(
    platform: Platform, rater: RaterRow, *, before: int | None = None, now: datetime
) -> SubmittedItems:
    """Return a page of the items that a rater submitted."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, n_writes=0, now=now)
        check_not_withdrawn(context.rater)
        items = assignments.list_submitted_items(tx, rater.id, before=before, most=PAGE_SIZE + 1)
        return SubmittedItems(
            step=next_step.step_of_answers(tx, context, now=now),
            items=items[:PAGE_SIZE],
            reported=notices.list_reported_items(tx, rater.id),
            older=items[PAGE_SIZE - 1].assignment.position if len(items) > PAGE_SIZE else None,
            refusal=_find_refusal(tx, context),
        )


def _find_refusal(tx: Connection, context: RaterContext) -> str | None:
    try:
        check_correction(tx, context)
    except (Conflict, NotAllowed) as error:
        return site_message(error)
    return None


def find_last_submitted(platform: Platform, rater: RaterRow) -> str | None:
    """Return the assignment that a rater submitted last, or None."""
    with platform.database.reading() as tx:
        return assignments.find_last_submitted(tx, rater.id)


def load_correction(platform: Platform, rater: RaterRow, assignment_id: str, *, now: datetime) -> RaterStep:
    """Return an item that a rater submitted, with its answers, in place of their next one."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, n_writes=0, now=now)
        check_not_withdrawn(context.rater)
        assignment = assignments.find_assignment(tx, rater.id, assignment_id)
        if assignment is None or assignment.state != "done":
            raise NotFound("You have submitted no such item.")
        check_correction(tx, context, assignment)
        saves = answer_drafts.load_saves(tx, [assignment.id])[assignment.id]
        answers = swap_preference(merge_saves(saves), assignment.shown_first)
        revision = max(save.revision for save in saves)
        return next_step.step_of_answers(
            tx, context, now=now, assignment=assignment, answers=answers, revision=revision
        )
