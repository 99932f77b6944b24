"""Pages of the audit log of a campaign, for people: the latest first, without what raters answered."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from dissensus.campaign.event_log import AuditEvent
from dissensus.campaign.public_events import EVENT_KINDS
from dissensus.store import events, staff
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

PAGE_SIZE: Final = 100
PERSON: Final = "person"
"""Field of an event that holds the id of a member of staff."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """An event as a line of text."""

    at: datetime | None  # None for an erased event
    actor: str | None  # Name of a member of staff; None for others
    text: str
    details: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """A page of the audit log."""

    lines: tuple[AuditLine, ...]
    before: int | None  # Number from which the next page goes on; None on the last page


def load_audit_page(platform: Platform, name: str, *, before: int | None, by_staff: bool, staff_id: str) -> AuditPage:
    """Return a page of events, of staff alone or all."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        rows = events.list_events_before(tx, campaign_row.id, before=before, by_staff=by_staff, most=PAGE_SIZE + 1)
        shown = rows[:PAGE_SIZE]
        people = {event.staff_id for _, event in shown if event is not None and event.staff_id}
        people |= {str(event.content[PERSON]) for _, event in shown if event is not None and PERSON in event.content}
        names = staff.load_staff_names(tx, people)
    return AuditPage(
        lines=tuple(_to_line(event, names) for _, event in shown),
        before=shown[-1][0] if len(rows) > PAGE_SIZE else None,
    )


def _to_line(event: AuditEvent | None, names: Mapping[str, str]) -> AuditLine:
    if event is None:
        return AuditLine(at=None, actor=None, text="an event of a rater whose data were erased", details=())
    actor = None if event.staff_id is None else names.get(event.staff_id, "a former member")
    details = tuple(_list_details(event, names))
    return AuditLine(at=event.at, actor=actor, text=EVENT_KINDS[event.kind].text, details=details)


def _list_details(event: AuditEvent, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the fields that tell people something, without private ones, digests and ids.

    PostgreSQL does not keep the order of the keys of JSON.
    """
    for field, value in sorted(event.content.items()):
        if field in EVENT_KINDS[event.kind].private_fields or value is None:
            continue
        if field == PERSON:
            yield field, names.get(str(value), "a former member")
        elif not _is_opaque(field, value):
            yield field.replace("_", " "), _format_value(value)


def _is_opaque(field: str, value: Any) -> bool:
    return isinstance(value, str) and (field == "definition" or "digest" in field or _is_id(value))


def _is_id(value: str) -> bool:
    """Return whether a text is a UUID or a hexadecimal digest."""
    return len(value) >= 32 and all(sign in "0123456789abcdef-" for sign in value)


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_format_value(part)}" for key, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(_format_value, value))
    return str(value)
