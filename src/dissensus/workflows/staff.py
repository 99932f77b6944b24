"""Owners: who they are, and how they sign in and out."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from dissensus.errors import InvalidInput, NotAllowed, NotFound
from dissensus.schema.hints import listed, shown
from dissensus.store import staff as store
from dissensus.store.ids import new_key
from dissensus.store.staff import Owner
from dissensus.workflows.platform import Platform

LINK: Final = timedelta(minutes=15)
"""How long a link can sign somebody in."""
SESSION: Final = timedelta(hours=12)
"""How long somebody stays signed in."""
LONGEST_NAME: Final = 100
FIRST: Final = "owner"
"""Name of an owner where nobody was named."""


@dataclass(frozen=True, slots=True)
class Link:
    """A way in, shown once.

    Parameters
    ----------
    key
        What its address ends with.
    owner
        Whom it signs in.
    new
        Whether they were not known before.
    """

    key: str
    owner: Owner
    new: bool


def link(platform: Platform, name: str, *, now: datetime) -> Link:
    """Return a link that signs an owner in, once and within 15 minutes; who is not known yet is then.

    Raises
    ------
    InvalidInput
        The name is empty, too long or not one line.
    """
    name = _checked(name)
    with platform.database.writing() as tx:
        known = store.owner_named(tx, name)
        owner = known or store.add_owner(tx, name, now=now)
        store.forget_ended(tx, now=now)
        key = new_key()
        store.add_link(tx, owner.id, key, expires_at=now + LINK)
    return Link(key, owner, known is None)


def owner_for(platform: Platform, name: str | None, *, now: datetime) -> Owner:
    """Return the owner of that name, or without one the only owner there is; where there is none, one is made.

    Raises
    ------
    InvalidInput
        Nobody was named, and there are several; or nobody has that name while others are known.
    """
    name = None if name is None else _checked(name)
    with platform.database.writing() as tx:
        known = store.owners(tx)
        if not known:
            return store.add_owner(tx, name or FIRST, now=now)
        found = [owner for owner in known if name in (None, owner.name)]
        if len(found) == 1:
            return found[0]
    names = listed([owner.name for owner in known])
    if name is None:
        raise InvalidInput(f"There are several owners: {names}. Name one.")
    raise InvalidInput(f"There is no owner {shown(name)}; there are {names}. Make one: dissensus sign-in NAME")


def _checked(name: str) -> str:
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"{shown(name)} cannot be the name of an owner. Give 1 to {LONGEST_NAME} characters.")
    return name


def check_link(platform: Platform, key: str, *, now: datetime) -> None:
    """Refuse a key that signs nobody in, and leave a good one as it is."""
    with platform.database.reading() as tx:
        if not store.is_link(tx, key, now=now):
            raise _stale()


def sign_in(platform: Platform, key: str, *, now: datetime) -> str:
    """Use a link up, and return the key of a session.

    Raises
    ------
    NotAllowed
        It was used, is too old, or none of ours.
    """
    with platform.database.writing() as tx:
        staff_id = store.use_link(tx, key, now=now)
        if staff_id is None:
            raise _stale()
        session = new_key()
        store.sign_in(tx, staff_id, session, expires_at=now + SESSION)
    return session


def _stale() -> NotAllowed:
    minutes = int(LINK.total_seconds() // 60)
    return NotAllowed(
        f"This link was used, is older than {minutes} minutes, or is not whole. Get a new one: dissensus sign-in NAME"
    )


def signed_in(platform: Platform, session: str, *, now: datetime) -> Owner | None:
    """Return the owner of a session, None where it has ended."""
    with platform.database.reading() as tx:
        return store.owner_signed_in(tx, session, now=now)


def sign_out(platform: Platform, session: str) -> None:
    """End a session."""
    with platform.database.writing() as tx:
        store.sign_out(tx, session)


def sign_out_everywhere(platform: Platform, name: str) -> int:
    """End all sessions of an owner and take back their links; return how many sessions there were."""
    with platform.database.writing() as tx:
        owner = store.owner_named(tx, _checked(name))
        if owner is None:
            known = listed([one.name for one in store.owners(tx)])
            raise NotFound(f"There is no owner {shown(name)}; there are {known or 'none'}.")
        return store.sign_out_everywhere(tx, owner.id)
