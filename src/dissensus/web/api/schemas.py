"""What programs get."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dissensus.campaign.event_log import Kind
from dissensus.schema.campaign.definition import State
from dissensus.schema.campaign.quota import Source
from dissensus.schema.campaign.roles import Role

Hidden = Annotated[int | None, Field(description="Null where who asks may not know it.")]
Standing = Literal["rating", "finished", "stopped", "withdrawn"]


class Shown(BaseModel):
    """Made from our own values, whichever class they are of."""

    model_config = ConfigDict(from_attributes=True)


class CampaignLine(Shown):
    """A campaign in a list."""

    name: str
    title: Annotated[dict[str, str], Field(description="By language.")]
    state: State
    role: Annotated[Role, Field(description="Of who asks.")]
    owners: list[str]
    raters: Hidden
    rated: Annotated[Hidden, Field(description="Items that raters have finished, each counted for each rater.")]
    created_at: datetime


class Numbers(Shown):
    """How far a campaign is; previews and dry runs do not count."""

    items: int
    raters: Hidden
    rated: Hidden
    standings: Annotated[
        dict[Standing, int] | None, Field(description="Raters by standing, null where who asks may not know it.")
    ]


class CampaignDetails(Shown):
    """All about a campaign."""

    name: str
    state: State
    role: Annotated[Role, Field(description="Of who asks.")]
    moves: Annotated[list[State], Field(description="What it can become now.")]
    definition: Annotated[dict[str, Any], Field(description="What a new one is made from.")]
    digest: Annotated[str, Field(description="SHA-256 of the definition.")]
    numbers: Annotated[Numbers | None, Field(description="Null for roles and scopes without `numbers`.")]
    created_at: datetime
    changed_at: datetime


class TurnShown(Shown):
    """What one speaker says before the other does."""

    speaker: Literal["human", "bot"]
    text: str


class ItemShown(Shown):
    """A conversation whose last turn is rated, alone or beside another response."""

    id: str
    conversation: list[TurnShown]
    attributes: dict[str, str]
    response_b: str | None


class ItemCount(Shown):
    """How many items a campaign has now."""

    items: int


class RaterShown(Shown):
    """A rater, by an id that was drawn at random and that nobody outside knows."""

    id: str
    standing: Standing
    cell: Annotated[str | None, Field(description="Of the quota.")]
    language: str
    n_done: Annotated[int, Field(description="Items rated.")]
    n_skipped: int
    n_open: int


class Erased(Shown):
    """What a withdrawal erased."""

    items: Annotated[int, Field(description="How many items the rater had answered.")]


class Links(Shown):
    """Personal links, which are shown once."""

    links: list[str]


class Member(Shown):
    """Somebody who belongs to a campaign."""

    id: str
    name: str
    role: Role
    since: datetime


class Invited(Shown):
    """A link that nobody has used."""

    id: str
    role: Role
    expires_at: datetime


class Members(Shown):
    """Who belongs to a campaign, and who may come to."""

    members: list[Member]
    invitations: list[Invited]


class MemberLink(Shown):
    """A link by which somebody comes to belong to a campaign; it is shown once."""

    role: Role
    expires_at: datetime
    link: str


class NoticeShown(Shown):
    """What a rater reported, and nobody has dealt with yet; who it was is not told."""

    id: str
    kind: Annotated[Literal["help", "illegal"], Field(description="`illegal` is what must not be shown to anybody.")]
    text: Annotated[str, Field(description="In their words.")]
    item: Annotated[str | None, Field(description="About which item, if any.")]
    at: datetime


class Settled(Shown):
    """A notice that was dealt with."""

    id: str
    shown_again: bool


class CellShown(Shown):
    """How far a cell of a quota is; null is what who asks may not know."""

    cell: str
    target: int
    places: Hidden
    finished: Hidden
    held: Hidden
    screened: Annotated[Hidden, Field(description="Turned away because there was no seat.")]


class QuotaShown(Shown):
    """How a quota fills."""

    source: Source
    balanced: bool
    cells: list[CellShown]


class Column(Shown):
    """A column of ratings."""

    name: str
    type: Literal["text", "integer", "boolean", "category"]
    scale: Annotated[list[str] | None, Field(description="Of a category, in order.")]


class RatingsPage(Shown):
    """Part of the finished ratings of raters who agreed, one row an item and rater."""

    columns: list[Column]
    data: list[dict[str, Any]]
    next: Annotated[str | None, Field(description="`after` of the page that follows, null where none does.")]


class EventShown(Shown):
    """Something that happened, in its place in the chain."""

    place: int
    kind: Kind
    at: Annotated[datetime | None, Field(description="Null where it was erased.")]
    by: Annotated[Literal["staff", "rater", "other"] | None, Field(description="Null where it was erased.")]
    staff: Annotated[str | None, Field(description="The id of the member.")]
    content: dict[str, Any]
    digest: str
    link: str


class WebhookShown(Shown):
    """An address that is told what happens."""

    id: str
    address: str
    kinds: Annotated[list[str], Field(description="Of events; none for all, also for those to come.")]
    state: Annotated[
        Literal["going", "failing", "paused"], Field(description="Failing is tried again, paused is not by itself.")
    ]
    trouble: Annotated[str, Field(description="Why the last delivery was not taken; empty where it was.")]
    paused: Annotated[str, Field(description="Why nothing is delivered any more; empty where it is.")]
    place: Annotated[int, Field(description="In the log, of the last event that was delivered.")]
    head: Annotated[int, Field(description="The last place in the log.")]
    by: Annotated[str, Field(description="The owner who answers for it.")]
    due_at: Annotated[datetime, Field(description="When it is tried next, where it fails.")]
    delivered_at: Annotated[datetime | None, Field(description="When the last delivery was taken.")]
    created_at: datetime


class Webhooks(Shown):
    """Who is told what happens."""

    webhooks: list[WebhookShown]


class WebhookMade(WebhookShown):
    """A new webhook; its secret is shown once."""

    secret: Annotated[str, Field(description="By which its deliveries are signed.")]
