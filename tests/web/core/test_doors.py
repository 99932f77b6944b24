"""Hostile input at every door of the site: it is refused, and nobody else waits."""

import gc
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from tests.support.campaigns import AGREED, NOW, definition, items
from tests.support.doors import MIB, Door, HostileRequest, attack, json_bombs, large_items, list_doors
from tests.support.live_site import TRUST, Live, serving
from tests.support.loop_clock import LoopClock

from dissensus.web.api.auth import TokenRoute
from dissensus.web.core.permissions import SCOPES
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import api_tokens, staff
from dissensus.workflows.rater import enrolment
from dissensus.workflows.rater.enrolment import Arrival

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
SHORT = (
    *("POST /sign-in", "POST /c/{name}", "POST /rate/{assignment_id}/save", "POST /rate/{assignment_id}"),
    *("GET /oidc/callback", "POST /prolific/events", "POST /campaigns/new", "POST /api/v1/campaigns"),
    "POST /api/v1/campaigns/{name}/items",
)
SHORT_KINDS = re.compile(
    "deep JSON$|many keys$|(faults|keys) in|many fields|quoted field|many parts|dotted key|long cookie"
)
JSON_BOMBS = re.compile("JSON")
UPLOAD = "POST /campaigns/new"
"""The door that meets files of the largest size; all uploads have one reader."""
UNLIMITED = dict.fromkeys(
    ("saves_per_rater", "notices_per_rater", "notices_per_address", "entries_per_link", "entries_per_address"), 0
)


@dataclass
class Castle:
    """A site with an owner, a rater and a program, and its measures."""

    live: Live
    clock: LoopClock
    http: httpx.Client
    staff_name: str
    key: str
    token: str

    def doors(self) -> list[Door]:
        return list_doors(self.live.app)

    def attacks(self, door: Door, **options: Any) -> Iterator[HostileRequest]:
        """Hostile requests to a door by somebody who may pass it."""
        path, form_token, headers = self.passage(door)
        return attack(door, path, form_token, headers, **options)

    def passage(self, door: Door) -> tuple[str, str, dict[str, str]]:
        """The path of a door, and the form token and the headers of somebody who may pass it."""
        platform, tokens = self.live.platform, self.live.site.tokens
        link = staff.create_sign_in_link(platform, self.staff_name, now=NOW)
        session = staff.sign_in_with_link(platform, link.key, now=NOW)
        rater, rater_session = enrolment.enrol_rater(platform, Arrival("pilot", self.key, "en"), AGREED, now=NOW)
        arrival = Arrival("pilot", self.key, "en", enrolment.new_entry_id(NOW))
        cookies = {
            "dissensus_staff": session,
            "dissensus_rater": rater_session,
            "dissensus_arrival": tokens.sign_arrival(arrival, now=NOW),
        }
        values = {"name": "pilot", "position": "0", "token": tokens.sign_withdrawal(rater.id)}
        path = re.sub(r"{(\w+)}", lambda match: values.get(match[1], "x"), door.route.path)
        form_token = tokens.csrf_token(session if door.is_for_staff else rater_session)
        headers = {"cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
        headers |= {"authorization": f"Bearer {self.token}"} if door.is_api else {"x-form-token": form_token}
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
def castle(database_url: str) -> Iterator[Castle]:
    with (
        serving(database_url, **UNLIMITED) as live,
        httpx.Client(base_url=live.url, timeout=60, verify=TRUST) as http,
    ):
        owner = staff.create_sign_in_link(live.platform, "ada", now=NOW).staff
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
        yield Castle(live, clock, http, "ada", str(campaign.key), token)


def storm(
    site: Castle, doors: Iterable[Door], kinds: re.Pattern[str] = re.compile(""), **sizes: int
) -> tuple[int, list[str]]:
    """Attack doors, and each parser at its first door; return the number of requests and their faults."""
    n, faults, parsers = 0, list[str](), set[tuple[object, ...]]()
    for door in doors:
        is_first = door.parser not in parsers
        parsers.add(door.parser)
        for request in site.attacks(door, parser=is_first, **sizes):
            if kinds.search(request.name):
                n += 1
                faults += site.measure(request)
    return n, faults


def test_hostile_input_is_refused_and_nobody_waits(database_url: str) -> None:
    with castle(database_url) as site:
        doors = [door for door in site.doors() if door.name in SHORT]
        assert {door.name for door in doors} == set(SHORT)
        n, faults = storm(site, doors, SHORT_KINDS, size=MIB // 2)
    assert not faults, "\n".join(faults)
    assert n > 30


@pytest.mark.slow
def test_hostile_input_at_every_door_is_refused_and_nobody_waits(database_url: str) -> None:
    with castle(database_url) as site:
        doors = site.doors()
        assert {type(door.route) for door in doors if door.is_api} == {TokenRoute}
        n, faults = storm(site, doors, file_size=MIB // 8)
        n_files, file_faults = storm(site, [door for door in doors if door.name == UPLOAD], JSON_BOMBS)
        faults += file_faults
    assert n_files > 2 * len(json_bombs(MIB))
    assert not faults, "\n".join(faults)
    assert n > 1_000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["POST /api/v1/campaigns/{name}/items", "POST /campaigns/new", "POST /curation"])
def test_nobody_waits_for_many_items(database_url: str, name: str) -> None:
    with castle(database_url) as site:
        (door,) = (door for door in site.doors() if door.name == name)
        faults = [fault for request in large_items(door, *site.passage(door)) for fault in site.measure(request)]
    assert not faults, "\n".join(faults)


def test_doors_are_listed_with_their_fields(database_url: str) -> None:
    with serving(database_url) as live:
        doors = {door.name: door for door in list_doors(live.app)}
    assert len(doors) > 100
    for name in (UPLOAD, "POST /campaigns/{name}/revise", "POST /curation", "POST /campaigns/{name}/conversations"):
        assert {"definition", "items", "items_file", "pasted", "example"} <= doors[name].form_fields()
    assert doors["POST /campaigns/{name}/state"].form_fields() == {"state"}
    assert doors["GET /oidc/callback"].fields("query") >= {"code", "state"}
    assert "dissensus_staff" in doors["GET /campaigns"].fields("cookie")
    assert "purpose" in doors["GET /campaigns/{name}/export.csv"].fields("query")
