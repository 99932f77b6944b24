"""Passkeys of staff (WebAuthn Level 3), as second factor and as a sign-in of two factors."""

import json
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal

from sqlalchemy import Connection

from dissensus.errors import Conflict, NotAllowed
from dissensus.store.identity import passkeys as store
from dissensus.store.identity import sessions
from dissensus.store.identity.passkeys import PasskeyRow
from dissensus.store.identity.security_log import log_security_event
from dissensus.store.staff import StaffRow
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.second_factors import (
    add_recovery_codes,
    delete_idle_recovery_codes,
    get_pending_staff,
)
from dissensus.workflows.platform.sessions import delete_expired_keys, open_session
from dissensus.workflows.platform.sign_in_limits import SignInTraces, count_attempt, record_success
from dissensus.workflows.platform.staff import validate_name

if TYPE_CHECKING:
    from webauthn.authentication.verify_authentication_response import VerifiedAuthentication
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor
    from webauthn.registration.verify_registration_response import VerifiedRegistration

CHALLENGE_BYTES: Final = 32
CHALLENGE_LIFETIME: Final = timedelta(minutes=5)
"""Time in which the browser must answer; it covers a search for the authenticator."""
MAX_PASSKEYS: Final = 20
SITE_NAME: Final = "Dissensus"
Purpose = Literal["registration", "sign-in", "second factor", "confirmation"]
REFUSAL: Final = "The passkey was not accepted. Try again, or use another way to sign in."
"""One message for all reasons, which would otherwise tell strangers which passkeys exist."""


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """The site as authenticators know it (WebAuthn, section 4)."""

    id: str  # Host name
    origin: str  # Scheme, host and port of its pages


def begin_registration(
    platform: Platform, party: RelyingParty, staff: StaffRow, *, session: str, now: datetime
) -> dict[str, Any]:
    """Create a challenge and return the options with which the browser creates a passkey."""
    # Loading the library takes longer than most commands.
    from webauthn import generate_registration_options
    from webauthn.helpers.structs import (
        AuthenticatorSelectionCriteria,
        ResidentKeyRequirement,
        UserVerificationRequirement,
    )

    challenge = secrets.token_bytes(CHALLENGE_BYTES)
    with platform.database.writing() as tx:
        passkeys = store.list_passkeys(tx, staff.id)
        if len(passkeys) >= MAX_PASSKEYS:
            raise Conflict(f"You have {MAX_PASSKEYS} passkeys, and no more are allowed. Remove one first.")
        _store_challenge(tx, session, "registration", challenge, now=now)
    options = generate_registration_options(
        rp_id=party.id,
        rp_name=SITE_NAME,
        user_id=_user_handle(staff.id),
        user_name=staff.name,
        challenge=challenge,
        timeout=_timeout_ms(),
        exclude_credentials=_descriptors(passkeys),
        authenticator_selection=AuthenticatorSelectionCriteria(
            # A passkey that the authenticator lists signs in without a name; keys without storage still work.
            resident_key=ResidentKeyRequirement.PREFERRED,
            user_verification=UserVerificationRequirement.REQUIRED,
        ),
    )
    return _to_json(options)


def finish_registration(
    platform: Platform,
    party: RelyingParty,
    staff: StaffRow,
    credential: str,
    name: str,
    *,
    session: str,
    now: datetime,
) -> tuple[str, ...]:
    """Store a passkey, end all other sessions of the person, and return new recovery codes, if any."""
    from webauthn.helpers import bytes_to_base64url

    name = validate_name(name)
    challenge = _take_challenge(platform, session, "registration", now=now)
    verified = _verify_registration(party, credential, challenge)
    with platform.database.writing() as tx:
        is_new = store.add_passkey(
            tx,
            staff.id,
            credential_id=bytes_to_base64url(verified.credential_id),
            public_key=bytes_to_base64url(verified.credential_public_key),
            sign_count=verified.sign_count,
            name=name,
            now=now,
        )
        if not is_new:
            raise Conflict("This passkey was added before.")
        sessions.end_other_sessions(tx, staff.id, session)
        log_security_event(tx, "passkey_added", staff.id, now, {"passkey": name})
        return add_recovery_codes(tx, staff.id)


def remove_passkey(platform: Platform, staff: StaffRow, passkey_id: str, *, session: str, now: datetime) -> None:
    """Remove a passkey of a person, and end all their other sessions."""
    with platform.database.writing() as tx:
        name = store.delete_passkey(tx, staff.id, passkey_id)
        if name is not None:
            log_security_event(tx, "passkey_removed", staff.id, now, {"passkey": name})
            delete_idle_recovery_codes(tx, staff.id)
            sessions.end_other_sessions(tx, staff.id, session)


def begin_sign_in(
    platform: Platform, party: RelyingParty, *, form_key: str, traces: SignInTraces, now: datetime
) -> dict[str, Any]:
    """Create a challenge for a browser that is not signed in, as one attempt of its address; return the options."""
    count_attempt(platform, traces, now)
    with platform.database.writing() as tx:
        delete_expired_keys(tx, now=now)
    return _begin_assertion(platform, party, None, form_key, "sign-in", now=now)


def begin_second_factor(
    platform: Platform, party: RelyingParty, staff: StaffRow, *, session: str, now: datetime
) -> dict[str, Any]:
    """Create a challenge for a pending session; return the options."""
    return _begin_assertion(platform, party, staff, session, "second factor", now=now)


def begin_confirmation(
    platform: Platform, party: RelyingParty, staff: StaffRow, *, session: str, now: datetime
) -> dict[str, Any]:
    """Create a challenge with which a signed-in person proves their identity again; return the options."""
    return _begin_assertion(platform, party, staff, session, "confirmation", now=now)


def _begin_assertion(
    platform: Platform, party: RelyingParty, staff: StaffRow | None, session: str, purpose: Purpose, *, now: datetime
) -> dict[str, Any]:
    from webauthn import generate_authentication_options
    from webauthn.helpers.structs import UserVerificationRequirement

    challenge = secrets.token_bytes(CHALLENGE_BYTES)
    with platform.database.writing() as tx:
        passkeys = () if staff is None else store.list_passkeys(tx, staff.id)
        _store_challenge(tx, session, purpose, challenge, now=now)
    options = generate_authentication_options(
        rp_id=party.id,
        challenge=challenge,
        timeout=_timeout_ms(),
        allow_credentials=_descriptors(passkeys),
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return _to_json(options)


def sign_in_with_passkey(
    platform: Platform,
    party: RelyingParty,
    credential: str,
    *,
    form_key: str,
    traces: SignInTraces,
    network: str | None,
    now: datetime,
) -> str:
    """Return the key of a new session for a passkey, which needs no further factor."""
    challenge = _take_challenge(platform, form_key, "sign-in", now=now)
    passkey = _find_passkey(platform, credential)
    staff_id = None if passkey is None else passkey.staff_id
    try:
        sign_count = _check_assertion(party, passkey, credential, challenge)
        with platform.database.writing() as tx:
            used = _record_use(tx, passkey, sign_count, now=now)
            record_success(tx, traces)
            return open_session(tx, used.staff_id, "passkey", network=network, now=now)
    except NotAllowed:
        with platform.database.writing() as tx:
            log_security_event(tx, "sign_in_failed", staff_id, now, {"by": "passkey"}, network=network)
        raise


def finish_second_factor(
    platform: Platform, party: RelyingParty, session: str, credential: str, *, network: str | None, now: datetime
) -> str:
    """Replace a pending session by a new one for a passkey of its person, and return the key."""
    staff = get_pending_staff(platform, session, now=now)
    challenge = _take_challenge(platform, session, "second factor", now=now)
    try:
        passkey = _find_passkey(platform, credential, staff.id)
        sign_count = _check_assertion(party, passkey, credential, challenge)
        with platform.database.writing() as tx:
            _record_use(tx, passkey, sign_count, now=now)
            sessions.end_session_by_key(tx, session)
            return open_session(tx, staff.id, "passkey", network=network, now=now)
    except NotAllowed:
        with platform.database.writing() as tx:
            log_security_event(tx, "second_factor_failed", staff.id, now, {"by": "passkey"}, network=network)
        raise


def confirm_passkey(
    platform: Platform, party: RelyingParty, staff: StaffRow, credential: str, *, session: str, now: datetime
) -> None:
    """Check a passkey of a signed-in person, and record that they proved their identity."""
    challenge = _take_challenge(platform, session, "confirmation", now=now)
    passkey = _find_passkey(platform, credential, staff.id)
    sign_count = _check_assertion(party, passkey, credential, challenge)
    with platform.database.writing() as tx:
        _record_use(tx, passkey, sign_count, now=now)
        sessions.record_session_confirmation(tx, session, now=now)
        log_security_event(tx, "identity_confirmed", staff.id, now, {"by": "passkey"})


def _store_challenge(tx: Connection, session: str, purpose: Purpose, challenge: bytes, *, now: datetime) -> None:
    store.replace_challenge(tx, session, purpose, challenge.hex(), expires_at=now + CHALLENGE_LIFETIME)


def _take_challenge(platform: Platform, session: str, purpose: Purpose, *, now: datetime) -> bytes:
    """Use up the challenge, also if the answer to it is refused afterwards."""
    with platform.database.writing() as tx:
        challenge = store.take_challenge(tx, session, purpose, now=now)
    if challenge is None:
        raise NotAllowed("This took too long, or was answered before. Try again.")
    return bytes.fromhex(challenge)


def _find_passkey(platform: Platform, credential: str, staff_id: str | None = None) -> PasskeyRow | None:
    """Return the passkey that a credential names, if it is of this account, or None."""
    try:
        credential_id = json.loads(credential)["id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not isinstance(credential_id, str) or "\0" in credential_id:
        return None
    with platform.database.reading() as tx:
        passkey = store.find_passkey(tx, credential_id.encode("utf-8", "replace").decode())
    return passkey if passkey is not None and staff_id in (None, passkey.staff_id) else None


def _record_use(tx: Connection, passkey: PasskeyRow | None, sign_count: int, *, now: datetime) -> PasskeyRow:
    if passkey is None or not store.record_passkey_use(tx, passkey, sign_count, now=now):
        raise NotAllowed(REFUSAL)
    return passkey


def _check_assertion(party: RelyingParty, passkey: PasskeyRow | None, credential: str, challenge: bytes) -> int:
    """Return the new sign count of a valid assertion (WebAuthn, section 7.2); raise `NotAllowed` for any other."""
    if passkey is None:
        raise NotAllowed(REFUSAL)
    verified, user_handle = _verify_assertion(party, passkey, credential, challenge)
    # Authenticators may leave it out if the site named the credentials.
    if user_handle not in (None, _user_handle(passkey.staff_id)):
        raise NotAllowed(REFUSAL)
    return verified.new_sign_count


def _verify_assertion(
    party: RelyingParty, passkey: PasskeyRow, credential: str, challenge: bytes
) -> "tuple[VerifiedAuthentication, bytes | None]":
    from webauthn import verify_authentication_response
    from webauthn.helpers import base64url_to_bytes, parse_authentication_credential_json

    try:
        parsed = parse_authentication_credential_json(credential)
        verified = verify_authentication_response(
            credential=parsed,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=base64url_to_bytes(passkey.public_key),
            credential_current_sign_count=passkey.sign_count,
            require_user_verification=True,
        )
    except Exception:
        # Besides its own errors, the library lets those of several parsers pass.
        raise NotAllowed(REFUSAL) from None
    return verified, parsed.response.user_handle


def _verify_registration(party: RelyingParty, credential: str, challenge: bytes) -> "VerifiedRegistration":
    from webauthn import verify_registration_response

    try:
        return verify_registration_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            require_user_verification=True,
        )
    except Exception:
        # Besides its own errors, the library lets those of several parsers pass.
        raise NotAllowed(
            "The passkey was not added, since the answer of the browser does not fit this site. Try again."
        ) from None


def _user_handle(staff_id: str) -> bytes:
    return staff_id.encode()


def _timeout_ms() -> int:
    return int(CHALLENGE_LIFETIME.total_seconds() * 1000)


def _descriptors(passkeys: tuple[PasskeyRow, ...]) -> "list[PublicKeyCredentialDescriptor]":
    from webauthn.helpers import base64url_to_bytes
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

    return [PublicKeyCredentialDescriptor(id=base64url_to_bytes(passkey.credential_id)) for passkey in passkeys]


def _to_json(options: Any) -> dict[str, Any]:
    from webauthn import options_to_json

    content: dict[str, Any] = json.loads(options_to_json(options))
    return content
