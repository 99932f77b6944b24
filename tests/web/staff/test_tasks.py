"""Start page: an introduction for strangers, and the open tasks of staff."""

import re

from fastapi.routing import APIRoute, iter_route_contexts
from tests.databases import sqlite_only
from tests.support.campaigns import AGREED, NOW
from tests.support.staff_members import join_pilot, open_pilot
from tests.support.staff_site import StaffSite, create_draft, send

from dissensus.store import campaigns
from dissensus.web.staff.tasks import TASK_PAGES
from dissensus.workflows.campaign.tasks import TASKS
from dissensus.workflows.rater import enrolment, rating
from dissensus.workflows.rater.enrolment import Arrival


@sqlite_only
def test_strangers_read_an_introduction(staff_site: StaffSite) -> None:
    page = staff_site.stranger().get("/")
    assert page.status_code == 200
    assert "You need the link of a campaign" in page.text
    assert 'href="/sign-in?to=/"' in page.text


@sqlite_only
def test_each_task_leads_to_a_page_of_the_site(staff_site: StaffSite) -> None:
    assert TASK_PAGES.keys() == TASKS.keys()
    routes = (context.original_route for context in iter_route_contexts(staff_site.live.app.routes))
    paths = {route.path for route in routes if isinstance(route, APIRoute)}
    assert {f"/campaigns/{{name}}/{path}" for _, _, path in TASK_PAGES.values()} <= paths


@sqlite_only
def test_staff_see_what_waits_for_them(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    assert "Nothing waits for you." in browser.get("/").text
    campaign = open_pilot(staff_site)
    arrival = Arrival(campaign.name, str(campaign.key), "en")
    rater, _ = enrolment.enrol_rater(staff_site.platform, arrival, AGREED, now=NOW)
    assert "Nothing waits for you." in browser.get("/").text
    rating.report_item(staff_site.platform, rater, "help", "It stays with me.", assignment_id=None, now=NOW)
    page = browser.get("/").text
    assert '<a href="/campaigns/pilot/notices">1 message from raters</a>' in page
    assert "Nothing waits for you." not in page
    analyst = join_pilot(staff_site, "grace", "analyst")
    assert "Nothing waits for you." in analyst.get("/").text


@sqlite_only
def test_campaigns_with_tasks_come_first_and_closed_ones_without_are_counted_alone(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    for name in ("anew", "later", "over"):
        create_draft(staff_site, name)
    for name in ("later", "over"):
        send(browser, f"/campaigns/{name}/state", state="open")
    arrival = Arrival("later", campaign_key(staff_site, "later"), "en")
    rater, _ = enrolment.enrol_rater(staff_site.platform, arrival, AGREED, now=NOW)
    rating.report_item(staff_site.platform, rater, "help", "It stays with me.", assignment_id=None, now=NOW)
    for name in ("later", "over"):
        send(browser, f"/campaigns/{name}/state", state="closed")
    page = browser.get("/").text
    assert re.findall(r'<h2><a href="/campaigns/(\w+)">', page) == ["later", "anew"]
    assert "All campaigns (1 more)" in page


def campaign_key(staff_site: StaffSite, name: str) -> str:
    with staff_site.platform.database.reading() as tx:
        return str(campaigns.get_campaign_by_name(tx, name).key)
