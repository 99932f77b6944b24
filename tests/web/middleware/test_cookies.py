"""Attributes and prefix of cookies."""

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import NOW, open_campaign
from tests.support.live_site import TRUST, LiveSite, serving
from tests.support.staff_site import token_of

from dissensus.web.middleware.cookies import HOST_PREFIX
from dissensus.workflows.platform import sign_in_links

pytestmark = sqlite_only
PREFIX = HOST_PREFIX.decode()
ATTRIBUTES = {"httponly", "samesite=lax", "path=/"}


def set_all_cookies(live: LiveSite, headers: dict[str, str]) -> list[str]:
    """Enter as a rater, sign in, and sign out; return all cookies that were set or deleted."""
    campaign = open_campaign(live.platform, 3)
    cookies: dict[str, str] = {}
    rows: list[str] = []

    def send(method: str, path: str, **fields: object) -> httpx.Response:
        cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
        with httpx.Client(base_url=live.url, verify=TRUST, headers={**headers, "cookie": cookie}) as client:
            response = client.request(method, path, data=fields)
        for row in response.headers.get_list("set-cookie"):
            rows.append(row)
            name, _, value = row.partition(";")[0].partition("=")
            cookies[name] = value
        return response

    send("POST", "/c/pilot", key=campaign.key, language="en")
    assert send("POST", "/c/pilot/consent", purpose="rating").status_code == 303
    page = send("GET", "/rate")
    assert page.status_code == 200
    link = f"/sign-in/{sign_in_links.create_sign_in_link(live.platform, 'ada', now=NOW).key}"
    assert send("POST", link, form_token=token_of(send("GET", link))).headers["location"] == "/campaigns"
    account = send("GET", "/account")
    assert send("POST", "/sign-out", form_token=token_of(account)).status_code == 200
    return rows


@pytest.mark.parametrize(
    ("settings", "headers"),
    [({"base_url": "https://rate.example.org"}, {}), ({}, {"x-forwarded-proto": "https"})],
    ids=["by setting", "by proxy"],
)
def test_cookies_are_secure_and_of_this_host(
    database_url: str, settings: dict[str, str], headers: dict[str, str]
) -> None:
    with serving(database_url, **settings) as live:
        rows = set_all_cookies(live, headers)
    assert len(rows) >= 5
    for row in rows:
        name, *attributes = row.lower().split("; ")
        assert row.startswith(f"{PREFIX}dissensus_")
        assert set(attributes) >= ({"secure", "path=/"} if "max-age=0" in attributes else {"secure", *ATTRIBUTES})
        assert not any(attribute.startswith("domain") for attribute in attributes), name


def test_cookies_without_https_are_http_only_and_same_site(live: LiveSite) -> None:
    for row in set_all_cookies(live, {}):
        _, *attributes = row.lower().split("; ")
        assert row.startswith("dissensus_")
        assert "secure" not in attributes
        assert "max-age=0" in attributes or set(attributes) >= ATTRIBUTES


def test_a_cookie_of_another_host_of_the_domain_opens_no_session(database_url: str) -> None:
    with serving(database_url, base_url="https://rate.example.org") as live:
        link = f"/sign-in/{sign_in_links.create_sign_in_link(live.platform, 'ada', now=NOW).key}"
        with httpx.Client(base_url=live.url, verify=TRUST) as client:
            cookie = client.post(link, data={"form_token": token_of(client.get(link))}).headers["set-cookie"]
        session = cookie.partition(";")[0].removeprefix(PREFIX)
        visitor = live.visitor()
        assert visitor.get("/campaigns", headers={"cookie": f"{PREFIX}{session}"}).status_code == 200
        assert visitor.get("/campaigns", headers={"cookie": session}).status_code == 403
