"""Statuses: late, repeated and disordered events change nothing that they should not."""

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.recruit.prolific import Status, StudyStatus, follows
from dissensus.recruit.prolific.statuses import status_among

EVERY = tuple(Status)
LIVES = (
    (Status.RESERVED, Status.RETURNED),
    (Status.RESERVED, Status.TIMED_OUT),
    (Status.RESERVED, Status.ACTIVE, Status.RETURNED),
    (Status.RESERVED, Status.ACTIVE, Status.TIMED_OUT, Status.RETURNED),
    (Status.RESERVED, Status.ACTIVE, Status.TIMED_OUT, Status.AWAITING_REVIEW, Status.APPROVED),
    (Status.RESERVED, Status.ACTIVE, Status.AWAITING_REVIEW, Status.SCREENED_OUT),
    (Status.RESERVED, Status.ACTIVE, Status.AWAITING_REVIEW, Status.PARTIALLY_APPROVED),
    (Status.RESERVED, Status.ACTIVE, Status.AWAITING_REVIEW, Status.REJECTED, Status.APPROVED),
)
"""What may happen to a submission."""


def left(events: tuple[Status, ...]) -> Status | None:
    """The status after some events, each taken only if it follows."""
    status: Status | None = None
    for event in events:
        status = event if follows(status, event) else status
    return status


@pytest.mark.parametrize("life", LIVES)
def test_a_life_ends_the_same_in_whatever_order_its_events_come(life: tuple[Status, ...]) -> None:
    assert {left(order) for order in permutations(life)} == {life[-1]}


@quick
@given(st.sampled_from(LIVES), st.data())
def test_events_that_are_lost_or_come_twice_do_not_matter(life: tuple[Status, ...], data: st.DataObject) -> None:
    seen = [*data.draw(st.lists(st.sampled_from(life), max_size=8)), life[-1]]
    assert left(tuple(data.draw(st.permutations(seen)))) == life[-1]


def test_it_is_an_order() -> None:
    for one, other, third in product(EVERY, repeat=3):
        assert not (follows(one, other) and follows(other, one))
        assert not (follows(one, other) and follows(other, third)) or follows(one, third)
    assert not any(follows(one, one) for one in EVERY)
    assert all(follows(None, one) for one in EVERY)


def test_what_is_over_stays_over() -> None:
    for end in (Status.APPROVED, Status.PARTIALLY_APPROVED, Status.RETURNED, Status.SCREENED_OUT):
        assert not any(follows(end, one) for one in EVERY)


def test_who_gives_the_place_to_somebody_else_frees_the_seat() -> None:
    freeing = {status.value for status in EVERY if status.frees_seat}
    assert freeing == {"RETURNED", "TIMED-OUT", "REJECTED", "SCREENED OUT"}


@pytest.mark.parametrize("text", ["AWAITING REVIEW", "AWAITING_REVIEW", "awaiting review", "AWAITING-REVIEW"])
def test_a_status_is_read_however_it_is_written(text: str) -> None:
    assert status_among(Status, text) is Status.AWAITING_REVIEW
    assert status_among(StudyStatus, text) is StudyStatus.AWAITING_REVIEW


@pytest.mark.parametrize("text", ["PROCESSING", "", None, 3, ["ACTIVE"]])
def test_a_status_that_nobody_knows_is_none(text: object) -> None:
    assert status_among(Status, text) is None
