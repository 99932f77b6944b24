"""API tokens: authenticate programs with a subset of a person's permissions."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.store.core.orm import new_key
from dissensus.store.identity import api_tokens as store
from dissensus.store.identity.api_tokens import ApiTokenRow
from dissensus.store.identity.security_log import log_security_event
from dissensus.store.staff import StaffRow
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.sessions import delete_expired_keys
from dissensus.workflows.platform.staff import find_staff

PREFIX: Final = "dis_"
"""Prefix by which secret scanners recognise a token."""
MAX_DAYS: Final = 365
MAX_NAME_LENGTH: Final = 100
USE_RESOLUTION: Final = timedelta(minutes=1)
"""Resolution of the time of the last use, to avoid a write per request."""


def create_token(
    platform: Platform, staff: StaffRow, name: str, *, scopes: Collection[str], days: int, now: datetime
) -> tuple[str, ApiTokenRow]:
    """Return the key of a new token, shown only once, and the token."""
    name = name.strip()
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise InvalidInput(
            f"{format_value(name)} cannot be the name of a token. Give 1 to {MAX_NAME_LENGTH} characters."
        )
    if not scopes:
        raise InvalidInput("A token without a scope can do nothing. Choose at least one.")
    if not 1 <= days <= MAX_DAYS:
        raise InvalidInput(f"A token is valid for 1 to {MAX_DAYS} days; {days:,} were requested.")
    key = PREFIX + new_key()
    times = {"created_at": now, "expires_at": now + timedelta(days=days)}
    token = ApiTokenRow(id="", staff_id=staff.id, name=name, scopes=frozenset(scopes), used_at=None, **times)
    with platform.database.writing() as tx:
        # An expired token, which no list shows, must not occupy its name.
        delete_expired_keys(tx, now=now)
        store.add_api_token(tx, key, token)
        log_security_event(tx, "token_created", staff.id, now, {"token": name, "scopes": sorted(scopes)})
    return key, token


def authenticate_token(
    platform: Platform, key: str, *, network: str | None, now: datetime
) -> tuple[StaffRow, ApiTokenRow] | None:
    """Return the owner and token of a valid key and record its use; None for any other key."""
    with platform.database.reading() as tx:
        result = store.find_api_token(tx, key, now=now)
    if result is None:
        return None
    _, token = result
    if token.used_at is None or now - token.used_at >= USE_RESOLUTION:
        with platform.database.writing() as tx:
            store.record_token_use(tx, token.id, now=now)
            if token.used_at is None:
                log_security_event(tx, "token_first_used", token.staff_id, now, {"token": token.name}, network=network)
    return result


def list_tokens(platform: Platform, staff: StaffRow, *, now: datetime) -> tuple[ApiTokenRow, ...]:
    """Return a person's valid tokens by name."""
    with platform.database.reading() as tx:
        return store.list_api_tokens(tx, staff.id, now=now)


def revoke_token(platform: Platform, staff: StaffRow, token_id: str, *, now: datetime) -> None:
    """Revoke a token at once."""
    with platform.database.writing() as tx:
        name = store.revoke_api_token(tx, staff.id, token_id)
        if name is not None:
            log_security_event(tx, "token_revoked", staff.id, now, {"token": name})


def create_token_for(
    platform: Platform, person: str, name: str, *, scopes: Collection[str], days: int, now: datetime
) -> tuple[str, ApiTokenRow]:
    """Return the key of a new token for a person, and the token, for the operator."""
    return create_token(platform, _find_owner(platform, person), name, scopes=scopes, days=days, now=now)


def list_tokens_for(platform: Platform, person: str, *, now: datetime) -> tuple[ApiTokenRow, ...]:
    """Return a person's valid tokens by name, for the operator."""
    return list_tokens(platform, _find_owner(platform, person), now=now)


def revoke_token_for(platform: Platform, person: str, name: str, *, now: datetime) -> None:
    """Revoke a person's token by its name, for the operator."""
    staff = _find_owner(platform, person)
    tokens = {token.name: token.id for token in list_tokens(platform, staff, now=now)}
    if name.strip() not in tokens:
        hint = suggest(name, list(tokens))
        raise NotFound(
            f"{staff.name} has no token called {format_value(name)}.{hint} "
            f"There are {format_list(list(tokens)) or 'none'}."
        )
    revoke_token(platform, staff, tokens[name.strip()], now=now)


def _find_owner(platform: Platform, person: str) -> StaffRow:
    with platform.database.reading() as tx:
        return find_staff(tx, person)


def check_scopes(scopes: Collection[str], allowed: Collection[str]) -> None:
    """Reject unknown scopes."""
    for scope in scopes:
        if scope not in allowed:
            raise InvalidInput(f"{format_value(scope)} is not a scope. Scopes are {format_list(sorted(allowed))}.")
