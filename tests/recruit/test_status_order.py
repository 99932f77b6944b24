"""Order of statuses under late, repeated and reordered events."""

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.recruit.prolific import StudyStatus, SubmissionStatus, is_later_status
from dissensus.recruit.prolific.submissions import parse_status

EVERY = tuple(SubmissionStatus)
HISTORIES = (
    (SubmissionStatus.RESERVED, SubmissionStatus.RETURNED),
    (SubmissionStatus.RESERVED, SubmissionStatus.TIMED_OUT),
    (SubmissionStatus.RESERVED, SubmissionStatus.ACTIVE, SubmissionStatus.RETURNED),
    (SubmissionStatus.RESERVED, SubmissionStatus.ACTIVE, SubmissionStatus.TIMED_OUT, SubmissionStatus.RETURNED),
    (
        SubmissionStatus.RESERVED,
        SubmissionStatus.ACTIVE,
        SubmissionStatus.TIMED_OUT,
        SubmissionStatus.AWAITING_REVIEW,
        SubmissionStatus.APPROVED,
    ),
    (
        SubmissionStatus.RESERVED,
        SubmissionStatus.ACTIVE,
        SubmissionStatus.AWAITING_REVIEW,
        SubmissionStatus.SCREENED_OUT,
    ),
    (
        SubmissionStatus.RESERVED,
        SubmissionStatus.ACTIVE,
        SubmissionStatus.AWAITING_REVIEW,
        SubmissionStatus.PARTIALLY_APPROVED,
    ),
    (
        SubmissionStatus.RESERVED,
        SubmissionStatus.ACTIVE,
        SubmissionStatus.AWAITING_REVIEW,
        SubmissionStatus.REJECTED,
        SubmissionStatus.APPROVED,
    ),
)
"""Possible histories of a submission."""


def final_status(events: tuple[SubmissionStatus, ...]) -> SubmissionStatus | None:
    """Return the status after events of which only later ones are applied."""
    status: SubmissionStatus | None = None
    for event in events:
        status = event if is_later_status(status, event) else status
    return status


@pytest.mark.parametrize("history", HISTORIES)
def test_the_final_status_does_not_depend_on_the_order_of_events(history: tuple[SubmissionStatus, ...]) -> None:
    assert {final_status(order) for order in permutations(history)} == {history[-1]}


@quick
@given(st.sampled_from(HISTORIES), st.data())
def test_lost_and_repeated_events_do_not_change_the_final_status(
    history: tuple[SubmissionStatus, ...], data: st.DataObject
) -> None:
    delivered = [*data.draw(st.lists(st.sampled_from(history), max_size=8)), history[-1]]
    assert final_status(tuple(data.draw(st.permutations(delivered)))) == history[-1]


def test_statuses_are_strictly_ordered() -> None:
    for status, other, third in product(EVERY, repeat=3):
        assert not (is_later_status(status, other) and is_later_status(other, status))
        assert not (is_later_status(status, other) and is_later_status(other, third)) or is_later_status(status, third)
    assert not any(is_later_status(status, status) for status in EVERY)
    assert all(is_later_status(None, status) for status in EVERY)


def test_final_statuses_have_no_later_one() -> None:
    for end in (
        SubmissionStatus.APPROVED,
        SubmissionStatus.PARTIALLY_APPROVED,
        SubmissionStatus.RETURNED,
        SubmissionStatus.SCREENED_OUT,
    ):
        assert not any(is_later_status(end, one) for one in EVERY)


def test_statuses_that_free_the_seat() -> None:
    freeing = {status.value for status in EVERY if status.frees_seat}
    assert freeing == {"RETURNED", "TIMED-OUT", "REJECTED", "SCREENED OUT"}


def test_statuses_after_which_nothing_can_be_submitted() -> None:
    ending = {status.value for status in EVERY if status.ends}
    assert ending == {"APPROVED", "PARTIALLY APPROVED", "REJECTED", "RETURNED", "SCREENED OUT"}


@pytest.mark.parametrize("text", ["AWAITING REVIEW", "AWAITING_REVIEW", "awaiting review", "AWAITING-REVIEW"])
def test_spellings_of_a_status_are_recognized(text: str) -> None:
    assert parse_status(SubmissionStatus, text) is SubmissionStatus.AWAITING_REVIEW
    assert parse_status(StudyStatus, text) is StudyStatus.AWAITING_REVIEW


@pytest.mark.parametrize("text", ["PROCESSING", "", None, 3, ["ACTIVE"]])
def test_an_unknown_status_is_none(text: object) -> None:
    assert parse_status(SubmissionStatus, text) is None
