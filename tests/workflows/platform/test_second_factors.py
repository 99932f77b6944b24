"""Second factors: codes by RFC 6238, replay, backoff, recovery codes, and secrets at rest."""

import base64
import threading
from datetime import UTC, datetime, timedelta

import pyotp
import pytest
from sqlalchemy import select, update
from tests.support.campaigns import NOW

from dissensus.encryption import SecretKeys
from dissensus.errors import Conflict, NotAllowed, NotFound
from dissensus.store.identity.second_factors import RecoveryCodeTable, TotpTable, count_recovery_codes
from dissensus.store.staff import StaffRow
from dissensus.workflows.platform import second_factors, sessions, sign_in_links
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.sign_in_limits import NAME_LIMIT

KEYS = SecretKeys("a secret key of the site for these tests alone")
TRACES = {"code": NAME_LIMIT}
WRONG = "The code is wrong, or was used before"
RFC_SECRET = base64.b32encode(b"12345678901234567890").decode()
STEP = timedelta(seconds=30)


@pytest.fixture
def ada(platform: Platform) -> StaffRow:
    return sign_in_links.create_sign_in_link(platform, "ada", now=NOW).staff


def sign_in(platform: Platform, name: str = "ada", *, now: datetime = NOW) -> str:
    """Use a sign-in link and return the session, which is pending with a second factor."""
    return sign_in_links.sign_in_with_link(
        platform, sign_in_links.create_sign_in_link(platform, name, now=now).key, network=None, now=now
    )


def enrol(platform: Platform, ada: StaffRow) -> tuple[str, tuple[str, ...]]:
    """Set up a second factor with the code of now; return its secret and the recovery codes."""
    second_factors.begin_enrolment(platform, KEYS, ada)
    enrolment = second_factors.load_enrolment(platform, KEYS, ada, issuer="rate.example.org")
    assert enrolment is not None
    code = pyotp.TOTP(enrolment.secret).at(NOW)
    session = sign_in(platform)
    return enrolment.secret, second_factors.confirm_enrolment(platform, KEYS, ada, code, session=session, now=NOW)


def finish(platform: Platform, session: str, code: str, *, now: datetime = NOW, keys: SecretKeys = KEYS) -> str:
    return second_factors.finish_sign_in(platform, keys, session, code, traces=TRACES, network=None, now=now)


@pytest.mark.parametrize(
    ("seconds", "code"),
    [(59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (2000000000, "279037"), (20000000000, "353130")],
)
def test_codes_are_those_of_rfc_6238(platform: Platform, ada: StaffRow, seconds: int, code: str) -> None:
    enrol(platform, ada)
    encrypted = base64.b64encode(KEYS.encrypt(RFC_SECRET.encode(), "totp", ada.id)).decode()
    with platform.database.writing() as tx:
        tx.execute(update(TotpTable).values(secret=encrypted, last_step=None))
    at = datetime.fromtimestamp(seconds, UTC)
    session = sign_in(platform, now=at)
    assert sessions.staff_of_session(platform, session, now=at) is None
    with pytest.raises(NotAllowed, match=WRONG):
        finish(platform, session, "000000", now=at)
    assert sessions.staff_of_session(platform, finish(platform, session, code, now=at), now=at) == ada


def test_a_second_factor_is_in_use_after_its_first_code(platform: Platform, ada: StaffRow) -> None:
    second_factors.begin_enrolment(platform, KEYS, ada)
    session = sign_in(platform)
    assert sessions.staff_of_session(platform, session, now=NOW) == ada
    with pytest.raises(NotAllowed, match=r"The code is wrong. Enter the current code of the app"):
        second_factors.confirm_enrolment(platform, KEYS, ada, "000000", session=session, now=NOW)
    _, codes = enrol(platform, ada)
    assert len(set(codes)) == 10
    assert sessions.staff_of_session(platform, session, now=NOW) is None
    assert sessions.staff_of_session(platform, sign_in(platform), now=NOW) is None
    with pytest.raises(Conflict, match="You use codes of an app"):
        second_factors.begin_enrolment(platform, KEYS, ada)


def test_a_code_works_once(platform: Platform, ada: StaffRow) -> None:
    secret, _ = enrol(platform, ada)
    totp = pyotp.TOTP(secret)
    with pytest.raises(NotAllowed, match=WRONG):
        finish(platform, sign_in(platform), totp.at(NOW))
    assert finish(platform, sign_in(platform), totp.at(NOW + STEP))
    for reused in (totp.at(NOW + STEP), totp.at(NOW)):
        with pytest.raises(NotAllowed, match=WRONG):
            finish(platform, sign_in(platform), reused, now=NOW + STEP)
    with pytest.raises(NotAllowed, match=WRONG):
        finish(platform, sign_in(platform), totp.at(NOW + 5 * STEP), now=NOW + 3 * STEP)


def test_concurrent_uses_of_a_code_open_one_session(platform: Platform, ada: StaffRow) -> None:
    secret, recovery_codes = enrol(platform, ada)
    for code in (pyotp.TOTP(secret).at(NOW + STEP), recovery_codes[0]):
        pending, opened = [sign_in(platform) for _ in range(4)], list[str]()

        def enter(session: str, code: str = code, opened: list[str] = opened) -> None:
            try:
                opened.append(finish(platform, session, code))
            except NotAllowed:
                return

        threads = [threading.Thread(target=enter, args=(session,)) for session in pending]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(opened) == 1


def test_wrong_codes_are_delayed_like_passwords(platform: Platform, ada: StaffRow) -> None:
    secret, _ = enrol(platform, ada)
    for _ in range(NAME_LIMIT.n_free):
        with pytest.raises(NotAllowed, match=WRONG):
            finish(platform, sign_in(platform), "000000")
    with pytest.raises(NotAllowed, match=r"Too many tries. Try again in 1 second"):
        finish(platform, sign_in(platform), pyotp.TOTP(secret).at(NOW + STEP))
    assert finish(platform, sign_in(platform), pyotp.TOTP(secret).at(NOW + STEP), now=NOW + STEP)


def test_a_recovery_code_works_once(platform: Platform, ada: StaffRow) -> None:
    _, codes = enrol(platform, ada)
    eve = sign_in_links.create_sign_in_link(platform, "eve", now=NOW).staff
    assert finish(platform, sign_in(platform), f" {codes[0].upper()} ")
    with pytest.raises(NotAllowed, match=WRONG):
        finish(platform, sign_in(platform), codes[0])
    assert second_factors.load_second_factor(platform, ada).n_recovery_codes == 9
    renewed = second_factors.renew_recovery_codes(platform, ada, now=NOW)
    with pytest.raises(NotAllowed, match=WRONG):
        finish(platform, sign_in(platform), codes[1])
    assert finish(platform, sign_in(platform), renewed[0])
    with pytest.raises(Conflict, match="You have no second factor"):
        second_factors.renew_recovery_codes(platform, eve, now=NOW)


def test_secrets_and_recovery_codes_are_not_stored_readably(platform: Platform, ada: StaffRow) -> None:
    secret, codes = enrol(platform, ada)
    with platform.database.reading() as tx:
        stored = str(tx.scalar(select(TotpTable.secret)))
        hashes = set(tx.scalars(select(RecoveryCodeTable.code_hash)))
    assert secret.encode() not in base64.b64decode(stored)
    assert all(len(code_hash) == 64 for code_hash in hashes)
    assert not hashes & {*codes, *(code.replace("-", "") for code in codes)}


def test_a_replaced_key_leaves_recovery_codes_and_an_overlap_leaves_all(platform: Platform, ada: StaffRow) -> None:
    secret, codes = enrol(platform, ada)
    lost, rotated = SecretKeys("another key of the site, without the first"), SecretKeys("second", (KEYS.current,))
    code = pyotp.TOTP(secret).at(NOW + STEP)
    with pytest.raises(NotAllowed, match=r"since the secret key of the site was replaced. Enter a recovery code"):
        finish(platform, sign_in(platform), code, keys=lost)
    assert finish(platform, sign_in(platform), codes[0], keys=lost)
    assert finish(platform, sign_in(platform), code, keys=rotated)


def test_a_pending_sign_in_expires(platform: Platform, ada: StaffRow) -> None:
    secret, _ = enrol(platform, ada)
    later = NOW + timedelta(minutes=10)
    session = sign_in(platform)
    with pytest.raises(NotAllowed, match="Signing in took too long"):
        finish(platform, session, pyotp.TOTP(secret).at(later), now=later)


def test_the_operator_removes_a_lost_second_factor(platform: Platform, ada: StaffRow) -> None:
    enrol(platform, ada)
    assert second_factors.remove_second_factors_for(platform, "ada", now=NOW)
    with platform.database.reading() as tx:
        assert count_recovery_codes(tx, ada.id) == 0
    assert not second_factors.remove_second_factors_for(platform, "ada", now=NOW)
    assert sessions.staff_of_session(platform, sign_in(platform), now=NOW) == ada
    with pytest.raises(NotFound, match="There is no person called 'eve'"):
        second_factors.remove_second_factors_for(platform, "eve", now=NOW)
