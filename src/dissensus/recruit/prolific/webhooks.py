"""Verification of webhooks from Prolific.

Prolific signs the timestamp and the body of a request, but not its event id, which serves only to recognise repeated
events. `is_later_status` decides whether an event may change a status, so that a replayed request changes nothing.
"""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from dissensus.errors import InvalidInput, NotAllowed
from dissensus.recruit.prolific.entry import PROLIFIC_ID
from dissensus.recruit.prolific.submissions import StudyStatus, SubmissionStatus, parse_status
from dissensus.schema.hints import format_value
from dissensus.schema.questionnaire.faults import describe_type

SIGNATURE: Final = "x-prolific-request-signature"
TIMESTAMP: Final = "x-prolific-request-timestamp"
EVENT_ID: Final = "x-event-id"

MAX_BODY_BYTES: Final = 2**16
"""Size limit of a body."""
MAX_AGE: Final = timedelta(hours=25)
"""Prolific retries for 24 hours, and does not document whether each attempt has a new signature."""
MAX_CLOCK_LEAD: Final = timedelta(minutes=5)
"""Tolerance for a clock of Prolific ahead of ours."""


class ProlificEventKind(StrEnum):
    """Event type, named as in Prolific's subscriptions."""

    SUBMISSION = "submission.status.change"
    STUDY = "study.status.change"
    PROGRESS = "study.progress.change"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProlificEvent:
    """A verified event of Prolific."""

    id: str  # The same for all deliveries of an event
    kind: ProlificEventKind | None  # None for a genuine event of an unknown type, which can be ignored
    submission: str | None = None  # Id for events of submissions, which do not name the study
    study: str | None = None  # Id for events of studies
    status: SubmissionStatus | StudyStatus | None = None  # New status, if any that is known
    at: datetime  # Time of the signature


def verify_event(
    headers: Mapping[str, str],
    body: bytes,
    *,
    secret: str,
    now: datetime,
    max_age: timedelta = MAX_AGE,
    max_clock_lead: timedelta = MAX_CLOCK_LEAD,
) -> ProlificEvent:
    """Return the event in a request that Prolific signed; raise `NotAllowed` for any other.

    Examples
    --------
    >>> verify_event({}, b"{}", secret="s", now=datetime(2030, 1, 2, tzinfo=UTC))
    Traceback (most recent call last):
        ...
    dissensus.errors.NotAllowed: The request is not signed with the secret of this workspace, and nothing was done.
    """
    if len(body) > MAX_BODY_BYTES:
        raise InvalidInput(f"The body has {len(body):,} bytes, and {MAX_BODY_BYTES:,} are allowed. Nothing was done.")
    headers = {name.lower(): value for name, value in headers.items()}
    timestamp = headers.get(TIMESTAMP, "")
    if not hmac.compare_digest(sign_request(secret, timestamp, body), _encode(headers.get(SIGNATURE, ""))):
        raise NotAllowed("The request is not signed with the secret of this workspace, and nothing was done.")
    at = _parse_timestamp(timestamp)
    if not now - max_age <= at <= now + max_clock_lead:
        raise NotAllowed(
            f"The request was signed at {at:%Y-%m-%d %H:%M:%S} UTC, too far from now, which is "
            f"{now.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC. Nothing was done. Check the clock of this machine."
        )
    return _parse_event(headers.get(EVENT_ID, ""), _parse_payload(body), at)


def sign_request(secret: str, timestamp: str, body: bytes) -> bytes:
    """Return Prolific's signature of a request: HMAC-SHA256 of timestamp and body, in Base64.

    Examples
    --------
    >>> sign_request("secret", "1893542400", b"{}")
    b'cAXeou2jpn3aWFAjWkGt0LqcHsl9bCsFCAM9GasUeLQ='
    """
    if not secret:
        raise InvalidInput("The secret of the workspace is empty, so anybody could sign requests. Set it.")
    return base64.b64encode(hmac.new(_encode(secret), _encode(timestamp) + body, hashlib.sha256).digest())


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _parse_timestamp(timestamp: str) -> datetime:
    if not re.fullmatch(r"[0-9]{1,11}(\.[0-9]{1,9})?", timestamp):
        raise NotAllowed(
            f"The request was signed at {format_value(timestamp)}, which is not a Unix time; nothing was done."
        )
    return datetime.fromtimestamp(float(timestamp), UTC)


def _parse_payload(body: bytes) -> Mapping[str, Any]:
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidInput("The request is signed, but its body is not JSON. Nothing was done.") from None
    if not isinstance(payload, dict):
        raise InvalidInput(
            f"The request is signed, but its body is {describe_type(payload)}, not a table. Nothing was done."
        )
    return payload


def _parse_event(event_id: str, payload: Mapping[str, Any], at: datetime) -> ProlificEvent:
    if not re.fullmatch(r"[!-~]{1,200}", event_id):
        raise InvalidInput(
            f"The request is signed, but X-Event-Id is {format_value(event_id)}, not an id. Nothing was done."
        )
    event_type, status = payload.get("event_type"), payload.get("status")
    kind = next((kind for kind in ProlificEventKind if kind.value == event_type), None)
    if kind is None:
        return ProlificEvent(id=event_id, kind=None, at=at)
    resource = payload.get("resource_id")
    if not isinstance(resource, str) or not PROLIFIC_ID.fullmatch(resource):
        description = format_value(resource) if isinstance(resource, str) else describe_type(resource)
        raise InvalidInput(
            f"The request is signed, but resource_id is {description}, not an id of Prolific. Nothing was done."
        )
    if kind is ProlificEventKind.SUBMISSION:
        submission_status = parse_status(SubmissionStatus, status)
        return ProlificEvent(id=event_id, kind=kind, submission=resource.lower(), status=submission_status, at=at)
    return ProlificEvent(
        id=event_id, kind=kind, study=resource.lower(), status=parse_status(StudyStatus, status), at=at
    )
