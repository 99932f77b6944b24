"""Queries that recount rows, for comparison with stored counters and events."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import Connection, func, select

from dissensus.campaign.answer_drafts import AnswerSave
from dissensus.pipeline.collect.chat import Exchange
from dissensus.store import chats
from dissensus.store.answer_drafts import SAVE_COLUMNS, AnswerTable, SaveTable, parse_saves
from dissensus.store.assignments import LOAD_STATES, AssignmentTable
from dissensus.store.campaigns import CampaignTable
from dissensus.store.chats import ChatTable
from dissensus.store.events import EventTable
from dissensus.store.items import ItemTable
from dissensus.store.raters import RaterTable

WINDOW = 1_000


def find_first_event_time(tx: Connection, campaign_id: str) -> datetime | None:
    """Return the time of the first event of a campaign, None without events."""
    return tx.scalar(select(func.min(EventTable.at)).where(EventTable.campaign_id == campaign_id))


def iterate_final_saves(tx: Connection, campaign_id: str, *, since: datetime) -> Iterator[tuple[str, AnswerSave]]:
    """Yield final saves since a time with their keys, without rehearsals."""
    finals = (
        select(SaveTable.number, SaveTable.key)
        .join(AssignmentTable, AssignmentTable.id == SaveTable.assignment_id)
        .join(RaterTable, RaterTable.id == AssignmentTable.rater_id)
        .where(
            RaterTable.campaign_id == campaign_id,
            ~RaterTable.rehearsal,
            SaveTable.final,
            SaveTable.received_at >= since,
        )
        .order_by(SaveTable.number)
        .limit(WINDOW)
    )
    last = -1
    while rows := tx.execute(finals.where(SaveTable.number > last)).all():
        last = rows[-1].number
        query = select(*SAVE_COLUMNS).outerjoin(AnswerTable, AnswerTable.save_number == SaveTable.number)
        numbers = [row.number for row in rows]
        saves = parse_saves(tx.execute(query.where(SaveTable.number.in_(numbers)).order_by(SaveTable.number)).all())
        yield from zip((str(row.key) for row in rows), saves, strict=True)


def iterate_exchanges(tx: Connection, campaign_id: str) -> Iterator[tuple[str, Exchange]]:
    """Yield all exchanges with chatbots by their ids, without rehearsals."""
    owned = (
        select(ChatTable.id).join(RaterTable, RaterTable.id == ChatTable.rater_id).order_by(ChatTable.id).limit(WINDOW)
    )
    owned = owned.where(RaterTable.campaign_id == campaign_id, ~RaterTable.rehearsal)
    last = ""
    while ids := tx.scalars(owned.where(ChatTable.id > last)).all():
        last = ids[-1]
        for chat in chats.load_chats(tx, ids):
            yield from zip(chat.exchange_ids, chat.exchanges, strict=True)


def iterate_wrong_loads(tx: Connection, campaign_id: str) -> Iterator[tuple[str, int, int]]:
    """Yield items whose stored load differs from the recount: name, stored, counted."""
    counted = (
        select(AssignmentTable.item_id, func.count().label("n"))
        .join(RaterTable, RaterTable.id == AssignmentTable.rater_id)
        .where(RaterTable.campaign_id == campaign_id, ~RaterTable.rehearsal, AssignmentTable.state.in_(LOAD_STATES))
        .group_by(AssignmentTable.item_id)
        .subquery()
    )
    n = func.coalesce(counted.c.n, 0)
    query = (
        select(ItemTable.name, ItemTable.load, n)
        .outerjoin(counted, counted.c.item_id == ItemTable.id)
        .where(ItemTable.campaign_id == campaign_id, ItemTable.load != n)
        .order_by(ItemTable.position)
    )
    for name, load, count in tx.execute(query):
        yield str(name), int(load), int(count)


def count_raters(tx: Connection, campaign_id: str) -> tuple[int, int]:
    """Return the stored and the recounted number of raters; the stored one includes those turned away."""
    stored = tx.scalar(select(CampaignTable.n_raters).where(CampaignTable.id == campaign_id)) or 0
    return stored, tx.scalar(select(func.count()).where(RaterTable.campaign_id == campaign_id)) or 0
