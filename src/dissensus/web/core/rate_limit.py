"""Rate limit of the API: a token bucket for each API token."""

from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

MAX_TRACKED_TOKENS = 10_000


@dataclass(slots=True)
class TokenBucket:
    """Token buckets of one process; each further worker adds the same allowance.

    Examples
    --------
    >>> from datetime import UTC
    >>> bucket, now = TokenBucket(per_minute=60, burst=2), datetime(2026, 3, 1, tzinfo=UTC)
    >>> [bucket.acquire("a", now=now) for _ in range(3)], bucket.acquire("b", now=now)
    ([0.0, 0.0, 1.0], 0.0)
    """

    per_minute: int = 600  # Sustained rate
    burst: int = 100  # Requests at once, after a pause
    _buckets: dict[str, tuple[float, datetime]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def acquire(self, token: str, *, now: datetime) -> float:
        """Take one request from the bucket and return 0.0, else the seconds to wait."""
        with self._lock:
            if len(self._buckets) >= MAX_TRACKED_TOKENS:
                # A full bucket behaves like a new one, so it can be dropped.
                self._buckets = {
                    key: state for key, state in self._buckets.items() if self._refill(state, now) < self.burst
                }
            tokens = self._refill(self._buckets.get(token, (self.burst, now)), now)
            if tokens < 1:
                return (1 - tokens) * 60 / self.per_minute
            self._buckets[token] = (tokens - 1, now)
        return 0.0

    def _refill(self, bucket: tuple[float, datetime], now: datetime) -> float:
        tokens, at = bucket
        return min(self.burst, tokens + max(0.0, (now - at).total_seconds()) * self.per_minute / 60)
