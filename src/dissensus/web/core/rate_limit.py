"""Rate limit of the API: a token bucket for each API token."""

from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

MAX_TRACKED_TOKENS = 10_000


@dataclass(slots=True)
class RateLimiter:
    """Token buckets of one worker process, by API token; each worker admits the full rate.

    Examples
    --------
    >>> from datetime import UTC
    >>> limiter, now = RateLimiter(per_minute=60, burst=2), datetime(2026, 3, 1, tzinfo=UTC)
    >>> [limiter.acquire("a", now=now) for _ in range(3)], limiter.acquire("b", now=now)
    ([0.0, 0.0, 1.0], 0.0)
    """

    per_minute: int = 600  # Sustained rate, in requests
    burst: int = 100  # Requests at once, after a pause
    _buckets: dict[str, tuple[float, datetime]] = field(default_factory=dict)  # Requests left, as of a time
    _lock: Lock = field(default_factory=Lock)

    def acquire(self, token_id: str, *, now: datetime) -> float:
        """Take one request from the bucket of a token and return 0.0, or return the seconds to wait if it is empty."""
        with self._lock:
            if len(self._buckets) >= MAX_TRACKED_TOKENS:
                # A full bucket behaves like a new one, so it can be dropped.
                self._buckets = {
                    key: state for key, state in self._buckets.items() if self._refill(state, now) < self.burst
                }
            n_left = self._refill(self._buckets.get(token_id, (self.burst, now)), now)
            if n_left < 1:
                return (1 - n_left) * 60 / self.per_minute
            self._buckets[token_id] = (n_left - 1, now)
        return 0.0

    def _refill(self, bucket: tuple[float, datetime], now: datetime) -> float:
        n_left, at = bucket
        return min(self.burst, n_left + max(0.0, (now - at).total_seconds()) * self.per_minute / 60)
