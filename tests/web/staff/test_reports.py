"""Report pages: requests, figures as files, roles, and erasure by a withdrawal."""

import re
from datetime import timedelta
from threading import Thread

import httpx
import polars as pl
import pytest
from sqlalchemy import func, select
from tests.databases import sqlite_only
from tests.support.attack_attempts import ATTACK, add_attempt
from tests.support.campaigns import NOW
from tests.support.chat_campaigns import open_chat_campaign
from tests.support.monitored_campaigns import add_crowd, member, open_monitored_campaign, rate_items, read
from tests.support.raters import enter
from tests.support.staff_site import StaffSite, send

from dissensus.store.audit_log import EventTable
from dissensus.store.campaigns import CampaignRow
from dissensus.store.lists import reports as report_store
from dissensus.workflows.campaign import members
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import withdrawal
from dissensus.workflows.report.report_job import MAX_CLAIMS, ReportJob

REPORTS = "/campaigns/pilot/reports"


@pytest.fixture
def campaign(staff_site: StaffSite) -> CampaignRow:
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    return open_monitored_campaign(staff_site.platform, owner_id, replication=20)


def ask(browser: httpx.Client, **fields: str) -> str:
    """Ask for a report; return the path of its page."""
    done = send(browser, REPORTS, **fields)
    assert done.status_code == 303, done.text
    return str(done.headers["location"])


def make(staff_site: StaffSite) -> None:
    ReportJob()(staff_site.platform, staff_site.live.clock())


def store_report(staff_site: StaffSite, path: str, report: report_store.StoredReport) -> None:
    """Store a report as made, in place of the job."""
    with staff_site.platform.database.writing() as tx:
        claimed = report_store.claim_report(tx, until=NOW, now=NOW)
        assert claimed is not None
        assert path.endswith(claimed.id)
        report_store.finish_report(tx, claimed, report)


@sqlite_only
@pytest.mark.slow
def test_a_report_is_made_in_the_background_and_read_section_by_section(
    staff_site: StaffSite, campaign: CampaignRow
) -> None:
    add_crowd(staff_site.platform, campaign)
    browser = staff_site.owner()
    assert f'href="{REPORTS}"' in browser.get("/campaigns/pilot").text
    path = ask(browser, question="Q_safe", cross_first="rater_age", cross_second="rater_gender")
    waiting = browser.get(path)
    assert ("It waits" in waiting.text, waiting.headers["refresh"]) == (True, "3")
    assert ask(browser, question="Q_safe", cross_first="rater_age", cross_second="rater_gender") == path
    make(staff_site)
    page = browser.get(path)
    assert "refresh" not in page.headers
    assert "24 items" in read(page)
    assert "by age × gender" in read(page)
    sections = re.findall(rf'href="({path}/[^"]+)"', page.text)
    assert {section.rpartition("/")[2] for section in sections} >= {"answers", "agreement", "gold"}
    answers = browser.get(f"{path}/answers")
    figures = re.findall(r'src="([^"]+)/svg"', answers.text)
    assert figures
    drawing = browser.get(f"{figures[0]}/svg")
    assert drawing.headers["content-type"] == "image/svg+xml"
    assert drawing.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    dark = browser.get(f"{figures[0]}/dark.svg").text
    assert "#1F2933" in drawing.text.upper()
    assert "#1F2933" not in dark.upper()
    assert browser.get(f"{figures[0]}/png").content.startswith(b"\x89PNG")
    table = pl.read_csv(browser.get(f"{figures[0]}/csv").content)
    assert table.height > 0
    for wrong in (f"{path}/moon", f"{figures[0]}/gif", f"{path}/figures/moon/svg", f"{REPORTS}/unknown"):
        assert browser.get(wrong).status_code == 404, wrong


@pytest.mark.slow
@sqlite_only
def test_filters_leave_only_those_ratings(staff_site: StaffSite, campaign: CampaignRow) -> None:
    for number, gender in enumerate(["Woman"] * 6 + ["Man"] * 2):
        attributes = {"rater_gender": gender, "rater_age": "18-29"}
        rate_items(staff_site.platform, campaign, number, attributes=attributes)
    browser = staff_site.owner()
    by_rater = ask(browser, question="Q_safe", group="rater_gender=Woman")
    make(staff_site)
    by_item = ask(browser, question="Q_safe", attribute="safety_gold", value="Yes")
    make(staff_site)
    assert "by 6 raters" in read(browser.get(by_rater))
    assert "8 items" in read(browser.get(by_item))
    nothing = ask(browser, question="Q_safe", attribute="safety_gold", value="Maybe")
    make(staff_site)
    assert "No rating has safety_gold = 'Maybe'" in read(browser.get(nothing))


@pytest.mark.slow
@sqlite_only
def test_roles_see_what_they_may(staff_site: StaffSite, campaign: CampaignRow) -> None:
    for number, gender in enumerate(["Woman"] * 6 + ["Man"] * 2):
        attributes = {"rater_gender": gender, "rater_age": "18-29"}
        rate_items(staff_site.platform, campaign, number, attributes=attributes)
    owner, analyst = staff_site.owner(), member(staff_site, campaign, "analyst")
    of_owner = ask(owner, question="Q_safe")
    make(staff_site)
    of_analyst = ask(analyst, question="Q_safe")
    make(staff_site)
    assert re.search(r"\bMan\b", read(owner.get(f"{of_owner}/answers")))
    assert analyst.get(of_owner).status_code == 404
    assert of_owner not in analyst.get(REPORTS).text
    (figure, *_) = re.findall(r'src="([^"]+)/svg"', owner.get(f"{of_owner}/answers").text)
    assert analyst.get(f"{figure}/csv").status_code == 404
    sections = re.findall(rf'href="({of_analyst}/[^"]+)"', analyst.get(of_analyst).text)
    assert f"{of_analyst}/answers" in sections
    for section in sections:
        text = read(analyst.get(section))
        assert not re.search(r"\bMan\b", text), section
    for role in ("observer", "expert", "carer"):
        assert member(staff_site, campaign, role).get(REPORTS).status_code == 403
    # An owner who becomes an analyst loses what shows single raters.
    bob = member(staff_site, campaign, "owner")
    assert bob.get(of_owner).status_code == 200
    members.change_role(staff_site.platform, "pilot", "owner", "analyst", staff_id=campaign.staff_id, now=NOW)
    assert staff_site.owner("owner").get(of_owner).status_code == 404


@pytest.mark.slow
def test_a_withdrawal_deletes_reports_and_stops_those_under_way(staff_site: StaffSite, campaign: CampaignRow) -> None:
    careful, _ = add_crowd(staff_site.platform, campaign)
    browser = staff_site.owner()
    finished = ask(browser, question="Q_safe")
    finished_id, figure = finished.rpartition("/")[2], ("figure", "<svg/>", "<svg/>", "n\n1\n")
    store_report(
        staff_site, finished, report_store.StoredReport(content="{}", sections=[("answers", "{}")], figures=[figure])
    )
    path = ask(browser, question="Q_safe", inference="yes")
    working = Thread(target=make, args=(staff_site,))
    working.start()
    report_id = path.rpartition("/")[2]
    while True:
        with staff_site.platform.database.reading() as tx:
            row = report_store.find_report(tx, campaign.id, report_id)
        assert row is not None
        if row.state == "working":
            break
    withdrawal.withdraw_rater(staff_site.platform, careful, now=staff_site.live.clock())
    working.join(timeout=60)
    assert not working.is_alive()
    for deleted in (path, finished):
        assert browser.get(deleted).status_code == 404
    with staff_site.platform.database.reading() as tx:
        assert report_store.list_reports(tx, campaign.id, with_raters=True) == ()
        for one in (report_id, finished_id):
            assert report_store.find_report_content(tx, one, "answers") is None
            assert report_store.find_report_figure(tx, one, "figure") is None


@pytest.mark.slow
@sqlite_only
def test_attempts_have_a_report(staff_site: StaffSite) -> None:
    campaign = open_chat_campaign(staff_site.platform, chat={"max_conversations": 9})
    for person in range(3):
        rater = enter(staff_site.platform, campaign.key)
        for number in range(2):
            add_attempt(staff_site.platform, rater, f"{ATTACK} {person} {number}", (person + number) % 5)
    browser = staff_site.owner("owner")
    path = ask(browser)
    make(staff_site)
    page = browser.get(path)
    assert "6 attempts" in read(page) or "attempts 6" in read(page)
    assert browser.get(f"{path}/success").status_code == 200


@sqlite_only
def test_figures_of_any_name_are_sent_and_their_views_logged(staff_site: StaffSite, campaign: CampaignRow) -> None:
    browser = staff_site.owner()
    path = ask(browser, question="Q_safe")
    figure = ("größe-例", '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>', "<svg/>", "n\n1\n")
    store_report(staff_site, path, report_store.StoredReport(content="{}", sections=[], figures=[figure]))
    for kind in ("svg", "png", "csv"):
        sent = browser.get(f"{path}/figures/{figure[0]}/{kind}")
        assert sent.status_code == 200
        name = f"gr%C3%B6%C3%9Fe-%E4%BE%8B.{kind}"
        assert sent.headers["content-disposition"] == f"inline; filename*=UTF-8''{name}"
    with staff_site.platform.database.reading() as tx:
        assert tx.scalar(select(func.count()).where(EventTable.kind == "viewed")) == 3


@sqlite_only
@pytest.mark.usefixtures("campaign")
def test_a_report_fails_once_its_process_has_died_several_times(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    path = ask(browser, question="Q_safe")
    for number in range(MAX_CLAIMS):
        at = NOW + timedelta(minutes=number)
        with staff_site.platform.database.writing() as tx:
            assert report_store.claim_report(tx, until=at + timedelta(seconds=1), now=at) is not None
    staff_site.live.clock.forward(minutes=number + 1)
    make(staff_site)
    assert f"The site stopped {MAX_CLAIMS} times while it was made" in read(browser.get(path))


@sqlite_only
@pytest.mark.usefixtures("campaign")
def test_what_cannot_be_reported_is_refused_with_the_reason(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    path = ask(browser, question="Q_safe")
    make(staff_site)
    assert "pilot has no rating to export yet" in read(browser.get(path))
    for wrong in (
        {"question": "Q_none"},
        {"axis": "moon"},
        {"cross_first": "rater_age"},
        {"cross_first": "rater_age", "cross_second": "rater_age"},
        {"attribute": "safety_gold"},
        {"group": "rater_age=x"},
    ):
        assert send(browser, REPORTS, **wrong).status_code == 422, wrong
