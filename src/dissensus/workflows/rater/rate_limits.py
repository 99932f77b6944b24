"""Rate limits of entries and notices, by link and by address; addresses are stored as keyed digests, for an hour."""

from datetime import datetime, timedelta
from typing import Final, Literal

from sqlalchemy import Connection

from dissensus.campaign.rate_limits import RateLimit, to_milliseconds
from dissensus.errors import TooManyRequests
from dissensus.store import notices
from dissensus.store.core import rate_limits as store
from dissensus.store.core.orm import hash_key
from dissensus.store.raters import RaterRow
from dissensus.workflows.platform.platform import Platform

TOO_MANY_BY_LINK: Final = "Too many people are entering by this link at the moment. Nothing about you was stored."
TOO_MANY_BY_ADDRESS: Final = "Too many people have entered from your network. Nothing about you was stored."
TOO_MANY_NOTICES: Final = "Too many messages came from your network. This one was not stored."


def limit_entry(
    tx: Connection, platform: Platform, campaign_id: str, cell: str | None, *, address: str | None, now: datetime
) -> None:
    """Count a new rater by an open link, and refuse one beyond the limits of the link and of the address."""
    limits, link = platform.rater_limits, hash_key(f"entry {campaign_id} {cell or ''}")
    _take(tx, link, limits.entries_per_link, TOO_MANY_BY_LINK, now)
    if address is not None:
        _take(tx, hash_key(f"entry {address}"), limits.entries_per_address, TOO_MANY_BY_ADDRESS, now)


def limit_notice(
    tx: Connection,
    platform: Platform,
    rater: RaterRow,
    kind: Literal["help", "illegal"],
    *,
    address: str | None,
    now: datetime,
) -> None:
    """Refuse a notice beyond the limits of the rater and of the address."""
    if rater.rehearsal:
        return
    limit = platform.rater_limits.notices_per_rater
    since = now - timedelta(seconds=limit.period_s)
    if limit.n and notices.count_notices_since(tx, rater.id, kind, since=since) >= limit.n:
        raise TooManyRequests(
            f"You have sent {limit.n:,} such messages within an hour, and they were stored. This one was not. "
            "Try again later.",
            retry_after_s=limit.period_s,
        )
    if address is not None:
        _take(tx, hash_key(f"notice {address}"), platform.rater_limits.notices_per_address, TOO_MANY_NOTICES, now)


def _take(tx: Connection, fingerprint: str, limit: RateLimit, message: str, now: datetime) -> None:
    if limit.n:
        now_ms = to_milliseconds(now)
        full_at_ms = store.take_from_bucket(tx, fingerprint, limit, now_ms=now_ms)
        limit.check(full_at_ms, now_ms, message)


def delete_full_buckets(platform: Platform, now: datetime) -> int:
    """Delete the buckets of links and addresses that are full again, and return their number."""
    with platform.database.reading() as tx:
        # The job runs every second and mostly finds nothing, so it reads before it writes.
        if not store.has_full_buckets(tx, now_ms=to_milliseconds(now)):
            return 0
    with platform.database.writing() as tx:
        return store.delete_full_buckets(tx, now_ms=to_milliseconds(now))
