"""Context of a rater's action: the rater, their campaign row and its definition, loaded and locked."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from dissensus.campaign.rate_limits import to_milliseconds
from dissensus.errors import NotAllowed, NotFound
from dissensus.schema.campaign.definition import Campaign
from dissensus.store import campaigns, raters
from dissensus.store.campaigns import CampaignRow
from dissensus.store.raters import RaterRow
from dissensus.workflows.platform.platform import Platform

TOO_MANY_SAVES: Final = "This arrives faster than the site stores it. What it confirmed is saved."


@dataclass(frozen=True, slots=True)
class RaterContext:
    """A rater, their campaign row and its definition, as of this transaction."""

    rater: RaterRow
    campaign_row: CampaignRow
    campaign: Campaign


def load_rater(
    tx: Connection,
    platform: Platform,
    rater: RaterRow,
    *,
    lock_campaign: bool = False,
    n_writes: int = 1,
    now: datetime,
) -> RaterContext:
    """Return the current state of a rater and record when they were last seen.

    Refuses more writes than the rate limit allows; the transaction then leaves no trace. Rehearsals have no limit.

    Locks the rater until the transaction ends, and with `lock_campaign` the campaign too. The campaign is always locked
    first: transactions with two lock orders would deadlock.
    """
    campaign_row = campaigns.get_campaign(tx, rater.campaign_id, lock=lock_campaign)
    limit = platform.rater_limits.saves_per_rater
    n_writes = 0 if rater.rehearsal else n_writes
    current = raters.mark_seen(tx, rater.id, limit=limit, n_writes=n_writes, now=now)
    if current is None:
        raise NotFound("There is no such rater.")
    if n_writes:
        limit.check(current.full_at_ms, to_milliseconds(now), TOO_MANY_SAVES)
    return RaterContext(current, campaign_row, platform.definitions.load(tx, campaign_row))


def check_not_withdrawn(rater: RaterRow) -> None:
    """Raise if a rater has withdrawn."""
    if rater.state == "withdrawn":
        raise NotAllowed("You have withdrawn; nothing more is stored about you.")
