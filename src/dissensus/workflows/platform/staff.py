"""Staff accounts: names and e-mail addresses."""

from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.hints import format_list, format_value
from dissensus.store import staff as store
from dissensus.store.identity.mails import add_mail
from dissensus.store.identity.security_log import log_security_event
from dissensus.store.staff import StaffRow
from dissensus.workflows.platform.mail_message import parse_address
from dissensus.workflows.platform.platform import Platform

MAX_NAME_LENGTH: Final = 100
MAX_ADDRESS_LENGTH: Final = 254
DEFAULT_OWNER: Final = "owner"
"""Name of the first person if none is given."""


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


def find_staff(tx: Connection, name: str) -> StaffRow:
    """Return a person by name, for the operator."""
    staff = store.find_staff_by_name(tx, validate_name(name))
    if staff is None:
        names = format_list([row.name for row in store.list_staff(tx)])
        raise NotFound(f"There is no person called {format_value(name)}; there are {names or 'none'}.")
    return staff


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
