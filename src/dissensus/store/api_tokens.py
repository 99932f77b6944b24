"""Tokens by which programs do what somebody of the staff may."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from dissensus.errors import Conflict
from dissensus.schema.hints import format_value
from dissensus.store import tables as t
from dissensus.store.core.ids import hashed
from dissensus.store.staff import Staff


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token, without its key."""

    id: str  # Which one: the hash of its key
    name: str  # What its maker calls it
    scopes: frozenset[str]  # The actions that it is for
    created_at: datetime  # From when to when it is good
    expires_at: datetime
    used_at: datetime | None  # When it was used lately, to the minute


_COLUMNS = (
    t.Token.key_hash,
    t.Token.name,
    t.Token.scopes,
    t.Token.created_at,
    t.Token.expires_at,
    t.Token.used_at,
)


def add_token(tx: Connection, staff_id: str, key: str, token: Token) -> None:
    """Keep a new token, by the hash of its key."""
    row = {"key_hash": hashed(key), "staff_id": staff_id, "name": token.name, "scopes": " ".join(sorted(token.scopes))}
    times = {"created_at": token.created_at, "expires_at": token.expires_at}
    try:
        tx.execute(insert(t.Token).values(**row, **times))
    except IntegrityError:
        raise Conflict(f"You have a token called {format_value(token.name)}. Revoke it, or choose another name.") from None


def tokens_of(tx: Connection, staff_id: str, *, now: datetime) -> tuple[Token, ...]:
    """Return the tokens of somebody that are good, by name."""
    query = select(*_COLUMNS).where(t.Token.staff_id == staff_id, t.Token.expires_at > now).order_by(t.Token.name)
    return tuple(_token(*row) for row in tx.execute(query))


def token_with(tx: Connection, key: str, *, now: datetime) -> tuple[Staff, Token] | None:
    """Return a token by its key, and whose it is; None where it is none, or not good any more."""
    query = (
        select(t.Staff.id, t.Staff.name, t.Staff.created_at, *_COLUMNS)
        .join(t.Staff, t.Staff.id == t.Token.staff_id)
        .where(t.Token.key_hash == hashed(key), t.Token.expires_at > now)
    )
    row = tx.execute(query).one_or_none()
    if row is None:
        return None
    return Staff(id=row[0], name=row[1], created_at=row[2]), _token(*row[3:])


def note_use(tx: Connection, token_id: str, *, now: datetime) -> None:
    """Keep that a token was used."""
    tx.execute(update(t.Token).where(t.Token.key_hash == token_id).values(used_at=now))


def revoke(tx: Connection, staff_id: str, token_id: str) -> None:
    """End a token of somebody; one of another person stays as it is."""
    tx.execute(delete(t.Token).where(t.Token.key_hash == token_id, t.Token.staff_id == staff_id))


def _token(
    key_hash: str, name: str, scopes: str, created_at: datetime, expires_at: datetime, used_at: datetime | None
) -> Token:
    times = {"created_at": created_at, "expires_at": expires_at, "used_at": used_at}
    return Token(id=key_hash, name=name, scopes=frozenset(scopes.split()), **times)  # type: ignore[arg-type]
