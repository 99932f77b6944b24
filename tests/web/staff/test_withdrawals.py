"""Withdrawal by staff, for a rater who asked for it."""

import re

import pytest
from sqlalchemy import select
from tests.support.campaigns import NOW, definition, items
from tests.support.live_site import Visitor
from tests.support.prolific_study import rows
from tests.support.staff_browsers import House, send

from dissensus.store.campaigns import CampaignRow
from dissensus.store.events import EventTable
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.campaign.audit import audit_campaign
from dissensus.workflows.platform import staff

PAGE = "/campaigns/pilot/withdraw"


def opened(house: House, **changes: object) -> CampaignRow:
    staff_id = staff.create_sign_in_link(house.platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(house.platform, definition(**changes), items(2), staff_id=staff_id, now=NOW)  # type: ignore[arg-type]
    return campaigns.change_state(house.platform, "pilot", "open", staff_id=staff_id, now=NOW)


def finished(house: House, kept: CampaignRow) -> tuple[Visitor, str]:
    """Somebody who rated all, and the id on their last page."""
    visitor = house.live.visitor()
    page = visitor.enter(str(kept.key))
    while "/rate/" in page.text:
        page = visitor.rate(page, Q_safe="No")
    found = re.search(r"<code>([0-9a-f-]{36})</code>", page.text)
    assert found is not None
    return visitor, found[1]


def test_an_owner_deletes_what_a_rater_asks_for(house: House) -> None:
    kept = opened(house)
    visitor, rater_id = finished(house, kept)
    _, other = finished(house, kept)
    browser = house.owner()
    assert f'href="{PAGE}"' in browser.get("/campaigns/pilot").text
    asked = browser.get(PAGE, params={"rater": f" {rater_id} "})
    assert "the answers to 2 items" in asked.text
    before = rows(house.live)
    assert rows(house.live) == before, "to ask changes nothing"
    done = send(browser, PAGE, rater=rater_id)
    assert "the answers to 2 items" in done.text
    assert [name for name, kept in rows(house.live).items() if rater_id in kept] == ["rater"]
    assert "not signed in" in visitor.get("/rate").text
    assert audit_campaign(house.platform, "pilot").holds
    with house.platform.database.reading() as tx:
        by = tx.execute(select(EventTable.staff_id, EventTable.rater_id).where(EventTable.kind == "withdrawn")).one()
    assert (by.staff_id, by.rater_id) == (kept.staff_id, None)
    again = browser.get(PAGE, params={"rater": rater_id})
    assert (again.status_code, "has withdrawn already" in again.text) == (422, True)
    assert send(browser, PAGE, rater=rater_id).status_code == 404
    assert "the answers to 2 items" in browser.get(PAGE, params={"rater": other}).text


@pytest.mark.parametrize("rater", ["x", "<b>", "0" * 36, "'; --", "٣"])
def test_who_is_not_there_cannot_be_deleted(house: House, rater: str) -> None:
    opened(house)
    browser = house.owner()
    told = browser.get(PAGE, params={"rater": rater})
    assert (told.status_code, "pilot has no rater" in told.text) == (422, True)
    assert "<b>" not in told.text
    assert send(browser, PAGE, rater=rater).status_code == 404


def test_raters_of_another_owner_are_not_there(house: House) -> None:
    _, rater_id = finished(house, opened(house))
    other = house.owner("grace")
    staff_id = staff.create_sign_in_link(house.platform, "grace", now=NOW).staff.id
    campaigns.create_campaign(house.platform, definition("second"), items(1), staff_id=staff_id, now=NOW)
    assert other.get(PAGE, params={"rater": rater_id}).status_code == 404
    assert other.get("/campaigns/second/withdraw", params={"rater": rater_id}).status_code == 422
    assert send(other, "/campaigns/second/withdraw", rater=rater_id).status_code == 404
