"""Webhooks over the API and on the page of owners."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.api_programs import API, add_member, open_api_campaign, program, rate
from tests.support.live_site import LiveSite, serving
from tests.support.staff_site import StaffSite, create_draft, send
from tests.support.webhook_deliverer import WebhookDeliverer, data_of, is_signed, kinds
from tests.support.webhook_receiver import Receiver, receiving

from dissensus.web.core.permissions import SCOPES

HOOKS = f"{API}/pilot/webhooks"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as state:
        yield state


@pytest.fixture
def live(database_url: str) -> Iterator[LiveSite]:
    with serving(database_url, webhook_networks="127.0.0.0/8") as site:
        yield site


def deliverer(staff_site: StaffSite) -> WebhookDeliverer:
    return WebhookDeliverer(staff_site.platform, signer=staff_site.live.site.webhook_signer)


def add(http: httpx.Client, receiver: Receiver, path: str = "ok", **more: Any) -> dict[str, Any]:
    answer = http.post(HOOKS, json={"address": receiver.address(path), "after": 0, **more})
    assert answer.status_code == 201, answer.text
    webhook: dict[str, Any] = answer.json()
    return webhook


@sqlite_only
def test_deliveries_equal_the_events_of_the_log(staff_site: StaffSite, receiver: Receiver) -> None:
    campaign, http = open_api_campaign(staff_site), program(staff_site)
    webhook = add(http, receiver)
    rate(staff_site, campaign, 2, release=True)
    raters = http.get(f"{API}/pilot/raters").json()["data"]
    assert http.delete(f"{API}/pilot/raters/{raters[0]['id']}").status_code == 200
    deliverer(staff_site).turn()
    (delivery,) = receiver.requests
    assert is_signed(delivery, webhook["secret"])
    listed = http.get(f"{API}/pilot/events", params={"limit": 500}).json()["data"]
    assert data_of(delivery)["events"] == [one for one in listed if one["kind"] != "erased"]
    assert {"item_submitted", "withdrawn", "webhook_changed"} <= {one["kind"] for one in listed}
    # No rater, no answer, and nothing that reveals one.
    assert not any(rater["id"].encode() in delivery.body for rater in raters)
    assert not any({"digest", "save"} & set(one["content"]) for one in data_of(delivery)["events"])


@sqlite_only
def test_a_webhook_is_added_paused_resumed_and_removed(staff_site: StaffSite, receiver: Receiver) -> None:
    open_api_campaign(staff_site)
    http, post = program(staff_site), deliverer(staff_site)
    webhook = add(http, receiver, kinds=["webhook_changed", "state_changed"])
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", webhook["secret"])
    assert (webhook["state"], webhook["kinds"], webhook["owner"], webhook["sequence"]) == (
        "active",
        ["state_changed", "webhook_changed"],
        "ada",
        0,
    )
    receiver.first["ok"] = ["410"]
    post.turn()
    (listed,) = http.get(HOOKS).json()["webhooks"]
    assert (listed["state"], listed["failure_reason"]) == ("paused", "it answered HTTP 410")
    assert "secret" not in listed
    resumed = http.post(f"{HOOKS}/{webhook['id']}/state", json={"state": "active"})
    assert (resumed.status_code, resumed.json()["state"]) == (200, "active")
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
    assert http.delete(f"{HOOKS}/{webhook['id']}").status_code == 204
    assert http.get(HOOKS).json() == {"webhooks": []}
    assert http.delete(f"{HOOKS}/{webhook['id']}").status_code == 404
    post.turn()
    assert len(receiver.requests) == 3
    rows = [one for one in http.get(f"{API}/pilot/events").json()["data"] if one["kind"] == "webhook_changed"]
    assert [one["content"]["change"] for one in rows] == ["added", "paused", "resumed", "removed"]
    assert {one["content"]["host"] for one in rows} == {"127.0.0.1"}


@sqlite_only
def test_a_repeated_request_adds_one_webhook(staff_site: StaffSite, receiver: Receiver) -> None:
    open_api_campaign(staff_site)
    http, fields = program(staff_site), {"address": receiver.address("ok")}
    first, second = (http.post(HOOKS, json=fields, headers={"idempotency-key": "once"}) for _ in range(2))
    assert first.json() == second.json()
    assert len(http.get(HOOKS).json()["webhooks"]) == 1


@sqlite_only
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "address"),
        ({"address": "http://169.254.169.254/latest"}, "not in a network that webhook_networks names"),
        ({"address": "https://[::ffff:10.0.0.1]/"}, "is not on the public internet"),
        ({"address": "https://ada:hunter2@example.org/"}, "must not contain a user name or a password"),
        ({"address": "https://10.0.0.1/", "kinds": ["nonsense"]}, "'nonsense' is not a kind of event"),
        ({"address": "https://x.org/", "after": -1}, "after in the body must be 0 or more"),
        ({"address": "https://x.org/", "secret": "mine"}, "secret"),
    ],
)
def test_invalid_webhooks_are_rejected_with_the_reason(staff_site: StaffSite, body: dict[str, Any], says: str) -> None:
    open_api_campaign(staff_site)
    answer = program(staff_site).post(HOOKS, json=body)
    assert answer.status_code == 422
    assert says in answer.text
    assert "hunter2" not in answer.text


@sqlite_only
def test_private_addresses_are_not_contacted(database_url: str, receiver: Receiver) -> None:
    with serving(database_url) as live, ExitStack() as browsers:
        staff_site = StaffSite(live, browsers)
        open_api_campaign(staff_site)
        answer = program(staff_site).post(HOOKS, json={"address": receiver.address("ok")})
        assert answer.status_code == 422
        assert receiver.requests == []


@sqlite_only
def test_webhooks_of_others_are_not_found(staff_site: StaffSite, receiver: Receiver) -> None:
    open_api_campaign(staff_site)
    add_member(staff_site, "zoe", "analyst")
    create_draft(staff_site, "other", "bob")
    webhook = add(program(staff_site), receiver)
    for http, status in ((program(staff_site, "bob"), 404), (program(staff_site, "zoe"), 403)):
        assert http.get(HOOKS).status_code == status
        assert http.delete(f"{HOOKS}/{webhook['id']}").status_code == status
    foreign_path = f"{API}/other/webhooks/{webhook['id']}"
    assert program(staff_site, "bob").delete(foreign_path).status_code == 404
    assert program(staff_site, "bob").post(f"{foreign_path}/state", json={"state": "active"}).status_code == 404
    assert program(staff_site, scopes=SCOPES - {"webhooks"}).get(HOOKS).status_code == 403
    assert len(program(staff_site).get(HOOKS).json()["webhooks"]) == 1


@sqlite_only
def test_an_owner_adds_resumes_and_removes_webhooks_on_the_page(staff_site: StaffSite, receiver: Receiver) -> None:
    create_draft(staff_site)
    browser, path, post = staff_site.owner(), "/campaigns/pilot/webhooks", deliverer(staff_site)
    assert f'href="{path}"' in browser.get("/campaigns/pilot/settings").text
    page = browser.get(path).text
    assert "No webhooks yet" in page
    assert '<a href="/campaigns/pilot/settings" aria-current="true">Settings</a>' in page
    response = send(browser, path, address=f" {receiver.address('ok')} ", **{"from": "start"})
    assert response.status_code == 200
    secret = re.search(r'value="(whsec_[^"]+)"', response.text)
    assert secret is not None
    assert secret[1] not in browser.get(path).text
    receiver.first["ok"] = ["500", "410"]
    post.turn()
    text = browser.get(path).text
    assert "it answered HTTP 500; 1 in a row, since 2026-03-01 12:00 UTC" in text
    assert "Retry now" in text
    post.forward(minutes=1).turn()
    text = browser.get(path).text
    assert "It answered HTTP 410 Gone" in text
    assert "nothing yet" in text
    webhook = re.search(r'name="webhook" value="([^"]+)"', text)
    assert webhook is not None
    assert send(browser, f"{path}/resume", webhook=webhook[1]).headers["location"] == path
    post.turn()
    assert is_signed(receiver.requests[-1], secret[1])
    assert "up to event 2, 2026-03-01 12:01 UTC" in browser.get(path).text
    assert send(browser, f"{path}/remove", webhook=webhook[1]).headers["location"] == path
    assert "No webhooks yet" in browser.get(path).text


@sqlite_only
def test_input_is_kept_with_all_faults(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    browser, path = staff_site.owner(), "/campaigns/pilot/webhooks"
    answer = send(browser, path, address="https://10.0.0.1/<x>", kind="nonsense", **{"from": "start"})
    assert answer.status_code == 422
    assert "is not on the public internet" in answer.text
    assert "&#39;nonsense&#39; is not a kind of event" in answer.text
    assert 'value="https://10.0.0.1/&lt;x&gt;"' in answer.text
    assert 'name="from" value="start" checked' in answer.text
