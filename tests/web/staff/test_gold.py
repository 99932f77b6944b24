"""Gold pages: experts label independently and adjudicate; owners see all labels."""

import re
from typing import Any

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.api_programs import program
from tests.support.campaigns import NOW, definition, items
from tests.support.gold_campaigns import SMALL
from tests.support.html_forms import press
from tests.support.live_site import LiveSite
from tests.support.raters import enter, rate_all
from tests.support.staff_site import StaffSite, send, token_of

from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store.items import ItemTable
from dissensus.workflows.campaign import campaigns, members
from dissensus.workflows.campaign.audit import link_pending_events
from dissensus.workflows.platform import sign_in_links

GOLD = "/campaigns/pilot/gold"
FIRST = f"{GOLD}/items/0"
Answers = dict[str, Any]
HOSTILE = "<script>alert(1)</script> \u202e {{ 7*7 }} 💥"
YES: Answers = {
    "safety": "Yes",
    "reasons": ["Unfair bias", "Other"],
    "motivation": "It belittles people.",
    "degree": "Extreme",
    "topics": ["Racial", "Health"],
}
NO: Answers = {
    "safety": "No",
    "motivation": "Nobody is hurt.",
    "degree": "Benign",
    "topics": "Health",
}


def open_gold_campaign(staff_site: StaffSite, *, rated: tuple[Item, ...] | None = None, **changes: Any) -> str:
    """Open a campaign with gold; return its key."""
    platform = staff_site.platform
    owner = sign_in_links.create_sign_in_link(platform, "ada", now=NOW).staff.id
    campaign = definition(**{"gold": SMALL, **changes})
    campaigns.create_campaign(platform, campaign, items(3) if rated is None else rated, staff_id=owner, now=NOW)
    return str(campaigns.change_state(platform, "pilot", "open", staff_id=owner, now=NOW).key)


def expert(staff_site: StaffSite, name: str) -> httpx.Client:
    """The browser of an expert."""
    owner = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    members.add_member(staff_site.platform, "pilot", name, "expert", staff_id=owner, now=NOW)
    return staff_site.owner(name)


def label(browser: httpx.Client, answers: Answers, button: str = "Save and continue") -> httpx.Response:
    """Send the form of the first item."""
    return press(browser, browser.get(FIRST), button, **answers)


@sqlite_only
def test_events_do_not_contain_gold_labels(staff_site: StaffSite) -> None:
    open_gold_campaign(staff_site)
    label(expert(staff_site, "bob"), YES)
    link_pending_events(staff_site.platform)
    events = program(staff_site).get("/api/v1/campaigns/pilot/events").json()["data"]
    labels = [one["content"] for one in events if one["kind"] == "item_labelled"]
    assert labels == [{"item": "item-0", "part": part} for part in ("safety", "degree", "topics")]


@sqlite_only
def test_items_are_settled_after_labelling_and_verification(staff_site: StaffSite) -> None:
    open_gold_campaign(staff_site)
    first, second, third = (expert(staff_site, name) for name in ("bob", "cleo", "dan"))
    queue = first.get(GOLD).text
    assert "Some of it is cruel." in queue
    assert f'href="{FIRST}">Label the next item' in queue
    done = label(first, YES)
    assert (done.status_code, done.headers["location"]) == (303, f"{GOLD}/items/1?outcome=first")
    assert "You were the first to label that item" in first.get(done.headers["location"]).text
    text = second.get(FIRST).text
    assert "It belittles people." not in text
    assert "bob" not in text
    label(second, {**YES, "motivation": ""})
    done = label(third, {"safety": "Yes", "reasons": "Other"})
    assert "outcome=further" in done.headers["location"]
    page = third.get(FIRST).text
    assert "Labels of experts" in page
    assert "It belittles people." in page
    assert "Safety: agreement" in page
    assert ">Settled</dt><dd>1<" in first.get(GOLD).text


@sqlite_only
def test_faults_of_labels_are_shown_and_input_is_kept(staff_site: StaffSite) -> None:
    open_gold_campaign(staff_site)
    bob = expert(staff_site, "bob")
    refused = label(bob, {"safety": "Yes", "motivation": HOSTILE, "topics": ["Racial"]})
    assert refused.status_code == 422
    assert '<p class="fault" id="reasons-fault">' in refused.text
    assert '<p class="fault" id="degree-fault">' in refused.text
    assert re.search(r'value="Racial" checked', refused.text)
    assert re.search(r'name="safety" value="Yes" checked', refused.text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in refused.text
    assert "<script>alert" not in refused.text
    assert ">Settled</dt><dd>0<" in bob.get(GOLD).text


@sqlite_only
def test_an_outdated_first_label_form_does_not_verify(staff_site: StaffSite) -> None:
    open_gold_campaign(staff_site)
    bob = expert(staff_site, "bob")
    stale = bob.get(FIRST)
    press(bob, stale, "Save and continue", **YES)
    response = press(bob, stale, "Save and continue", **NO)
    assert response.status_code == 422
    assert "nobody verifies their own label" in response.text
    assert "Nobody is hurt." in response.text
    corrected = press(bob, bob.get(FIRST), "Save correction", **NO)
    assert corrected.status_code == 303


def create_dispute(staff_site: StaffSite) -> tuple[httpx.Client, ...]:
    open_gold_campaign(staff_site)
    browsers = tuple(expert(staff_site, name) for name in ("bob", "cleo", "dan"))
    label(browsers[0], YES)
    label(browsers[1], NO)
    label(browsers[2], {"safety": "No", "motivation": HOSTILE})
    return browsers


@sqlite_only
def test_an_expert_who_did_not_label_adjudicates_with_a_reason(staff_site: StaffSite) -> None:
    bob, *_ = create_dispute(staff_site)
    assert "Another expert or an owner who did not label this item adjudicates" in bob.get(FIRST).text
    refused = send(bob, f"{FIRST}/decide", safety="No", revision="0", reason="Mine.")
    assert refused.status_code == 403
    assert "experts cannot adjudicate their own labels" in refused.text
    ada = staff_site.owner("ada")
    assert "safety, degree of harm, topics" in ada.get(GOLD).text
    decision: Answers = {"safety": "No", "degree": "Benign", "topics": ["Legal"]}
    invalid = label(ada, decision, "Decide")
    assert invalid.status_code == 422
    assert '<p class="fault" id="reason-fault">' in invalid.text
    decided = label(ada, {**decision, "reason": HOSTILE}, "Decide")
    assert decided.status_code == 303
    page = ada.get(decided.headers["location"]).text
    assert "Your decision is saved." in page
    assert page.count("&lt;script&gt;alert(1)") >= 2
    assert "<script>alert" not in page


@sqlite_only
def test_a_second_decision_supersedes_the_first(staff_site: StaffSite) -> None:
    create_dispute(staff_site)
    ada, grace = staff_site.owner("ada"), expert(staff_site, "grace")
    late = send(grace, FIRST, revision="0", **YES)
    assert (late.status_code, "fault" in late.text) == (422, True)
    stale = grace.get(FIRST)
    label(ada, {"safety": "No", "degree": "Benign", "topics": ["Legal"], "reason": "I looked."}, "Decide")
    typed: Answers = {
        "safety": "Yes",
        "reasons": ["Other"],
        "degree": "Moderate",
        "topics": ["Legal"],
    }
    response = press(grace, stale, "Decide", **typed, reason="So did I.")
    assert response.status_code == 422
    assert "ada decided on this item meanwhile" in response.text
    assert "So did I." in response.text
    assert press(grace, response, "Decide").status_code == 303
    history = grace.get(FIRST).text
    assert "I looked." in history
    assert "superseded" in history


@sqlite_only
def test_owners_see_all_items_and_labels(staff_site: StaffSite) -> None:
    talk = items(1)[0].conversation
    rated = (
        Item("a/b?<i>", talk),
        Item("known", talk, {"safety_gold": "No", "degree_of_harm": "Benign", "harm_type": "Legal"}),
    )
    open_gold_campaign(staff_site, rated=rated)
    bob, ada = expert(staff_site, "bob"), staff_site.owner("ada")
    label(bob, YES)
    page = ada.get(f"{GOLD}/labels").text
    assert "a/b?&lt;i&gt;" in page
    assert "from the file" in page
    assert "1 of 3" in page
    assert "Extreme" not in page
    assert "known" not in ada.get(f"{GOLD}/labels?state=in_progress").text
    assert ada.get(f"{GOLD}/labels?state=lost").status_code == 422
    assert bob.get(f"{GOLD}/labels").status_code == 403


@sqlite_only
def test_the_page_compares_gold_crowd_and_platinum(staff_site: StaffSite, live: LiveSite) -> None:
    key = open_gold_campaign(staff_site, gold={**SMALL, "reasons": ["Q_safe", "Other"]})
    ada = staff_site.owner("ada")
    assert "Nobody has rated an item yet." in ada.get(f"{GOLD}/comparison").text
    for _ in range(2):
        rate_all(live.platform, enter(live.platform, key))
    for name in ("bob", "cleo", "dan"):
        label(expert(staff_site, name), {**YES, "reasons": ["Q_safe", "Other"]})
    page = re.sub(' data-label="[^"]*"', "", ada.get(f"{GOLD}/comparison").text)
    assert '<td>Q_safe</td><td class="n">1</td><td class="n">0.0 %</td><td class="n">0</td><td class="n">–</td>' in page
    assert '<th scope="row" dir="auto">Other</th><td>–</td><td class="n">1</td><td class="n">–</td>' in page
    assert "Of 3 items, 1 have a gold label and 0 a label from an earlier crowd." in page
    assert "Crowd and gold" in page
    table = "item_id,No,Unsure,Yes,n_ratings\nitem-0,1,0,9,10\nitem-1,8,1,1,10\n"
    uploaded = upload_platinum(ada, table, source="The pilot of May")
    assert uploaded.status_code == 200
    assert "Labels of 2 items were saved." in uploaded.text
    assert "Items with platinum label unsafe" in uploaded.text
    assert "Crowd and gold" in uploaded.text
    exported = ada.get("/campaigns/pilot/export.csv").text
    assert "safety_gold,safety_gold_motivation,safety_gold_reason,safety_platinum,safety_platinum_No," in exported
    assert "The pilot of May" in exported


def upload_platinum(browser: httpx.Client, table: str, **typed: str) -> httpx.Response:
    page = browser.get(f"{GOLD}/comparison")
    data = {"form_token": token_of(page), **typed}
    return browser.post(f"{GOLD}/comparison", data=data, files={"file": ("../../earlier.csv", table.encode())})


@sqlite_only
@pytest.mark.parametrize(
    ("table", "messages"),
    [
        (
            "item_id,label\nitem-0,yes\nitem-9,No\nitem-1,No\nitem-1,Yes\n",
            ("Did you mean &#39;Yes&#39;", "no such item", "2 times"),
        ),
        ("item,label\nitem-0,Yes\n", ("no column item_id", "Did you mean")),
        ("item_id,verdict\nitem-0,Yes\n", ("No column holds the label",)),
        ("item_id,No,Unsure,Yes\nitem-0,1,1,0\nitem-1,-1,x,\n", ("equally frequent", "not a number of 0 or more")),
        ("item_id,label\n", ("has no rows",)),
    ],
)
def test_platinum_labels_are_stored_all_or_none(staff_site: StaffSite, table: str, messages: tuple[str, ...]) -> None:
    open_gold_campaign(staff_site)
    ada = staff_site.owner("ada")
    answer = upload_platinum(ada, table, source=HOSTILE)
    assert answer.status_code == 422
    for part in messages:
        assert part in answer.text, part
    assert "&lt;script&gt;alert(1)" in answer.text
    assert "and 0 a label from an earlier crowd" in ada.get(f"{GOLD}/comparison").text


def test_platinum_is_replaced_only_on_request(staff_site: StaffSite) -> None:
    open_gold_campaign(staff_site)
    ada = staff_site.owner("ada")
    upload_platinum(ada, "item_id,label\nitem-0,Yes\n", source="May")
    assert "has a label of an earlier crowd" in upload_platinum(ada, "item_id,label\nitem-0,No\n", source="June").text
    assert upload_platinum(ada, "item_id,label\nitem-0,No\n", source="June", replace="yes").status_code == 200
    with staff_site.platform.database.reading() as tx:
        (content,) = [row.content for row in tx.execute(ItemTable.__table__.select().where(ItemTable.name == "item-0"))]
    assert content["attributes"] == {"topic": "x", "safety_platinum": "No", "safety_platinum_source": "June"}


@sqlite_only
def test_a_file_and_a_source_are_required(staff_site: StaffSite) -> None:
    open_gold_campaign(staff_site)
    ada = staff_site.owner("ada")
    assert "There is no file" in send(ada, f"{GOLD}/comparison", source="May").text
    assert "the source: It is missing" in upload_platinum(ada, "item_id,label\nitem-0,Yes\n", source=" ").text


def test_hostile_conversations_are_escaped(staff_site: StaffSite) -> None:
    talk = Conversation.from_turns([("human", HOSTILE), ("bot", HOSTILE)])
    open_gold_campaign(staff_site, rated=(Item("item-0", talk),), click_to_reveal=True)
    page = expert(staff_site, "bob").get(FIRST).text
    assert '<details class="cover">' in page
    assert "<script>alert" not in page
    assert "{{ 7*7 }}" in page


@sqlite_only
def test_gold_pages_exist_only_with_gold(staff_site: StaffSite) -> None:
    owner = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(staff_site.platform, definition(), items(1), staff_id=owner, now=NOW)
    ada = staff_site.owner("ada")
    assert "its definition has no [gold]" in ada.get(GOLD).text
    assert ">Gold</a>" not in ada.get("/campaigns/pilot").text
