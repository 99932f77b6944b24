"""Staff: who they are, and how they sign in and out."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from dissensus.errors import InvalidInput, NotAllowed, NotFound
from dissensus.schema.hints import format_list, format_value
from dissensus.store import staff as store
from dissensus.store.core.ids import hashed, new_key
from dissensus.store.staff import Session, Staff
from dissensus.workflows.platform.platform import Platform

LINK_LIFETIME: Final = timedelta(minutes=15)
"""How long a link can sign somebody in."""
SESSION_LIFETIME: Final = timedelta(hours=12)
"""How long somebody stays signed in."""
MAX_NAME_LENGTH: Final = 100
MAX_ADDRESS_LENGTH: Final = 254
DEFAULT_OWNER: Final = "owner"
"""Name of the only one where nobody was named."""


@dataclass(frozen=True, slots=True)
class SignInLink:
    """A way in, shown once."""

    key: str  # What its address ends with
    staff: Staff  # Whom it signs in
    new: bool  # Whether they were not known before


def create_sign_in_link(platform: Platform, name: str, *, now: datetime) -> SignInLink:
    """Return a link that signs somebody in, once and within 15 minutes; who is not known yet is then."""
    name = validate_name(name)
    with platform.database.writing() as tx:
        known = store.staff_named(tx, name)
        staff = known or store.add_staff(tx, name, now=now)
        store.forget_ended(tx, now=now)
        key = new_key()
        store.add_link(tx, staff.id, key, expires_at=now + LINK_LIFETIME)
    return SignInLink(key, staff, known is None)


def find_or_create_owner(platform: Platform, name: str | None, *, now: datetime) -> Staff:
    """Return who has that name, or without one the only one there is; where there is nobody, they are made."""
    name = None if name is None else validate_name(name)
    with platform.database.writing() as tx:
        known = store.all_staff(tx)
        if not known:
            return store.add_staff(tx, name or DEFAULT_OWNER, now=now)
        found = [one for one in known if name in (None, one.name)]
        if len(found) == 1:
            return found[0]
    names = format_list([one.name for one in known])
    if name is None:
        raise InvalidInput(f"There are several people: {names}. Name one.")
    raise InvalidInput(f"There is nobody called {format_value(name)}; there are {names}. Make one: dissensus sign-in NAME")


def validate_name(name: str) -> str:
    """Return a name as it is kept, and refuse what cannot be one."""
    name = name.strip()
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise InvalidInput(f"{format_value(name)} cannot be the name of somebody. Give 1 to {MAX_NAME_LENGTH} characters.")
    return name


def check_sign_in_link(platform: Platform, key: str, *, now: datetime) -> None:
    """Refuse a key that signs nobody in, and leave a good one as it is."""
    with platform.database.reading() as tx:
        if not store.is_link(tx, key, now=now):
            raise _stale_link()


def sign_in_with_link(platform: Platform, key: str, *, now: datetime) -> str:
    """Use a link up, and return the key of a session."""
    with platform.database.writing() as tx:
        staff_id = store.use_link(tx, key, now=now)
        if staff_id is None:
            raise _stale_link()
        session = new_key()
        store.sign_in(tx, staff_id, session, expires_at=now + SESSION_LIFETIME)
    return session


def _stale_link() -> NotAllowed:
    minutes = int(LINK_LIFETIME.total_seconds() // 60)
    return NotAllowed(
        f"This link was used, is older than {minutes} minutes, or is not whole. Get a new one: dissensus sign-in NAME"
    )


def staff_of_session(platform: Platform, session: str, *, now: datetime) -> Staff | None:
    """Return whose a session is, None where it has ended."""
    with platform.database.reading() as tx:
        return store.staff_signed_in(tx, session, now=now)


def sign_out(platform: Platform, session: str) -> None:
    """End a session."""
    with platform.database.writing() as tx:
        store.sign_out(tx, session)


def sign_out_everywhere(platform: Platform, name: str) -> int:
    """End all sessions of somebody and take back their links; return how many sessions there were."""
    with platform.database.writing() as tx:
        return store.sign_out_everywhere(tx, find_staff(tx, name).id)


def find_staff(tx: Connection, name: str) -> Staff:
    """Return somebody by their name, for whoever runs the platform and may know all."""
    staff = store.staff_named(tx, validate_name(name))
    if staff is None:
        known = format_list([one.name for one in store.all_staff(tx)])
        raise NotFound(f"There is nobody called {format_value(name)}; there are {known or 'none'}.")
    return staff


def list_sessions(platform: Platform, staff: Staff, *, now: datetime) -> tuple[Session, ...]:
    """Return the sessions of somebody, the latest first."""
    with platform.database.reading() as tx:
        return store.sessions_of(tx, staff.id, now=now)


def sign_in_by_provider(platform: Platform, *, subject: str, email: str | None, now: datetime) -> str:
    """Return the key of a session for whom a provider vouches, by the subject or at first by a verified address.

    Nobody is made by that: it signs in who is known.
    """
    with platform.database.writing() as tx:
        found = store.staff_with(tx, subject=subject)
        if found is None and email is not None:
            found = store.claim(tx, email.strip().casefold(), subject)
        if found is None:
            raise NotAllowed(
                "Your organisation knows you, and nobody here has your verified e-mail address. Ask whoever runs the "
                "platform: dissensus staff email NAME ADDRESS"
            )
        store.forget_ended(tx, now=now)
        session = new_key()
        store.sign_in(tx, found.id, session, expires_at=now + SESSION_LIFETIME)
    return session


def set_email(platform: Platform, name: str, address: str) -> None:
    """Keep the e-mail address by which a provider tells who somebody is, none where it is empty."""
    address = address.strip().casefold()
    before, _, after = address.partition("@")
    if address and not (before and after and address.isprintable() and len(address) <= MAX_ADDRESS_LENGTH):
        raise InvalidInput(f"{format_value(address)} is no e-mail address. Give one such as ada@example.org.")
    with platform.database.writing() as tx:
        store.set_email(tx, find_staff(tx, name).id, address or None)


def hash_session_key(session: str) -> str:
    """Return what a session is listed as, from its key."""
    return hashed(session)


def end_session(platform: Platform, staff: Staff, session_id: str) -> None:
    """End a session of somebody."""
    with platform.database.writing() as tx:
        store.end_session(tx, staff.id, session_id)
