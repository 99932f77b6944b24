"""Security log: sign-ins, credentials and roles, kept for a number of days, and nothing of raters."""

from datetime import timedelta

import pyotp
import pytest
from tests.support.campaigns import AGREED, NOW, open_campaign

from dissensus.encryption import SecretKeys
from dissensus.errors import NotAllowed, NotFound
from dissensus.workflows.campaign import members
from dissensus.workflows.jobs import default_jobs
from dissensus.workflows.platform import (
    api_tokens,
    passwords,
    second_factors,
    security_log,
    sessions,
    sign_in_links,
    staff,
)
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.sign_in_limits import NAME_LIMIT
from dissensus.workflows.rater import enrolment
from dissensus.workflows.rater.enrolment import Arrival

HASHER = passwords.make_hasher(passes=1, memory_mib=1)
KEYS = SecretKeys("a secret key of the site for these tests alone")
PASSWORD = "correct horse battery"
NETWORK = "192.0.2.0/24"
STEP = timedelta(seconds=30)


def entries(platform: Platform, person: str | None = None) -> list[tuple[str, str | None, str | None]]:
    """Kinds, names and networks of the events."""
    events = security_log.list_security_events(platform, person=person, since=NOW)
    return [(event.kind, event.person, event.network) for event in events]


def sign_in(platform: Platform, name: str, password: str) -> str:
    traces = {f"{name} {password}": NAME_LIMIT}
    return passwords.sign_in_with_password(platform, HASHER, name, password, traces=traces, network=NETWORK, now=NOW)


def test_sign_ins_and_failures_are_logged(platform: Platform) -> None:
    link = sign_in_links.create_sign_in_link(platform, "ada", now=NOW)
    session = sign_in_links.sign_in_with_link(platform, link.key, network=NETWORK, now=NOW)
    passwords.change_password(platform, HASHER, link.staff, PASSWORD, session=session, now=NOW)
    sign_in(platform, "ada", PASSWORD)
    for name in ("ada", "my password by mistake"):
        with pytest.raises(NotAllowed):
            sign_in(platform, name, "wrong")
    sessions.sign_out_everywhere(platform, "ada", now=NOW)
    assert entries(platform) == [
        ("sign_in_link_created", "ada", None),
        ("signed_in", "ada", NETWORK),
        ("password_changed", "ada", None),
        ("signed_in", "ada", NETWORK),
        ("sign_in_failed", "ada", NETWORK),
        ("sign_in_failed", None, NETWORK),
        ("session_ended", "ada", None),
    ]
    assert "mistake" not in str(security_log.list_security_events(platform, person=None, since=NOW))


def test_second_factors_are_logged(platform: Platform) -> None:
    link = sign_in_links.create_sign_in_link(platform, "ada", now=NOW)
    session = sign_in_links.sign_in_with_link(platform, link.key, network=None, now=NOW)
    second_factors.begin_enrolment(platform, KEYS, link.staff)
    enrolment_view = second_factors.load_enrolment(platform, KEYS, link.staff, issuer="rate.example.org")
    assert enrolment_view is not None
    app = pyotp.TOTP(enrolment_view.secret)
    second_factors.confirm_enrolment(platform, KEYS, link.staff, app.at(NOW), session=session, now=NOW)
    pending = sign_in_links.sign_in_with_link(
        platform, sign_in_links.create_sign_in_link(platform, "ada", now=NOW).key, network=None, now=NOW
    )
    options = {"traces": {"code": NAME_LIMIT}, "network": NETWORK, "now": NOW}
    with pytest.raises(NotAllowed):
        second_factors.finish_sign_in(platform, KEYS, pending, "000000", **options)  # type: ignore[arg-type]
    second_factors.finish_sign_in(platform, KEYS, pending, app.at(NOW + STEP), **options)  # type: ignore[arg-type]
    second_factors.remove_second_factors_for(platform, "ada", now=NOW)
    assert entries(platform)[2:] == [
        ("second_factor_added", "ada", None),
        ("sign_in_link_created", "ada", None),
        ("second_factor_failed", "ada", NETWORK),
        ("signed_in", "ada", NETWORK),
        ("second_factor_removed", "ada", None),
    ]


def test_tokens_and_roles_are_logged(platform: Platform) -> None:
    campaign = open_campaign(platform)
    owner = staff.find_or_create_owner(platform, "owner", now=NOW)
    key, _ = api_tokens.create_token(platform, owner, "nightly", scopes=["see"], days=1, now=NOW)
    for _ in range(2):
        api_tokens.authenticate_token(platform, key, network=NETWORK, now=NOW)
    (token,) = api_tokens.list_tokens(platform, owner, now=NOW)
    api_tokens.revoke_token(platform, owner, token.id, now=NOW)
    by_owner = {"staff_id": campaign.staff_id, "now": NOW}
    link = members.create_member_invitation(platform, "pilot", "analyst", **by_owner)  # type: ignore[arg-type]
    members.accept_invitation_as_new(platform, HASHER, link, "grace", PASSWORD, network=NETWORK, now=NOW)
    members.change_role(platform, "pilot", "grace", "owner", **by_owner)  # type: ignore[arg-type]
    members.remove_member(platform, "pilot", "grace", **by_owner)  # type: ignore[arg-type]
    assert entries(platform) == [
        ("token_created", "owner", None),
        ("token_first_used", "owner", NETWORK),
        ("token_revoked", "owner", None),
        ("invitation_created", "owner", None),
        ("signed_in", "grace", NETWORK),
        ("role_given", "grace", None),
        ("role_changed", "grace", None),
        ("role_lost", "grace", None),
    ]
    assert key not in str(security_log.list_security_events(platform, person=None, since=NOW))
    changed = security_log.list_security_events(platform, person="grace", since=NOW)[2]
    assert changed.content == {"campaign": "pilot", "role": "owner", "before": "analyst", "by": "owner"}
    with pytest.raises(NotFound, match="There is no person called 'eve'"):
        entries(platform, "eve")


def test_nothing_of_raters_is_logged(platform: Platform) -> None:
    campaign = open_campaign(platform)
    before = entries(platform)
    enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)
    assert entries(platform) == before


def test_events_are_deleted_after_a_number_of_days(platform: Platform) -> None:
    for days in (0, 20):
        at = NOW + timedelta(days=days)
        sign_in_links.sign_in_with_link(
            platform, sign_in_links.create_sign_in_link(platform, "ada", now=at).key, network=None, now=at
        )
    job = default_jobs(security_log_days=30)["delete expired security events"]
    job(platform, NOW + timedelta(days=31))
    _, kept_event = security_log.list_security_events(platform, person=None, since=NOW)
    assert kept_event.at == NOW + timedelta(days=20)
