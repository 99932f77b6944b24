"""What happened in a campaign, and who is told of it, as frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened in a campaign.

    Parameters
    ----------
    place, digest, link
        Where in the chain, its digest, and that of the chain up to it.
    kind, content
        What.
    at, by, staff
        When, and by whom; None where it was erased, and `staff` the id of a member.
    """

    place: int
    kind: str
    at: datetime | None
    by: Literal["staff", "rater", "other"] | None
    staff: str | None
    content: Mapping[str, Any]
    digest: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An address that is told what happens in a campaign.

    Parameters
    ----------
    id, address, kinds
        Which one, where, and of what kinds of events; none for all.
    state, trouble, paused
        Whether it is told; why the last delivery was not taken, and why nothing is delivered any more, empty where it
        was, and is.
    place, head
        In the log, of the last event that was delivered, and of the last one that there is.
    by
        The owner who answers for it.
    due_at, delivered_at, created_at
        When it is tried next where it fails, when the last delivery was taken, and when it was added.
    secret
        By which its deliveries are signed, which is told when it is added, and never again.
    """

    id: str
    address: str
    kinds: tuple[str, ...]
    state: Literal["going", "failing", "paused"]
    trouble: str
    paused: str
    place: int
    head: int
    by: str
    due_at: datetime
    delivered_at: datetime | None
    created_at: datetime
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What a webhook was told at once.

    Parameters
    ----------
    id
        The same for each try to deliver it.
    campaign, webhook
        Of which campaign, by its name, and to which webhook, by its id.
    after, through
        The places in the log between which these are all events of its kinds, the second one included. `after` is the
        `through` of the delivery before.
    head
        The last place in the log.
    events
        In the order of the log.
    """

    id: str
    campaign: str
    webhook: str
    after: int
    through: int
    head: int
    events: tuple[Event, ...]
