"""Passkeys: registration, sign-in with one and two factors, and hostile answers of browsers."""

import json
import threading
from datetime import timedelta
from typing import Any

import pyotp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select
from tests.databases import sqlite_only
from tests.support.authenticator import PRESENT, Authenticator
from tests.support.campaigns import NOW

from dissensus.encryption import SecretKeys
from dissensus.errors import Conflict, InvalidInput, NotAllowed
from dissensus.store.identity.passkeys import PasskeyChallengeTable
from dissensus.store.staff import StaffRow
from dissensus.workflows.platform import passkeys, second_factors, security_log, sessions, sign_in_links
from dissensus.workflows.platform.passkeys import MAX_PASSKEYS, RelyingParty
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.sign_in_limits import ADDRESS_LIMIT, NAME_LIMIT

PARTY = RelyingParty("rate.example.org", "https://rate.example.org")
KEYS = SecretKeys("a secret key of the site for these tests alone")
TRACES = {"address": ADDRESS_LIMIT}
FORM = "the key of a sign-in form"
REFUSED = "The passkey was not accepted"
NOT_ADDED = "The passkey was not added"


@pytest.fixture
def ada(platform: Platform) -> StaffRow:
    return sign_in_links.create_sign_in_link(platform, "ada", now=NOW).staff


@pytest.fixture
def phone() -> Authenticator:
    return Authenticator(PARTY.origin)


def sign_in(platform: Platform, name: str = "ada") -> str:
    """Use a sign-in link and return the session, which is pending with a second factor."""
    return sign_in_links.sign_in_with_link(
        platform, sign_in_links.create_sign_in_link(platform, name, now=NOW).key, network=None, now=NOW
    )


def register(platform: Platform, person: StaffRow, device: Authenticator, name: str = "phone") -> tuple[str, ...]:
    """Add a passkey in a session of its own; return the recovery codes."""
    session = f"the session of {person.name}"
    options = passkeys.begin_registration(platform, PARTY, person, session=session, now=NOW)
    return passkeys.finish_registration(platform, PARTY, person, device.create(options), name, session=session, now=NOW)


def options_for_form(platform: Platform, form_key: str = FORM) -> dict[str, Any]:
    return passkeys.begin_sign_in(platform, PARTY, form_key=form_key, traces=TRACES, now=NOW)


def use_form(platform: Platform, answer: str, form_key: str = FORM) -> str:
    return passkeys.sign_in_with_passkey(
        platform, PARTY, answer, form_key=form_key, traces=TRACES, network=None, now=NOW
    )


def options_for_session(platform: Platform, session: str, person: StaffRow) -> dict[str, Any]:
    return passkeys.begin_second_factor(platform, PARTY, person, session=session, now=NOW)


def use_session(platform: Platform, session: str, answer: str) -> str:
    return passkeys.finish_second_factor(platform, PARTY, session, answer, network=None, now=NOW)


def kinds(platform: Platform, person: StaffRow) -> list[str]:
    events = security_log.list_own_events(platform, person, since=NOW - timedelta(days=1))
    return [event.kind for event in events[::-1] if event.kind != "sign_in_link_created"]


def test_a_passkey_is_a_second_factor(platform: Platform, ada: StaffRow, phone: Authenticator) -> None:
    codes = register(platform, ada, phone)
    assert len(set(codes)) == 10
    session = sign_in(platform)
    assert sessions.staff_of_session(platform, session, now=NOW) is None
    options = options_for_session(platform, session, ada)
    assert [len(passkey["id"]) for passkey in options["allowCredentials"]] == [43]
    assert options["userVerification"] == "required"
    opened = use_session(platform, session, phone.get(options))
    assert sessions.staff_of_session(platform, opened, now=NOW) == ada
    assert sessions.is_recently_confirmed(platform, opened, now=NOW)
    (passkey,) = second_factors.load_second_factor(platform, ada).passkeys
    assert (passkey.name, passkey.used_at, passkey.sign_count) == ("phone", NOW, 2)
    assert kinds(platform, ada)[-2:] == ["passkey_added", "signed_in"]


def test_a_passkey_alone_signs_in(platform: Platform, ada: StaffRow, phone: Authenticator) -> None:
    register(platform, ada, phone)
    options = options_for_form(platform)
    assert options["allowCredentials"] == []
    session = use_form(platform, phone.get(options))
    assert sessions.staff_of_session(platform, session, now=NOW) == ada
    event = security_log.list_own_events(platform, ada, since=NOW)[0]
    assert (event.kind, event.content) == ("signed_in", {"by": "passkey"})


def test_a_passkey_confirms_the_identity(platform: Platform, ada: StaffRow, phone: Authenticator) -> None:
    session, later = sign_in(platform), NOW + timedelta(minutes=11)
    options = passkeys.begin_registration(platform, PARTY, ada, session=session, now=NOW)
    passkeys.finish_registration(platform, PARTY, ada, phone.create(options), "phone", session=session, now=NOW)
    assert not sessions.is_recently_confirmed(platform, session, now=later)
    options = passkeys.begin_confirmation(platform, PARTY, ada, session=session, now=later)
    passkeys.confirm_passkey(platform, PARTY, ada, phone.get(options), session=session, now=later)
    assert sessions.is_recently_confirmed(platform, session, now=later)


def test_recovery_codes_replace_a_lost_passkey(platform: Platform, ada: StaffRow, phone: Authenticator) -> None:
    codes = register(platform, ada, phone)
    traces = {"code": NAME_LIMIT}
    opened = second_factors.finish_sign_in(
        platform, KEYS, sign_in(platform), codes[0], traces=traces, network=None, now=NOW
    )
    assert sessions.staff_of_session(platform, opened, now=NOW) == ada
    event = next(event for event in security_log.list_own_events(platform, ada, since=NOW) if "left" in event.content)
    assert (event.kind, event.content) == ("recovery_code_used", {"left": 9})


def test_factors_share_recovery_codes_until_the_last_is_removed(
    platform: Platform, ada: StaffRow, phone: Authenticator
) -> None:
    register(platform, ada, phone)
    assert register(platform, ada, Authenticator(PARTY.origin), "key") == ()
    second_factors.begin_enrolment(platform, KEYS, ada)
    enrolment = second_factors.load_enrolment(platform, KEYS, ada, issuer="rate.example.org")
    assert enrolment is not None
    code = pyotp.TOTP(enrolment.secret).at(NOW)
    assert second_factors.confirm_enrolment(platform, KEYS, ada, code, session="", now=NOW) == ()
    for passkey in second_factors.load_second_factor(platform, ada).passkeys:
        passkeys.remove_passkey(platform, ada, passkey.id, session="", now=NOW)
    view = second_factors.load_second_factor(platform, ada)
    assert (view.passkeys, view.n_recovery_codes, view.is_in_use) == ((), 10, True)
    second_factors.remove_totp(platform, ada, session="", now=NOW)
    view = second_factors.load_second_factor(platform, ada)
    assert (view.n_recovery_codes, view.is_in_use) == (0, False)
    assert sessions.staff_of_session(platform, sign_in(platform), now=NOW) == ada


def test_a_secret_without_a_first_code_is_no_second_factor(
    platform: Platform, ada: StaffRow, phone: Authenticator
) -> None:
    register(platform, ada, phone)
    second_factors.begin_enrolment(platform, KEYS, ada)
    enrolment = second_factors.load_enrolment(platform, KEYS, ada, issuer="rate.example.org")
    assert enrolment is not None
    code, traces = pyotp.TOTP(enrolment.secret).at(NOW), {"code": NAME_LIMIT}
    with pytest.raises(NotAllowed, match="The code is wrong"):
        second_factors.finish_sign_in(platform, KEYS, sign_in(platform), code, traces=traces, network=None, now=NOW)


def test_a_new_passkey_ends_other_sessions_and_a_removed_one_opens_none(
    platform: Platform, ada: StaffRow, phone: Authenticator
) -> None:
    other = sign_in(platform)
    register(platform, ada, phone)
    assert sessions.staff_of_session(platform, other, now=NOW) is None
    answer = phone.get(options_for_form(platform))
    (passkey,) = second_factors.load_second_factor(platform, ada).passkeys
    eve = sign_in_links.create_sign_in_link(platform, "eve", now=NOW).staff
    passkeys.remove_passkey(platform, eve, passkey.id, session="", now=NOW)
    assert second_factors.has_second_factor(platform, ada.id)
    passkeys.remove_passkey(platform, ada, passkey.id, session="", now=NOW)
    with pytest.raises(NotAllowed, match=REFUSED):
        use_form(platform, answer)


def test_the_operator_removes_lost_passkeys(platform: Platform, ada: StaffRow, phone: Authenticator) -> None:
    register(platform, ada, phone)
    assert second_factors.remove_second_factors_for(platform, "ada", now=NOW)
    assert not second_factors.load_second_factor(platform, ada).is_in_use
    assert sessions.staff_of_session(platform, sign_in(platform), now=NOW) == ada


def test_a_credential_is_added_once_and_for_one_person(platform: Platform, ada: StaffRow, phone: Authenticator) -> None:
    register(platform, ada, phone)
    eve = sign_in_links.create_sign_in_link(platform, "eve", now=NOW).staff
    for person in (ada, eve):
        with pytest.raises(Conflict, match="This passkey was added before"):
            register(platform, person, phone)
    assert not second_factors.has_second_factor(platform, eve.id)
    with pytest.raises(InvalidInput, match="is not a valid name"):
        register(platform, ada, Authenticator(PARTY.origin), " ")


def test_the_number_of_passkeys_is_limited(platform: Platform, ada: StaffRow) -> None:
    for _ in range(MAX_PASSKEYS):
        register(platform, ada, Authenticator(PARTY.origin))
    with pytest.raises(Conflict, match=f"You have {MAX_PASSKEYS} passkeys"):
        register(platform, ada, Authenticator(PARTY.origin))


@pytest.mark.parametrize(
    "changes",
    [
        {"origin": "https://rate.example.org.evil.example"},
        {"origin": "http://rate.example.org"},
        {"rp_id": "evil.example"},
        {"flags": PRESENT},
        {"flags": 0x04},
    ],
    ids=["imitation", "no HTTPS", "other site", "person not verified", "person not present"],
)
def test_answers_for_other_sites_or_without_the_person_are_refused(
    platform: Platform, ada: StaffRow, phone: Authenticator, changes: dict[str, Any]
) -> None:
    with pytest.raises(NotAllowed, match=NOT_ADDED):
        register(platform, ada, phone.with_changes(**changes))
    register(platform, ada, phone)
    hostile = phone.with_changes(**changes)
    with pytest.raises(NotAllowed, match=REFUSED):
        use_form(platform, hostile.get(options_for_form(platform)))
    session = sign_in(platform)
    with pytest.raises(NotAllowed, match=REFUSED):
        use_session(platform, session, hostile.get(options_for_session(platform, session, ada)))
    assert kinds(platform, ada)[-2:] == ["sign_in_failed", "second_factor_failed"]


def test_a_challenge_is_answered_once(platform: Platform, ada: StaffRow, phone: Authenticator) -> None:
    register(platform, ada, phone)
    answer = phone.get(options_for_form(platform))
    assert use_form(platform, answer)
    with pytest.raises(NotAllowed, match="This took too long, or was answered before"):
        use_form(platform, answer)
    options_for_form(platform)
    with pytest.raises(NotAllowed, match=REFUSED):
        use_form(platform, answer)


def test_a_refused_answer_uses_up_its_challenge(platform: Platform, ada: StaffRow, phone: Authenticator) -> None:
    register(platform, ada, phone)
    options = options_for_form(platform)
    with pytest.raises(NotAllowed, match=REFUSED):
        use_form(platform, phone.get(options, signature="AAAA"))
    with pytest.raises(NotAllowed, match="was answered before"):
        use_form(platform, phone.get(options))


def test_challenges_belong_to_a_session_a_purpose_and_five_minutes(
    platform: Platform, ada: StaffRow, phone: Authenticator
) -> None:
    register(platform, ada, phone)
    session, other = sign_in(platform), sign_in(platform)
    options = options_for_session(platform, session, ada)
    options_for_session(platform, other, ada)
    with pytest.raises(NotAllowed, match=REFUSED):
        use_session(platform, other, phone.get(options))
    with pytest.raises(NotAllowed, match="was answered before"):
        passkeys.confirm_passkey(platform, PARTY, ada, phone.get(options), session=session, now=NOW)
    with pytest.raises(NotAllowed, match="was answered before"):
        use_form(platform, phone.get(options), session)
    with pytest.raises(NotAllowed, match="was answered before"):
        passkeys.finish_second_factor(
            platform, PARTY, session, phone.get(options), network=None, now=NOW + timedelta(minutes=5)
        )
    assert use_session(platform, session, phone.get(options))


def test_passkeys_of_others_are_refused(platform: Platform, ada: StaffRow, phone: Authenticator) -> None:
    eve, other = sign_in_links.create_sign_in_link(platform, "eve", now=NOW).staff, Authenticator(PARTY.origin)
    register(platform, ada, phone)
    register(platform, eve, other)
    session = sign_in(platform)
    with pytest.raises(NotAllowed, match=REFUSED):
        use_session(platform, session, other.get(options_for_session(platform, session, ada)))
    # The id of a passkey of Ada, signed with the key of another one.
    forged = phone.with_changes(key=other.key)
    with pytest.raises(NotAllowed, match=REFUSED):
        use_form(platform, forged.get(options_for_form(platform)))
    with pytest.raises(NotAllowed, match=REFUSED):
        use_form(platform, other.with_changes(user_handle=phone.user_handle).get(options_for_form(platform)))
    with pytest.raises(NotAllowed, match=REFUSED):
        use_form(platform, Authenticator(PARTY.origin).get(options_for_form(platform)))


def test_a_sign_count_that_goes_back_is_refused(platform: Platform, ada: StaffRow, phone: Authenticator) -> None:
    register(platform, ada, phone)
    copy = phone.with_changes()
    for _ in range(3):
        assert use_form(platform, phone.get(options_for_form(platform)))
    with pytest.raises(NotAllowed, match=REFUSED):
        use_form(platform, copy.get(options_for_form(platform)))
    assert kinds(platform, ada)[-1] == "sign_in_failed"


def test_concurrent_answers_open_one_session(platform: Platform, ada: StaffRow, phone: Authenticator) -> None:
    register(platform, ada, phone)
    answer, opened = phone.get(options_for_form(platform)), list[str]()

    def send() -> None:
        try:
            opened.append(use_form(platform, answer))
        except NotAllowed:
            return

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 1


def test_challenges_of_strangers_are_limited_and_deleted(platform: Platform) -> None:
    for number in range(ADDRESS_LIMIT.n_free):
        options_for_form(platform, f"form {number}")
    with pytest.raises(NotAllowed, match="Too many tries"):
        options_for_form(platform)
    later = NOW + timedelta(hours=2)
    passkeys.begin_sign_in(platform, PARTY, form_key=FORM, traces=TRACES, now=later)
    with platform.database.reading() as tx:
        assert tx.scalar(select(func.count()).select_from(PasskeyChallengeTable)) == 1


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda part: st.lists(part, max_size=3))
TEXTS = st.text(max_size=40) | st.sampled_from(["AAAA", "e30", "oA", "\0", "\ud800", "[" * 10_000])


@sqlite_only
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    part=st.sampled_from(["clientDataJSON", "authenticatorData", "signature", "userHandle", "attestationObject"]),
    value=TEXTS | JSON,
    whole=TEXTS | st.none(),
)
def test_malformed_answers_are_refused(
    platform: Platform, ada: StaffRow, part: str, value: Any, whole: str | None
) -> None:
    phone = Authenticator(PARTY.origin)
    session = "of a fuzzer"
    options = passkeys.begin_registration(platform, PARTY, ada, session=session, now=NOW)
    content = json.loads(phone.create(options))
    content["response"] = {**content["response"], "attestationObject": "oA", part: value}
    answer = json.dumps(content) if whole is None else whole
    with pytest.raises(NotAllowed, match=NOT_ADDED):
        passkeys.finish_registration(platform, PARTY, ada, answer, "x", session=session, now=NOW)
    options = passkeys.begin_confirmation(platform, PARTY, ada, session=session, now=NOW)
    content = json.loads(phone.get(options))
    content["response"][part] = value
    answer = json.dumps(content) if whole is None else whole
    with pytest.raises(NotAllowed, match=REFUSED):
        passkeys.confirm_passkey(platform, PARTY, ada, answer, session=session, now=NOW)
