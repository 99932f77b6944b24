"""Sessions of staff."""

from datetime import datetime, timedelta
from typing import Final, Literal

from sqlalchemy import Connection

from dissensus.errors import NotAllowed
from dissensus.store import members, staff
from dissensus.store.core.orm import hash_key, new_key
from dissensus.store.identity import api_tokens
from dissensus.store.identity import sessions as store
from dissensus.store.identity.passkeys import delete_expired_challenges
from dissensus.store.identity.second_factors import has_second_factor
from dissensus.store.identity.security_log import log_security_event
from dissensus.store.identity.sessions import StaffSession
from dissensus.store.staff import StaffRow
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.staff import find_staff

SESSION_LIFETIME: Final = timedelta(hours=12)
"""Validity of a session that is in use."""
PENDING_LIFETIME: Final = timedelta(minutes=10)
"""Time for entering the code of the second factor."""
USE_RESOLUTION: Final = timedelta(minutes=1)
"""Resolution of the time of the last use, to avoid a write per request."""
CONFIRMATION_LIFETIME: Final = timedelta(minutes=10)
"""Time after proving their identity in which a person may change credentials, members and roles."""
SignInMethod = Literal["link", "password", "provider", "invitation", "second factor", "passkey"]
COMPLETE_METHODS: Final[frozenset[SignInMethod]] = frozenset({"second factor", "passkey"})
"""Methods that prove two factors."""


def open_session(tx: Connection, staff_id: str, method: SignInMethod, *, network: str | None, now: datetime) -> str:
    """Return the key of a new session; it is pending if the person has a second factor that was not verified."""
    if staff.is_disabled(tx, staff_id):
        raise NotAllowed("This account is disabled. Ask the operator of the site.")
    session = new_key()
    pending = method not in COMPLETE_METHODS and has_second_factor(tx, staff_id)
    expires_at = now + (PENDING_LIFETIME if pending else SESSION_LIFETIME)
    store.add_staff_session(tx, staff_id, session, pending=pending, now=now, expires_at=expires_at)
    if not pending:
        log_security_event(tx, "signed_in", staff_id, now, {"by": method}, network=network)
    return session


def staff_of_session(platform: Platform, session: str, *, now: datetime) -> StaffRow | None:
    """Return the person of a session and record its use; None if it has expired or was idle for too long."""
    with platform.database.reading() as tx:
        signed_in = store.find_signed_in_staff(tx, session, now=now, idle=platform.session_idle)
    if signed_in is None:
        return None
    if now - signed_in.seen_at >= USE_RESOLUTION:
        with platform.database.writing() as tx:
            store.record_session_use(tx, session, now=now)
    return signed_in.staff


def is_recently_confirmed(platform: Platform, session: str, *, now: datetime) -> bool:
    """Return whether the person of a session signed in, or confirmed their identity, in the last minutes."""
    with platform.database.reading() as tx:
        signed_in = store.find_signed_in_staff(tx, session, now=now, idle=platform.session_idle)
    confirmed_at = None if signed_in is None else signed_in.confirmed_at
    return confirmed_at is not None and now - confirmed_at < CONFIRMATION_LIFETIME


def list_sessions(platform: Platform, staff: StaffRow, *, now: datetime) -> tuple[StaffSession, ...]:
    """Return the sessions of a person, latest first."""
    with platform.database.reading() as tx:
        return store.list_sessions(tx, staff.id, now=now, idle=platform.session_idle)


def hash_session_key(session: str) -> str:
    """Return the id under which a session is listed."""
    return hash_key(session)


def sign_out(platform: Platform, session: str) -> None:
    """End a session."""
    with platform.database.writing() as tx:
        store.end_session_by_key(tx, session)


def sign_out_everywhere(platform: Platform, name: str, *, now: datetime) -> int:
    """End all sessions of a person, revoke their links and return the number of sessions."""
    with platform.database.writing() as tx:
        staff_id = find_staff(tx, name).id
        n_sessions = store.end_all_sessions(tx, staff_id)
        log_security_event(tx, "session_ended", staff_id, now, {"sessions": n_sessions})
        return n_sessions


def end_session(platform: Platform, staff: StaffRow, session_id: str, *, now: datetime) -> None:
    """End a session of a person."""
    with platform.database.writing() as tx:
        if store.end_session(tx, staff.id, session_id):
            log_security_event(tx, "session_ended", staff.id, now, {"sessions": 1})


def delete_expired_keys(tx: Connection, *, now: datetime) -> None:
    """Delete expired sign-in links, sessions, challenges, invitations and API tokens."""
    store.delete_expired_sessions(tx, now=now)
    delete_expired_challenges(tx, now=now)
    members.delete_expired_invitations(tx, now=now)
    api_tokens.delete_expired_tokens(tx, now=now)
