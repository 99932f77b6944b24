"""Append events to a campaign's audit log. Previews and dry runs are not logged."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from dissensus.campaign.event_log import EventKind
from dissensus.store import events
from dissensus.store.raters import RaterRow


def log_rater_event(tx: Connection, rater: RaterRow, kind: EventKind, now: datetime, /, **content: Any) -> None:
    """Log an action or view of a rater."""
    if not rater.rehearsal:
        events.append_event(tx, rater.campaign_id, kind, content, rater_id=rater.id, now=now)


def log_staff_event(
    tx: Connection, campaign_id: str, kind: EventKind, staff_id: str, now: datetime, /, **content: Any
) -> int:
    """Log an action or view of a member of staff and return the number of the event."""
    return events.append_event(tx, campaign_id, kind, content, staff_id=staff_id, now=now)
