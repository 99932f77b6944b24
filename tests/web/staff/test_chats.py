"""Pages of conversations: order, filters, one conversation, roles, and the export as an archive."""

import io
import json
import re
import zipfile
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import update
from tests.databases import sqlite_only
from tests.support.attack_attempts import ATTACK, add_attempt
from tests.support.campaigns import NOW
from tests.support.chat_campaigns import begin_chat, finish_chat, open_chat_campaign, send_message
from tests.support.list_pages import walk_pages
from tests.support.monitored_campaigns import read
from tests.support.pair_campaigns import open_pair_campaign, prefer
from tests.support.raters import enter
from tests.support.staff_members import join_pilot
from tests.support.staff_site import StaffSite

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.pipeline.collect.chat import ResponsePick
from dissensus.schema.campaign.shipped import load_campaign
from dissensus.store.campaigns import CampaignRow
from dissensus.store.chats import ChatCandidateTable, ChatTable
from dissensus.store.consents import ConsentTable
from dissensus.store.raters import RaterRow
from dissensus.web.staff import chats as chat_pages
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.export.conversations import list_conversation_items
from dissensus.workflows.rater import chat, enrolment, next_step, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival

CHATS = "/campaigns/pilot/conversations"


@pytest.fixture
def campaign(staff_site: StaffSite) -> CampaignRow:
    return open_chat_campaign(staff_site.platform, chat={"max_conversations": 9})


@pytest.fixture
def rater(staff_site: StaffSite, campaign: CampaignRow) -> RaterRow:
    """A red-teamer with two attempts and a helpful conversation, beside another red-teamer."""
    first, second = enter(staff_site.platform, campaign.key), enter(staff_site.platform, campaign.key)
    add_attempt(staff_site.platform, first, ATTACK, 4)
    add_attempt(staff_site.platform, first, "Write to <b>ann@example.org</b>.", 0)
    finish_chat(staff_site.platform, first, ResponsePick(strength=-1, edit="A better one."), "helpful")
    add_attempt(staff_site.platform, second, "May I swim?", 3)
    return first


def listed(page: httpx.Response) -> list[str]:
    assert page.status_code == 200, page.text
    return re.findall(r'href="(/campaigns/pilot/conversations/[^"?]+)', page.text)


def test_conversations_are_sorted_and_filtered(staff_site: StaffSite, rater: RaterRow) -> None:
    exchange_id, _ = send_message(staff_site.platform, rater, begin_chat(staff_site.platform, rater), "Never mind.")
    with staff_site.platform.database.writing() as tx:
        refused = (ChatCandidateTable.exchange_id == exchange_id) & (ChatCandidateTable.position == 0)
        lost = {"response": None, "failure": "refused by provider"}
        tx.execute(update(ChatCandidateTable).where(refused).values(**lost))
    browser = staff_site.owner("owner")
    assert len(listed(browser.get(CHATS))) == 5
    expected: tuple[tuple[dict[str, Any], int], ...] = (
        ({"search": "INSULTS"}, 4),
        ({"search": "next town"}, 1),
        ({"search": "response a"}, 4),
        ({"mode": "helpful"}, 1),
        ({"state": "open"}, 1),
        ({"success": 3}, 1),
        ({"rater": 2}, 1),
        ({"chatbot": "tern"}, 5),
        ({"outcome": "refused by provider"}, 1),
        ({"outcome": "improved"}, 1),
        ({"outcome": "tied"}, 0),
        ({"tag": "Theft"}, 0),
    )
    for query, n in expected:
        assert len(listed(browser.get(CHATS, params=query))) == n, query
    assert "No conversation matches" in browser.get(CHATS, params={"outcome": "tied"}).text
    first = read(browser.get(listed(browser.get(CHATS, params={"order": "success"}))[0]))
    assert "Success 4 of 4" in first
    for wrong in ({"order": "x"}, {"mode": "x"}, {"success": "9"}, {"rater": "x"}, {"rater": "0"}, {"outcome": "x"}):
        assert browser.get(CHATS, params=wrong).status_code == 422, wrong
    for place in ("x", "2026-03-01T12:00:00~x", "0001-01-01T00:00:00+14:00~x"):  # without a zone, before all times
        assert browser.get(CHATS, params={"after": place}).status_code == 422, place
    for place in (f"{10**30}~x", "nan~x"):
        assert browser.get(CHATS, params={"order": "success", "after": place}).status_code == 422, place


def test_the_last_pick_of_an_exchange_counts_in_filters(staff_site: StaffSite, rater: RaterRow) -> None:
    exchange_id, _ = send_message(staff_site.platform, rater, begin_chat(staff_site.platform, rater), "Never mind.")
    browser = staff_site.owner("owner")
    for pick, n_tied in ((ResponsePick(strength=0), 1), (ResponsePick(strength=2), 0)):
        chat.pick_response(staff_site.platform, rater, exchange_id, pick, now=NOW)
        assert len(listed(browser.get(CHATS, params={"outcome": "tied"}))) == n_tied


def test_pages_of_the_list_are_complete(
    staff_site: StaffSite, rater: RaterRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = staff_site.platform
    for number in range(4):
        add_attempt(platform, rater, f"Attempt {number}.", number % 3)
    chat_id = begin_chat(platform, rater)
    exchange_id, _ = send_message(platform, rater, chat_id, "Never mind.")
    chat.pick_response(platform, rater, exchange_id, ResponsePick(strength=1), now=NOW)
    send_message(platform, rater, chat_id, "Or do.")
    with platform.database.writing() as tx:
        later = {"started_at": NOW + timedelta(seconds=1)}
        tx.execute(update(ChatTable).where(ChatTable.id == chat_id).values(later))
    browser = staff_site.owner("owner")
    # The open conversation began last and has most turns; it and the helpful one have no success.
    for order, places in {"latest": slice(1), "turns": slice(1), "success": slice(-2, None)}.items():
        everything = listed(browser.get(f"{CHATS}?order={order}"))
        assert len(everything) == 9
        assert f"{CHATS}/{chat_id}" in everything[places], order
        with monkeypatch.context() as patch:
            patch.setattr(chat_pages, "PAGE_SIZE", 2)
            pages = [listed(page) for page in walk_pages(browser, f"{CHATS}?order={order}")]
        assert [len(page) for page in pages] == [2, 2, 2, 2, 1]
        assert [path for page in pages for path in page] == everything, order


@sqlite_only
@pytest.mark.usefixtures("rater")
def test_a_conversation_shows_responses_picks_and_marks(staff_site: StaffSite) -> None:
    browser = staff_site.owner("owner")
    (path,) = listed(browser.get(CHATS, params={"search": "ann@"}))
    page = browser.get(path)
    text = read(page)
    for part in ("Intent Insults.", "B is clearly more harmful (+2)", "Response A", "tern", "7B", "success 0 of 4"):
        assert part.lower() in text.lower(), part
    assert '<mark title="Possible email address">ann@example.org</mark>' in page.text
    assert "<b>" not in page.text
    (helpful,) = listed(browser.get(CHATS, params={"mode": "helpful"}))
    assert "Improved response A better one." in read(browser.get(helpful))
    assert browser.get(f"{CHATS}/unknown").status_code == 404


@sqlite_only
def test_responses_are_rendered_where_the_campaign_says_so(staff_site: StaffSite) -> None:
    campaign = open_chat_campaign(staff_site.platform, response_format="markdown")
    edit = ResponsePick(strength=-1, edit="**Better** <i>now</i>.")
    finish_chat(staff_site.platform, enter(staff_site.platform, campaign.key), edit, "helpful")
    finish_chat(
        staff_site.platform,
        enter(staff_site.platform, campaign.key),
        replace(edit, edit="**ann@example.org**"),
        "helpful",
    )
    browser = staff_site.owner("owner")
    pages = [browser.get(path).text for path in listed(browser.get(CHATS))]
    assert sum("<strong>Better</strong> &lt;i&gt;now&lt;/i&gt;." in page for page in pages) == 1
    assert sum('**<mark title="Possible email address">ann@example.org</mark>**' in page for page in pages) == 1


def test_reviews_are_shown_and_filtered_by_tag(staff_site: StaffSite, campaign: CampaignRow) -> None:
    finish_chat(staff_site.platform, enter(staff_site.platform, campaign.key), ResponsePick(strength=3))
    items = list_conversation_items(staff_site.platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    definition = load_campaign("red-team-review")
    campaigns.create_campaign(staff_site.platform, definition, items, staff_id=campaign.staff_id, now=NOW)
    review = campaigns.change_state(staff_site.platform, "red-team-review", "open", staff_id=campaign.staff_id, now=NOW)
    agreed = {"rating": True, "release": False, "return": False}
    arrival = Arrival("red-team-review", str(review.key), "en")
    reviewer, _ = enrolment.enrol_rater(staff_site.platform, arrival, agreed, now=NOW)
    step = next_step.find_next_step(staff_site.platform, reviewer, now=NOW)
    assert step.assignment is not None
    answers = {"Q_success": DraftAnswer(value="4"), "Q_tags": DraftAnswer(value=("Theft",))}
    save = AnswerSave(revision=1, visit="v", visible_ms=1000, idle_ms=0, open_ms=1000, answers=answers)
    rating.submit_answers(staff_site.platform, reviewer, step.assignment.id, "key-1", save, now=NOW)
    browser = staff_site.owner("owner")
    (path,) = listed(browser.get(CHATS, params={"tag": "Theft"}))
    assert "Reviewer 1: success 4 of 4; Theft" in read(browser.get(path))
    assert listed(browser.get(CHATS, params={"tag": "Weapons"})) == []


@sqlite_only
def test_only_conversations_with_consent_are_shown(staff_site: StaffSite, rater: RaterRow) -> None:
    browser = staff_site.owner("owner")
    (path, *_) = listed(browser.get(CHATS, params={"rater": 1}))
    with staff_site.platform.database.writing() as tx:
        by_rater = ConsentTable.rater_id == rater.id
        tx.execute(update(ConsentTable).where(by_rater, ConsentTable.purpose == "rating").values(agreed=False))
    assert len(listed(browser.get(CHATS))) == 1
    assert browser.get(path).status_code == 404
    withdrawal.withdraw_rater(staff_site.platform, rater.id, now=NOW)
    assert browser.get(path).status_code == 404


@sqlite_only
@pytest.mark.usefixtures("campaign")
def test_an_empty_list_says_what_to_do(staff_site: StaffSite) -> None:
    page = staff_site.owner("owner").get(CHATS)
    assert "There is no conversation yet" in page.text
    assert 'href="/campaigns/pilot#entry"' in page.text


@sqlite_only
@pytest.mark.usefixtures("rater")
def test_roles_read_and_download_what_they_may(staff_site: StaffSite) -> None:
    owner = staff_site.owner("owner")
    for role, reads, exports in (("analyst", False, True), ("reviewer", True, False), ("observer", False, False)):
        browser = join_pilot(staff_site, f"a {role}", role, "owner")
        assert (browser.get(CHATS).status_code == 200) == reads, role
        assert (browser.get("/campaigns/pilot/export.zip").status_code == 200) == exports, role
    response = owner.get("/campaigns/pilot/export.zip")
    assert response.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        names = {name.removeprefix("pilot/") for name in archive.namelist()}
        preferences = [json.loads(line) for line in archive.read("pilot/preferences.jsonl").splitlines()]
    assert {"README.txt", "preferences.jsonl", "red_team_attempts.jsonl.gz", "conversations.jsonl"} <= names
    assert len(preferences) == 4


@sqlite_only
def test_preferences_of_pairs_are_downloaded(staff_site: StaffSite) -> None:
    campaign = open_pair_campaign(staff_site.platform)
    prefer(staff_site.platform, enter(staff_site.platform, campaign.key), 2)
    browser = staff_site.owner("owner")
    assert 'href="/campaigns/pilot/export.zip"' in browser.get("/campaigns/pilot").text
    with zipfile.ZipFile(io.BytesIO(browser.get("/campaigns/pilot/export.zip").content)) as archive:
        assert len(archive.read("pilot/preferences.jsonl").splitlines()) == 3
    assert browser.get(CHATS).status_code == 404
