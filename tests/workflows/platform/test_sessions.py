"""Sessions of staff: expiry, sign-out, separation from sessions of raters."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.support.campaigns import AGREED, NOW, open_campaign

from dissensus.errors import NotAllowed, NotFound
from dissensus.workflows.platform import sessions, sign_in_links
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment
from dissensus.workflows.rater.enrolment import Arrival

LATER = NOW + timedelta(minutes=15)
SECOND = timedelta(seconds=1)


def test_links_and_sessions_expire(platform: Platform) -> None:
    link = sign_in_links.create_sign_in_link(platform, "ada", now=NOW)
    sign_in_links.check_sign_in_link(platform, link.key, now=LATER - SECOND)
    with pytest.raises(NotAllowed, match="is older than 15 minutes"):
        sign_in_links.sign_in_with_link(platform, link.key, network=None, now=LATER)
    again = sign_in_links.create_sign_in_link(platform, "ada", now=NOW)
    assert (again.staff, again.is_new) == (link.staff, False)
    session = sign_in_links.sign_in_with_link(platform, again.key, network=None, now=NOW)
    for minutes in range(0, 12 * 60, 59):
        assert sessions.staff_of_session(platform, session, now=NOW + timedelta(minutes=minutes)) is not None
    assert sessions.staff_of_session(platform, session, now=NOW + timedelta(hours=12)) is None


def test_signing_in_confirms_the_identity_for_ten_minutes(platform: Platform) -> None:
    link = sign_in_links.create_sign_in_link(platform, "ada", now=NOW)
    session = sign_in_links.sign_in_with_link(platform, link.key, network=None, now=NOW)
    until = NOW + timedelta(minutes=10)
    assert sessions.is_recently_confirmed(platform, session, now=until - SECOND)
    assert not sessions.is_recently_confirmed(platform, session, now=until)
    assert not sessions.is_recently_confirmed(platform, "guess", now=NOW)


def test_idle_sessions_end(platform: Platform) -> None:
    link = sign_in_links.create_sign_in_link(platform, "ada", now=NOW)
    session = sign_in_links.sign_in_with_link(platform, link.key, network=None, now=NOW)
    assert sessions.staff_of_session(platform, session, now=NOW + timedelta(minutes=40)) is not None
    assert sessions.staff_of_session(platform, session, now=NOW + timedelta(minutes=99)) is not None
    assert len(sessions.list_sessions(platform, link.staff, now=NOW + timedelta(minutes=150))) == 1
    assert sessions.staff_of_session(platform, session, now=NOW + timedelta(minutes=160)) is None
    assert sessions.list_sessions(platform, link.staff, now=NOW + timedelta(minutes=160)) == ()
    strict = replace(platform, session_idle=timedelta(minutes=5))
    session = sign_in_links.sign_in_with_link(
        strict, sign_in_links.create_sign_in_link(strict, "ada", now=NOW).key, network=None, now=NOW
    )
    assert sessions.staff_of_session(strict, session, now=NOW + timedelta(minutes=5)) is None


def test_signing_out_ends_one_session_or_all_and_the_links(platform: Platform) -> None:
    keys = [sign_in_links.create_sign_in_link(platform, "ada", now=NOW).key for _ in range(4)]
    other = sign_in_links.sign_in_with_link(
        platform, sign_in_links.create_sign_in_link(platform, "bob", now=NOW).key, network=None, now=NOW
    )
    opened = [sign_in_links.sign_in_with_link(platform, key, network=None, now=NOW) for key in keys[:3]]
    sessions.sign_out(platform, opened[0])
    assert [sessions.staff_of_session(platform, one, now=NOW) is not None for one in opened] == [False, True, True]
    assert sessions.sign_out_everywhere(platform, "ada", now=NOW) == 2
    assert not any(sessions.staff_of_session(platform, one, now=NOW) for one in opened)
    with pytest.raises(NotAllowed, match="This link was used"):
        sign_in_links.sign_in_with_link(platform, keys[3], network=None, now=NOW)
    assert sessions.staff_of_session(platform, other, now=NOW) is not None
    with pytest.raises(NotFound, match="There is no person called 'eve'; there are 'ada', 'bob'"):
        sessions.sign_out_everywhere(platform, "eve", now=NOW)


def test_sessions_of_raters_and_staff_are_separate(platform: Platform) -> None:
    campaign = open_campaign(platform)
    _, raters_key = enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)
    owners_key = sign_in_links.sign_in_with_link(
        platform, sign_in_links.create_sign_in_link(platform, "ada", now=NOW).key, network=None, now=NOW
    )
    assert sessions.staff_of_session(platform, raters_key, now=NOW) is None
    assert enrolment.rater_of_session(platform, owners_key, now=NOW) is None
    sessions.sign_out(platform, raters_key)
    assert enrolment.rater_of_session(platform, raters_key, now=NOW) is not None
