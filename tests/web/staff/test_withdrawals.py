"""Withdrawal by staff at the request of a rater."""

import re

import pytest
from sqlalchemy import select
from sqlalchemy import text as sql
from tests.support.campaigns import NOW, definition, items
from tests.support.live_site import Visitor
from tests.support.prolific_study import rows
from tests.support.staff_site import StaffSite, send

from dissensus.store.audit_log import EventTable
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.campaign.audit import audit_campaign
from dissensus.workflows.platform import sign_in_links

PAGE = "/campaigns/pilot/withdraw"


def open_preview_campaign(staff_site: StaffSite, **changes: object) -> CampaignRow:
    staff_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(staff_site.platform, definition(**changes), items(2), staff_id=staff_id, now=NOW)  # type: ignore[arg-type]
    return campaigns.change_state(staff_site.platform, "pilot", "open", staff_id=staff_id, now=NOW)


def finish_rating(staff_site: StaffSite, campaign: CampaignRow) -> tuple[Visitor, str]:
    """Let a rater rate all items; return them with the id on their last page."""
    visitor = staff_site.live.visitor()
    page = visitor.enter(str(campaign.key))
    while "/rate/" in page.text:
        page = visitor.rate(page, Q_safe="No")
    match = re.search(r"<code>([0-9a-f-]{36})</code>", page.text)
    assert match is not None
    return visitor, match[1]


def test_an_owner_withdraws_a_rater_on_request(staff_site: StaffSite) -> None:
    campaign = open_preview_campaign(staff_site)
    visitor, rater_id = finish_rating(staff_site, campaign)
    _, other = finish_rating(staff_site, campaign)
    browser = staff_site.owner()
    assert f'href="{PAGE}"' in browser.get("/campaigns/pilot/settings").text
    before = rows(staff_site.live)
    response = browser.get(PAGE, params={"rater": f" {rater_id} "})
    assert "answers to 2 items" in response.text
    assert rows(staff_site.live) == before, "to ask changes nothing"
    done = send(browser, PAGE, rater=rater_id)
    assert "answers to 2 items" in done.text
    assert [name for name, text in rows(staff_site.live).items() if rater_id in text] == ["rater"]
    assert "not signed in" in visitor.get("/rate").text
    assert audit_campaign(staff_site.platform, "pilot").holds
    with staff_site.platform.database.reading() as tx:
        by = tx.execute(select(EventTable.staff_id, EventTable.rater_id).where(EventTable.kind == "withdrawn")).one()
    assert (by.staff_id, by.rater_id) == (campaign.staff_id, None)
    repeated = browser.get(PAGE, params={"rater": rater_id})
    assert (repeated.status_code, "has withdrawn already" in repeated.text) == (422, True)
    assert send(browser, PAGE, rater=rater_id).status_code == 404
    assert "answers to 2 items" in browser.get(PAGE, params={"rater": other}).text


def test_an_owner_withdraws_selected_raters(staff_site: StaffSite) -> None:
    campaign = open_preview_campaign(staff_site)
    ids = [finish_rating(staff_site, campaign)[1] for _ in range(3)]
    browser, selection = staff_site.owner(), f"{PAGE}/selection?order=time"
    assert f'formaction="{PAGE}/selection"' in browser.get("/campaigns/pilot/raters").text
    assert "No rater is selected" in send(browser, selection).text
    assert send(browser, selection, rater=[str(number) for number in range(1, 51)]).status_code == 200
    refused = send(browser, selection, rater=[str(number) for number in range(1, 52)])
    assert (refused.status_code, "at most 50 withdraw at once" in refused.text) == (422, True)
    asked = send(browser, selection, rater=["1", "3", "99"])
    assert "Delete the data of 2 raters?" in asked.text
    assert "answers to 4 items or conversations" in asked.text
    with staff_site.platform.database.reading() as tx:
        viewed = tx.scalars(select(EventTable.content).where(EventTable.kind == "viewed")).all()
    assert {"view": "raters"} in viewed
    assert re.findall(r'name="rater" value="([^"]+)"', asked.text) == ["1", "3"]
    if staff_site.platform.database.engine.dialect.name == "sqlite":
        with staff_site.platform.database.writing() as tx:
            fails = "BEFORE UPDATE OF state ON rater BEGIN DELETE FROM missing; END"
            tx.execute(sql(f"CREATE TRIGGER fails {fails}"))
        stopped = send(browser, f"{PAGE}/selected?order=time", rater=["1", "3"])
        assert "The data of 0 of 2 raters were deleted, and those of rater 1 were not. " in stopped.text
        with staff_site.platform.database.writing() as tx:
            tx.execute(sql("DROP TRIGGER fails"))
    done = send(browser, f"{PAGE}/selected?order=time", rater=["1", "3"])
    assert done.headers["location"] == "/campaigns/pilot/raters?order=time"
    left = [
        rater_id
        for rater_id in ids
        if any(rater_id in text for name, text in rows(staff_site.live).items() if name != "rater")
    ]
    assert left == [ids[1]]
    assert audit_campaign(staff_site.platform, "pilot").holds
    repeated = send(browser, selection, rater=["1", "3"])
    assert "2 of the selected raters withdrew before" in repeated.text
    assert "Delete all" not in repeated.text


@pytest.mark.parametrize("rater", ["x", "<b>", "0" * 36, "'; --", "٣"])
def test_unknown_raters_cannot_be_withdrawn(staff_site: StaffSite, rater: str) -> None:
    open_preview_campaign(staff_site)
    browser = staff_site.owner()
    response = browser.get(PAGE, params={"rater": rater})
    assert (response.status_code, "pilot has no rater" in response.text) == (422, True)
    assert "<b>" not in response.text
    assert send(browser, PAGE, rater=rater).status_code == 404


def test_raters_of_other_owners_are_not_found(staff_site: StaffSite) -> None:
    _, rater_id = finish_rating(staff_site, open_preview_campaign(staff_site))
    other = staff_site.owner("grace")
    staff_id = sign_in_links.create_sign_in_link(staff_site.platform, "grace", now=NOW).staff.id
    campaigns.create_campaign(staff_site.platform, definition("second"), items(1), staff_id=staff_id, now=NOW)
    assert other.get(PAGE, params={"rater": rater_id}).status_code == 404
    assert other.get("/campaigns/second/withdraw", params={"rater": rater_id}).status_code == 422
    assert send(other, "/campaigns/second/withdraw", rater=rater_id).status_code == 404
