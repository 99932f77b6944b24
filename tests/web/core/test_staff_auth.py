"""Views of individual raters are recorded in the audit log."""

from sqlalchemy import select
from tests.databases import sqlite_only
from tests.support.api_programs import API, program, rows
from tests.support.campaigns import NOW
from tests.support.pay_pages import open_paying_campaign
from tests.support.raters import enter
from tests.support.staff_site import StaffSite

from dissensus.store.audit_log import EventTable
from dissensus.store.staff import StaffTable
from dissensus.web.core.permissions import SCOPES
from dissensus.workflows.campaign import audit, members
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import next_step, rating


def logged_views(staff_site: StaffSite) -> list[tuple[str, str]]:
    """Logged views, in order."""
    with staff_site.platform.database.reading() as tx:
        query = select(StaffTable.name, EventTable.content).join(EventTable, EventTable.staff_id == StaffTable.id)
        rows = tx.execute(query.where(EventTable.kind == "viewed").order_by(EventTable.number)).all()
    return [(name, content["view"]) for name, content in rows]


def test_viewing_individual_raters_is_logged(staff_site: StaffSite) -> None:
    campaign = open_paying_campaign(staff_site)
    rater = enter(staff_site.platform, campaign.key)
    members.add_member(staff_site.platform, "pilot", "bob", "analyst", staff_id=campaign.staff_id, now=NOW)
    ada, bob = staff_site.owner(), staff_site.owner("bob")
    for browser in (ada, bob):
        for path in ("/campaigns", "/campaigns/pilot", "/campaigns/pilot/monitoring"):
            assert browser.get(path).status_code == 200
    assert logged_views(staff_site) == []
    rating.report_item(staff_site.platform, rater, "help", "I feel ill.", assignment_id=None, now=NOW)
    for browser in (ada, bob):
        browser.get("/campaigns/pilot")
        browser.get("/campaigns/pilot/pay")
        browser.get("/campaigns/pilot/notices")
    assert program(staff_site).get("/api/v1/campaigns/pilot/raters").status_code == 200
    assert logged_views(staff_site) == [("ada", name) for name in ("notices", "pay", "notices", "raters")]
    assert audit.audit_campaign(staff_site.platform, "pilot").holds


def test_forbidden_views_are_not_logged(staff_site: StaffSite) -> None:
    open_paying_campaign(staff_site)
    sign_in_links.create_sign_in_link(staff_site.platform, "eve", now=NOW)
    for browser in (staff_site.owner("eve"), staff_site.stranger()):
        assert browser.get("/campaigns/pilot/pay").status_code in (303, 403, 404)
    assert logged_views(staff_site) == []


@sqlite_only
def test_reports_beside_an_item_are_logged(staff_site: StaffSite) -> None:
    campaign = open_paying_campaign(staff_site)
    rater = enter(staff_site.platform, campaign.key)
    shown = next_step.find_next_step(staff_site.platform, rater, now=NOW).assignment
    assert shown is not None
    rating.report_item(staff_site.platform, rater, "illegal", "See this.", assignment_id=shown.id, now=NOW)
    answers = f"{API}/pilot/item-answers"
    for http in (program(staff_site, scopes=SCOPES - {"notices"}), program(staff_site)):
        numbers = [row["number"] for row in rows(http, answers, 50, order="position")]
        assert [http.get(f"{answers}/{number}").status_code for number in numbers] == [200] * len(numbers)
    assert logged_views(staff_site) == [("ada", "notices")]
