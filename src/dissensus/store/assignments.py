"""Who rates what: plans, offers and how they end."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Integer, bindparam, func, insert, select, update

from dissensus.schema.item import Item
from dissensus.store import tables as t
from dissensus.store.campaigns import item_from
from dissensus.store.ids import new_id
from dissensus.store.raters import Rater

Fate: TypeAlias = Literal["open", "done", "skipped", "reclaimed"]
# What counts as load of an item.
LOADING = ("open", "done")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """An item that a rater is to rate.

    Parameters
    ----------
    id, rater_id, item_id
        Which one, whose, and the item, by its id in the store.
    position
        In the rater's order.
    state
        How it ended, if it did.
    item
        What is rated.
    counts
        Whether it is load of the item: rehearsals are not.
    """

    id: str
    rater_id: str
    item_id: str
    position: int
    state: Fate
    item: Item
    counts: bool


@dataclass(frozen=True, slots=True)
class Loads:
    """The items of a campaign as a plan needs them, in their order.

    Parameters
    ----------
    ids
        Of the items.
    loads
        Raters who rated each or are to.
    mine
        Whether the rater has had each.
    """

    ids: tuple[str, ...]
    loads: npt.NDArray[np.int64]
    mine: npt.NDArray[np.bool_]


def loads_of(tx: Connection, campaign_id: str, rater_id: str) -> Loads:
    """Return how often each item is rated or to be rated, and which ones the rater has had.

    An item that was reclaimed from the rater before it was begun may come again.
    """
    items = tx.execute(
        select(t.Item.id, t.Item.load).where(t.Item.campaign_id == campaign_id).order_by(t.Item.position)
    ).all()
    had = select(t.Assignment.item_id).where(t.Assignment.rater_id == rater_id, t.Assignment.state != "reclaimed")
    mine = set(tx.scalars(had))
    ids = tuple(item_id for item_id, _ in items)
    return Loads(
        ids, np.array([load for _, load in items], dtype=np.int64), np.array([name in mine for name in ids], dtype=bool)
    )


def add_assignments(tx: Connection, rater: Rater, item_ids: Sequence[str], *, now: datetime) -> None:
    """Keep a plan, after what the rater had before, and count its load.

    What was reclaimed from the rater and comes again is the same assignment, since an old page may still send it.
    """
    if not item_ids:
        return
    theirs = t.Assignment.rater_id == rater.id
    last = tx.scalar(select(func.max(t.Assignment.position)).where(theirs))
    known = dict(tx.execute(select(t.Assignment.item_id, t.Assignment.id).where(theirs)).all())
    places = list(enumerate(item_ids, 0 if last is None else last + 1))
    planned = {"state": "open", "planned_at": now, "offered_at": None, "closed_at": None}
    new = [
        {"id": new_id(now), "rater_id": rater.id, "item_id": item_id, "position": position, **planned}
        for position, item_id in places
        if item_id not in known
    ]
    again = [
        {"one": known[item_id], "position": position, **planned} for position, item_id in places if item_id in known
    ]
    if new:
        tx.execute(insert(t.Assignment), new)
    if again:
        tx.execute(update(t.Assignment).where(t.Assignment.id == bindparam("one")), again)
    if not rater.rehearsal:
        _load(tx, item_ids, 1)


def open_of(tx: Connection, rater_id: str, *, most: int) -> tuple[Assignment, ...]:
    """Return the next assignments of a rater, in order."""
    query = _QUERY.where(t.Assignment.rater_id == rater_id, t.Assignment.state == "open")
    return tuple(map(_assignment, tx.execute(query.order_by(t.Assignment.position).limit(most)).all()))


def assignment_of(tx: Connection, rater_id: str, assignment_id: str, *, lock: bool = False) -> Assignment | None:
    """Return an assignment, None where the rater has none of that id; `lock` keeps others from changing it."""
    query = _QUERY.where(t.Assignment.id == assignment_id, t.Assignment.rater_id == rater_id)
    row = tx.execute(query.with_for_update(of=t.Assignment) if lock else query).one_or_none()
    return None if row is None else _assignment(row)


_QUERY = (
    select(
        t.Assignment.id,
        t.Assignment.rater_id,
        t.Assignment.item_id,
        t.Assignment.position,
        t.Assignment.state,
        t.Item.name,
        t.Item.content,
        t.Rater.rehearsal,
    )
    .join(t.Item, t.Item.id == t.Assignment.item_id)
    .join(t.Rater, t.Rater.id == t.Assignment.rater_id)
)


def _assignment(row: Any) -> Assignment:
    return Assignment(
        id=row.id,
        rater_id=row.rater_id,
        item_id=row.item_id,
        position=row.position,
        state=row.state,
        item=item_from(row.name, row.content),
        counts=not row.rehearsal,
    )


def offered(tx: Connection, assignment_id: str, *, now: datetime) -> None:
    """Keep when an assignment was first shown."""
    first = (t.Assignment.id == assignment_id) & t.Assignment.offered_at.is_(None)
    tx.execute(update(t.Assignment).where(first).values(offered_at=now))


def close(tx: Connection, assignment: Assignment, state: Fate, *, now: datetime) -> None:
    """Keep how an assignment ended, and count its load."""
    tx.execute(update(t.Assignment).where(t.Assignment.id == assignment.id).values(state=state, closed_at=now))
    change = (state in LOADING) - (assignment.state in LOADING)
    if change and assignment.counts:
        _load(tx, [assignment.item_id], change)


def reclaim(tx: Connection, campaign_id: str, *, unseen_since: datetime, now: datetime) -> int:
    """Take back what raters were to rate who gave no sign since then and have not begun it; return how many."""
    begun = select(t.Save.assignment_id).where(t.Save.assignment_id == t.Assignment.id).exists()
    gone = (
        select(t.Assignment.id, t.Assignment.item_id)
        .join(t.Rater, t.Rater.id == t.Assignment.rater_id)
        .where(t.Rater.campaign_id == campaign_id, t.Assignment.state == "open", ~begun)
        .where(~t.Rater.rehearsal)
        .where((t.Rater.seen_at < unseen_since) | t.Rater.state.in_(("stopped", "withdrawn")))
    )
    # A rater who just now begins one is not gone.
    rows = tx.execute(gone.with_for_update(of=t.Assignment, skip_locked=True)).all()
    for start in range(0, len(rows), _MOST_AT_ONCE):
        part = rows[start : start + _MOST_AT_ONCE]
        ids = [row.id for row in part]
        tx.execute(update(t.Assignment).where(t.Assignment.id.in_(ids)).values(state="reclaimed", closed_at=now))
        _load(tx, [row.item_id for row in part], -1)
    return len(rows)


def release(tx: Connection, rater: Rater, *, now: datetime) -> None:
    """Take back all that a rater rated or was to rate."""
    loading = (t.Assignment.rater_id == rater.id) & t.Assignment.state.in_(LOADING)
    item_ids = list(tx.scalars(select(t.Assignment.item_id).where(loading)))
    tx.execute(update(t.Assignment).where(loading).values(state="reclaimed", closed_at=now))
    if not rater.rehearsal:
        _load(tx, item_ids, -1)


# Ids that one statement names; SQLite allows 32,766.
_MOST_AT_ONCE = 500


def _load(tx: Connection, item_ids: Sequence[str], change: int) -> None:
    """Change the load of items, each as often as it is named."""
    for start in range(0, len(item_ids), _MOST_AT_ONCE):
        counts: dict[str, int] = {}
        for item_id in item_ids[start : start + _MOST_AT_ONCE]:
            counts[item_id] = counts.get(item_id, 0) + 1
        for times in set(counts.values()):
            named = [item_id for item_id, n in counts.items() if n == times]
            tx.execute(update(t.Item).where(t.Item.id.in_(named)).values(load=t.Item.load + change * times))


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a rater is.

    Parameters
    ----------
    n_done, n_open
        Items rated, and planned.
    n_lately
        Items rated since a time, such as in the last 24 hours.
    """

    n_done: int
    n_open: int
    n_lately: int


def progress_of(tx: Connection, rater_id: str, *, since: datetime) -> Progress:
    """Return how far a rater is."""
    lately = func.sum(((t.Assignment.state == "done") & (t.Assignment.closed_at > since)).cast(Integer))
    query = (
        select(t.Assignment.state, func.count(), func.coalesce(lately, 0))
        .where(t.Assignment.rater_id == rater_id)
        .group_by(t.Assignment.state)
    )
    found = {state: (n, recent) for state, n, recent in tx.execute(query)}
    done, recent = found.get("done", (0, 0))
    return Progress(n_done=done, n_open=found.get("open", (0, 0))[0], n_lately=int(recent))
