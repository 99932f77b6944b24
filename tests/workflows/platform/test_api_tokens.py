"""Tokens: hashed, scoped, ended."""

from datetime import timedelta

import pytest
from sqlalchemy import select
from tests.support.campaigns import NOW

from dissensus.errors import Conflict, InvalidInput
from dissensus.store.api_tokens import ApiTokenTable
from dissensus.store.staff import StaffRow
from dissensus.workflows.platform import api_tokens, staff
from dissensus.workflows.platform.platform import Platform


@pytest.fixture
def ada(platform: Platform) -> StaffRow:
    return staff.create_sign_in_link(platform, "ada", now=NOW).staff


def make(platform: Platform, whose: StaffRow, name: str = "nightly", days: int = 30) -> str:
    return api_tokens.create_token(platform, whose, name, scopes=["export"], days=days, now=NOW)[0]


def test_a_token_tells_whose_it_is_until_it_ends(platform: Platform, ada: StaffRow) -> None:
    key = make(platform, ada)
    found = api_tokens.authenticate_token(platform, key, now=NOW)
    assert found is not None
    assert (found[0], found[1].name, found[1].scopes) == (ada, "nightly", frozenset({"export"}))
    assert api_tokens.authenticate_token(platform, key, now=NOW + timedelta(days=30)) is None
    assert api_tokens.authenticate_token(platform, f"{key}x", now=NOW) is None
    with platform.database.reading() as tx:
        assert key not in {*tx.scalars(select(ApiTokenTable.key_hash)), *tx.scalars(select(ApiTokenTable.name))}


def test_the_last_use_is_kept_to_the_minute(platform: Platform, ada: StaffRow) -> None:
    key = make(platform, ada)

    def used() -> object:
        return api_tokens.list_tokens(platform, ada, now=NOW)[0].used_at

    assert used() is None
    for seconds, kept in ((0, 0), (59, 0), (60, 60), (90, 60)):
        api_tokens.authenticate_token(platform, key, now=NOW + timedelta(seconds=seconds))
        assert used() == NOW + timedelta(seconds=kept)


def test_a_token_is_revoked_at_once_by_whose_it_is(platform: Platform, ada: StaffRow) -> None:
    key, eve = make(platform, ada), staff.create_sign_in_link(platform, "eve", now=NOW).staff
    (token,) = api_tokens.list_tokens(platform, ada, now=NOW)
    api_tokens.revoke_token(platform, eve, token.id)
    assert api_tokens.authenticate_token(platform, key, now=NOW) is not None
    api_tokens.revoke_token(platform, ada, token.id)
    assert api_tokens.authenticate_token(platform, key, now=NOW) is None
    assert make(platform, ada)


def test_tokens_that_cannot_be(platform: Platform, ada: StaffRow) -> None:
    make(platform, ada)
    with pytest.raises(Conflict, match="You have a token called 'nightly'"):
        make(platform, ada)
    for name in ("", "a\nb", "x" * 101):
        with pytest.raises(InvalidInput, match="cannot be the name of a token"):
            make(platform, ada, name)
    for days in (0, -1, 366, 10**9):
        with pytest.raises(InvalidInput, match="A token ends within 365 days"):
            make(platform, ada, "other", days)
    with pytest.raises(InvalidInput, match="can do nothing"):
        api_tokens.create_token(platform, ada, "none", scopes=[], days=1, now=NOW)
    with pytest.raises(InvalidInput, match=r"'exprt' is no scope of a token. Scopes are 'export'"):
        api_tokens.check_scopes(["exprt"], {"export"})
