"""Owners of campaigns, with the links that sign them in and their sessions."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from dissensus.store import tables as t
from dissensus.store.ids import hashed, new_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Somebody who owns campaigns.

    Parameters
    ----------
    id, name
        Who.
    created_at
        Since when they are known.
    """

    id: str
    name: str
    created_at: datetime


_COLUMNS = [getattr(t.Staff, name) for name in Owner.__dataclass_fields__]


def add_owner(tx: Connection, name: str, *, now: datetime) -> Owner:
    """Keep a new owner, whose name must be free."""
    owner = Owner(id=new_id(now), name=name, created_at=now)
    tx.execute(insert(t.Staff).values(id=owner.id, name=name, created_at=now))
    return owner


def owners(tx: Connection) -> tuple[Owner, ...]:
    """Return all owners, by name."""
    return tuple(Owner(**row._mapping) for row in tx.execute(select(*_COLUMNS).order_by(t.Staff.name)))


def owner_named(tx: Connection, name: str) -> Owner | None:
    """Return an owner by their name."""
    row = tx.execute(select(*_COLUMNS).where(t.Staff.name == name)).one_or_none()
    return None if row is None else Owner(**row._mapping)


def add_link(tx: Connection, staff_id: str, key: str, *, expires_at: datetime) -> None:
    """Keep a link that signs somebody in, by the hash of its key."""
    tx.execute(insert(t.SignIn).values(key_hash=hashed(key), staff_id=staff_id, expires_at=expires_at))


def forget_ended(tx: Connection, *, now: datetime) -> None:
    """Delete links and sessions, of owners and of raters, that ended by themselves."""
    tx.execute(delete(t.SignIn).where(t.SignIn.expires_at <= now))
    tx.execute(delete(t.Session).where(t.Session.expires_at <= now))


def is_link(tx: Connection, key: str, *, now: datetime) -> bool:
    """Tell whether a key can sign somebody in, without using it up."""
    return tx.scalar(select(t.SignIn.staff_id).where(_good(key, now))) is not None


def use_link(tx: Connection, key: str, *, now: datetime) -> str | None:
    """Use a link up, and return whom it signs in; None where it is unknown, used or too old.

    One statement decides, so that of two who come at once one alone gets in.
    """
    used = update(t.SignIn).where(_good(key, now)).values(used_at=now).returning(t.SignIn.staff_id)
    return tx.scalar(used)


def _good(key: str, now: datetime) -> ColumnElement[bool]:
    return (t.SignIn.key_hash == hashed(key)) & t.SignIn.used_at.is_(None) & (t.SignIn.expires_at > now)


def sign_in(tx: Connection, staff_id: str, key: str, *, expires_at: datetime) -> None:
    """Keep a session of an owner, by the hash of its key."""
    tx.execute(insert(t.Session).values(key_hash=hashed(key), staff_id=staff_id, expires_at=expires_at))


def owner_signed_in(tx: Connection, key: str, *, now: datetime) -> Owner | None:
    """Return the owner of a session, None where there is no such session or it has ended."""
    query = (
        select(*_COLUMNS)
        .join(t.Session, t.Session.staff_id == t.Staff.id)
        .where(t.Session.key_hash == hashed(key), t.Session.expires_at > now)
    )
    row = tx.execute(query).one_or_none()
    return None if row is None else Owner(**row._mapping)


def sign_out(tx: Connection, key: str) -> None:
    """End one session."""
    tx.execute(delete(t.Session).where(t.Session.key_hash == hashed(key), t.Session.staff_id.is_not(None)))


def sign_out_everywhere(tx: Connection, staff_id: str) -> int:
    """End all sessions of an owner and take back their links, and return how many sessions there were."""
    tx.execute(delete(t.SignIn).where(t.SignIn.staff_id == staff_id))
    return tx.execute(delete(t.Session).where(t.Session.staff_id == staff_id)).rowcount
