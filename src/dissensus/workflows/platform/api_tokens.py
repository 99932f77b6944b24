"""Tokens by which programs do some of what somebody of the staff may."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.hints import suggest, format_list, format_value
from dissensus.store import api_tokens as store
from dissensus.store.api_tokens import Token
from dissensus.store.core.ids import new_key
from dissensus.store.staff import Staff
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.staff import find_staff

PREFIX: Final = "dis_"
"""So that a token is known for one where somebody left it behind."""
MAX_DAYS: Final = 365
MAX_NAME_LENGTH: Final = 100
USE_NOTED_EVERY: Final = timedelta(minutes=1)
"""How exactly the last use is kept: not every use writes."""


def create_token(
    platform: Platform, staff: Staff, name: str, *, scopes: Collection[str], days: int, now: datetime
) -> tuple[str, Token]:
    """Return the key of a new token, which is shown once, and the token."""
    name = name.strip()
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise InvalidInput(f"{format_value(name)} cannot be the name of a token. Give 1 to {MAX_NAME_LENGTH} characters.")
    if not scopes:
        raise InvalidInput("A token without a scope can do nothing. Choose at least one.")
    if not 1 <= days <= MAX_DAYS:
        raise InvalidInput(f"A token ends within {MAX_DAYS} days; {days:,} were asked for.")
    key = PREFIX + new_key()
    times = {"created_at": now, "expires_at": now + timedelta(days=days)}
    token = Token(id="", name=name, scopes=frozenset(scopes), used_at=None, **times)
    with platform.database.writing() as tx:
        store.add_token(tx, staff.id, key, token)
    return key, token


def authenticate_token(platform: Platform, key: str, *, now: datetime) -> tuple[Staff, Token] | None:
    """Return whose a token is, None where it is none of ours or has ended, and keep that it was used."""
    with platform.database.reading() as tx:
        found = store.token_with(tx, key, now=now)
    if found is not None and (found[1].used_at is None or now - found[1].used_at >= USE_NOTED_EVERY):
        with platform.database.writing() as tx:
            store.note_use(tx, found[1].id, now=now)
    return found


def list_tokens(platform: Platform, staff: Staff, *, now: datetime) -> tuple[Token, ...]:
    """Return somebody's tokens that are good, by name."""
    with platform.database.reading() as tx:
        return store.tokens_of(tx, staff.id, now=now)


def revoke_token(platform: Platform, staff: Staff, token_id: str) -> None:
    """End a token of somebody at once."""
    with platform.database.writing() as tx:
        store.revoke(tx, staff.id, token_id)


def create_token_for(
    platform: Platform, person: str, name: str, *, scopes: Collection[str], days: int, now: datetime
) -> tuple[str, Token]:
    """Return the key of a new token of somebody, and the token, for whoever runs the platform."""
    return create_token(platform, _find_owner(platform, person), name, scopes=scopes, days=days, now=now)


def list_tokens_for(platform: Platform, person: str, *, now: datetime) -> tuple[Token, ...]:
    """Return the tokens of somebody that are good, by name, for whoever runs the platform."""
    return list_tokens(platform, _find_owner(platform, person), now=now)


def revoke_token_for(platform: Platform, person: str, name: str, *, now: datetime) -> None:
    """End a token of somebody at once, by its name, for whoever runs the platform."""
    staff = _find_owner(platform, person)
    tokens = {one.name: one.id for one in list_tokens(platform, staff, now=now)}
    if name.strip() not in tokens:
        hint = suggest(name, list(tokens))
        raise NotFound(
            f"{staff.name} has no token called {format_value(name)}.{hint} There are {format_list(list(tokens)) or 'none'}."
        )
    revoke_token(platform, staff, tokens[name.strip()])


def _find_owner(platform: Platform, person: str) -> Staff:
    with platform.database.reading() as tx:
        return find_staff(tx, person)


def check_scopes(asked: Collection[str], known: Collection[str]) -> None:
    """Refuse scopes that are none."""
    for one in asked:
        if one not in known:
            raise InvalidInput(f"{format_value(one)} is no scope of a token. Scopes are {format_list(sorted(known))}.")
