"""What happened in a campaign, and who is told of it, as frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened in a campaign."""

    place: int  # Where in the chain, its digest, and that of the chain up to it
    kind: str
    at: datetime | None  # When, and by whom; None where it was erased, and `staff` the id of a member
    by: Literal["staff", "rater", "other"] | None
    staff: str | None
    content: Mapping[str, Any]
    digest: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An address that is told what happens in a campaign."""

    id: str  # Which one, where, and of what kinds of events; none for all
    address: str
    kinds: tuple[str, ...]
    # Whether it is told; why the last delivery was not taken, and why nothing is delivered any more, empty where it
    # was, and is
    state: Literal["going", "failing", "paused"]
    trouble: str
    paused: str
    place: int  # In the log, of the last event that was delivered, and of the last one that there is
    head: int
    by: str  # The owner who answers for it
    due_at: datetime  # When it is tried next where it fails, when the last delivery was taken, and when it was added
    delivered_at: datetime | None
    created_at: datetime
    # By which its deliveries are signed, which is told when it is added, and never again
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What a webhook was told at once."""

    id: str  # The same for each try to deliver it
    campaign: str  # Of which campaign, by its name, and to which webhook, by its id
    webhook: str
    # The places in the log between which these are all events of its kinds, the second one included. `after` is the
    # `through` of the delivery before.
    after: int
    through: int
    head: int  # The last place in the log
    events: tuple[Event, ...]  # In the order of the log
