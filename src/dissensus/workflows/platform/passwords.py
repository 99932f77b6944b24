"""Passwords: Argon2id hashes, strength, and sign-in."""

import unicodedata
from collections.abc import Collection
from datetime import datetime
from typing import Final, NamedTuple

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import VerifyMismatchError

from dissensus.errors import InvalidInput, NotAllowed
from dissensus.store import staff as store
from dissensus.store.identity import sessions
from dissensus.store.identity.security_log import log_security_event
from dissensus.store.staff import StaffRow
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.sessions import delete_expired_keys, open_session
from dissensus.workflows.platform.sign_in_limits import SignInTraces, count_attempt, record_success
from dissensus.workflows.platform.staff import find_staff

MIN_LENGTH: Final = 12
MAX_LENGTH: Final = 1_000
SITE_NAME: Final = "dissensus"
MIN_STRENGTH: Final = 3
"""Lowest accepted score of zxcvbn: more than 10^8 guesses."""
MAX_STRENGTH_LENGTH: Final = 72
"""Number of characters whose strength is estimated; the estimate takes long for more."""


class HashCost(NamedTuple):
    """Cost of hashing a password with Argon2id."""

    passes: int
    memory_kib: int

    @classmethod
    def of_hash(cls, password_hash: str) -> "HashCost":
        """Return the cost of a stored hash."""
        parameters = extract_parameters(password_hash)
        return cls(parameters.time_cost, parameters.memory_cost)


def make_hasher(*, passes: int, memory_mib: int) -> PasswordHasher:
    """Return an Argon2id hasher; one thread each, since many may sign in at once."""
    return PasswordHasher(time_cost=passes, memory_cost=1024 * memory_mib, parallelism=1)


def sign_in_with_password(
    platform: Platform,
    hasher: PasswordHasher,
    name: str,
    password: str,
    *,
    traces: SignInTraces,
    network: str | None,
    now: datetime,
) -> str:
    """Return the key of a new session for a correct password."""
    count_attempt(platform, traces, now)
    with platform.database.reading() as tx:
        staff = store.find_staff_by_name(tx, name.strip())
        password_hash = None if staff is None else store.find_password_hash(tx, staff.id)
        costs = {HashCost.of_hash(stored) for stored in store.list_password_hashes(tx)}
    password = _normalise_password(password)
    matches = _verify_at_equal_cost(hasher, password_hash, password, costs)
    if not matches or staff is None or password_hash is None:
        with platform.database.writing() as tx:
            staff_id = None if staff is None else staff.id
            log_security_event(tx, "sign_in_failed", staff_id, now, {"by": "password"}, network=network)
        raise NotAllowed("The name or the password is wrong.")
    with platform.database.writing() as tx:
        if hasher.check_needs_rehash(password_hash):
            store.set_password_hash(tx, staff.id, hasher.hash(password))
        record_success(tx, traces)
        delete_expired_keys(tx, now=now)
        return open_session(tx, staff.id, "password", network=network, now=now)


def _verify_at_equal_cost(
    hasher: PasswordHasher, password_hash: str | None, password: str, costs: Collection[HashCost]
) -> bool:
    """Verify a password with the same work for all names, so that the response time does not reveal which exist.

    After a change of the cost, hashes with several costs are stored. Each attempt does the work of all of them, one of
    which is the comparison.
    """
    current_cost = HashCost(hasher.time_cost, hasher.memory_cost)
    own_cost = current_cost if password_hash is None else HashCost.of_hash(password_hash)
    for passes, memory_kib in sorted({current_cost, *costs} - {own_cost}):
        make_hasher(passes=passes, memory_mib=memory_kib // 1024).hash(password)
    if password_hash is None:
        hasher.hash(password)
        return False
    return _verify_password(hasher, password_hash, password)


def _verify_password(hasher: PasswordHasher, password_hash: str, password: str) -> bool:
    try:
        return hasher.verify(password_hash, password)
    except VerifyMismatchError:
        return False


def confirm_password(
    platform: Platform,
    hasher: PasswordHasher,
    staff: StaffRow,
    password: str,
    *,
    session: str,
    traces: SignInTraces,
    now: datetime,
) -> None:
    """Verify the current password of a signed-in person, and record that they proved their identity."""
    with platform.database.reading() as tx:
        password_hash = store.find_password_hash(tx, staff.id)
    if password_hash is None:
        raise NotAllowed("You have no password. Sign in again instead.")
    count_attempt(platform, traces, now)
    if not _verify_password(hasher, password_hash, _normalise_password(password)):
        raise NotAllowed("The current password is wrong.")
    with platform.database.writing() as tx:
        record_success(tx, traces)
        sessions.record_session_confirmation(tx, session, now=now)
        log_security_event(tx, "identity_confirmed", staff.id, now, {"by": "password"})


def change_password(
    platform: Platform, hasher: PasswordHasher, staff: StaffRow, password: str, *, session: str, now: datetime
) -> None:
    """Set a person's password and end all their other sessions."""
    password_hash = hash_password(hasher, password, staff.name)
    with platform.database.writing() as tx:
        store.set_password_hash(tx, staff.id, password_hash)
        sessions.end_other_sessions(tx, staff.id, session)
        log_security_event(tx, "password_changed", staff.id, now, {"by": "themselves"})


def set_password_for(platform: Platform, hasher: PasswordHasher, name: str, password: str, *, now: datetime) -> int:
    """Set a person's password for the operator and return the number of ended sessions."""
    password_hash = hash_password(hasher, password, name.strip())
    with platform.database.writing() as tx:
        staff = find_staff(tx, name)
        store.set_password_hash(tx, staff.id, password_hash)
        log_security_event(tx, "password_changed", staff.id, now, {"by": "the operator"})
        return sessions.end_all_sessions(tx, staff.id)


def has_password(platform: Platform, staff: StaffRow) -> bool:
    """Return whether a person has a password."""
    with platform.database.reading() as tx:
        return store.find_password_hash(tx, staff.id) is not None


def hash_password(hasher: PasswordHasher, password: str, name: str) -> str:
    """Return the hash of a new password of a person; refuse a weak one."""
    return hasher.hash(_validate_password(password, name))


def _validate_password(password: str, name: str) -> str:
    """Return the normalised password; refuse short, common and predictable ones (NIST SP 800-63B, 3.1.1.2)."""
    normalised = _normalise_password(password)
    if not MIN_LENGTH <= len(normalised) <= MAX_LENGTH:
        raise InvalidInput(
            f"The password has {len(normalised):,} characters; it needs {MIN_LENGTH} to {MAX_LENGTH:,}. Any "
            "characters are allowed; a few random words are easy to remember."
        )
    reason = _find_weakness(normalised, name)
    if reason:
        raise InvalidInput(f"This password is easy to guess. {reason} A few random words are easy to remember.")
    return normalised


def _find_weakness(password: str, name: str) -> str:
    """Return the reason why a password is easy to guess, empty if it is not."""
    # Loading the lists of common passwords takes longer than most commands.
    from zxcvbn import zxcvbn

    rest = password.casefold()
    for word in (name.casefold(), SITE_NAME):
        rest = rest.replace(word, "")
    if len(rest) < MIN_LENGTH:
        return f"Without your name and the name of the site, it has {len(rest):,} of {MIN_LENGTH} characters."
    estimate = zxcvbn(password[:MAX_STRENGTH_LENGTH], user_inputs=[name, SITE_NAME])
    if estimate["score"] >= MIN_STRENGTH:
        return ""
    return str(estimate["feedback"]["warning"] or "It consists of words and patterns that are often used.")


def _normalise_password(password: str) -> str:
    """Return the NFKC form of a password, truncated just beyond the maximal length."""
    return unicodedata.normalize("NFKC", password[: MAX_LENGTH + 1]).encode("utf-8", "replace").decode()
