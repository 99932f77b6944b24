"""API requests with ids of another campaign reveal nothing."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.api_programs import API, program
from tests.support.campaigns import NOW, definition, items
from tests.support.live_site import LiveSite, serving
from tests.support.pay import HOUR, worker
from tests.support.pay_pages import open_paying_campaign
from tests.support.prolific_server import TOKEN, Prolific
from tests.support.recruited_raters import PAYING, add_submission
from tests.support.staff_site import StaffSite
from tests.support.webhook_receiver import receiving

from dissensus.store.raters import RaterRow
from dissensus.web.api.openapi import openapi_document
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import rating

PILOT, BOBS = f"{API}/pilot", f"{API}/bobs"


@pytest.fixture
def live(database_url: str, prolific: Prolific) -> Iterator[LiveSite]:
    settings = {"webhook_networks": "127.0.0.0/8", "prolific_token": TOKEN, "prolific_url": prolific.root}
    with serving(database_url, **settings) as site:
        yield site


def operations() -> Iterator[tuple[str, str, Any]]:
    """Requests with ids inside a campaign, with valid bodies."""
    schemas = openapi_document()["components"]["schemas"]
    for path, methods in openapi_document()["paths"].items():
        for method in methods if path.count("{") > 1 else ():
            response = methods[method].get("requestBody")
            name = response and response["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            yield method, path, response and schemas[name]["examples"][0]


def create_everything(staff_site: StaffSite, prolific: Prolific, address: str) -> tuple[RaterRow, dict[str, str]]:
    """Create a campaign of ada with one resource of each kind, and an empty one of bob; return a rater and the ids."""
    campaign = open_paying_campaign(staff_site)
    rater = worker(staff_site.platform, campaign.key, HOUR)
    rating.report_item(staff_site.platform, rater, "help", "I am not well.", assignment_id=None, now=NOW)
    http = program(staff_site)
    bob = sign_in_links.create_sign_in_link(staff_site.platform, "bob", now=NOW).staff
    campaigns.create_campaign(staff_site.platform, definition("bobs", **PAYING), items(1), staff_id=bob.id, now=NOW)
    http.post(f"{PILOT}/members", json={"role": "expert"}).raise_for_status()
    members = http.get(f"{PILOT}/members").json()
    paid = http.post(f"{PILOT}/pay/raters/{rater.id}/payments", json={"amount": 5}).json()
    return rater, {
        "rater_id": rater.id,
        "chat_id": str(uuid4()),
        "number": "7000001",
        "submission": add_submission(staff_site.platform, prolific, campaign.id, rater.id),
        "payment_id": paid["id"],
        "notice_id": http.get(f"{PILOT}/notices").json()["data"][0]["id"],
        "member_id": members["members"][0]["id"],
        "invitation_id": members["invitations"][0]["id"],
        "webhook_id": http.post(f"{PILOT}/webhooks", json={"address": address}).json()["id"],
    }


def load_state(http: httpx.Client) -> list[Any]:
    """State of a campaign that the requests could have changed."""
    return [
        http.get(f"{PILOT}/{one}").json()
        for one in ("raters", "members", "notices", "pay/raters", "submissions", "webhooks")
    ]


def test_ids_of_another_campaign_look_like_unknown_ids(staff_site: StaffSite, prolific: Prolific) -> None:
    with receiving() as receiver:
        rater, ids = create_everything(staff_site, prolific, receiver.address("ok"))
    unknown_ids = {**dict.fromkeys(ids, str(uuid4())), "submission": "9" * 24, "number": "8000001"}
    ada, bob, parameters = program(staff_site), program(staff_site, "bob"), set()
    before = load_state(ada)
    for method, path, body in operations():
        answers = set()
        for values in (ids, unknown_ids):
            address = path.replace("{", "{0[").replace("}", "]}").format({**values, "name": "bobs"})
            answer = bob.request(method, address, json=body)
            assert answer.status_code == 404, address
            answers.add(re.sub("|".join(values.values()), "THAT", answer.text))
        assert len(answers) == 1, answers
        parameters.update(re.findall(r"{(\w+)}", path))
    # Every parameter with an id occurs.
    assert parameters == {*ids, "name"}
    assert load_state(ada) == before
    assert prolific.requests == []
    assert rater.id in str(before)


@sqlite_only
@pytest.mark.parametrize(
    "typed",
    ["%00", "%ED%A0%80", "%C0%AE", "x" * 101, "%2E%2E", "..%2F..%2Fpilot", "'--", "%F0%9F%98%80", "%0D%0AX:%20y"],
)
def test_invalid_names_are_not_found(staff_site: StaffSite, typed: str) -> None:
    open_paying_campaign(staff_site)
    ada = program(staff_site)
    for path, methods in openapi_document()["paths"].items():
        for method in methods:
            for start in ("pilot", typed):
                address = re.sub(r"{\w+}", typed, path.replace("{name}", start))
                if "{name}" in path and (start == typed or path.count("{") > 1):
                    answer = ada.request(method, address)
                    assert answer.status_code in (400, 404, 422), (method, address)
                    assert answer.headers["content-type"] == "application/problem+json"
    assert ada.get(PILOT).status_code == 200
