"""Figures, flags and notices by the API, over both kinds of database."""

from datetime import timedelta
from typing import Any

import pytest
from tests.support import monitored_campaigns
from tests.support.api_programs import API, belongs, opened, program, rows
from tests.support.campaigns import NOW
from tests.support.raters import enter
from tests.support.staff_browsers import House

from dissensus.store.campaigns import CampaignRow
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign import audit
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform import staff
from dissensus.workflows.rater import journey, rating, withdrawal

one_kind = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
HERE = f"{API}/pilot"
WHY = {"verdict": "exclude", "reason": 'A person read it: "<b>too</b> fast".'}


@pytest.fixture
def kept(house: House) -> CampaignRow:
    return monitored_campaigns.opened(
        house.platform, staff.create_sign_in_link(house.platform, "ada", now=NOW).staff.id, replication=20
    )


def ticked(house: House) -> None:
    refresh_snapshots(house.platform, MonitoringCache(), now=house.live.clock())


def test_figures_are_those_of_the_page(house: House, kept: CampaignRow) -> None:
    http = program(house)
    nothing = http.get(f"{HERE}/figures").json()
    assert (nothing["raters"], nothing["figures"], nothing["read_at"]) == (0, None, None)
    monitored_campaigns.crowd(house.platform, kept)
    house.live.clock.forward(hours=9, minutes=30)
    ticked(house)
    found = http.get(f"{HERE}/figures").json()
    assert (found["raters"], found["hidden"], found["read_at"]) == (12, False, "2026-03-01T21:30:00Z")
    assert found["forecast"]["wanted"] == 480
    figures = found["figures"]
    assert figures["scales"] == {"Q_safe": ["No", "Unsure", "Yes"]}
    assert sum(figures["pool"]["answers"]["Q_safe"]) == figures["pool"]["n_ratings"] == sum(figures["times"])
    assert len(figures["times"]) == len(figures["edges_s"]) + 1
    assert figures["hours"][0]["start"] == "2026-03-01T12:00:00Z"
    assert {group["axis"] for group in figures["groups"]} == {"rater_age", "rater_gender"}
    assert "flagged" not in figures


def test_an_analyst_gets_nothing_of_few(house: House, kept: CampaignRow) -> None:
    belongs(house, "ben", "analyst")
    ben = program(house, "ben")
    for number in range(4):
        monitored_campaigns.rates(house.platform, kept, number)
    ticked(house)
    found = ben.get(f"{HERE}/figures").json()
    assert (found["raters"], found["hidden"], found["figures"], found["forecast"]) == (None, True, None, None)
    monitored_campaigns.crowd(house.platform, kept)
    ticked(house)
    found = ben.get(f"{HERE}/figures").json()
    assert (found["raters"], found["hidden"], found["figures"]["hours"]) == (16, True, [])
    ages = {group["group"]: group["n_raters"] for group in found["figures"]["groups"] if group["axis"] == "rater_age"}
    assert all(n >= 5 for n in ages.values())
    # Nor does an owner by a token that is not for it.
    few = program(house, scopes=frozenset({"numbers"})).get(f"{HERE}/figures").json()
    assert few["figures"]["hours"] == []
    for role in ("expert", "reviewer"):
        belongs(house, role, role)
        assert program(house, role).get(f"{HERE}/figures").status_code == 403


def test_a_flag_is_decided_and_exports_tell(house: House, kept: CampaignRow) -> None:
    hasty, stubborn = monitored_campaigns.crowd(house.platform, kept)
    ticked(house)
    http = program(house)
    flags = {one["rater"]: one for one in rows(http, f"{HERE}/flags", 1)}
    assert list(flags) == sorted([hasty, stubborn])
    assert flags[hasty]["evidence"]["reasons"][0].startswith("fast: 100.0 % of 20 items in less than")
    assert flags[hasty]["decision"] is None
    made = http.post(f"{HERE}/flags/{hasty}/decisions", json=WHY)
    assert made.status_code == 201, made.text
    (decision,) = made.json()["decisions"]
    assert (decision["verdict"], decision["reason"], decision["by"]) == ("exclude", WHY["reason"], "ada")
    assert decision["evidence"] == "\n".join(flags[hasty]["evidence"]["reasons"])
    http.post(f"{HERE}/flags/{hasty}/decisions", json={"verdict": "keep", "reason": "No."})
    case = http.get(f"{HERE}/flags/{hasty}").json()
    assert [one["verdict"] for one in case["decisions"]] == ["keep", "exclude"]
    assert {one["rater"]: one["decision"] and one["decision"]["verdict"] for one in rows(http, f"{HERE}/flags")} == {
        hasty: "keep",
        stubborn: None,
    }
    assert {row["rater_flagged"] for row in http.get(f"{HERE}/ratings").json()["data"]} == {False}
    audit.link_pending_events(house.platform)
    assert [
        one["content"]["verdict"] for one in rows(http, f"{HERE}/events", 500) if one["kind"] == "decision_recorded"
    ] == [
        "exclude",
        "keep",
    ]
    withdrawal.withdraw_rater(house.platform, hasty, now=NOW)
    assert http.get(f"{HERE}/flags/{hasty}").status_code == 404


@one_kind
def test_what_cannot_be_decided_is_told(house: House, kept: CampaignRow) -> None:
    hasty, _ = monitored_campaigns.crowd(house.platform, kept, 5)
    careful = monitored_campaigns.rates(house.platform, kept, 1)
    ticked(house)
    http, there = program(house), f"{HERE}/flags/{hasty}/decisions"
    assert "meets no criterion" in http.post(f"{HERE}/flags/{careful}/decisions", json=WHY).json()["detail"]
    for wrong in ({"verdict": "maybe"}, {"reason": ""}, {"reason": " \n"}, {"reason": "a\0b"}, {"reason": "x" * 2_001}):
        assert http.post(there, json={**WHY, **wrong}).status_code == 422
    assert http.get(f"{HERE}/flags/{hasty}").json()["decisions"] == []
    belongs(house, "ben", "analyst")
    assert program(house, "ben").post(there, json=WHY).status_code == 403


def noticed(house: House) -> tuple[RaterRow, Any]:
    """Somebody reports an item, and then asks for help."""
    kept = opened(house)
    rater = enter(house.platform, kept.key)
    at = journey.next_state(house.platform, rater, now=NOW).assignment
    assert at is not None
    rating.report_item(house.platform, rater, "illegal", "<b>Look</b> at this.", assignment_id=at.id, now=NOW)
    rating.report_item(
        house.platform, rater, "help", "I am not well.", assignment_id=None, now=NOW + timedelta(seconds=1)
    )
    return rater, at.item


def test_notices_are_read_and_settled(house: House) -> None:
    rater, item = noticed(house)
    http = program(house)
    illegal, call = rows(http, f"{HERE}/notices", 1)
    assert (illegal["kind"], illegal["text"], illegal["item"]) == ("illegal", "<b>Look</b> at this.", item.item_id)
    assert (call["kind"], call["item"]) == ("help", None)
    assert rater.id not in str([illegal, call])
    there = f"{HERE}/notices/{illegal['id']}/settlement"
    assert http.post(there, json={"show_again": True}).json() == {"id": illegal["id"], "shown_again": True}
    assert [one["id"] for one in rows(http, f"{HERE}/notices")] == [call["id"]]
    assert http.post(f"{HERE}/notices/nothing/settlement", json={}).status_code == 404
    audit.link_pending_events(house.platform)
    assert sum(one["kind"] == "notice_settled" for one in rows(http, f"{HERE}/events", 500)) == 1


@one_kind
def test_a_notice_of_another_campaign_is_none(house: House) -> None:
    noticed(house)
    (first, *_) = rows(program(house), f"{HERE}/notices")
    eve = program(house, "eve")
    made = eve.post(API, json={"definition": program(house).get(HERE).json()["definition"] | {"name": "other"}})
    assert made.status_code == 201
    assert eve.post(f"{API}/other/notices/{first['id']}/settlement", json={}).status_code == 404
    assert len(rows(program(house), f"{HERE}/notices")) == 2
