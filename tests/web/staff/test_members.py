"""Rights that end with their giver: invitations, API tokens and sessions of removed and demoted members."""

import re

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.staff_members import join_pilot
from tests.support.staff_site import StaffSite, create_draft, send, token_of

MEMBERS = "/campaigns/pilot/staff"
API_MEMBERS = "/api/v1/campaigns/pilot/members"


@pytest.fixture
def ada(staff_site: StaffSite) -> httpx.Client:
    create_draft(staff_site)
    return staff_site.owner()


def invite(browser: httpx.Client, role: str = "owner") -> str:
    page = send(browser, f"{MEMBERS}/invite", role=role)
    (link,) = re.findall(r'value="(http[^"]+/join/[^"]+)"', page.text)
    return str(link)


def make_token(browser: httpx.Client, *scopes: str, name: str = "nightly") -> str:
    data = {"form_token": token_of(browser.get("/account")), "name": name, "scope": list(scopes), "days": "30"}
    (key,) = re.findall(r'value="(dis_[^"]+)"', browser.post("/account/tokens", data=data).text)
    return str(key)


def invite_by_token(staff_site: StaffSite, key: str) -> str:
    made = staff_site.stranger().post(API_MEMBERS, json={"role": "owner"}, headers={"authorization": f"Bearer {key}"})
    assert made.status_code == 201, made.text
    return str(made.json()["link"])


def ask(staff_site: StaffSite, key: str, path: str = API_MEMBERS) -> httpx.Response:
    return staff_site.stranger().get(path, headers={"authorization": f"Bearer {key}"})


def opens(staff_site: StaffSite, link: str) -> bool:
    status = staff_site.stranger().get(link).status_code
    assert status in (200, 403)
    return status == 200


@sqlite_only
@pytest.mark.parametrize("change", [("remove", {}), ("role", {"role": "analyst"})])
def test_rights_of_an_owner_end_with_the_role(
    staff_site: StaffSite, ada: httpx.Client, change: tuple[str, dict[str, str]]
) -> None:
    bob = join_pilot(staff_site, "bob", "owner")
    create_draft(staff_site, "second", owner="bob")
    links = [invite(bob), invite_by_token(staff_site, key := make_token(bob, "staff", "see"))]
    others = invite(ada)
    assert all(opens(staff_site, link) for link in links)
    path, fields = change
    assert send(ada, f"{MEMBERS}/{path}", person="bob", **fields).status_code == 303
    assert bob.get("/campaigns").status_code == 403
    bob = staff_site.owner("bob")
    for link in links:
        assert bob.get(link).status_code == 403
        assert bob.post(link, data={"form_token": token_of(bob.get("/campaigns"))}).status_code == 403
    assert ask(staff_site, key).status_code == (404 if path == "remove" else 403)
    # A role that is given again does not revive what was made under the former one.
    if path == "role":
        send(ada, f"{MEMBERS}/role", person="bob", role="owner")
    else:
        again = invite(ada)
        bob.post(again, data={"form_token": token_of(bob.get(again))})
    assert bob.get(MEMBERS).status_code == 200
    assert not any(opens(staff_site, link) for link in links)
    refused = ask(staff_site, key)
    assert refused.status_code == 403
    assert "This token ended in pilot" in refused.text
    assert ask(staff_site, key, "/api/v1/campaigns/second").status_code == 200
    assert opens(staff_site, others)


@sqlite_only
def test_a_link_made_through_a_token_ends_with_the_token(staff_site: StaffSite, ada: httpx.Client) -> None:
    key = make_token(ada, "staff")
    links = [invite_by_token(staff_site, key) for _ in range(2)]
    assert ada.get(links[0]).status_code == 200
    (token,) = re.findall(r'name="token" value="(\w+)"', ada.get("/account").text)
    send(ada, "/account/tokens/revoke", token=token)
    assert not opens(staff_site, links[0])
    expiring = invite_by_token(staff_site, make_token(ada, "staff", name="hourly"))
    staff_site.live.clock.forward(days=6)
    assert opens(staff_site, expiring)


@sqlite_only
def test_a_link_ends_when_its_token_expires(staff_site: StaffSite, ada: httpx.Client) -> None:
    data = {"form_token": token_of(ada.get("/account")), "name": "short", "scope": "staff", "days": "1"}
    (key,) = re.findall(r'value="(dis_[^"]+)"', ada.post("/account/tokens", data=data).text)
    link = invite_by_token(staff_site, key)
    assert opens(staff_site, link)
    staff_site.live.clock.forward(days=1)
    assert not opens(staff_site, link)


def test_owners_see_and_end_what_members_made(staff_site: StaffSite, ada: httpx.Client) -> None:
    bob = join_pilot(staff_site, "bob", "owner")
    key = make_token(bob, "staff", "list", name="bobs program")
    make_token(bob, "list", name="elsewhere")
    link = invite_by_token(staff_site, key)
    page = ada.get(MEMBERS).text
    assert "invited by ada" in page
    assert "made by bob, with the token bobs program" in page
    # The token without a scope in campaigns does not belong to this one.
    assert "elsewhere" not in page
    (token,) = re.findall(r'name="token" value="(\w+)"', page)
    assert send(bob, f"{MEMBERS}/token", token="0" * 64).status_code == 404
    assert send(ada, f"{MEMBERS}/token", token=token).status_code == 303
    assert "bobs program" not in ada.get(MEMBERS).text
    assert "This token ended in pilot" in ask(staff_site, key).text
    assert ask(staff_site, key, "/api/v1/campaigns").json()["data"] == []
    assert not opens(staff_site, link)
    assert "not in pilot" in bob.get("/account").text


def test_people_see_and_revoke_their_own_links(staff_site: StaffSite, ada: httpx.Client) -> None:
    bob = join_pilot(staff_site, "bob", "owner")
    link = invite(bob, "expert")
    page = bob.get("/account").text
    assert "pilot" in page
    (invitation,) = re.findall(r'name="invitation" value="(\w+)"', page)
    assert "invitation" not in re.findall(r'name="(\w+)"', ada.get("/account").text)
    send(ada, "/account/invitations/revoke", invitation=invitation)
    assert opens(staff_site, link)
    assert send(bob, "/account/invitations/revoke", invitation=invitation).status_code == 303
    assert not opens(staff_site, link)
