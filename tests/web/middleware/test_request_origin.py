"""Hosts that the site answers for, and requests of other sites."""

import pytest
from tests.databases import sqlite_only
from tests.support.live_site import LiveSite, serving
from tests.support.staff_site import StaffSite, create_draft

pytestmark = sqlite_only
ORIGINS = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::1", "127.0.0.2"])
def test_requests_for_other_hosts_are_refused(live: LiveSite, host: str) -> None:
    visitor = live.visitor()
    for path in ("/", "/sign-in", "/api/v1/campaigns", "/static/x/rater.css"):
        response = visitor.get(path, headers={"host": host})
        assert response.status_code == 421, path
        assert "set base_url" in response.text
        assert "set-cookie" not in response.headers


@pytest.mark.parametrize("host", ["127.0.0.1", "LOCALHOST:8000", "[::1]:8000"])
def test_loopback_is_always_allowed(live: LiveSite, host: str) -> None:
    assert live.visitor().get("/sign-in", headers={"host": host}).status_code == 200


def test_probes_are_answered_by_any_name(live: LiveSite) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        assert live.visitor().get(path, headers={"host": "site:8000"}).status_code == 200


def test_links_never_contain_a_host_of_the_request(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    owner = staff_site.owner()
    assert owner.get("/campaigns/pilot", headers={"host": "evil.example"}).status_code == 421
    assert "evil.example" not in owner.get("/campaigns/pilot").text


def test_the_host_of_the_public_address_is_allowed(database_url: str) -> None:
    with serving(database_url, base_url="https://rate.example.org") as live:
        for host, status in (("rate.example.org", 200), ("rate.example.org:443", 200), ("example.org", 421)):
            assert live.visitor().get("/sign-in", headers={"host": host}).status_code == status


def test_requests_of_other_sites_are_refused(live: LiveSite) -> None:
    for headers in ORIGINS:
        response = live.visitor().http.post("/notice", headers=headers)
        assert (response.status_code, "from another site" in response.text) == (403, True), headers


def test_requests_of_this_site_and_of_programs_are_passed_on(live: LiveSite) -> None:
    origin = {"origin": live.url}
    for headers in ({}, origin, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none", "origin": "null"}):
        response = live.visitor().http.post("/c/pilot", headers=headers)
        assert (response.status_code, "from another site" in response.text) == (422, False), headers
    # Browsers that send both headers are asked for the one that pages cannot change.
    refused = live.visitor().http.post("/c/pilot", headers={**origin, "sec-fetch-site": "cross-site"})
    assert refused.status_code == 403


def test_links_of_other_sites_lead_to_pages(live: LiveSite) -> None:
    for headers in ORIGINS:
        assert live.visitor().get("/sign-in", headers=headers).status_code == 200, headers
