"""Sign-in links: single use, expiry, refused keys and names."""

import threading
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import select
from tests.support.campaigns import NOW

from dissensus.errors import InvalidInput, NotAllowed
from dissensus.store.identity.sessions import SessionTable
from dissensus.store.identity.sign_in_links import SignInLinkTable
from dissensus.workflows.platform import sessions, sign_in_links
from dissensus.workflows.platform.mail_delivery import SIGN_IN_LINK_LIFETIME
from dissensus.workflows.platform.platform import Platform


def test_a_link_signs_in_once(platform: Platform) -> None:
    link = sign_in_links.create_sign_in_link(platform, " ada ", now=NOW)
    assert (link.staff.name, link.is_new) == ("ada", True)
    sign_in_links.check_sign_in_link(platform, link.key, now=NOW)
    sign_in_links.check_sign_in_link(platform, link.key, now=NOW)
    session = sign_in_links.sign_in_with_link(platform, link.key, network=None, now=NOW)
    assert sessions.staff_of_session(platform, session, now=NOW) == link.staff
    for use in (sign_in_links.check_sign_in_link, partial(sign_in_links.sign_in_with_link, network=None)):
        with pytest.raises(NotAllowed, match="This link was used, is older than 15 minutes, or is incomplete"):
            use(platform, link.key, now=NOW)


def test_concurrent_uses_of_a_link_open_one_session(platform: Platform) -> None:
    key, inside = sign_in_links.create_sign_in_link(platform, "ada", now=NOW).key, []

    def enter() -> None:
        try:
            inside.append(sign_in_links.sign_in_with_link(platform, key, network=None, now=NOW))
        except NotAllowed:
            return

    threads = [threading.Thread(target=enter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(inside) == 1


@pytest.mark.parametrize("key", ["", "guess", "\udc80", "é" * 500])
def test_invalid_keys_are_refused(platform: Platform, key: str) -> None:
    with pytest.raises(NotAllowed, match="This link was used"):
        sign_in_links.sign_in_with_link(platform, key, network=None, now=NOW)
    assert sessions.staff_of_session(platform, key, now=NOW) is None


def test_keys_are_not_stored(platform: Platform) -> None:
    key = sign_in_links.create_sign_in_link(platform, "ada", now=NOW).key
    session = sign_in_links.sign_in_with_link(platform, key, network=None, now=NOW)
    with platform.database.reading() as tx:
        stored = [*tx.scalars(select(SignInLinkTable.key_hash)), *tx.scalars(select(SessionTable.key_hash))]
    assert all(len(one) == 64 for one in stored)
    assert not {key, session} & set(stored)


def test_expired_links_and_sessions_are_removed_with_the_next_link(platform: Platform) -> None:
    sign_in_links.sign_in_with_link(
        platform, sign_in_links.create_sign_in_link(platform, "ada", now=NOW).key, network=None, now=NOW
    )
    sign_in_links.create_sign_in_link(platform, "ada", now=NOW)
    later = NOW + timedelta(hours=13)
    sign_in_links.create_sign_in_link(platform, "ada", now=later)
    with platform.database.reading() as tx:
        assert list(tx.scalars(select(SignInLinkTable.expires_at))) == [later + SIGN_IN_LINK_LIFETIME]
        assert list(tx.scalars(select(SessionTable.expires_at))) == []


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 101, "a\x1b[2J"])
def test_invalid_names_are_refused(platform: Platform, name: str) -> None:
    with pytest.raises(InvalidInput, match=r"is not a valid name\. Give 1 to 100 characters"):
        sign_in_links.create_sign_in_link(platform, name, now=NOW)
