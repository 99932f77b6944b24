"""Seats of a quota: claims, releases and counts."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    CheckConstraint,
    ColumnElement,
    Connection,
    ForeignKey,
    Index,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Mapped, aliased, mapped_column

from dissensus.store.core.orm import ID, Base, check_in, new_id
from dissensus.store.raters import DeclarationTable, RaterTable


class SeatTable(Base):
    """A seat in a cell of a quota."""

    __tablename__ = "seat"
    __table_args__ = (
        check_in("state", "free", "held", "taken"),
        CheckConstraint("(state = 'free') = (rater_id IS NULL)", name="of_somebody"),
        Index("ix_seat_campaign_id_cell_state", "campaign_id", "cell", "state"),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"))
    cell: Mapped[str]
    state: Mapped[str] = mapped_column(doc="`held` by a rater at work, or `taken` by one who has finished.")
    rater_id: Mapped[str | None] = mapped_column(ForeignKey("rater.id"), unique=True)


class ScreenOutTable(Base):
    """Number of raters turned away because their cell was full."""

    __tablename__ = "screen_out"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    cell: Mapped[str] = mapped_column(primary_key=True)
    n_raters: Mapped[int]


INACTIVE_STATES: Final = ("stopped", "withdrawn")
"""States of raters whose seats can be claimed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatCounts:
    """The seats of a cell."""

    free: int = 0
    held: int = 0
    taken: int = 0
    screened: int = 0  # Raters turned away because there was none


def set_seats(tx: Connection, campaign_id: str, capacities: Mapping[str, int], *, now: datetime) -> None:
    """Set the number of seats of each cell; held and taken seats stay even if they are too many."""
    query = select(SeatTable.cell, func.count()).where(SeatTable.campaign_id == campaign_id).group_by(SeatTable.cell)
    present, required = Counter(dict(tx.execute(query).all())), Counter(capacities)
    rows = [
        {"id": new_id(now), "campaign_id": campaign_id, "cell": cell, "state": "free"}
        for cell in (required - present).elements()
    ]
    if rows:
        tx.execute(insert(SeatTable), rows)
    for cell, n in (present - required).items():
        free = select(SeatTable.id).where(_is_in_cell(campaign_id, cell), SeatTable.state == "free").limit(n)
        tx.execute(delete(SeatTable).where(SeatTable.id.in_(free), SeatTable.state == "free"))


def has_free_seat(tx: Connection, campaign_id: str, capacities: Mapping[str, int], *, unseen_since: datetime) -> bool:
    """Return whether any of some cells, by their capacity, has a claimable seat."""
    query = (
        select(SeatTable.cell, func.count())
        .outerjoin(RaterTable, RaterTable.id == SeatTable.rater_id)
        .where(SeatTable.campaign_id == campaign_id, ~_is_claimable(unseen_since))
        .group_by(SeatTable.cell)
    )
    occupied = dict(tx.execute(query).all())
    return any(occupied.get(cell, 0) < n for cell, n in capacities.items())


def claim_seat(
    tx: Connection, campaign_id: str, cell: str, rater_id: str, *, capacity: int, unseen_since: datetime
) -> bool:
    """Claim a seat in a cell for a rater, and return whether there was one; the campaign must be locked.

    Free seats come first, then those of raters who stopped or were not seen since a time. A seat whose rater is just
    finishing is skipped.
    """
    free = SeatTable.state == "free"
    query = (
        select(SeatTable.id, SeatTable.rater_id)
        .outerjoin(RaterTable, RaterTable.id == SeatTable.rater_id)
        .where(_is_in_cell(campaign_id, cell), _is_claimable(unseen_since))
        # Free seats first, then those of the raters not seen for longest.
        .order_by(free.desc(), RaterTable.last_seen_at, SeatTable.id)
    )
    if not has_free_seat(tx, campaign_id, {cell: capacity}, unseen_since=unseen_since):
        return False
    for row in tx.execute(query.limit(1 + _count_held(tx, campaign_id, cell))).all():
        unchanged = SeatTable.rater_id.is_not_distinct_from(row.rater_id) & (SeatTable.state != "taken")
        seat = (SeatTable.id == row.id) & unchanged
        if tx.execute(update(SeatTable).where(seat).values(rater_id=rater_id, state="held")).rowcount:
            return True
    return False


def _is_claimable(unseen_since: datetime) -> ColumnElement[bool]:
    # A free seat has no rater, and comparisons with NULL are NULL.
    inactive = func.coalesce(or_(RaterTable.last_seen_at < unseen_since, RaterTable.state.in_(INACTIVE_STATES)), False)
    return (SeatTable.state == "free") | ((SeatTable.state == "held") & inactive)


def _count_held(tx: Connection, campaign_id: str, cell: str) -> int:
    return tx.scalar(select(func.count()).where(_is_in_cell(campaign_id, cell), SeatTable.state == "held")) or 0


def has_seat(tx: Connection, rater_id: str) -> bool:
    """Return whether a rater has a seat."""
    return bool(tx.scalar(select(func.count()).where(SeatTable.rater_id == rater_id)))


def take_seat(tx: Connection, rater_id: str) -> None:
    """Mark the seat of a rater who has finished as taken."""
    held = (SeatTable.rater_id == rater_id) & (SeatTable.state == "held")
    tx.execute(update(SeatTable).where(held).values(state="taken"))


def release_seat(tx: Connection, rater_id: str) -> None:
    """Free the seat of a rater."""
    owned = SeatTable.rater_id == rater_id
    tx.execute(update(SeatTable).where(owned).values(state="free", rater_id=None))


def count_screen_out(tx: Connection, campaign_id: str, cell: str) -> None:
    """Increment the screen-outs of a cell."""
    in_cell = (ScreenOutTable.campaign_id == campaign_id) & (ScreenOutTable.cell == cell)
    if not tx.execute(update(ScreenOutTable).where(in_cell).values(n_raters=ScreenOutTable.n_raters + 1)).rowcount:
        tx.execute(insert(ScreenOutTable).values(campaign_id=campaign_id, cell=cell, n_raters=1))


def load_seat_counts(tx: Connection, campaign_id: str) -> dict[str, SeatCounts]:
    """Return the seat counts of each cell."""
    by_state = (
        select(SeatTable.cell, SeatTable.state, func.count())
        .where(SeatTable.campaign_id == campaign_id)
        .group_by(SeatTable.cell, SeatTable.state)
    )
    result: dict[str, dict[str, int]] = {}
    for cell, state, n in tx.execute(by_state):
        result.setdefault(cell, {})[state] = n
    screened = select(ScreenOutTable.cell, ScreenOutTable.n_raters).where(ScreenOutTable.campaign_id == campaign_id)
    for cell, n in tx.execute(screened):
        result.setdefault(cell, {})["screened"] = n
    return {cell: SeatCounts(**numbers) for cell, numbers in result.items()}


def find_first_entry(tx: Connection, campaign_id: str) -> datetime | None:
    """Return the time of entry of the first rater, without rehearsals."""
    first = select(func.min(RaterTable.entered_at)).where(RaterTable.campaign_id == campaign_id, ~RaterTable.rehearsal)
    return tx.scalar(first)


def count_entered(tx: Connection, campaign_id: str, *, since: datetime) -> dict[str, int]:
    """Count the raters of each cell who entered since a time, without rehearsals."""
    query = (
        select(RaterTable.cell, func.count())
        .where(RaterTable.campaign_id == campaign_id, ~RaterTable.rehearsal, RaterTable.entered_at >= since)
        .where(RaterTable.cell.is_not(None))
        .group_by(RaterTable.cell)
    )
    return {str(cell): n for cell, n in tx.execute(query)}


def iterate_declarations(tx: Connection, campaign_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the cell and last self-description of each rater, without rehearsals."""
    earlier = aliased(DeclarationTable)
    last = select(func.max(earlier.at)).where(earlier.rater_id == RaterTable.id).scalar_subquery()
    query = (
        select(RaterTable.cell, DeclarationTable.content)
        .join(DeclarationTable, (DeclarationTable.rater_id == RaterTable.id) & (DeclarationTable.at == last))
        .where(RaterTable.campaign_id == campaign_id, ~RaterTable.rehearsal, RaterTable.cell.is_not(None))
    )
    yield from ((str(cell), content) for cell, content in tx.execute(query))


def _is_in_cell(campaign_id: str, cell: str) -> ColumnElement[bool]:
    return (SeatTable.campaign_id == campaign_id) & (SeatTable.cell == cell)
