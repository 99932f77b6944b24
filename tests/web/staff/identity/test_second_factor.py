"""Second-factor pages: set-up, sign-in with a code, recovery, removal, and the requirement for owners."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from html import unescape

import httpx
import pyotp
import pytest
from tests.databases import sqlite_only
from tests.support.live_site import serving
from tests.support.staff_site import StaffSite, create_draft, send, token_of

from dissensus.workflows.platform import api_tokens, sign_in_links, staff

PAGE = "/account/second-factor"
STEP = timedelta(seconds=30)


def set_up(staff_site: StaffSite, browser: httpx.Client) -> tuple[pyotp.TOTP, list[str]]:
    """Set up a second factor; return the codes of the app and the recovery codes."""
    assert send(browser, f"{PAGE}/begin").headers["location"] == PAGE
    page = browser.get(PAGE).text
    (secret,) = re.findall(r'<code class="secret">([A-Z2-7 ]+)</code>', page)
    assert "<svg" in page
    app = pyotp.TOTP(secret.replace(" ", ""))
    shown = send(browser, f"{PAGE}/confirm", code=app.at(staff_site.live.clock()))
    assert "The second factor is in use" in shown.text
    return app, re.findall(r"<code>([a-z2-7-]{19})</code>", shown.text)


def begin_sign_in(staff_site: StaffSite) -> httpx.Client:
    """A browser that used a sign-in link and is asked for a code."""
    browser = staff_site.stranger()
    link = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=staff_site.live.clock())
    path = f"/sign-in/{link.key}"
    asked = browser.post(path, data={"form_token": token_of(browser.get(path))})
    assert (asked.status_code, asked.headers["location"]) == (303, "/second-factor")
    return browser


def enter_code(browser: httpx.Client, code: str) -> httpx.Response:
    return browser.post("/second-factor", data={"form_token": token_of(browser.get("/second-factor")), "code": code})


@sqlite_only
def test_signing_in_asks_for_a_code(staff_site: StaffSite) -> None:
    first, other = staff_site.owner(), staff_site.owner()
    app, codes = set_up(staff_site, first)
    assert len(codes) == 10
    assert other.get("/campaigns").status_code == 403
    page = first.get(PAGE).text
    assert "secret" not in page
    assert not any(code in page for code in codes)
    browser = begin_sign_in(staff_site)
    pending = browser.cookies["dissensus_staff"]
    for path in ("/campaigns", "/account", PAGE):
        assert browser.get(path).status_code == 403
    assert "The code is wrong, or was used before" in unescape(enter_code(browser, "000000").text)
    assert browser.post("/second-factor", data={"form_token": "0" * 64, "code": codes[0]}).status_code == 403
    staff_site.live.clock.forward(seconds=30)
    done = enter_code(browser, app.at(staff_site.live.clock()))
    assert (done.status_code, done.headers["location"]) == (303, "/campaigns")
    assert browser.cookies["dissensus_staff"] != pending
    assert browser.get("/campaigns").status_code == 200
    assert enter_code(begin_sign_in(staff_site), codes[0]).status_code == 303
    assert browser.get("/second-factor").headers["location"] == "/sign-in"


@sqlite_only
def test_a_code_confirms_the_identity(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    app, _ = set_up(staff_site, browser)
    staff_site.live.clock.forward(minutes=11)
    assert send(browser, f"{PAGE}/remove").headers["location"] == "/account/confirm?to=%2Faccount%2Fsecond-factor"
    assert send(browser, "/account/confirm", to=PAGE, code="000000").status_code == 422
    code = app.at(staff_site.live.clock())
    assert send(browser, "/account/confirm", to=PAGE, code=code).headers["location"] == PAGE
    assert send(browser, f"{PAGE}/remove").headers["location"] == PAGE
    assert staff_site.owner().get("/campaigns").status_code == 200


@sqlite_only
def test_new_recovery_codes_replace_the_earlier_ones(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    _, codes = set_up(staff_site, browser)
    renewed = re.findall(r"<code>([a-z2-7-]{19})</code>", send(browser, f"{PAGE}/recovery-codes").text)
    assert enter_code(begin_sign_in(staff_site), codes[0]).status_code == 403
    assert enter_code(begin_sign_in(staff_site), renewed[0]).status_code == 303
    assert "9 unused" in browser.get(PAGE).text


@pytest.fixture
def strict_house(database_url: str) -> Iterator[StaffSite]:
    with serving(database_url, owners_need_second_factor=True) as live, ExitStack() as browsers:
        yield StaffSite(live, browsers)


@sqlite_only
def test_owners_can_be_required_to_have_a_second_factor(strict_house: StaffSite) -> None:
    staff_site = strict_house
    create_draft(staff_site)
    browser, now = staff_site.owner(), staff_site.live.clock()
    ada = staff.find_or_create_owner(staff_site.platform, "ada", now=now)
    key, _ = api_tokens.create_token(staff_site.platform, ada, "nightly", scopes=["see"], days=1, now=now)

    def ask() -> int:
        headers = {"authorization": f"Bearer {key}"}
        return staff_site.stranger().get("/api/v1/campaigns/pilot", headers=headers).status_code

    refused = browser.get("/campaigns/pilot")
    assert (refused.status_code, refused.headers["location"]) == (303, PAGE)
    assert "owners of campaigns need a second factor" in browser.get(PAGE).text
    assert ask() == 403
    set_up(staff_site, browser)
    assert browser.get("/campaigns/pilot").status_code == 200
    assert ask() == 200
