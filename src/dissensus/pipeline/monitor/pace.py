"""Rating pace, and the forecast of completion."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from dissensus.pipeline.monitor.results import TimeBucket
from dissensus.schema.campaign.definition import Campaign

HOUR: Final = timedelta(hours=1)
LATELY: Final = timedelta(hours=24)
FURTHEST: Final = timedelta(days=1000)
"""What takes longer has no date: the calendar of dates ends, and a pace means little by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Forecast of the time at which there are enough ratings."""

    wanted: int | None  # Number of are wanted in the end, and still missing; None where no number is set
    missing: int | None
    per_hour: float | None  # Number of came an hour lately; None where that is not told
    # When there are enough at that pace; None where that is not known or too far away, there are enough, or none came
    # lately
    done_at: datetime | None


def count_missing(campaign: Campaign, n_items: int) -> int | None:
    """Return how many ratings a campaign is to have: of its items, or by the raters of its quota; None where neither.

    Examples
    --------
    >>> from dissensus.schema.campaign.shipped import load_campaign
    >>> print(count_missing(load_campaign("dices-350"), 350))
    None
    """
    if campaign.replication is not None:
        return campaign.replication * n_items
    if campaign.quota is None:
        return None
    return sum(campaign.quota.targets.values()) * min(n_items, campaign.most_items or n_items)


def forecast(hours: Sequence[TimeBucket], n_ratings: int, wanted: int | None, *, now: datetime) -> Forecast:
    """Say when there may be enough, at the pace of the last 24 hours, or since the first rating if that was later.

    Examples
    --------
    >>> from datetime import UTC
    >>> noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    >>> hours = [TimeBucket(start=int(noon.timestamp()) - 3600 * n, n_ratings=30, n_raters=5) for n in (2, 1)]
    >>> found = forecast(hours, 60, 150, now=noon)
    >>> found.per_hour, found.missing, f"{found.done_at:%H:%M}"
    (30.0, 90, '15:00')
    """
    hour_s = HOUR.total_seconds()
    # From the beginning of an hour: of one that is cut it is not known what came after.
    since = (now - LATELY).timestamp() // hour_s * hour_s
    since = max(since, min((one.start for one in hours), default=since))
    n_hours = max(1.0, (now.timestamp() - since) / hour_s)
    per_hour = sum(one.n_ratings for one in hours if one.start >= since) / n_hours
    missing = None if wanted is None else max(0, wanted - n_ratings)
    soon = missing and per_hour and missing / per_hour <= FURTHEST / HOUR
    done_at = now + HOUR * (missing / per_hour) if soon and missing else None
    return Forecast(wanted=wanted, missing=missing, per_hour=per_hour, done_at=done_at)
