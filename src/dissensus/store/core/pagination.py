"""Lists that are read a part at a time: each part begins after the last of the one before, whatever came meanwhile."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from dissensus.campaign.event_log import Entry
from dissensus.store import events
from dissensus.store import tables as t
from dissensus.store.campaigns import Kept
from dissensus.store.raters import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A rater in a list."""

    number: int  # The how manieth to enter, from 0
    id: str  # Drawn at random, of nobody outside
    standing: Standing  # Whether they go on
    cell: str | None  # Of the quota; None where there is none, or before it is known
    language: str
    n_done: int  # Items that they rated, left out, and still have
    n_skipped: int
    n_open: int


def campaigns_after(tx: Connection, staff_id: str, *, after: str, most: int) -> tuple[Kept, ...]:
    """Return campaigns that somebody belongs to, the earliest first, after one that is named by its id."""
    columns = [getattr(t.Campaign, name) for name in Kept.__dataclass_fields__]
    theirs = select(t.Membership.campaign_id).where(t.Membership.staff_id == staff_id)
    query = select(*columns).where(t.Campaign.id.in_(theirs), t.Campaign.id > after).order_by(t.Campaign.id)
    return tuple(Kept(**row._mapping) for row in tx.execute(query.limit(most)))


def raters_after(tx: Connection, campaign_id: str, *, after: int, most: int) -> tuple[Listed, ...]:
    """Return raters in the order in which they entered, after a number; previews and dry runs are none."""
    counts = {
        name: func.count(t.Assignment.id).filter(t.Assignment.state == state).label(name)
        for name, state in (("n_done", "done"), ("n_skipped", "skipped"), ("n_open", "open"))
    }
    query = (
        select(
            t.Rater.number,
            t.Rater.id,
            t.Rater.state.label("standing"),
            t.Rater.cell,
            t.Rater.language,
            *counts.values(),
        )
        .outerjoin(t.Assignment, t.Assignment.rater_id == t.Rater.id)
        .where(t.Rater.campaign_id == campaign_id, ~t.Rater.rehearsal, t.Rater.number > after)
        .group_by(t.Rater.id)
        .order_by(t.Rater.number)
    )
    return tuple(Listed(**row._mapping) for row in tx.execute(query.limit(most)))


def entries_after(tx: Connection, campaign_id: str, *, after: int, most: int) -> tuple[Entry, ...]:
    """Return what is linked in the log, in its order, after a place."""
    here = (t.Event.campaign_id == campaign_id) & (t.Event.place > after)
    query = select(t.Event.__table__).where(here).order_by(t.Event.place).limit(most)
    return tuple(map(events.entry_from, tx.execute(query)))
