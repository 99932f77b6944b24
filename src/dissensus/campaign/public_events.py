"""Public view of audit-log events, for API clients and webhooks: neither raters nor answers are identified."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from dissensus.campaign.event_log import AuditEntry, EventKind

Actor: TypeAlias = Literal["staff", "rater", "other"]


@dataclass(frozen=True, slots=True)
class EventDescription:
    """A kind of event in words, and the fields of its content that are redacted from the public view."""

    text: str
    private_fields: frozenset[str] = frozenset()


# A digest of one answer of three can be guessed, labels are secret until all are in, and reasons may be about a rater.
EVENT_KINDS: Final[Mapping[EventKind, EventDescription]] = {
    "entered": EventDescription("a rater came in"),
    "consented": EventDescription("a rater agreed to purposes, or changed that"),
    "declared": EventDescription("a rater said something of themselves"),
    "check_answered": EventDescription("a rater answered a check"),
    "survey_answered": EventDescription("a rater was asked how they feel"),
    "item_offered": EventDescription("a rater was shown an item"),
    "item_submitted": EventDescription("a rater finished an item", frozenset({"digest", "save"})),
    "item_skipped": EventDescription("a rater left an item out"),
    "conversation_begun": EventDescription("a rater began a conversation"),
    "message_sent": EventDescription("a rater sent a message to a chatbot", frozenset({"digest"})),
    "response_picked": EventDescription("a rater preferred one of two responses", frozenset({"digest"})),
    "conversation_ended": EventDescription("a rater ended a conversation"),
    "notice_raised": EventDescription("a rater needs help, or reported an item"),
    "stopped": EventDescription("a rater stopped"),
    "resumed": EventDescription("a rater went on after a stop"),
    "withdrawn": EventDescription("a rater withdrew, and is not named"),
    "recruiter_event": EventDescription("a recruiter told what became of a submission"),
    "created": EventDescription("the campaign was made"),
    "revised": EventDescription("its definition changed"),
    "state_changed": EventDescription("it was opened, paused or closed"),
    "items_changed": EventDescription("items were added or removed"),
    "links_created": EventDescription("personal links were made"),
    "notice_settled": EventDescription("a notice was settled"),
    "item_labelled": EventDescription("an expert labelled an item", frozenset({"answers"})),
    "exported": EventDescription("ratings were taken out"),
    "model_trained": EventDescription("a registered model was trained on preferences of raters"),
    "viewed": EventDescription("somebody of the staff was shown what single raters did or said"),
    "members_changed": EventDescription("somebody came to belong to the campaign, changed or left"),
    "payment_recorded": EventDescription("a payment was noted or taken back"),
    "decision_recorded": EventDescription(
        "somebody decided about a rater, a submission or a label", frozenset({"answers", "reason"})
    ),
    "recruiter_ids_erased": EventDescription("the ids of a recruiter were erased"),
    "webhook_changed": EventDescription("a webhook was added or removed, was paused, or went on"),
}
"""Every kind that has a public view; erased events have none but their digests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicEvent:
    """An entry of the audit log without private fields; `at` and `by` are None once it is erased."""

    sequence: int
    kind: EventKind
    at: datetime | None
    by: Actor | None
    staff: str | None  # id of a member
    content: Mapping[str, Any]
    digest: str
    chain_digest: str

    def as_mapping(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "sequence": self.sequence,
            "kind": self.kind,
            "at": None if self.at is None else format_utc(self.at),
            "by": self.by,
            "staff": self.staff,
            "content": dict(self.content),
            "digest": self.digest,
            "chain_digest": self.chain_digest,
        }


def to_public_event(entry: AuditEntry) -> PublicEvent:
    """Redact an entry of the audit log."""
    event = entry.event
    private = frozenset[str]() if event is None else EVENT_KINDS[event.kind].private_fields
    return PublicEvent(
        sequence=entry.sequence,
        kind="erased" if event is None else event.kind,
        at=None if event is None else event.at,
        by=None if event is None else "staff" if event.staff_id else "rater" if event.rater_id else "other",
        staff=None if event is None else event.staff_id,
        content={} if event is None else {k: value for k, value in event.content.items() if k not in private},
        digest=entry.digest,
        chain_digest=entry.chain_digest,
    )


def format_utc(at: datetime) -> str:
    """Return a time as the API writes it.

    Examples
    --------
    >>> format_utc(datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC))
    '2030-01-02T03:04:05Z'
    """
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
