"""Circuit breaker: blocks requests for a while after repeated failures, then lets one trial request through."""

from types import TracebackType

from dissensus.chat.response import Clock
from dissensus.errors import Unavailable


class CircuitBreaker:
    """Counter of consecutive failures that blocks requests for `recovery_s` seconds from `failure_threshold` on."""

    def __init__(self, name: str, failure_threshold: int, recovery_s: float, clock: Clock) -> None:
        self._name, self._failure_threshold, self._recovery_s, self._clock = name, failure_threshold, recovery_s, clock
        self._failures = 0
        self._until: float | None = None
        self._trial: GuardedRequest | None = None

    def guard(self) -> "GuardedRequest":
        """Return a context manager for one request.

        `Unavailable` counts as a failure, and a normal exit as a success; any other error and cancellation are ignored.
        """
        return GuardedRequest(self)

    def enter(self, request: "GuardedRequest") -> None:
        """Admit a request, or raise `Unavailable`."""
        if self._until is None:
            return
        seconds = self._until - self._clock()
        if seconds > 0 or self._trial is not None:
            wait = "in a moment" if seconds < 1.5 else f"in {seconds:,.0f} seconds"
            failed = "failed" if self._failures == 1 else f"failed {self._failures:,} times in a row"
            raise Unavailable(f"{self._name} {failed}; requests are paused. Try again {wait}.")
        self._trial = request

    def leave(self, request: "GuardedRequest", failed: bool | None) -> None:
        """Record the outcome of a request; None if it says nothing about the service."""
        if self._trial is request:
            self._trial = None
        if failed:
            self._failures += 1
            if self._failures >= self._failure_threshold:
                self._until = self._clock() + self._recovery_s
        elif failed is not None:
            self._failures, self._until = 0, None


class GuardedRequest:
    """Context manager for one request behind a circuit breaker."""

    def __init__(self, breaker: CircuitBreaker) -> None:
        self._breaker = breaker

    def __enter__(self) -> None:
        self._breaker.enter(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ignored = error is not None and not isinstance(error, Unavailable)
        self._breaker.leave(self, None if ignored else error is not None)
