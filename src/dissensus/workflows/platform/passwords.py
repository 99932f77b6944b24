"""Passwords: Argon2id hashes, and backoff after failed sign-ins."""

import unicodedata
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from dissensus.errors import InvalidInput, NotAllowed
from dissensus.store import api_tokens
from dissensus.store import staff as store
from dissensus.store.core import login_failures
from dissensus.store.core.ids import new_key
from dissensus.store.staff import StaffRow
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.staff import SESSION_LIFETIME, find_staff

MIN_LENGTH: Final = 12
MAX_LENGTH: Final = 1_000
MAX_WAIT: Final = timedelta(minutes=15)
FAILURE_RETENTION: Final = timedelta(days=1)
"""How long failures count."""
LoginTraces = Mapping[str, int]
"""Who tries, as hashes that tell nobody, and how often each may fail before it waits."""


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
        known = None if staff is None else store.find_password_hash(tx, staff.id)
    password = _normalise_password(password)
    if not _verify_password(hasher, known, password) or staff is None or known is None:
        raise NotAllowed("The name or the password is not right.")
    with platform.database.writing() as tx:
        if hasher.check_needs_rehash(known):
            store.set_password_hash(tx, staff.id, hasher.hash(password))
        login_failures.clear_failures(tx, tuple(traces))
        api_tokens.delete_expired(tx, now=now)
        session = new_key()
        store.add_staff_session(tx, staff.id, session, expires_at=now + SESSION_LIFETIME)
    return session


def _verify_password(hasher: PasswordHasher, known: str | None, password: str) -> bool:
    if known is None:
        # The work of a comparison, so that the time does not tell who is known.
        hasher.hash(password)
        return False
    try:
        return hasher.verify(known, password)
    except VerifyMismatchError:
        return False


def _count_attempt(platform: Platform, traces: LoginTraces, now: datetime) -> None:
    """Count an attempt as failed before checking it, so that parallel ones count too; refuse it during the backoff."""
    with platform.database.writing() as tx:
        login_failures.delete_failures_before(tx, now - FAILURE_RETENTION)
        before = login_failures.load_failures(tx, tuple(traces))
        for trace, free in sorted(traces.items()):
            failed = login_failures.count_login_failure(tx, trace, now=now) - 1
            n, last_at = before.get(trace, (0, now))
            # Where another one came in between, that was just now.
            until = (last_at if failed == n else now) + _backoff(failed - free)
            if now < until:
                seconds = -int((now - until).total_seconds() // 1)
                raise NotAllowed(f"Too many tries failed. Try again in {seconds:,} second{'s' * (seconds > 1)}.")


def _backoff(beyond: int) -> timedelta:
    """Return the exponential backoff after failures beyond the free ones."""
    return min(timedelta(seconds=2 ** min(beyond, 20)), MAX_WAIT) if beyond >= 0 else timedelta()


def confirm_password(
    platform: Platform, hasher: PasswordHasher, staff: StaffRow, password: str, *, traces: LoginTraces, now: datetime
) -> None:
    """Verify the current password of a signed-in person; passes if none is set."""
    with platform.database.reading() as tx:
        known = store.find_password_hash(tx, staff.id)
    if known is None:
        return
    _count_attempt(platform, traces, now)
    if not _verify_password(hasher, known, _normalise_password(password)):
        raise NotAllowed("The password that you have now is not right.")
    with platform.database.writing() as tx:
        login_failures.clear_failures(tx, tuple(traces))


def change_password(
    platform: Platform, hasher: PasswordHasher, staff: StaffRow, password: str, *, session: str
) -> None:
    """Set a person's password and end all their other sessions."""
    kept = hasher.hash(_validate_password(password))
    with platform.database.writing() as tx:
        store.set_password_hash(tx, staff.id, kept)
        store.end_other_sessions(tx, staff.id, session)


def set_password_for(platform: Platform, hasher: PasswordHasher, name: str, password: str) -> int:
    """Set a person's password for the operator and return how many sessions that ended."""
    kept = hasher.hash(_validate_password(password))
    with platform.database.writing() as tx:
        staff = find_staff(tx, name)
        store.set_password_hash(tx, staff.id, kept)
        return store.end_all_sessions(tx, staff.id)


def has_password(platform: Platform, staff: StaffRow) -> bool:
    """Return whether a person has a password."""
    with platform.database.reading() as tx:
        return store.find_password_hash(tx, staff.id) is not None


def _validate_password(password: str) -> str:
    plain = _normalise_password(password)
    if not MIN_LENGTH <= len(plain) <= MAX_LENGTH:
        raise InvalidInput(
            f"The password has {len(plain):,} characters; it needs {MIN_LENGTH} to {MAX_LENGTH:,}. Any will do: a few "
            "words that nobody connects with you are easy to keep."
        )
    return plain


def _normalise_password(password: str) -> str:
    """Return the NFKC form of a password, truncated just beyond the maximal length."""
    return unicodedata.normalize("NFKC", password[: MAX_LENGTH + 1]).encode("utf-8", "replace").decode()
