"""Public view of audit-log events for API clients and webhooks, without answers or identities of raters."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from dissensus.campaign.audit_log import AuditEntry, EventKind

Actor: TypeAlias = Literal["staff", "rater", "other"]


@dataclass(frozen=True, slots=True)
class EventDescription:
    """Description of an event kind, and its fields that are redacted from the public view."""

    text: str
    private_fields: frozenset[str] = frozenset()


# Answers could be recovered from their digests by trial, and are read from the cell of a quota; labels stay secret
# until all are submitted; reasons may describe a rater.
EVENT_KINDS: Final[Mapping[EventKind, EventDescription]] = {
    "entered": EventDescription("a rater entered", frozenset({"cell"})),
    "consented": EventDescription("a rater gave or changed consent"),
    "declared": EventDescription(
        "a rater answered demographic questions", frozenset({"declaration", "digest", "cell"})
    ),
    "check_answered": EventDescription("a rater answered a check", frozenset({"digest"})),
    "survey_answered": EventDescription("a rater answered a wellbeing survey, or left it blank", frozenset({"digest"})),
    "item_offered": EventDescription("a rater was shown an item"),
    "item_submitted": EventDescription("a rater finished an item", frozenset({"digest", "save"})),
    "item_corrected": EventDescription("a rater corrected a finished item", frozenset({"digest", "save"})),
    "item_skipped": EventDescription("a rater skipped an item"),
    "conversation_begun": EventDescription("a rater began a conversation", frozenset({"digest"})),
    "message_sent": EventDescription("a rater sent a message to a chatbot", frozenset({"digest"})),
    "response_picked": EventDescription("a rater preferred one of two responses", frozenset({"digest"})),
    "conversation_ended": EventDescription("a rater ended a conversation", frozenset({"digest"})),
    "notice_raised": EventDescription("a rater needs help, or reported an item"),
    "stopped": EventDescription("a rater stopped"),
    "resumed": EventDescription("a rater resumed after a stop"),
    "withdrawn": EventDescription("a rater, whose id is not recorded, withdrew"),
    "turned_away": EventDescription(
        "a rater, whose id is not recorded, was turned away, since their cell was full", frozenset({"cell"})
    ),
    "recruiter_event": EventDescription("a recruiter reported the status of a submission"),
    "created": EventDescription("the campaign was created"),
    "planned": EventDescription("the campaign took the numbers of a plan, with the SHA-256 of its file"),
    "revised": EventDescription("the definition changed"),
    "state_changed": EventDescription("the campaign was opened, paused or closed"),
    "archived": EventDescription("the campaign was archived, or taken out of the archive"),
    "deleted": EventDescription("the campaign was deleted, with everything but this log"),
    "items_changed": EventDescription("items were added, removed, withheld or shown again"),
    "images_changed": EventDescription("images were added or removed"),
    "links_created": EventDescription("personal links were created"),
    "raters_flagged": EventDescription("raters newly met a criterion of data quality, with their number"),
    "notice_settled": EventDescription("a notice was settled"),
    "item_labelled": EventDescription("an expert labelled an item", frozenset({"answers", "revision"})),
    "exported": EventDescription("ratings were exported"),
    "release_planned": EventDescription("the plan of a release changed, with its SHA-256"),
    "release_signed": EventDescription("an owner signed the evidence of a check of a release, by its code"),
    "released": EventDescription("a release was written, with the SHA-256 of its manifest"),
    "judge_permitted": EventDescription("sending texts to a model at an address was permitted, or no longer is"),
    "judged": EventDescription("texts of items were given to a model that judges, with its digest and address"),
    "rule_adopted": EventDescription("an owner adopted a decision rule, with its costs"),
    "model_trained": EventDescription("a registered model was trained on preferences of raters"),
    "viewed": EventDescription("a staff member viewed what individual raters did or said"),
    "members_changed": EventDescription("a member joined, changed role or left"),
    "payment_recorded": EventDescription("a payment was recorded or reversed"),
    "decision_recorded": EventDescription(
        "a decision was made about a rater, a submission or a label",
        frozenset({"answers", "decision", "digest", "reason", "revision"}),
    ),
    "recruiter_ids_erased": EventDescription("the ids of a recruiter were erased"),
    "webhook_changed": EventDescription("a webhook was added, removed, paused or resumed"),
}
"""Kinds with a public view; erased events show only their digests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicEvent:
    """An entry of the audit log without private fields; `at` and `actor` are None once it is erased."""

    sequence: int
    kind: EventKind
    at: datetime | None
    actor: Actor | None
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
            "actor": self.actor,
            "staff": self.staff,
            "content": dict(self.content),
            "digest": self.digest,
            "chain_digest": self.chain_digest,
        }


def to_public_event(entry: AuditEntry) -> PublicEvent:
    """Redact an entry of the audit log."""
    event = entry.event
    if event is None:
        return PublicEvent(
            sequence=entry.sequence,
            kind="erased",
            at=None,
            actor=None,
            staff=None,
            content={},
            digest=entry.linked_digest,
            chain_digest=entry.chain_digest,
        )
    private = EVENT_KINDS[event.kind].private_fields
    return PublicEvent(
        sequence=entry.sequence,
        kind=event.kind,
        at=event.at,
        actor="staff" if event.staff_id else "rater" if event.rater_id else "other",
        staff=event.staff_id,
        content={name: value for name, value in event.content.items() if name not in private},
        digest=entry.linked_digest,
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
