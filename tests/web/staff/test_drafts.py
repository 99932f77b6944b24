"""Items and dry runs of draft campaigns."""

import json
import re
from html import unescape

import pytest
from starlette.datastructures import FormData
from tests.databases import sqlite_only
from tests.support.campaigns import NOW, definition, items, owner
from tests.support.staff_site import PASTED, StaffSite, create_draft, send, token_of

from dissensus.store import campaigns as store
from dissensus.store import items as items_store
from dissensus.web.staff.campaign_form import read_items
from dissensus.web.staff.drafts import drafts
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.platform import sign_in_links


def n_items(staff_site: StaffSite) -> int:
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    return overview.load_overview(staff_site.platform, "pilot", staff_id=owner_id).numbers.n_items


def test_pasted_text_is_limited() -> None:
    """30 MB took a minute, in which others waited for seconds."""
    pasted = "Human: a\nAI: b\n---\n" * 120_000
    proposal = read_items(FormData([("pasted", pasted)]))
    (fault,) = proposal.faults
    assert "has 2,280,000 characters, and 2,097,152 are allowed. Save it as a file" in fault


@pytest.mark.slow
def test_items_that_a_page_carries_are_limited() -> None:
    """As it carries them, each quote takes six bytes."""
    rows = [[str(i), [{"speaker": "bot", "text": '"' * 1_000}], {}] for i in range(1_500)]
    proposal = read_items(FormData([("items", json.dumps(rows))]))
    (fault,) = proposal.faults
    assert "A page carries at most 8,388,608 bytes of items, and these have 9,138,390. Use the command line" in fault
    few = read_items(FormData([("items", json.dumps(rows[:1_000]))]))
    assert json.loads(unescape(few.carried_items)) == [[*row, None] for row in rows[:1_000]]


@sqlite_only
def test_all_text_of_a_form_is_limited(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    fields = dict.fromkeys(("items", "pasted", "definition"), (None, b"x" * (7 << 20)))
    refused = browser.post("/campaigns/new", files=fields)
    assert refused.status_code == 413
    assert "A field of the form is too large." in refused.text


@sqlite_only
def test_items_are_shown_as_raters_see_them_before_they_are_added(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    browser = staff_site.owner()
    assert "/campaigns/pilot/items/add" in browser.get("/campaigns/pilot").text
    understood = send(browser, "/campaigns/pilot/items", pasted=PASTED, action="check")
    assert understood.status_code == 200
    assert "2 items" in understood.text
    assert "There are no ids" in understood.text
    first = understood.text.partition("First item, as raters see it")[2].partition("More items")[0]
    assert "Rate this response" in first
    assert re.findall(r'<div class="message" lang="" dir="auto">(.*?)</div>', first) == ["Hi", "Hello!"]
    assert n_items(staff_site) == 3
    changing = send(browser, "/campaigns/pilot/items", pasted=PASTED, action="change")
    assert "Go away." in changing.text
    added = send(browser, "/campaigns/pilot/items", pasted=PASTED, action="add")
    assert (added.status_code, added.headers["location"]) == (303, "/campaigns/pilot")
    assert n_items(staff_site) == 5


@sqlite_only
def test_an_uploaded_item_file_is_kept_between_pages(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    browser = staff_site.owner()
    token = token_of(browser.get("/campaigns/pilot/items/add"))
    row = {"item_id": "new", "context": "USER: Hi\n", "response": "Answer\r\n<b>é\u202e", "harm_type": "x"}
    files = {"items_file": ("items.jsonl", json.dumps(row).encode())}
    understood = browser.post("/campaigns/pilot/items", data={"form_token": token, "do": "check"}, files=files)
    (carried,) = re.findall(r'<textarea name="table" hidden[^>]*>\n(.*?)</textarea>', understood.text, re.S)
    fields = {"table": unescape(carried), "role": ["id", "context", "response", "harm_type"]}
    assert send(browser, "/campaigns/pilot/items", **fields, action="add").status_code == 303
    with staff_site.platform.database.reading() as tx:
        *_, last = items_store.iterate_items(tx, store.get_campaign_by_name(tx, "pilot").id)
    assert (last.item_id, dict(last.attributes)) == ("new", {"harm_type": "x"})
    assert last.conversation.rated_turn.text == "Answer\r\n<b>é\u202e"


@sqlite_only
@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "There are no items. Choose a file, or paste conversations."),
        ({"pasted": "   "}, "There are no items."),
        ({"pasted": "Nobody speaks here"}, "The items:"),
        ({"items": '[["x"]]'}, "Choose the file again"),
        (
            {"items": json.dumps([["item-1", items(2)[1].conversation.to_dicts(), {}]])},
            "There is an item 'item-1' already, and nothing was added.",
        ),
    ],
)
def test_invalid_items_are_rejected(staff_site: StaffSite, fields: dict[str, str], says: str) -> None:
    create_draft(staff_site)
    page = send(staff_site.owner(), "/campaigns/pilot/items", **fields, action="add")
    assert page.status_code == 422
    assert says in unescape(page.text)
    (pasted,) = re.findall(r'<textarea[^>]* name="pasted"[^>]*>\n?(.*?)</textarea>', page.text, re.DOTALL)
    assert pasted.strip() == fields.get("pasted", "").strip(), "input is kept"
    assert n_items(staff_site) == 3


@sqlite_only
def test_removing_all_items_asks_for_confirmation(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    browser = staff_site.owner()
    send(browser, "/campaigns/pilot/rehearse", language="en")
    browser.get("/rate")
    text = browser.get("/campaigns/pilot/items/remove").text
    assert "The campaign has 3 items. This cannot be undone." in text
    assert "previews and dry runs are removed too" in text
    assert n_items(staff_site) == 3
    assert send(browser, "/campaigns/pilot/items/remove").headers["location"] == "/campaigns/pilot"
    page = browser.get("/campaigns/pilot").text
    assert "There are no items yet. A campaign without items cannot be opened." in page
    assert "/campaigns/pilot/items/remove" not in page
    # An open preview in another tab continues, without items to rate.
    assert "You have rated all conversations assigned to you." in browser.get("/rate").text


@sqlite_only
def test_items_of_an_open_campaign_cannot_be_changed(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    browser = staff_site.owner()
    send(browser, "/campaigns/pilot/state", state="open")
    assert "/campaigns/pilot/items/add" not in browser.get("/campaigns/pilot").text
    answers = [
        browser.get("/campaigns/pilot/items/add"),
        browser.get("/campaigns/pilot/items/remove"),
        send(browser, "/campaigns/pilot/items", pasted=PASTED, action="add"),
        send(browser, "/campaigns/pilot/items/remove"),
    ]
    assert [answer.status_code for answer in answers] == [409] * 4
    assert all("pilot is open, and its items cannot change now." in answer.text for answer in answers)
    assert n_items(staff_site) == 3


@sqlite_only
def test_a_dry_run_does_not_count(staff_site: StaffSite, monkeypatch: pytest.MonkeyPatch) -> None:
    create_draft(staff_site)
    # As many ratings as a page allows: two raters of three items.
    monkeypatch.setattr(drafts, "MAX_REHEARSED_RATINGS", 6)
    browser = staff_site.owner()
    assert "took part in previews" not in browser.get("/campaigns/pilot").text
    for state in ("draft", "open"):
        if state == "open":
            send(browser, "/campaigns/pilot/state", state="open")
        assert "Start dry run" in browser.get("/campaigns/pilot").text
        done = send(browser, "/campaigns/pilot/dry-run", raters="2", seed="7")
        assert (done.status_code, done.headers["location"]) == (303, "/campaigns/pilot")
    page = browser.get("/campaigns/pilot").text
    assert "So far 4 raters took part in previews and dry runs. Their answers are excluded" in page
    assert "<dt>Ratings</dt><dd>0</dd>" in page
    assert browser.get("/campaigns/pilot/export.csv").status_code == 404


@sqlite_only
@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"raters": "0"}, "'0' is not a valid number of raters. Write a whole number from 1 to 20."),
        ({"raters": "21"}, "'21' is not a valid number of raters"),
        ({"raters": "²"}, "'²' is not a valid number of raters"),
        ({"raters": "9" * 5000}, "is not a valid number of raters"),
        ({"seed": "-1"}, "'-1' is not a valid number for a seed. Write a whole number from 0 to 4,294,967,295."),
        ({"seed": ""}, "'' is not a valid number for a seed"),
        ({"raters": "3"}, "3 raters of 700 items are more than the 2,000 ratings that a page allows"),
    ],
)
def test_invalid_dry_runs_are_rejected(staff_site: StaffSite, fields: dict[str, str], says: str) -> None:
    owner_id = owner(staff_site.platform.database, "ada")
    campaigns.create_campaign(staff_site.platform, definition(), items(700), staff_id=owner_id, now=NOW)
    refused = send(staff_site.owner(), "/campaigns/pilot/dry-run", **{"raters": "1", "seed": "0", **fields})
    assert refused.status_code == 422
    assert says in unescape(refused.text)
