"""What the platform answers, as frozen values; what it hides from whose token it is, is None."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from dissensus.schema.campaign import State
from dissensus.schema.roles import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A campaign in a list.

    Parameters
    ----------
    name, title, state
        Which one; the title by language.
    role
        Of whose token it is.
    owners
        Their names.
    raters, rated
        Raters, and items that they have finished, each counted for each rater.
    created_at
        When it was made.
    """

    name: str
    title: Mapping[str, str]
    state: State
    role: Role
    owners: tuple[str, ...]
    raters: int | None
    rated: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """How far a campaign is.

    Parameters
    ----------
    items, raters, rated
        Items, raters, and items that raters have finished, each counted for each rater.
    standings
        Raters by standing.
    """

    items: int
    raters: int | None
    rated: int | None
    standings: Mapping[str, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """All about a campaign.

    Parameters
    ----------
    name, state
        Which one.
    role
        Of whose token it is.
    moves
        What it can become now.
    definition, digest
        What a new one is made from, and its SHA-256.
    numbers
        How far it is.
    created_at, changed_at
        When it was made, and when definition or state last changed.
    """

    name: str
    state: State
    role: Role
    moves: tuple[State, ...]
    definition: Mapping[str, Any]
    digest: str
    numbers: Numbers | None
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Rater:
    """A rater; the id is not that of exports.

    Parameters
    ----------
    id, standing
        Who, and whether they go on.
    cell
        Of the quota; None where there is none, or before it is known.
    language
        What they read.
    n_done, n_skipped, n_open
        Items that they rated, left out, and still have.
    """

    id: str
    standing: Literal["rating", "finished", "stopped", "withdrawn"]
    cell: str | None
    language: str
    n_done: int
    n_skipped: int
    n_open: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Somebody who belongs to a campaign.

    Parameters
    ----------
    id, name, role, since
        Who, as whom, and since when.
    """

    id: str
    name: str
    role: Role
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """A link by which somebody comes to belong to a campaign, once.

    Parameters
    ----------
    role, expires_at
        As whom, and until when.
    link
        The link, which is told when it is made, and never again.
    id
        By which it is taken back; told in lists alone.
    """

    role: Role
    expires_at: datetime
    link: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Who belongs to a campaign.

    Parameters
    ----------
    members, invitations
        Who does, and the links that nobody has used.
    """

    members: tuple[Member, ...]
    invitations: tuple[Invitation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """How far a cell of a quota is.

    Parameters
    ----------
    cell
        Its name.
    target, places
        Raters that are wanted in the end, and that are let in.
    finished, held, screened
        Who has finished, who is under way, and who was turned away.
    """

    cell: str
    target: int
    places: int | None
    finished: int | None
    held: int | None
    screened: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How a quota fills.

    Parameters
    ----------
    source
        Who chooses raters: a screener, or the recruiter.
    balanced
        Whether each item is rated by so many of each cell.
    cells
        In the order of the quota.
    """

    source: Literal["screener", "recruiter"]
    balanced: bool
    cells: tuple[Cell, ...]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What a rater reported; who it was is not told.

    Parameters
    ----------
    id, kind
        Which one; ``illegal`` is what must not be shown to anybody.
    text, item
        In their words, and about which item, if any.
    at
        When.
    """

    id: str
    kind: Literal["help", "illegal"]
    text: str
    item: str | None
    at: datetime
