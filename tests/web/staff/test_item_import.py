"""Import of items on a page: two posts without scripts."""

import json
import re
from html import unescape
from typing import Any

import httpx
from tests.databases import sqlite_only
from tests.support.campaigns import items
from tests.support.staff_site import StaffSite, create_draft, send, token_of

from dissensus.store import campaigns as store
from dissensus.store import items as items_store

FILE = "no,asked,said,kind\n1,Hi,Hello!,<b>x</b>\n2,Hi,,y\n3,Bye,=SUM(A1),z\n"
PATH = "/campaigns/pilot/items"


def upload(staff_site: StaffSite, content: str, name: str = "items.csv") -> httpx.Response:
    browser = staff_site.owner()
    token = token_of(browser.get(f"{PATH}/add"))
    return browser.post(
        PATH, data={"form_token": token, "action": "check"}, files={"items_file": (name, content.encode())}
    )


def carried(page: httpx.Response) -> str:
    (text,) = re.findall(r'<textarea name="table" hidden[^>]*>\n(.*?)</textarea>', page.text, re.DOTALL)
    return unescape(text)


def numbers(page: httpx.Response) -> list[str]:
    return re.findall(r"<dd>([^<]*)</dd>", page.text)[:3]


def stored(staff_site: StaffSite) -> list[Any]:
    with staff_site.platform.database.reading() as tx:
        return list(items_store.iterate_items(tx, store.get_campaign_by_name(tx, "pilot").id))


@sqlite_only
def test_unknown_columns_are_chosen_by_hand(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    first = upload(staff_site, FILE)
    assert first.status_code == 422
    assert "No column holds conversations" in unescape(first.text)
    assert "&lt;b&gt;x&lt;/b&gt;" in first.text
    assert re.findall(r'<option value="(\w+)" selected>', first.text) == ["attribute"] * 4
    fields = {"table": carried(first), "role": ["id", "context", "response", "harm_type"]}
    second = send(staff_site.owner(), PATH, **fields, action="check")
    assert numbers(second) == ["2", "0", "1"]
    assert "response is empty." in unescape(second.text)
    assert "Add 2 items" in second.text
    assert "First item, as raters see it" in second.text
    assert len(stored(staff_site)) == 3
    assert send(staff_site.owner(), PATH, **fields, action="add").headers["location"] == "/campaigns/pilot"
    *_, hello, total = stored(staff_site)
    assert (hello.item_id, hello.conversation.rated_turn.text, dict(hello.attributes)) == (
        "1",
        "Hello!",
        {"harm_type": "<b>x</b>"},
    )
    assert total.conversation.rated_turn.text == "=SUM(A1)"


@sqlite_only
def test_known_columns_need_one_look(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    chat = [{"role": "user", "content": "Hi"}, {"role": "tool", "content": "f"}, {"role": "assistant", "content": "Yo"}]
    lines = [{"id": "new", "messages": chat}, {"id": "old", "context": None, "messages": chat}]
    page = upload(staff_site, "\n".join(map(json.dumps, lines)), "items.jsonl")
    assert page.status_code == 200
    assert numbers(page) == ["2", "0", "0"]
    assert '<li class="turn tool">' in page.text


@sqlite_only
def test_equal_items_are_left_out_and_differing_ones_refused(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    same = items(3)[0]
    rows = [
        {"item_id": same.item_id, "messages": same.conversation.to_dicts(), "topic": "x"},
        {"item_id": "item-1", "messages": same.conversation.to_dicts(), "topic": "x"},
        {"item_id": "new", "messages": same.conversation.to_dicts(), "topic": "x"},
    ]
    page = upload(staff_site, json.dumps(rows), "items.json")
    assert numbers(page) == ["1", "1", "1"]
    assert "The campaign has another item with this id." in page.text
    fields = {"table": carried(page), "role": ["id", "messages", "attribute"]}
    file = send(staff_site.owner(), PATH, **fields, action="refused")
    assert file.headers["content-type"].startswith("text/csv")
    assert file.headers["content-disposition"] == 'attachment; filename="pilot-refused-rows.csv"'
    assert file.text.splitlines() == ["row,item_id,reason", "2,item-1,The campaign has another item with this id."]
    assert send(staff_site.owner(), PATH, **fields, action="add").status_code == 303
    assert [item.item_id for item in stored(staff_site)] == ["item-0", "item-1", "item-2", "new"]
    again = send(staff_site.owner(), PATH, **fields, action="add")
    assert again.status_code == 422
    assert "There is no new item to add." in again.text


@sqlite_only
def test_a_row_is_refused_once(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    page = upload(staff_site, "item_id,context,response\nitem-1,Hi,Yes\nitem-1,Hi,No\n")
    assert numbers(page) == ["0", "0", "2"]


@sqlite_only
def test_the_file_of_refused_rows_is_safe_in_spreadsheets(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    page = upload(staff_site, "item_id,context,response\n=cmd(),Hi,\n")
    fields = {"table": carried(page), "role": ["id", "context", "response"]}
    assert "\n1,'=cmd()," in send(staff_site.owner(), PATH, **fields, action="refused").text


@sqlite_only
def test_changed_fields_are_refused(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    table = json.dumps([["context", "response"], ["Hi", "Yo"]])
    roles = ["context", "response"]
    for fields, says in (
        ({"table": "[1]", "role": roles}, "changed after this page was sent"),
        ({"table": '[["context"], [["x"]]]', "role": ["context"]}, "changed after this page was sent"),
        ({"table": '[["a", "a"], ["x", "y"]]', "role": roles}, "changed after this page was sent"),
        ({"table": "[" * 10_000, "role": roles}, "changed after this page was sent"),
        ({"table": table, "role": ["context"]}, "meaning of a column is missing"),
        ({"table": table, "role": ["context", "boss"]}, "meaning of a column is missing"),
        ({"table": table, "role": ["response", "response"]}, "would both be the column response"),
    ):
        page = send(staff_site.owner(), PATH, **fields, action="add")
        assert page.status_code == 422
        assert says in unescape(page.text)
    assert len(stored(staff_site)) == 3


@sqlite_only
def test_a_table_that_a_page_cannot_carry_is_refused(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    page = upload(staff_site, "context,response\n" + f"Hi,{'x' * 1_000_000}\n" * 9)
    assert page.status_code == 422
    assert "Use the command line for more" in page.text
