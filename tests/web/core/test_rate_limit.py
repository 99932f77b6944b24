"""Token buckets of the rate limit of the API."""

from datetime import UTC, datetime, timedelta

import pytest

from dissensus.web.core import rate_limit
from dissensus.web.core.rate_limit import RateLimiter

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_bucket_refills_up_to_its_burst_and_not_when_the_clock_is_set_back() -> None:
    limiter = RateLimiter(per_minute=60, burst=2)
    assert [limiter.acquire("a", now=NOW) for _ in range(2)] == [0.0, 0.0]
    assert limiter.acquire("a", now=NOW - timedelta(hours=1)) == 1.0
    assert limiter.acquire("a", now=NOW + timedelta(seconds=0.25)) == 0.75
    assert limiter.acquire("a", now=NOW + timedelta(seconds=1)) == 0.0
    assert [limiter.acquire("a", now=NOW + timedelta(hours=1)) for _ in range(3)] == [0.0, 0.0, 1.0]


def test_full_buckets_alone_are_dropped_when_too_many_tokens_are_tracked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MAX_TRACKED_TOKENS", 2)
    limiter = RateLimiter(per_minute=60, burst=2)
    limiter.acquire("full again", now=NOW)
    later = NOW + timedelta(seconds=1)
    for _ in range(2):
        limiter.acquire("empty", now=later)
    assert limiter.acquire("new", now=later) == 0.0
    assert set(limiter._buckets) == {"empty", "new"}
    assert limiter.acquire("empty", now=later) == 1.0
