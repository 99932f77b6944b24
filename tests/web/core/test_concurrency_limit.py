"""The concurrency limit of slow requests does not block raters."""

import asyncio
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace

import pytest
from tests.support.api_programs import API, program
from tests.support.campaigns import definition, open_campaign
from tests.support.staff_browsers import House

from dissensus.errors import Unavailable
from dissensus.web.api.requests import ITEM_EXAMPLE
from dissensus.web.core import slots
from dissensus.web.core.slots import SlowRequestLimit

EXPORT = "/campaigns/pilot/export.csv"


@pytest.fixture
def house_without_free_slots(house: House) -> House:
    house.live.app.state.site = replace(house.live.site, slow_requests=SlowRequestLimit(0))
    return house


def test_waiting_too_long_for_a_slot_is_unavailable(
    house_without_free_slots: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = house_without_free_slots
    monkeypatch.setattr(slots, "SLOT_TIMEOUT_S", 0.2)
    open_campaign(house.platform, 2)
    answer = house.owner("owner").get(EXPORT)
    assert answer.status_code == 503
    assert "only a few at a time" in answer.text


def test_waiting_for_a_slot_holds_no_thread(house_without_free_slots: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house = house_without_free_slots
    monkeypatch.setattr(slots, "SLOT_TIMEOUT_S", 6.0)
    campaign = open_campaign(house.platform, 2)
    owner = house.owner("owner")
    with ThreadPoolExecutor(20) as threads:
        # More than the request threads.
        waiting = [threads.submit(owner.get, EXPORT) for _ in range(20)]
        assert not wait(waiting, timeout=0.5).done
        assert house.live.visitor().enter(str(campaign.key)).status_code == 200
        assert not wait(waiting, timeout=0).done
        assert {one.result().status_code for one in waiting} == {503}


def test_unauthorised_requests_take_no_slot(house_without_free_slots: House) -> None:
    house = house_without_free_slots
    open_campaign(house.platform, 2)
    assert house.live.visitor().get(EXPORT).status_code in (401, 403)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("", {"definition": definition("other").as_mapping()}),
        ("/pilot/items", {"items": [ITEM_EXAMPLE]}),
        ("/pilot/gold/comparison", None),
        ("/pilot/gold/platinum", {"source": "May", "labels": [{"item": "item-0", "label": "No"}]}),
        ("/pilot/webhooks", {"address": "https://example.org/"}),
    ],
)
def test_api_requests_take_slots(
    house_without_free_slots: House, monkeypatch: pytest.MonkeyPatch, path: str, body: object
) -> None:
    house = house_without_free_slots
    monkeypatch.setattr(slots, "SLOT_TIMEOUT_S", 0.05)
    open_campaign(house.platform, 2)
    answer = program(house, "owner").request("GET" if body is None else "POST", f"{API}{path}", json=body)
    assert (answer.status_code, "only a few at a time" in answer.json()["detail"]) == (503, True)


def test_one_person_takes_one_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "SLOT_TIMEOUT_S", 0.05)

    async def run() -> None:
        limit = SlowRequestLimit(2)
        async with limit.slot("ada"):
            with pytest.raises(Unavailable, match="one of each person"):
                async with limit.slot("ada"):
                    pass
            async with limit.slot("grace"):
                with pytest.raises(Unavailable):
                    async with limit.slot("edsger"):
                        pass
        async with limit.slot("ada"), limit.slot("edsger"):
            pass

    asyncio.run(run())
