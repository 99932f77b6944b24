"""Webhook payloads: batches of events; pausing after continuous failure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from dissensus.campaign.public_events import PublicEvent, format_utc

BATCH_TYPE: Final = "campaign.events"
MAX_BATCH_EVENTS: Final = 100
PAUSE_AFTER: Final = timedelta(days=5)
"""Time of continuous failure after which a webhook is paused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookBatch:
    """Events that are sent in one request."""

    webhook_id: str
    campaign: str  # name
    after: int  # sequence numbers covered: from `after`, exclusive, to `through`, inclusive
    through: int
    last_sequence: int  # last sequence number of the log
    events: Sequence[PublicEvent]  # of the kinds of the webhook, in order

    @property
    def id(self) -> str:
        """Message id, the same for each retry.

        Examples
        --------
        >>> WebhookBatch(webhook_id="0198", campaign="pilot", after=2, through=9, last_sequence=9, events=()).id
        'msg_0198_3_9'
        """
        return f"msg_{self.webhook_id}_{self.after + 1}_{self.through}"

    @property
    def body(self) -> bytes:
        """Request body in JSON."""
        last = next((event.at for event in reversed(self.events) if event.at is not None), None)
        data: dict[str, Any] = {
            "campaign": self.campaign,
            "webhook": self.webhook_id,
            "after": self.after,
            "through": self.through,
            "last_sequence": self.last_sequence,
            "events": [event.as_mapping() for event in self.events],
        }
        message = {"type": BATCH_TYPE, "timestamp": None if last is None else format_utc(last), "data": data}
        return json.dumps(message, separators=(",", ":")).encode()


def should_pause(failing_since: datetime, *, now: datetime) -> bool:
    """Return whether a webhook has failed long enough to be paused."""
    return now - failing_since >= PAUSE_AFTER
