"""People of a campaign: raters, their notices, and staff members."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from dissensus.api_models.resource import RaterStanding, Resource, RestrictedCount
from dissensus.schema.campaign.roles import Role


class RaterResource(Resource):
    """A rater, identified by a random id that differs from the id in exports."""

    id: str
    number: Annotated[int, Field(description="From 1, in the order in which raters entered.")]
    standing: RaterStanding
    cell: Annotated[str | None, Field(description="Quota cell; null without a quota, or before it is known.")]
    language: str
    n_rated: Annotated[int, Field(description="Items rated.")]
    n_skipped: int
    n_open: int
    n_conversations: Annotated[int, Field(description="Ended conversations with chatbots.")]
    n_notices: RestrictedCount
    median_ms: Annotated[float | None, Field(description="Median answer time; null before the first figures.")]
    agreement: Annotated[
        float | None,
        Field(description="Share of items with the most frequent answer of the others."),
    ]
    flagged: Annotated[bool | None, Field(description="True if a criterion is met; null if the caller may not see it.")]
    verdict: Annotated[
        Literal["keep", "exclude"] | None, Field(description="Decision in force about the flag, if any.")
    ]
    last_seen_at: datetime


class RaterErasureResource(Resource):
    """Result of withdrawing a rater."""

    items: Annotated[int, Field(description="Items that the rater had answered.")]


class RaterLinksResource(Resource):
    """Personal links for raters, shown only once."""

    links: tuple[str, ...]


class MemberResource(Resource):
    """A staff member of a campaign."""

    id: str
    name: str
    role: Role
    joined_at: datetime


class InvitationResource(Resource):
    """An unused invitation of a staff member."""

    id: str
    role: Role
    created_by: Annotated[
        str, Field(description="Name of the owner who created it; it ends when they are no longer an owner.")
    ]
    token: Annotated[str | None, Field(description="Name of the API token that created it; it ends with the token.")]
    expires_at: datetime


class MembersResource(Resource):
    """Members of a campaign, and pending invitations."""

    members: tuple[MemberResource, ...]
    invitations: tuple[InvitationResource, ...]


class MemberLinkResource(Resource):
    """A link that lets a staff member join a campaign once; shown only once."""

    role: Role
    expires_at: datetime
    link: str


class NoticeResource(Resource):
    """An open report by a rater, without the rater's identity."""

    id: str
    kind: Annotated[Literal["help", "illegal"], Field(description="`illegal` content must not be shown to anybody.")]
    text: Annotated[str, Field(description="Message of the rater.")]
    item: Annotated[str | None, Field(description="Item that the report is about, if any.")]
    withheld: Annotated[bool | None, Field(description="True if the item is withheld from everybody.")]
    at: datetime


class NoticeSettlementResource(Resource):
    """A settled notice."""

    id: str
    shown_again: bool
