"""Audit log of a campaign: a hash chain of salted digests that detects changes and deletions.

The digest of an event covers all its fields and a random salt. Each chain digest covers the one before it, the digest
of the event, and the subject id of its rater: a random id that means nothing outside the log. Erasure deletes an event
with its salt: the remaining digest reveals nothing, and the chain stays valid. The subject id stays, so that an
erasure is valid only if it covers all events of a rater and the log has the withdrawal. The scheme is that of hash
chains with commitments, as in Haber and Stornetta (1991), https://doi.org/10.1007/BF00196791.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from dissensus.schema.canonical_json import digest_json, encode_json

EventKind: TypeAlias = Literal[
    "entered",
    "consented",
    "declared",
    "check_answered",
    "survey_answered",
    "item_offered",
    "item_submitted",
    "item_corrected",
    "item_skipped",
    "conversation_begun",
    "message_sent",
    "response_picked",
    "conversation_ended",
    "notice_raised",
    "stopped",
    "resumed",
    "withdrawn",
    "turned_away",
    "recruiter_event",
    "created",
    "planned",
    "revised",
    "state_changed",
    "archived",
    "deleted",
    "items_changed",
    "images_changed",
    "links_created",
    "notice_settled",
    "raters_flagged",
    "item_labelled",
    "exported",
    "release_planned",
    "release_signed",
    "released",
    "judge_permitted",
    "judged",
    "rule_adopted",
    "model_trained",
    "viewed",
    "members_changed",
    "payment_recorded",
    "decision_recorded",
    "recruiter_ids_erased",
    "webhook_changed",
    "erased",
]
"""Kinds of events, which `public_events.EVENT_KINDS` describes.

``erased`` replaces the kind of an event when its rater withdraws or is turned away.
"""

SALT_BYTES: Final = 16

INITIAL_CHAIN_DIGEST: Final = "0" * 64
"""Chain digest before the first event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """An action of a rater, of staff (one id each), or of a recruiter or the platform (no id)."""

    kind: EventKind
    at: datetime
    rater_id: str | None = None
    staff_id: str | None = None
    content: Mapping[str, Any]  # plain values for JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """An event in the chain, with its digests and salt in hexadecimal; event and salt are None once erased."""

    sequence: int  # from 1
    digest: str
    chain_digest: str
    salt: str | None
    subject_id: str | None = None  # of the rater, in hexadecimal; None for other events
    event: AuditEvent | None

    @property
    def linked_digest(self) -> str:
        """Digest of the event and its subject, which the chain digest covers."""
        return digest_subject(self.digest, self.subject_id)


@dataclass(frozen=True, slots=True)
class ChainBreak:
    """The first invalid entry of a chain, and the reason as a sentence."""

    sequence: int
    reason: str


def digest_event(event: AuditEvent, salt: str) -> str:
    """Return the salted SHA-256 of an event, in hexadecimal.

    Examples
    --------
    >>> event = AuditEvent(kind="created", at=datetime(2030, 1, 2, tzinfo=UTC), staff_id="s", content={"items": 0})
    >>> digest_event(event, "00" * 16)[:16]
    'e08955682b708ffc'
    """
    fields = [event.kind, format_time(event.at), event.rater_id, event.staff_id, event.content]
    return hashlib.sha256(bytes.fromhex(salt) + encode_json(fields)).hexdigest()


def digest_subject(digest: str, subject_id: str | None) -> str:
    """Return the SHA-256 of the digest of an event and its subject id, or the digest of an event without a rater."""
    if subject_id is None:
        return digest
    return hashlib.sha256(bytes.fromhex(digest) + bytes.fromhex(subject_id)).hexdigest()


def next_chain_digest(previous: str, linked_digest: str) -> str:
    """Return the chain digest of an event after another chain digest."""
    return hashlib.sha256(bytes.fromhex(previous) + bytes.fromhex(linked_digest)).hexdigest()


def digest_values(*values: object) -> str:
    """Return the SHA-256 of values for JSON, in hexadecimal, by which an event commits to a stored row.

    Examples
    --------
    >>> digest_values({"a": 1, "b": "x"}) == digest_values({"b": "x", "a": 1})
    True
    """
    return digest_json(values)


def digest_item(name: str, content: Mapping[str, Any], salt: str) -> str:
    """Return the salted SHA-256 of an item, in hexadecimal; without the salt it reveals nothing."""
    return hashlib.sha256(bytes.fromhex(salt) + encode_json([name, content])).hexdigest()


def digest_sequence(digests: Iterable[str]) -> str:
    """Return the SHA-256 of digests in their order, in hexadecimal."""
    result = hashlib.sha256()
    for digest in digests:
        result.update(bytes.fromhex(digest))
    return result.hexdigest()


def format_time(at: datetime) -> str:
    """Return a time in UTC as digests cover it."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


class ChainVerifier:
    """Verification of a chain, entry by entry in the order of the sequence."""

    def __init__(self) -> None:
        self.first_break: ChainBreak | None = None
        self._n, self._previous = 0, INITIAL_CHAIN_DIGEST

    def verify(self, entry: AuditEntry) -> bool:
        """Verify the next entry; return whether it has an event that matches its digest."""
        valid = _has_valid_content(entry)
        fault = self._find_fault(entry, valid)
        if fault is not None:
            self._report(self._n + 1, fault)
        # The entries after a break are verified too: faults of stored rows can be named only by valid events.
        self._n, self._previous = entry.sequence, entry.chain_digest
        return valid

    def finish(self, *, n: int, head: str) -> None:
        """Verify that the chain has `n` entries and ends with the chain digest `head`, after the last entry."""
        if self._n < n:
            self._report(self._n + 1, f"It is missing: the chain should have {n:,} events, and has {self._n:,}.")
        elif self._n > n:
            self._report(n + 1, f"It is beyond the stored end of the chain: {n:,} events.")
        elif self._previous != head:
            self._report(self._n, "Its chain digest is not the stored last one.")

    def _report(self, sequence: int, reason: str) -> None:
        if self.first_break is None:
            self.first_break = ChainBreak(sequence, reason)

    def _find_fault(self, entry: AuditEntry, valid: bool) -> str | None:
        if entry.sequence != self._n + 1:
            return f"It is missing: the next event has the sequence number {entry.sequence:,}."
        if (entry.event is None) != (entry.salt is None):
            return "Its content was erased and its salt was not, or the reverse."
        if entry.event is not None and not valid:
            return f"Its content does not match its digest: {entry.event.kind}, {entry.event.at.isoformat()}."
        if not _follows(entry, self._previous):
            return "Its chain digest does not follow from the previous one."
        return None


def _has_valid_content(entry: AuditEntry) -> bool:
    if entry.event is None or entry.salt is None:
        return False
    try:
        return digest_event(entry.event, entry.salt) == entry.digest
    except ValueError:  # A salt that is not hexadecimal.
        return False


def _follows(entry: AuditEntry, previous: str) -> bool:
    try:
        return next_chain_digest(previous, entry.linked_digest) == entry.chain_digest
    except ValueError:  # A digest that is not hexadecimal.
        return False
