"""Tokens: hashed, scoped, ended."""

from datetime import timedelta

import pytest
from sqlalchemy import select
from tests.support.campaigns import NOW

from dissensus.errors import Conflict, InvalidInput
from dissensus.store.identity.api_tokens import ApiTokenTable
from dissensus.store.staff import StaffRow
from dissensus.workflows.platform import api_tokens, sign_in_links
from dissensus.workflows.platform.platform import Platform


@pytest.fixture
def ada(platform: Platform) -> StaffRow:
    return sign_in_links.create_sign_in_link(platform, "ada", now=NOW).staff


def create_token(platform: Platform, owner: StaffRow, name: str = "nightly", days: int = 30) -> str:
    return api_tokens.create_token(platform, owner, name, scopes=["export"], days=days, now=NOW)[0]


def test_a_token_identifies_its_owner_until_it_expires(platform: Platform, ada: StaffRow) -> None:
    key = create_token(platform, ada)
    authenticated = api_tokens.authenticate_token(platform, key, network=None, now=NOW)
    assert authenticated is not None
    assert (authenticated[0], authenticated[1].name, authenticated[1].scopes) == (ada, "nightly", frozenset({"export"}))
    assert api_tokens.authenticate_token(platform, key, network=None, now=NOW + timedelta(days=30)) is None
    assert api_tokens.authenticate_token(platform, f"{key}x", network=None, now=NOW) is None
    with platform.database.reading() as tx:
        assert key not in {*tx.scalars(select(ApiTokenTable.key_hash)), *tx.scalars(select(ApiTokenTable.name))}


def test_the_name_of_an_expired_token_is_free(platform: Platform, ada: StaffRow) -> None:
    create_token(platform, ada, days=1)
    later = NOW + timedelta(days=1)
    assert api_tokens.list_tokens(platform, ada, now=later) == ()
    _, token = api_tokens.create_token(platform, ada, "nightly", scopes=["export"], days=30, now=later)
    assert [one.name for one in api_tokens.list_tokens(platform, ada, now=later)] == [token.name]


def test_the_last_use_is_stored_to_the_minute(platform: Platform, ada: StaffRow) -> None:
    key = create_token(platform, ada)

    def last_use() -> object:
        return api_tokens.list_tokens(platform, ada, now=NOW)[0].used_at

    assert last_use() is None
    for seconds, stored_seconds in ((0, 0), (59, 0), (60, 60), (90, 60)):
        api_tokens.authenticate_token(platform, key, network=None, now=NOW + timedelta(seconds=seconds))
        assert last_use() == NOW + timedelta(seconds=stored_seconds)


def test_only_its_owner_revokes_a_token(platform: Platform, ada: StaffRow) -> None:
    key, eve = create_token(platform, ada), sign_in_links.create_sign_in_link(platform, "eve", now=NOW).staff
    (token,) = api_tokens.list_tokens(platform, ada, now=NOW)
    api_tokens.revoke_token(platform, eve, token.id, now=NOW)
    assert api_tokens.authenticate_token(platform, key, network=None, now=NOW) is not None
    api_tokens.revoke_token(platform, ada, token.id, now=NOW)
    assert api_tokens.authenticate_token(platform, key, network=None, now=NOW) is None
    assert create_token(platform, ada)


def test_invalid_tokens_are_refused(platform: Platform, ada: StaffRow) -> None:
    create_token(platform, ada)
    with pytest.raises(Conflict, match="You have a token called 'nightly'"):
        create_token(platform, ada)
    for name in ("", "a\nb", "x" * 101):
        with pytest.raises(InvalidInput, match="cannot be the name of a token"):
            create_token(platform, ada, name)
    for days in (0, -1, 366, 10**9):
        with pytest.raises(InvalidInput, match="A token is valid for 1 to 365 days"):
            create_token(platform, ada, "other", days)
    with pytest.raises(InvalidInput, match="can do nothing"):
        api_tokens.create_token(platform, ada, "none", scopes=[], days=1, now=NOW)
    with pytest.raises(InvalidInput, match=r"'exprt' is not a scope. Scopes are 'export'"):
        api_tokens.check_scopes(["exprt"], {"export"})
