"""A circuit breaker: who keeps failing is left alone for a while, then tried by one."""

from types import TracebackType

from dissensus.chat.response import Clock
from dissensus.errors import Unavailable


class CircuitBreaker:
    """Counts failures in a row, and lets nobody through after too many.

    Parameters
    ----------
    name
        Of whom, in messages.
    failures
        How many it takes.
    rest_s
        Seconds for which nobody is let through; then one is, and the others as soon as that one succeeds.
    clock
        Tells the seconds.
    """

    def __init__(self, name: str, failures: int, rest_s: float, clock: Clock) -> None:
        self._name, self._most, self._rest, self._clock = name, failures, rest_s, clock
        self._failures = 0
        self._until: float | None = None
        self._probe: GuardedRequest | None = None

    def passage(self) -> "GuardedRequest":
        """Return what a request goes through, in a ``with`` block.

        An `Unavailable` out of the block is a failure, an end without an error a success; any other error, or leaving,
        says nothing of the other side.
        """
        return GuardedRequest(self)

    def enter(self, passage: "GuardedRequest") -> None:
        """Let somebody through, or raise `Unavailable`."""
        if self._until is None:
            return
        left = self._until - self._clock()
        if left > 0 or self._probe is not None:
            wait = f"in {left:,.0f} seconds" if left >= 1 else "in a moment"
            raise Unavailable(f"{self._name} failed {self._failures:,} times in a row, and is left alone. Try {wait}.")
        self._probe = passage

    def leave(self, passage: "GuardedRequest", failed: bool | None) -> None:
        """Learn how it went: None where that says nothing."""
        if self._probe is passage:
            self._probe = None
        if failed:
            self._failures += 1
            if self._failures >= self._most:
                self._until = self._clock() + self._rest
        elif failed is not None:
            self._failures, self._until = 0, None


class GuardedRequest:
    """One request on its way through a breaker."""

    def __init__(self, breaker: CircuitBreaker) -> None:
        self._breaker = breaker

    def __enter__(self) -> None:
        self._breaker.enter(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        says_nothing = error is not None and not isinstance(error, Unavailable)
        self._breaker.leave(self, None if says_nothing else error is not None)
