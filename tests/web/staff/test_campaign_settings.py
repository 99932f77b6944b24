"""Tabs and breadcrumbs, settings, archive, deletion and log of a campaign over HTTP."""

import re
from html import unescape
from typing import Any

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.chat_campaigns import open_chat_campaign
from tests.support.live_site import hidden
from tests.support.staff_members import join_pilot, open_pilot
from tests.support.staff_site import StaffSite, create_draft, send, token_of

from dissensus.workflows.campaign import members

PILOT = "/campaigns/pilot"
API = "/api/v1/campaigns/pilot"
CARE: dict[str, Any] = {"survey_every": 1, "contact": "Mia"}


def read_tabs(page: httpx.Response) -> dict[str, str]:
    """The tabs of a page with their addresses."""
    (tabs,) = re.findall(r'<nav class="tabs".*?</nav>', page.text, re.DOTALL)
    return {label: path for path, label in re.findall(r'<a href="([^"]+)"[^>]*>([^<]+)</a>', tabs)}


def read_trail(page: httpx.Response) -> list[str]:
    (trail,) = re.findall(r'<nav aria-label="Breadcrumbs">.*?</nav>', page.text, re.DOTALL)
    return re.findall(r">([^<]+)</a>", trail)


def test_every_tab_leads_to_a_page_of_the_campaign(staff_site: StaffSite) -> None:
    open_pilot(staff_site, care=CARE, pay={"currency": "EUR", "hourly_rate": 12, "finished": 3, "screened_out": 1})
    owner = staff_site.owner()
    tabs = read_tabs(owner.get(PILOT))
    # The owner reads no surveys, and this campaign has neither experts nor a quota.
    assert list(tabs) == [
        *("Overview", "Items", "Raters", "Monitoring", "Reports", "Release", "Plan", "Messages"),
        *("Pay", "Members", "Log", "Settings"),
    ]
    for label, path in tabs.items():
        page = owner.get(path)
        assert page.status_code == 200, (label, page.text)
        assert re.search(rf'aria-current="page">{label}</a>', page.text)
        assert read_trail(page) == ["Campaigns", "pilot"]


@pytest.mark.parametrize(
    ("role", "tabs"),
    [
        ("analyst", ["Overview", "Items", "Monitoring", "Reports"]),
        ("observer", ["Overview", "Monitoring"]),
        ("expert", ["Overview"]),
        ("reviewer", ["Overview", "Items", "Raters", "Monitoring", "Reports", "Messages"]),
        ("carer", ["Overview", "Care"]),
    ],
)
def test_roles_see_the_tabs_that_they_may_open(staff_site: StaffSite, role: str, tabs: list[str]) -> None:
    open_pilot(staff_site, care=CARE)
    browser = join_pilot(staff_site, "grace", role)
    shown = read_tabs(browser.get(PILOT))
    assert list(shown) == tabs
    assert {browser.get(path).status_code for path in shown.values()} == {200}


@sqlite_only
def test_a_campaign_of_conversations_has_other_tabs(staff_site: StaffSite) -> None:
    campaign = open_chat_campaign(staff_site.platform)
    staff_site.owner()
    members.add_member(
        staff_site.platform, "pilot", "ada", "owner", staff_id=campaign.staff_id, now=staff_site.live.clock()
    )
    tabs = read_tabs(staff_site.owner().get(PILOT))
    assert "Attempts" in tabs
    assert re.findall(r'<td class="n"[^>]*>([^<]*)</td>', staff_site.owner().get("/campaigns").text) == ["–", "0", "–"]
    assert not {"Items", "Monitoring"} & tabs.keys()


@sqlite_only
@pytest.mark.parametrize(
    ("path", "tab", "trail"),
    [("opening", "Overview", []), ("revise", "Settings", ["Settings"]), ("webhooks", "Settings", ["Settings"])],
)
def test_a_page_without_a_tab_belongs_to_one(staff_site: StaffSite, path: str, tab: str, trail: list[str]) -> None:
    create_draft(staff_site)
    page = staff_site.owner().get(f"{PILOT}/{path}")
    assert set(re.findall(r'aria-current="true">([^<]+)</a>', page.text)) == {tab}
    assert read_trail(page) == ["Campaigns", "pilot", *trail]


@sqlite_only
def test_a_page_below_a_tab_leads_back_to_it(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    page = staff_site.owner().get(f"{PILOT}/items/1")
    assert read_trail(page) == ["Campaigns", "pilot", "Items"]
    assert 'aria-current="true">Items</a>' in page.text


def test_a_draft_is_deleted_by_its_name(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    owner = staff_site.owner()
    page = owner.get(f"{PILOT}/settings").text
    assert "3 items" in page
    refused = send(owner, f"{PILOT}/delete", confirmation="pilo")
    assert refused.status_code == 422
    assert "'pilo' is not the name of the campaign. Write pilot to delete it." in unescape(refused.text)
    assert 'value="pilo"' in refused.text
    assert send(owner, f"{PILOT}/delete", confirmation="pilot").headers["location"] == "/campaigns"
    assert owner.get(PILOT).status_code == 404
    assert "pilot" not in owner.get("/campaigns").text


def test_a_rater_of_a_deleted_campaign_is_told_so(staff_site: StaffSite) -> None:
    campaign = open_pilot(staff_site)
    visitor = staff_site.live.visitor()
    visitor.enter(str(campaign.key))
    owner = staff_site.owner()
    assert "raters may be at work" in owner.get(f"{PILOT}/settings").text
    assert send(owner, f"{PILOT}/delete", confirmation="pilot").status_code == 422
    send(owner, f"{PILOT}/state", state="closed")
    send(owner, f"{PILOT}/delete", confirmation="pilot")
    page = visitor.get("/rate")
    assert (page.status_code, "You are not signed in (any more)" in page.text) == (403, True)
    assert visitor.get(f"/c/pilot?key={campaign.key}").status_code == 403


@sqlite_only
def test_an_owner_permits_a_judge_and_takes_it_back(staff_site: StaffSite) -> None:
    open_pilot(staff_site)
    owner, analyst = staff_site.owner(), join_pilot(staff_site, "grace", "analyst")
    assert "No text of this campaign may be sent" in owner.get(f"{PILOT}/settings").text
    refused = send(owner, f"{PILOT}/judge", url="http://api.example.com/v1")
    assert refused.status_code == 422
    assert "Nothing was permitted" in refused.text
    assert "'http://api.example.com/v1' is not an https address" in unescape(refused.text)
    assert 'value="http://api.example.com/v1"' in refused.text
    assert "is not an https address" in send(owner, f"{PILOT}/judge", url="").text
    assert analyst.post(f"{PILOT}/judge", data={"revoke": "yes"}).status_code == 403
    permitted = send(owner, f"{PILOT}/judge", url=" https://api.example.com/v1/ ")
    assert permitted.headers["location"] == f"{PILOT}/settings#judge"
    assert "<code>https://api.example.com/v1</code>" in owner.get(f"{PILOT}/settings").text
    other = send(owner, f"{PILOT}/judge", url="http://api.example.org").text
    assert "<code>https://api.example.com/v1</code>" in other
    assert 'value="http://api.example.org"' in other
    send(owner, f"{PILOT}/judge", revoke="yes")
    assert "No text of this campaign may be sent" in owner.get(f"{PILOT}/settings").text
    log = " ".join(re.sub(r"<[^>]+>", " ", owner.get(f"{PILOT}/log").text).split())
    assert "Texts may be sent to a model at an address, by ada url: https://api.example.com/v1" in log
    assert log.count("The permission to send texts to a model was revoked, by ada") == 1


@sqlite_only
def test_closed_campaigns_are_archived_and_reopened_in_plain_words(staff_site: StaffSite) -> None:
    open_pilot(staff_site)
    owner = staff_site.owner()
    assert "Archive" not in owner.get(f"{PILOT}/settings").text
    send(owner, f"{PILOT}/state", state="closed")
    closed = owner.get(PILOT).text
    assert "Pause campaign" not in closed
    assert "Reopen, paused at first" in closed
    send(owner, f"{PILOT}/archive", archived="yes")
    assert "The campaign is archived." in owner.get(PILOT).text
    listed = owner.get("/campaigns").text
    assert listed.index("Archived campaigns") < listed.index("/campaigns/pilot")
    assert "Take it out of the archive" in send(owner, f"{PILOT}/state", state="paused").text
    send(owner, f"{PILOT}/archive", archived="no")
    assert "Archived campaigns" not in owner.get("/campaigns").text


@sqlite_only
def test_the_log_says_who_did_what(staff_site: StaffSite) -> None:
    campaign = open_pilot(staff_site)
    join_pilot(staff_site, "grace", "analyst")
    visitor = staff_site.live.visitor()
    page = visitor.enter(str(campaign.key))
    visitor.send("/notice", form_token=hidden(page)["form_token"], kind="help", text="I need a hand")
    owner = staff_site.owner()
    text = " ".join(re.sub(r"<[^>]+>", " ", owner.get(f"{PILOT}/log").text).split())
    assert "A member joined, by grace person: grace; role: analyst" in text
    assert "The campaign was opened, by ada" in text
    assert "state: open" not in text
    assert "rater entered" not in text
    everything = owner.get(f"{PILOT}/log?by=all").text
    assert "A rater entered" in everything
    assert "A rater asked for help" in everything
    assert "I need a hand" not in everything
    earliest = owner.get(f"{PILOT}/log?by=all&before=1").text
    assert "There are no earlier events." in earliest
    assert f'href="{PILOT}/log?by=all">The latest events' in earliest
    assert owner.get(f"{PILOT}/log?by=none").status_code == 422


@sqlite_only
def test_programs_archive_and_delete(staff_site: StaffSite) -> None:
    open_pilot(staff_site)
    owner = staff_site.owner()
    data = {"form_token": token_of(owner.get("/account")), "name": "nightly", "days": "30"}
    made = owner.post("/account/tokens", data={**data, "scope": ["list", "see", "state", "archive", "delete"]})
    assert f"{staff_site.live.url}/api/v1/campaigns" in made.text
    (key,) = re.findall(r'value="(dis_[^"]+)"', made.text)
    program = staff_site.stranger()
    program.headers["authorization"] = f"Bearer {key}"
    assert program.put(f"{API}/archived", json={"archived": True}).status_code == 409
    program.post(f"{API}/state", json={"state": "closed"})
    archived = program.put(f"{API}/archived", json={"archived": True}).json()
    assert (archived["archived_at"], archived["allowed_states"]) == ("2026-03-01T12:00:00Z", [])
    assert program.delete(API).status_code == 422
    assert program.delete(API, params={"confirm": "pilo"}).status_code == 422
    assert program.delete(API, params={"confirm": "pilot"}).status_code == 204
    assert program.get(API).status_code == 404
    assert program.get("/api/v1/campaigns").json()["data"] == []
