"""Statuses: late, repeated and disordered events change nothing that they should not."""

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.recruit.prolific import StudyStatus, SubmissionStatus, is_later_status
from dissensus.recruit.prolific.statuses import parse_status

EVERY = tuple(SubmissionStatus)
LIVES = (
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
"""What may happen to a submission."""


def left(events: tuple[SubmissionStatus, ...]) -> SubmissionStatus | None:
    """The status after some events, each taken only if it follows."""
    status: SubmissionStatus | None = None
    for event in events:
        status = event if is_later_status(status, event) else status
    return status


@pytest.mark.parametrize("life", LIVES)
def test_a_life_ends_the_same_in_whatever_order_its_events_come(life: tuple[SubmissionStatus, ...]) -> None:
    assert {left(order) for order in permutations(life)} == {life[-1]}


@quick
@given(st.sampled_from(LIVES), st.data())
def test_events_that_are_lost_or_come_twice_do_not_matter(
    life: tuple[SubmissionStatus, ...], data: st.DataObject
) -> None:
    seen = [*data.draw(st.lists(st.sampled_from(life), max_size=8)), life[-1]]
    assert left(tuple(data.draw(st.permutations(seen)))) == life[-1]


def test_it_is_an_order() -> None:
    for one, other, third in product(EVERY, repeat=3):
        assert not (is_later_status(one, other) and is_later_status(other, one))
        assert not (is_later_status(one, other) and is_later_status(other, third)) or is_later_status(one, third)
    assert not any(is_later_status(one, one) for one in EVERY)
    assert all(is_later_status(None, one) for one in EVERY)


def test_what_is_over_stays_over() -> None:
    for end in (
        SubmissionStatus.APPROVED,
        SubmissionStatus.PARTIALLY_APPROVED,
        SubmissionStatus.RETURNED,
        SubmissionStatus.SCREENED_OUT,
    ):
        assert not any(is_later_status(end, one) for one in EVERY)


def test_who_gives_the_place_to_somebody_else_frees_the_seat() -> None:
    freeing = {status.value for status in EVERY if status.frees_seat}
    assert freeing == {"RETURNED", "TIMED-OUT", "REJECTED", "SCREENED OUT"}


@pytest.mark.parametrize("text", ["AWAITING REVIEW", "AWAITING_REVIEW", "awaiting review", "AWAITING-REVIEW"])
def test_a_status_is_read_however_it_is_written(text: str) -> None:
    assert parse_status(SubmissionStatus, text) is SubmissionStatus.AWAITING_REVIEW
    assert parse_status(StudyStatus, text) is StudyStatus.AWAITING_REVIEW


@pytest.mark.parametrize("text", ["PROCESSING", "", None, 3, ["ACTIVE"]])
def test_a_status_that_nobody_knows_is_none(text: object) -> None:
    assert parse_status(SubmissionStatus, text) is None
