"""Times of submissions and of their corrections, and the campaigns and raters that may correct."""

from datetime import timedelta

import pytest
from tests.support.campaigns import NOW

from dissensus.campaign.answer_drafts import AnswerSave
from dissensus.campaign.corrections import ReceivedSave, SubmissionTimes, check_may_correct, measure_submission
from dissensus.errors import Conflict
from dissensus.schema.campaign.definition import STATES, CampaignState

MINUTE = timedelta(minutes=1)


def receive(
    visit: str, visible_ms: int, minute: int, *, final: bool = False, open_ms: int | None = None
) -> ReceivedSave:
    save = AnswerSave(revision=1, visit=visit, visible_ms=visible_ms, idle_ms=0, open_ms=open_ms, answers={})
    return ReceivedSave(save=save, final=final, received_at=NOW + minute * MINUTE)


def test_visits_before_the_first_submission_are_its_own_and_later_ones_corrections() -> None:
    saves = [
        receive("a", 4_000, 0, open_ms=300),
        receive("b", 5_000, 1, final=True),
        receive("a", 6_000, 2),
        receive("c", 700, 3, open_ms=900, final=True),
        receive("d", 80, 4, final=True),
        receive("d", 90, 5, final=True),
    ]
    assert measure_submission(saves) == SubmissionTimes(
        answer_time_ms=11_000,
        open_time_ms=300,
        answered_at=NOW + MINUTE,
        correction_time_ms=790,
        corrected_at=NOW + 5 * MINUTE,
    )


def test_drafts_after_a_submission_are_no_correction() -> None:
    saves = [receive("a", 4_000, 0, final=True), receive("b", 900, 1)]
    assert measure_submission(saves) == SubmissionTimes(answer_time_ms=4_000, open_time_ms=None, answered_at=NOW)


@pytest.mark.parametrize("state", STATES)
def test_only_open_campaigns_and_rehearsals_take_corrections(state: CampaignState) -> None:
    check_may_correct(state, decided=False, rehearsal=True)
    if state == "open":
        check_may_correct(state, decided=False)
        return
    with pytest.raises(Conflict, match=f"The campaign is {state}"):
        check_may_correct(state, decided=False)


@pytest.mark.parametrize("rehearsal", [False, True])
def test_work_that_was_decided_on_is_not_corrected(rehearsal: bool) -> None:
    with pytest.raises(Conflict, match="paid or decided on"):
        check_may_correct("open", decided=True, rehearsal=rehearsal)
