"""Client of a running site."""

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.api_programs import open_api_campaign, rate, token
from tests.support.campaigns import ABOUT_YOU, definition, items
from tests.support.loopback_server import serve_requests
from tests.support.pair_campaigns import pair_definition, pairs
from tests.support.raters import enter
from tests.support.staff_site import StaffSite

import dissensus
from dissensus import Client, Conflict, Conversation, InvalidInput, Item, NotAllowed, NotFound, Unavailable
from dissensus.client import CampaignNumbersResource
from dissensus.schema.campaign.definition import write_campaign
from dissensus.store import campaigns
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign import audit
from dissensus.workflows.campaign.overview import load_overview
from dissensus.workflows.platform import staff


@sqlite_only
def test_a_campaign_from_a_definition_to_an_analysis(staff_site: StaffSite, client: Client) -> None:
    campaign = client.create(definition().as_mapping(), items(3))
    assert (campaign.state, campaign.allowed_states, campaign.numbers) == (
        "draft",
        ("open",),
        CampaignNumbersResource(
            items=3, raters=0, ratings=0, standings=dict.fromkeys(("rating", "finished", "stopped", "withdrawn"), 0)
        ),
    )
    assert client.add_items("pilot", [Item("more", Conversation.from_turns([("bot", "Hello!")]))]) == 4
    assert list(client.items("pilot"))[:3] == list(items(3))
    with pytest.raises(NotFound, match="no finished rating"):
        client.ratings("pilot")
    client.set_state("pilot", "open")
    campaign_row = _load_row(staff_site)
    rate(staff_site, campaign_row, 2, answer="Yes")
    rate(staff_site, campaign_row, 1, answer="No", release=True)
    ratings = client.ratings("pilot")
    assert (ratings.n_items, ratings.n_raters, ratings.scale("Q_safe")) == (4, 3, ("No", "Unsure", "Yes"))
    assert {row.metric for row in dissensus.analyse(ratings).overall} >= {"irr", "negentropy"}
    assert client.ratings_frame("pilot", purposes=["release"]).height == 4
    assert [campaign.ratings for campaign in client.campaigns()] == [12]


def _load_row(staff_site: StaffSite) -> CampaignRow:
    with staff_site.platform.database.reading() as tx:
        return campaigns.get_campaign_by_name(tx, "pilot")


@sqlite_only
def test_raters_and_members_are_managed(staff_site: StaffSite, client: Client) -> None:
    campaign_row = open_api_campaign(staff_site)
    rate(staff_site, campaign_row, 2)
    links = client.invite("pilot", 3)
    assert len(set(links)) == 3
    first, second = client.raters("pilot")
    assert (first.standing, first.n_rated, first.n_open) == ("finished", 3, 0)
    assert client.withdraw("pilot", second.id) == 3
    assert [rater.standing for rater in client.raters("pilot")] == ["finished", "withdrawn"]
    with pytest.raises(NotFound, match="withdrawn already"):
        client.withdraw("pilot", second.id)
    invitation = client.invite_member("pilot", "analyst")
    assert str(invitation.link).startswith(f"{staff_site.live.url}/join/")
    members = client.members("pilot")
    assert [(member.name, member.role) for member in members.members] == [("ada", "owner")]
    assert [invitation.role for invitation in members.invitations] == ["analyst"]
    audit.link_pending_events(staff_site.platform)
    events = list(client.events("pilot"))
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert {"created", "state_changed", "links_created", "withdrawn"} <= {event.kind for event in events}


@sqlite_only
def test_many_items_are_sent_in_batches(client: Client) -> None:
    client.create(definition().as_mapping(), items(1_001))
    assert sum(1 for _ in client.items("pilot")) == 1_001
    large = [Item(f"large-{n}", Conversation.from_turns([("bot", "x" * 2**20)])) for n in range(9)]
    assert client.add_items("pilot", large) == 1_010
    many_turns = Conversation.from_turns([("bot", "x")] * 1_000)
    assert client.add_items("pilot", [Item(f"long-{n}", many_turns) for n in range(30)]) == 1_040
    with pytest.raises(InvalidInput, match="no items to add"):
        client.add_items("pilot", [])


@sqlite_only
def test_a_definition_may_be_toml(client: Client) -> None:
    client.create(write_campaign(definition()))
    assert client.revise("pilot", write_campaign(definition(title="New"))).definition["title"] == {"en": "New"}


@sqlite_only
def test_pairs_come_back_with_both_responses(client: Client) -> None:
    client.create(pair_definition().as_mapping(), pairs(2))
    assert tuple(client.items("pilot")) == pairs(2)


@sqlite_only
def test_a_campaign_is_archived_and_deleted(client: Client) -> None:
    client.create(definition().as_mapping(), items(1))
    with pytest.raises(Conflict, match="only closed campaigns are archived"):
        client.archive("pilot")
    for state in ("open", "closed"):
        client.set_state("pilot", state)
    assert client.archive("pilot").archived_at is not None
    assert client.archive("pilot", archived=False).archived_at is None
    with pytest.raises(InvalidInput, match="'pilo' is not the name of the campaign"):
        client.delete("pilot", confirm="pilo")
    client.delete("pilot", confirm="pilot")
    assert list(client.campaigns()) == []


@sqlite_only
def test_the_quota_is_returned_and_its_cells_have_links(staff_site: StaffSite, client: Client) -> None:
    axes = {"rater_age": {"young": ["young"], "old": ["old"]}}
    quota = {"axes": axes, "seats": 2, "rest": 1, "source": "recruiter"}
    open_api_campaign(staff_site, demographics=ABOUT_YOU, quota=quota)
    assert [(cell.cell, cell.target, cell.finished) for cell in client.quota("pilot").cells] == [
        ("young", 2, 0),
        ("old", 2, 0),
        ("rest", 1, 0),
    ]
    with pytest.raises(InvalidInput, match="Name the cell"):
        client.invite("pilot", 1)
    (link,) = client.invite("pilot", 1, cell="old")
    rater = enter(staff_site.platform, link.partition("?key=")[2])
    assert rater.cell == "old"


@sqlite_only
def test_errors_have_the_message_of_the_site(staff_site: StaffSite, client: Client, waits: list[float]) -> None:
    open_api_campaign(staff_site)
    with pytest.raises(NotFound, match=r"^There is no campaign 'nothing'\.$"):
        client.campaign("nothing")
    with pytest.raises(Conflict, match="There is a campaign called pilot"):
        client.create(definition().as_mapping())
    with pytest.raises(InvalidInput, match=r"(?s)2 faults:\n- .*\n- ") as error:
        client.create({**definition("other").as_mapping(), "titel": "x", "seed": "y"})
    assert "titel" in str(error.value)
    with pytest.raises(NotFound, match="'nobody' is not a purpose of pilot"):
        client.ratings("pilot", purposes=["nobody"])
    with (
        Client(staff_site.live.url, token(staff_site.platform, "ada", scopes=frozenset({"see"}))) as little,
        pytest.raises(NotAllowed, match="scope list"),
    ):
        list(little.campaigns())
    assert waits == []


@sqlite_only
def test_the_client_waits_after_the_rate_limit(staff_site: StaffSite, client: Client) -> None:
    staff_site.live.site.rate_limiter.burst = 2
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        staff_site.live.clock.forward(seconds=seconds)

    with Client(staff_site.live.url, token(staff_site.platform, "ada"), sleep=wait) as patient:
        for _ in range(4):
            list(patient.campaigns())
    assert waited == [1.0]


@contextmanager
def losing(url: str, n: int) -> Iterator[str]:
    """Run a proxy that forwards requests but loses the first responses."""
    lost = iter(range(n))

    class Proxy(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            response = httpx.post(url + self.path, content=body, headers=dict(self.headers.items()))
            if next(lost, None) is not None:
                self.close_connection = True
                return
            self.send_response(response.status_code)
            self.send_header("content-length", str(len(response.content)))
            self.end_headers()
            self.wfile.write(response.content)

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    with serve_requests(Proxy) as address:
        yield address


@sqlite_only
def test_a_retry_creates_nothing_twice(staff_site: StaffSite, waits: list[float]) -> None:
    open_api_campaign(staff_site)
    key = token(staff_site.platform, "ada")
    with losing(staff_site.live.url, 2) as url, Client(url, key, sleep=waits.append) as client:
        links = client.invite("pilot", 2)
    assert waits == [1.0, 2.0]
    owner_id = staff.find_or_create_owner(staff_site.platform, "ada", now=staff_site.live.clock()).id
    assert load_overview(staff_site.platform, "pilot", staff_id=owner_id).numbers.n_invited == len(links) == 2


def test_an_unreachable_site_is_reported_after_all_attempts(waits: list[float]) -> None:
    with Client("http://127.0.0.1:1", "t", max_attempts=3, sleep=waits.append) as nowhere, pytest.raises(Unavailable):
        nowhere.campaign("pilot")
    assert waits == [1.0, 2.0]


@sqlite_only
def test_the_token_is_never_shown(staff_site: StaffSite, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Client(staff_site.live.url, "dis_nobody-may-see-this") as wrong, pytest.raises(NotAllowed) as error:
        wrong.campaign("pilot")
    trace = "".join(traceback.format_exception(error.value))
    assert "nobody-may-see" not in f"{wrong!r} {vars(wrong)} {trace} {caplog.text}"


@pytest.mark.parametrize(
    ("base", "key", "message"),
    [
        ("http://rate.example.org", "t", "is not an https address. Give one such as https://rate.example.org"),
        ("https://rate.example.org", "", "Copy it again from https://rate.example.org/account"),
        ("https://rate.example.org", "a b", "Copy it again"),
    ],
)
def test_invalid_arguments_are_rejected(base: str, key: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Client(base, key)


@pytest.mark.parametrize("options", [{"timeout": 0}, {"max_attempts": 0}])
def test_numbers_out_of_range_are_rejected(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(InvalidInput, match=f"{name} is 0"):
        Client("https://rate.example.org", "t", **options)
