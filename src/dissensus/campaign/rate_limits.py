"""Rate limits of raters as token buckets, each stored as one number: the time when the bucket is full again.

A request postpones that time by the period divided by the limit. It is refused if the bucket would then need longer
than a whole period to fill. This is the generic cell rate algorithm, recommendation ITU-T I.371, annex A.
"""

from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Final

from dissensus.errors import TooManyRequests
from dissensus.schema.hints import count_noun

CHARACTERS_PER_WRITE: Final = 16 << 10
"""Each further 16 Ki characters of a request count as one more request: large saves count as several."""

SAVE_PERIOD_S: Final = 300
HOUR_S: Final = 3600


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A number of requests that is allowed at once, and again within each period; 0 for no limit.

    Examples
    --------
    One request a second: after 60 at once the bucket is full again in 60 s, and after two more in 62 s.

    >>> limit = RateLimit(60, period_s=60)
    >>> limit.cost_ms(2), limit.wait_s(60_000, 0), limit.wait_s(62_000, 0)
    (2000, 0, 2)
    """

    n: int  # number of requests
    period_s: int

    def cost_ms(self, n_requests: int = 1) -> int:
        """Return the time by which requests postpone the full bucket, at most the period."""
        return 0 if self.n == 0 else min(1000 * self.period_s, ceil(1000 * self.period_s * n_requests / self.n))

    def wait_s(self, full_at_ms: int, now_ms: int) -> int:
        """Return the seconds to wait if the request would postpone the full bucket to `full_at_ms`; 0 if allowed."""
        return 0 if self.n == 0 else max(0, ceil((full_at_ms - now_ms) / 1000) - self.period_s)

    def check(self, full_at_ms: int, now_ms: int, message: str) -> None:
        """Raise `TooManyRequests` for a request beyond the limit; `message` says whose limit it is."""
        wait = self.wait_s(full_at_ms, now_ms)
        if wait:
            raise TooManyRequests(f"{message} Try again in {count_noun(wait, 'second')}.", retry_after_s=wait)


NO_LIMIT: Final = RateLimit(0, period_s=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterLimits:
    """Rate limits of raters."""

    saves_per_rater: RateLimit = RateLimit(600, SAVE_PERIOD_S)
    """All that a rater sends, mostly saves of answers."""
    notices_per_rater: RateLimit = RateLimit(20, HOUR_S)
    """Requests for help, and as many reports."""
    notices_per_address: RateLimit = RateLimit(500, HOUR_S)
    entries_per_link: RateLimit = RateLimit(3000, HOUR_S)
    """New raters by the open link of a campaign, or by the link of a cell."""
    entries_per_address: RateLimit = RateLimit(300, HOUR_S)


def to_milliseconds(when: datetime) -> int:
    """Return a time in milliseconds since 1970."""
    return round(1000 * when.timestamp())


def count_writes(n_characters: int) -> int:
    """Return how many requests a request of some length counts as.

    Examples
    --------
    >>> count_writes(300), count_writes(600_000)
    (1, 37)
    """
    return 1 + n_characters // CHARACTERS_PER_WRITE
