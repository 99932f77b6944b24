"""Audit log rows: appended with the change that they record, chained later, erased on withdrawal."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from secrets import token_hex
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    ForeignKey,
    Index,
    Select,
    String,
    UniqueConstraint,
    bindparam,
    delete,
    insert,
    null,
    select,
    text,
    update,
)
from sqlalchemy.orm import InstrumentedAttribute, Mapped, mapped_column

from dissensus.campaign.audit_log import (
    INITIAL_CHAIN_DIGEST,
    SALT_BYTES,
    AuditEntry,
    AuditEvent,
    EventKind,
    digest_event,
    digest_subject,
    next_chain_digest,
)
from dissensus.store.core.orm import HASH, ID, Base, Number


class EventTable(Base):
    """An event of the audit log; see `dissensus.campaign.audit_log`."""

    __tablename__ = "event"
    __table_args__ = (
        UniqueConstraint("campaign_id", "sequence"),
        Index(
            "ix_event_of_staff",
            "campaign_id",
            "number",
            sqlite_where=text("staff_id IS NOT NULL"),
            postgresql_where=text("staff_id IS NOT NULL"),
        ),
        Index(
            "ix_event_unchained",
            "campaign_id",
            "number",
            sqlite_where=text("sequence IS NULL"),
            postgresql_where=text("sequence IS NULL"),
        ),
    )

    number: Mapped[int] = mapped_column(Number, primary_key=True, doc="In the order of arrival.")
    # No foreign key: it would lock the campaign after the rater, and deadlock with planning.
    campaign_id: Mapped[str] = mapped_column(ID)
    kind: Mapped[str]
    subject_id: Mapped[str | None] = mapped_column(
        String(32), doc="Random id of the rater in the log; stays when the rater withdraws."
    )
    at: Mapped[datetime | None] = mapped_column(doc="Null if erased, like all columns below except the digests.")
    rater_id: Mapped[str | None] = mapped_column(ID, index=True)
    staff_id: Mapped[str | None] = mapped_column(ID)
    content: Mapped[dict[str, Any] | None]
    salt: Mapped[str | None] = mapped_column(String(32))
    digest: Mapped[str] = mapped_column(HASH)
    sequence: Mapped[int | None] = mapped_column(doc="Sequence number in the chain; null until it is linked.")
    chain_digest: Mapped[str | None] = mapped_column(HASH)


class EventChainTable(Base):
    """The head of the hash chain of a campaign; its row is locked while events are chained."""

    __tablename__ = "event_chain"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    n_events: Mapped[int]
    head_digest: Mapped[str] = mapped_column(HASH)


BATCH_SIZE: Final = 1_000


_INSERT = insert(EventTable).returning(EventTable.number)


_SET_CHAIN_DIGEST = (
    update(EventTable)
    .where(EventTable.number == bindparam("event_number"))
    .values(sequence=bindparam("new_sequence"), chain_digest=bindparam("new_digest"))
)


def append_event(
    tx: Connection,
    campaign_id: str,
    kind: EventKind,
    content: Mapping[str, Any],
    *,
    rater_id: str | None = None,
    subject_id: str | None = None,
    staff_id: str | None = None,
    now: datetime,
) -> int:
    """Append an event to the audit log, and return its number; it is chained later to keep writers from waiting.

    The event of a rater has the subject id of the rater, by which erasures are verified.
    """
    event = AuditEvent(kind=kind, at=now, rater_id=rater_id, staff_id=staff_id, content=content)
    salt = token_hex(SALT_BYTES)
    row = {"campaign_id": campaign_id, "kind": kind, "at": now, "rater_id": rater_id, "staff_id": staff_id}
    row |= {"content": dict(content), "salt": salt, "digest": digest_event(event, salt), "subject_id": subject_id}
    return int(tx.execute(_INSERT, row).scalar_one())


def add_chain(tx: Connection, campaign_id: str) -> None:
    """Insert the chain of a new campaign."""
    tx.execute(insert(EventChainTable).values(campaign_id=campaign_id, n_events=0, head_digest=INITIAL_CHAIN_DIGEST))


def list_unchained_campaigns(tx: Connection) -> list[str]:
    """Return the campaigns with events that are not chained yet."""
    return list(tx.scalars(select(EventTable.campaign_id).where(EventTable.sequence.is_(None)).distinct()))


def chain_events(tx: Connection, campaign_id: str) -> int:
    """Chain a batch of events under a lock, and return their number."""
    chain = EventChainTable.campaign_id == campaign_id
    row = tx.execute(
        select(EventChainTable.n_events, EventChainTable.head_digest).where(chain).with_for_update()
    ).one_or_none()
    if row is None:  # Removed by somebody: an audit reports it.
        return 0
    n, head = row
    unchained = (
        select(EventTable.number, EventTable.digest, EventTable.subject_id)
        .where(EventTable.campaign_id == campaign_id, EventTable.sequence.is_(None))
        .order_by(EventTable.number)
        .limit(BATCH_SIZE)
        .with_for_update()
    )
    rows = []
    for number, digest, subject_id in tx.execute(unchained).all():
        n, head = n + 1, next_chain_digest(head, digest_subject(digest, subject_id))
        rows.append({"event_number": number, "new_sequence": n, "new_digest": head})
    if rows:
        tx.execute(_SET_CHAIN_DIGEST, rows)
        tx.execute(update(EventChainTable).where(chain).values(n_events=n, head_digest=head))
    return len(rows)


def get_chain_head(tx: Connection, campaign_id: str) -> tuple[int, str]:
    """Return the length of a chain, and its last digest; a chain that was removed has no events."""
    columns = (EventChainTable.n_events, EventChainTable.head_digest)
    row = tx.execute(select(*columns).where(EventChainTable.campaign_id == campaign_id)).one_or_none()
    return (0, INITIAL_CHAIN_DIGEST) if row is None else (int(row.n_events), str(row.head_digest))


def find_chain_digest(tx: Connection, campaign_id: str, n_events: int) -> str | None:
    """Return the head that a chain had after its first `n_events` events, or None."""
    at = (EventTable.campaign_id == campaign_id) & (EventTable.sequence == n_events)
    return tx.scalar(select(EventTable.chain_digest).where(at))


def find_event(tx: Connection, campaign_id: str, number: int) -> AuditEvent | None:
    """Return an event of a campaign, or None."""
    in_campaign = (EventTable.number == number) & (EventTable.campaign_id == campaign_id)
    row = tx.execute(select(EventTable.__table__).where(in_campaign)).one_or_none()
    return None if row is None else _to_event(row)


def iterate_entries(tx: Connection, campaign_id: str) -> Iterator[AuditEntry]:
    """Yield all chained entries, in their order."""
    for row in _iterate_rows(
        tx, EventTable.sequence, EventTable.campaign_id == campaign_id, EventTable.sequence.is_not(None)
    ):
        yield to_entry(row)


def iterate_unchained(tx: Connection, campaign_id: str) -> Iterator[tuple[AuditEvent, str | None]]:
    """Yield the events that are not chained yet, each with the subject id of its rater."""
    unchained = (EventTable.campaign_id == campaign_id, EventTable.sequence.is_(None))
    for row in _iterate_rows(tx, EventTable.number, *unchained):
        event = _to_event(row)
        if event is not None:
            yield event, row.subject_id


def iterate_events(tx: Connection, campaign_id: str | None, kind: EventKind) -> Iterator[AuditEvent]:
    """Yield all events of a kind that were not erased, chained or not; without a campaign those of the site."""
    where = [EventTable.kind == kind, *([] if campaign_id is None else [EventTable.campaign_id == campaign_id])]
    rows = _iterate_rows(tx, EventTable.number, *where)
    yield from (event for event in map(_to_event, rows) if event is not None)


def _iterate_rows(tx: Connection, by: InstrumentedAttribute[Any], *where: ColumnElement[bool]) -> Iterator[Any]:
    """Yield rows in the order of a column, in batches."""
    query, last = select(EventTable.__table__).where(*where).order_by(by).limit(BATCH_SIZE), -1
    while rows := tx.execute(query.where(by > last)).all():
        yield from rows
        last = getattr(rows[-1], by.key)


def to_entry(row: Any) -> AuditEntry:
    """Return the audit entry of a row."""
    return AuditEntry(
        sequence=row.sequence,
        digest=row.digest,
        chain_digest=row.chain_digest,
        salt=row.salt,
        subject_id=row.subject_id,
        event=_to_event(row),
    )


def _to_event(row: Any) -> AuditEvent | None:
    if row.at is None:
        return None
    content = {} if row.content is None else row.content
    return AuditEvent(kind=row.kind, at=row.at, rater_id=row.rater_id, staff_id=row.staff_id, content=content)


def erase_rater_events(tx: Connection, rater_id: str) -> None:
    """Erase the events of a rater: chained ones leave their digests, which reveal nothing, and the subject id."""
    _erase_events(tx, EventTable.rater_id == rater_id)


def _erase_events(tx: Connection, owned: ColumnElement[bool]) -> None:
    tx.execute(delete(EventTable).where(owned, EventTable.sequence.is_(None)))
    nulls = dict.fromkeys(("at", "rater_id", "staff_id", "salt"))
    tx.execute(update(EventTable).where(owned).values(kind="erased", content=null(), **nulls))


def erase_campaign_rater_events(tx: Connection, campaign_id: str) -> None:
    """Erase the events of all raters of a campaign."""
    owned = (EventTable.campaign_id == campaign_id) & EventTable.rater_id.is_not(None)
    _erase_events(tx, owned)


def list_events_before(
    tx: Connection, campaign_id: str, *, before: int | None, by_staff: bool, most: int
) -> tuple[tuple[int, AuditEvent | None], ...]:
    """Return events with their numbers, the latest first: those before a number, of staff alone or all."""
    table = EventTable
    query = select(table.__table__).where(table.campaign_id == campaign_id).limit(most)
    if by_staff:
        query = query.where(table.staff_id.is_not(None)).order_by(table.number.desc())
        return _load_events(tx, query if before is None else query.where(table.number < before))
    # The order of the chain, which an index has; events that are not linked yet are the latest.
    pending = query.where(table.sequence.is_(None)).order_by(table.number.desc())
    chained = query.where(table.sequence.is_not(None)).order_by(table.sequence.desc())
    if before is not None:
        pending = pending.where(table.number < before)
        sequence = tx.scalar(select(table.sequence).where(table.number == before, table.campaign_id == campaign_id))
        if sequence is not None:
            return _load_events(tx, chained.where(table.sequence < sequence))
    return (_load_events(tx, pending) + _load_events(tx, chained))[:most]


def _load_events(tx: Connection, query: Select[Any]) -> tuple[tuple[int, AuditEvent | None], ...]:
    return tuple((row.number, _to_event(row)) for row in tx.execute(query))


def list_entries_after(tx: Connection, campaign_id: str, *, after: int, most: int) -> tuple[AuditEntry, ...]:
    """Return chained entries after a sequence number."""
    in_campaign = (EventTable.campaign_id == campaign_id) & (EventTable.sequence > after)
    query = select(EventTable.__table__).where(in_campaign).order_by(EventTable.sequence).limit(most)
    return tuple(map(to_entry, tx.execute(query)))
