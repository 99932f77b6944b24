"""What an audit counts again."""

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import Connection, func, select

from dissensus.campaign.answer_drafts import Save
from dissensus.pipeline.collect.chat import Exchange
from dissensus.store import chats
from dissensus.store import tables as t
from dissensus.store.answer_drafts import COLUMNS, saves_from
from dissensus.store.assignments import LOADING

AT_ONCE = 1_000


def first_event(tx: Connection, campaign_id: str) -> datetime | None:
    """Return since when events are told of a campaign; one that is older than the log has none of before."""
    return tx.scalar(select(func.min(t.Event.at)).where(t.Event.campaign_id == campaign_id))


def submitted(tx: Connection, campaign_id: str, *, since: datetime) -> Iterator[tuple[str, Save]]:
    """Yield what was submitted since a time, by its key, previews and dry runs apart."""
    finals = (
        select(t.Save.number, t.Save.key)
        .join(t.Assignment, t.Assignment.id == t.Save.assignment_id)
        .join(t.Rater, t.Rater.id == t.Assignment.rater_id)
        .where(t.Rater.campaign_id == campaign_id, ~t.Rater.rehearsal, t.Save.final, t.Save.received_at >= since)
        .order_by(t.Save.number)
        .limit(AT_ONCE)
    )
    last = -1
    while rows := tx.execute(finals.where(t.Save.number > last)).all():
        last = rows[-1].number
        query = select(*COLUMNS).outerjoin(t.Answer, t.Answer.save_number == t.Save.number)
        found = tx.execute(query.where(t.Save.number.in_([row.number for row in rows])).order_by(t.Save.number)).all()
        yield from zip((str(row.key) for row in rows), saves_from(found), strict=True)


def chatted(tx: Connection, campaign_id: str) -> Iterator[tuple[str, Exchange]]:
    """Yield all exchanges with chatbots by their ids, previews and dry runs apart."""
    theirs = select(t.Chat.id).join(t.Rater, t.Rater.id == t.Chat.rater_id).order_by(t.Chat.id).limit(AT_ONCE)
    theirs = theirs.where(t.Rater.campaign_id == campaign_id, ~t.Rater.rehearsal)
    last = ""
    while ids := tx.scalars(theirs.where(t.Chat.id > last)).all():
        last = ids[-1]
        for chat in chats.chats(tx, ids):
            yield from zip(chat.exchange_ids, chat.exchanges, strict=True)


def wrong_loads(tx: Connection, campaign_id: str) -> Iterator[tuple[str, int, int]]:
    """Yield the items whose number of raters is not what counting gives: name, what is kept, and what is there."""
    counted = (
        select(t.Assignment.item_id, func.count().label("n"))
        .join(t.Rater, t.Rater.id == t.Assignment.rater_id)
        .where(t.Rater.campaign_id == campaign_id, ~t.Rater.rehearsal, t.Assignment.state.in_(LOADING))
        .group_by(t.Assignment.item_id)
        .subquery()
    )
    n = func.coalesce(counted.c.n, 0)
    query = (
        select(t.Item.name, t.Item.load, n)
        .outerjoin(counted, counted.c.item_id == t.Item.id)
        .where(t.Item.campaign_id == campaign_id, t.Item.load != n)
        .order_by(t.Item.position)
    )
    for name, load, count in tx.execute(query):
        yield str(name), int(load), int(count)


def n_raters(tx: Connection, campaign_id: str) -> tuple[int, int]:
    """Return how many raters are said to have entered, and how many there are; who was turned away is in the former."""
    said = tx.scalar(select(t.Campaign.n_raters).where(t.Campaign.id == campaign_id)) or 0
    return said, tx.scalar(select(func.count()).where(t.Rater.campaign_id == campaign_id)) or 0
