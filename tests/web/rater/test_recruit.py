"""Raters from any panel over HTTP: entry by an id in the address, and the way back at each end."""

import re
from dataclasses import dataclass
from html import unescape
from typing import Any

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import open_campaign
from tests.support.live_site import LiveSite, Visitor, hidden
from tests.support.prolific_study import DEMOGRAPHICS, ONE_OLD_SEAT, hidden_fields, rows
from tests.support.recruited_raters import PAY
from tests.support.staff_site import StaffSite, send

from dissensus.schema.campaign.completion_codes import PANEL_OUTCOMES
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign import overview
from dissensus.workflows.export import ratings
from dissensus.workflows.rater.invite_links import load_entry_links

PERSON, OTHER = "person-4f9ac2d1", "person-77e01b3c"
RECRUIT: dict[str, Any] = {
    "kind": "link",
    "name": "Panel One",
    "parameter": "pid",
    "addresses": {outcome: f"https://panel.example/{outcome}?of={{id}}" for outcome in PANEL_OUTCOMES},
    "codes": {"completed": "DONE4711"},
}


@dataclass(frozen=True)
class Panel:
    """A campaign whose raters come from a panel."""

    live: LiveSite
    campaign: CampaignRow

    def address(self, person: str) -> str:
        """The address to which the panel appends its id."""
        links = load_entry_links(self.live.platform, "pilot", self.live.url, staff_id=self.campaign.staff_id)
        assert str(links.anybody).endswith("&pid=")
        return f"{links.anybody}{person}"

    def enter(self, person: str) -> tuple[Visitor, httpx.Response]:
        visitor = self.live.visitor()
        visitor.send("/c/pilot", **hidden_fields(visitor.get(self.address(person))))
        return visitor, visitor.send("/c/pilot/consent", purpose="rating")


def open_panel(live: LiveSite, n_items: int = 1, **changes: Any) -> Panel:
    return Panel(live, open_campaign(live.platform, n_items, **{"recruit": RECRUIT, **changes}))


def return_of(page: httpx.Response, person: str = PERSON) -> str:
    """The outcome that the link back to the panel names."""
    (address,) = set(re.findall(r'href="(https://panel\.example/[^"]*)"', page.text))
    outcome, _, of = address.removeprefix("https://panel.example/").partition("?of=")
    assert of == person
    return str(outcome)


@sqlite_only
def test_a_rater_of_a_panel_goes_back_to_it_at_each_end(live: LiveSite) -> None:
    panel = open_panel(live, 2)
    visitor = live.visitor()
    warning = visitor.get(panel.address(PERSON))
    assert return_of(warning) == "no_consent"
    visitor.send("/c/pilot", **hidden_fields(warning))
    assert "Your id at Panel One is stored separately" in visitor.get("/c/pilot/consent").text
    assert return_of(visitor.get("/declined")) == "no_consent"
    visitor, page = panel.enter(PERSON)
    stopped = visitor.send("/stop", **hidden(page))
    assert return_of(stopped) == "stopped"
    assert "you can end your visit here" in stopped.text
    page = visitor.send("/resume", **hidden(stopped))
    end = visitor.rate(visitor.rate(page, Q_safe="No"), Q_safe="No")
    assert return_of(end) == "completed"
    assert "Go back to Panel One" in end.text
    assert "If it asks for a code, enter DONE4711." in end.text


@sqlite_only
@pytest.mark.parametrize(
    "person", ["", "short", "1000000123", "a" * 129, "a b c d e f", "mia@mail.example", "<script>alert</script>"]
)
def test_an_id_that_is_missing_or_could_be_guessed_is_refused(live: LiveSite, person: str) -> None:
    panel = open_panel(live)
    before = rows(live)
    refused = live.visitor().get(panel.address(person))
    assert refused.status_code == 422
    assert "Open the link of Panel One again" in refused.text
    assert rows(live) == before
    assert person not in refused.text or not person


@sqlite_only
def test_the_id_continues_a_visit_and_tells_people_on_one_browser_apart(live: LiveSite) -> None:
    panel = open_panel(live, 2)
    visitor, page = panel.enter(PERSON)
    visitor.rate(page, Q_safe="No")
    elsewhere = live.visitor()
    resumed = elsewhere.get(panel.address(PERSON))
    assert resumed.url.path == "/rate"
    assert return_of(elsewhere.rate(resumed, Q_safe="No")) == "completed"
    assert elsewhere.get(panel.address(OTHER)).url.path == "/c/pilot"
    assert overview.load_overview(live.platform, "pilot", staff_id=panel.campaign.staff_id).numbers.n_entered == 0


def test_ids_are_in_one_table_are_shown_to_nobody_and_are_deleted_with_the_answers(staff_site: StaffSite) -> None:
    panel = open_panel(staff_site.live, pay=PAY)
    visitor, page = panel.enter(PERSON)
    end = visitor.rate(page, Q_safe="No")
    assert [name for name, text in rows(staff_site.live).items() if PERSON in text] == ["recruit"]
    options = ratings.ExportOptions(purposes=("rating",))
    parts = ratings.stream_ratings_csv(
        staff_site.platform, "pilot", staff_id=panel.campaign.staff_id, options=options, now=staff_site.live.clock()
    )
    assert PERSON not in b"".join(parts).decode()
    owner = staff_site.owner("owner")
    pages = [owner.get(f"/campaigns/pilot{path}") for path in ("", "/pay", "/raters", "/monitoring", "/log")]
    assert [answer.status_code for answer in pages] == [200] * 5
    assert not [answer.url for answer in pages if PERSON in answer.text]
    assert "1 person came from Panel One" in pages[1].text
    assert "https://panel.example/stopped?of={id}" in pages[0].text
    assert owner.get("/campaigns/pilot/pay/submissions").status_code == 404
    (withdrawal,) = set(re.findall(r'href="(/withdraw/[^"]+)"', end.text))
    assert return_of(visitor.send(unescape(withdrawal))) == "screened_out"
    assert [name for name, text in rows(staff_site.live).items() if PERSON in text] == []


@sqlite_only
def test_who_finds_no_seat_goes_back_and_is_not_asked_again(live: LiveSite) -> None:
    panel = open_panel(live, demographics=DEMOGRAPHICS, quota=ONE_OLD_SEAT)
    pages = []
    for person in (PERSON, OTHER):
        visitor, page = panel.enter(person)
        pages.append(visitor.send("/about-you", **hidden(page), rater_age="old"))
    assert 'action="/rate/' in pages[0].text
    assert return_of(pages[1], OTHER) == "quota_full"
    assert return_of(live.visitor().get(panel.address(OTHER)), OTHER) == "quota_full"


@sqlite_only
def test_a_code_alone_is_shown_where_there_is_no_address(live: LiveSite) -> None:
    panel = open_panel(live, recruit={**RECRUIT, "addresses": {}})
    visitor, page = panel.enter(PERSON)
    end = visitor.rate(page, Q_safe="No")
    assert "Enter this code at Panel One: DONE4711" in end.text
    assert "panel.example" not in end.text


def test_ids_are_erased_after_closing(staff_site: StaffSite) -> None:
    panel = open_panel(staff_site.live)
    panel.enter(PERSON)
    owner = staff_site.owner("owner")
    send(owner, "/campaigns/pilot/state", state="closed")
    assert "1 person has an id of Panel One stored" in owner.get("/campaigns/pilot/pay/erase").text
    assert send(owner, "/campaigns/pilot/pay/erase").status_code == 303
    assert [name for name, text in rows(staff_site.live).items() if PERSON in text] == []
