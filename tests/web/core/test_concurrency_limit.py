"""The concurrency limit of slow requests does not block raters."""

import asyncio
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from tests.databases import sqlite_only
from tests.support.api_programs import API, program
from tests.support.campaigns import definition, open_campaign
from tests.support.staff_site import StaffSite

from dissensus.errors import Unavailable
from dissensus.web.api.requests import ITEM_EXAMPLE
from dissensus.web.core import concurrency_limit
from dissensus.web.core.concurrency_limit import ConcurrencyLimit

EXPORT = "/campaigns/pilot/export.csv"
PATIENCE_S = 300.0


@pytest.fixture
def house_without_free_slots(staff_site: StaffSite) -> StaffSite:
    staff_site.live.app.state.site = replace(staff_site.live.site, slow_requests=ConcurrencyLimit(0))
    return staff_site


@sqlite_only
def test_waiting_too_long_for_a_slot_is_unavailable(
    house_without_free_slots: StaffSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    staff_site = house_without_free_slots
    monkeypatch.setattr(concurrency_limit, "SLOT_TIMEOUT_S", 0.2)
    open_campaign(staff_site.platform, 2)
    answer = staff_site.owner("owner").get(EXPORT)
    assert answer.status_code == 503
    assert "only a few at a time" in answer.text


class ClosedLimit(ConcurrencyLimit):
    """A limit without slots until the test adds one; it counts the requests that wait."""

    def __init__(self) -> None:
        super().__init__(0)
        self.n_waiting = 0

    @asynccontextmanager
    async def slot(self, person: str) -> AsyncIterator[None]:
        self.loop = asyncio.get_running_loop()
        self.n_waiting += 1
        async with super().slot(person):
            yield

    def add_slot(self) -> None:
        self.loop.call_soon_threadsafe(self._slots.release)


@sqlite_only
def test_waiting_for_a_slot_holds_no_thread(staff_site: StaffSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency_limit, "SLOT_TIMEOUT_S", PATIENCE_S)
    limit = ClosedLimit()
    staff_site.live.app.state.site = replace(staff_site.live.site, slow_requests=limit)
    campaign = open_campaign(staff_site.platform, 2)
    owner = staff_site.owner("owner")
    with ThreadPoolExecutor(20) as threads:
        # More than the request threads.
        waiting = [threads.submit(owner.get, EXPORT) for _ in range(20)]
        while limit.n_waiting < 20:
            time.sleep(0.01)
        assert staff_site.live.visitor().enter(str(campaign.key)).status_code == 200
        assert not any(one.done() for one in waiting)
        limit.add_slot()
        assert 503 not in {one.result().status_code for one in waiting}


@sqlite_only
def test_unauthorised_requests_take_no_slot(house_without_free_slots: StaffSite) -> None:
    staff_site = house_without_free_slots
    open_campaign(staff_site.platform, 2)
    assert staff_site.live.visitor().get(EXPORT).status_code in (401, 403)


@sqlite_only
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
    house_without_free_slots: StaffSite, monkeypatch: pytest.MonkeyPatch, path: str, body: object
) -> None:
    staff_site = house_without_free_slots
    monkeypatch.setattr(concurrency_limit, "SLOT_TIMEOUT_S", 0.05)
    open_campaign(staff_site.platform, 2)
    answer = program(staff_site, "owner").request("GET" if body is None else "POST", f"{API}{path}", json=body)
    assert (answer.status_code, "only a few at a time" in answer.json()["detail"]) == (503, True)


def test_one_person_takes_one_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency_limit, "SLOT_TIMEOUT_S", 0.05)

    async def run() -> None:
        limit = ConcurrencyLimit(2)
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
