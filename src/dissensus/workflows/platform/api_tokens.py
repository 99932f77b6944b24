"""Tokens by which programs do some of what somebody of the staff may."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.hints import did_you_mean, listed, shown
from dissensus.store import api_tokens as store
from dissensus.store.api_tokens import Token
from dissensus.store.core.ids import new_key
from dissensus.store.staff import Staff
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.staff import staff_called

PREFIX: Final = "dis_"
"""So that a token is known for one where somebody left it behind."""
LONGEST_DAYS: Final = 365
LONGEST_NAME: Final = 100
NOTED: Final = timedelta(minutes=1)
"""How exactly the last use is kept: not every use writes."""


def make(
    platform: Platform, staff: Staff, name: str, *, scopes: Collection[str], days: int, now: datetime
) -> tuple[str, Token]:
    """Return the key of a new token, which is shown once, and the token.

    Raises
    ------
    InvalidInput
        It has no name, no scope, or no end within a year.
    Conflict
        They have one of that name.
    """
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"{shown(name)} cannot be the name of a token. Give 1 to {LONGEST_NAME} characters.")
    if not scopes:
        raise InvalidInput("A token without a scope can do nothing. Choose at least one.")
    if not 1 <= days <= LONGEST_DAYS:
        raise InvalidInput(f"A token ends within {LONGEST_DAYS} days; {days:,} were asked for.")
    key = PREFIX + new_key()
    times = {"created_at": now, "expires_at": now + timedelta(days=days)}
    token = Token(id="", name=name, scopes=frozenset(scopes), used_at=None, **times)
    with platform.database.writing() as tx:
        store.add_token(tx, staff.id, key, token)
    return key, token


def bearer(platform: Platform, key: str, *, now: datetime) -> tuple[Staff, Token] | None:
    """Return whose a token is, None where it is none of ours or has ended, and keep that it was used."""
    with platform.database.reading() as tx:
        found = store.token_with(tx, key, now=now)
    if found is not None and (found[1].used_at is None or now - found[1].used_at >= NOTED):
        with platform.database.writing() as tx:
            store.note_use(tx, found[1].id, now=now)
    return found


def tokens_of(platform: Platform, staff: Staff, *, now: datetime) -> tuple[Token, ...]:
    """Return somebody's tokens that are good, by name."""
    with platform.database.reading() as tx:
        return store.tokens_of(tx, staff.id, now=now)


def revoke(platform: Platform, staff: Staff, token_id: str) -> None:
    """End a token of somebody at once."""
    with platform.database.writing() as tx:
        store.revoke(tx, staff.id, token_id)


def make_for(
    platform: Platform, person: str, name: str, *, scopes: Collection[str], days: int, now: datetime
) -> tuple[str, Token]:
    """Return the key of a new token of somebody, and the token, for whoever runs the platform."""
    return make(platform, _called(platform, person), name, scopes=scopes, days=days, now=now)


def tokens_for(platform: Platform, person: str, *, now: datetime) -> tuple[Token, ...]:
    """Return the tokens of somebody that are good, by name, for whoever runs the platform."""
    return tokens_of(platform, _called(platform, person), now=now)


def revoke_for(platform: Platform, person: str, name: str, *, now: datetime) -> None:
    """End a token of somebody at once, by its name, for whoever runs the platform.

    Raises
    ------
    NotFound
        They have no such token.
    """
    staff = _called(platform, person)
    tokens = {one.name: one.id for one in tokens_of(platform, staff, now=now)}
    if name.strip() not in tokens:
        hint = did_you_mean(name, list(tokens))
        raise NotFound(
            f"{staff.name} has no token called {shown(name)}.{hint} There are {listed(list(tokens)) or 'none'}."
        )
    revoke(platform, staff, tokens[name.strip()])


def _called(platform: Platform, person: str) -> Staff:
    with platform.database.reading() as tx:
        return staff_called(tx, person)


def check_scopes(asked: Collection[str], known: Collection[str]) -> None:
    """Refuse scopes that are none."""
    for one in asked:
        if one not in known:
            raise InvalidInput(f"{shown(one)} is no scope of a token. Scopes are {listed(sorted(known))}.")
