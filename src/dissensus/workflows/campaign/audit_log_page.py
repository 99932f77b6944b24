"""Pages of the audit log of a campaign for members: the latest events first, without the answers of raters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from dissensus.campaign.audit_log import AuditEvent, EventKind
from dissensus.campaign.public_events import EVENT_KINDS
from dissensus.store import audit_log, staff
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

PAGE_SIZE: Final = 100
PERSON: Final = "person"
"""Field of an event that holds the id of a member of staff."""
ANY: Final = object()
"""Any value of a field of an event."""
NEGATIVE: Final = object()
"""Any number below 0."""
CASES: Final[Sequence[tuple[EventKind, str, object, str]]] = (
    ("state_changed", "state", "open", "the campaign was opened"),
    ("state_changed", "state", "paused", "the campaign was paused"),
    ("state_changed", "state", "closed", "the campaign was closed"),
    ("archived", "archived", True, "the campaign was archived"),
    ("archived", "archived", False, "the campaign was taken out of the archive"),
    ("items_changed", "added", ANY, "items were added"),
    ("items_changed", "removed", ANY, "items were removed"),
    ("items_changed", "withheld", True, "items were withheld from raters"),
    ("items_changed", "withheld", False, "withheld items were shown to raters again"),
    ("items_changed", "platinum", ANY, "labels of an earlier crowd were added to items"),
    ("items_changed", "erased", ANY, "the text of an item was erased"),
    ("images_changed", "added", ANY, "images were added"),
    ("images_changed", "removed", ANY, "images were removed"),
    ("notice_raised", "kind", "help", "a rater asked for help"),
    ("notice_raised", "kind", "illegal", "a rater reported an item"),
    ("members_changed", "role", None, "a member left"),
    ("members_changed", "before", None, "a member joined"),
    ("members_changed", "before", ANY, "a member changed role"),
    # Older events have no role before.
    ("members_changed", "role", ANY, "a member joined or changed role"),
    ("payment_recorded", "amount", NEGATIVE, "a payment was reversed"),
    ("payment_recorded", "amount", ANY, "a payment was recorded"),
    ("webhook_changed", "change", "added", "a webhook was added"),
    ("webhook_changed", "change", "removed", "a webhook was removed"),
    ("webhook_changed", "change", "paused", "a webhook was paused, since its receiver failed"),
    ("webhook_changed", "change", "resumed", "a webhook was resumed"),
    ("decision_recorded", "submission", ANY, "a submission was reviewed"),
    ("decision_recorded", "verdict", ANY, "a flag of a rater was decided"),
    ("decision_recorded", "part", ANY, "a gold label was adjudicated"),
    ("judge_permitted", "url", None, "the permission to send texts to a model was revoked"),
    ("judge_permitted", "url", ANY, "texts may be sent to a model at an address"),
)
"""Descriptions of events by kind and value of a field; the first that applies is shown."""


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
    before: int | None  # Number of the event before which the next page begins; None on the last page


def load_audit_page(platform: Platform, name: str, *, before: int | None, by_staff: bool, staff_id: str) -> AuditPage:
    """Return a page of events, of staff alone or all."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        rows = audit_log.list_events_before(tx, campaign_row.id, before=before, by_staff=by_staff, most=PAGE_SIZE + 1)
        page_rows = rows[:PAGE_SIZE]
        events = [event for _, event in page_rows if event is not None]
        people = {event.staff_id for event in events if event.staff_id}
        people |= {str(event.content[PERSON]) for event in events if PERSON in event.content}
        names = staff.load_staff_names(tx, people)
    return AuditPage(
        lines=tuple(_to_line(event, names) for _, event in page_rows),
        before=page_rows[-1][0] if len(rows) > PAGE_SIZE else None,
    )


def _to_line(event: AuditEvent | None, names: Mapping[str, str]) -> AuditLine:
    if event is None:
        return AuditLine(at=None, actor=None, text="an event of a rater whose data were erased", details=())
    actor = None if event.staff_id is None else names.get(event.staff_id, "a former member")
    text, text_field = _describe_event(event)
    details = tuple(_list_details(event, names, text_field))
    return AuditLine(at=event.at, actor=actor, text=text, details=details)


def _describe_event(event: AuditEvent) -> tuple[str, str | None]:
    """Return the description of an event, and the field whose value it states, if any."""
    for kind, field, value, text in CASES:
        if kind == event.kind and field in event.content and _fits(event.content[field], value):
            return text, None if value in (ANY, NEGATIVE) else field
    return EVENT_KINDS[event.kind].text, None


def _fits(value: Any, expected: object) -> bool:
    return value < 0 if expected is NEGATIVE else expected in (ANY, value)


def _list_details(event: AuditEvent, names: Mapping[str, str], text_field: str | None) -> Iterator[tuple[str, str]]:
    """Yield the fields to show, without the one that the description states, private ones, digests and ids.

    PostgreSQL does not keep the order of the keys of JSON.
    """
    for field, value in sorted(event.content.items()):
        if field == text_field or field in EVENT_KINDS[event.kind].private_fields or value is None:
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
