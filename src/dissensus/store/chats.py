"""Conversations with chatbots, as they are kept."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from dissensus.pipeline.collect.chat import Candidate, Exchange, Pick, Place
from dissensus.store import tables as t


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A conversation of a rater."""

    id: str  # Which one, and whose, in their own order from 0
    rater_id: str
    number: int
    mode: str  # Under which it began
    done: bool  # Whether it has ended
    intent: str | None  # What they were going to try; None where they did not say
    exchanges: tuple[Exchange, ...] = ()  # All that was said, with the ids of exchanges in `exchange_ids`
    exchange_ids: tuple[str, ...] = ()
    # Of the last exchange: until when a process asks for its responses, and how often one did not come
    claimed_until: datetime | None = None
    n_failures: int = 0

    @property
    def last_mode(self) -> str:
        """The mode that holds now."""
        return self.exchanges[-1].mode if self.exchanges else self.mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A response that has not come."""

    place: Place  # On which side it will stand
    chatbot: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Come:
    """A response that has come."""

    text: str
    finish: str
    first_ms: int | None  # To its first word, and in all
    total_ms: int
    ranked_by: str | None = None  # The version of a model line that chose it; None where none did


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """How a conversation goes on."""

    compared: str | None = None  # The question that was asked of two responses; None for one
    pick: Pick | None = None  # What was preferred; None for one response
    continues: Place = 0
    worked_ms: int = 0  # How long it took to pick


def count(tx: Connection, rater_id: str, *, since: datetime | None = None) -> tuple[int, int]:
    """Return how many conversations a rater began and how many have ended, or began since a time."""
    theirs = t.Chat.rater_id == rater_id
    theirs = theirs if since is None else theirs & (t.Chat.started_at > since)
    done = func.count().filter(t.Chat.state == "done")
    n, n_done = tx.execute(select(func.count(), done).where(theirs)).one()
    return int(n), int(n_done)


def last_of(tx: Connection, rater_id: str) -> Chat | None:
    """Return the last conversation that a rater began, None where there is none."""
    theirs = select(t.Chat.id).where(t.Chat.rater_id == rater_id).order_by(t.Chat.number.desc()).limit(1)
    found = tx.scalar(theirs)
    return None if found is None else chat_of(tx, found)


def of_rater(tx: Connection, rater_id: str) -> tuple[Chat, ...]:
    """Return all conversations of a rater."""
    return chats(tx, list(tx.scalars(select(t.Chat.id).where(t.Chat.rater_id == rater_id))))


def chat_of(tx: Connection, chat_id: str) -> Chat | None:
    """Return a conversation, None where there is none of that id."""
    return next(iter(chats(tx, [chat_id])), None)


def chats(tx: Connection, chat_ids: Sequence[str]) -> tuple[Chat, ...]:
    """Return some conversations, the earliest begun first."""
    rows = tx.execute(select(t.Chat).where(t.Chat.id.in_(chat_ids)).order_by(t.Chat.started_at, t.Chat.id)).all()
    said = _exchanges(tx, chat_ids)
    return tuple(_chat(row, said.get(row.id, ())) for row in rows)


def _chat(row: Any, said: Sequence["_Kept"]) -> Chat:
    return Chat(
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
class _Kept:
    id: str
    exchange: Exchange
    claimed_until: datetime | None
    n_failures: int


def _exchanges(tx: Connection, chat_ids: Sequence[str]) -> Mapping[str, list[_Kept]]:
    columns = (t.ChatExchange.id, t.ChatExchange.chat_id, t.ChatExchange.mode, t.ChatExchange.said_text)
    picked = (t.ChatExchange.claimed_until, t.ChatPick.strength, t.ChatPick.edit_text, t.ChatPick.continues)
    query = (
        select(*columns, *picked)
        .outerjoin(t.ChatPick, t.ChatPick.exchange_id == t.ChatExchange.id)
        .where(t.ChatExchange.chat_id.in_(chat_ids))
        .order_by(t.ChatExchange.chat_id, t.ChatExchange.number)
    )
    rows = tx.execute(query).all()
    candidates = _candidates(tx, [row.id for row in rows])
    found: dict[str, list[_Kept]] = {}
    for row in rows:
        pick = None if row.strength is None else Pick(strength=row.strength, edit=row.edit_text)
        theirs = tuple(one for one, _ in candidates.get(row.id, ()))
        failed = max((n for _, n in candidates.get(row.id, ())), default=0)
        exchange = Exchange(mode=row.mode, said=row.said_text, candidates=theirs, pick=pick, continues=row.continues)
        found.setdefault(row.chat_id, []).append(_Kept(row.id, exchange, row.claimed_until, failed))
    return found


def _candidates(tx: Connection, exchange_ids: Sequence[str]) -> Mapping[str, list[tuple[Candidate, int]]]:
    query = (
        select(t.ChatCandidate)
        .where(t.ChatCandidate.exchange_id.in_(exchange_ids))
        .order_by(t.ChatCandidate.exchange_id, t.ChatCandidate.place)
    )
    found: dict[str, list[tuple[Candidate, int]]] = {}
    for row in tx.execute(query):
        one = Candidate(place=row.place, chatbot=row.chatbot, text=row.response, ranked_by=row.ranked_by)
        found.setdefault(row.exchange_id, []).append((one, row.n_failures))
    return found


def start(
    tx: Connection, chat_id: str, rater_id: str, number: int, mode: str, *, intent: str | None, now: datetime
) -> None:
    """Keep that a rater begins a conversation."""
    row = {"id": chat_id, "rater_id": rater_id, "number": number, "mode": mode, "intent_text": intent}
    tx.execute(insert(t.Chat).values(**row, state="open", started_at=now))


def end(tx: Connection, chat_id: str, *, success: int | None, comment: str | None, now: datetime) -> None:
    """Keep that a conversation has ended, and what was said of it."""
    ended = {"state": "done", "success": success, "comment_text": comment, "ended_at": now}
    tx.execute(update(t.Chat).where(t.Chat.id == chat_id).values(**ended))


def say(
    tx: Connection,
    chat: Chat,
    exchange_id: str,
    said: Exchange,
    wanted: Iterable[Wanted],
    *,
    worked_ms: int,
    now: datetime,
) -> None:
    """Keep what a rater said, and which responses it wants."""
    row = {"id": exchange_id, "chat_id": chat.id, "number": len(chat.exchanges), "mode": said.mode}
    tx.execute(insert(t.ChatExchange).values(**row, said_text=said.said, worked_ms=worked_ms, at=now))
    blank = {"exchange_id": exchange_id, "n_failures": 0}
    rows = [{**blank, "place": one.place, "chatbot": one.chatbot, "seed": one.seed} for one in wanted]
    tx.execute(insert(t.ChatCandidate), rows)


def has_exchange(tx: Connection, exchange_id: str) -> bool:
    """Tell whether there is an exchange of that id."""
    return bool(tx.scalar(select(func.count()).where(t.ChatExchange.id == exchange_id)))


def go_on(tx: Connection, exchange_id: str, going: Going, *, now: datetime) -> None:
    """Keep with which response a conversation goes on, and what was preferred."""
    said = None if going.pick is None else {"strength": going.pick.strength, "edit_text": going.pick.edit}
    row = {"exchange_id": exchange_id, "compared": going.compared, "continues": going.continues}
    tx.execute(insert(t.ChatPick).values(**row, **(said or {}), worked_ms=going.worked_ms, at=now))


def claim(tx: Connection, exchange_id: str, *, until: datetime, now: datetime) -> bool:
    """Let one process ask for the responses of an exchange, and tell whether it may."""
    free = or_(t.ChatExchange.claimed_until.is_(None), t.ChatExchange.claimed_until <= now)
    claimed = update(t.ChatExchange).where(t.ChatExchange.id == exchange_id, free).values(claimed_until=until)
    return bool(tx.execute(claimed).rowcount)


def prolong(tx: Connection, exchange_id: str, *, until: datetime | None) -> None:
    """Prolong a claim, or let go of it."""
    tx.execute(update(t.ChatExchange).where(t.ChatExchange.id == exchange_id).values(claimed_until=until))


def wanted_of(tx: Connection, exchange_id: str) -> tuple[Wanted, ...]:
    """Return the responses to an exchange that have not come."""
    query = (
        select(t.ChatCandidate.place, t.ChatCandidate.chatbot, t.ChatCandidate.seed)
        .where(t.ChatCandidate.exchange_id == exchange_id, t.ChatCandidate.response.is_(None))
        .order_by(t.ChatCandidate.place)
    )
    return tuple(Wanted(**row._mapping) for row in tx.execute(query))


def respond(tx: Connection, exchange_id: str, place: int, found: Come) -> bool:
    """Keep a response, unless one has come meanwhile or the rater has withdrawn, and tell whether it was kept."""
    mine = (t.ChatCandidate.exchange_id == exchange_id) & (t.ChatCandidate.place == place)
    took = {"first_ms": found.first_ms, "total_ms": found.total_ms}
    said = {"response": found.text, "finish": found.finish, **took, "ranked_by": found.ranked_by}
    blank = mine & t.ChatCandidate.response.is_(None)
    return bool(tx.execute(update(t.ChatCandidate).where(blank).values(**said)).rowcount)


def fail(tx: Connection, exchange_id: str, place: int) -> None:
    """Keep that a response did not come."""
    mine = (t.ChatCandidate.exchange_id == exchange_id) & (t.ChatCandidate.place == place)
    tx.execute(update(t.ChatCandidate).where(mine).values(n_failures=t.ChatCandidate.n_failures + 1))


def erase(tx: Connection, rater_id: str) -> int:
    """Erase all conversations of a rater, and return how many there were."""
    n, _ = count(tx, rater_id)
    theirs = select(t.Chat.id).where(t.Chat.rater_id == rater_id).scalar_subquery()
    # What came back goes with what was said.
    said = select(t.ChatExchange.id).where(t.ChatExchange.chat_id.in_(theirs)).scalar_subquery()
    for table in (t.ChatPick, t.ChatCandidate):
        tx.execute(delete(table).where(table.exchange_id.in_(said)))
    tx.execute(delete(t.ChatExchange).where(t.ChatExchange.chat_id.in_(theirs)))
    tx.execute(delete(t.Chat).where(t.Chat.rater_id == rater_id))
    return n
