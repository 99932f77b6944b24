"""Entry of raters: links, enrolment and consents."""

import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select
from tests.databases import sqlite_only
from tests.support.campaigns import NOW, definition, items, open_campaign, owner
from tests.support.live_site import LiveSite, Visitor, hidden
from tests.support.rating_pages import page_text

from dissensus.schema.campaign.definition import CampaignState
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.consents import ConsentTable
from dissensus.store.raters import RaterTable
from dissensus.workflows.campaign import campaigns

STATES: tuple[CampaignState, ...] = ("draft", "paused", "closed")
MESSAGES = {
    ("draft", "en"): "Not open yet",
    ("paused", "en"): "The campaign is paused",
    ("closed", "en"): "The campaign is closed",
    ("draft", "de"): "Noch nicht offen",
    ("paused", "de"): "Die Erhebung pausiert",
    ("closed", "de"): "Die Erhebung ist beendet",
}
BOTH = {"en": "A pilot", "de": "Ein Versuch"}
GERMAN: dict[str, Any] = {
    "languages": ["en", "de"],
    "title": BOTH,
    "warning": {"en": "Some of it is cruel.", "de": "Manches ist grausam."},
    "consent": {"text": BOTH, "purposes": [{"name": "rating", "text": BOTH, "required": True}]},
    "questionnaire": "dices-350",
}


def open_in_state(live: LiveSite, state: CampaignState) -> str:
    """Create a campaign in two languages in this state; return the key of its open link."""
    staff_id = owner(live.platform.database)
    campaign = campaigns.create_campaign(live.platform, definition(**GERMAN), items(3), staff_id=staff_id, now=NOW)
    if state != "draft":
        campaigns.change_state(live.platform, "pilot", "open", staff_id=staff_id, now=NOW)
        campaigns.change_state(live.platform, "pilot", state, staff_id=staff_id, now=NOW)
    return str(campaign.key)


def n_raters(live: LiveSite) -> int:
    with live.platform.database.reading() as tx:
        return tx.scalar(select(func.count()).select_from(RaterTable)) or 0


@sqlite_only
@pytest.mark.parametrize("state", STATES)
def test_closed_campaigns_admit_nobody(live: LiveSite, state: CampaignState) -> None:
    key = open_in_state(live, state)
    german = live.visitor(**{"accept-language": "de"})
    pages = [german.get("/c/pilot", params={"key": key}), german.send("/c/pilot", key=key, language="de")]
    for page in pages:
        assert page.status_code == 200
        assert MESSAGES[state, "de"] in page_text(page)
        assert "Es wurde nichts über Sie gespeichert." in page_text(page)
        assert "grausam" not in page.text
        assert '<html lang="de"' in page.text
    english = german.get("/c/pilot", params={"key": key, "lang": "en"})
    assert MESSAGES[state, "en"] in page_text(english)
    assert not german.http.cookies
    # Visitors without a link do not learn the state.
    assert live.visitor().get("/c/pilot", params={"key": "wrong"}).status_code == 403


@sqlite_only
def test_a_language_in_a_form_is_bounded(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    page = live.visitor().send("/c/pilot", key=str(campaign.key), language="de," * 10_000)
    assert page.status_code == 422
    assert "language in the form is too long" in page_text(page)


@sqlite_only
@pytest.mark.parametrize("state", ["paused", "closed"])
def test_visitors_on_the_consent_page_are_told_when_entry_closes(live: LiveSite, state: CampaignState) -> None:
    campaign = open_campaign(live.platform, 3, **GERMAN)
    visitor = live.visitor()
    visitor.send("/c/pilot", key=str(campaign.key), language="de")
    campaigns.change_state(live.platform, "pilot", state, staff_id=campaign.staff_id, now=NOW)
    for page in (visitor.get("/c/pilot/consent"), visitor.send("/c/pilot/consent", purpose="rating")):
        assert (page.status_code, page.url.path) == (200, "/c/pilot")
        assert MESSAGES[state, "de"] in page_text(page)
    assert n_raters(live) == 0


@sqlite_only
def test_returning_raters_continue_where_they_stopped(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    (personal,) = campaigns.create_invitations(live.platform, "pilot", 1, staff_id=campaign.staff_id, now=NOW)
    live.visitor().enter(personal)
    campaigns.change_state(live.platform, "pilot", "paused", staff_id=campaign.staff_id, now=NOW)
    page = live.visitor().get("/c/pilot", params={"key": personal})
    assert page.url.path == "/rate"
    assert "Your answers are saved." in page_text(page)


def test_a_repeated_consent_form_enrols_one_rater(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor = live.visitor()
    page = visitor.rate(visitor.enter(str(campaign.key)), Q_safe="No")
    assert "1 of 3 rated" in page_text(page)
    # The form is sent again.
    assert visitor.get("/c/pilot/consent").status_code == 200
    repeated = visitor.send("/c/pilot/consent", purpose=["rating", "release"])
    assert "1 of 3 rated" in page_text(repeated)
    assert n_raters(live) == 1
    assert page_text(visitor.get("/consents")).count("My answers may be published. No") == 1
    # Opening the link again starts another visitor, as on a shared machine.
    assert "0 of 3 rated" in page_text(visitor.enter(str(campaign.key)))
    assert n_raters(live) == 2


def test_a_double_click_makes_one_rater(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor = live.visitor()
    visitor.send("/c/pilot", key=str(campaign.key), language="en")
    entry = {"cookie": f"dissensus_arrival={visitor.http.cookies['dissensus_arrival']}"}

    def click(_: int) -> int:
        with httpx.Client(base_url=live.url, headers=entry, timeout=30) as browser:
            return browser.post("/c/pilot/consent", data={"purpose": "rating"}).status_code

    with ThreadPoolExecutor(4) as clicks:
        assert list(clicks.map(click, range(4))) == [303] * 4
    assert n_raters(live) == 1


def test_a_consent_form_of_a_withdrawn_rater_admits_nobody(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor = live.visitor()
    page = visitor.rate(visitor.enter(str(campaign.key)), Q_safe="No")
    token = hidden(page)["form_token"]
    end = visitor.send("/stop", form_token=token)
    (withdrawal,) = re.findall(r'href="(/withdraw/[^"]+)"', end.text)
    arrival = visitor.http.cookies["dissensus_arrival"]
    visitor.send(unescape(withdrawal))
    visitor.http.cookies.set("dissensus_arrival", arrival)
    # A changed text requires new consent, but nothing is stored of withdrawn raters.
    campaigns.change_state(live.platform, "pilot", "paused", staff_id=campaign.staff_id, now=NOW)
    campaigns.revise_campaign(live.platform, "pilot", revised_definition(), staff_id=campaign.staff_id, now=NOW)
    campaigns.change_state(live.platform, "pilot", "open", staff_id=campaign.staff_id, now=NOW)
    repeated = visitor.send("/c/pilot/consent", purpose="rating")
    assert (repeated.url.path, "You have withdrawn" in page_text(repeated)) == ("/rate", True)
    token = hidden(visitor.get("/rate"))["form_token"]
    assert "You have withdrawn" in page_text(visitor.send("/resume", form_token=token))
    with live.platform.database.reading() as tx:
        assert tx.scalars(select(RaterTable.state)).all() == ["withdrawn"]
        for table in (ConsentTable, SaveTable, AssignmentTable):
            assert tx.scalar(select(func.count()).select_from(table)) == 0


def revised_definition() -> Any:
    """The pilot with another consent text."""
    purposes = [
        {"name": "rating", "text": "My answers may be analysed.", "required": True},
        {"name": "teaching", "text": "My answers may be shown to students."},
    ]
    return definition(consent={"text": "We keep them longer.", "purposes": purposes})


def test_consents_are_shown_with_the_text_of_their_version(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 2)
    visitor: Visitor = live.visitor()
    visitor.enter(str(campaign.key), purposes=("rating", "release"))
    page = visitor.get("/consents")
    assert 'href="/withdraw/' in page.text
    first = page_text(page)
    assert "This is version 1 of the text. You answered it on 2026-03-01 12:00 UTC. We keep your answers." in first
    assert "My answers may be analysed. Yes My answers may be published. Yes" in first
    campaigns.change_state(live.platform, "pilot", "paused", staff_id=campaign.staff_id, now=NOW)
    campaigns.revise_campaign(live.platform, "pilot", revised_definition(), staff_id=campaign.staff_id, now=NOW)
    campaigns.change_state(live.platform, "pilot", "open", staff_id=campaign.staff_id, now=NOW)
    response = visitor.get("/rate")
    # The new text has no answer yet.
    assert "We keep them longer." not in page_text(visitor.get("/consents"))
    live.clock.forward(days=1, minutes=5)
    visitor.send("/consent", form_token=hidden(response)["form_token"], purpose="rating")
    latest, previous = page_text(visitor.get("/consents")).split("Your earlier answer, to version 1")
    assert "This is version 2 of the text. You answered it on 2026-03-02 12:05 UTC. We keep them longer." in latest
    assert "My answers may be analysed. Yes My answers may be shown to students. No" in latest
    assert "2026-03-01 12:00 UTC. We keep your answers." in previous
    assert "My answers may be published. Yes" in previous
