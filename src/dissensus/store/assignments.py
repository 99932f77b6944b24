"""Assignments of items to raters: plans, offers, ends, and the load of items."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from sqlalchemy import (
    ColumnElement,
    Connection,
    ForeignKey,
    Index,
    Integer,
    bindparam,
    case,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.orm import Mapped, aliased, mapped_column

from dissensus.campaign.assignment import FIRST, SECOND
from dissensus.schema.campaign.care import has_topic
from dissensus.schema.records.item import Item
from dissensus.schema.records.preference import Side
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.core.orm import ID, Base, RaterData, check_in, new_id
from dissensus.store.items import ItemTable, to_item
from dissensus.store.raters import RaterRow, RaterTable


class AssignmentTable(RaterData, Base):
    """An item that a rater is to rate; planned, then offered, then done."""

    __tablename__ = "assignment"
    __table_args__ = (
        check_in("state", "open", "done", "skipped", "reclaimed"),
        Index("ix_assignment_rater_id_position", "rater_id", "position"),
        Index(
            "ix_assignment_open",
            "rater_id",
            "showing",
            sqlite_where=text("state = 'open'"),
            postgresql_where=text("state = 'open'"),
        ),
        Index(
            "ix_assignment_skipped",
            "rater_id",
            "showing",
            sqlite_where=text("state = 'skipped'"),
            postgresql_where=text("state = 'skipped'"),
        ),
        Index(
            "uq_assignment_rater_id_item_id_showing",
            "rater_id",
            "item_id",
            "showing",
            unique=True,
            sqlite_where=text("state <> 'reclaimed'"),
            postgresql_where=text("state <> 'reclaimed'"),
        ),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"))
    item_id: Mapped[str] = mapped_column(ForeignKey("item.id"), index=True)
    showing: Mapped[int] = mapped_column(default=FIRST, doc="1, or 2 if the rater sees the item a second time.")
    position: Mapped[int] = mapped_column(doc="In the order of the rater.")
    state: Mapped[str]
    planned_at: Mapped[datetime]
    offered_at: Mapped[datetime | None]
    closed_at: Mapped[datetime | None] = mapped_column(doc="Time when it was done, skipped or reclaimed.")
    shown_first: Mapped[str | None] = mapped_column(doc="Response of a pair that is shown on the left, a or b.")


IS_FIRST: Final = AssignmentTable.showing == FIRST
"""Condition that an assignment is the first showing of its item to the rater."""


def count_rated_items(tx: Connection, rater_id: str) -> int:
    """Count the items for which a rater has saved answers."""
    owned = select(AssignmentTable.id).where(AssignmentTable.rater_id == rater_id)
    return (
        tx.scalar(select(func.count(SaveTable.assignment_id.distinct())).where(SaveTable.assignment_id.in_(owned))) or 0
    )


AssignmentState: TypeAlias = Literal["open", "done", "skipped", "reclaimed"]


# States that count as load of an item.
LOAD_STATES: Final[tuple[AssignmentState, ...]] = ("open", "done")


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentRow:
    """An item that a rater is to rate."""

    id: str
    rater_id: str
    item_id: str
    position: int  # In the order of the rater
    state: AssignmentState
    offered_at: datetime | None  # Time when it was first shown, if it was
    item: Item
    counts: bool  # True if it is load of the item: rehearsals and second showings are not
    shown_first: Side | None = None  # Response of a pair on the left


@dataclass(frozen=True, slots=True)
class ItemLoads:
    """Items of a campaign in their order, as planning needs them."""

    ids: tuple[str, ...]
    loads: npt.NDArray[np.int64]  # Number of raters per item, who rated it or are to
    unavailable: npt.NDArray[np.bool_]  # True for items that the rater has had or wants to avoid


def load_item_loads(
    tx: Connection,
    campaign_id: str,
    rater_id: str,
    *,
    cell: str | None = None,
    rated: bool = False,
    excluded_topics: Sequence[str] = (),
) -> ItemLoads:
    """Return the load of each item, over all raters or one cell, and its availability to a rater.

    Items that the rater has had and items about excluded topics are unavailable; an item that was reclaimed before it
    was offered is available again. With `rated` only finished ratings count as load.
    """
    in_campaign = (ItemTable.campaign_id == campaign_id) & ~ItemTable.withheld
    items = tx.execute(select(ItemTable.id, ItemTable.load).where(in_campaign).order_by(ItemTable.position)).all()
    not_returned = (AssignmentTable.state != "reclaimed") | AssignmentTable.offered_at.is_not(None)
    previous = select(AssignmentTable.item_id).where(AssignmentTable.rater_id == rater_id, not_returned)
    unavailable = set(tx.scalars(previous))
    if excluded_topics:
        unavailable.update(_iterate_items_about(tx, in_campaign, excluded_topics))
    ids = tuple(item_id for item_id, _ in items)
    if rated or cell is not None:
        counts = _count_assignments(tx, campaign_id, cell, LOAD_STATES[1:] if rated else LOAD_STATES)
        loads = [counts.get(item_id, 0) for item_id in ids]
    else:
        loads = [load for _, load in items]
    mask = [item_id in unavailable for item_id in ids]
    return ItemLoads(ids, np.array(loads, dtype=np.int64), np.array(mask, dtype=bool))


def _iterate_items_about(tx: Connection, condition: ColumnElement[bool], topics: Sequence[str]) -> Iterator[str]:
    """Yield the ids of the items that are about one of some topics."""
    for item_id, attributes in tx.execute(select(ItemTable.id, ItemTable.content["attributes"]).where(condition)):
        if has_topic(attributes, topics):
            yield item_id


def _count_assignments(
    tx: Connection, campaign_id: str, cell: str | None, states: Sequence[AssignmentState]
) -> dict[str, int]:
    """Return the number of assignments of each item in some states, of all raters or of one cell."""
    in_campaign = (RaterTable.campaign_id == campaign_id) & ~RaterTable.rehearsal & IS_FIRST
    in_campaign = in_campaign if cell is None else in_campaign & (RaterTable.cell == cell)
    query = (
        select(AssignmentTable.item_id, func.count())
        .join(RaterTable, RaterTable.id == AssignmentTable.rater_id)
        .where(in_campaign, AssignmentTable.state.in_(states))
        .group_by(AssignmentTable.item_id)
    )
    return dict(tx.execute(query).all())


@dataclass(frozen=True, slots=True)
class PlannedShowing:
    """The first or second showing of an item in a plan."""

    item_id: str
    showing: int = FIRST
    shown_first: Side | None = None  # Response of a pair on the left


def find_next_position(tx: Connection, rater_id: str) -> int:
    """Return the position after the last assignment of a rater."""
    last = tx.scalar(select(func.max(AssignmentTable.position)).where(AssignmentTable.rater_id == rater_id))
    return 0 if last is None else last + 1


def load_items_shown_once(tx: Connection, rater_id: str) -> dict[str, int]:
    """Return the position of each item that a rater rated, or is to rate, and that has no second showing."""
    live = (AssignmentTable.rater_id == rater_id) & AssignmentTable.state.in_(("open", "done", "skipped"))
    rows = tx.execute(
        select(AssignmentTable.item_id, AssignmentTable.showing, AssignmentTable.position, AssignmentTable.state)
        .where(live)
        .order_by(AssignmentTable.position)
    ).all()
    again = {row.item_id for row in rows if row.showing == SECOND}
    return {row.item_id: row.position for row in rows if row.item_id not in again and row.state != "skipped"}


def add_assignments(tx: Connection, rater: RaterRow, plan: Sequence[PlannedShowing], *, now: datetime) -> None:
    """Append a plan to the assignments of a rater, and add its load.

    An item that was reclaimed before it was offered keeps its assignment.
    """
    if not plan:
        return
    owned = AssignmentTable.rater_id == rater.id
    rows = tx.execute(select(AssignmentTable.item_id, AssignmentTable.showing, AssignmentTable.id).where(owned))
    existing_ids = {(row.item_id, row.showing): row.id for row in rows}
    positions = list(enumerate(plan, find_next_position(tx, rater.id)))
    planned = {"state": "open", "planned_at": now, "closed_at": None}
    new = [
        {
            "id": new_id(now),
            "rater_id": rater.id,
            "item_id": entry.item_id,
            "showing": entry.showing,
            "position": position,
            "shown_first": entry.shown_first,
            **planned,
        }
        for position, entry in positions
        if (entry.item_id, entry.showing) not in existing_ids
    ]
    reopened = [
        {"assignment_id": existing_ids[entry.item_id, entry.showing], "position": position, **planned}
        for position, entry in positions
        if (entry.item_id, entry.showing) in existing_ids
    ]
    if new:
        tx.execute(insert(AssignmentTable), new)
    if reopened:
        tx.execute(update(AssignmentTable).where(AssignmentTable.id == bindparam("assignment_id")), reopened)
    if not rater.rehearsal:
        change_loads(tx, [entry.item_id for entry in plan if entry.showing == FIRST], 1)


# Statements of every submit are built once: building one takes longer than running it.
_SELECT = (
    select(
        AssignmentTable.id,
        AssignmentTable.rater_id,
        AssignmentTable.item_id,
        AssignmentTable.showing,
        AssignmentTable.position,
        AssignmentTable.state,
        AssignmentTable.offered_at,
        AssignmentTable.shown_first,
        ItemTable.name,
        ItemTable.content,
        RaterTable.rehearsal,
    )
    .join(ItemTable, ItemTable.id == AssignmentTable.item_id)
    .join(RaterTable, RaterTable.id == AssignmentTable.rater_id)
    .where(AssignmentTable.rater_id == bindparam("rater"))
)


_SELECT_OPEN = (
    _SELECT.where(AssignmentTable.state == "open").order_by(AssignmentTable.position).limit(bindparam("most"))
)


_BY_ID = AssignmentTable.id == bindparam("assignment_id")


_SELECT_BY_ID = _SELECT.where(_BY_ID)


_SELECT_BY_ID_LOCKED = _SELECT_BY_ID.with_for_update(of=AssignmentTable)


_OFFER = update(AssignmentTable).where(_BY_ID).values(offered_at=bindparam("now"))


_CLOSE = update(AssignmentTable).where(_BY_ID).values(state=bindparam("to"), closed_at=bindparam("now"))


_PROGRESS = (
    select(
        AssignmentTable.state,
        func.count(),
        func.coalesce(
            func.sum(
                ((AssignmentTable.state == "done") & (AssignmentTable.closed_at > bindparam("since"))).cast(Integer)
            ),
            0,
        ),
    )
    .where(AssignmentTable.rater_id == bindparam("rater"))
    .group_by(AssignmentTable.state)
)


def list_open_assignments(tx: Connection, rater_id: str, *, most: int) -> tuple[AssignmentRow, ...]:
    """Return the next assignments of a rater, in order."""
    return tuple(map(_to_row, tx.execute(_SELECT_OPEN, {"rater": rater_id, "most": most})))


def find_assignment(tx: Connection, rater_id: str, assignment_id: str, *, lock: bool = False) -> AssignmentRow | None:
    """Return an assignment of a rater, or None; `lock` locks its row."""
    query = _SELECT_BY_ID_LOCKED if lock else _SELECT_BY_ID
    row = tx.execute(query, {"rater": rater_id, "assignment_id": assignment_id}).one_or_none()
    return None if row is None else _to_row(row)


def _to_row(row: Any) -> AssignmentRow:
    return AssignmentRow(
        id=row.id,
        rater_id=row.rater_id,
        item_id=row.item_id,
        position=row.position,
        state=row.state,
        offered_at=row.offered_at,
        item=to_item(row.name, row.content),
        counts=not row.rehearsal and row.showing == FIRST,
        shown_first=row.shown_first,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedItem:
    """An item that a rater submitted, as the list of their own answers has it."""

    assignment: AssignmentRow
    submitted_at: datetime  # Time of the first submission
    corrected_at: datetime | None  # Time of the last correction
    has_draft: bool  # True if answers were changed and not submitted again
    withheld: bool


def list_submitted_items(
    tx: Connection, rater_id: str, *, before: int | None = None, most: int
) -> tuple[SubmittedItem, ...]:
    """Return the items that a rater submitted, the newest first, before a position."""
    query = _SELECT.add_columns(ItemTable.withheld).where(AssignmentTable.state == "done")
    query = query if before is None else query.where(AssignmentTable.position < before)
    query = query.order_by(AssignmentTable.position.desc()).limit(most)
    rows = tx.execute(query, {"rater": rater_id}).all()
    saves = _summarise_saves(tx, [row.id for row in rows])
    return tuple(
        SubmittedItem(
            assignment=_to_row(row),
            submitted_at=saves[row.id].first,
            corrected_at=saves[row.id].last if saves[row.id].n > 1 else None,
            has_draft=saves[row.id].draft > saves[row.id].submitted,
            withheld=row.withheld,
        )
        for row in rows
    )


def find_last_submitted(tx: Connection, rater_id: str) -> str | None:
    """Return the assignment that a rater submitted last, in their order, or None."""
    done = (AssignmentTable.rater_id == rater_id) & (AssignmentTable.state == "done")
    return tx.scalar(select(AssignmentTable.id).where(done).order_by(AssignmentTable.position.desc()).limit(1))


def is_withheld(tx: Connection, item_id: str) -> bool:
    """Return whether an item is withheld from all raters."""
    return bool(tx.scalar(select(ItemTable.withheld).where(ItemTable.id == item_id)))


def _summarise_saves(tx: Connection, assignment_ids: Sequence[str]) -> dict[str, Any]:
    """Return times and number of the submissions of each assignment, and the last revisions submitted and saved."""
    submitted = SaveTable.final
    query = select(
        SaveTable.assignment_id,
        func.min(case((submitted, SaveTable.received_at))).label("first"),
        func.max(case((submitted, SaveTable.received_at))).label("last"),
        func.sum(submitted.cast(Integer)).label("n"),
        func.max(case((submitted, SaveTable.revision))).label("submitted"),
        func.max(SaveTable.revision).label("draft"),
    ).where(SaveTable.assignment_id.in_(assignment_ids))
    return {row.assignment_id: row for row in tx.execute(query.group_by(SaveTable.assignment_id))}


def record_offer(tx: Connection, assignment_id: str, *, now: datetime) -> None:
    """Set the time when an assignment was first shown."""
    tx.execute(_OFFER, {"assignment_id": assignment_id, "now": now})


def close_assignment(tx: Connection, assignment: AssignmentRow, state: AssignmentState, *, now: datetime) -> None:
    """Set the final state of an assignment, and update the load of its item."""
    tx.execute(_CLOSE, {"assignment_id": assignment.id, "to": state, "now": now})
    change = (state in LOAD_STATES) - (assignment.state in LOAD_STATES)
    if change and assignment.counts:
        change_loads(tx, [assignment.item_id], change)


def reclaim_assignments(
    tx: Connection, campaign_id: str, *, unseen_since: datetime, planned_since: datetime, now: datetime
) -> int:
    """Reclaim open assignments of inactive raters, and return their number.

    Inactive are raters who were not seen since a time, who stopped or withdrew, or who have answered nothing and got
    their items before another time. An item that a rater began before they stopped is reclaimed only once they are
    unseen, since its page may still be open.
    """
    own_save = select(SaveTable.assignment_id).join(earlier := aliased(AssignmentTable))
    has_answered = own_save.where(earlier.rater_id == AssignmentTable.rater_id).exists()
    has_saves = select(SaveTable.assignment_id).where(SaveTable.assignment_id == AssignmentTable.id).exists()
    abandoned = (
        select(AssignmentTable.id, AssignmentTable.item_id, AssignmentTable.showing)
        .join(RaterTable, RaterTable.id == AssignmentTable.rater_id)
        .where(RaterTable.campaign_id == campaign_id, AssignmentTable.state == "open")
        .where(~RaterTable.rehearsal)
        .where(
            (RaterTable.last_seen_at < unseen_since)
            | (RaterTable.state.in_(("stopped", "withdrawn")) & ~has_saves)
            | ((AssignmentTable.planned_at < planned_since) & ~has_answered)
        )
    )
    # Locked rows are skipped: their raters are just beginning them.
    rows = tx.execute(abandoned.with_for_update(of=AssignmentTable, skip_locked=True)).all()
    for start in range(0, len(rows), _BATCH_SIZE):
        batch = rows[start : start + _BATCH_SIZE]
        ids = [row.id for row in batch]
        tx.execute(update(AssignmentTable).where(AssignmentTable.id.in_(ids)).values(state="reclaimed", closed_at=now))
        change_loads(tx, [row.item_id for row in batch if row.showing == FIRST], -1)
    return len(rows)


def reclaim_open_assignments(tx: Connection, rater: RaterRow, *, now: datetime) -> None:
    """Reclaim the open assignments of a rater."""
    owned = (AssignmentTable.rater_id == rater.id) & (AssignmentTable.state == "open")
    item_ids = list(tx.scalars(select(AssignmentTable.item_id).where(owned, IS_FIRST)))
    tx.execute(update(AssignmentTable).where(owned).values(state="reclaimed", closed_at=now))
    if not rater.rehearsal:
        change_loads(tx, item_ids, -1)


def reclaim_repeat(tx: Connection, assignment: AssignmentRow, *, now: datetime) -> None:
    """Reclaim the second showing of an item that its rater skipped."""
    owned = (AssignmentTable.rater_id == assignment.rater_id) & (AssignmentTable.item_id == assignment.item_id)
    again = owned & ~IS_FIRST & (AssignmentTable.state == "open")
    tx.execute(update(AssignmentTable).where(again).values(state="reclaimed", closed_at=now))


def withhold_item(tx: Connection, item_id: str, *, now: datetime) -> None:
    """Withhold an item from all raters, and reclaim its open assignments."""
    planned = (AssignmentTable.item_id == item_id) & (AssignmentTable.state == "open")
    # Lock in the order of a rater who skips an item that they were to see twice, so that the two do not deadlock.
    in_order = select(AssignmentTable.id).where(planned).order_by(AssignmentTable.showing, AssignmentTable.id)
    tx.execute(in_order.with_for_update())
    tx.execute(update(ItemTable).where(ItemTable.id == item_id).values(withheld=True))
    count = (
        select(func.count()).join(RaterTable, RaterTable.id == AssignmentTable.rater_id).where(~RaterTable.rehearsal)
    )
    n = tx.scalar(count.select_from(AssignmentTable).where(planned, IS_FIRST)) or 0
    tx.execute(update(AssignmentTable).where(planned).values(state="reclaimed", closed_at=now))
    tx.execute(update(ItemTable).where(ItemTable.id == item_id).values(load=ItemTable.load - n))


def release_item(tx: Connection, item_id: str) -> None:
    """Make a withheld item available again."""
    tx.execute(update(ItemTable).where(ItemTable.id == item_id).values(withheld=False))


# Ids per statement; SQLite allows 32,766.
_BATCH_SIZE = 500


def change_loads(tx: Connection, item_ids: Sequence[str], change: int) -> None:
    """Add to the load of items, once for each occurrence of an id."""
    for start in range(0, len(item_ids), _BATCH_SIZE):
        counts: dict[str, int] = {}
        for item_id in item_ids[start : start + _BATCH_SIZE]:
            counts[item_id] = counts.get(item_id, 0) + 1
        for count in set(counts.values()):
            ids = [item_id for item_id, n in counts.items() if n == count]
            tx.execute(update(ItemTable).where(ItemTable.id.in_(ids)).values(load=ItemTable.load + change * count))


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterProgress:
    """Progress of a rater through their assignments."""

    n_done: int
    n_open: int
    n_lately: int  # Items rated since a time, such as in the last 24 hours


def load_progress(tx: Connection, rater_id: str, *, since: datetime) -> RaterProgress:
    """Return the progress of a rater."""
    rows = tx.execute(_PROGRESS, {"rater": rater_id, "since": since})
    result = {state: (n, recent) for state, n, recent in rows}
    done, recent = result.get("done", (0, 0))
    return RaterProgress(n_done=done, n_open=result.get("open", (0, 0))[0], n_lately=int(recent))
