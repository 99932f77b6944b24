"""Who looks at what single raters did or said is in the log of the campaign, as whoever changes something is."""

from sqlalchemy import select
from tests.support.api_programs import program
from tests.support.campaigns import NOW
from tests.support.pay_pages import opened
from tests.support.raters import enter
from tests.support.staff_browsers import House

from dissensus.store.events import EventTable
from dissensus.store.staff import StaffTable
from dissensus.workflows.campaign import audit, members
from dissensus.workflows.platform import staff
from dissensus.workflows.rater import rating


def looks(house: House) -> list[tuple[str, str]]:
    """Who looked at what, in order."""
    with house.platform.database.reading() as tx:
        query = select(StaffTable.name, EventTable.content).join(EventTable, EventTable.staff_id == StaffTable.id)
        rows = tx.execute(query.where(EventTable.kind == "viewed").order_by(EventTable.number)).all()
    return [(name, content["what"]) for name, content in rows]


def test_who_looks_at_single_raters_leaves_an_event(house: House) -> None:
    kept = opened(house)
    rater = enter(house.platform, kept.key)
    members.add_member(house.platform, "pilot", "bob", "analyst", staff_id=kept.staff_id, now=NOW)
    ada, bob = house.owner(), house.owner("bob")
    for browser in (ada, bob):
        for path in ("/campaigns", "/campaigns/pilot", "/campaigns/pilot/watch"):
            assert browser.get(path).status_code == 200
    assert looks(house) == []
    rating.report_item(house.platform, rater, "help", "I feel ill.", assignment_id=None, now=NOW)
    for browser in (ada, bob):
        browser.get("/campaigns/pilot")
        browser.get("/campaigns/pilot/pay")
    assert program(house).get("/api/v1/campaigns/pilot/raters").status_code == 200
    assert looks(house) == [("ada", "notices"), ("ada", "pay"), ("ada", "raters")]
    assert audit.audit_campaign(house.platform, "pilot").holds


def test_who_may_not_look_leaves_none(house: House) -> None:
    opened(house)
    staff.create_sign_in_link(house.platform, "eve", now=NOW)
    for browser in (house.owner("eve"), house.stranger()):
        assert browser.get("/campaigns/pilot/pay").status_code in (303, 403, 404)
    assert looks(house) == []
