"""Monitoring pages of owners, analysts and observers."""

import re
from html import unescape
from typing import Any

import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import NOW
from tests.support.monitored_campaigns import Habit, add_crowd, member, open_monitored_campaign, rate_items, read
from tests.support.staff_site import StaffSite, send

from dissensus.schema.campaign.roles import Role
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import withdrawal

MONITORING_PATH = "/campaigns/pilot/monitoring"


@pytest.fixture
def campaign(staff_site: StaffSite) -> CampaignRow:
    return open_monitored_campaign(
        staff_site.platform,
        sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id,
        replication=20,
    )


def refresh_figures(staff_site: StaffSite) -> None:
    refresh_snapshots(staff_site.platform, MonitoringCache(), now=staff_site.live.clock())


def close(staff_site: StaffSite, campaign: CampaignRow) -> None:
    campaigns.change_state(
        staff_site.platform, "pilot", "closed", staff_id=campaign.staff_id, now=staff_site.live.clock()
    )
    refresh_figures(staff_site)


@sqlite_only
@pytest.mark.usefixtures("campaign")
def test_without_figures_the_page_says_so(staff_site: StaffSite) -> None:
    page = staff_site.owner().get(MONITORING_PATH)
    assert page.status_code == 200
    assert "There are no figures yet." in read(page)
    refresh_figures(staff_site)
    text = read(staff_site.owner().get(MONITORING_PATH))
    assert "There are no ratings yet." in text
    assert "Target: 480 ratings. None arrived in the last 24 hours." in text


@sqlite_only
def test_an_owner_sees_all_figures_and_their_age(staff_site: StaffSite, campaign: CampaignRow) -> None:
    add_crowd(staff_site.platform, campaign)
    staff_site.live.clock.forward(hours=9, minutes=30)
    refresh_figures(staff_site)
    staff_site.live.clock.forward(seconds=3)
    page = staff_site.owner().get(MONITORING_PATH)
    text = read(page)
    assert "As of 2026-03-01 21:30:00 UTC , 3 s ago." in text
    assert "These figures are out of date" not in text
    for heading in ("Flagged raters", "Pace", "Ratings per item", "Agreement", "Answers", "Answer times", "Gold"):
        assert re.search(rf"<h2 [^>]*>{heading}", page.text), heading
    assert re.search(r"At the pace of the last 24 hours, the target of 480 ratings is reached in \d+ hours", text)
    assert "fast: 100.0 % of 20 items in less than a quarter of the pool's median time" in text
    assert "one label: 100.0 % of 20 answers are No" in text
    # Every chart has a table with its values.
    assert page.text.count('<svg class="chart"') == page.text.count(": the numbers</summary>") == 3
    assert "style=" not in page.text


@sqlite_only
@pytest.mark.slow
def test_a_warned_interval_has_a_mark_and_a_note(staff_site: StaffSite) -> None:
    """With 100 items the intervals of groups with fewer than five ratings per item are approximate, and no others."""
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    campaign = open_monitored_campaign(staff_site.platform, owner_id, n_items=100, replication=20)
    for number in range(38):  # each rates 20 items
        age = "50+" if number % 5 == 0 else "18-29"
        rate_items(staff_site.platform, campaign, number, attributes={"rater_age": age, "rater_gender": "Woman"})
    refresh_figures(staff_site)
    page = staff_site.owner().get(MONITORING_PATH)
    (table,) = re.findall(r'data-live="agreement-table">(.*?)</table>', page.text, re.DOTALL)
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', table, re.DOTALL)
    assert {name: 'href="#caveats"' in cells for name, cells in rows} == {
        "All raters": False,
        "18-29": False,
        "50+": True,
        "Woman": False,
    }
    (notes,) = re.findall(r'<div id="caveats"[^>]*>(.*?)</div>', page.text, re.DOTALL)
    assert " ".join(re.sub(r"<[^>]+>", " ", notes).split()) == (
        "* Interval approximate: fewer than 5 ratings of a group per item. This concerns Age: 50+."
    )


@sqlite_only
def test_stale_figures_are_marked_while_the_campaign_is_open(staff_site: StaffSite, campaign: CampaignRow) -> None:
    browser = staff_site.owner()
    rate_items(staff_site.platform, campaign, 1)
    refresh_figures(staff_site)
    staff_site.live.clock.forward(seconds=60)
    assert "These figures are out of date" not in read(browser.get(MONITORING_PATH))
    staff_site.live.clock.forward(seconds=1)
    text = read(browser.get(MONITORING_PATH))
    assert "1 min 1 s ago" in text
    assert "These figures are out of date. They should be seconds old while the campaign is open" in text
    campaigns.change_state(
        staff_site.platform, "pilot", "closed", staff_id=campaign.staff_id, now=staff_site.live.clock()
    )
    assert "These figures are out of date" not in read(browser.get(MONITORING_PATH))


@sqlite_only
def test_an_analyst_sees_all_figures_without_flags(staff_site: StaffSite, campaign: CampaignRow) -> None:
    add_crowd(staff_site.platform, campaign)
    refresh_figures(staff_site)
    page = member(staff_site, campaign, "analyst").get(MONITORING_PATH)
    text = read(page)
    assert page.status_code == 200
    assert "18-29" in text
    assert "Ratings by hour" in text
    assert "Flagged" not in text
    assert "Raters to review" not in text


@sqlite_only
def test_an_observer_sees_large_groups_of_a_closed_campaign(staff_site: StaffSite, campaign: CampaignRow) -> None:
    add_crowd(staff_site.platform, campaign)
    refresh_figures(staff_site)
    browser = member(staff_site, campaign, "observer")
    text = read(browser.get(MONITORING_PATH))
    assert "Figures are published once the campaign is closed" in text
    assert "Agreement" not in text
    close(staff_site, campaign)
    page = browser.get(MONITORING_PATH)
    text = read(page)
    assert page.status_code == 200
    assert "Published on 2026-03-01 12:00 UTC , when the campaign was closed" in text
    assert "All raters" in text
    # No age group of the twelve raters has five.
    assert "18-29" not in text
    assert "Groups with fewer than five raters are hidden" in text
    for private in ("Flagged", "Ratings by hour", "out of date", "At the pace"):
        assert private not in text


@sqlite_only
def test_published_figures_do_not_change(staff_site: StaffSite, campaign: CampaignRow) -> None:
    raters = [rate_items(staff_site.platform, campaign, number) for number in range(5)]
    close(staff_site, campaign)
    browser = member(staff_site, campaign, "observer")
    published = read(browser.get(MONITORING_PATH))
    assert "Answer times by group" in published, "five raters are enough"
    withdrawal.withdraw_rater(staff_site.platform, raters[0], now=staff_site.live.clock())
    for state in ("paused", "open"):
        campaigns.change_state(
            staff_site.platform, "pilot", state, staff_id=campaign.staff_id, now=staff_site.live.clock()
        )
    for number in range(6, 9):
        rate_items(staff_site.platform, campaign, number)
    close(staff_site, campaign)
    assert read(browser.get(MONITORING_PATH)) == published


@sqlite_only
def test_figures_of_four_raters_are_not_published(staff_site: StaffSite, campaign: CampaignRow) -> None:
    for number in range(4):
        rate_items(staff_site.platform, campaign, number)
    close(staff_site, campaign)
    text = read(member(staff_site, campaign, "observer").get(MONITORING_PATH))
    assert "if at least five raters took part" in text
    assert "Answer times by group" not in text


@sqlite_only
@pytest.mark.parametrize("role", ["expert", "carer"])
def test_others_do_not_see_monitoring(staff_site: StaffSite, campaign: CampaignRow, role: Role) -> None:
    assert member(staff_site, campaign, role).get(MONITORING_PATH).status_code == 403


def test_withdrawn_raters_are_gone_from_both_pages(staff_site: StaffSite, campaign: CampaignRow) -> None:
    hasty, _ = add_crowd(staff_site.platform, campaign)
    refresh_figures(staff_site)
    withdrawal.withdraw_rater(staff_site.platform, hasty, now=staff_site.live.clock())
    browser, path = staff_site.owner(), f"/campaigns/pilot/raters/{hasty}"
    assert hasty not in browser.get(MONITORING_PATH).text
    assert "their answers were erased" in read(browser.get(path))
    assert send(browser, path, verdict="keep", reason="x").status_code == 404


def test_texts_of_the_campaign_are_escaped(staff_site: StaffSite) -> None:
    answer, group = "<img src=x onerror=alert(1)>", "<b>old</b>"
    questions = [{"name": "Q_safe", "text": "Is it?", "scale": ["No", answer]}]
    about = {"name": "you", "about": "rater", "languages": ["en"], "title": "You"}
    axis = {"name": "rater_age", "text": "How old?", "scale": [group, "young"], "decline": "Prefer not to say"}
    two = {"name": "two", "languages": ["en"], "title": "Two", "questions": questions}
    changes: dict[str, Any] = {"questionnaire": two, "demographics": {**about, "questions": [axis]}}
    campaign = open_monitored_campaign(
        staff_site.platform,
        sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id,
        replication=20,
        **changes,
    )
    for number in range(3):
        rate_items(staff_site.platform, campaign, number, Habit(always=answer), attributes={"rater_age": group})
    refresh_figures(staff_site)
    page = staff_site.owner().get(MONITORING_PATH)
    assert answer in unescape(page.text)
    assert group in unescape(page.text)
    assert answer not in page.text
    assert group not in page.text


@sqlite_only
@pytest.mark.usefixtures("campaign")
def test_the_campaign_page_links_to_monitoring(staff_site: StaffSite) -> None:
    assert f'href="{MONITORING_PATH}"' in staff_site.owner().get("/campaigns/pilot").text


@sqlite_only
def test_consistency_on_repeated_items_is_shown_without_small_groups(staff_site: StaffSite) -> None:
    staff_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    repeat = {"share": 0.5, "distance": 2}
    campaign = open_monitored_campaign(staff_site.platform, staff_id, repeat=repeat, replication=20)
    for number in range(10):
        age = "18-29" if number % 2 else "50+"
        rate_items(staff_site.platform, campaign, number, attributes={"rater_age": age, "rater_gender": "Woman"})
    refresh_figures(staff_site)
    page = staff_site.owner().get(MONITORING_PATH)
    assert re.search(r"<h2 [^>]*>Consistency", page.text)
    section = read(page).partition("Equal answers to")[2].partition("Shares of the answers")[0]
    assert re.search(r"All raters 10 \d+ \d+ %", section)
    assert re.search(r"18-29 5 \d+ \d+ %", section)
    assert re.search(r"50\+ 5 \d+ \d+ %", section)
    assert "Each rater" in section
    assert "Each rater" not in read(member(staff_site, campaign, "analyst").get(MONITORING_PATH))
