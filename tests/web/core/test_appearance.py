"""Views of individual raters are recorded in the audit log."""

from sqlalchemy import select
from tests.support.api_programs import program
from tests.support.campaigns import NOW
from tests.support.pay_pages import open_paying_campaign
from tests.support.raters import enter
from tests.support.staff_browsers import House

from dissensus.store.events import EventTable
from dissensus.store.staff import StaffTable
from dissensus.workflows.campaign import audit, members
from dissensus.workflows.platform import staff
from dissensus.workflows.rater import rating


def logged_views(house: House) -> list[tuple[str, str]]:
    """Logged views, in order."""
    with house.platform.database.reading() as tx:
        query = select(StaffTable.name, EventTable.content).join(EventTable, EventTable.staff_id == StaffTable.id)
        rows = tx.execute(query.where(EventTable.kind == "viewed").order_by(EventTable.number)).all()
    return [(name, content["view"]) for name, content in rows]


def test_viewing_individual_raters_is_logged(house: House) -> None:
    campaign = open_paying_campaign(house)
    rater = enter(house.platform, campaign.key)
    members.add_member(house.platform, "pilot", "bob", "analyst", staff_id=campaign.staff_id, now=NOW)
    ada, bob = house.owner(), house.owner("bob")
    for browser in (ada, bob):
        for path in ("/campaigns", "/campaigns/pilot", "/campaigns/pilot/monitoring"):
            assert browser.get(path).status_code == 200
    assert logged_views(house) == []
    rating.report_item(house.platform, rater, "help", "I feel ill.", assignment_id=None, now=NOW)
    for browser in (ada, bob):
        browser.get("/campaigns/pilot")
        browser.get("/campaigns/pilot/pay")
    assert program(house).get("/api/v1/campaigns/pilot/raters").status_code == 200
    assert logged_views(house) == [("ada", "notices"), ("ada", "pay"), ("ada", "raters")]
    assert audit.audit_campaign(house.platform, "pilot").holds


def test_forbidden_views_are_not_logged(house: House) -> None:
    open_paying_campaign(house)
    staff.create_sign_in_link(house.platform, "eve", now=NOW)
    for browser in (house.owner("eve"), house.stranger()):
        assert browser.get("/campaigns/pilot/pay").status_code in (303, 403, 404)
    assert logged_views(house) == []
