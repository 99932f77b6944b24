"""Passkey pages: registration, sign-in, confirmation, the requirement for owners, and refused requests."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from html import unescape
from typing import Any

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.authenticator import Authenticator
from tests.support.live_site import serving
from tests.support.staff_site import StaffSite, create_draft, send, token_of

from dissensus.workflows.platform import sign_in_links

PAGE = "/account/second-factor"
ADDRESS = "http://localhost:8000"


@pytest.fixture
def staff_site(database_url: str) -> Iterator[StaffSite]:
    with serving(database_url, base_url=ADDRESS, owners_need_second_factor=True) as live, ExitStack() as browsers:
        yield StaffSite(live, browsers)


def options_of(browser: httpx.Client, page: str, path: str) -> dict[str, Any]:
    """Ask for options as the script of a page does."""
    data = {"form_token": token_of(browser.get(page))}
    response = browser.post(path, data=data, headers={"accept": "application/json"})
    assert response.status_code == 200, response.text
    options: dict[str, Any] = response.json()
    return options


def register(browser: httpx.Client, device: Authenticator, name: str = "Laptop") -> httpx.Response:
    answer = device.create(options_of(browser, PAGE, f"{PAGE}/passkey-options"))
    return send(browser, f"{PAGE}/add-passkey", credential=answer, name=name)


def use(browser: httpx.Client, device: Authenticator, page: str) -> httpx.Response:
    """Use a passkey on the sign-in page or on that of the second factor."""
    prefix = "/passkey/options" if page == "/sign-in" else f"{page}/passkey-options"
    answer = device.get(options_of(browser, page, prefix))
    path = "/passkey" if page == "/sign-in" else f"{page}/passkey"
    return browser.post(path, data={"form_token": token_of(browser.get(page)), "credential": answer})


def begin_sign_in(staff_site: StaffSite) -> httpx.Client:
    """A browser that used a sign-in link and is asked for a second factor."""
    browser = staff_site.stranger()
    path = f"/sign-in/{sign_in_links.create_sign_in_link(staff_site.platform, 'ada', now=staff_site.live.clock()).key}"
    asked = browser.post(path, data={"form_token": token_of(browser.get(path))})
    assert asked.headers["location"] == "/second-factor"
    return browser


@sqlite_only
def test_owners_meet_the_requirement_by_a_passkey(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    browser, device = staff_site.owner(), Authenticator(ADDRESS)
    assert browser.get("/campaigns/pilot").headers["location"] == PAGE
    codes = re.findall(r"<code>([a-z2-7-]{19})</code>", register(browser, device).text)
    assert len(codes) == 10
    assert browser.get("/campaigns/pilot").status_code == 200
    assert register(browser, Authenticator(ADDRESS), "<b>Key</b>").headers["location"] == PAGE
    page = browser.get(PAGE).text
    assert "Laptop" in page
    assert "&lt;b&gt;Key&lt;/b&gt;" in page
    assert "In use: 2 passkeys, with 10 unused recovery codes." in browser.get("/account").text
    other = begin_sign_in(staff_site)
    assert "One of your recovery codes" in other.get("/second-factor").text
    done = use(other, device, "/second-factor")
    assert (done.status_code, done.headers["location"]) == (303, "/campaigns")
    assert other.get("/campaigns/pilot").status_code == 200
    without_name = staff_site.stranger()
    assert use(without_name, device, "/sign-in").headers["location"] == "/campaigns"
    assert without_name.get("/campaigns/pilot").status_code == 200


@sqlite_only
def test_answers_that_do_not_fit_open_nothing(staff_site: StaffSite) -> None:
    browser, device = staff_site.owner(), Authenticator(ADDRESS)
    imitation = register(browser, Authenticator("https://localhost.example"))
    assert imitation.status_code == 422
    assert "The passkey was not added, since the answer of the browser does not fit" in imitation.text
    register(browser, device)
    hostile = device.with_changes(origin="https://localhost.example")
    stranger, pending = staff_site.stranger(), begin_sign_in(staff_site)
    for tab, page in ((stranger, "/sign-in"), (pending, "/second-factor")):
        refused = use(tab, hostile, page)
        assert refused.status_code == 403
        assert "The passkey was not accepted" in refused.text
        assert tab.get("/campaigns").status_code == 403
    for path in ("/passkey/options", "/passkey"):
        assert stranger.post(path, data={"form_token": "0" * 64}).status_code == 403
        assert (
            staff_site.stranger().post(path, data={"form_token": token_of(stranger.get("/sign-in"))}).status_code == 403
        )
    for path in ("/second-factor/passkey-options", "/second-factor/passkey"):
        assert pending.post(path, data={"form_token": "0" * 64}).status_code == 403
    assert stranger.post("/second-factor/passkey").headers["location"] == "/sign-in"
    expired = stranger.post("/second-factor/passkey-options")
    assert (expired.status_code, "Signing in took too long" in expired.text) == (422, True)


@sqlite_only
def test_changes_of_passkeys_need_a_recent_confirmation(staff_site: StaffSite) -> None:
    browser, device = staff_site.owner(), Authenticator(ADDRESS)
    register(browser, device)
    staff_site.live.clock.forward(minutes=11)
    for path in ("passkey-options", "add-passkey", "remove-passkey"):
        assert send(browser, f"{PAGE}/{path}").headers["location"] == "/account/confirm?to=%2Faccount%2Fsecond-factor"
    confirm = "/account/confirm"
    wrong = send(browser, f"{confirm}/passkey", to=PAGE, credential="{}")
    assert "answered before" in unescape(wrong.text)
    answer = device.get(options_of(browser, confirm, f"{confirm}/passkey-options"))
    assert send(browser, f"{confirm}/passkey", to=PAGE, credential=answer).headers["location"] == PAGE
    (passkey_id,) = re.findall(r'name="passkey" value="([^"]+)"', browser.get(PAGE).text)
    assert send(browser, f"{PAGE}/remove-passkey", passkey=passkey_id).headers["location"] == PAGE
    assert "You have none" in browser.get("/account").text
    staff_site.owner()


@sqlite_only
def test_addresses_without_passkeys_say_so(database_url: str) -> None:
    with serving(database_url) as live, ExitStack() as browsers:
        browser = StaffSite(live, browsers).owner()
        assert "At this address browsers offer no passkeys" in browser.get(PAGE).text
        refused = browser.post(
            f"{PAGE}/passkey-options",
            data={"form_token": token_of(browser.get(PAGE))},
            headers={"accept": "application/json"},
        )
        assert refused.status_code == 422
        assert refused.json()["error"].startswith("This address has no passkeys: they need HTTPS")
