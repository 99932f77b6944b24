"""Pages of conversations with chatbots: a list, and one conversation with its responses, picks and reviews."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, ClassVar, Final, Literal

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import Response

from dissensus.campaign.filters.chat_filter import CHAT_ORDERS, CHAT_OUTCOMES, ChatCursor, ChatFilter
from dissensus.errors import InvalidInput
from dissensus.pipeline.collect.chat import Exchange, Position, choose_better_response
from dissensus.schema.campaign.chat import SUCCESS_SCALE, ChatSettings
from dissensus.schema.campaign.definition import ResponseFormat
from dissensus.schema.hints import format_value, parse_choice
from dissensus.schema.numbers import parse_digits
from dissensus.schema.records.attempt import TAGS
from dissensus.schema.records.preference import STRENGTHS
from dissensus.text.personal_data import find_personal_data
from dissensus.web.core.list_query import MAX_PLACE, ListQuery, Text, unknown_place
from dissensus.web.core.renderer import MAX_RENDERED_LENGTH
from dissensus.web.core.responses import page
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffPage, StaffRequest
from dissensus.workflows.campaign import chats
from dissensus.workflows.campaign.chats import ChatListing, ChatView

router = APIRouter()

Authorized = Annotated[StaffRequest, Depends(Require("raters"))]
ChatId = Annotated[str, Path(max_length=36)]
PAGE_SIZE: Final = 25
STATES: Final[tuple[Literal["open", "done"], ...]] = ("open", "done")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatQuery(ListQuery):
    """Order and filters of the list in the address of a page, as typed."""

    order: Text = ""
    search: Text = ""
    mode: Text = ""
    state: Text = ""
    rater: Text = ""  # Number of the rater, from 1
    success: Text = ""
    chatbot: Text = ""
    outcome: Text = ""
    tag: Text = ""

    def to_filter(self) -> ChatFilter:
        """Return the filter, or raise `InvalidInput`."""
        return ChatFilter(
            order=parse_choice(self.order or "latest", CHAT_ORDERS, "an order"),
            search=self.search.strip(),
            mode=self.mode,
            state=parse_choice(self.state, STATES, "a state") if self.state else "",
            rater=_read_number(self.rater, "the number of a rater", 1),
            success=_read_number(self.success, "a success", 0),
            chatbot=self.chatbot,
            outcome=parse_choice(self.outcome, CHAT_OUTCOMES, "an outcome") if self.outcome else None,
            tag=self.tag,
        )


def _read_number(text: str, noun: str, first: int) -> int | None:
    """Return a typed number minus the lowest one that is allowed, `first`; None if nothing is typed."""
    if not text.strip():
        return None
    number = parse_digits(text.strip())
    if number is None or number < first:
        raise InvalidInput(f"{format_value(text)} is not {noun}. Give a whole number from {first} on.")
    return number - first


ChatQueryOf = Annotated[ChatQuery, Depends()]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationsPage(StaffPage):
    """A page of the list of conversations."""

    template: ClassVar[str] = "staff/chats.html"
    successes: ClassVar[tuple[int, ...]] = SUCCESS_SCALE
    outcomes: ClassVar[tuple[str, ...]] = CHAT_OUTCOMES
    tags: ClassVar[tuple[str, ...]] = TAGS

    name: str
    query: ChatQuery
    listing: ChatListing
    chats: tuple[ChatView, ...]
    next_cursor: str | None
    is_first: bool
    permissions: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationPage(StaffPage):
    """One conversation."""

    template: ClassVar[str] = "staff/chats-detail.html"

    name: str
    query: ChatQuery
    settings: ChatSettings
    format: ResponseFormat
    view: ChatView

    def is_rendered(self, text: str) -> bool:
        """Return whether a response is shown as raters saw it: without Markdown where personal data are marked."""
        return self.format == "markdown" and not find_personal_data(text) and len(text) <= MAX_RENDERED_LENGTH

    def segments(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield the parts of a text, each with the kind of personal data that it may be; empty for other parts."""
        end = 0
        for span in find_personal_data(text):
            yield text[end : span.start], ""
            yield text[span.start : span.end], span.kind.replace("_", " ")
            end = span.end
        yield text[end:], ""

    def describe_pick(self, exchange: Exchange) -> str:
        """Return the pick between two responses in words, empty without one."""
        mode, pick = self.settings.mode(exchange.mode), exchange.pick
        if pick is None or mode is None or mode.criterion is None:
            return ""
        if pick.position is None:
            return f"Both equally: which is {mode.criterion}?"
        return f"{'AB'[pick.position]} is {STRENGTHS[abs(pick.strength) - 1]} {mode.criterion} ({pick.strength:+d})"

    def improved_position(self, exchange: Exchange) -> Position | None:
        """Return the position of the response that the rater could improve, which is the better one."""
        mode, pick = self.settings.mode(exchange.mode), exchange.pick
        return None if mode is None or pick is None else choose_better_response(mode, pick)

    def describe_model(self, name: str) -> str:
        """Return the model of a chatbot in words."""
        chatbot = self.settings.chatbot(name)
        parts = () if chatbot is None else (chatbot.model_type, chatbot.num_params, chatbot.version)
        return ", ".join(filter(None, parts))


@router.get("/campaigns/{name}/conversations")
def show_chats(
    site: SiteOf,
    caller: Authorized,
    name: Name,
    query: ChatQueryOf,
    _slot: SlowRequestSlot,
    after: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """Show a page of the list of conversations, by default the latest first."""
    chat_filter = query.to_filter()
    cursor = _read_cursor(after, chat_filter)
    listing = chats.list_chats(
        site.platform, name, chat_filter, after=cursor, staff_id=caller.staff.id, most=PAGE_SIZE + 1
    )
    rows = listing.chats[:PAGE_SIZE]
    context = caller.page(
        ConversationsPage,
        name=name,
        query=query,
        listing=listing,
        chats=rows,
        next_cursor="~".join(rows[-1].listed.cursor) if len(listing.chats) > PAGE_SIZE else None,
        is_first=cursor is None,
        permissions=caller.permissions,
    )
    return page(site, context)


def _read_cursor(after: str, chat_filter: ChatFilter) -> ChatCursor | None:
    """Return the place after which a page begins, None for the first page."""
    if not after:
        return None
    value, _, chat_id = after.partition("~")
    try:
        # Checked here, since the query reads it.
        valid = _is_time(value) if chat_filter.order == "latest" else abs(int(value)) <= MAX_PLACE
    except (ValueError, OverflowError):
        valid = False
    if not valid:
        raise unknown_place(after)
    return value, chat_id


def _is_time(value: str) -> bool:
    """Return whether a time has a zone, or raise `ValueError` or `OverflowError` for a value that names none."""
    time = datetime.fromisoformat(value)
    return time.tzinfo is not None and bool(time.astimezone(UTC))


@router.get("/campaigns/{name}/conversations/{chat_id}")
def show_chat(site: SiteOf, caller: Authorized, name: Name, chat_id: ChatId, query: ChatQueryOf) -> Response:
    """Show one conversation."""
    campaign, view = chats.load_chat(site.platform, name, chat_id, staff_id=caller.staff.id)
    context = caller.page(
        ConversationPage, name=name, query=query, view=view, settings=campaign.chat, format=campaign.response_format
    )
    return page(site, context)
