"""What is written to the log of a campaign; nothing of previews and dry runs, which are nothing that happened."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from dissensus.campaign.event_log import Kind
from dissensus.store import events
from dissensus.store.raters import Rater


def log_rater_event(tx: Connection, rater: Rater, kind: Kind, now: datetime, **content: Any) -> None:
    """Keep what a rater did or saw."""
    if not rater.rehearsal:
        events.record(tx, rater.campaign_id, kind, content, rater_id=rater.id, now=now)


def log_staff_event(tx: Connection, campaign_id: str, kind: Kind, staff_id: str, now: datetime, **content: Any) -> int:
    """Keep what somebody of the staff did or saw, and return the number of the event."""
    return events.record(tx, campaign_id, kind, content, staff_id=staff_id, now=now)
