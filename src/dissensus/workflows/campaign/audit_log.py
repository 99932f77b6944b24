"""Append events to a campaign's audit log. Previews and dry runs are not logged."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from dissensus.campaign.audit_log import EventKind
from dissensus.store import audit_log
from dissensus.store.raters import RaterRow


def log_rater_event(tx: Connection, rater: RaterRow, kind: EventKind, now: datetime, /, **content: Any) -> None:
    """Log an action or view of a rater."""
    if not rater.rehearsal:
        log_event_about(tx, rater.campaign_id, rater, kind, content, now=now)


def log_event_about(
    tx: Connection,
    campaign_id: str,
    rater: RaterRow | None,
    kind: EventKind,
    content: Mapping[str, Any],
    *,
    staff_id: str | None = None,
    now: datetime,
) -> None:
    """Log an event about a rater, such as a decision of staff, which is erased with the rater.

    After a withdrawal it is logged without the rater, since nothing would erase it later.
    """
    ids = {"staff_id": staff_id}
    if rater is not None and rater.subject_id is not None:
        ids |= {"rater_id": rater.id, "subject_id": rater.subject_id}
    audit_log.append_event(tx, campaign_id, kind, content, **ids, now=now)


def log_staff_event(
    tx: Connection, campaign_id: str, kind: EventKind, staff_id: str, now: datetime, /, **content: Any
) -> int:
    """Log an action or view of a member of staff and return the number of the event."""
    return audit_log.append_event(tx, campaign_id, kind, content, staff_id=staff_id, now=now)
