"""Figures, flags and notices by the API, over both kinds of database."""

from datetime import timedelta
from typing import Any

import pytest
from tests.databases import sqlite_only
from tests.support import monitored_campaigns
from tests.support.api_programs import API, add_member, open_api_campaign, program, rows
from tests.support.campaigns import NOW
from tests.support.raters import enter
from tests.support.staff_site import StaffSite

from dissensus.store.campaigns import CampaignRow
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign import audit, campaigns
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import next_step, rating, withdrawal

PILOT = f"{API}/pilot"
DECISION = {"verdict": "exclude", "reason": 'A person read it: "<b>too</b> fast".'}


@pytest.fixture
def campaign(staff_site: StaffSite) -> CampaignRow:
    return monitored_campaigns.open_monitored_campaign(
        staff_site.platform,
        sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id,
        replication=20,
    )


def refresh_figures(staff_site: StaffSite) -> None:
    refresh_snapshots(staff_site.platform, MonitoringCache(), now=staff_site.live.clock())


@sqlite_only
def test_figures_equal_those_of_the_page(staff_site: StaffSite, campaign: CampaignRow) -> None:
    http = program(staff_site)
    unrated = http.get(f"{PILOT}/figures").json()
    assert (unrated["raters"], unrated["figures"], unrated["read_at"]) == (None, None, None)
    monitored_campaigns.add_crowd(staff_site.platform, campaign)
    staff_site.live.clock.forward(hours=9, minutes=30)
    refresh_figures(staff_site)
    body = http.get(f"{PILOT}/figures").json()
    assert (body["raters"], body["hidden"], body["read_at"]) == (12, False, "2026-03-01T21:30:00Z")
    assert body["forecast"]["target"] == 480
    figures = body["figures"]
    assert figures["scales"] == {"Q_safe": ["No", "Unsure", "Yes"]}
    assert sum(figures["pool"]["answers"]["Q_safe"]) == figures["pool"]["n_ratings"] == sum(figures["times"])
    assert len(figures["times"]) == len(figures["edges_s"]) + 1
    assert figures["hours"][0]["start"] == "2026-03-01T12:00:00Z"
    assert {group["axis"] for group in figures["groups"]} == {"rater_age", "rater_gender"}
    assert "flagged" not in figures


@sqlite_only
def test_an_observer_gets_figures_of_large_groups_once_closed(staff_site: StaffSite, campaign: CampaignRow) -> None:
    add_member(staff_site, "ben", "observer")
    ben = program(staff_site, "ben")
    monitored_campaigns.add_crowd(staff_site.platform, campaign)
    refresh_figures(staff_site)
    body = ben.get(f"{PILOT}/figures").json()
    assert (body["raters"], body["hidden"], body["figures"], body["forecast"]) == (None, True, None, None)
    campaigns.change_state(
        staff_site.platform, "pilot", "closed", staff_id=campaign.staff_id, now=staff_site.live.clock()
    )
    refresh_figures(staff_site)
    body = ben.get(f"{PILOT}/figures").json()
    assert (body["raters"], body["hidden"], body["figures"]["hours"], body["forecast"]) == (12, True, [], None)
    assert all(group["n_raters"] >= 5 for group in body["figures"]["groups"])
    # A token of the owner without the scope small-numbers gets the same.
    few = program(staff_site, scopes=frozenset({"numbers"})).get(f"{PILOT}/figures").json()
    assert few == body
    add_member(staff_site, "rex", "reviewer")
    assert program(staff_site, "rex").get(f"{PILOT}/figures").status_code == 200
    add_member(staff_site, "eve", "expert")
    assert program(staff_site, "eve").get(f"{PILOT}/figures").status_code == 403


@sqlite_only
def test_a_flag_decision_is_exported(staff_site: StaffSite, campaign: CampaignRow) -> None:
    hasty, stubborn = monitored_campaigns.add_crowd(staff_site.platform, campaign)
    refresh_figures(staff_site)
    http = program(staff_site)
    flags = {one["rater"]: one for one in rows(http, f"{PILOT}/flags", 1)}
    assert list(flags) == sorted([hasty, stubborn])
    assert flags[hasty]["evidence"]["reasons"][0].startswith("fast: 100.0 % of 20 items in less than")
    assert flags[hasty]["decision"] is None
    response = http.post(f"{PILOT}/flags/{hasty}/decisions", json=DECISION)
    assert response.status_code == 201, response.text
    (decision,) = response.json()["decisions"]
    assert (decision["verdict"], decision["reason"], decision["by"]) == ("exclude", DECISION["reason"], "ada")
    assert decision["evidence"] == "\n".join(flags[hasty]["evidence"]["reasons"])
    http.post(f"{PILOT}/flags/{hasty}/decisions", json={"verdict": "keep", "reason": "No."})
    case = http.get(f"{PILOT}/flags/{hasty}").json()
    assert [one["verdict"] for one in case["decisions"]] == ["keep", "exclude"]
    assert {one["rater"]: one["decision"] and one["decision"]["verdict"] for one in rows(http, f"{PILOT}/flags")} == {
        hasty: "keep",
        stubborn: None,
    }
    assert {row["rater_flagged"] for row in http.get(f"{PILOT}/ratings").json()["data"]} == {False}
    audit.link_pending_events(staff_site.platform)
    assert [
        one["content"]["verdict"] for one in rows(http, f"{PILOT}/events", 500) if one["kind"] == "decision_recorded"
    ] == [
        "exclude",
        "keep",
    ]
    withdrawal.withdraw_rater(staff_site.platform, hasty, now=NOW)
    assert http.get(f"{PILOT}/flags/{hasty}").status_code == 404


@sqlite_only
def test_invalid_decisions_are_rejected(staff_site: StaffSite, campaign: CampaignRow) -> None:
    hasty, _ = monitored_campaigns.add_crowd(staff_site.platform, campaign, 5)
    careful = monitored_campaigns.rate_items(staff_site.platform, campaign, 1)
    refresh_figures(staff_site)
    http, address = program(staff_site), f"{PILOT}/flags/{hasty}/decisions"
    assert "meets no criterion" in http.post(f"{PILOT}/flags/{careful}/decisions", json=DECISION).json()["detail"]
    for wrong in ({"verdict": "maybe"}, {"reason": ""}, {"reason": " \n"}, {"reason": "a\0b"}, {"reason": "x" * 2_001}):
        assert http.post(address, json={**DECISION, **wrong}).status_code == 422
    assert http.get(f"{PILOT}/flags/{hasty}").json()["decisions"] == []
    add_member(staff_site, "ben", "analyst")
    assert program(staff_site, "ben").post(address, json=DECISION).status_code == 403


def report_notices(staff_site: StaffSite) -> tuple[RaterRow, Any]:
    """Let a rater report an item and then ask for help; return the rater and the item."""
    campaign = open_api_campaign(staff_site)
    rater = enter(staff_site.platform, campaign.key)
    at = next_step.find_next_step(staff_site.platform, rater, now=NOW).assignment
    assert at is not None
    rating.report_item(staff_site.platform, rater, "illegal", "<b>Look</b> at this.", assignment_id=at.id, now=NOW)
    rating.report_item(
        staff_site.platform, rater, "help", "I am not well.", assignment_id=None, now=NOW + timedelta(seconds=1)
    )
    return rater, at.item


@sqlite_only
def test_notices_are_read_and_settled(staff_site: StaffSite) -> None:
    rater, item = report_notices(staff_site)
    http = program(staff_site)
    illegal, call = rows(http, f"{PILOT}/notices", 1)
    assert (illegal["kind"], illegal["text"], illegal["item"]) == ("illegal", "<b>Look</b> at this.", item.item_id)
    assert (call["kind"], call["item"]) == ("help", None)
    assert rater.id not in str([illegal, call])
    address = f"{PILOT}/notices/{illegal['id']}/settlement"
    assert http.post(address, json={"show_again": True}).json() == {"id": illegal["id"], "shown_again": True}
    assert [one["id"] for one in rows(http, f"{PILOT}/notices")] == [call["id"]]
    assert http.post(f"{PILOT}/notices/nothing/settlement", json={}).status_code == 404
    audit.link_pending_events(staff_site.platform)
    assert sum(one["kind"] == "notice_settled" for one in rows(http, f"{PILOT}/events", 500)) == 1


@sqlite_only
def test_a_notice_of_another_campaign_is_not_found(staff_site: StaffSite) -> None:
    report_notices(staff_site)
    (first, *_) = rows(program(staff_site), f"{PILOT}/notices")
    eve = program(staff_site, "eve")
    response = eve.post(
        API, json={"definition": program(staff_site).get(PILOT).json()["definition"] | {"name": "other"}}
    )
    assert response.status_code == 201
    assert eve.post(f"{API}/other/notices/{first['id']}/settlement", json={}).status_code == 404
    assert len(rows(program(staff_site), f"{PILOT}/notices")) == 2
