"""Directory of staff for operators: who has an account, and disabling it."""

import re
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import NOW
from tests.support.staff_members import PASSWORD, join_pilot
from tests.support.staff_site import StaffSite, create_draft, send, token_of

from dissensus.errors import NotAllowed
from dissensus.store.identity.sessions import add_staff_session
from dissensus.workflows.platform import api_tokens, directory, security_log, sessions, sign_in_links

DIRECTORY = "/directory"


@pytest.fixture
def operator(staff_site: StaffSite) -> httpx.Client:
    create_draft(staff_site)
    browser = staff_site.owner()
    refused = browser.get(DIRECTORY)
    assert (refused.status_code, "dissensus staff operator NAME" in refused.text) == (403, True)
    directory.set_operator(staff_site.platform, "ada", operator=True, now=NOW)
    return browser


def rows(page: httpx.Response) -> dict[str, str]:
    """The text of each row, by the person."""
    lines = re.findall(r"<tr>\s*<th scope=\"row\"[^>]*>(\w+)(.*?)</tr>", page.text, re.DOTALL)
    return {name: " ".join(re.sub(r"<[^>]+>", " ", text).split()) for name, text in lines}


def test_an_operator_sees_who_has_an_account(staff_site: StaffSite, operator: httpx.Client) -> None:
    join_pilot(staff_site, "grace", "analyst")
    sign_in_links.create_sign_in_link(staff_site.platform, "mia", now=NOW)
    assert 'href="/directory"' in operator.get("/account").text
    listed = rows(operator.get(DIRECTORY))
    assert list(listed) == ["ada", "grace", "mia"]
    assert listed["ada"] == "operator 2026-03-01 12:00 UTC none pilot: owner"
    assert listed["grace"] == "2026-03-01 12:00 UTC none pilot: analyst Disable"
    assert listed["mia"] == "none in the log none none Disable"
    directory.set_operator(staff_site.platform, "ada", operator=False, now=NOW)
    assert operator.get(DIRECTORY).status_code == 403
    assert "/directory" not in operator.get("/account").text


def test_a_disabled_account_is_admitted_by_no_door_until_it_is_enabled(
    staff_site: StaffSite, operator: httpx.Client
) -> None:
    platform = staff_site.platform
    grace = join_pilot(staff_site, "grace", "owner")
    person = sign_in_links.create_sign_in_link(platform, "grace", now=NOW).staff
    key, _ = api_tokens.create_token(platform, person, "all", scopes=("see",), days=1, now=NOW)
    api: dict[str, Any] = {"headers": {"authorization": f"Bearer {key}"}}
    link = sign_in_links.create_sign_in_link(platform, "grace", now=NOW).key
    invited = send(grace, "/campaigns/pilot/staff/invite", role="owner")
    (invitation,) = re.findall(r'value="(http[^"]+/join/[^"]+)"', invited.text)
    assert grace.get("/campaigns/pilot").status_code == 200
    assert staff_site.stranger().get("/api/v1/campaigns/pilot", **api).status_code == 200
    assert send(operator, f"{DIRECTORY}/disable", person="grace").status_code == 303
    assert "disabled" in rows(operator.get(DIRECTORY))["grace"]
    assert grace.get("/campaigns/pilot").status_code == 403
    assert staff_site.stranger().get("/api/v1/campaigns/pilot", **api).status_code == 401
    with pytest.raises(NotAllowed, match="This link was used"):
        sign_in_links.sign_in_with_link(platform, link, network=None, now=NOW)
    with pytest.raises(NotAllowed, match="This account is disabled"):
        sign_in_links.sign_in_with_link(
            platform, sign_in_links.create_sign_in_link(platform, "grace", now=NOW).key, network=None, now=NOW
        )
    refused = sign_in(staff_site)
    assert (refused.status_code, "This account is disabled" in refused.text) == (403, True)
    # Neither the links that she gave away nor a session that began meanwhile.
    assert staff_site.stranger().get(invitation).status_code == 403
    with platform.database.writing() as tx:
        add_staff_session(tx, person.id, "late", now=NOW, expires_at=NOW + timedelta(days=1))
    assert sessions.staff_of_session(platform, "late", now=NOW) is None
    assert send(operator, f"{DIRECTORY}/enable", person="grace").status_code == 303
    assert sessions.staff_of_session(platform, "late", now=NOW) is not None
    assert sign_in(staff_site).status_code == 303
    assert staff_site.stranger().get("/api/v1/campaigns/pilot", **api).status_code == 200
    kinds = [(event.kind, event.content) for event in security_log.list_own_events(platform, person, since=NOW)]
    assert ("account_disabled", {"by": "ada"}) in kinds
    assert ("account_enabled", {"by": "ada"}) in kinds
    own = send(operator, f"{DIRECTORY}/disable", person="ada")
    assert (own.status_code, "You cannot disable your own account" in own.text) == (409, True)


@sqlite_only
def test_a_confirmation_leads_back_to_the_directory(staff_site: StaffSite, operator: httpx.Client) -> None:
    staff_site.live.clock.forward(minutes=11)
    stopped = send(operator, f"{DIRECTORY}/disable", person="ada")
    assert (stopped.status_code, stopped.headers["location"]) == (303, "/account/confirm?to=%2Fdirectory")
    assert 'href="/directory">Back without a change' in operator.get(stopped.headers["location"]).text


def sign_in(staff_site: StaffSite) -> httpx.Response:
    browser = staff_site.stranger()
    form = {"form_token": token_of(browser.get("/sign-in")), "name": "grace", "password": PASSWORD}
    return browser.post("/sign-in", data=form)
