"""Staff accounts, sign-in links and sessions."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from sqlalchemy import Connection

from dissensus.encryption import SecretKeys
from dissensus.errors import InvalidInput, NotAllowed, NotFound
from dissensus.schema.hints import format_list, format_value
from dissensus.store import members
from dissensus.store import staff as store
from dissensus.store.core.orm import hash_key, new_key
from dissensus.store.identity import api_tokens
from dissensus.store.identity.mails import add_mail
from dissensus.store.identity.passkeys import delete_expired_challenges
from dissensus.store.identity.second_factors import has_second_factor
from dissensus.store.identity.security_log import log_security_event
from dissensus.store.staff import StaffRow, StaffSession
from dissensus.workflows.platform.mail_delivery import SIGN_IN_LINK_LIFETIME, encrypt_link_key
from dissensus.workflows.platform.mail_message import parse_address
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.sign_in_limits import SignInTraces, count_attempt

SESSION_LIFETIME: Final = timedelta(hours=12)
"""Validity of a session that is in use."""
PENDING_LIFETIME: Final = timedelta(minutes=10)
"""Time for entering the code of the second factor."""
USE_RESOLUTION: Final = timedelta(minutes=1)
"""Resolution of the time of the last use, to avoid a write per request."""
CONFIRMATION_LIFETIME: Final = timedelta(minutes=10)
"""Time after proving their identity in which a person may change credentials, members and roles."""
MAX_NAME_LENGTH: Final = 100
MAX_ADDRESS_LENGTH: Final = 254
DEFAULT_OWNER: Final = "owner"
"""Name of the first person if none is given."""

SignInMethod = Literal["link", "password", "provider", "invitation", "second factor", "passkey"]
COMPLETE_METHODS: Final[frozenset[SignInMethod]] = frozenset({"second factor", "passkey"})
"""Methods that prove two factors."""


@dataclass(frozen=True, slots=True)
class SignInLink:
    """A single-use sign-in link."""

    key: str
    staff: StaffRow
    new: bool  # True if the person was registered just now


def create_sign_in_link(platform: Platform, name: str, *, now: datetime) -> SignInLink:
    """Return a single-use sign-in link, valid for 15 minutes; registers unknown people."""
    name = validate_name(name)
    with platform.database.writing() as tx:
        existing = store.find_staff_by_name(tx, name)
        staff = existing or store.add_staff(tx, name, now=now)
        delete_expired_keys(tx, now=now)
        key = new_key()
        store.add_sign_in_link(tx, staff.id, key, expires_at=now + SIGN_IN_LINK_LIFETIME)
        log_security_event(tx, "sign_in_link_created", staff.id, now, {"by": "the operator"})
    return SignInLink(key, staff, existing is None)


def mail_sign_in_link(
    platform: Platform, keys: SecretKeys, address: str, *, traces: SignInTraces, network: str | None, now: datetime
) -> None:
    """Mail a single-use sign-in link to the person with an address; nothing happens for an unknown one.

    Each request counts as a failed attempt, so that nobody is flooded with mails.
    """
    count_attempt(platform, traces, now)
    with platform.database.writing() as tx:
        staff = store.find_staff_by_email(tx, address.strip().casefold())
        if staff is None or store.is_disabled(tx, staff.id):
            return
        delete_expired_keys(tx, now=now)
        key = new_key()
        store.add_sign_in_link(tx, staff.id, key, expires_at=now + SIGN_IN_LINK_LIFETIME)
        log_security_event(tx, "sign_in_link_mailed", staff.id, now, {}, network=network)
        add_mail(tx, staff.id, "sign_in_link", now, encrypt_link_key(keys, key))


def find_or_create_owner(platform: Platform, name: str | None, *, now: datetime) -> StaffRow:
    """Return the named person, or without a name the only one; registers the first person."""
    name = None if name is None else validate_name(name)
    with platform.database.writing() as tx:
        staff = store.list_staff(tx)
        if not staff:
            return store.add_staff(tx, name or DEFAULT_OWNER, now=now)
        matches = [row for row in staff if name in (None, row.name)]
        if len(matches) == 1:
            return matches[0]
    names = format_list([row.name for row in staff])
    if name is None:
        raise InvalidInput(f"There are several people: {names}. Name one: --owner NAME")
    raise InvalidInput(
        f"There is no person called {format_value(name)}; there are {names}. Create one: dissensus sign-in NAME"
    )


def validate_name(name: str) -> str:
    """Return the normalised name and reject invalid ones."""
    name = name.strip()
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise InvalidInput(f"{format_value(name)} is not a valid name. Give 1 to {MAX_NAME_LENGTH} characters.")
    return name


def check_sign_in_link(platform: Platform, key: str, *, now: datetime) -> None:
    """Check a sign-in link without using it."""
    with platform.database.reading() as tx:
        if not store.is_sign_in_link_valid(tx, key, now=now):
            raise _stale_link()


def sign_in_with_link(platform: Platform, key: str, *, network: str | None, now: datetime) -> str:
    """Use a sign-in link and return the key of a new session."""
    with platform.database.writing() as tx:
        staff_id = store.use_sign_in_link(tx, key, now=now)
        if staff_id is None:
            raise _stale_link()
        return open_session(tx, staff_id, "link", network=network, now=now)


def open_session(tx: Connection, staff_id: str, method: SignInMethod, *, network: str | None, now: datetime) -> str:
    """Return the key of a new session; it is pending if the person has a second factor that was not verified."""
    if store.is_disabled(tx, staff_id):
        raise NotAllowed("This account is disabled. Ask the operator of the site.")
    session = new_key()
    pending = method not in COMPLETE_METHODS and has_second_factor(tx, staff_id)
    expires_at = now + (PENDING_LIFETIME if pending else SESSION_LIFETIME)
    store.add_staff_session(tx, staff_id, session, pending=pending, now=now, expires_at=expires_at)
    if not pending:
        log_security_event(tx, "signed_in", staff_id, now, {"by": method}, network=network)
    return session


def _stale_link() -> NotAllowed:
    minutes = int(SIGN_IN_LINK_LIFETIME.total_seconds() // 60)
    return NotAllowed(
        f"This link was used, is older than {minutes} minutes, or is incomplete. Get a new one: dissensus sign-in NAME"
    )


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


def delete_expired_keys(tx: Connection, *, now: datetime) -> None:
    """Delete expired sign-in links, sessions, challenges, invitations and API tokens."""
    store.delete_expired_sessions(tx, now=now)
    delete_expired_challenges(tx, now=now)
    members.delete_expired_invitations(tx, now=now)
    api_tokens.delete_expired_tokens(tx, now=now)


def find_staff(tx: Connection, name: str) -> StaffRow:
    """Return a person by name, for the operator."""
    staff = store.find_staff_by_name(tx, validate_name(name))
    if staff is None:
        names = format_list([row.name for row in store.list_staff(tx)])
        raise NotFound(f"There is no person called {format_value(name)}; there are {names or 'none'}.")
    return staff


def list_sessions(platform: Platform, staff: StaffRow, *, now: datetime) -> tuple[StaffSession, ...]:
    """Return the sessions of a person, latest first."""
    with platform.database.reading() as tx:
        return store.list_sessions(tx, staff.id, now=now, idle=platform.session_idle)


def sign_in_by_provider(
    platform: Platform, *, subject: str, email: str | None, network: str | None, now: datetime
) -> str:
    """Return the session key of a person authenticated by a provider, found by subject or first by verified e-mail.

    It signs in known people only and registers nobody.
    """
    with platform.database.writing() as tx:
        staff = store.find_staff_by_subject(tx, subject=subject)
        if staff is None and email is not None:
            staff = store.claim_subject(tx, email.strip().casefold(), subject)
        if staff is None:
            raise NotAllowed(
                "No account here has your verified e-mail address. Ask the operator: dissensus staff email NAME ADDRESS"
            )
        delete_expired_keys(tx, now=now)
        return open_session(tx, staff.id, "provider", network=network, now=now)


def set_email(platform: Platform, name: str, address: str, *, now: datetime) -> None:
    """Set the e-mail address that identifies a person to a provider and gets mails; empty removes it."""
    address = normalise_email(address) if address.strip() else ""
    with platform.database.writing() as tx:
        staff, by_operator = find_staff(tx, name), {"by": "the operator"}
        # The mail about the event goes to the earlier address, and another one to the new address.
        log_security_event(tx, "email_changed", staff.id, now, by_operator)
        store.set_email(tx, staff.id, address or None)
        add_mail(tx, staff.id, "email_changed", now, by_operator)


def normalise_email(text: str) -> str:
    """Return an e-mail address in small letters; refuse other texts."""
    address = text.strip().casefold()
    if not _is_email(address):
        raise InvalidInput(f"{format_value(address)} is not an e-mail address. Give one such as ada@example.org.")
    return address


def _is_email(address: str) -> bool:
    try:
        parse_address(address)
    except ValueError:
        return False
    return len(address) <= MAX_ADDRESS_LENGTH


def find_email(platform: Platform, staff: StaffRow) -> str | None:
    """Return the e-mail address of a person, or None."""
    with platform.database.reading() as tx:
        return store.find_email(tx, staff.id)


def hash_session_key(session: str) -> str:
    """Return the id under which a session is listed."""
    return hash_key(session)


def end_session(platform: Platform, staff: StaffRow, session_id: str, *, now: datetime) -> None:
    """End a session of a person."""
    with platform.database.writing() as tx:
        if store.end_session(tx, staff.id, session_id):
            log_security_event(tx, "session_ended", staff.id, now, {"sessions": 1})
