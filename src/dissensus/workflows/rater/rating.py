"""Actions of a rater: save, submit, skip, report, declare attributes, stop and resume."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, Literal

from sqlalchemy import Connection

from dissensus.campaign.answer_drafts import AnswerSave, digest_save, to_stored_save
from dissensus.campaign.audit_replay import digest_declaration
from dissensus.campaign.rate_limits import count_writes
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.schema.campaign.definition import Campaign
from dissensus.store import answer_drafts, assignments, notices, raters, recruits
from dissensus.store.assignments import AssignmentRow
from dissensus.store.core.orm import hash_key
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign.audit_log import log_rater_event
from dissensus.workflows.platform.member_mails import NoticeKind, queue_member_mails
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import recruitment
from dissensus.workflows.rater.assignment import plan_items
from dissensus.workflows.rater.context import RaterContext, check_not_withdrawn, load_rater
from dissensus.workflows.rater.corrections import check_correction
from dissensus.workflows.rater.next_step import RaterStep, find_next_step, find_planned_step
from dissensus.workflows.rater.rate_limits import limit_notice

COMPACTION_INTERVAL: Final = 50
"""Number of saves of an item after which superseded drafts are deleted."""


def save_answers(
    platform: Platform, rater: RaterRow, assignment_id: str, key: str, save: AnswerSave, *, now: datetime
) -> int:
    """Save provisional answers and return the latest revision; `key` is the idempotency key."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, n_writes=count_writes(save.length), now=now)
        assignment = _own_assignment(tx, context.rater, assignment_id, now)
        save = to_stored_save(save, assignment.shown_first)
        _validate_answers(context.campaign, save, complete=False)
        if answer_drafts.add_save(tx, assignment.id, key, save, final=False, now=now) and assignment.state == "done":
            check_correction(tx, context, assignment)
        revision, n_saves = answer_drafts.find_latest_revision(tx, assignment.id)
        if n_saves % COMPACTION_INTERVAL == 0:
            answer_drafts.delete_superseded_drafts(tx, assignment.id)
        return revision


def submit_answers(
    platform: Platform, rater: RaterRow, assignment_id: str, key: str, save: AnswerSave, *, now: datetime
) -> RaterStep:
    """Submit all answers to an item and return the rater's next step; `key` is the idempotency key."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, n_writes=count_writes(save.length), now=now)
        assignment = _own_assignment(tx, context.rater, assignment_id, now)
        save = to_stored_save(save, assignment.shown_first)
        _validate_answers(context.campaign, save, complete=True)
        corrects = assignment.state == "done"
        if context.campaign.click_to_reveal and save.open_ms is None and not corrects:
            raise InvalidInput("The conversation is still hidden. Show it before you submit answers, or skip it.")
        if answer_drafts.add_save(tx, assignment.id, key, save, final=True, now=now):
            if corrects:
                check_correction(tx, context, assignment)
            log_rater_event(
                tx,
                context.rater,
                "item_corrected" if corrects else "item_submitted",
                now,
                item=assignment.item.item_id,
                save=key,
                digest=digest_save(save, assignment.shown_first),
            )
            if save.revision > 1:
                answer_drafts.delete_drafts_of_visit(tx, assignment.id, save)
            if not corrects:
                assignments.close_assignment(tx, assignment, "done", now=now)
        step = find_planned_step(tx, context, now=now)
    return step or find_next_step(platform, rater, now=now)


def skip_item(platform: Platform, rater: RaterRow, assignment_id: str, *, now: datetime) -> RaterStep:
    """Skip an item without giving a reason; another rater gets it."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, now=now)
        assignment = _own_assignment(tx, context.rater, assignment_id, now)
        if assignment.state == "open":
            assignments.close_assignment(tx, assignment, "skipped", now=now)
            assignments.reclaim_repeat(tx, assignment, now=now)
            log_rater_event(tx, context.rater, "item_skipped", now, item=assignment.item.item_id)
        step = find_planned_step(tx, context, now=now)
    return step or find_next_step(platform, rater, now=now)


def declare_attributes(
    platform: Platform, rater: RaterRow, answers: Mapping[str, object], *, now: datetime
) -> RaterStep:
    """Store a rater's demographic answers."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, now=now)
        check_not_withdrawn(context.rater)
        if context.campaign.demographics is None:
            raise Conflict("This campaign asks nothing about raters.")
        if context.campaign_row.state == "closed" and not context.rater.rehearsal:
            raise Conflict("This campaign is closed. Nothing was stored.")
        merged = {**(raters.find_declaration(tx, rater.id) or {}), **answers}
        checked = context.campaign.demographics.check(merged, complete=True)
        row = raters.add_declaration(tx, rater.id, checked, now=now)
        digest = digest_declaration(row.content, row.at)
        log_rater_event(
            tx, context.rater, "declared", now, questions=sorted(answers), declaration=row.id, digest=digest
        )
        step = find_planned_step(tx, context, now=now)
    return step or find_next_step(platform, rater, now=now)


def stop_rating(platform: Platform, rater: RaterRow, *, now: datetime) -> RaterStep:
    """Stop a rater: ratings stay, open items go to others."""
    with platform.database.writing() as tx:
        # Recruiter events and planning on another device lock the campaign too.
        context = load_rater(tx, platform, rater, lock_campaign=True, now=now)
        if context.rater.state == "rating":
            context = _set_state(tx, context, "stopped", now)
        elif context.rater.state == "finished":
            assignments.reclaim_open_assignments(tx, context.rater, now=now)
        step = find_planned_step(tx, context, now=now)
    return step or find_next_step(platform, rater, now=now)


def resume_rating(platform: Platform, rater: RaterRow, *, now: datetime) -> RaterStep:
    """Resume a rater who stopped, or who had finished and gets items that have become available since."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, lock_campaign=True, now=now)
        step = find_planned_step(tx, context, now=now)
        if context.rater.state == "stopped":
            recruitment.check_may_continue(tx, context)
            context = _set_state(tx, context, "rating", now)
        elif step is not None and step.has_more:
            recruitment.check_may_continue(tx, context)
            plan_items(tx, context, step.progress, now)
            log_rater_event(tx, context.rater, "resumed", now)
    return find_next_step(platform, rater, now=now)


def _set_state(
    tx: Connection, context: RaterContext, state: Literal["stopped", "rating"], now: datetime
) -> RaterContext:
    raters.set_rater_state(tx, context.rater.id, state, now=now)
    log_rater_event(tx, context.rater, "stopped" if state == "stopped" else "resumed", now)
    return replace(context, rater=replace(context.rater, state=state))


def report_item(
    platform: Platform,
    rater: RaterRow,
    kind: Literal["help", "illegal"],
    text: str,
    *,
    assignment_id: str | None,
    address: str | None = None,
    now: datetime,
) -> None:
    """Store a rater's request for help or report of an item.

    A reported item is withheld from the rater, and from everybody once enough raters have reported it; raters who came
    by an open link from one network address count as one. After a report of it was settled, further ones withhold it
    from their raters alone.
    """
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, lock_campaign=kind == "illegal", now=now)
        check_not_withdrawn(context.rater)
        assignment = None if assignment_id is None else _own_assignment(tx, context.rater, assignment_id, now)
        if notices.has_open_notice(tx, rater.id, kind, text, assignment_id=assignment_id):
            return
        limit_notice(tx, platform, context.rater, kind, address=address, now=now)
        reporter = None if assignment is None else _identify_reporter(tx, rater.id, assignment.item_id, address)
        notices.add_notice(tx, rater.id, kind, text, assignment_id=assignment_id, reporter=reporter, now=now)
        item = None if assignment is None else assignment.item.item_id
        log_rater_event(tx, context.rater, "notice_raised", now, kind=kind, item=item)
        if not context.rater.rehearsal:
            mail_kind: NoticeKind = "help_requested" if kind == "help" else "item_reported"
            queue_member_mails(tx, context.campaign_row, mail_kind, now)
        if kind == "illegal" and assignment is not None:
            if assignment.state == "open":
                assignments.close_assignment(tx, assignment, "skipped", now=now)
            assignments.reclaim_repeat(tx, assignment, now=now)
            if not context.rater.rehearsal and _should_withhold(tx, context.campaign, assignment.item_id):
                assignments.withhold_item(tx, assignment.item_id, now=now)


def _identify_reporter(tx: Connection, rater_id: str, item_id: str, address: str | None) -> str | None:
    """Return a digest that identifies reports of one item from one address as those of one person.

    Whoever deletes their cookies enters an open link again, as another rater. Personal links and recruiters admit a
    person once, also where several share an address. The digest tells nothing about reports of other items.
    """
    personal = not raters.entered_by_open_link(tx, rater_id) or recruits.find_recruit_of_rater(tx, rater_id) is not None
    return None if address is None or personal else hash_key(f"report {item_id} {address}")


def _should_withhold(tx: Connection, campaign: Campaign, item_id: str) -> bool:
    enough = notices.count_reporters(tx, item_id) >= campaign.reports_to_withhold
    return enough and notices.find_report_decision(tx, item_id) is None


def _own_assignment(tx: Connection, rater: RaterRow, assignment_id: str, now: datetime) -> AssignmentRow:
    """Return a rater's own assignment, and mark it as offered if it is not."""
    check_not_withdrawn(rater)
    assignment = assignments.find_assignment(tx, rater.id, assignment_id, lock=True)
    if assignment is None:
        raise NotFound("You have no such item.")
    if assignment.offered_at is None:
        # A page that is offline shows the item that it prefetched.
        assignments.record_offer(tx, assignment.id, now=now)
        log_rater_event(tx, rater, "item_offered", now, item=assignment.item.item_id)
    return assignment


def _validate_answers(campaign: Campaign, save: AnswerSave, *, complete: bool) -> None:
    """Reject answers that do not fit the questionnaire."""
    values = {name: "" if answer.value is None else answer.value for name, answer in save.answers.items()}
    campaign.questionnaire.check(values, complete=complete)
