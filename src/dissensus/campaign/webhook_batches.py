"""Webhook deliveries: batches of events, retries with exponential backoff, and pausing."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from dissensus.campaign.public_events import PublicEvent, format_utc

BATCH_TYPE: Final = "campaign.events"
MAX_BATCH_EVENTS: Final = 100
"""Of a batch."""
FIRST_BACKOFF: Final = timedelta(seconds=5)
MAX_BACKOFF: Final = timedelta(hours=6)
PAUSE_AFTER: Final = timedelta(days=5)
"""A webhook that has failed for so long is paused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookBatch:
    """Events that are sent at once."""

    webhook_id: str  # To which webhook, and of which campaign, by its name
    campaign: str
    # The places between which it tells all that there is of the kinds of the webhook, the second one included
    after: int
    through: int
    head: int  # The last place of the chain when it was made
    events: Sequence[PublicEvent]  # In the order of the chain

    @property
    def id(self) -> str:
        """Message id: a batch that is sent again has the same.

        Examples
        --------
        >>> WebhookBatch(webhook_id="0198", campaign="pilot", after=2, through=9, head=9, events=()).id
        'msg_0198_3_9'
        """
        return f"msg_{self.webhook_id}_{self.after + 1}_{self.through}"

    @property
    def body(self) -> bytes:
        """It as JSON."""
        last = next((one.at for one in reversed(self.events) if one.at is not None), None)
        data: dict[str, Any] = {
            "campaign": self.campaign,
            "webhook": self.webhook_id,
            "after": self.after,
            "through": self.through,
            "head": self.head,
            "events": [one.as_mapping() for one in self.events],
        }
        answers = {"type": BATCH_TYPE, "timestamp": None if last is None else format_utc(last), "data": data}
        return json.dumps(answers, separators=(",", ":")).encode()


def backoff_after(n_failures: int, *, asked_s: float, chance: float) -> timedelta:
    """Return how long to wait after so many failures in a row.

    Twice as long after each, from 5 seconds to 6 hours; of that a part between a half and all, so that those who failed
    together do not come back together.

    Examples
    --------
    >>> [str(backoff_after(n, asked_s=0, chance=1)) for n in (1, 2, 10, 100)]
    ['0:00:05', '0:00:10', '0:42:40', '6:00:00']
    >>> str(backoff_after(1, asked_s=60, chance=0)), str(backoff_after(1, asked_s=1e9, chance=0))
    ('0:01:00', '6:00:00')
    """
    grown: timedelta = min(FIRST_BACKOFF * 2 ** min(n_failures - 1, 30), MAX_BACKOFF)
    asked = timedelta(seconds=min(asked_s, MAX_BACKOFF.total_seconds()))
    return max(grown * (0.5 + chance / 2), asked)


def should_pause(failing_since: datetime, *, now: datetime) -> bool:
    """Return whether a webhook has failed for so long that it is paused."""
    return now - failing_since >= PAUSE_AFTER
