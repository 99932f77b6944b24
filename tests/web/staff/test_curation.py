"""Pages of curation: from a corpus to the same sample as the command draws, and to a campaign."""

import json
import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import AGREED, NOW, definition, items, owner
from tests.support.commands import command_runner
from tests.support.html_forms import forms, press
from tests.support.live_site import LiveSite
from tests.support.staff_site import PASTED, TOML, StaffSite, send

from dissensus.files.items import read_items
from dissensus.store import campaigns as store
from dissensus.store import items as items_store
from dissensus.web.middleware.request_limits import MAX_BYTES
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.rater import enrolment
from dissensus.workflows.rater.enrolment import Arrival

HARM = ["Benign"] * 8 + ["Extreme"] * 6 + ["<script>alert(1)</script>"] * 6
GOLD = ["Yes", "No"] * 10
CROSSED = "Benign × Yes = 2\r\n\r\nExtreme × No=1"
ADDRESS = "ann@example.org"
SCREENED: dict[str, Any] = {"by": "harm", "no_duplicates": "yes", "similarity": ".95", "personal_data": "all"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Twenty conversations: one duplicate, one with an address, and one without a harm."""
    answers = [f"Answer number {number} of twenty,\r\nand nothing else" for number in range(20)]
    answers[5] = answers[4].upper()
    answers[9] += f": {ADDRESS}"
    frame = pl.DataFrame(
        {
            "item_id": [f"i{number:02}" for number in range(20)],
            "context": "USER: Is it safe?",
            "response": answers,
            "harm": [*HARM[:-1], None],
            "gold": GOLD,
            "<b>note</b>": [f"note {number}" for number in range(20)],
        }
    )
    path = tmp_path / "corpus.csv"
    frame.write_csv(path)
    return path


def open_plan(browser: httpx.Client, corpus: Path) -> httpx.Response:
    """The form of the plan for an uploaded corpus."""
    start = browser.get("/curation")
    return press(browser, start, "Continue", (corpus.name, corpus.read_bytes()))


def rows(page: httpx.Response) -> list[list[str]]:
    """The table of strata."""
    lines = re.findall(r"<tr>(.*?)</tr>", page.text, re.S)
    return [[unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.S)] for line in lines]


def faults(page: httpx.Response) -> list[str]:
    assert page.status_code == 422
    return [unescape(text) for text in re.findall(r'<p class="prewrap">(.*?)</p>', page.text, re.S)]


@sqlite_only
def test_the_corpus_is_read_and_its_attributes_are_offered(staff_site: StaffSite, corpus: Path) -> None:
    browser = staff_site.owner()
    assert 'href="/curation"' in browser.get("/campaigns").text
    assert 'href="/curation"' in browser.get("/campaigns/new").text
    page = open_plan(browser, corpus)
    assert page.status_code == 200
    assert "The corpus has 20 items." in page.text
    assert re.findall(r'type="checkbox" name="by" value="(.*?)"', page.text) == ["harm", "gold"]
    counts = " ".join(re.sub("<.*?>", "", page.text.partition('id="by-1">')[2].partition("</p>")[0]).split())
    assert unescape(counts) == "Benign (8) · Extreme (6) · <script>alert(1)</script> (5); 1 without one"
    assert "Not offered because they do not divide the items, or are too many: &lt;b&gt;note&lt;/b&gt;." in page.text


@sqlite_only
def test_the_sample_page_shows_strata_without_texts(staff_site: StaffSite, corpus: Path) -> None:
    browser = staff_site.owner()
    sample_page = press(browser, open_plan(browser, corpus), "Draw sample", n="6", rule="equal", **SCREENED)
    assert sample_page.status_code == 200
    assert rows(sample_page) == [
        ["harm", "items", "personal data", "duplicates", "left", "wanted", "chosen"],
        ["<script>alert(1)</script>", "5", "0", "0", "5", "2", "2"],
        ["Benign", "8", "0", "1", "7", "2", "2"],
        ["Extreme", "6", "1", "0", "5", "2", "2"],
        ["(missing value)", "1", "0", "0", "0", "–", "0"],
        ["all items", "20", "1", "1", "17", "6", "6"],
    ]
    assert "6 of 20 items, equal over 3 strata, seed 0." in sample_page.text
    visible = re.sub(r"<textarea.*?</textarea>", "", sample_page.text, flags=re.S)
    assert "Items without a value of harm, which belong to no stratum: 1." in visible
    assert "i05 repeats i04" in visible
    assert "i09: email address" in visible
    assert ADDRESS not in visible
    assert "<script" not in visible


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (
            {"n": "6", "rule": "equal", "seed": "7", **SCREENED},
            "-n 6 --allocation equal --seed 7 --by harm --drop-duplicates .95 --screen personal-data",
        ),
        (
            {"by": ["harm", "gold"], "rule": "numbers", "numbers": CROSSED, "fill": "y"},
            "--by harm --by gold --allocation 'Benign × Yes=2' --allocation 'Extreme × No=1' --fill",
        ),
        ({"n": "5", "personal_data": ["email_address", "handle"]}, "-n 5 --screen email_address --screen handle"),
    ],
    ids=["equal", "by number", "simple"],
)
@sqlite_only
def test_downloads_equal_the_files_of_the_command(
    staff_site: StaffSite,
    corpus: Path,
    typed: dict[str, Any],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = command_runner(monkeypatch, capsys, corpus.parent)
    done = run("curate", corpus.name, *shlex.split(words), "-o", "sample.jsonl", "--plan", "plan.json")
    assert done.returncode == 0, done.stderr
    browser = staff_site.owner()
    sample_page = press(browser, open_plan(browser, corpus), "Draw sample", **typed)
    for button, name in (("Download the sample", "sample.jsonl"), ("Download the plan", "plan.json")):
        file = press(browser, sample_page, button)
        assert file.headers["content-disposition"] == f'attachment; filename="{name}"'
        assert file.content == (corpus.parent / name).read_bytes()


@sqlite_only
def test_a_campaign_can_be_created_from_the_sample(staff_site: StaffSite, corpus: Path) -> None:
    browser = staff_site.owner()
    sample_page = press(browser, open_plan(browser, corpus), "Draw sample", n="6", rule="equal", **SCREENED)
    sample = read_items_of(press(browser, sample_page, "Download the sample").content, corpus.parent)
    form = press(browser, sample_page, "Create a campaign from this sample")
    assert form.status_code == 200
    assert "6 items are kept from the last step" in form.text
    assert 'name = "dices-350"' in unescape(form.text)
    response = press(browser, press(browser, form, "Preview", definition=TOML), "Create campaign")
    assert (response.status_code, response.headers["location"]) == (303, "/campaigns/kitchen")
    with staff_site.platform.database.reading() as tx:
        stored = list(items_store.iterate_items(tx, store.get_campaign_by_name(tx, "kitchen").id))
    assert stored == list(sample)
    assert [dict(item.attributes) for item in stored] == [dict(item.attributes) for item in sample]


def read_items_of(content: bytes, folder: Path) -> Any:
    path = folder / "downloaded.jsonl"
    path.write_bytes(content)
    return read_items(path).items


@sqlite_only
def test_input_is_kept_between_pages(staff_site: StaffSite, corpus: Path) -> None:
    browser = staff_site.owner()
    typed = {"rule": "numbers", "numbers": "Benign = 2\r\nExtreme = 1", "seed": "9", "fill": "yes", **SCREENED}
    first = open_plan(browser, corpus)
    assert "Numbers" in first.text
    sample_page = press(browser, first, "Draw sample", **typed)
    assert sample_page.status_code == 200
    plan = press(browser, sample_page, "Change the plan")
    other = press(browser, press(browser, plan, "Another corpus"), "Continue")
    assert "20 items are kept from the last step" in press(browser, plan, "Another corpus").text
    for page in (sample_page, plan, other):
        fields = next(form.fields for form in forms(page) if form.action == "/curation")
        assert {name: fields[name][0] for name in typed} == typed
    wrong = press(browser, plan, "Draw sample", n="x")
    fields = next(form.fields for form in forms(wrong) if form.action == "/curation")
    assert {name: fields[name] for name in ("n", *typed)} == {
        name: [text] for name, text in {**typed, "n": "x"}.items()
    }


@sqlite_only
def test_the_numbers_of_a_draw_can_be_pasted_into_the_plan(staff_site: StaffSite, corpus: Path) -> None:
    browser = staff_site.owner()
    sample_page = press(browser, open_plan(browser, corpus), "Draw sample", n="5", by=["harm", "gold"])
    (numbers,) = re.findall(r'<pre dir="auto">(.*?)</pre>', sample_page.text, re.S)
    by_numbers: dict[str, Any] = {"n": "", "rule": "numbers", "numbers": unescape(numbers)}
    redrawn = press(browser, press(browser, sample_page, "Change the plan"), "Draw sample", **by_numbers)
    assert [press(browser, page, "Download the sample").content for page in (sample_page, redrawn)] == [
        press(browser, sample_page, "Download the sample").content
    ] * 2


@sqlite_only
def test_pasted_conversations_have_no_strata(
    staff_site: StaffSite, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pasted = PASTED.replace("Hello!", "Hello!\n\nHow are you?")
    (tmp_path / "corpus.txt").write_text(pasted, "utf-8")
    command_runner(monkeypatch, capsys, tmp_path)("curate", "corpus.txt", "-n", "1", "-o", "sample.jsonl")
    browser = staff_site.owner()
    page = press(browser, browser.get("/curation"), "Continue", pasted=pasted.replace("\n", "\r\n"))
    assert "no attribute whose values repeat" in page.text
    sample_page = press(browser, page, "Draw sample", n="1")
    assert "1 of 2 items, seed 0." in sample_page.text
    assert press(browser, sample_page, "Download the sample").content == (tmp_path / "sample.jsonl").read_bytes()


@sqlite_only
@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({}, "The number of items is missing."),
        ({"n": "0"}, "'0' is not a valid number of items. Write a whole number from 1 to 1,000,000,000."),
        ({"n": "1e9"}, "'1e9' is not a valid number of items."),
        ({"n": "1000000000"}, "1,000,000,000 items are wanted, and 20 of 20 may be drawn. Ask for fewer"),
        ({"n": "9" * 5_000}, "is not a valid number of items"),
        ({"n": "21"}, "21 items are wanted, and 20 of 20 may be drawn."),
        ({"n": "20", "personal_data": "all"}, "20 items are wanted, and 19 of 20 may be drawn; screens"),
        ({"n": "2", "by": "harm", "rule": "equal"}, "harm make 3 strata, more than the 2 items that are wanted"),
        ({"n": "2", "by": "harms"}, "The items have no 'harms'. Attributes of items here are"),
        ({"n": "2", "by": ["harm", "harm"]}, "by names 'harm' twice."),
        ({"by": "harm", "rule": "numbers"}, "No stratum has a number."),
        ({"rule": "numbers", "numbers": "Benign = 1"}, "but no attribute defines them"),
        ({"n": "2", "numbers": "Benign = 2", "by": "harm"}, "another allocation is chosen"),
        ({"by": "harm", "rule": "numbers", "numbers": "Benign 2"}, "'Benign 2' is not of the form STRATUM = N."),
        ({"by": "harm", "rule": "numbers", "numbers": "= 2"}, "'= 2' is not of the form STRATUM = N."),
        (
            {"by": "harm", "rule": "numbers", "numbers": "Benign = 0"},
            "'0' is not a valid number for the stratum 'Benign'.",
        ),
        ({"by": "harm", "rule": "numbers", "numbers": "Benign = 1\nBenign = 2"}, "The numbers name 'Benign' twice."),
        ({"by": "harm", "rule": "numbers", "numbers": "Benig = 1\nHigh = 1"}, "There is no stratum 'High'."),
        (
            {"n": "9", "by": "harm", "rule": "numbers", "numbers": "Benign = 2"},
            "n is 9, and the numbers of the strata sum to 2.",
        ),
        ({"n": "2", "rule": "best"}, "allocation is 'best'; choose one of equal, proportional"),
        ({"n": "2", "no_duplicates": "yes", "similarity": "1.5"}, "'1.5' is not a valid similarity of duplicates."),
        ({"n": "2", "no_duplicates": "yes", "similarity": "nan"}, "Write a number from 0.5 to 1, such as 0.8."),
        ({"n": "2", "personal_data": "name"}, "There is no kind 'name' of personal data."),
        ({"n": "2", "seed": "-1"}, "'-1' is not a valid number for a seed."),
        ({"n": "2", "seed": ""}, "'' is not a valid number for a seed."),
    ],
)
def test_impossible_samples_are_rejected_with_the_reason(
    staff_site: StaffSite, corpus: Path, typed: dict[str, Any], says: str
) -> None:
    browser = staff_site.owner()
    page = press(browser, open_plan(browser, corpus), "Draw sample", **typed)
    (fault,) = faults(page)
    assert says in fault
    assert [form.fields["items"] for form in forms(page) if "items" in form.fields]


@sqlite_only
def test_all_faults_of_the_plan_are_listed(staff_site: StaffSite, corpus: Path) -> None:
    browser = staff_site.owner()
    numbers = "<script>alert(1)</script> = 1\nBenig = 1\nHigh = 2"
    typed: dict[str, Any] = {"by": "harm", "rule": "numbers", "numbers": numbers, "no_duplicates": "yes"}
    page = press(browser, open_plan(browser, corpus), "Draw sample", similarity="a lot", seed="?", n="many", **typed)
    number, similarity, seed, strata = faults(page)
    assert [text.split(" is ")[0] for text in (number, similarity, seed)] == ["'many'", "'a lot'", "'?'"]
    assert strata.startswith("There is no stratum 'Benig'. Did you mean 'Benign'? There is no stratum 'High'.")
    assert "<script" not in page.text


@sqlite_only
@pytest.mark.parametrize(
    ("file", "says"),
    [
        (None, "There are no items. Choose a file, or paste conversations."),
        (("corpus.csv", b"item_id,context,response\n1,Hi,\xff\xfe\n"), "UTF-8"),
        (("corpus.csv", b"item_id,context,response\n"), "no rows"),
        (("<script>.csv", b"a,b\n1,2\n"), "The items: "),
        (("corpus.parquet", b"PAR1"), "The items: "),
    ],
)
def test_invalid_corpora_are_rejected(staff_site: StaffSite, file: tuple[str, bytes] | None, says: str) -> None:
    browser = staff_site.owner()
    start = browser.get("/curation")
    page = press(browser, start, "Continue", file)
    (fault,) = faults(page)
    assert says in fault
    assert "<script" not in page.text


@sqlite_only
def test_a_large_corpus_can_be_uploaded(staff_site: StaffSite) -> None:
    rows = [{"item_id": str(number), "context": "", "response": f"{number} " + "x" * 3_000} for number in range(700)]
    content = "\n".join(map(json.dumps, rows)).encode()
    assert len(content) > 2 * MAX_BYTES
    browser = staff_site.owner()
    page = press(browser, browser.get("/curation"), "Continue", ("corpus.jsonl", content))
    sample_page = press(browser, page, "Draw sample", n="699")
    assert len(press(browser, sample_page, "Download the sample").text.splitlines()) == 699


@sqlite_only
def test_changed_hidden_items_are_rejected(staff_site: StaffSite, corpus: Path) -> None:
    browser = staff_site.owner()
    page = press(browser, open_plan(browser, corpus), "Draw sample", n="2", items='[["x"]]')
    (fault,) = faults(page)
    assert "Choose the file again." in fault
    assert 'name="n" value="2"' in page.text


@sqlite_only
def test_reserved_columns_are_rejected(staff_site: StaffSite) -> None:
    row = {"item_id": "1", "transcript": "\n\nHuman: Hi\n\nAssistant: Hello!", "turns ": "x"}
    browser = staff_site.owner()
    page = press(browser, browser.get("/curation"), "Continue", ("a.jsonl", json.dumps(row).encode()))
    (form,) = [form for form in forms(page) if "items" in form.fields]
    carried = form.fields["items"][0].replace('"turns "', '"turns"')
    sample_page = press(browser, page, "Draw sample", n="1", items=carried)
    (fault,) = faults(press(browser, sample_page, "Download the sample"))
    assert fault == "The items have an attribute 'turns', which is a column of the sample. Rename it."


@sqlite_only
def test_strangers_and_raters_are_refused(staff_site: StaffSite, live: LiveSite) -> None:
    staff_id = owner(live.platform.database)
    campaigns.create_campaign(live.platform, definition(), items(3), staff_id=staff_id, now=NOW)
    key = str(campaigns.change_state(live.platform, "pilot", "open", staff_id=staff_id, now=NOW).key)
    _, session = enrolment.enrol_rater(live.platform, Arrival("pilot", key, "en"), AGREED, now=NOW)
    rater = staff_site.stranger()
    rater.cookies.set("dissensus_rater", session)
    for browser in (staff_site.stranger(), rater):
        for answer in (browser.get("/curation"), browser.post("/curation", data={"pasted": PASTED, "action": "draw"})):
            assert answer.status_code == 403
            assert "You are not signed in" in answer.text
    # A form of another session is rejected.
    assert staff_site.owner().post("/curation", data={"pasted": PASTED, "form_token": "0" * 64}).status_code == 403
    assert send(staff_site.owner("bob"), "/curation", pasted=PASTED, action="plan").status_code == 200
