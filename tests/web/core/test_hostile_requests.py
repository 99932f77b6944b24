"""Hostile input at every endpoint of the site: it is refused, and nobody else waits."""

import gc
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import AGREED, NOW, definition, items
from tests.support.hostile_requests import (
    MIB,
    Endpoint,
    HostileRequest,
    attack,
    costly_json,
    large_items,
    list_endpoints,
)
from tests.support.live_site import TRUST, LiveSite, serving
from tests.support.loop_clock import LoopClock

from dissensus.web.api.auth import TokenRoute
from dissensus.web.core.permissions import SCOPES
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import api_tokens, sign_in_links
from dissensus.workflows.rater import enrolment
from dissensus.workflows.rater.enrolment import Arrival

pytestmark = sqlite_only
SHORT = (
    *("POST /sign-in", "POST /c/{name}", "POST /rate/{assignment_id}/save", "POST /rate/{assignment_id}"),
    *("GET /oidc/callback", "POST /prolific/events", "POST /campaigns/new", "POST /api/v1/campaigns"),
    "POST /api/v1/campaigns/{name}/items",
)
SHORT_KINDS = re.compile(
    "deep JSON$|many keys$|(faults|keys) in|many fields|quoted field|many parts|dotted key|long cookie"
)
COSTLY_JSON = re.compile("JSON")
UPLOAD = "POST /campaigns/new"
"""The endpoint that meets files of the largest size; all uploads have one reader."""
UNLIMITED = dict.fromkeys(
    ("saves_per_rater", "notices_per_rater", "notices_per_address", "entries_per_link", "entries_per_address"), 0
)


@dataclass
class AttackedSite:
    """A site with an owner, a rater and a program, and its measures."""

    live: LiveSite
    clock: LoopClock
    http: httpx.Client
    staff_name: str
    key: str
    token: str

    def endpoints(self) -> list[Endpoint]:
        return list_endpoints(self.live.app)

    def attacks(self, endpoint: Endpoint, **options: Any) -> Iterator[HostileRequest]:
        """Hostile requests to an endpoint by somebody with access."""
        path, form_token, headers = self.authorise(endpoint)
        return attack(endpoint, path, form_token, headers, **options)

    def authorise(self, endpoint: Endpoint) -> tuple[str, str, dict[str, str]]:
        """The path of an endpoint, and the form token and the headers of somebody with access."""
        platform, tokens = self.live.platform, self.live.site.tokens
        link = sign_in_links.create_sign_in_link(platform, self.staff_name, now=NOW)
        session = sign_in_links.sign_in_with_link(platform, link.key, network=None, now=NOW)
        rater, rater_session = enrolment.enrol_rater(platform, Arrival("pilot", self.key, "en"), AGREED, now=NOW)
        arrival = Arrival("pilot", self.key, "en", enrolment.new_entry_id(NOW))
        cookies = {
            "dissensus_staff": session,
            "dissensus_rater": rater_session,
            "dissensus_arrival": tokens.sign_arrival(arrival, now=NOW),
        }
        values = {"name": "pilot", "position": "0", "token": tokens.sign_withdrawal(rater.id)}
        path = re.sub(r"{(\w+)}", lambda match: values.get(match[1], "x"), endpoint.route.path)
        form_token = tokens.csrf_token(session if endpoint.is_for_staff else rater_session)
        headers = {"cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
        headers |= {"authorization": f"Bearer {self.token}"} if endpoint.is_api else {"x-form-token": form_token}
        return path, form_token, headers

    def send(self, request: HostileRequest) -> Iterator[str]:
        """Send a request, and yield its faults."""
        try:
            response = self.http.request(request.method, request.path, headers=request.headers, content=request.body)
            status = response.status_code
        except httpx.TransportError:
            # The site ended the connection after it had refused the request.
            status = 400
        if status >= 500:
            yield f"{request.name}: {status}"
        if request.is_refused and not 400 <= status < 500:
            yield f"{request.name}: {status} for {len(request.body):,} bytes"

    def measure(self, request: HostileRequest) -> Iterator[str]:
        """Send a request, and yield its faults and those of time and memory."""
        faults = dict[str, None]()
        lags = self.clock.measure(lambda: faults.update(dict.fromkeys(self.send(request))))
        yield from (*(f"{request.name}: {lag}" for lag in lags), *faults)


@contextmanager
def attacked_site(database_url: str) -> Iterator[AttackedSite]:
    with (
        serving(database_url, **UNLIMITED) as live,
        httpx.Client(base_url=live.url, timeout=60, verify=TRUST) as http,
    ):
        owner = sign_in_links.create_sign_in_link(live.platform, "ada", now=NOW).staff
        campaigns.create_campaign(live.platform, definition(), items(3), staff_id=owner.id, now=NOW)
        campaign = campaigns.change_state(live.platform, "pilot", "open", staff_id=owner.id, now=NOW)
        token, _ = api_tokens.create_token(live.platform, owner, "all", scopes=SCOPES, days=1, now=NOW)
        live.site.rate_limiter.burst = 10**9
        clock = LoopClock()
        live.app.add_api_route("/clock", clock.start)
        http.get("/clock").raise_for_status()
        # As a worker does after its start.
        gc.collect()
        gc.freeze()
        yield AttackedSite(live, clock, http, "ada", str(campaign.key), token)


def attack_endpoints(
    site: AttackedSite, endpoints: Iterable[Endpoint], kinds: re.Pattern[str] = re.compile(""), **sizes: int
) -> tuple[int, list[str]]:
    """Attack endpoints, and each parser at its first endpoint; return the number of requests and their faults."""
    n, faults, parsers = 0, list[str](), set[tuple[object, ...]]()
    for endpoint in endpoints:
        is_first = endpoint.parser not in parsers
        parsers.add(endpoint.parser)
        for request in site.attacks(endpoint, parser=is_first, **sizes):
            if kinds.search(request.name):
                n += 1
                faults += site.measure(request)
    return n, faults


@pytest.mark.slow
def test_hostile_input_is_refused_and_nobody_waits(database_url: str) -> None:
    with attacked_site(database_url) as site:
        endpoints = [endpoint for endpoint in site.endpoints() if endpoint.name in SHORT]
        assert {endpoint.name for endpoint in endpoints} == set(SHORT)
        n, faults = attack_endpoints(site, endpoints, SHORT_KINDS, size=MIB // 2)
    assert not faults, "\n".join(faults)
    assert n > 30


@pytest.mark.slow
def test_hostile_input_at_every_endpoint_is_refused_and_nobody_waits(database_url: str) -> None:
    with attacked_site(database_url) as site:
        endpoints = site.endpoints()
        assert {type(endpoint.route) for endpoint in endpoints if endpoint.is_api} == {TokenRoute}
        n, faults = attack_endpoints(site, endpoints, file_size=MIB // 8)
        n_files, file_faults = attack_endpoints(
            site, [endpoint for endpoint in endpoints if endpoint.name == UPLOAD], COSTLY_JSON
        )
        faults += file_faults
    assert n_files > 2 * len(costly_json(MIB))
    assert not faults, "\n".join(faults)
    assert n > 1_000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["POST /api/v1/campaigns/{name}/items", "POST /campaigns/new", "POST /curation"])
def test_nobody_waits_for_many_items(database_url: str, name: str) -> None:
    with attacked_site(database_url) as site:
        (endpoint,) = (endpoint for endpoint in site.endpoints() if endpoint.name == name)
        faults = [
            fault for request in large_items(endpoint, *site.authorise(endpoint)) for fault in site.measure(request)
        ]
    assert not faults, "\n".join(faults)


def test_endpoints_are_listed_with_their_fields(database_url: str) -> None:
    with serving(database_url) as live:
        endpoints = {endpoint.name: endpoint for endpoint in list_endpoints(live.app)}
    assert len(endpoints) > 100
    for name in (UPLOAD, "POST /campaigns/{name}/revise", "POST /curation", "POST /campaigns/{name}/conversations"):
        assert {"definition", "items", "items_file", "pasted", "example"} <= endpoints[name].form_fields()
    assert endpoints["POST /campaigns/{name}/state"].form_fields() == {"state"}
    assert endpoints["GET /oidc/callback"].fields("query") >= {"code", "state"}
    assert "dissensus_staff" in endpoints["GET /campaigns"].fields("cookie")
    assert "purpose" in endpoints["GET /campaigns/{name}/export.csv"].fields("query")
