"""Rating pace, and the forecast of completion."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from dissensus.pipeline.monitor.results import TimeBucket
from dissensus.schema.campaign.definition import Campaign

HOUR: Final = timedelta(hours=1)
PACE_WINDOW: Final = timedelta(hours=24)
HORIZON: Final = timedelta(days=1000)
"""Longest forecast; beyond it a pace means little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Forecast of the time at which there are enough ratings."""

    target: int | None  # Number of ratings planned; None without a plan
    missing: int | None  # Ratings still missing
    per_hour: float  # Recent ratings per hour
    completed_at: datetime | None  # None if complete, without recent ratings, or beyond the horizon


def count_planned(campaign: Campaign, n_items: int) -> int | None:
    """Return the planned number of ratings, from replication or else the quota; None without either.

    Examples
    --------
    >>> from dissensus.schema.campaign.shipped import load_campaign
    >>> print(count_planned(load_campaign("dices-350"), 350))
    None
    """
    if campaign.replication is not None:
        return campaign.replication * n_items
    if campaign.quota is None:
        return None
    return sum(campaign.quota.targets.values()) * min(n_items, campaign.max_items or n_items)


def forecast(hours: Sequence[TimeBucket], n_ratings: int, target: int | None, *, now: datetime) -> Forecast:
    """Return the forecast at the pace of the last 24 hours, or since the first rating if that is later.

    Examples
    --------
    >>> from datetime import UTC
    >>> noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    >>> hours = [TimeBucket(start=int(noon.timestamp()) - 3600 * n, n_ratings=30, n_raters=5) for n in (2, 1)]
    >>> result = forecast(hours, 60, 150, now=noon)
    >>> result.per_hour, result.missing, f"{result.completed_at:%H:%M}"
    (30.0, 90, '15:00')
    """
    hour_s = HOUR.total_seconds()
    # From the start of an hour: ratings within an hour cannot be told apart.
    start = (now - PACE_WINDOW).timestamp() // hour_s * hour_s
    start = max(start, min((hour.start for hour in hours), default=start))
    n_hours = max(1.0, (now.timestamp() - start) / hour_s)
    per_hour = sum(hour.n_ratings for hour in hours if hour.start >= start) / n_hours
    missing = None if target is None else max(0, target - n_ratings)
    completed_at = None
    if missing and per_hour and missing / per_hour <= HORIZON / HOUR:
        completed_at = now + HOUR * (missing / per_hour)
    return Forecast(target=target, missing=missing, per_hour=per_hour, completed_at=completed_at)
