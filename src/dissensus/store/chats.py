"""Conversations of raters with chatbots: exchanges, candidates and picks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, ForeignKey, UniqueConstraint, func, insert, or_, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.pipeline.collect.chat import (
    FAILURES,
    Exchange,
    Position,
    ResponseCandidate,
    ResponseFailure,
    ResponsePick,
)
from dissensus.store.core.orm import ID, Base, RaterData, check_in, list_rows
from dissensus.store.raters import RaterTable


class ChatTable(RaterData, Base):
    """A conversation of a rater with chatbots."""

    __tablename__ = "chat"
    __table_args__ = (UniqueConstraint("rater_id", "number"), check_in("state", "open", "done"))

    id: Mapped[str] = mapped_column(ID, primary_key=True, doc="Idempotency key, chosen by the page.")
    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"))
    number: Mapped[int] = mapped_column(doc="Zero-based position in the order of the rater.")
    mode: Mapped[str] = mapped_column(doc="Mode at the start; each exchange has its own.")
    state: Mapped[str]
    intent_text: Mapped[str | None] = mapped_column(doc="Goal of the rater.")
    success: Mapped[int | None]
    comment_text: Mapped[str | None]
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class ChatExchangeTable(RaterData, Base):
    """A message of a rater, to which candidates respond."""

    __tablename__ = "chat_exchange"
    __table_args__ = (UniqueConstraint("chat_id", "number"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True, doc="Idempotency key, chosen by the page.")
    chat_id: Mapped[str] = mapped_column(ForeignKey("chat.id"))
    number: Mapped[int]
    mode: Mapped[str]
    message_text: Mapped[str]
    worked_ms: Mapped[int] = mapped_column(doc="Time with the page in view, without waiting for responses.")
    at: Mapped[datetime]
    claimed_until: Mapped[datetime | None] = mapped_column(doc="End of the claim on its responses.")


class ChatCandidateTable(RaterData, Base):
    """A response to an exchange."""

    __tablename__ = "chat_candidate"
    __table_args__ = (check_in("failure", *FAILURES),)

    exchange_id: Mapped[str] = mapped_column(ForeignKey("chat_exchange.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, doc="0 for A, 1 for B.")
    chatbot: Mapped[str]
    seed: Mapped[int]
    response: Mapped[str | None] = mapped_column(doc="Null until it arrives.")
    failure: Mapped[str | None] = mapped_column(doc="Reason of the last failure; null while pending, or arrived.")
    n_failures: Mapped[int] = mapped_column(doc="Number of failed requests.")
    ranked_by: Mapped[str | None] = mapped_column(doc="Version of the registered model that chose it.")


class ChatPickTable(RaterData, Base):
    """The response with which a conversation continues, and the preference where two were compared; the last counts."""

    __tablename__ = "chat_pick"

    exchange_id: Mapped[str] = mapped_column(ForeignKey("chat_exchange.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, default=0, doc="Changes of the pick before this one.")
    criterion: Mapped[str | None] = mapped_column(doc="Question about the two responses; null for one response.")
    strength: Mapped[int | None] = mapped_column(doc="Below 0 for A, above 0 for B.")
    edit_text: Mapped[str | None]
    continues: Mapped[int]
    worked_ms: Mapped[int]
    at: Mapped[datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRow:
    """A conversation of a rater."""

    id: str
    rater_id: str
    number: int
    mode: str  # Mode at the start
    done: bool
    intent: str | None  # Goal of the rater, if given
    exchanges: tuple[Exchange, ...] = ()
    exchange_ids: tuple[str, ...] = ()  # Ids of the exchanges
    claimed_until: datetime | None = None  # End of the claim on the responses of the last exchange

    @property
    def last_mode(self) -> str:
        """The current mode."""
        return self.exchanges[-1].mode if self.exchanges else self.mode


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingResponse:
    """A response that was requested and has not arrived."""

    position: Position
    chatbot: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatbotResponse:
    """A response of a chatbot."""

    text: str
    ranked_by: str | None = None  # Version of the registered model that chose it


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """Choice of the response with which a conversation continues."""

    criterion: str | None = None  # None for one response
    pick: ResponsePick | None = None  # Preference; None for one response
    continues: Position = 0
    worked_ms: int = 0  # Time to pick


def count_chats(tx: Connection, rater_id: str, *, since: datetime | None = None) -> tuple[int, int]:
    """Count the conversations of a rater, begun and ended, or those begun since a time."""
    owned = ChatTable.rater_id == rater_id
    owned = owned if since is None else owned & (ChatTable.started_at > since)
    done = func.count().filter(ChatTable.state == "done")
    n, n_done = tx.execute(select(func.count(), done).where(owned)).one()
    return int(n), int(n_done)


def count_matching_chats(tx: Connection, condition: ColumnElement[bool]) -> int:
    """Count the conversations that match a condition on them and their raters."""
    query = select(func.count()).select_from(ChatTable).join(RaterTable, RaterTable.id == ChatTable.rater_id)
    return tx.scalar(query.where(condition)) or 0


def find_last_chat(tx: Connection, rater_id: str) -> ChatRow | None:
    """Return the last conversation that a rater began, or None."""
    owned = select(ChatTable.id).where(ChatTable.rater_id == rater_id).order_by(ChatTable.number.desc()).limit(1)
    chat_id = tx.scalar(owned)
    return None if chat_id is None else find_chat(tx, chat_id)


def list_rater_chats(tx: Connection, rater_id: str) -> tuple[ChatRow, ...]:
    """Return all conversations of a rater."""
    return load_chats(tx, list(tx.scalars(select(ChatTable.id).where(ChatTable.rater_id == rater_id))))


def find_chat(tx: Connection, chat_id: str) -> ChatRow | None:
    """Return a conversation, None for an unknown id."""
    return next(iter(load_chats(tx, [chat_id])), None)


def load_chats(tx: Connection, chat_ids: Sequence[str]) -> tuple[ChatRow, ...]:
    """Return some conversations, the earliest begun first."""
    rows = tx.execute(
        select(ChatTable).where(ChatTable.id.in_(chat_ids)).order_by(ChatTable.started_at, ChatTable.id)
    ).all()
    exchanges = _load_exchanges(tx, chat_ids)
    return tuple(_to_row(row, exchanges.get(row.id, ())) for row in rows)


def _to_row(row: Any, exchanges: Sequence["_ExchangeRow"]) -> ChatRow:
    return ChatRow(
        id=row.id,
        rater_id=row.rater_id,
        number=row.number,
        mode=row.mode,
        done=row.state == "done",
        intent=row.intent_text,
        exchanges=tuple(row.exchange for row in exchanges),
        exchange_ids=tuple(row.id for row in exchanges),
        claimed_until=exchanges[-1].claimed_until if exchanges else None,
    )


@dataclass(frozen=True, slots=True)
class _ExchangeRow:
    id: str
    exchange: Exchange
    claimed_until: datetime | None


def _load_exchanges(tx: Connection, chat_ids: Sequence[str]) -> Mapping[str, list[_ExchangeRow]]:
    columns = (ChatExchangeTable.id, ChatExchangeTable.chat_id, ChatExchangeTable.mode, ChatExchangeTable.message_text)
    pick_columns = (ChatPickTable.strength, ChatPickTable.edit_text, ChatPickTable.continues)
    query = (
        select(*columns, ChatExchangeTable.claimed_until, *pick_columns)
        .outerjoin(ChatPickTable, ChatPickTable.exchange_id == ChatExchangeTable.id)
        .where(ChatExchangeTable.chat_id.in_(chat_ids))
        .order_by(ChatExchangeTable.chat_id, ChatExchangeTable.number, ChatPickTable.number)
    )
    # Of several picks the last one counts.
    rows = list({row.id: row for row in tx.execute(query)}.values())
    candidates_of = _load_candidates(tx, [row.id for row in rows])
    result: dict[str, list[_ExchangeRow]] = {}
    for row in rows:
        pick = None if row.strength is None else ResponsePick(strength=row.strength, edit=row.edit_text)
        candidates = tuple(candidates_of.get(row.id, ()))
        exchange = Exchange(
            mode=row.mode, message=row.message_text, candidates=candidates, pick=pick, continues=row.continues
        )
        result.setdefault(row.chat_id, []).append(_ExchangeRow(row.id, exchange, row.claimed_until))
    return result


def _load_candidates(tx: Connection, exchange_ids: Sequence[str]) -> Mapping[str, list[ResponseCandidate]]:
    query = (
        select(ChatCandidateTable)
        .where(ChatCandidateTable.exchange_id.in_(exchange_ids))
        .order_by(ChatCandidateTable.exchange_id, ChatCandidateTable.position)
    )
    result: dict[str, list[ResponseCandidate]] = {}
    for row in tx.execute(query):
        candidate = ResponseCandidate(
            position=row.position,
            chatbot=row.chatbot,
            text=row.response,
            failure=row.failure,
            ranked_by=row.ranked_by,
        )
        result.setdefault(row.exchange_id, []).append(candidate)
    return result


def add_chat(
    tx: Connection, chat_id: str, rater_id: str, number: int, mode: str, *, intent: str | None, now: datetime
) -> None:
    """Insert a conversation."""
    row = {"id": chat_id, "rater_id": rater_id, "number": number, "mode": mode, "intent_text": intent}
    tx.execute(insert(ChatTable).values(**row, state="open", started_at=now))


def end_chat(tx: Connection, chat_id: str, *, success: int | None, comment: str | None, now: datetime) -> None:
    """End a conversation, with the rater's judgement of it."""
    values = {"state": "done", "success": success, "comment_text": comment, "ended_at": now}
    tx.execute(update(ChatTable).where(ChatTable.id == chat_id).values(**values))


def add_exchange(
    tx: Connection,
    chat: ChatRow,
    exchange_id: str,
    exchange: Exchange,
    pending: Iterable[PendingResponse],
    *,
    worked_ms: int,
    now: datetime,
) -> None:
    """Insert a message of a rater, with the responses that it requests."""
    row = {"id": exchange_id, "chat_id": chat.id, "number": len(chat.exchanges), "mode": exchange.mode}
    tx.execute(insert(ChatExchangeTable).values(**row, message_text=exchange.message, worked_ms=worked_ms, at=now))
    new = {"exchange_id": exchange_id, "n_failures": 0}
    rows = [
        {**new, "position": response.position, "chatbot": response.chatbot, "seed": response.seed}
        for response in pending
    ]
    tx.execute(insert(ChatCandidateTable), rows)


def has_exchange(tx: Connection, exchange_id: str) -> bool:
    """Return whether an exchange exists."""
    return bool(tx.scalar(select(func.count()).where(ChatExchangeTable.id == exchange_id)))


def add_pick(tx: Connection, exchange_id: str, choice: Continuation, *, now: datetime) -> None:
    """Insert the choice with which a conversation continues."""
    earlier = select(func.count()).select_from(ChatPickTable).where(ChatPickTable.exchange_id == exchange_id)
    row = {"exchange_id": exchange_id, "criterion": choice.criterion, "continues": choice.continues}
    row["number"] = tx.scalar(earlier) or 0
    pick = {} if choice.pick is None else {"strength": choice.pick.strength, "edit_text": choice.pick.edit}
    tx.execute(insert(ChatPickTable).values(**row, **pick, worked_ms=choice.worked_ms, at=now))


def claim_exchange(tx: Connection, exchange_id: str, *, until: datetime, now: datetime) -> bool:
    """Claim the responses of an exchange for one process, and return whether it succeeded."""
    free = or_(ChatExchangeTable.claimed_until.is_(None), ChatExchangeTable.claimed_until <= now)
    claim = update(ChatExchangeTable).where(ChatExchangeTable.id == exchange_id, free).values(claimed_until=until)
    return bool(tx.execute(claim).rowcount)


def extend_claim(tx: Connection, exchange_id: str, *, until: datetime | None) -> None:
    """Extend a claim, or release it with None."""
    tx.execute(update(ChatExchangeTable).where(ChatExchangeTable.id == exchange_id).values(claimed_until=until))


def list_pending_responses(tx: Connection, exchange_id: str) -> tuple[PendingResponse, ...]:
    """Return the pending responses of an exchange."""
    query = (
        select(ChatCandidateTable.position, ChatCandidateTable.chatbot, ChatCandidateTable.seed)
        .where(ChatCandidateTable.exchange_id == exchange_id, _is_pending())
        .order_by(ChatCandidateTable.position)
    )
    return list_rows(tx, query, PendingResponse)


def set_response(tx: Connection, exchange_id: str, position: int, response: ChatbotResponse) -> bool:
    """Store a response and return True, unless one has arrived meanwhile or the rater has withdrawn."""
    values = {"response": response.text, "ranked_by": response.ranked_by}
    pending = _is_candidate(exchange_id, position) & _is_pending()
    return bool(tx.execute(update(ChatCandidateTable).where(pending).values(**values)).rowcount)


def set_failure(tx: Connection, exchange_id: str, position: int, failure: ResponseFailure) -> None:
    """Store the failure of a pending response, and count it."""
    values = {"failure": failure, "n_failures": ChatCandidateTable.n_failures + 1}
    tx.execute(update(ChatCandidateTable).where(_is_candidate(exchange_id, position) & _is_pending()).values(**values))


def clear_failures(tx: Connection, exchange_id: str) -> None:
    """Make the failed responses of an exchange pending again."""
    tx.execute(update(ChatCandidateTable).where(ChatCandidateTable.exchange_id == exchange_id).values(failure=None))


def _is_pending() -> ColumnElement[bool]:
    return ChatCandidateTable.response.is_(None) & ChatCandidateTable.failure.is_(None)


def _is_candidate(exchange_id: str, position: int) -> ColumnElement[bool]:
    return (ChatCandidateTable.exchange_id == exchange_id) & (ChatCandidateTable.position == position)
