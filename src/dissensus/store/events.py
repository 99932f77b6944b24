"""The log of what happened: written with what happened, linked a moment later, erased with what it tells of."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from secrets import token_hex
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, null, select, update
from sqlalchemy.orm import InstrumentedAttribute

from dissensus.campaign.event_log import START, Entry, Event, Kind, digest_of, link_of
from dissensus.store import tables as t

SALT_BYTES: Final = 16
AT_ONCE: Final = 1_000

_ADD = insert(t.Event).returning(t.Event.number)
_LINK = (
    update(t.Event)
    .where(t.Event.number == bindparam("one"))
    .values(place=bindparam("its_place"), link=bindparam("its_link"))
)


def record(
    tx: Connection,
    campaign_id: str,
    kind: Kind,
    content: Mapping[str, Any],
    *,
    rater_id: str | None = None,
    staff_id: str | None = None,
    now: datetime,
) -> int:
    """Keep that something happened, and return its number; it is linked later, so that nobody waits for anybody."""
    event = Event(kind=kind, at=now, rater_id=rater_id, staff_id=staff_id, content=content)
    salt = token_hex(SALT_BYTES)
    row = {"campaign_id": campaign_id, "kind": kind, "at": now, "rater_id": rater_id, "staff_id": staff_id}
    row |= {"content": dict(content), "salt": salt, "digest": digest_of(event, salt)}
    return int(tx.execute(_ADD, row).scalar_one())


def add_chain(tx: Connection, campaign_id: str) -> None:
    """Begin the chain of a new campaign."""
    tx.execute(insert(t.Chain).values(campaign_id=campaign_id, n=0, head=START))


def loose(tx: Connection) -> list[str]:
    """Return the campaigns with events that are not linked yet."""
    return list(tx.scalars(select(t.Event.campaign_id).where(t.Event.place.is_(None)).distinct()))


def link(tx: Connection, campaign_id: str) -> int:
    """Link events that are not yet, some at once, and return how many; others who link wait."""
    chain = t.Chain.campaign_id == campaign_id
    n, head = tx.execute(select(t.Chain.n, t.Chain.head).where(chain).with_for_update()).one()
    waiting = (
        select(t.Event.number, t.Event.digest)
        .where(t.Event.campaign_id == campaign_id, t.Event.place.is_(None))
        .order_by(t.Event.number)
        .limit(AT_ONCE)
        .with_for_update()
    )
    rows = []
    for number, digest in tx.execute(waiting).all():
        n, head = n + 1, link_of(head, digest)
        rows.append({"one": number, "its_place": n, "its_link": head})
    if rows:
        tx.execute(_LINK, rows)
        tx.execute(update(t.Chain).where(chain).values(n=n, head=head))
    return len(rows)


def end_of(tx: Connection, campaign_id: str) -> tuple[int, str]:
    """Return how many events a chain has, and its last link."""
    row = tx.execute(select(t.Chain.n, t.Chain.head).where(t.Chain.campaign_id == campaign_id)).one()
    return int(row.n), str(row.head)


def has_link(tx: Connection, campaign_id: str, link: str) -> bool:
    """Tell whether a link stands in a chain."""
    here = (t.Event.campaign_id == campaign_id) & (t.Event.link == link)
    return bool(tx.scalar(select(func.count()).where(here)))


def event_of(tx: Connection, campaign_id: str, number: int) -> Event | None:
    """Return one event of a campaign, None where there is no such event."""
    here = (t.Event.number == number) & (t.Event.campaign_id == campaign_id)
    row = tx.execute(select(t.Event.__table__).where(here)).one_or_none()
    return None if row is None else _event(row)


def entries_of(tx: Connection, campaign_id: str) -> Iterator[Entry]:
    """Yield all that is linked, in its order."""
    for row in _rows(tx, t.Event.place, t.Event.campaign_id == campaign_id, t.Event.place.is_not(None)):
        yield entry_from(row)


def events_of(tx: Connection, campaign_id: str, kind: Kind) -> Iterator[Event]:
    """Yield all events of a kind that were not erased, linked or not."""
    found = map(_event, _rows(tx, t.Event.number, t.Event.campaign_id == campaign_id, t.Event.kind == kind))
    yield from (event for event in found if event is not None)


def _rows(tx: Connection, by: InstrumentedAttribute[Any], *where: ColumnElement[bool]) -> Iterator[Any]:
    """Yield rows in an order, some at a time."""
    query, last = select(t.Event.__table__).where(*where).order_by(by).limit(AT_ONCE), -1
    while rows := tx.execute(query.where(by > last)).all():
        yield from rows
        last = getattr(rows[-1], by.key)


def entry_from(row: Any) -> Entry:
    """Return what is linked as the core knows it."""
    return Entry(place=row.place, digest=row.digest, link=row.link, salt=row.salt, event=_event(row))


def _event(row: Any) -> Event | None:
    if row.content is None and row.at is None:
        return None
    content = {} if row.content is None else row.content
    return Event(kind=row.kind, at=row.at, rater_id=row.rater_id, staff_id=row.staff_id, content=content)


def erase(tx: Connection, rater_id: str) -> None:
    """Erase all that is told of a rater: what is linked leaves its digest, of which nothing can be learnt."""
    theirs = t.Event.rater_id == rater_id
    tx.execute(delete(t.Event).where(theirs, t.Event.place.is_(None)))
    blank = dict.fromkeys(("at", "rater_id", "staff_id", "salt"))
    tx.execute(update(t.Event).where(theirs).values(kind="erased", content=null(), **blank))


def n_erased(tx: Connection, campaign_id: str) -> int:
    """Return how many events were erased."""
    erased = (t.Event.campaign_id == campaign_id) & (t.Event.kind == "erased")
    return tx.scalar(select(func.count()).where(erased)) or 0
