"""Conversations with chatbots in a list."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select
from sqlalchemy.orm import aliased

from dissensus.campaign.filters.chat_filter import ChatCursor, ChatFilter, ChatOrder
from dissensus.store.chats import ChatCandidateTable, ChatExchangeTable, ChatPickTable, ChatRow, ChatTable, load_chats
from dissensus.store.consents import has_agreed
from dissensus.store.raters import RaterTable, is_participant


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedChat:
    """A conversation in a list of staff."""

    chat: ChatRow
    rater_number: int  # Zero-based entry number
    success: int | None
    comment: str | None
    started_at: datetime
    ended_at: datetime | None
    cursor: ChatCursor


def list_chats(
    tx: Connection,
    campaign_id: str,
    purposes: Sequence[str],
    chat_filter: ChatFilter,
    *,
    chat_id: str | None = None,
    after: ChatCursor | None = None,
    most: int,
) -> tuple[ListedChat, ...]:
    """Return conversations of raters who agreed to all purposes, in the order of a filter after one of them.

    With `chat_id` that one alone.
    """
    value = _sort_value(chat_filter.order)
    query = (
        select(ChatTable.id, ChatTable.success, ChatTable.comment_text, ChatTable.started_at, ChatTable.ended_at)
        .add_columns(RaterTable.number, value.label("sort_value"))
        .join(RaterTable, RaterTable.id == ChatTable.rater_id)
        .where(is_participant(campaign_id), has_agreed(purposes), *_filter_chats(chat_filter))
        .order_by(value.desc(), ChatTable.id)
        .limit(most)
    )
    if chat_id is not None:
        query = query.where(ChatTable.id == chat_id)
    if after is not None:
        last, last_id = after
        limit: Any = datetime.fromisoformat(last) if chat_filter.order == "latest" else int(last)
        query = query.where(or_(value < limit, and_(value == limit, ChatTable.id > last_id)))
    rows = tx.execute(query).all()
    chats = {chat.id: chat for chat in load_chats(tx, [row.id for row in rows])}
    return tuple(_to_listed_chat(row, chats[row.id]) for row in rows)


def find_listed_chat(tx: Connection, campaign_id: str, purposes: Sequence[str], chat_id: str) -> ListedChat | None:
    """Return a conversation of a rater who agreed to all purposes, or None."""
    return next(iter(list_chats(tx, campaign_id, purposes, ChatFilter(), chat_id=chat_id, most=1)), None)


def _to_listed_chat(row: Any, chat: ChatRow) -> ListedChat:
    value = row.sort_value
    return ListedChat(
        chat=chat,
        rater_number=row.number,
        success=row.success,
        comment=row.comment_text,
        started_at=row.started_at,
        ended_at=row.ended_at,
        cursor=(value.isoformat() if isinstance(value, datetime) else str(value), row.id),
    )


def _sort_value(order: ChatOrder) -> Any:
    if order == "latest":
        return ChatTable.started_at
    if order == "success":
        return func.coalesce(ChatTable.success, -1)
    return select(func.count()).where(ChatExchangeTable.chat_id == ChatTable.id).scalar_subquery()


def _filter_chats(chat_filter: ChatFilter) -> Iterator[ColumnElement[bool]]:
    exchange, candidate, pick, later = ChatExchangeTable, ChatCandidateTable, ChatPickTable, aliased(ChatPickTable)
    owned = select(exchange.id).where(exchange.chat_id == ChatTable.id)
    with_candidate = owned.join(candidate, candidate.exchange_id == exchange.id)
    superseded = select(later.number).where(later.exchange_id == pick.exchange_id, later.number > pick.number).exists()
    with_pick = owned.join(pick, pick.exchange_id == exchange.id).where(~superseded)
    if chat_filter.search:
        text = chat_filter.search
        yield or_(
            ChatTable.intent_text.icontains(text, autoescape=True),
            owned.where(exchange.message_text.icontains(text, autoescape=True)).exists(),
            with_candidate.where(candidate.response.icontains(text, autoescape=True)).exists(),
        )
    if chat_filter.mode:
        yield or_(ChatTable.mode == chat_filter.mode, owned.where(exchange.mode == chat_filter.mode).exists())
    if chat_filter.state:
        yield ChatTable.state == chat_filter.state
    if chat_filter.rater is not None:
        yield RaterTable.number == chat_filter.rater
    if chat_filter.success is not None:
        yield ChatTable.success == chat_filter.success
    if chat_filter.chatbot:
        yield with_candidate.where(candidate.chatbot == chat_filter.chatbot).exists()
    if chat_filter.outcome == "improved":
        yield with_pick.where(pick.edit_text.is_not(None)).exists()
    elif chat_filter.outcome == "tied":
        yield with_pick.where(pick.strength == 0).exists()
    elif chat_filter.outcome is not None:
        yield with_candidate.where(candidate.failure == chat_filter.outcome).exists()
