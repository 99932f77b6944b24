"""The check of a draft before it opens, on its pages and in the API."""

import re

from tests.databases import sqlite_only
from tests.support.api_programs import API, program
from tests.support.campaigns import NOW, definition, items
from tests.support.chat_campaigns import CHAT, TERN
from tests.support.staff_members import join_pilot
from tests.support.staff_site import StaffSite, create_draft, send

from dissensus.schema.campaign.parser import parse_campaign
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.platform import sign_in_links

REMOTE = {
    "name": "heron",
    "kind": "openai_compatible",
    "openai_compatible": {"url": "https://bots.example.com/v1", "model": "heron-1"},
    "model_type": "rlhf",
    "num_params": "7B",
    "version": "1",
}


def state(staff_site: StaffSite, name: str = "pilot") -> str:
    staff_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    return overview.load_overview(staff_site.platform, name, staff_id=staff_id).campaign_row.state


def create(staff_site: StaffSite, name: str = "pilot", n_items: int = 2, **changes: object) -> None:
    staff_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    rated = () if "chat" in changes else items(n_items)
    base = definition(name).as_mapping()
    if "chat" in changes:
        base.pop("questionnaire")
    campaign = parse_campaign({**base, **changes})
    campaigns.create_campaign(staff_site.platform, campaign, rated, staff_id=staff_id, now=NOW)


@sqlite_only
def test_a_care_contact_that_nobody_holds_is_named_before_opening(staff_site: StaffSite) -> None:
    create(staff_site, care={"contact": "Mia Berg"})
    browser = staff_site.owner()
    assert "nobody in the role carer reads it" in browser.get("/campaigns/pilot").text
    asked = browser.get("/campaigns/pilot/opening").text
    assert "nobody in the role carer reads it" in asked
    assert 'href="/campaigns/pilot/staff"' in asked
    assert "Open now" in asked
    assert send(browser, "/campaigns/pilot/state", state="open").status_code == 303
    assert state(staff_site) == "open"
    waiting = '<a href="/campaigns/pilot/staff">1 care contact that no member holds</a>'
    assert waiting in browser.get("/").text
    join_pilot(staff_site, "mia", "carer")
    assert waiting not in browser.get("/").text
    moved = browser.get("/campaigns/pilot/opening")
    assert (moved.status_code, moved.headers["location"]) == (303, "/campaigns/pilot")


@sqlite_only
def test_a_chatbot_on_a_server_that_is_not_allowed_stops_the_opening(staff_site: StaffSite) -> None:
    create(staff_site, chat={**CHAT, "chatbots": [TERN, REMOTE]})
    browser = staff_site.owner()
    asked = browser.get("/campaigns/pilot/opening").text
    assert "bots.example.com is not an allowed chatbot server" in asked
    (step,) = set(re.findall(r'href="(/campaigns/pilot/builder/\w+)">Change kind<', asked))
    assert browser.get(step).status_code == 200
    assert "Open now" not in asked
    refused = send(browser, "/campaigns/pilot/state", state="open")
    assert refused.status_code == 409
    assert "The chatbot heron cannot answer." in refused.text
    answer = program(staff_site).post(f"{API}/pilot/state", json={"state": "open"})
    assert answer.status_code == 409
    assert "bots.example.com" in answer.text
    assert state(staff_site) == "draft"


@sqlite_only
def test_a_draft_without_items_cannot_open(staff_site: StaffSite) -> None:
    create(staff_site, n_items=0)
    asked = staff_site.owner().get("/campaigns/pilot/opening").text
    assert "There are no items to rate." in asked
    assert "Open now" not in asked


@sqlite_only
def test_a_draft_that_can_work_says_so_and_names_what_is_fixed(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    asked = staff_site.owner().get("/campaigns/pilot/opening").text
    assert "The check found no problem." in asked
    assert "languages, the format of responses, ratings per item, and the seed" in asked
