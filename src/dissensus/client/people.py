"""Who rates, what they reported, and who belongs to a campaign, as frozen values."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from dissensus.schema.campaign.roles import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Rater:
    """A rater; the id is not that of exports."""

    id: str  # Who, and whether they go on
    standing: Literal["rating", "finished", "stopped", "withdrawn"]
    cell: str | None  # Of the quota; None where there is none, or before it is known
    language: str
    n_done: int  # Items that they rated, left out, and still have
    n_skipped: int
    n_open: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What a rater reported; who it was is not told."""

    id: str  # Which one; ``illegal`` is what must not be shown to anybody
    kind: Literal["help", "illegal"]
    text: str  # In their words, and about which item, if any
    item: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Somebody who belongs to a campaign."""

    id: str  # Who, as whom, and since when
    name: str
    role: Role
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """A link by which somebody comes to belong to a campaign, once."""

    role: Role  # As whom, and until when
    expires_at: datetime
    link: str | None = None  # The link, which is told when it is made, and never again
    id: str | None = None  # By which it is taken back; told in lists alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Who belongs to a campaign."""

    members: tuple[Member, ...]  # Who does, and the links that nobody has used
    invitations: tuple[Invitation, ...]
