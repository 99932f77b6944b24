"""Exponential backoff of webhook deliveries and mails."""

from datetime import timedelta
from typing import Final

FIRST_BACKOFF: Final = timedelta(seconds=5)
MAX_BACKOFF: Final = timedelta(hours=6)


def backoff_after(n_failures: int, *, retry_after_s: float, chance: float) -> timedelta:
    """Return the backoff after `n_failures` consecutive failures, from 1.

    It doubles from 5 seconds up to 6 hours, times a random factor between 0.5 and 1 (`chance` from 0 to 1) that spreads
    simultaneous retries. It is at least what the receiver asks for, up to 6 hours.

    Examples
    --------
    >>> [str(backoff_after(n, retry_after_s=0, chance=1)) for n in (1, 2, 10, 100)]
    ['0:00:05', '0:00:10', '0:42:40', '6:00:00']
    >>> str(backoff_after(1, retry_after_s=60, chance=0)), str(backoff_after(1, retry_after_s=1e9, chance=0))
    ('0:01:00', '6:00:00')
    """
    backoff: timedelta = min(FIRST_BACKOFF * 2 ** min(n_failures - 1, 30), MAX_BACKOFF)
    retry_after = timedelta(seconds=min(retry_after_s, MAX_BACKOFF.total_seconds()))
    return max(backoff * (0.5 + chance / 2), retry_after)
