"""Corrections of submitted answers: when they are allowed, and their times apart from those of the first submission."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dissensus.campaign.answer_drafts import AnswerSave, answer_time_ms, open_time_ms
from dissensus.errors import Conflict
from dissensus.schema.campaign.definition import CampaignState


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedSave:
    """A save as the server received it."""

    save: AnswerSave
    final: bool  # True for a submission
    received_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionTimes:
    """Times of the first submission of an item, and of its corrections."""

    answer_time_ms: int  # of the visits that began before the first submission
    open_time_ms: int | None  # part of it with a covered conversation uncovered; None if it never was
    answered_at: datetime
    correction_time_ms: int | None = None  # of later visits; None without a correction
    corrected_at: datetime | None = None  # time of the last correction; None without one


def measure_submission(saves: Sequence[ReceivedSave]) -> SubmissionTimes:
    """Return the times of a submitted item, given its saves in order of arrival.

    Examples
    --------
    >>> from datetime import UTC
    >>> def received(visit, visible_ms, minute, *, final):
    ...     save = AnswerSave(revision=1, visit=visit, visible_ms=visible_ms, idle_ms=0, answers={})
    ...     return ReceivedSave(save=save, final=final, received_at=datetime(2026, 1, 1, 12, minute, tzinfo=UTC))
    >>> first = [received("a", 4_000, 0, final=False), received("a", 9_000, 1, final=True)]
    >>> times = measure_submission([*first, received("b", 2_000, 30, final=True)])
    >>> times.answer_time_ms, times.correction_time_ms, times.answered_at.minute, times.corrected_at.minute
    (9000, 2000, 1, 30)
    """
    finals = [index for index, received in enumerate(saves) if received.final]
    first_visits = {received.save.visit for received in saves[: finals[0] + 1]}
    first = [received.save for received in saves if received.save.visit in first_visits]
    later = [received.save for received in saves if received.save.visit not in first_visits]
    corrected = len(finals) > 1
    return SubmissionTimes(
        answer_time_ms=answer_time_ms(first),
        open_time_ms=open_time_ms(first),
        answered_at=saves[finals[0]].received_at,
        correction_time_ms=answer_time_ms(later) if corrected else None,
        corrected_at=saves[finals[-1]].received_at if corrected else None,
    )


def check_may_correct(state: CampaignState, *, decided: bool, rehearsal: bool = False) -> None:
    """Raise `Conflict` if submitted answers cannot be corrected.

    `decided` tells whether the work was paid or its submission decided on; a rehearsal ignores the state.

    Examples
    --------
    >>> check_may_correct("closed", decided=False)
    Traceback (most recent call last):
        ...
    dissensus.errors.Conflict: The campaign is closed. Submitted answers can be corrected while it is open.
    """
    if state != "open" and not rehearsal:
        raise Conflict(f"The campaign is {state}. Submitted answers can be corrected while it is open.")
    if decided:
        raise Conflict("Your work was paid or decided on as you submitted it, so it cannot be corrected any more.")
