"""Ids of one campaign say nothing to who owns another one, whatever they ask of the API."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from tests.recruit.fake_prolific import TOKEN, Prolific
from tests.support.api_programs import API, program
from tests.support.campaigns import NOW, definition, items
from tests.support.live_site import Live, serving
from tests.support.pay import HOUR, worker
from tests.support.pay_pages import opened
from tests.support.recruited_raters import PAYING, arrived
from tests.support.staff_browsers import House
from tests.webhook_transport.receiver import receiving

from dissensus.store.raters import RaterRow
from dissensus.web.api.openapi import openapi_document
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import staff
from dissensus.workflows.rater import rating

one_kind = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
PILOT, BOBS = f"{API}/pilot", f"{API}/bobs"


@pytest.fixture
def live(database_url: str, prolific: Prolific) -> Iterator[Live]:
    settings = {"webhook_networks": "127.0.0.0/8", "prolific_token": TOKEN, "prolific_url": prolific.root}
    with serving(database_url, **settings) as site:
        yield site


def operations() -> Iterator[tuple[str, str, Any]]:
    """Each request that names something of a campaign, with what it may send."""
    schemas = openapi_document()["components"]["schemas"]
    for path, methods in openapi_document()["paths"].items():
        for method in methods if path.count("{") > 1 else ():
            sent = methods[method].get("requestBody")
            name = sent and sent["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            yield method, path, sent and schemas[name]["examples"][0]


def there_is(house: House, prolific: Prolific, address: str) -> tuple[RaterRow, dict[str, str]]:
    """A campaign of ada with one of everything, and their ids; bob has one with nothing."""
    kept = opened(house)
    rater = worker(house.platform, kept.key, HOUR)
    rating.report_item(house.platform, rater, "help", "I am not well.", assignment_id=None, now=NOW)
    http = program(house)
    bob = staff.create_sign_in_link(house.platform, "bob", now=NOW).staff
    campaigns.create_campaign(house.platform, definition("bobs", **PAYING), items(1), staff_id=bob.id, now=NOW)
    http.post(f"{PILOT}/members", json={"role": "expert"}).raise_for_status()
    members = http.get(f"{PILOT}/members").json()
    paid = http.post(f"{PILOT}/pay/raters/{rater.id}/payments", json={"amount": 5}).json()
    return rater, {
        "rater_id": rater.id,
        "submission": arrived(house.platform, prolific, kept.id, rater.id),
        "payment_id": paid["id"],
        "notice_id": http.get(f"{PILOT}/notices").json()["data"][0]["id"],
        "member_id": members["members"][0]["id"],
        "invitation_id": members["invitations"][0]["id"],
        "webhook_id": http.post(f"{PILOT}/webhooks", json={"address": address}).json()["id"],
    }


def all_of(http: httpx.Client) -> list[Any]:
    """What a campaign has of what they could have changed."""
    return [
        http.get(f"{PILOT}/{one}").json()
        for one in ("raters", "members", "notices", "pay/raters", "submissions", "webhooks")
    ]


def test_ids_of_another_campaign_are_as_if_they_never_were(house: House, prolific: Prolific) -> None:
    with receiving() as receiver:
        rater, ids = there_is(house, prolific, receiver.address("ok"))
    never = {**dict.fromkeys(ids, str(uuid4())), "submission": "9" * 24}
    ada, bob, asked = program(house), program(house, "bob"), set()
    before = all_of(ada)
    for method, path, sent in operations():
        answers = set()
        for one in (ids, never):
            there = path.replace("{", "{0[").replace("}", "]}").format({**one, "name": "bobs"})
            answer = bob.request(method, there, json=sent)
            assert answer.status_code == 404, there
            answers.add(re.sub("|".join(one.values()), "THAT", answer.text))
        assert len(answers) == 1, answers
        asked.update(re.findall(r"{(\w+)}", path))
    # One of everything that has an id.
    assert asked == {*ids, "name"}
    assert all_of(ada) == before
    assert prolific.asked == []
    assert rater.id in str(before)


@one_kind
@pytest.mark.parametrize(
    "typed",
    ["%00", "%ED%A0%80", "%C0%AE", "x" * 101, "%2E%2E", "..%2F..%2Fpilot", "'--", "%F0%9F%98%80", "%0D%0AX:%20y"],
)
def test_names_that_nothing_can_have_are_of_nothing(house: House, typed: str) -> None:
    opened(house)
    ada = program(house)
    for path, methods in openapi_document()["paths"].items():
        for method in methods:
            for start in ("pilot", typed):
                there = re.sub(r"{\w+}", typed, path.replace("{name}", start))
                if "{name}" in path and (start == typed or path.count("{") > 1):
                    answer = ada.request(method, there)
                    assert answer.status_code in (400, 404, 422), (method, there)
                    assert answer.headers["content-type"] == "application/problem+json"
    assert ada.get(PILOT).status_code == 200
