"""Webhooks by the API and by the page of owners, over both kinds of database."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from tests.support.api_programs import API, belongs, opened, program, rate
from tests.support.live_site import Live, serving
from tests.support.staff_browsers import House, make, send
from tests.support.webhook_office import Office, data_of, is_signed, kinds
from tests.webhook_transport.receiver import Receiver, receiving

from dissensus.web.core.permissions import SCOPES

one_kind = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
HOOKS = f"{API}/pilot/webhooks"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as state:
        yield state


@pytest.fixture
def live(database_url: str) -> Iterator[Live]:
    with serving(database_url, webhook_networks="127.0.0.0/8") as site:
        yield site


@pytest.fixture
def house(live: Live) -> Iterator[House]:
    with ExitStack() as browsers:
        yield House(live, browsers)


def office(house: House) -> Office:
    return Office(house.platform, post=house.live.site.post)


def add(http: httpx.Client, receiver: Receiver, path: str = "ok", **more: Any) -> dict[str, Any]:
    answer = http.post(HOOKS, json={"address": receiver.address(path), "after": 0, **more})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def test_what_is_delivered_is_what_the_log_shows(house: House, receiver: Receiver) -> None:
    kept, http = opened(house), program(house)
    made = add(http, receiver)
    rate(house, kept, 2, release=True)
    raters = http.get(f"{API}/pilot/raters").json()["data"]
    assert http.delete(f"{API}/pilot/raters/{raters[0]['id']}").status_code == 200
    office(house).turn()
    (got,) = receiver.got
    assert is_signed(got, made["secret"])
    listed = http.get(f"{API}/pilot/events", params={"limit": 500}).json()["data"]
    assert data_of(got)["events"] == [one for one in listed if one["kind"] != "erased"]
    assert {"item_submitted", "withdrawn", "webhook_changed"} <= {one["kind"] for one in listed}
    # No rater, no answer, and nothing by which one could be guessed.
    assert not any(rater["id"].encode() in got.body for rater in raters)
    assert not any({"digest", "save"} & set(one["content"]) for one in data_of(got)["events"])


def test_a_webhook_goes_through_its_life(house: House, receiver: Receiver) -> None:
    opened(house)
    http, post = program(house), office(house)
    made = add(http, receiver, kinds=["webhook_changed", "state_changed"])
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", made["secret"])
    assert (made["state"], made["kinds"], made["by"], made["sequence"]) == (
        "active",
        ["state_changed", "webhook_changed"],
        "ada",
        0,
    )
    receiver.first["ok"] = ["410"]
    post.turn()
    (found,) = http.get(HOOKS).json()["webhooks"]
    assert (found["state"], found["failure_reason"]) == ("paused", "it answered HTTP 410")
    assert "secret" not in found
    again = http.post(f"{HOOKS}/{made['id']}/state", json={"to": "active"})
    assert (again.status_code, again.json()["state"]) == (200, "active")
    post.turn()
    post.turn()
    assert kinds(receiver) == [
        "state_changed",
        "webhook_changed",
        "state_changed",
        "webhook_changed",
        "webhook_changed",
        "webhook_changed",
    ]
    assert http.delete(f"{HOOKS}/{made['id']}").status_code == 204
    assert http.get(HOOKS).json() == {"webhooks": []}
    assert http.delete(f"{HOOKS}/{made['id']}").status_code == 404
    post.turn()
    assert len(receiver.got) == 3
    told = [one for one in http.get(f"{API}/pilot/events").json()["data"] if one["kind"] == "webhook_changed"]
    assert [one["content"]["to"] for one in told] == ["added", "paused", "went on", "removed"]
    assert {one["content"]["host"] for one in told} == {"127.0.0.1"}


@one_kind
def test_the_same_request_twice_adds_one(house: House, receiver: Receiver) -> None:
    opened(house)
    http, sent = program(house), {"address": receiver.address("ok")}
    first, second = (http.post(HOOKS, json=sent, headers={"idempotency-key": "once"}) for _ in range(2))
    assert first.json() == second.json()
    assert len(http.get(HOOKS).json()["webhooks"]) == 1


@one_kind
@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({}, "address"),
        ({"address": "http://169.254.169.254/latest"}, "nowhere in a network that webhook_networks names"),
        ({"address": "https://[::ffff:10.0.0.1]/"}, "is nowhere on the public internet"),
        ({"address": "https://ada:hunter2@example.org/"}, "has no name and no password"),
        ({"address": "https://10.0.0.1/", "kinds": ["nonsense"]}, "'nonsense' is no kind of event"),
        ({"address": "https://x.org/", "after": -1}, "after in the body must be a number from 0 on"),
        ({"address": "https://x.org/", "secret": "mine"}, "secret"),
    ],
)
def test_what_cannot_be_added_is_refused_in_words(house: House, sent: dict[str, Any], says: str) -> None:
    opened(house)
    answer = program(house).post(HOOKS, json=sent)
    assert answer.status_code == 422
    assert says in answer.text
    assert "hunter2" not in answer.text


@one_kind
def test_where_nothing_is_allowed_the_machine_itself_is_not_asked(database_url: str, receiver: Receiver) -> None:
    with serving(database_url) as live, ExitStack() as browsers:
        house = House(live, browsers)
        opened(house)
        answer = program(house).post(HOOKS, json={"address": receiver.address("ok")})
        assert answer.status_code == 422
        assert receiver.got == []


@one_kind
def test_webhooks_of_others_are_as_if_they_never_were(house: House, receiver: Receiver) -> None:
    opened(house)
    belongs(house, "zoe", "analyst")
    make(house, "other", "bob")
    made = add(program(house), receiver)
    for http in (program(house, "bob"), program(house, "zoe")):
        assert http.get(HOOKS).status_code in (403, 404)
        assert http.delete(f"{HOOKS}/{made['id']}").status_code in (403, 404)
    others = f"{API}/other/webhooks/{made['id']}"
    assert program(house, "bob").delete(others).status_code == 404
    assert program(house, "bob").post(f"{others}/state", json={"to": "active"}).status_code == 404
    assert program(house, scopes=SCOPES - {"webhooks"}).get(HOOKS).status_code == 403
    assert len(program(house).get(HOOKS).json()["webhooks"]) == 1


def test_an_owner_adds_lets_go_on_and_removes_by_the_page(house: House, receiver: Receiver) -> None:
    make(house)
    browser, here, post = house.owner(), "/campaigns/pilot/webhooks", office(house)
    assert f'href="{here}"' in browser.get("/campaigns/pilot").text
    assert "Nobody yet" in browser.get(here).text
    made = send(browser, here, address=f" {receiver.address('ok')} ", **{"from": "start"})
    assert made.status_code == 200
    secret = re.search(r'value="(whsec_[^"]+)"', made.text)
    assert secret is not None
    assert secret[1] not in browser.get(here).text
    receiver.first["ok"] = ["500", "410"]
    post.turn()
    told = browser.get(here).text
    assert "it answered HTTP 500; 1 in a row, since 2026-03-01 12:00 UTC" in told
    assert "Try now" in told
    post.forward(minutes=1).turn()
    told = browser.get(here).text
    assert "It answered HTTP 410: it is gone" in told
    assert "nothing yet" in told
    webhook = re.search(r'name="webhook" value="([^"]+)"', told)
    assert webhook is not None
    assert send(browser, f"{here}/go-on", webhook=webhook[1]).headers["location"] == here
    post.turn()
    assert is_signed(receiver.got[-1], secret[1])
    assert "up to event 2, 2026-03-01 12:01 UTC" in browser.get(here).text
    assert send(browser, f"{here}/remove", webhook=webhook[1]).headers["location"] == here
    assert "Nobody yet" in browser.get(here).text


@one_kind
def test_what_was_typed_stays_with_all_that_is_wrong(house: House) -> None:
    make(house)
    browser, here = house.owner(), "/campaigns/pilot/webhooks"
    answer = send(browser, here, address="https://10.0.0.1/<x>", kind="nonsense", **{"from": "start"})
    assert answer.status_code == 422
    assert "is nowhere on the public internet" in answer.text
    assert "&#39;nonsense&#39; is no kind of event" in answer.text
    assert 'value="https://10.0.0.1/&lt;x&gt;"' in answer.text
    assert 'name="from" value="start" checked' in answer.text
