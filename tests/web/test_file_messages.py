"""Refusals of uploaded files on the site: none names an option of the command line or an argument in Python."""

import re
from html import unescape
from typing import Any

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import NOW, items
from tests.support.staff_site import StaffSite, token_of

from dissensus.schema.campaign.shipped import load_campaign
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import sign_in_links

PLANS, ITEMS, GOLD = "/campaigns/dices-350/plans", "/campaigns/dices-350/items", "/campaigns/dices-350/gold/comparison"
HEAD = "item_id,rater_id,Q_overall"


def table(head: str, *rows: str) -> str:
    return "\n".join([head, *rows])


def crowd(answers: str, n: int = 8, head: str = HEAD) -> str:
    words = answers.split(",")
    return table(head, *(f"i{i},r{r},{words[(i * r + r) % len(words)]}" for i in range(n) for r in range(n)))


RATINGS: dict[str, tuple[str, str]] = {
    "no columns of ids": (table("a,b,c", "1,x,Yes", "2,y,No"), "There is no column 'item_id'"),
    "no raters": (
        table("item_id,Q_overall", "1,Yes", "2,No"),
        "ids of the raters to rater_id; they are",
    ),
    "no answers": (
        table("item_id,rater_id,verdict", "1,a,x", "2,b,y"),
        "with the answers to Q_overall",
    ),
    "several questions": (table("item_id,rater_id,Q_a,Q_b", "1,a,Yes,No", "2,b,No,No"), "Rename the one that is meant"),
    "unknown scale": (crowd("fine,awful,odd", head="item_id,rater_id,Q_mood"), "'awful'"),
    "answers in two spellings": (crowd("Yes,yes,No"), "one way"),
    "unknown answer": (crowd("Yes,No,Mayhap"), "'Mayhap'"),
    "duplicate rating": (table(HEAD, "1,a,Yes", "1,a,No", "2,b,No"), "Drop the rating that does not count"),
    "blank answers": (table(HEAD, "1,a,", "2,b,"), "There are no answers in 'Q_overall'"),
    "missing ids": (table(HEAD, ",a,Yes", "2,b,No"), "item_id is empty"),
    "decimal ids": (table(HEAD, "1.0,a,Yes", "2.0,b,No"), "written as decimal numbers"),
    "only models": (
        table(f"{HEAD},rater_kind", "1,a,Yes,model", "1,b,No,model", "2,a,No,model"),
        "Every rater is of kind model",
    ),
    "few raters": (table(HEAD, "1,a,Yes", "2,a,No", "1,b,No", "2,b,No"), "plan without a file"),
    "one answer alone": (crowd("Yes"), "so its variance is unknown"),
    "codes of missing values": (crowd("1,2,3,99,-9", head="item_id,rater_id,Q_mood"), ""),
    "texts and numbers": (crowd("Yes,1,No,0", head="item_id,rater_id,Q_mood"), ""),
    "ids alone": (table("item_id,rater_id", "1,a"), "No column has a name like Q_overall"),
    "head alone": (HEAD, ""),
    "nothing": ("", ""),
    "two columns of one name": (table("item_id,rater_id,Q_overall,Q_overall", "1,a,Yes,No"), ""),
    "uneven rows": (table(HEAD, "1,a", "2,b,Yes,x,y"), ""),
    "wide by content": (table("item,ann,bob,cat", "1,Yes,No,Yes", "2,No,No,Yes", "3,Yes,Yes,No"), ""),
    "wide and unclear": (table("row,x1,x2", "a,0,1", "b,1,0"), ""),
    "no shared answers": (table("text,note", "some words,others", "many words,still others"), ""),
    "binary": ("\0\1\2", ""),
}
ITEM_TABLES: dict[str, str] = {
    "no columns": table("a,b", "1,2"),
    "no texts": table("item_id,topic", "1,x"),
    "no ids": table("context,response", "Hi?,Hello."),
    "ids twice": table("item_id,context,response", "1,Hi?,Hello.", "1,Ho?,Hullo."),
    "no turns": table("item_id,context,response", "1,,"),
    "json of another form": '[{"a": 1}]',
    "json cut off": '{"item_id": "1", "messages": [',
    "nothing": "",
}
LABELS: dict[str, str] = {
    "no ids": table("name,label", "1,Yes"),
    "no labels": table("item_id,verdict", "1,Yes"),
    "unknown items": table("item_id,label", "nobody,Yes"),
    "unknown labels": table("item_id,label", "item-0,Perhaps"),
    "nothing": "",
}


def read_text(page: httpx.Response) -> str:
    """The text of the main part of a page."""
    main = page.text[page.text.index("<main") :]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", main)).split())


def find_options(text: str) -> list[str]:
    """Options, and arguments in Python, that a text names."""
    return re.findall(r"(?<![\w-])--[a-z][\w-]*|in Python\b", text)


@pytest.fixture
def ada(staff_site: StaffSite) -> httpx.Client:
    """A browser of the owner of a draft."""
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(staff_site.platform, load_campaign("dices-350"), items(3), staff_id=owner_id, now=NOW)
    return staff_site.owner()


def upload(browser: httpx.Client, path: str, field: str, name: str, content: str, **data: str) -> httpx.Response:
    fields: dict[str, Any] = {"form_token": token_of(browser.get("/campaigns/dices-350/plans")), **data}
    return browser.post(path, data=fields, files={field: (name, content.encode(), "text/csv")})


@sqlite_only
@pytest.mark.parametrize("name", RATINGS)
def test_a_refused_table_of_ratings_names_no_option(ada: httpx.Client, name: str) -> None:
    content, words = RATINGS[name]
    fields = {"question": "precision", "raters": "20,50", "items": "60", "groups": "2"}
    done = upload(ada, PLANS, "pilot", "pilot.csv", content, **fields)
    text = read_text(done)[:600]
    assert done.status_code == 422, text
    assert find_options(text) == []
    assert words in text


@sqlite_only
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json"])
def test_refused_tables_of_items_name_no_option(ada: httpx.Client, suffix: str) -> None:
    for name, content in ITEM_TABLES.items():
        done = upload(ada, ITEMS, "items_file", f"items.{suffix}", content)
        assert done.status_code < 500, name
        assert find_options(read_text(done)) == [], name


@sqlite_only
@pytest.mark.parametrize("name", LABELS)
def test_a_refused_table_of_labels_names_no_option(ada: httpx.Client, name: str) -> None:
    done = upload(ada, GOLD, "file", "labels.csv", LABELS[name], source="The pilot of May")
    assert (done.status_code, find_options(read_text(done))) == (422, []), read_text(done)[:600]
