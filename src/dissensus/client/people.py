"""Who rates, what they reported, and who belongs to a campaign, as frozen values."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from dissensus.schema.campaign.roles import Role


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
