"""Passwords: Argon2id hashes, and backoff after failed sign-ins."""

import unicodedata
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from dissensus.errors import InvalidInput, NotAllowed
from dissensus.store import staff as store
from dissensus.store.core import login_failures
from dissensus.store.core.orm import new_key
from dissensus.store.staff import StaffRow
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.staff import SESSION_LIFETIME, delete_expired_keys, find_staff

MIN_LENGTH: Final = 12
MAX_LENGTH: Final = 1_000
MAX_WAIT: Final = timedelta(minutes=15)
FAILURE_RETENTION: Final = timedelta(days=1)
"""Time for which failures count."""
LoginTraces = Mapping[str, int]
"""Fingerprints of the name and the address of an attempt, with the failures allowed before the backoff."""


def make_hasher(*, passes: int, memory_mib: int) -> PasswordHasher:
    """Return an Argon2id hasher; one thread each, since many may sign in at once."""
    return PasswordHasher(time_cost=passes, memory_cost=1024 * memory_mib, parallelism=1)


def sign_in_with_password(
    platform: Platform, hasher: PasswordHasher, name: str, password: str, *, traces: LoginTraces, now: datetime
) -> str:
    """Return the key of a new session for a correct password."""
    _count_attempt(platform, traces, now)
    with platform.database.reading() as tx:
        staff = store.find_staff_by_name(tx, name.strip())
        password_hash = None if staff is None else store.find_password_hash(tx, staff.id)
    password = _normalise_password(password)
    if not _verify_password(hasher, password_hash, password) or staff is None or password_hash is None:
        raise NotAllowed("The name or the password is wrong.")
    with platform.database.writing() as tx:
        if hasher.check_needs_rehash(password_hash):
            store.set_password_hash(tx, staff.id, hasher.hash(password))
        login_failures.clear_failures(tx, tuple(traces))
        delete_expired_keys(tx, now=now)
        session = new_key()
        store.add_staff_session(tx, staff.id, session, expires_at=now + SESSION_LIFETIME)
    return session


def _verify_password(hasher: PasswordHasher, password_hash: str | None, password: str) -> bool:
    if password_hash is None:
        # The work of a comparison, so that the response time does not reveal which names exist.
        hasher.hash(password)
        return False
    try:
        return hasher.verify(password_hash, password)
    except VerifyMismatchError:
        return False


def _count_attempt(platform: Platform, traces: LoginTraces, now: datetime) -> None:
    """Count an attempt as failed before checking it, so that parallel ones count too; refuse it during the backoff."""
    with platform.database.writing() as tx:
        login_failures.delete_failures_before(tx, now - FAILURE_RETENTION)
        before = login_failures.load_failures(tx, tuple(traces))
        for trace, n_free in sorted(traces.items()):
            n_failures = login_failures.count_login_failure(tx, trace, now=now) - 1
            n_before, last_at = before.get(trace, (0, now))
            # A parallel attempt that was counted in between happened just now.
            until = (last_at if n_failures == n_before else now) + _backoff(n_failures - n_free)
            if now < until:
                seconds = -int((now - until).total_seconds() // 1)
                raise NotAllowed(f"Too many tries failed. Try again in {seconds:,} second{'s' * (seconds > 1)}.")


def _backoff(n_beyond: int) -> timedelta:
    """Return the exponential backoff after failures beyond the free ones."""
    return min(timedelta(seconds=2 ** min(n_beyond, 20)), MAX_WAIT) if n_beyond >= 0 else timedelta()


def confirm_password(
    platform: Platform, hasher: PasswordHasher, staff: StaffRow, password: str, *, traces: LoginTraces, now: datetime
) -> None:
    """Verify the current password of a signed-in person; passes if none is set."""
    with platform.database.reading() as tx:
        password_hash = store.find_password_hash(tx, staff.id)
    if password_hash is None:
        return
    _count_attempt(platform, traces, now)
    if not _verify_password(hasher, password_hash, _normalise_password(password)):
        raise NotAllowed("The current password is wrong.")
    with platform.database.writing() as tx:
        login_failures.clear_failures(tx, tuple(traces))


def change_password(
    platform: Platform, hasher: PasswordHasher, staff: StaffRow, password: str, *, session: str
) -> None:
    """Set a person's password and end all their other sessions."""
    password_hash = hasher.hash(_validate_password(password))
    with platform.database.writing() as tx:
        store.set_password_hash(tx, staff.id, password_hash)
        store.end_other_sessions(tx, staff.id, session)


def set_password_for(platform: Platform, hasher: PasswordHasher, name: str, password: str) -> int:
    """Set a person's password for the operator and return the number of ended sessions."""
    password_hash = hasher.hash(_validate_password(password))
    with platform.database.writing() as tx:
        staff = find_staff(tx, name)
        store.set_password_hash(tx, staff.id, password_hash)
        return store.end_all_sessions(tx, staff.id)


def has_password(platform: Platform, staff: StaffRow) -> bool:
    """Return whether a person has a password."""
    with platform.database.reading() as tx:
        return store.find_password_hash(tx, staff.id) is not None


def _validate_password(password: str) -> str:
    normalised = _normalise_password(password)
    if not MIN_LENGTH <= len(normalised) <= MAX_LENGTH:
        raise InvalidInput(
            f"The password has {len(normalised):,} characters; it needs {MIN_LENGTH} to {MAX_LENGTH:,}. Any "
            "characters are allowed; a few random words are easy to remember."
        )
    return normalised


def _normalise_password(password: str) -> str:
    """Return the NFKC form of a password, truncated just beyond the maximal length."""
    return unicodedata.normalize("NFKC", password[: MAX_LENGTH + 1]).encode("utf-8", "replace").decode()
