"""Conversations of raters with chatbots: exchanges, candidates and picks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, ForeignKey, UniqueConstraint, func, insert, or_, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.pipeline.collect.chat import Exchange, Place, ResponseCandidate, ResponsePick
from dissensus.store.core.orm import ID, Base, RaterData, one_of


class ChatTable(RaterData, Base):
    """A conversation of a rater with chatbots."""

    __tablename__ = "chat"
    __table_args__ = (UniqueConstraint("rater_id", "number"), one_of("state", "open", "done"))

    id: Mapped[str] = mapped_column(ID, primary_key=True, doc="Chosen by the page: the same start twice is one.")
    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"))
    number: Mapped[int] = mapped_column(doc="In the rater's own order, from 0.")
    mode: Mapped[str] = mapped_column(doc="At the start; each exchange has its own.")
    state: Mapped[str]
    intent_text: Mapped[str | None] = mapped_column(doc="What they were going to try.")
    success: Mapped[int | None]
    comment_text: Mapped[str | None]
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class ChatExchangeTable(RaterData, Base):
    """A message of a rater, to which candidates respond."""

    __tablename__ = "chat_exchange"
    __table_args__ = (UniqueConstraint("chat_id", "number"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True, doc="Chosen by the page: the same one twice is one.")
    chat_id: Mapped[str] = mapped_column(ForeignKey("chat.id"))
    number: Mapped[int]
    mode: Mapped[str]
    message_text: Mapped[str]
    worked_ms: Mapped[int] = mapped_column(doc="The page in view, without the time in which responses came.")
    at: Mapped[datetime]
    claimed_until: Mapped[datetime | None] = mapped_column(doc="As long as a process asks for responses.")


class ChatCandidateTable(RaterData, Base):
    """A response to an exchange."""

    __tablename__ = "chat_candidate"

    exchange_id: Mapped[str] = mapped_column(ForeignKey("chat_exchange.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, doc="0 for A, 1 for B.")
    chatbot: Mapped[str]
    seed: Mapped[int]
    response: Mapped[str | None] = mapped_column(doc="Null until it has come.")
    finish: Mapped[str | None]
    first_ms: Mapped[int | None] = mapped_column(doc="To its first word.")
    total_ms: Mapped[int | None]
    n_failures: Mapped[int] = mapped_column(doc="How often none came.")
    ranked_by: Mapped[str | None] = mapped_column(doc="The version of a model line that chose it.")


class ChatPickTable(RaterData, Base):
    """The response with which a conversation continues, and the preference where two were compared."""

    __tablename__ = "chat_pick"

    exchange_id: Mapped[str] = mapped_column(ForeignKey("chat_exchange.id", ondelete="CASCADE"), primary_key=True)
    comparison: Mapped[str | None] = mapped_column(doc="The question that was asked; null for one response.")
    strength: Mapped[int | None] = mapped_column(doc="Below 0 for A, above for B.")
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
    mode: str  # Under which it began
    done: bool  # True if it has ended
    intent: str | None  # What they were going to try; None if they did not say
    exchanges: tuple[Exchange, ...] = ()  # All that was said, with the ids of exchanges in `exchange_ids`
    exchange_ids: tuple[str, ...] = ()
    # Of the last exchange: until when a process asks for its responses, and how often one did not come
    claimed_until: datetime | None = None
    n_failures: int = 0

    @property
    def last_mode(self) -> str:
        """The current mode."""
        return self.exchanges[-1].mode if self.exchanges else self.mode


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingResponse:
    """A response that was requested and has not arrived."""

    place: Place  # On which side it will stand
    chatbot: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatbotResponse:
    """A response of a chatbot."""

    text: str
    finish: str
    first_ms: int | None  # To its first word, and in all
    total_ms: int
    ranked_by: str | None = None  # The version of a model line that chose it; None if none did


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """Choice of the response with which a conversation continues."""

    compared: str | None = None  # The question that was asked of two responses; None for one
    pick: ResponsePick | None = None  # What was preferred; None for one response
    continues: Place = 0
    worked_ms: int = 0  # How long it took to pick


def count_chats(tx: Connection, rater_id: str, *, since: datetime | None = None) -> tuple[int, int]:
    """Count the conversations of a rater, begun and ended, or those begun since a time."""
    owned = ChatTable.rater_id == rater_id
    owned = owned if since is None else owned & (ChatTable.started_at > since)
    done = func.count().filter(ChatTable.state == "done")
    n, n_done = tx.execute(select(func.count(), done).where(owned)).one()
    return int(n), int(n_done)


def find_last_chat(tx: Connection, rater_id: str) -> ChatRow | None:
    """Return the last conversation that a rater began, or None."""
    owned = select(ChatTable.id).where(ChatTable.rater_id == rater_id).order_by(ChatTable.number.desc()).limit(1)
    result = tx.scalar(owned)
    return None if result is None else find_chat(tx, result)


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
    answers = _load_exchanges(tx, chat_ids)
    return tuple(_to_row(row, answers.get(row.id, ())) for row in rows)


def _to_row(row: Any, said: Sequence["_ExchangeRow"]) -> ChatRow:
    return ChatRow(
        id=row.id,
        rater_id=row.rater_id,
        number=row.number,
        mode=row.mode,
        done=row.state == "done",
        intent=row.intent_text,
        exchanges=tuple(one.exchange for one in said),
        exchange_ids=tuple(one.id for one in said),
        claimed_until=said[-1].claimed_until if said else None,
        n_failures=said[-1].n_failures if said else 0,
    )


@dataclass(frozen=True, slots=True)
class _ExchangeRow:
    id: str
    exchange: Exchange
    claimed_until: datetime | None
    n_failures: int


def _load_exchanges(tx: Connection, chat_ids: Sequence[str]) -> Mapping[str, list[_ExchangeRow]]:
    columns = (ChatExchangeTable.id, ChatExchangeTable.chat_id, ChatExchangeTable.mode, ChatExchangeTable.message_text)
    picked = (ChatExchangeTable.claimed_until, ChatPickTable.strength, ChatPickTable.edit_text, ChatPickTable.continues)
    query = (
        select(*columns, *picked)
        .outerjoin(ChatPickTable, ChatPickTable.exchange_id == ChatExchangeTable.id)
        .where(ChatExchangeTable.chat_id.in_(chat_ids))
        .order_by(ChatExchangeTable.chat_id, ChatExchangeTable.number)
    )
    rows = tx.execute(query).all()
    candidates = _load_candidates(tx, [row.id for row in rows])
    result: dict[str, list[_ExchangeRow]] = {}
    for row in rows:
        pick = None if row.strength is None else ResponsePick(strength=row.strength, edit=row.edit_text)
        owned = tuple(one for one, _ in candidates.get(row.id, ()))
        failed = max((n for _, n in candidates.get(row.id, ())), default=0)
        exchange = Exchange(mode=row.mode, said=row.message_text, candidates=owned, pick=pick, continues=row.continues)
        result.setdefault(row.chat_id, []).append(_ExchangeRow(row.id, exchange, row.claimed_until, failed))
    return result


def _load_candidates(tx: Connection, exchange_ids: Sequence[str]) -> Mapping[str, list[tuple[ResponseCandidate, int]]]:
    query = (
        select(ChatCandidateTable)
        .where(ChatCandidateTable.exchange_id.in_(exchange_ids))
        .order_by(ChatCandidateTable.exchange_id, ChatCandidateTable.position)
    )
    result: dict[str, list[tuple[ResponseCandidate, int]]] = {}
    for row in tx.execute(query):
        one = ResponseCandidate(place=row.position, chatbot=row.chatbot, text=row.response, ranked_by=row.ranked_by)
        result.setdefault(row.exchange_id, []).append((one, row.n_failures))
    return result


def add_chat(
    tx: Connection, chat_id: str, rater_id: str, number: int, mode: str, *, intent: str | None, now: datetime
) -> None:
    """Insert a conversation."""
    row = {"id": chat_id, "rater_id": rater_id, "number": number, "mode": mode, "intent_text": intent}
    tx.execute(insert(ChatTable).values(**row, state="open", started_at=now))


def end_chat(tx: Connection, chat_id: str, *, success: int | None, comment: str | None, now: datetime) -> None:
    """End a conversation, with the rater's judgement of it."""
    ended = {"state": "done", "success": success, "comment_text": comment, "ended_at": now}
    tx.execute(update(ChatTable).where(ChatTable.id == chat_id).values(**ended))


def add_exchange(
    tx: Connection,
    chat: ChatRow,
    exchange_id: str,
    said: Exchange,
    wanted: Iterable[PendingResponse],
    *,
    worked_ms: int,
    now: datetime,
) -> None:
    """Insert a message of a rater, with the responses that it requests."""
    row = {"id": exchange_id, "chat_id": chat.id, "number": len(chat.exchanges), "mode": said.mode}
    tx.execute(insert(ChatExchangeTable).values(**row, message_text=said.said, worked_ms=worked_ms, at=now))
    blank = {"exchange_id": exchange_id, "n_failures": 0}
    rows = [{**blank, "position": one.place, "chatbot": one.chatbot, "seed": one.seed} for one in wanted]
    tx.execute(insert(ChatCandidateTable), rows)


def has_exchange(tx: Connection, exchange_id: str) -> bool:
    """Return whether an exchange exists."""
    return bool(tx.scalar(select(func.count()).where(ChatExchangeTable.id == exchange_id)))


def add_pick(tx: Connection, exchange_id: str, going: Continuation, *, now: datetime) -> None:
    """Insert the choice with which a conversation continues."""
    answers = None if going.pick is None else {"strength": going.pick.strength, "edit_text": going.pick.edit}
    row = {"exchange_id": exchange_id, "comparison": going.compared, "continues": going.continues}
    tx.execute(insert(ChatPickTable).values(**row, **(answers or {}), worked_ms=going.worked_ms, at=now))


def claim_exchange(tx: Connection, exchange_id: str, *, until: datetime, now: datetime) -> bool:
    """Claim the responses of an exchange for one process, and return whether it succeeded."""
    free = or_(ChatExchangeTable.claimed_until.is_(None), ChatExchangeTable.claimed_until <= now)
    claimed = update(ChatExchangeTable).where(ChatExchangeTable.id == exchange_id, free).values(claimed_until=until)
    return bool(tx.execute(claimed).rowcount)


def extend_claim(tx: Connection, exchange_id: str, *, until: datetime | None) -> None:
    """Extend a claim, or release it."""
    tx.execute(update(ChatExchangeTable).where(ChatExchangeTable.id == exchange_id).values(claimed_until=until))


def list_pending_responses(tx: Connection, exchange_id: str) -> tuple[PendingResponse, ...]:
    """Return the pending responses of an exchange."""
    query = (
        select(ChatCandidateTable.position.label("place"), ChatCandidateTable.chatbot, ChatCandidateTable.seed)
        .where(ChatCandidateTable.exchange_id == exchange_id, ChatCandidateTable.response.is_(None))
        .order_by(ChatCandidateTable.position)
    )
    return tuple(PendingResponse(**row._mapping) for row in tx.execute(query))


def set_response(tx: Connection, exchange_id: str, place: int, found: ChatbotResponse) -> bool:
    """Store a response and return True, unless one has arrived meanwhile or the rater has withdrawn."""
    mine = (ChatCandidateTable.exchange_id == exchange_id) & (ChatCandidateTable.position == place)
    took = {"first_ms": found.first_ms, "total_ms": found.total_ms}
    answers = {"response": found.text, "finish": found.finish, **took, "ranked_by": found.ranked_by}
    blank = mine & ChatCandidateTable.response.is_(None)
    return bool(tx.execute(update(ChatCandidateTable).where(blank).values(**answers)).rowcount)


def count_response_failure(tx: Connection, exchange_id: str, place: int) -> None:
    """Increment the failures of a pending response."""
    mine = (ChatCandidateTable.exchange_id == exchange_id) & (ChatCandidateTable.position == place)
    tx.execute(update(ChatCandidateTable).where(mine).values(n_failures=ChatCandidateTable.n_failures + 1))
