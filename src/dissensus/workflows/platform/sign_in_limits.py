"""Limits of failed sign-ins: exponential backoff by name and by address, counted in the database."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from dissensus.errors import NotAllowed
from dissensus.schema.hints import count_noun
from dissensus.store.core import sign_in_failures
from dissensus.workflows.platform.platform import Platform

MAX_WAIT: Final = timedelta(minutes=15)
FAILURE_RETENTION: Final = timedelta(days=1)
"""Longest time for which failures count."""


@dataclass(frozen=True, slots=True)
class AttemptLimit:
    """Limit of failed attempts by one trace, such as a name or an address."""

    n_free: int  # Failures before the backoff
    retention: timedelta  # Time after the last failure in which failures count
    cleared_by_success: bool  # Otherwise a success takes back its own attempt alone


NAME_LIMIT: Final = AttemptLimit(5, timedelta(days=1), cleared_by_success=True)
"""Limit of failed attempts by name."""
ADDRESS_LIMIT: Final = AttemptLimit(20, timedelta(hours=1), cleared_by_success=False)
"""Limit by network address. A success does not clear it: a member could otherwise guess passwords of others."""
MAIL_LIMIT: Final = AttemptLimit(3, timedelta(hours=1), cleared_by_success=False)
"""Limit of mailed links by the address that was asked for; none of them is a success."""
SignInTraces = Mapping[str, AttemptLimit]
"""Fingerprints of the name and the address of an attempt, with their limits."""


def count_attempt(platform: Platform, traces: SignInTraces, now: datetime) -> None:
    """Count an attempt as failed before checking it, so that parallel ones count too; refuse it during the backoff."""
    with platform.database.writing() as tx:
        sign_in_failures.delete_failures_before(tx, now - FAILURE_RETENTION)
        for trace, limit in traces.items():
            sign_in_failures.delete_failures_before(tx, now - limit.retention, fingerprint=trace)
        before = sign_in_failures.load_failures(tx, tuple(traces))
        for trace, limit in sorted(traces.items()):
            n_failures = sign_in_failures.count_sign_in_failure(tx, trace, now=now) - 1
            n_before, last_at = before.get(trace, (0, now))
            # A parallel attempt that was counted in between happened just now.
            until = (last_at if n_failures == n_before else now) + _backoff(n_failures - limit.n_free)
            if now < until:
                seconds = -int((now - until).total_seconds() // 1)
                raise NotAllowed(f"Too many tries. Try again in {count_noun(seconds, 'second')}.")


def record_success(tx: Connection, traces: SignInTraces) -> None:
    """Clear the failures that a success clears; elsewhere take back the attempt, which was counted as failed."""
    sign_in_failures.clear_failures(tx, tuple(trace for trace, limit in traces.items() if limit.cleared_by_success))
    for trace, limit in sorted(traces.items()):
        if not limit.cleared_by_success:
            sign_in_failures.forgive_sign_in_failure(tx, trace)


def _backoff(n_beyond: int) -> timedelta:
    """Return the exponential backoff after failures beyond the free ones."""
    return min(timedelta(seconds=2 ** min(n_beyond, 20)), MAX_WAIT) if n_beyond >= 0 else timedelta()
