"""Campaigns, their items, quotas and ratings."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from dissensus.api_models.resource import NextCursor, RaterStanding, Resource, RestrictedCount
from dissensus.schema.campaign.definition import CampaignState
from dissensus.schema.campaign.quota import QuotaSource
from dissensus.schema.campaign.roles import Role
from dissensus.schema.records.conversation import Speaker

MAX_ITEMS: Final = 1_000
"""Maximum items of one request."""


class CampaignSummaryResource(Resource):
    """A campaign in a list."""

    name: str
    title: Annotated[Mapping[str, str], Field(description="By language.")]
    state: CampaignState
    role: Annotated[Role, Field(description="Role of the caller.")]
    owners: Annotated[tuple[str, ...], Field(description="Names of the owners.")]
    raters: RestrictedCount
    ratings: Annotated[RestrictedCount, Field(description="Finished items, counted once for each rater.")]
    created_at: datetime
    archived_at: Annotated[datetime | None, Field(description="Null unless it is archived.")]


class CampaignNumbersResource(Resource):
    """Progress of a campaign; previews and dry runs do not count."""

    items: int
    raters: RestrictedCount
    ratings: Annotated[RestrictedCount, Field(description="Finished items, counted once for each rater.")]
    standings: Annotated[
        Mapping[RaterStanding, int] | None,
        Field(description="Raters by standing, null if the caller may not see it."),
    ]


class CampaignResource(Resource):
    """A campaign with its definition and progress."""

    name: str
    state: CampaignState
    role: Annotated[Role, Field(description="Role of the caller.")]
    allowed_states: Annotated[tuple[CampaignState, ...], Field(description="States that it can be moved to now.")]
    definition: Annotated[Mapping[str, Any], Field(description="Definition that a new campaign can be made from.")]
    digest: Annotated[str, Field(description="SHA-256 of the definition.")]
    numbers: Annotated[
        CampaignNumbersResource | None, Field(description="Null for roles and scopes without `numbers`.")
    ]
    open_link: Annotated[
        str | None,
        Field(description="Link by which anybody can enter; null without one, or without `links`."),
    ]
    created_at: datetime
    updated_at: Annotated[datetime, Field(description="Time of the last change of definition or state.")]
    archived_at: Annotated[datetime | None, Field(description="Null unless it is archived.")]


class TurnResource(Resource):
    """A turn of a conversation."""

    speaker: Speaker
    text: str


class ItemResource(Resource):
    """A conversation whose last turn is rated, alone or compared with another response."""

    id: str
    conversation: tuple[TurnResource, ...]
    attributes: Mapping[str, str]
    response_b: str | None


class ItemCountResource(Resource):
    """Number of items of a campaign."""

    items: int


class QuotaCellResource(Resource):
    """Progress of a quota cell."""

    cell: str
    target: Annotated[int, Field(description="Planned number of raters.")]
    capacity: Annotated[int, Field(description="Number of seats: raters who are admitted at most.")]
    finished: int
    in_progress: Annotated[int, Field(description="Raters who are still rating.")]
    screened_out: Annotated[int, Field(description="Raters turned away because there was no seat.")]


class QuotaResource(Resource):
    """Progress of a quota."""

    source: Annotated[QuotaSource, Field(description="Source of assignments to cells: a screener, or the recruiter.")]
    balanced: Annotated[bool, Field(description="True if each item is rated by a fixed number of raters of each cell.")]
    cells: tuple[QuotaCellResource, ...]


class ColumnResource(Resource):
    """A column of the ratings table."""

    name: str
    type: Literal["text", "integer", "boolean", "category"]
    scale: Annotated[tuple[str, ...] | None, Field(description="Categories in order, null for other types.")]


class RatingsPageResource(Resource):
    """A page of the finished ratings of consenting raters, one row per item and rater."""

    columns: tuple[ColumnResource, ...]
    data: tuple[Mapping[str, Any], ...]
    warnings: Annotated[
        tuple[str, ...],
        Field(description="Lines with the content warning, and notices of the datasets that items are from."),
    ]
    next: NextCursor
