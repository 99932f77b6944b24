"""Security log for the operator and for each person, and its retention."""

from datetime import datetime, timedelta

from dissensus.store.identity import security_log as store
from dissensus.store.identity.security_log import SecurityEvent
from dissensus.store.staff import StaffRow
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.staff import find_staff


def list_security_events(platform: Platform, *, person: str | None, since: datetime) -> tuple[SecurityEvent, ...]:
    """Return the events of all staff or of one person from a time on, the earliest first, for the operator."""
    with platform.database.reading() as tx:
        staff_id = None if person is None else find_staff(tx, person).id
        return store.list_security_events(tx, since=since, staff_id=staff_id)


def list_own_events(platform: Platform, staff: StaffRow, *, since: datetime) -> tuple[SecurityEvent, ...]:
    """Return the events that concern a person from a time on, the latest first."""
    with platform.database.reading() as tx:
        return store.list_security_events(tx, since=since, staff_id=staff.id)[::-1]


def delete_expired_events(platform: Platform, now: datetime, *, days: int) -> None:
    """Delete events older than a number of days."""
    when = now - timedelta(days=days)
    with platform.database.reading() as tx:
        if not store.has_security_events_before(tx, when):
            return
    with platform.database.writing() as tx:
        store.delete_security_events_before(tx, when)
