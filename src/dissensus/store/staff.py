"""Staff, with the links that sign them in and their sessions."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from dissensus.errors import Conflict
from dissensus.schema.hints import format_value
from dissensus.store import tables as t
from dissensus.store.core.ids import hashed, new_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Staff:
    """Somebody who works on campaigns."""

    id: str
    name: str
    created_at: datetime  # Since when they are known


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A browser in which somebody is signed in."""

    id: str  # Which one: the hash of its key
    expires_at: datetime  # When it ends by itself


_COLUMNS = [getattr(t.Staff, name) for name in Staff.__dataclass_fields__]


def add_staff(tx: Connection, name: str, *, now: datetime) -> Staff:
    """Keep somebody new."""
    staff = Staff(id=new_id(now), name=name, created_at=now)
    try:
        tx.execute(insert(t.Staff).values(id=staff.id, name=name, created_at=now))
    except IntegrityError:
        raise Conflict(f"Somebody is called {format_value(name)} already. Choose another name.") from None
    return staff


def all_staff(tx: Connection) -> tuple[Staff, ...]:
    """Return all staff, by name."""
    return tuple(Staff(**row._mapping) for row in tx.execute(select(*_COLUMNS).order_by(t.Staff.name)))


def staff_named(tx: Connection, name: str) -> Staff | None:
    """Return somebody by their name."""
    row = tx.execute(select(*_COLUMNS).where(t.Staff.name == name)).one_or_none()
    return None if row is None else Staff(**row._mapping)


def add_link(tx: Connection, staff_id: str, key: str, *, expires_at: datetime) -> None:
    """Keep a link that signs somebody in, by the hash of its key."""
    tx.execute(insert(t.SignIn).values(key_hash=hashed(key), staff_id=staff_id, expires_at=expires_at))


def forget_ended(tx: Connection, *, now: datetime) -> None:
    """Delete links, sessions and tokens, of staff and of raters, that ended by themselves."""
    tx.execute(delete(t.SignIn).where(t.SignIn.expires_at <= now))
    tx.execute(delete(t.Session).where(t.Session.expires_at <= now))
    tx.execute(delete(t.StaffInvitation).where(t.StaffInvitation.expires_at <= now))
    tx.execute(delete(t.Token).where(t.Token.expires_at <= now))


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
    """Keep a session of somebody, by the hash of its key."""
    tx.execute(insert(t.Session).values(key_hash=hashed(key), staff_id=staff_id, expires_at=expires_at))


def staff_signed_in(tx: Connection, key: str, *, now: datetime) -> Staff | None:
    """Return whose a session is, None where there is no such session or it has ended."""
    query = (
        select(*_COLUMNS)
        .join(t.Session, t.Session.staff_id == t.Staff.id)
        .where(t.Session.key_hash == hashed(key), t.Session.expires_at > now)
    )
    row = tx.execute(query).one_or_none()
    return None if row is None else Staff(**row._mapping)


def sign_out(tx: Connection, key: str) -> None:
    """End one session."""
    tx.execute(delete(t.Session).where(t.Session.key_hash == hashed(key), t.Session.staff_id.is_not(None)))


def sign_out_everywhere(tx: Connection, staff_id: str) -> int:
    """End all sessions of somebody and take back their links, and return how many sessions there were."""
    tx.execute(delete(t.SignIn).where(t.SignIn.staff_id == staff_id))
    return tx.execute(delete(t.Session).where(t.Session.staff_id == staff_id)).rowcount


def sign_out_elsewhere(tx: Connection, staff_id: str, key: str) -> None:
    """End all sessions of somebody but one, and take back their links."""
    tx.execute(delete(t.SignIn).where(t.SignIn.staff_id == staff_id))
    tx.execute(delete(t.Session).where(t.Session.staff_id == staff_id, t.Session.key_hash != hashed(key)))


def sessions_of(tx: Connection, staff_id: str, *, now: datetime) -> tuple[Session, ...]:
    """Return the sessions of somebody, the latest first."""
    query = (
        select(t.Session.key_hash.label("id"), t.Session.expires_at)
        .where(t.Session.staff_id == staff_id, t.Session.expires_at > now)
        .order_by(t.Session.expires_at.desc(), t.Session.key_hash)
    )
    return tuple(Session(**row._mapping) for row in tx.execute(query))


def end_session(tx: Connection, staff_id: str, session_id: str) -> None:
    """End a session of somebody; one of another person stays as it is."""
    tx.execute(delete(t.Session).where(t.Session.key_hash == session_id, t.Session.staff_id == staff_id))


def password_of(tx: Connection, staff_id: str) -> str | None:
    """Return what is kept of somebody's password."""
    return tx.scalar(select(t.Staff.password_hash).where(t.Staff.id == staff_id))


def staff_with(tx: Connection, *, subject: str) -> Staff | None:
    """Return who a provider means by a subject, None where nobody came by it yet."""
    row = tx.execute(select(*_COLUMNS).where(t.Staff.subject == subject)).one_or_none()
    return None if row is None else Staff(**row._mapping)


def claim(tx: Connection, email: str, subject: str) -> Staff | None:
    """Let a subject be who has this address and no other subject; None where nobody has."""
    mine = (t.Staff.email == email) & t.Staff.subject.is_(None)
    row = tx.execute(update(t.Staff).where(mine).values(subject=subject).returning(*_COLUMNS)).one_or_none()
    return None if row is None else Staff(**row._mapping)


def set_email(tx: Connection, staff_id: str, email: str | None) -> None:
    """Keep another address of somebody; who they are at the provider is found anew."""
    try:
        tx.execute(update(t.Staff).where(t.Staff.id == staff_id).values(email=email, subject=None))
    except IntegrityError:
        raise Conflict(f"Somebody else has the address {format_value(email)}. Take it from them first.") from None


def set_password(tx: Connection, staff_id: str, password_hash: str) -> None:
    """Keep another password of somebody, by its hash."""
    tx.execute(update(t.Staff).where(t.Staff.id == staff_id).values(password_hash=password_hash))
