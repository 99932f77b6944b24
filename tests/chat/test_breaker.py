"""Circuit breaker: what it says of failures and of the wait."""

import pytest

from dissensus.chat.breaker import CircuitBreaker
from dissensus.errors import Unavailable


@pytest.mark.parametrize(
    ("threshold", "pause", "message"),
    [
        (1, 30.0, r"^bot failed; requests are paused. Try again in 30 seconds\.$"),
        (2, 30.0, r"^bot failed 2 times in a row; "),
        (1, 1.0, r"Try again in a moment\.$"),
    ],
)
def test_a_pause_is_announced(threshold: int, pause: float, message: str) -> None:
    breaker = CircuitBreaker("bot", threshold, pause, lambda: 0.0)
    for _ in range(threshold):
        with pytest.raises(Unavailable, match="no answer"), breaker.guard():
            raise Unavailable("no answer")
    with pytest.raises(Unavailable, match=message), breaker.guard():
        pass
