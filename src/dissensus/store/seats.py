"""Seats of a quota: given, taken back, counted. Whoever gives seats holds the campaign."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update
from sqlalchemy.orm import aliased

from dissensus.store import tables as t
from dissensus.store.core.ids import new_id

GONE: Final = ("stopped", "withdrawn")
"""Standings of raters whose seats are for whoever comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The seats of a cell."""

    free: int = 0  # For whoever comes, of raters under way, and of those who have finished
    held: int = 0
    taken: int = 0
    screened: int = 0  # How many were turned away because there was none


def set_places(tx: Connection, campaign_id: str, places: Mapping[str, int], *, now: datetime) -> None:
    """Make as many seats in each cell as it is to have; those that somebody has stay, be they too many."""
    query = select(t.Seat.cell, func.count()).where(t.Seat.campaign_id == campaign_id).group_by(t.Seat.cell)
    there = Counter(dict(tx.execute(query).all()))
    wanted = Counter(places)
    rows = [
        {"id": new_id(now), "campaign_id": campaign_id, "cell": cell, "state": "free", "changed_at": now}
        for cell in (wanted - there).elements()
    ]
    if rows:
        tx.execute(insert(t.Seat), rows)
    for cell, n in (there - wanted).items():
        free = select(t.Seat.id).where(_in(campaign_id, cell), t.Seat.state == "free").limit(n)
        tx.execute(delete(t.Seat).where(t.Seat.id.in_(free), t.Seat.state == "free"))


def any_free(tx: Connection, campaign_id: str, places: Mapping[str, int], *, unseen_since: datetime) -> bool:
    """Tell whether there is a seat to claim in any of some cells, which have so many places."""
    lasting = (
        select(t.Seat.cell, func.count())
        .outerjoin(t.Rater, t.Rater.id == t.Seat.rater_id)
        .where(t.Seat.campaign_id == campaign_id, ~_claimable(unseen_since))
        .group_by(t.Seat.cell)
    )
    occupied = dict(tx.execute(lasting).all())
    return any(occupied.get(cell, 0) < n for cell, n in places.items())


def claim(
    tx: Connection, campaign_id: str, cell: str, rater_id: str, *, places: int, unseen_since: datetime, now: datetime
) -> bool:
    """Give a rater a seat in a cell of so many places, and tell whether there was one.

    A free one, else that of a rater who stopped or gave no sign since a time. Who has finished keeps theirs: where they
    do so at this very moment, another seat is looked for.
    """
    free = t.Seat.state == "free"
    query = (
        select(t.Seat.id, t.Seat.rater_id)
        .outerjoin(t.Rater, t.Rater.id == t.Seat.rater_id)
        .where(_in(campaign_id, cell), _claimable(unseen_since))
        # Free ones first; of the others that of who has been gone for longest.
        .order_by(free.desc(), t.Rater.seen_at, t.Seat.id)
    )
    if not any_free(tx, campaign_id, {cell: places}, unseen_since=unseen_since):
        return False
    for found in tx.execute(query.limit(1 + _n_held(tx, campaign_id, cell))).all():
        was = t.Seat.rater_id.is_(None) if found.rater_id is None else t.Seat.rater_id == found.rater_id
        seat = (t.Seat.id == found.id) & was & (t.Seat.state != "taken")
        if tx.execute(update(t.Seat).where(seat).values(rater_id=rater_id, state="held", changed_at=now)).rowcount:
            return True
    return False


def _claimable(unseen_since: datetime) -> ColumnElement[bool]:
    # Of a free seat there is no rater, and what is compared with nothing is neither true nor false.
    gone = func.coalesce(or_(t.Rater.seen_at < unseen_since, t.Rater.state.in_(GONE)), False)
    return (t.Seat.state == "free") | ((t.Seat.state == "held") & gone)


def _n_held(tx: Connection, campaign_id: str, cell: str) -> int:
    return tx.scalar(select(func.count()).where(_in(campaign_id, cell), t.Seat.state == "held")) or 0


def has_seat(tx: Connection, rater_id: str) -> bool:
    """Tell whether a rater has a seat."""
    return bool(tx.scalar(select(func.count()).where(t.Seat.rater_id == rater_id)))


def commit(tx: Connection, rater_id: str, *, now: datetime) -> None:
    """Keep the seat of a rater who has finished for good."""
    held = (t.Seat.rater_id == rater_id) & (t.Seat.state == "held")
    tx.execute(update(t.Seat).where(held).values(state="taken", changed_at=now))


def release(tx: Connection, rater_id: str, *, now: datetime) -> None:
    """Give the seat of a rater to whoever comes."""
    theirs = t.Seat.rater_id == rater_id
    tx.execute(update(t.Seat).where(theirs).values(state="free", rater_id=None, changed_at=now))


def turn_away(tx: Connection, campaign_id: str, cell: str) -> None:
    """Count somebody for whom there was no seat."""
    one = (t.Screened.campaign_id == campaign_id) & (t.Screened.cell == cell)
    if not tx.execute(update(t.Screened).where(one).values(n=t.Screened.n + 1)).rowcount:
        tx.execute(insert(t.Screened).values(campaign_id=campaign_id, cell=cell, n=1))


def taken_of(tx: Connection, campaign_id: str) -> dict[str, Taken]:
    """Return the seats of each cell that has any, or where somebody was turned away."""
    by_state = (
        select(t.Seat.cell, t.Seat.state, func.count())
        .where(t.Seat.campaign_id == campaign_id)
        .group_by(t.Seat.cell, t.Seat.state)
    )
    found: dict[str, dict[str, int]] = {}
    for cell, state, n in tx.execute(by_state):
        found.setdefault(cell, {})[state] = n
    away = select(t.Screened.cell, t.Screened.n).where(t.Screened.campaign_id == campaign_id)
    for cell, n in tx.execute(away):
        found.setdefault(cell, {})["screened"] = n
    return {cell: Taken(**numbers) for cell, numbers in found.items()}


def first_entered(tx: Connection, campaign_id: str) -> datetime | None:
    """Return when the first rater came who was no preview and no dry run."""
    first = select(func.min(t.Rater.entered_at)).where(t.Rater.campaign_id == campaign_id, ~t.Rater.rehearsal)
    return tx.scalar(first)


def entered_of(tx: Connection, campaign_id: str, *, since: datetime) -> dict[str, int]:
    """Return how many raters of each cell were let in since a time, previews and dry runs apart."""
    query = (
        select(t.Rater.cell, func.count())
        .where(t.Rater.campaign_id == campaign_id, ~t.Rater.rehearsal, t.Rater.entered_at >= since)
        .where(t.Rater.cell.is_not(None))
        .group_by(t.Rater.cell)
    )
    return {str(cell): n for cell, n in tx.execute(query)}


def declared_of(tx: Connection, campaign_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the cell of each rater, previews and dry runs apart, with what they said of themselves last."""
    earlier = aliased(t.Declaration)
    last = select(func.max(earlier.at)).where(earlier.rater_id == t.Rater.id).scalar_subquery()
    query = (
        select(t.Rater.cell, t.Declaration.content)
        .join(t.Declaration, (t.Declaration.rater_id == t.Rater.id) & (t.Declaration.at == last))
        .where(t.Rater.campaign_id == campaign_id, ~t.Rater.rehearsal, t.Rater.cell.is_not(None))
    )
    yield from ((str(cell), content) for cell, content in tx.execute(query))


def _in(campaign_id: str, cell: str) -> ColumnElement[bool]:
    return (t.Seat.campaign_id == campaign_id) & (t.Seat.cell == cell)
