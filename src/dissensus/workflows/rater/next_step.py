"""Next step of a rater: the current stage with its content, and the items to rate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from sqlalchemy import Connection

from dissensus.campaign.answer_drafts import DraftAnswer, merge_saves, swap_preference
from dissensus.campaign.attention_checks import DueCheck, failed_screening, find_due_check
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.store import answer_drafts, assignments, care, chats, check_answers, consents, raters, seats
from dissensus.store.assignments import AssignmentRow, RaterProgress
from dissensus.store.campaigns import CampaignRow
from dissensus.store.chats import ChatRow
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign.audit_log import log_rater_event
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.assignment import abandoned_before, has_more_items, is_exhausted, plan_items
from dissensus.workflows.rater.context import RaterContext, load_rater

DAY = timedelta(days=1)

Stage: TypeAlias = Literal[
    "consent",
    "screener",
    "full",
    "demographics",
    "topics",
    "check",
    "survey",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterStep:
    """Next step of a rater: the current stage with its content."""

    # ``wait``: other raters hold the remaining items; ``enough``: the daily limit is reached; ``full``: no free seat in
    # the cell; ``unfit``: failed a comprehension check for good
    stage: Stage
    rater: RaterRow
    campaign_row: CampaignRow
    campaign: Campaign
    about: Questionnaire | None = None  # demographic or screening questions; optional for a rater who stopped
    due: DueCheck | None = None  # attention check to answer
    assignment: AssignmentRow | None = None
    next_assignment: AssignmentRow | None = None  # item to prefetch; None if a check comes first
    answers: Mapping[str, DraftAnswer]  # saved answers, with the sides as the rater sees them
    revision: int = 0
    chat: ChatRow | None = None  # latest conversation; None before the first
    n_asked: int = 0  # number of earlier surveys, if one is due
    has_more: bool = False  # True if there are items again for a rater who had finished
    progress: RaterProgress

    @property
    def is_break_due(self) -> bool:
        """True if a break is due."""
        interval = self.campaign.break_every
        return interval > 0 and self.progress.n_done > 0 and self.progress.n_done % interval == 0


def find_next_step(platform: Platform, rater: RaterRow, *, now: datetime) -> RaterStep:
    """Return the step of a rater, planning and offering items as needed."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, lock_campaign=True, n_writes=0, now=now)
        return find_planned_step(tx, context, now=now) or _step_of_new_plan(tx, context, now)


def find_planned_step(tx: Connection, context: RaterContext, *, now: datetime) -> RaterStep | None:
    """Return the step of a rater if no planning is needed, else None.

    Only `find_next_step` plans: it locks the campaign, and most requests do not need that.
    """
    progress = _load_progress(tx, context, now)
    stage = _next_stage(tx, context, progress)
    if stage == "full":
        return None
    if stage == "chat":
        return _chat_step(tx, context, progress)
    if stage != "rate":
        return _step_without_item(tx, context, stage, progress)
    upcoming = assignments.list_open_assignments(tx, context.rater.id, most=2)
    return _step_with_item(tx, context, upcoming, progress, now) if len(upcoming) == 2 else None


def _load_progress(tx: Connection, context: RaterContext, now: datetime) -> RaterProgress:
    """Return the progress of a rater in items or conversations."""
    if context.campaign.chat is None:
        return assignments.load_progress(tx, context.rater.id, since=now - DAY)
    n, n_done = chats.count_chats(tx, context.rater.id)
    n_lately, _ = chats.count_chats(tx, context.rater.id, since=now - DAY)
    return RaterProgress(n_done=n_done, n_open=n - n_done, n_lately=n_lately)


def _chat_step(tx: Connection, context: RaterContext, progress: RaterProgress) -> RaterStep | None:
    """Return the step of a rater who chats; None after the last allowed conversation."""
    if context.campaign.chat is not None and progress.n_done >= context.campaign.chat.max_conversations:
        return None
    return replace(_step_without_item(tx, context, "chat", progress), chat=chats.find_last_chat(tx, context.rater.id))


def _step_of_new_plan(tx: Connection, context: RaterContext, now: datetime) -> RaterStep:
    progress = _load_progress(tx, context, now)
    if _lacks_seat(tx, context):
        if not claim_seat(tx, context, now=now):
            return _step_without_item(tx, context, "full", progress)
        step = find_planned_step(tx, context, now=now)
        if step is not None:
            return step
    if context.campaign.chat is not None:
        return finish_rater(tx, context, now)
    plan_items(tx, context, progress, now)
    progress = assignments.load_progress(tx, context.rater.id, since=now - DAY)
    upcoming = assignments.list_open_assignments(tx, context.rater.id, most=2)
    if upcoming:
        return _step_with_item(tx, context, upcoming, progress, now)
    if not is_exhausted(tx, context, progress):
        return _step_without_item(tx, context, "wait", progress)
    return finish_rater(tx, context, now)


def finish_rater(tx: Connection, context: RaterContext, now: datetime) -> RaterStep:
    """Mark a rater as finished; the campaign must be locked."""
    progress = _load_progress(tx, context, now)
    raters.set_rater_state(tx, context.rater.id, "finished", now=now)
    if progress.n_done:
        seats.take_seat(tx, context.rater.id)
    else:
        seats.release_seat(tx, context.rater.id)
    return _step_without_item(tx, context, _last_stage(tx, context), progress)


def retake_seat(tx: Connection, context: RaterContext, *, now: datetime) -> None:
    """Take a seat again for a finished rater whose seat was freed, if one is left; the campaign must be locked."""
    has_worked = context.rater.state == "finished" and _load_progress(tx, context, now).n_done > 0
    if has_worked and _lacks_seat(tx, context) and claim_seat(tx, context, now=now):
        seats.take_seat(tx, context.rater.id)


def claim_seat(tx: Connection, context: RaterContext, *, now: datetime) -> bool:
    """Claim a seat in the rater's cell and return whether there was one; the campaign must be locked."""
    quota, rater = context.campaign.quota, context.rater
    if quota is None or rater.cell is None:
        return False
    unseen_since = abandoned_before(context.campaign_row, quota.hold_minutes / 60, now)
    capacity = quota.capacities.get(rater.cell, 0)
    return seats.claim_seat(tx, rater.campaign_id, rater.cell, rater.id, capacity=capacity, unseen_since=unseen_since)


def assign_cell(tx: Connection, context: RaterContext, cell: str) -> RaterContext:
    """Assign a rater to a quota cell."""
    raters.set_rater_cell(tx, context.rater.id, cell)
    return replace(context, rater=replace(context.rater, cell=cell))


def _lacks_seat(tx: Connection, context: RaterContext) -> bool:
    """Return whether a rater still needs a seat; previews need none."""
    return (
        context.campaign.quota is not None and not context.rater.rehearsal and not seats.has_seat(tx, context.rater.id)
    )


def _step_without_item(tx: Connection, context: RaterContext, stage: Stage, progress: RaterProgress) -> RaterStep:
    return RaterStep(
        stage=stage,
        rater=context.rater,
        campaign_row=context.campaign_row,
        campaign=context.campaign,
        about=_demographic_questions(tx, context, stage),
        due=find_due_check(context.campaign.checks, _load_check_attempts(tx, context), progress.n_done)
        if stage == "check"
        else None,
        answers={},
        n_asked=care.count_surveys(tx, context.rater.id) if stage == "survey" else 0,
        has_more=stage == "done" and context.rater.state == "finished" and has_more_items(tx, context, progress),
        progress=progress,
    )


def _demographic_questions(tx: Connection, context: RaterContext, stage: Stage) -> Questionnaire | None:
    """Return the screening or demographic questions of a stage."""
    if stage == "screener":
        return context.campaign.screener
    optional = stage == "done" and context.rater.state == "stopped" and _must_declare(tx, context)
    if stage != "demographics" and not optional:
        return None
    return context.campaign.remaining_demographics(raters.find_declaration(tx, context.rater.id) or {})


def _load_check_attempts(tx: Connection, context: RaterContext) -> Mapping[str, Sequence[str]]:
    """Return a rater's answers to checks; skips the query without checks."""
    return check_answers.load_attempts(tx, context.rater.id) if context.campaign.checks else {}


def _step_with_item(
    tx: Connection, context: RaterContext, upcoming: tuple[AssignmentRow, ...], progress: RaterProgress, now: datetime
) -> RaterStep:
    first = upcoming[0]
    if first.offered_at is None:
        assignments.record_offer(tx, first.id, now=now)
        log_rater_event(tx, context.rater, "item_offered", now, item=first.item.item_id)
    # An item that is shown for the first time has no answers yet.
    saves = () if first.offered_at is None else answer_drafts.load_saves(tx, [first.id])[first.id]
    check_follows = any(check.after == progress.n_done + 1 for check in context.campaign.checks)
    check_follows |= (
        context.campaign.care is not None and (progress.n_done + 1) % context.campaign.care.survey_every == 0
    )
    return RaterStep(
        stage="rate",
        rater=context.rater,
        campaign_row=context.campaign_row,
        campaign=context.campaign,
        assignment=replace(first, offered_at=first.offered_at or now),
        next_assignment=upcoming[1] if len(upcoming) > 1 and not check_follows else None,
        answers=swap_preference(merge_saves(saves), first.shown_first),
        revision=max((save.revision for save in saves), default=0),
        progress=progress,
    )


def step_of_answers(tx: Connection, context: RaterContext, *, now: datetime, **content: Any) -> RaterStep:
    """Return the stage of a rater while they look at what they submitted, with an item of it or none."""
    progress = _load_progress(tx, context, now)
    step = _step_without_item(tx, context, _next_stage(tx, context, progress), progress)
    return replace(step, **content)


def _next_stage(tx: Connection, context: RaterContext, progress: RaterProgress) -> Stage:  # noqa: C901 - one condition a stage
    rater, campaign_row, campaign = context.rater, context.campaign_row, context.campaign
    if rater.state == "withdrawn":
        return "withdrawn"
    attempts = _load_check_attempts(tx, context)
    if failed_screening(campaign.checks, attempts):
        return "unfit"
    if not rater.rehearsal and campaign_row.state in ("paused", "closed"):
        return "paused" if campaign_row.state == "paused" else "closed"
    if not consents.has_answered_latest_text(tx, rater):
        return "consent"
    if campaign.screener is not None and rater.cell is None:
        return "screener"
    stopped = rater.state == "stopped"
    if campaign.demographics_position == "before" and not stopped and _must_declare(tx, context):
        return "demographics"
    # A rater who had finished may take more items; the state stays, and with it the pay for having finished.
    if stopped or (rater.state == "finished" and progress.n_open == 0):
        return _last_stage(tx, context)
    if _lacks_seat(tx, context):
        return "full"
    if campaign.care is not None and campaign.care.topics and rater.excluded_topics is None:
        return "topics"
    if find_due_check(campaign.checks, attempts, progress.n_done) is not None:
        return "check"
    # An open conversation is finished first.
    chatting = campaign.chat is not None and progress.n_open > 0
    if campaign.care is not None and not chatting:
        n_surveys = care.count_surveys(tx, rater.id)
        if campaign.care.is_survey_due(progress.n_done, n_surveys):
            return "survey"
    if campaign.max_per_day is not None and progress.n_lately >= campaign.max_per_day and not chatting:
        return "enough"
    return "rate" if campaign.chat is None else "chat"


def _last_stage(tx: Connection, context: RaterContext) -> Stage:
    """Return the stage after the last item; whoever stops is asked nothing more."""
    return "demographics" if context.rater.state != "stopped" and _must_declare(tx, context) else "done"


def _must_declare(tx: Connection, context: RaterContext) -> bool:
    """Return whether demographic answers are missing."""
    if context.campaign.demographics is None:
        return False
    return bool(
        context.campaign.demographics.faults(raters.find_declaration(tx, context.rater.id) or {}, complete=True)
    )
