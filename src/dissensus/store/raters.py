"""Raters with their invitations, sessions and self-descriptions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    ForeignKey,
    String,
    UniqueConstraint,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.campaign.pay import RATING_ENDS
from dissensus.campaign.rate_limits import NO_LIMIT, RateLimit, to_milliseconds
from dissensus.errors import NotAllowed
from dissensus.store.campaigns import CampaignTable
from dissensus.store.core.orm import (
    HASH,
    ID,
    Base,
    RaterData,
    check_in,
    find_row,
    hash_key,
    list_columns,
    list_rows,
    new_id,
)
from dissensus.store.core.rate_limits import take_expression, take_parameters
from dissensus.store.identity.sessions import SessionTable


class InvitationTable(Base):
    """A personal link of a rater."""

    __tablename__ = "invitation"

    key_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), index=True)
    cell: Mapped[str | None] = mapped_column(doc="Quota cell, if the recruiter fills the quota.")
    revoked_at: Mapped[datetime | None]


class RaterTable(Base):
    """A rater, who has agreed to take part."""

    __tablename__ = "rater"
    __table_args__ = (
        UniqueConstraint("campaign_id", "number"),
        check_in("state", "rating", "finished", "stopped", "withdrawn"),
        check_in("rating_end", *RATING_ENDS),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"))
    number: Mapped[int] = mapped_column(doc="Entry number, from 0; seeds the order of items.")
    subject_id: Mapped[str | None] = mapped_column(
        String(32), doc="Random id of the rater in the audit log; null once the rater has withdrawn."
    )
    invitation_hash: Mapped[str | None] = mapped_column(ForeignKey("invitation.key_hash"), unique=True)
    cell: Mapped[str | None] = mapped_column(doc="Quota cell, if there is a quota and the cell is known.")
    excluded_topics: Mapped[str | None] = mapped_column(
        doc="Topics that the rater avoids, one per line; null until the rater answered."
    )
    state: Mapped[str]
    language: Mapped[str]
    rehearsal: Mapped[bool] = mapped_column(default=False, doc="True for previews and dry runs, never exported.")
    worked_ms: Mapped[int | None] = mapped_column(doc="Time worked of a withdrawn rater; for others the saves have it.")
    rating_end: Mapped[str | None] = mapped_column(
        doc="End of the rating of a withdrawn rater, by which they are paid; null for others."
    )
    entered_at: Mapped[datetime]
    last_seen_at: Mapped[datetime]
    changed_at: Mapped[datetime]
    finished_at: Mapped[datetime | None] = mapped_column(doc="Time when the rater first finished; never set again.")
    full_at_ms: Mapped[int] = mapped_column(
        BigInteger, default=0, doc="Time when the token bucket of the rater is full again, in milliseconds since 1970."
    )


class DeclarationTable(RaterData, Base):
    """A self-description of a rater; the last one is current."""

    __tablename__ = "declaration"

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), index=True)
    content: Mapped[dict[str, Any]]
    at: Mapped[datetime]


def add_invitations(tx: Connection, campaign_id: str, keys: Sequence[str], *, cell: str | None) -> None:
    """Insert personal links by the hashes of their keys, for a cell if the recruiter chooses by cells."""
    rows = [{"key_hash": hash_key(key), "campaign_id": campaign_id, "cell": cell} for key in keys]
    if rows:
        tx.execute(insert(InvitationTable), rows)


def is_participant(campaign_id: str) -> ColumnElement[bool]:
    """Return the condition that a rater belongs to a campaign, is not a rehearsal and has not withdrawn."""
    return and_(RaterTable.campaign_id == campaign_id, ~RaterTable.rehearsal, RaterTable.state != "withdrawn")


RaterState: TypeAlias = Literal["rating", "finished", "stopped", "withdrawn"]

SUBJECT_ID_BYTES: Final = 16

INVALID_LINK: Final = "This link is not valid (any more). Ask its sender for a new one."
"""The same message for every invalid key: it reveals no campaign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterRow:
    """A rater."""

    id: str
    campaign_id: str
    number: int  # Zero-based entry number
    subject_id: str | None  # Random id in the audit log, None once the rater has withdrawn
    cell: str | None  # Quota cell, if there is a quota and the cell is known
    excluded_topics: str | None  # Topics that the rater avoids, one per line; None until the rater answered
    state: RaterState
    language: str
    rehearsal: bool  # True for a preview or a dry run
    full_at_ms: int = field(default=0, compare=False)  # Time when the token bucket of the rater is full again


RATER_COLUMNS = list_columns(RaterTable, RaterRow)


# Statements of every submit are built once: building one takes longer than running it.
_MARK_SEEN = (
    update(RaterTable)
    .where(RaterTable.id == bindparam("rater_id"))
    .values(last_seen_at=bindparam("now"), full_at_ms=take_expression(RaterTable.full_at_ms))
    .returning(*RATER_COLUMNS)
)


_SELECT_SIGNED_IN = (
    select(*RATER_COLUMNS)
    .join(SessionTable, SessionTable.rater_id == RaterTable.id)
    .where(SessionTable.key_hash == bindparam("key_hash"), SessionTable.expires_at > bindparam("now"))
)


def add_rater(
    tx: Connection,
    campaign_id: str,
    rater_id: str,
    *,
    language: str,
    invitation: str | None,
    cell: str | None,
    rehearsal: bool,
    now: datetime,
) -> RaterRow:
    """Insert a rater with the next number of the campaign, which must be locked."""
    is_campaign = CampaignTable.id == campaign_id
    number = tx.scalar(select(CampaignTable.n_raters).where(is_campaign)) or 0
    tx.execute(update(CampaignTable).where(is_campaign).values(n_raters=number + 1))
    rater = RaterRow(
        id=rater_id,
        campaign_id=campaign_id,
        number=number,
        subject_id=token_hex(SUBJECT_ID_BYTES),
        cell=cell,
        excluded_topics=None,
        state="rating",
        language=language,
        rehearsal=rehearsal,
    )
    row = {name: getattr(rater, name) for name in RaterRow.__dataclass_fields__}
    times = {"entered_at": now, "last_seen_at": now, "changed_at": now}
    tx.execute(insert(RaterTable).values(**row, **times, invitation_hash=hash_key(invitation) if invitation else None))
    return rater


def check_invitation(tx: Connection, campaign_id: str, key: str) -> str | None:
    """Return the cell of a personal link, if any; NotAllowed if it is not valid for the campaign."""
    row = tx.execute(
        select(InvitationTable.campaign_id, InvitationTable.revoked_at, InvitationTable.cell).where(
            InvitationTable.key_hash == hash_key(key)
        )
    ).one_or_none()
    if row is None or row.campaign_id != campaign_id or row.revoked_at is not None:
        raise NotAllowed(INVALID_LINK)
    return None if row.cell is None else str(row.cell)


def find_invited_rater(tx: Connection, key: str, *, lock: bool = False) -> RaterRow | None:
    """Return the rater of a personal link, or None; `lock` keeps them from being erased."""
    query = select(*RATER_COLUMNS).where(RaterTable.invitation_hash == hash_key(key))
    return find_row(tx, query.with_for_update(read=True, key_share=True) if lock else query, RaterRow)


def find_rater(tx: Connection, rater_id: str) -> RaterRow | None:
    """Return a rater by their id, or None."""
    return find_row(tx, select(*RATER_COLUMNS).where(RaterTable.id == rater_id), RaterRow)


def list_raters_by_number(tx: Connection, campaign_id: str, numbers: Collection[int]) -> tuple[RaterRow, ...]:
    """Return the raters of a campaign with some entry numbers, in their order."""
    owned = (RaterTable.campaign_id == campaign_id) & RaterTable.number.in_(numbers)
    query = select(*RATER_COLUMNS).where(owned, ~RaterTable.rehearsal).order_by(RaterTable.number)
    return list_rows(tx, query, RaterRow)


def entered_by_open_link(tx: Connection, rater_id: str) -> bool:
    """Return whether a rater came by an open link, which admits anybody, and not by a personal one."""
    return tx.scalar(select(RaterTable.invitation_hash).where(RaterTable.id == rater_id)) is None


def list_open_link_raters(tx: Connection, campaign_id: str) -> frozenset[str]:
    """Return the raters of a campaign who came by an open link; with a recruiter, those whom it sent."""
    by_open_link = (RaterTable.campaign_id == campaign_id) & RaterTable.invitation_hash.is_(None)
    return frozenset(tx.scalars(select(RaterTable.id).where(by_open_link)))


def mark_seen(
    tx: Connection, rater_id: str, *, limit: RateLimit = NO_LIMIT, n_writes: int = 0, now: datetime
) -> RaterRow | None:
    """Set the time when a rater was last seen, and return the rater, locked until the transaction ends.

    Writes are taken from the token bucket of the rater.
    """
    bucket = take_parameters(limit, n_writes, now_ms=to_milliseconds(now))
    return find_row(tx, _MARK_SEEN, RaterRow, parameters={"rater_id": rater_id, "now": now, **bucket})


def find_signed_in_rater(tx: Connection, key: str, *, now: datetime) -> RaterRow | None:
    """Return the rater of a valid session, or None."""
    return find_row(tx, _SELECT_SIGNED_IN, RaterRow, parameters={"key_hash": hash_key(key), "now": now})


def add_rater_session(tx: Connection, rater_id: str, key: str, *, expires_at: datetime) -> None:
    """Insert a session of a rater, by the hash of its key."""
    tx.execute(insert(SessionTable).values(key_hash=hash_key(key), rater_id=rater_id, expires_at=expires_at))


def end_rater_session(tx: Connection, key: str) -> None:
    """End a session of a rater."""
    tx.execute(delete(SessionTable).where(SessionTable.key_hash == hash_key(key), SessionTable.rater_id.is_not(None)))


def set_rater_state(tx: Connection, rater_id: str, state: RaterState, *, now: datetime) -> None:
    """Set the state of a rater."""
    table = RaterTable
    first = (
        {"finished_at": func.coalesce(table.finished_at, literal(now, table.finished_at.type))}
        if state == "finished"
        else {}
    )
    tx.execute(update(table).where(table.id == rater_id).values(state=state, changed_at=now, last_seen_at=now, **first))


def set_excluded_topics(tx: Connection, rater_id: str, topics: Sequence[str]) -> None:
    """Set the topics that a rater wants to avoid."""
    tx.execute(update(RaterTable).where(RaterTable.id == rater_id).values(excluded_topics="\n".join(topics)))


def load_rater_numbers(tx: Connection, campaign_id: str) -> dict[str, int]:
    """Return the entry number of each rater of a campaign."""
    return dict(tx.execute(select(RaterTable.id, RaterTable.number).where(RaterTable.campaign_id == campaign_id)).all())


def set_rater_cell(tx: Connection, rater_id: str, cell: str) -> None:
    """Set the quota cell of a rater."""
    tx.execute(update(RaterTable).where(RaterTable.id == rater_id).values(cell=cell))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclarationRow:
    """A self-description of a rater."""

    id: str
    content: Mapping[str, Any]
    at: datetime


def add_declaration(tx: Connection, rater_id: str, content: Mapping[str, Any], *, now: datetime) -> DeclarationRow:
    """Insert a self-description, dated after earlier ones even if the clock was set back, and return it."""
    last = tx.scalar(select(func.max(DeclarationTable.at)).where(DeclarationTable.rater_id == rater_id))
    now = now if last is None or now > last else last + timedelta(microseconds=1)
    row = DeclarationRow(id=new_id(now), content=dict(content), at=now)
    tx.execute(insert(DeclarationTable).values(rater_id=rater_id, id=row.id, content=row.content, at=row.at))
    return row


def find_declaration(tx: Connection, rater_id: str) -> dict[str, Any] | None:
    """Return the last self-description of a rater, or None."""
    query = (
        select(DeclarationTable.content)
        .where(DeclarationTable.rater_id == rater_id)
        .order_by(DeclarationTable.at.desc())
        .limit(1)
    )
    return tx.scalar(query)
