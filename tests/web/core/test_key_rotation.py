"""Rotation of the secret key: the new one signs, the old ones verify until they are removed."""

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from tests.databases import sqlite_only
from tests.support.api_programs import API, program
from tests.support.campaigns import NOW, open_campaign
from tests.support.live_site import SECRET, LiveSite, hidden
from tests.support.staff_site import StaffSite, token_of

from dissensus.encryption import SecretKeys
from dissensus.errors import NotAllowed
from dissensus.web.core.signed_tokens import OidcFlow, TokenSigner
from dissensus.workflows.rater.enrolment import Arrival

NEW = "another-key-for-tests-alone-0123456789"
OLD = TokenSigner(SecretKeys(SECRET))
ROTATED = TokenSigner(SecretKeys(NEW, (SECRET,)))
REMOVED = TokenSigner(SecretKeys(NEW))
ARRIVAL = Arrival("pilot", "", "en")
FLOW = OidcFlow("state", "nonce", "verifier")


def rotate(live: LiveSite, tokens: TokenSigner) -> None:
    live.app.state.site = replace(live.site, tokens=tokens)


def test_old_tokens_are_valid_until_their_key_is_removed() -> None:
    old_tokens: dict[str, tuple[str, Any]] = {
        "arrival": (OLD.sign_arrival(ARRIVAL, now=NOW), lambda tokens, text: tokens.read_arrival(text, now=NOW)),
        "flow": (OLD.sign_oidc_flow(FLOW, now=NOW), lambda tokens, text: tokens.read_oidc_flow(text, now=NOW)),
        "withdrawal": (OLD.sign_withdrawal("rater"), lambda tokens, text: tokens.read_withdrawal(text)),
        "form": (OLD.csrf_token("session"), lambda tokens, text: tokens.check_csrf_token("session", text)),
    }
    for text, read in old_tokens.values():
        assert read(ROTATED, text) == read(OLD, text)
        with pytest.raises(NotAllowed):
            read(REMOVED, text)
    away = OLD.sign_turned_away("pilot")
    assert [tokens.is_turned_away(away, "pilot") for tokens in (ROTATED, REMOVED)] == [True, False]
    cursor = OLD.encrypt_cursor("items", [7])
    assert [tokens.read_cursor("items", cursor) for tokens in (ROTATED, REMOVED)] == [[7], None]


def test_the_new_key_signs() -> None:
    assert REMOVED.read_withdrawal(ROTATED.sign_withdrawal("rater")) == "rater"
    assert REMOVED.read_arrival(ROTATED.sign_arrival(ARRIVAL, now=NOW), now=NOW) == ARRIVAL
    assert REMOVED.csrf_token("session") == ROTATED.csrf_token("session")
    assert REMOVED.read_cursor("items", ROTATED.encrypt_cursor("items", [7])) == [7]


@sqlite_only
def test_open_forms_and_listings_survive_a_rotation(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    with ExitStack() as browsers:
        staff_site = StaffSite(live, browsers)
        visitor, owner = live.visitor(), staff_site.owner("owner")
        page = visitor.enter(str(campaign.key))
        after = program(staff_site, "owner").get(f"{API}/pilot/items", params={"limit": 1}).json()["next"]
        form_token = token_of(owner.get("/campaigns"))
        rotate(live, ROTATED)
        assert visitor.rate(page, Q_safe="No").status_code in (200, 422)
        assert owner.post("/sign-out", data={"form_token": form_token}).status_code == 200
        assert program(staff_site, "owner").get(f"{API}/pilot/items", params={"after": after}).status_code == 200
        rotate(live, REMOVED)
        refused = visitor.send("/stop", form_token=hidden(page)["form_token"])
        assert refused.status_code == 403
