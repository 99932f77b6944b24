"""Second factors of staff: one-time passwords by time (TOTP, RFC 6238), and recovery codes of these and of passkeys."""

import base64
import hmac
import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import pyotp
from sqlalchemy import Connection

from dissensus.encryption import SecretKeys
from dissensus.errors import Conflict, NotAllowed
from dissensus.store.identity import passkeys, sessions
from dissensus.store.identity import second_factors as store
from dissensus.store.identity.passkeys import PasskeyRow
from dissensus.store.identity.security_log import log_security_event
from dissensus.store.staff import StaffRow
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.sessions import open_session
from dissensus.workflows.platform.sign_in_limits import SignInTraces, count_attempt, record_success
from dissensus.workflows.platform.staff import find_staff

PURPOSE: Final = "totp"
PERIOD_S: Final = 30
CLOCK_SKEW_STEPS: Final = (-1, 0, 1)
"""Accepted time steps around the current one (RFC 6238, section 5.2)."""
N_RECOVERY_CODES: Final = 10
RECOVERY_CODE_BYTES: Final = 10
GROUP_LENGTH: Final = 4
SIGN_IN_EXPIRED: Final = "Signing in took too long. Begin again at /sign-in."


@dataclass(frozen=True, slots=True)
class SecondFactorView:
    """State of the second factors of a person."""

    confirmed_at: datetime | None  # None without codes of an app in use
    passkeys: tuple[PasskeyRow, ...]
    n_recovery_codes: int

    @property
    def is_in_use(self) -> bool:
        """True if signing in asks for a second factor."""
        return self.confirmed_at is not None or bool(self.passkeys)


@dataclass(frozen=True, slots=True)
class TotpEnrolment:
    """Secret of a second factor that waits for its first code."""

    secret: str  # In base32, as people type it into an app
    uri: str  # As apps read it from a QR code


def load_second_factor(platform: Platform, staff: StaffRow) -> SecondFactorView:
    """Return the state of the second factors of a person."""
    with platform.database.reading() as tx:
        totp = store.find_totp(tx, staff.id)
        confirmed_at = None if totp is None else totp.confirmed_at
        n_recovery_codes = store.count_recovery_codes(tx, staff.id)
        return SecondFactorView(confirmed_at, passkeys.list_passkeys(tx, staff.id), n_recovery_codes)


def has_second_factor(platform: Platform, staff_id: str) -> bool:
    """Return whether a person has a second factor in use."""
    with platform.database.reading() as tx:
        return store.has_second_factor(tx, staff_id)


def begin_enrolment(platform: Platform, keys: SecretKeys, staff: StaffRow) -> None:
    """Create a new secret, which is not in use until its first code was entered."""
    secret = base64.b64encode(keys.encrypt(pyotp.random_base32().encode(), PURPOSE, staff.id)).decode()
    with platform.database.writing() as tx:
        totp = store.find_totp(tx, staff.id)
        if totp is not None and totp.confirmed_at is not None:
            raise _app_in_use()
        store.replace_totp(tx, staff.id, secret)


def load_enrolment(platform: Platform, keys: SecretKeys, staff: StaffRow, *, issuer: str) -> TotpEnrolment | None:
    """Return the secret that waits for its first code, or None."""
    with platform.database.reading() as tx:
        totp = store.find_totp(tx, staff.id)
    if totp is None or totp.confirmed_at is not None:
        return None
    secret = _decrypt(keys, staff.id, totp.secret)
    return TotpEnrolment(secret, pyotp.TOTP(secret).provisioning_uri(name=staff.name, issuer_name=issuer))


def confirm_enrolment(
    platform: Platform, keys: SecretKeys, staff: StaffRow, code: str, *, session: str, now: datetime
) -> tuple[str, ...]:
    """Use the secret from now on if the code is right, end all other sessions, and return new recovery codes."""
    with platform.database.writing() as tx:
        if not _use_totp(tx, keys, staff.id, code, now=now):
            raise NotAllowed(
                "The code is wrong. Enter the current code of the app, and check that the clock of its device is right."
            )
        if not store.confirm_totp(tx, staff.id, now=now):
            raise _app_in_use()
        sessions.end_other_sessions(tx, staff.id, session)
        log_security_event(tx, "second_factor_added", staff.id, now, {})
        return add_recovery_codes(tx, staff.id)


def _app_in_use() -> Conflict:
    return Conflict("You use codes of an app. Remove the app first.")


def add_recovery_codes(tx: Connection, staff_id: str) -> tuple[str, ...]:
    """Create recovery codes for a person who has none, and return them; keep those of others."""
    if store.count_recovery_codes(tx, staff_id):
        return ()
    codes = _new_recovery_codes()
    store.replace_recovery_codes(tx, staff_id, [_normalise_code(code) for code in codes])
    return codes


def renew_recovery_codes(platform: Platform, staff: StaffRow, *, now: datetime) -> tuple[str, ...]:
    """Replace the recovery codes of a person, and return the new ones."""
    codes = _new_recovery_codes()
    with platform.database.writing() as tx:
        if not store.has_second_factor(tx, staff.id):
            raise Conflict("You have no second factor. Set one up first.")
        store.replace_recovery_codes(tx, staff.id, [_normalise_code(recovery_code) for recovery_code in codes])
        log_security_event(tx, "recovery_codes_created", staff.id, now, {})
    return codes


def remove_totp(platform: Platform, staff: StaffRow, *, session: str, now: datetime) -> None:
    """Remove the codes of an app (TOTP) of a person, and end all their other sessions; passkeys stay."""
    with platform.database.writing() as tx:
        if store.delete_totp(tx, staff.id):
            log_security_event(tx, "second_factor_removed", staff.id, now, {"by": "themselves"})
        delete_idle_recovery_codes(tx, staff.id)
        sessions.end_other_sessions(tx, staff.id, session)


def delete_idle_recovery_codes(tx: Connection, staff_id: str) -> None:
    """Delete the recovery codes of a person who has no second factor any more."""
    if not store.has_second_factor(tx, staff_id):
        store.delete_recovery_codes(tx, staff_id)


def remove_second_factors_for(platform: Platform, name: str, *, now: datetime) -> bool:
    """Remove all second factors of a person who lost them, for the operator; return whether there were any."""
    with platform.database.writing() as tx:
        staff = find_staff(tx, name)
        sessions.end_all_sessions(tx, staff.id)
        removed = store.delete_second_factors(tx, staff.id)
        if removed:
            log_security_event(tx, "second_factor_removed", staff.id, now, {"by": "the operator"})
        return removed


def find_pending_staff(platform: Platform, session: str, *, now: datetime) -> StaffRow | None:
    """Return the person of a session whose second factor is missing, or None."""
    with platform.database.reading() as tx:
        return sessions.find_pending_staff(tx, session, now=now)


def get_pending_staff(platform: Platform, session: str, *, now: datetime) -> StaffRow:
    """Return the person of a session whose second factor is missing; NotAllowed if it has expired."""
    staff = find_pending_staff(platform, session, now=now)
    if staff is None:
        raise NotAllowed(SIGN_IN_EXPIRED)
    return staff


def finish_sign_in(
    platform: Platform,
    keys: SecretKeys,
    session: str,
    code: str,
    *,
    traces: SignInTraces,
    network: str | None,
    now: datetime,
) -> str:
    """Replace a pending session by a new one if the code of the second factor is right, and return its key."""
    staff = get_pending_staff(platform, session, now=now)
    count_attempt(platform, traces, now)
    try:
        with platform.database.writing() as tx:
            _check_code(tx, keys, staff.id, code, network=network, now=now)
            record_success(tx, traces)
            sessions.end_session_by_key(tx, session)
            return open_session(tx, staff.id, "second factor", network=network, now=now)
    except NotAllowed:
        with platform.database.writing() as tx:
            log_security_event(tx, "second_factor_failed", staff.id, now, {}, network=network)
        raise


def confirm_code(
    platform: Platform,
    keys: SecretKeys,
    staff: StaffRow,
    code: str,
    *,
    session: str,
    traces: SignInTraces,
    now: datetime,
) -> None:
    """Check a code of a signed-in person, and record that they proved their identity."""
    count_attempt(platform, traces, now)
    with platform.database.writing() as tx:
        _check_code(tx, keys, staff.id, code, network=None, now=now)
        record_success(tx, traces)
        sessions.record_session_confirmation(tx, session, now=now)
        log_security_event(tx, "identity_confirmed", staff.id, now, {"by": "second factor"})


def _check_code(
    tx: Connection, keys: SecretKeys, staff_id: str, code: str, *, network: str | None, now: datetime
) -> None:
    if store.has_second_factor(tx, staff_id) and store.use_recovery_code(tx, staff_id, _normalise_code(code)):
        left = {"left": store.count_recovery_codes(tx, staff_id)}
        log_security_event(tx, "recovery_code_used", staff_id, now, left, network=network)
        return
    totp = store.find_totp(tx, staff_id)
    # A secret that waits for its first code is not yet a second factor.
    is_confirmed = totp is not None and totp.confirmed_at is not None
    if not (is_confirmed and _use_totp(tx, keys, staff_id, code, now=now)):
        raise NotAllowed("The code is wrong, or was used before. Enter the next code of the app, or a recovery code.")


def _use_totp(tx: Connection, keys: SecretKeys, staff_id: str, code: str, *, now: datetime) -> bool:
    """Return whether a code is right and was not used before."""
    totp = store.find_totp(tx, staff_id)
    if totp is None:
        return False
    generator = pyotp.TOTP(_decrypt(keys, staff_id, totp.secret))
    entered = "".join(code.split()).encode("utf-8", "replace")
    current_step = int(now.timestamp()) // PERIOD_S
    matches = [
        current_step + skew
        for skew in CLOCK_SKEW_STEPS
        if hmac.compare_digest(generator.generate_otp(current_step + skew).encode(), entered)
    ]
    return bool(matches) and store.use_totp_step(tx, staff_id, matches[-1])


def _decrypt(keys: SecretKeys, staff_id: str, secret: str) -> str:
    with suppress(NotAllowed):
        return keys.decrypt(base64.b64decode(secret), PURPOSE, staff_id).decode()
    raise NotAllowed(
        "Codes of this account cannot be checked, since the secret key of the site was replaced. Enter a recovery "
        "code, or ask the operator: dissensus staff remove-second-factor NAME"
    )


def _new_recovery_codes() -> tuple[str, ...]:
    return tuple(_new_recovery_code() for _ in range(N_RECOVERY_CODES))


def _new_recovery_code() -> str:
    """Return a recovery code of 80 bits in groups, such as ``k3fa-…``."""
    text = base64.b32encode(secrets.token_bytes(RECOVERY_CODE_BYTES)).decode().lower()
    return "-".join(text[i : i + GROUP_LENGTH] for i in range(0, len(text), GROUP_LENGTH))


def _normalise_code(code: str) -> str:
    return "".join(sign for sign in code.lower() if sign.isalnum())
