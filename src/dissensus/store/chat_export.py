"""What is exported of a campaign of conversations: those that have ended, of raters who agreed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, func, select

from dissensus.store import chats
from dissensus.store import tables as t
from dissensus.store.export import agreeing, taking_part

WINDOW: Final = 200
"""Conversations that are read at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What is left out."""

    rehearsing: int  # Conversations of previews, of raters who did not agree, and those that have not ended
    disagreeing: int
    unfinished: int
    withdrawn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A conversation that has ended."""

    chat: chats.Chat
    success: int | None  # How well it went, as the rater says


def counts_of(tx: Connection, campaign_id: str, purposes: Sequence[str]) -> Counts:
    """Count what is left out of an export."""
    here, agreed, done = t.Rater.campaign_id == campaign_id, agreeing(purposes), t.Chat.state == "done"
    raters = select(func.count()).select_from(t.Rater)
    return Counts(
        rehearsing=_count(tx, and_(here, t.Rater.rehearsal)),
        disagreeing=_count(tx, and_(taking_part(campaign_id), ~agreed, done)),
        unfinished=_count(tx, and_(taking_part(campaign_id), agreed, ~done)),
        withdrawn=tx.scalar(raters.where(here, ~t.Rater.rehearsal, t.Rater.state == "withdrawn")) or 0,
    )


def _count(tx: Connection, which: ColumnElement[bool]) -> int:
    query = select(func.count()).select_from(t.Chat).join(t.Rater, t.Rater.id == t.Chat.rater_id)
    return tx.scalar(query.where(which)) or 0


def ended(tx: Connection, campaign_id: str, purposes: Sequence[str]) -> Iterator[Ended]:
    """Yield the conversations that have ended, of raters who agreed to all purposes, by their ids."""
    query = (
        select(t.Chat.id, t.Chat.success)
        .join(t.Rater, t.Rater.id == t.Chat.rater_id)
        .where(taking_part(campaign_id), agreeing(purposes), t.Chat.state == "done")
        .order_by(t.Chat.id)
        .limit(WINDOW)
    )
    last = ""
    while rows := tx.execute(query.where(t.Chat.id > last)).all():
        last = rows[-1].id
        success = {row.id: row.success for row in rows}
        for chat in chats.chats(tx, list(success)):
            yield Ended(chat=chat, success=success[chat.id])


@dataclass(frozen=True, slots=True)
class Done:
    """That somebody has rated an item."""

    assignment_id: str
    item_id: str
    rater_id: str


def done_about(tx: Connection, campaign_id: str, item_ids: Sequence[str], purposes: Sequence[str]) -> tuple[Done, ...]:
    """Return what raters of a campaign have done of some items who agreed to all purposes."""
    found: list[Done] = []
    for start in range(0, len(item_ids), WINDOW):
        query = (
            select(t.Assignment.id, t.Assignment.item_id, t.Assignment.rater_id)
            .join(t.Rater, t.Rater.id == t.Assignment.rater_id)
            .where(taking_part(campaign_id), agreeing(purposes), t.Assignment.state == "done")
            .where(t.Assignment.item_id.in_(item_ids[start : start + WINDOW]))
            .order_by(t.Assignment.id)
        )
        found += [Done(*row) for row in tx.execute(query)]
    return tuple(found)


def declared(tx: Connection, campaign_id: str, purposes: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
    """Return what raters who agreed to all purposes said of themselves last."""
    query = (
        select(t.Declaration.rater_id, t.Declaration.content)
        .join(t.Rater, t.Rater.id == t.Declaration.rater_id)
        .where(taking_part(campaign_id), agreeing(purposes))
        .order_by(t.Declaration.at, t.Declaration.id)
    )
    return dict(tx.execute(query).all())
