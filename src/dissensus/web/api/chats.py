"""API routes for conversations with chatbots and red-team attempts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from dissensus.api_models.chats import (
    AttemptCellResource,
    AttemptReviewsResource,
    AttemptsResource,
    AttemptTagResource,
    ChatDetailResource,
    ChatResource,
    ChatReviewResource,
    ChatsPageResource,
    EstimateResource,
    ExchangeResource,
    RedTeamerResource,
    TopRedTeamersResource,
)
from dissensus.campaign.filters.chat_filter import ChatFilter, ChatOrder, ChatOutcome
from dissensus.campaign.filters.rater_filter import MAX_RATER
from dissensus.errors import NotFound
from dissensus.schema.campaign.chat import SUCCESS_SCALE
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.pagination import AfterCursor, Limit, Search, paginate, read_cursor
from dissensus.web.core.problem import ERROR_RESPONSES
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, SiteOf, StaffRequest
from dissensus.workflows.campaign import attempts, chats
from dissensus.workflows.campaign.attempts import AttemptSummary
from dissensus.workflows.campaign.chats import ChatView

if TYPE_CHECKING:
    from dissensus.pipeline.analyse.attempts.result import AttemptCell

router = APIRouter(
    prefix="/api/v1/campaigns/{name}", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Conversations"]
)

Authorized = Annotated[StaffRequest, Depends(RequireScope("raters"))]
ChatId = Annotated[str, Path(max_length=100)]
Choice = Annotated[str, Query(max_length=200)]
COUNTS: Final = ("n", "n_successful", "n_repeated", "n_personal")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatListQuery:
    """Order and filters of a list of conversations."""

    order: ChatOrder = "latest"
    search: Search = ""
    mode: Choice = ""
    state: Literal["open", "done"] | SkipJsonSchema[None] = None
    rater_number: Annotated[int, Field(ge=1, le=MAX_RATER)] | SkipJsonSchema[None] = None
    success: Annotated[int, Field(ge=0, le=SUCCESS_SCALE[-1])] | SkipJsonSchema[None] = None
    chatbot: Choice = ""
    outcome: ChatOutcome | SkipJsonSchema[None] = None
    tag: Annotated[str, Query(max_length=200, description="Given by a reviewer.")] = ""

    def to_filter(self) -> ChatFilter:
        """Return the filter."""
        return ChatFilter(
            order=self.order,
            search=self.search.strip(),
            mode=self.mode,
            state=self.state or "",
            rater=None if self.rater_number is None else self.rater_number - 1,
            success=self.success,
            chatbot=self.chatbot,
            outcome=self.outcome,
            tag=self.tag,
        )


@router.get("/conversations", operation_id="list_conversations")
def list_conversations(
    site: SiteOf,
    caller: Authorized,
    name: Name,
    query: Annotated[ChatListQuery, Depends()],
    _slot: SlowRequestSlot,
    limit: Limit = 100,
    after: AfterCursor = "",
) -> ChatsPageResource:
    """List conversations of raters who gave the required consent, by default the latest first."""
    chat_filter = query.to_filter()
    list_name = f"conversations of {name} by {chat_filter}"
    (position,) = read_cursor(site, list_name, after) or [None]
    cursor = None if position is None else (str(position[0]), str(position[1]))
    listing = chats.list_chats(site.platform, name, chat_filter, after=cursor, staff_id=caller.staff.id, most=limit + 1)
    page, next_cursor = paginate(site, list_name, listing.chats, limit, lambda view: view.listed.cursor)
    return ChatsPageResource(
        data=tuple(map(_to_resource, page)), warnings=chats.list_chat_warnings(listing.campaign), next=next_cursor
    )


@router.get("/conversations/{chat_id}", operation_id="get_conversation")
def get_conversation(site: SiteOf, caller: Authorized, name: Name, chat_id: ChatId) -> ChatDetailResource:
    """Return a conversation of a rater who gave the required consent."""
    campaign, view = chats.load_chat(site.platform, name, chat_id, staff_id=caller.staff.id)
    return ChatDetailResource(**dict(_to_resource(view)), warnings=chats.list_chat_warnings(campaign))


def _to_resource(view: ChatView) -> ChatResource:
    listed, chat = view.listed, view.listed.chat
    return ChatResource(
        id=chat.id,
        rater=chat.rater_id,
        rater_number=listed.rater_number + 1,
        mode=chat.mode,
        state="done" if chat.done else "open",
        intent=chat.intent,
        success=listed.success,
        comment=listed.comment,
        exchanges=tuple(map(ExchangeResource.model_validate, chat.exchanges)),
        reviews=tuple(map(ChatReviewResource.model_validate, view.reviews)),
        personal_data=view.personal,
        started_at=listed.started_at,
        ended_at=listed.ended_at,
    )


@router.get("/attempts", operation_id="get_attempts")
def get_attempts(site: SiteOf, caller: Authorized, name: Name, _slot: SlowRequestSlot) -> AttemptsResource:
    """Return the success of red-team attempts of raters who gave the required consent."""
    summary = attempts.summarise_attempts(site.platform, name, staff_id=caller.staff.id)
    if summary is None:
        raise NotFound(f"{name} has no attempt yet: no conversation of a mode with an intent or a success has ended.")
    return _to_attempts(summary)


def _to_attempts(summary: AttemptSummary) -> AttemptsResource:
    analysis = summary.analysis
    return AttemptsResource(
        n_attempts=analysis.n_attempts,
        n_red_teamers=analysis.n_red_teamers,
        success_from=analysis.success_from,
        success=tuple(map(_to_cell, analysis.success)),
        top=tuple(map(TopRedTeamersResource.model_validate, analysis.concentration.top)),
        red_teamers=tuple(
            RedTeamerResource(rater_number=one.number + 1, **{field: getattr(one, field) for field in COUNTS})
            for one in summary.red_teamers
        ),
        personal_data=summary.personal,
        reviews=None if analysis.reviewed is None else AttemptReviewsResource.model_validate(analysis.reviewed),
        tags=tuple(map(AttemptTagResource.model_validate, analysis.tags)),
        warnings=summary.warnings,
    )


def _to_cell(cell: "AttemptCell") -> AttemptCellResource:
    success = EstimateResource.model_validate(cell.mean)
    return AttemptCellResource(model_type=cell.model_type, size=cell.size, n_attempts=cell.n_attempts, success=success)
