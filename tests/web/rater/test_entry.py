"""How raters come in: what a link leads to, one rater for each who agrees, and what they said to read again."""

import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select
from tests.support.campaigns import NOW, definition, items, open_campaign, owner
from tests.support.live_site import Live, Visitor, hidden

from dissensus.schema.campaign.definition import CampaignState
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.consents import ConsentTable
from dissensus.store.raters import RaterTable
from dissensus.workflows.campaign import campaigns

STATES: tuple[CampaignState, ...] = ("draft", "paused", "closed")
TOLD = {
    ("draft", "en"): "Not open yet",
    ("paused", "en"): "The campaign pauses",
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


def shown(page: httpx.Response) -> str:
    """The text of a page, without its marks."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page.text)))


def at(live: Live, state: CampaignState) -> str:
    """Bring a campaign in two languages to a state, and return the key of its open link."""
    staff_id = owner(live.platform.database)
    made = campaigns.create_campaign(live.platform, definition(**GERMAN), items(3), staff_id=staff_id, now=NOW)
    if state != "draft":
        campaigns.change_state(live.platform, "pilot", "open", staff_id=staff_id, now=NOW)
        campaigns.change_state(live.platform, "pilot", state, staff_id=staff_id, now=NOW)
    return str(made.key)


def n_raters(live: Live) -> int:
    with live.platform.database.reading() as tx:
        return tx.scalar(select(func.count()).select_from(RaterTable)) or 0


@pytest.mark.parametrize("state", STATES)
def test_nobody_reads_on_where_nobody_is_let_in(live: Live, state: CampaignState) -> None:
    key = at(live, state)
    german = live.visitor(**{"accept-language": "de"})
    pages = [german.get("/c/pilot", params={"key": key}), german.send("/c/pilot", key=key, language="de")]
    for page in pages:
        assert page.status_code == 200
        assert TOLD[state, "de"] in shown(page)
        assert "Es wurde nichts über Sie gespeichert." in shown(page)
        assert "grausam" not in page.text
        assert '<html lang="de"' in page.text
    english = german.get("/c/pilot", params={"key": key, "lang": "en"})
    assert TOLD[state, "en"] in shown(english)
    assert not german.http.cookies
    # Who has no link learns nothing of a state.
    assert live.visitor().get("/c/pilot", params={"key": "wrong"}).status_code == 403


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_who_was_reading_when_it_stopped_ends_at_the_same_page(live: Live, state: CampaignState) -> None:
    kept = open_campaign(live.platform, 3, **GERMAN)
    visitor = live.visitor()
    visitor.send("/c/pilot", key=str(kept.key), language="de")
    campaigns.change_state(live.platform, "pilot", state, staff_id=kept.staff_id, now=NOW)
    for page in (visitor.get("/c/pilot/consent"), visitor.send("/c/pilot/consent", purpose="rating")):
        assert (page.status_code, page.url.path) == (200, "/c/pilot")
        assert TOLD[state, "de"] in shown(page)
    assert n_raters(live) == 0


def test_who_entered_before_goes_on_to_where_they_are(live: Live) -> None:
    kept = open_campaign(live.platform, 3)
    (personal,) = campaigns.create_invitations(live.platform, "pilot", 1, staff_id=kept.staff_id, now=NOW)
    live.visitor().enter(personal)
    campaigns.change_state(live.platform, "pilot", "paused", staff_id=kept.staff_id, now=NOW)
    page = live.visitor().get("/c/pilot", params={"key": personal})
    assert page.url.path == "/rate"
    assert "What you have given is kept." in shown(page)


def test_a_form_that_is_sent_again_lets_in_the_one_rater(live: Live) -> None:
    kept = open_campaign(live.platform, 3)
    visitor = live.visitor()
    page = visitor.rate(visitor.enter(str(kept.key)), Q_safe="No")
    assert "1 of 3 rated" in shown(page)
    # Back to the form, and sent again.
    assert visitor.get("/c/pilot/consent").status_code == 200
    again = visitor.send("/c/pilot/consent", purpose=["rating", "release"])
    assert "1 of 3 rated" in shown(again)
    assert n_raters(live) == 1
    assert shown(visitor.get("/agreed")).count("My answers may be published. No") == 1
    # The link from its beginning is another visitor, as on a shared machine.
    assert "0 of 3 rated" in shown(visitor.enter(str(kept.key)))
    assert n_raters(live) == 2


def test_a_double_click_makes_one_rater(live: Live) -> None:
    kept = open_campaign(live.platform, 3)
    visitor = live.visitor()
    visitor.send("/c/pilot", key=str(kept.key), language="en")
    entry = {"cookie": f"dissensus_arrival={visitor.http.cookies['dissensus_arrival']}"}

    def click(_: int) -> int:
        with httpx.Client(base_url=live.url, headers=entry, timeout=30) as browser:
            return browser.post("/c/pilot/consent", data={"purpose": "rating"}).status_code

    with ThreadPoolExecutor(4) as clicks:
        assert list(clicks.map(click, range(4))) == [303] * 4
    assert n_raters(live) == 1


def test_a_form_of_who_has_withdrawn_lets_nobody_in(live: Live) -> None:
    kept = open_campaign(live.platform, 3)
    visitor = live.visitor()
    page = visitor.rate(visitor.enter(str(kept.key)), Q_safe="No")
    token = hidden(page)["form_token"]
    end = visitor.send("/stop", form_token=token)
    (withdrawal,) = re.findall(r'href="(/withdraw/[^"]+)"', end.text)
    visitor.send(unescape(withdrawal))
    # A changed text would be asked about anew; of who has withdrawn nothing new is kept.
    campaigns.change_state(live.platform, "pilot", "paused", staff_id=kept.staff_id, now=NOW)
    campaigns.revise_campaign(live.platform, "pilot", longer(), staff_id=kept.staff_id, now=NOW)
    campaigns.change_state(live.platform, "pilot", "open", staff_id=kept.staff_id, now=NOW)
    again = visitor.send("/c/pilot/consent", purpose="rating")
    assert (again.url.path, "You have withdrawn" in shown(again)) == ("/rate", True)
    token = hidden(visitor.get("/rate"))["form_token"]
    assert "You have withdrawn" in shown(visitor.send("/go-on", form_token=token))
    with live.platform.database.reading() as tx:
        assert tx.scalars(select(RaterTable.state)).all() == ["withdrawn"]
        for table in (ConsentTable, SaveTable, AssignmentTable):
            assert tx.scalar(select(func.count()).select_from(table)) == 0


def longer() -> Any:
    """The pilot with another consent text."""
    purposes = [
        {"name": "rating", "text": "My answers may be analysed.", "required": True},
        {"name": "teaching", "text": "My answers may be shown to students."},
    ]
    return definition(consent={"text": "We keep them longer.", "purposes": purposes})


def test_what_was_said_is_shown_beside_the_text_as_it_was(live: Live) -> None:
    kept = open_campaign(live.platform, 2)
    visitor: Visitor = live.visitor()
    visitor.enter(str(kept.key), purposes=("rating", "release"))
    first = shown(visitor.get("/agreed"))
    assert "This is version 1 of the text. You answered it on 2026-03-01 12:00 UTC. We keep your answers." in first
    assert "My answers may be analysed. Yes My answers may be published. Yes" in first
    campaigns.change_state(live.platform, "pilot", "paused", staff_id=kept.staff_id, now=NOW)
    campaigns.revise_campaign(live.platform, "pilot", longer(), staff_id=kept.staff_id, now=NOW)
    campaigns.change_state(live.platform, "pilot", "open", staff_id=kept.staff_id, now=NOW)
    asked = visitor.get("/rate")
    # Nothing was said to the new text yet.
    assert "We keep them longer." not in shown(visitor.get("/agreed"))
    live.clock.forward(days=1, minutes=5)
    visitor.send("/consent", form_token=hidden(asked)["form_token"], purpose="rating")
    latest, earlier = shown(visitor.get("/agreed")).split("What you said before, to version 1")
    assert "This is version 2 of the text. You answered it on 2026-03-02 12:05 UTC. We keep them longer." in latest
    assert "My answers may be analysed. Yes My answers may be shown to students. No" in latest
    assert "2026-03-01 12:00 UTC. We keep your answers." in earlier
    assert "My answers may be published. Yes" in earlier
