"""What takes long is done a few at a time, and keeps nobody from rating."""

from asyncio import Semaphore
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace

import pytest
from tests.support.api_programs import API, program
from tests.support.campaigns import definition, open_campaign
from tests.support.staff_browsers import House

from dissensus.web.api.requests import ITEM_EXAMPLE
from dissensus.web.core import concurrency_limit

EXPORT = "/campaigns/pilot/export.csv"


@pytest.fixture
def nobody_has_a_turn(house: House) -> House:
    house.live.app.state.site = replace(house.live.site, slow_request_slots=Semaphore(0))
    return house


def test_who_waits_too_long_for_a_turn_is_told(nobody_has_a_turn: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house = nobody_has_a_turn
    monkeypatch.setattr(concurrency_limit, "SLOT_TIMEOUT_S", 0.2)
    open_campaign(house.platform, 2)
    answer = house.owner("owner").get(EXPORT)
    assert answer.status_code == 503
    assert "a few can at a time" in answer.text


def test_who_waits_for_a_turn_holds_no_thread(nobody_has_a_turn: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house = nobody_has_a_turn
    monkeypatch.setattr(concurrency_limit, "SLOT_TIMEOUT_S", 3.0)
    kept = open_campaign(house.platform, 2)
    owner = house.owner("owner")
    with ThreadPoolExecutor(20) as threads:
        # More than the threads that answer.
        waiting = [threads.submit(owner.get, EXPORT) for _ in range(20)]
        assert not wait(waiting, timeout=0.5).done
        assert house.live.visitor().enter(str(kept.key)).status_code == 200
        assert not wait(waiting, timeout=0).done
        assert {one.result().status_code for one in waiting} == {503}


def test_nobody_has_a_turn_who_may_not_do_it(nobody_has_a_turn: House) -> None:
    house = nobody_has_a_turn
    open_campaign(house.platform, 2)
    assert house.live.visitor().get(EXPORT).status_code in (401, 403)


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("", {"definition": definition("other").as_mapping()}),
        ("/pilot/items", {"items": [ITEM_EXAMPLE]}),
        ("/pilot/gold/comparison", None),
        ("/pilot/gold/platinum", {"source": "May", "labels": [{"item": "item-0", "label": "No"}]}),
        ("/pilot/webhooks", {"address": "https://example.org/"}),
    ],
)
def test_programs_take_turns_too(
    nobody_has_a_turn: House, monkeypatch: pytest.MonkeyPatch, path: str, sent: object
) -> None:
    house = nobody_has_a_turn
    monkeypatch.setattr(concurrency_limit, "SLOT_TIMEOUT_S", 0.05)
    open_campaign(house.platform, 2)
    answer = program(house, "owner").request("GET" if sent is None else "POST", f"{API}{path}", json=sent)
    assert (answer.status_code, "a few can at a time" in answer.json()["detail"]) == (503, True)
