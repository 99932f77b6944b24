"""Who rates what: plans, offers and how they end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, Connection, Integer, bindparam, delete, func, insert, select, update

from dissensus.schema.campaign.care import is_about
from dissensus.schema.records.item import Item
from dissensus.schema.records.preference import Side
from dissensus.store import tables as t
from dissensus.store.campaigns import item_from
from dissensus.store.core.ids import new_id
from dissensus.store.raters import Rater

Fate: TypeAlias = Literal["open", "done", "skipped", "reclaimed"]
# What counts as load of an item.
LOADING: Final[tuple[Fate, ...]] = ("open", "done")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """An item that a rater is to rate."""

    id: str  # Which one, whose, and the item, by its id in the store
    rater_id: str
    item_id: str
    position: int  # In the rater's order
    state: Fate  # How it ended, if it did
    offered_at: datetime | None  # When it was first shown; None where it was not
    item: Item
    counts: bool  # Whether it is load of the item: rehearsals are not
    shown_first: Side | None = None  # Of a pair, the response on the left


@dataclass(frozen=True, slots=True)
class Loads:
    """The items of a campaign as a plan needs them, in their order."""

    ids: tuple[str, ...]
    loads: npt.NDArray[np.int64]  # Raters who rated each or are to
    mine: npt.NDArray[np.bool_]  # Whether the rater has had each, or does not want to meet it


def loads_of(
    tx: Connection,
    campaign_id: str,
    rater_id: str,
    *,
    cell: str | None = None,
    rated: bool = False,
    left_out: Sequence[str] = (),
) -> Loads:
    """Return how often each item is rated or to be rated, by all or by one cell, and which ones are none for the rater.

    These are what they have had, and what is about a topic that they left out. With `rated` only what was rated counts,
    and not what others may still leave.

    An item that was reclaimed from the rater before it was offered may come again.
    """
    here = (t.Item.campaign_id == campaign_id) & ~t.Item.withheld
    items = tx.execute(select(t.Item.id, t.Item.load).where(here).order_by(t.Item.position)).all()
    shown = (t.Assignment.state != "reclaimed") | t.Assignment.offered_at.is_not(None)
    had = select(t.Assignment.item_id).where(t.Assignment.rater_id == rater_id, shown)
    mine = {*tx.scalars(had), *(_about(tx, here, left_out) if left_out else ())}
    ids = tuple(item_id for item_id, _ in items)
    counted = _counted(tx, campaign_id, cell, LOADING[1:] if rated else LOADING) if rated or cell is not None else None
    loads = [load if counted is None else counted.get(item_id, 0) for item_id, load in items]
    return Loads(ids, np.array(loads, dtype=np.int64), np.array([name in mine for name in ids], dtype=bool))


def _about(tx: Connection, here: ColumnElement[bool], topics: Sequence[str]) -> Iterator[str]:
    """Yield the ids of the items that are about one of some topics."""
    for item_id, attributes in tx.execute(select(t.Item.id, t.Item.content["attributes"]).where(here)):
        if is_about(attributes, topics):
            yield item_id


def _counted(tx: Connection, campaign_id: str, cell: str | None, states: Sequence[Fate]) -> dict[str, int]:
    """Return how many assignments of each item are in some states, of all raters or those of a cell, where any are."""
    here = (t.Rater.campaign_id == campaign_id) & ~t.Rater.rehearsal
    here = here if cell is None else here & (t.Rater.cell == cell)
    query = (
        select(t.Assignment.item_id, func.count())
        .join(t.Rater, t.Rater.id == t.Assignment.rater_id)
        .where(here, t.Assignment.state.in_(states))
        .group_by(t.Assignment.item_id)
    )
    return dict(tx.execute(query).all())


def add_assignments(
    tx: Connection, rater: Rater, item_ids: Sequence[str], *, first: Sequence[Side | None] = (), now: datetime
) -> None:
    """Keep a plan, after what the rater had before, and count its load.

    What was reclaimed from the rater, never offered, and comes again is the same assignment. Of pairs `first` tells
    which response each has on the left.
    """
    if not item_ids:
        return
    theirs = t.Assignment.rater_id == rater.id
    last = tx.scalar(select(func.max(t.Assignment.position)).where(theirs))
    known = dict(tx.execute(select(t.Assignment.item_id, t.Assignment.id).where(theirs)).all())
    places = list(enumerate(item_ids, 0 if last is None else last + 1))
    planned = {"state": "open", "planned_at": now, "closed_at": None}
    left = dict(zip(item_ids, first or [None] * len(item_ids), strict=True))
    same = {"rater_id": rater.id, **planned}
    new = [
        {"id": new_id(now), "item_id": item_id, "position": position, "shown_first": left[item_id], **same}
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


# What every submit asks is put together once: that takes longer than the database needs for the answer.
_ALL = (
    select(
        t.Assignment.id,
        t.Assignment.rater_id,
        t.Assignment.item_id,
        t.Assignment.position,
        t.Assignment.state,
        t.Assignment.offered_at,
        t.Assignment.shown_first,
        t.Item.name,
        t.Item.content,
        t.Rater.rehearsal,
    )
    .join(t.Item, t.Item.id == t.Assignment.item_id)
    .join(t.Rater, t.Rater.id == t.Assignment.rater_id)
    .where(t.Assignment.rater_id == bindparam("rater"))
)
_OPEN = _ALL.where(t.Assignment.state == "open").order_by(t.Assignment.position).limit(bindparam("most"))
_ONE = _ALL.where(t.Assignment.id == bindparam("one"))
_ONE_LOCKED = _ONE.with_for_update(of=t.Assignment)
_CHANGED = t.Assignment.id == bindparam("one")
_OFFER = update(t.Assignment).where(_CHANGED).values(offered_at=bindparam("now"))
_CLOSE = update(t.Assignment).where(_CHANGED).values(state=bindparam("to"), closed_at=bindparam("now"))
_PROGRESS = (
    select(
        t.Assignment.state,
        func.count(),
        func.coalesce(
            func.sum(((t.Assignment.state == "done") & (t.Assignment.closed_at > bindparam("since"))).cast(Integer)), 0
        ),
    )
    .where(t.Assignment.rater_id == bindparam("rater"))
    .group_by(t.Assignment.state)
)


def open_of(tx: Connection, rater_id: str, *, most: int) -> tuple[Assignment, ...]:
    """Return the next assignments of a rater, in order."""
    return tuple(map(_assignment, tx.execute(_OPEN, {"rater": rater_id, "most": most})))


def assignment_of(tx: Connection, rater_id: str, assignment_id: str, *, lock: bool = False) -> Assignment | None:
    """Return an assignment, None where the rater has none of that id; `lock` keeps others from changing it."""
    row = tx.execute(_ONE_LOCKED if lock else _ONE, {"rater": rater_id, "one": assignment_id}).one_or_none()
    return None if row is None else _assignment(row)


def _assignment(row: Any) -> Assignment:
    return Assignment(
        id=row.id,
        rater_id=row.rater_id,
        item_id=row.item_id,
        position=row.position,
        state=row.state,
        offered_at=row.offered_at,
        item=item_from(row.name, row.content),
        counts=not row.rehearsal,
        shown_first=row.shown_first,
    )


def offered(tx: Connection, assignment_id: str, *, now: datetime) -> None:
    """Keep when an assignment was first shown."""
    tx.execute(_OFFER, {"one": assignment_id, "now": now})


def close(tx: Connection, assignment: Assignment, state: Fate, *, now: datetime) -> None:
    """Keep how an assignment ended, and count its load."""
    tx.execute(_CLOSE, {"one": assignment.id, "to": state, "now": now})
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


def erase(tx: Connection, rater: Rater) -> None:
    """Delete what a rater rated or was to rate, whose answers are gone, and take its load from the items."""
    theirs = t.Assignment.rater_id == rater.id
    item_ids = list(tx.scalars(select(t.Assignment.item_id).where(theirs, t.Assignment.state.in_(LOADING))))
    tx.execute(delete(t.Assignment).where(theirs))
    if not rater.rehearsal:
        _load(tx, item_ids, -1)


def withhold(tx: Connection, item_id: str, *, now: datetime) -> None:
    """Show an item to nobody any more, and take it from those who are to rate it."""
    planned = (t.Assignment.item_id == item_id) & (t.Assignment.state == "open")
    # In the order in which a submit locks: transactions that lock in two orders wait for each other.
    tx.execute(select(t.Assignment.id).where(planned).order_by(t.Assignment.id).with_for_update())
    tx.execute(update(t.Item).where(t.Item.id == item_id).values(withheld=True))
    counted = select(func.count()).join(t.Rater, t.Rater.id == t.Assignment.rater_id).where(~t.Rater.rehearsal)
    n = tx.scalar(counted.select_from(t.Assignment).where(planned)) or 0
    tx.execute(update(t.Assignment).where(planned).values(state="reclaimed", closed_at=now))
    tx.execute(update(t.Item).where(t.Item.id == item_id).values(load=t.Item.load - n))


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
    """How far a rater is."""

    n_done: int  # Items rated, and planned
    n_open: int
    n_lately: int  # Items rated since a time, such as in the last 24 hours


def progress_of(tx: Connection, rater_id: str, *, since: datetime) -> Progress:
    """Return how far a rater is."""
    rows = tx.execute(_PROGRESS, {"rater": rater_id, "since": since})
    found = {state: (n, recent) for state, n, recent in rows}
    done, recent = found.get("done", (0, 0))
    return Progress(n_done=done, n_open=found.get("open", (0, 0))[0], n_lately=int(recent))
