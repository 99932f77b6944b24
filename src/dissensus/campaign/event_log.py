"""Audit log of a campaign: a hash chain of salted digests that detects changes and deletions.

The digest of an event covers all its fields and a random salt. Each chain digest covers the one before it, the digest
of the event, and the subject id of its rater: a random id that means nothing outside the log. Erasure deletes an event
with its salt: the remaining digest reveals nothing, and the chain stays valid. The subject id stays, so that an
erasure is valid only if it covers all events of a rater and the log has the withdrawal. The scheme is that of hash
chains with commitments, as in Haber and Stornetta (1991), https://doi.org/10.1007/BF00196791.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

EventKind: TypeAlias = Literal[
    "entered",
    "consented",
    "declared",
    "check_answered",
    "survey_answered",
    "item_offered",
    "item_submitted",
    "item_skipped",
    "conversation_begun",
    "message_sent",
    "response_picked",
    "conversation_ended",
    "notice_raised",
    "stopped",
    "resumed",
    "withdrawn",
    "recruiter_event",
    "created",
    "revised",
    "state_changed",
    "items_changed",
    "links_created",
    "notice_settled",
    "item_labelled",
    "exported",
    "model_trained",
    "viewed",
    "members_changed",
    "payment_recorded",
    "decision_recorded",
    "recruiter_ids_erased",
    "webhook_changed",
    "erased",
]
"""Kind of an event, as `public_events.EVENT_KINDS` describes it; ``erased`` replaces it when its rater withdraws."""

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
    """An event of the chain with its digests, in hexadecimal; salt and event are None once erased."""

    sequence: int  # from 1
    digest: str
    chain_digest: str
    salt: str | None
    event: AuditEvent | None


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
    at = event.at.astimezone(UTC).isoformat(timespec="microseconds")
    fields = [event.kind, at, event.rater_id, event.staff_id, event.content]
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(bytes.fromhex(salt) + text.encode("ascii")).hexdigest()


def next_chain_digest(previous: str, digest: str) -> str:
    """Return the chain digest of an event after another chain digest."""
    return hashlib.sha256(bytes.fromhex(previous) + bytes.fromhex(digest)).hexdigest()


def find_chain_break(entries: Iterable[AuditEntry], *, n: int, head: str) -> ChainBreak | None:
    """Verify a chain of `n` entries that ends in the chain digest `head`; return None if it is valid."""
    previous, sequence = INITIAL_CHAIN_DIGEST, 0
    for entry in entries:
        sequence += 1
        fault = _find_fault(entry, sequence, previous)
        if fault is not None:
            self._report(self._n, fault)
        # The entries after a break are verified too: faults of stored rows can be named only by valid events.
        self._n, self._previous = entry.sequence, entry.chain_digest
        return _has_valid_content(entry)

    def finish(self, *, n: int, head: str) -> None:
        """Verify that the chain has `n` entries and ends in the chain digest `head`."""
        if self._n != n:
            self._report(self._n + 1, f"It is missing: the chain should have {n:,} events, and has {self._n:,}.")
        elif self._previous != head:
            self._report(self._n, "Its chain digest is not the stored last one.")

    def _report(self, sequence: int, reason: str) -> None:
        if self.first_break is None:
            self.first_break = ChainBreak(sequence, reason)

    def _find_fault(self, entry: AuditEntry) -> str | None:
        if entry.sequence != self._n:
            return f"It is missing: the next event has the sequence number {entry.sequence:,}."
        if (entry.event is None) != (entry.salt is None):
            return "Its content was erased and its salt was not, or the reverse."
        if entry.event is not None and not _has_valid_content(entry):
            return f"Its content does not match its digest: {entry.event.kind}, {entry.event.at.isoformat()}."
        if next_chain_digest(self._previous, entry.linked_digest) != entry.chain_digest:
            return "Its chain digest does not follow from the previous one."
        return None


def _has_valid_content(entry: AuditEntry) -> bool:
    return entry.event is not None and entry.salt is not None and digest_event(entry.event, entry.salt) == entry.digest
    def __init__(self) -> None:
        self.first_break: ChainBreak | None = None
        self._n, self._previous = 0, INITIAL_CHAIN_DIGEST
