"""How much programs may ask: so much at once, and so much a minute, each token for itself."""

from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

MOST_KNOWN = 10_000


@dataclass(slots=True)
class Meter:
    """Counts requests in one process; several workers together let as much more through.

    Examples
    --------
    >>> from datetime import UTC
    >>> meter, now = Meter(a_minute=60, burst=2), datetime(2026, 3, 1, tzinfo=UTC)
    >>> [meter.wait("a", now=now) for _ in range(3)], meter.wait("b", now=now)
    ([0.0, 0.0, 1.0], 0.0)
    """

    a_minute: int = 600  # How many in the long run
    burst: int = 100  # How many at once, after a while without any
    _left: dict[str, tuple[float, datetime]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def wait(self, token: str, *, now: datetime) -> float:
        """Count a request and return 0, or count none and return after how many seconds it can come again."""
        with self._lock:
            if len(self._left) >= MOST_KNOWN:
                # Who was long away begins anew anyway.
                self._left = {one: kept for one, kept in self._left.items() if self._filled(kept, now) < self.burst}
            left = self._filled(self._left.get(token, (self.burst, now)), now)
            if left < 1:
                return (1 - left) * 60 / self.a_minute
            self._left[token] = (left - 1, now)
        return 0.0

    def _filled(self, kept: tuple[float, datetime], now: datetime) -> float:
        left, at = kept
        return min(self.burst, left + max(0.0, (now - at).total_seconds()) * self.a_minute / 60)
