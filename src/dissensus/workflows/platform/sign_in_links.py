"""Single-use sign-in links, shown to the operator or mailed."""

from dataclasses import dataclass
from datetime import datetime

from dissensus.encryption import SecretKeys
from dissensus.errors import NotAllowed
from dissensus.store import staff as people
from dissensus.store.core.orm import new_key
from dissensus.store.identity import sign_in_links as store
from dissensus.store.identity.mails import add_mail
from dissensus.store.identity.security_log import log_security_event
from dissensus.store.staff import StaffRow
from dissensus.workflows.platform.mail_delivery import SIGN_IN_LINK_LIFETIME, encrypt_link_key
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.sessions import delete_expired_keys, open_session
from dissensus.workflows.platform.sign_in_limits import SignInTraces, count_attempt
from dissensus.workflows.platform.staff import validate_name


@dataclass(frozen=True, slots=True)
class SignInLink:
    """A single-use sign-in link."""

    key: str
    staff: StaffRow
    is_new: bool  # True if the person was registered just now


def create_sign_in_link(platform: Platform, name: str, *, now: datetime) -> SignInLink:
    """Return a single-use sign-in link, valid for 15 minutes; registers unknown people."""
    name = validate_name(name)
    with platform.database.writing() as tx:
        existing = people.find_staff_by_name(tx, name)
        staff = existing or people.add_staff(tx, name, now=now)
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
        staff = people.find_staff_by_email(tx, address.strip().casefold())
        if staff is None or people.is_disabled(tx, staff.id):
            return
        delete_expired_keys(tx, now=now)
        key = new_key()
        store.add_sign_in_link(tx, staff.id, key, expires_at=now + SIGN_IN_LINK_LIFETIME)
        log_security_event(tx, "sign_in_link_mailed", staff.id, now, {}, network=network)
        add_mail(tx, staff.id, "sign_in_link", now, encrypt_link_key(keys, key))


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


def _stale_link() -> NotAllowed:
    minutes = int(SIGN_IN_LINK_LIFETIME.total_seconds() // 60)
    return NotAllowed(
        f"This link was used, is older than {minutes} minutes, or is incomplete. Get a new one: dissensus sign-in NAME"
    )
