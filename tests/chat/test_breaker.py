"""Circuit breaker: pauses after failures, single trial requests, and what it says of both."""

import pytest
from tests.chat.conftest import ManualClock

from dissensus.chat.breaker import CircuitBreaker
from dissensus.errors import InvalidInput, Unavailable

RECOVERY_S = 30.0


def fail(breaker: CircuitBreaker) -> None:
    with pytest.raises(Unavailable, match="no answer"), breaker.guard():
        raise Unavailable("no answer")


def succeed(breaker: CircuitBreaker) -> None:
    with breaker.guard():
        pass


def assert_paused(breaker: CircuitBreaker, message: str = "requests are paused") -> None:
    with pytest.raises(Unavailable, match=message), breaker.guard():
        pass


@pytest.mark.parametrize(
    ("threshold", "pause", "message"),
    [
        (1, 30.0, r"^bot failed; requests are paused. Try again in 30 seconds\.$"),
        (2, 30.0, r"^bot failed 2 times in a row; "),
        (1, 1.5, r"Try again in 2 seconds\.$"),
        (1, 1.0, r"Try again in a moment\.$"),
    ],
)
def test_a_pause_is_announced(threshold: int, pause: float, message: str) -> None:
    breaker = CircuitBreaker("bot", threshold, pause, lambda: 0.0)
    for _ in range(threshold):
        fail(breaker)
    assert_paused(breaker, message)


def test_a_pause_ends_after_its_whole_length() -> None:
    clock = ManualClock(now=100.0)
    breaker = CircuitBreaker("bot", 1, RECOVERY_S, clock)
    fail(breaker)
    clock.now += RECOVERY_S - 0.001
    assert_paused(breaker)
    clock.now = 100.0 + RECOVERY_S
    succeed(breaker)


def test_a_success_resets_the_count_of_failures() -> None:
    breaker = CircuitBreaker("bot", 2, RECOVERY_S, lambda: 0.0)
    for _ in range(3):
        fail(breaker)
        succeed(breaker)
    fail(breaker)
    fail(breaker)
    assert_paused(breaker)


def test_a_single_request_tests_the_service_at_once() -> None:
    clock = ManualClock(now=0.0)
    breaker = CircuitBreaker("bot", 1, RECOVERY_S, clock)
    fail(breaker)
    clock.now = RECOVERY_S
    with breaker.guard():
        assert_paused(breaker, "Try again in a moment")
    with breaker.guard():
        succeed(breaker)


def test_a_failed_trial_begins_another_pause() -> None:
    clock = ManualClock(now=0.0)
    breaker = CircuitBreaker("bot", 3, RECOVERY_S, clock)
    for _ in range(3):
        fail(breaker)
    clock.now = RECOVERY_S
    fail(breaker)
    assert_paused(breaker, "bot failed 4 times in a row; requests are paused. Try again in 30 seconds")


def test_a_trial_that_says_nothing_of_the_service_leaves_room_for_another() -> None:
    clock = ManualClock(now=0.0)
    breaker = CircuitBreaker("bot", 1, RECOVERY_S, clock)
    fail(breaker)
    clock.now = RECOVERY_S
    for error in (InvalidInput("too long"), KeyboardInterrupt()):
        with pytest.raises(type(error)), breaker.guard():
            raise error
    with breaker.guard():
        assert_paused(breaker)
    succeed(breaker)
